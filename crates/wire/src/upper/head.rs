//! First octets of a TSDU, for a meter: the SPDU, the MMS PDU of a DT, and the reason for which an
//! association ends or does not begin.

use super::Upper;
use crate::acse::{self, Diagnostic};
use crate::{mms, presentation, session};

/// Reason for which an association is refused or aborted, by the uppermost layer that gives one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// Session refuses, with the reason of the RF.
    SessionRefuse(u8),
    /// Presentation refuses, with the provider reason of the CPR.
    PresentationRefuse(Option<i64>),
    /// Association control refuses.
    AssociationRefuse {
        /// Result of the AARE: 1 permanent, 2 for now.
        result: i64,
        /// Diagnostic.
        diagnostic: Option<Diagnostic>,
    },
    /// MMS refuses, with class and code of the initiate error.
    InitiateRefuse {
        /// Class.
        class: u32,
        /// Code in its class.
        code: i64,
    },
    /// Session aborts, with the transport disconnect parameter of the AB.
    SessionAbort(Option<u8>),
    /// The presentation provider aborts, with the reason of the ARP.
    PresentationAbort(Option<i64>),
    /// The user or the provider of association control aborts.
    AssociationAbort {
        /// Source: 0 user, 1 provider.
        source: Option<i64>,
        /// Diagnostic.
        diagnostic: Option<i64>,
    },
}

/// First octets of a TSDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head<'a> {
    /// Kind of SPDU.
    pub session: session::Kind,
    /// MMS PDU of a DT.
    pub mms: Option<mms::Head<'a>>,
    /// Reason for which the association ends or does not begin. `None` if the octets end before
    /// the TSDU does.
    pub end: Option<End>,
}

impl<'a> Head<'a> {
    /// Decodes the first octets of a TSDU; `None` if they begin no SPDU of the kernel.
    ///
    /// A DT needs about 64 octets. Other SPDUs are decoded if all their octets are there; otherwise
    /// only their kind is given.
    #[must_use]
    pub fn decode(tsdu: &'a [u8]) -> Option<Self> {
        if let Some(head) = mms::Head::decode(tsdu) {
            return Some(Self { session: session::Kind::Dt, mms: Some(head), end: None });
        }
        let kind = session::Kind::of_code(*tsdu.first()?);
        let (session, mms, end) = match kind {
            session::Kind::Gt | session::Kind::Pt => {
                (session::Pdu::decode(tsdu).ok()?.kind, None, None)
            }
            session::Kind::Short(_) | session::Kind::Other(_) => return None,
            _ => {
                let end = Upper::decode(tsdu).ok().and_then(|upper| end(&upper));
                (kind, None, end)
            }
        };
        Some(Self { session, mms, end })
    }
}

fn end(upper: &Upper<'_>) -> Option<End> {
    if let Some(mms::Pdu::InitiateError(error)) =
        upper.mms.and_then(|octets| mms::Pdu::decode(octets).ok())
    {
        return Some(End::InitiateRefuse { class: error.class, code: error.code });
    }
    match upper.acse.and_then(|octets| acse::Pdu::decode(octets).ok()) {
        Some(acse::Pdu::Aare(pdu)) if pdu.result != 0 => {
            let (result, diagnostic) = (pdu.result, pdu.diagnostic);
            return Some(End::AssociationRefuse { result, diagnostic });
        }
        Some(acse::Pdu::Abrt(pdu)) => {
            let (source, diagnostic) = (pdu.source, pdu.diagnostic);
            return Some(End::AssociationAbort { source, diagnostic });
        }
        _ => {}
    }
    let parameters = &upper.session.parameters;
    match (upper.session.kind, upper.presentation) {
        (session::Kind::Rf, Some(presentation::Pdu::Cpr(pdu))) => {
            Some(End::PresentationRefuse(pdu.reason))
        }
        (session::Kind::Ab, Some(presentation::Pdu::Arp { reason, .. })) => {
            Some(End::PresentationAbort(reason))
        }
        (session::Kind::Rf, _) => parameters.reason.map(End::SessionRefuse),
        (session::Kind::Ab, _) => Some(End::SessionAbort(parameters.disconnect)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ber::tests::hex;

    #[track_caller]
    fn check(tsdu: &str, kind: session::Kind, end: Option<End>) {
        let octets = hex(tsdu);
        let head = Head::decode(&octets).unwrap();
        assert_eq!((head.session, head.end), (kind, end));
        let cut = Head::decode(&octets[..octets.len() - 1]);
        assert!(cut.is_none_or(|head| head.session == kind && head.end.is_none()), "{cut:?}");
    }

    #[test]
    fn the_uppermost_layer_gives_the_reason() {
        use session::Kind;
        check("0c06 110101 320181", Kind::Rf, Some(End::SessionRefuse(0x81)));
        check(
            "0c0d 110101 320802 3005 8a0102 8f00",
            Kind::Rf,
            Some(End::PresentationRefuse(Some(2))),
        );
        check(
            "0c21 110101 321c02 3019 6117 3015 020101 a010 610e a203 020101 a307 a105 0203 00000d",
            Kind::Rf,
            Some(End::AssociationRefuse { result: 1, diagnostic: Some(Diagnostic::User(13)) }),
        );
        check("1903 11010b", Kind::Ab, Some(End::SessionAbort(Some(0x0B))));
        check(
            "190d 110105 c108 3006 800101 810102",
            Kind::Ab,
            Some(End::PresentationAbort(Some(1))),
        );
        check(
            "1915 11010b c110 a00e 610c 300a 020101 a005 6403800100",
            Kind::Ab,
            Some(End::AssociationAbort { source: Some(0), diagnostic: None }),
        );
        check(
            "0e23 0506130100160102 c119 3117 a003800101 a210 610e 300c 020101 a007 6105 a203020100",
            Kind::Ac,
            None,
        );
        check("0900", Kind::Fn, None);
    }

    #[test]
    fn an_initiate_error_is_a_refusal() {
        let octets = hex("0e2f 0506130100160102 c125 3123 a003800101 a21c 611a 3018 020101 \
            a013 6111 a203020100 be0a 2808 a006 aa04 a002 8800");
        let head = Head::decode(&octets).unwrap();
        assert_eq!(head.end, None, "an error without a code");
        let octets =
            hex("0e30 0506130100160102 c126 3124 a003800101 a21d 611b 3019 020101 a014 6112 \
             a203020100 be0b 2809 a007 aa05 a003 880102");
        let head = Head::decode(&octets).unwrap();
        assert_eq!(head.end, Some(End::InitiateRefuse { class: 8, code: 2 }));
    }

    #[test]
    fn a_dt_gives_its_mms_pdu() {
        let octets = hex("01000100 610e 300c 020103 a007 a005 020101 8200");
        let head = Head::decode(&octets).unwrap();
        assert_eq!(head.session, session::Kind::Dt);
        assert_eq!(head.mms.map(|mms| mms.invoke), Some(Some(1)));
        assert_eq!(Head::decode(&hex("0f03 190101")), None, "of another functional unit");
        assert_eq!(Head::decode(&hex("01000100 61")).unwrap().mms, None);
    }
}
