//! Layers of a whole TSDU above transport: session, presentation, association control, MMS, CASE.
//!
//! The contents decide which protocol a layer has, because a TSDU alone does not tell which
//! presentation contexts were agreed. APDUs of ACSE have application tags, MMS PDUs have context
//! tags. Other applications with context tags are excluded as far as their first elements differ.
//! CASE over a null presentation layer is recognised by its tags, which no PPDU has.
//!
//! Left out: all values of a PPDU but the first of each protocol.

mod head;

pub use head::{End, Head};

use crate::presentation::UserData;
use crate::read::Malformed;
use crate::{acse, case, mms, presentation, session};

/// Layers of a TSDU, from the session layer up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Upper<'a> {
    /// SPDU.
    pub session: session::Pdu<'a>,
    /// PPDU; none if the SPDU carries no user data, or under CASE.
    pub presentation: Option<presentation::Pdu<'a>>,
    /// APDU of association control: [`acse::Pdu::decode`] accepts it.
    pub acse: Option<&'a [u8]>,
    /// MMS PDU: [`mms::Pdu::decode`] accepts it.
    pub mms: Option<&'a [u8]>,
    /// Data of CASE: [`case::Pdu::decode`] accepts it.
    pub transfer: Option<&'a [u8]>,
    /// Field that stopped the decoding of a layer above session. Its offset counts from the start
    /// of the TSDU.
    pub fault: Option<Malformed>,
}

impl<'a> Upper<'a> {
    /// Decodes the layers of a TSDU.
    ///
    /// # Errors
    /// Names the field of the SPDU that is missing or invalid.
    pub fn decode(tsdu: &'a [u8]) -> Result<Self, Malformed> {
        let session = session::Pdu::decode(tsdu)?;
        let mut upper = Self {
            session,
            presentation: None,
            acse: None,
            mms: None,
            transfer: None,
            fault: None,
        };
        let ssdu = session.ssdu();
        let fault = match ssdu.first() {
            None => Ok(()),
            Some(0x65) => upper.transfer(ssdu),
            Some(0x60 | 0x62..=0x64) => upper.application(ssdu),
            // An AARE has the tag of fully encoded user data, which begin with a PDV list.
            Some(0x61) if has_response(ssdu) => upper.application(ssdu),
            _ => upper.present(ssdu),
        };
        upper.fault = fault.err().map(|stop| stop.fault.within(distance(tsdu, stop.octets)));
        Ok(upper)
    }

    /// Returns true if a layer above session was decoded, or if the SPDU is complete without.
    ///
    /// The identifiers of session are small numbers that begin TSDUs of other protocols as well;
    /// with this function true, that is unlikely.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        use session::Kind;
        let parameters = &self.session.parameters;
        let has_content = self.presentation.is_some() || self.acse.is_some();
        match self.session.kind {
            Kind::Dt => has_content || self.transfer.is_some(),
            Kind::Cn | Kind::Ac => parameters.version.is_some(),
            Kind::Rf => parameters.reason.is_some(),
            Kind::Ab => has_content || parameters.disconnect.is_some(),
            Kind::Fn | Kind::Dn => has_content || parameters.user_data.is_none(),
            Kind::Aa => true,
            Kind::Gt | Kind::Pt | Kind::Short(_) | Kind::Other(_) => false,
        }
    }

    fn present(&mut self, ssdu: &'a [u8]) -> Result<(), Stop<'a>> {
        if matches!(self.session.kind, session::Kind::Other(_)) {
            return Ok(());
        }
        let pdu = presentation::Pdu::decode(self.session.kind, ssdu).map_err(Stop::within(ssdu))?;
        self.presentation = Some(pdu);
        let Some(UserData::Full(list)) = pdu.user_data() else { return Ok(()) };
        list.iter().try_for_each(|pdv| self.application(pdv.value.octets()))
    }

    fn application(&mut self, octets: &'a [u8]) -> Result<(), Stop<'a>> {
        match octets.first() {
            Some(0x60..=0x64) if self.acse.is_none() => {
                let pdu = acse::Pdu::decode(octets).map_err(Stop::within(octets))?;
                self.acse = Some(octets);
                let mut information = pdu.information().iter();
                information.try_for_each(|external| self.message(external.value.octets()))
            }
            _ => self.message(octets),
        }
    }

    fn message(&mut self, octets: &'a [u8]) -> Result<(), Stop<'a>> {
        if self.mms.is_none() && mms::Head::of_pdu(0, octets).is_some() {
            mms::Pdu::decode(octets).map_err(Stop::within(octets))?;
            self.mms = Some(octets);
        }
        Ok(())
    }

    fn transfer(&mut self, ssdu: &'a [u8]) -> Result<(), Stop<'a>> {
        case::Pdu::decode(ssdu).map_err(Stop::within(ssdu))?;
        self.transfer = Some(ssdu);
        Ok(())
    }
}

/// Layer that cannot be decoded, and the reason.
struct Stop<'a> {
    octets: &'a [u8],
    fault: Malformed,
}

impl<'a> Stop<'a> {
    /// Returns a function that attaches the octets of the layer to a decoding error.
    fn within(octets: &'a [u8]) -> impl Fn(Malformed) -> Self {
        move |fault| Self { octets, fault }
    }
}

/// Octets between the start of a slice and the start of a part of it.
fn distance(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr().saturating_sub(whole.as_ptr().addr())
}

/// Returns true if an element of the tag that user data and AARE have in common contains no PDV
/// list.
fn has_response(ssdu: &[u8]) -> bool {
    let inside = crate::ber::Reader::new(ssdu).cut().map(|element| element.reader());
    inside.and_then(|it| it.peek()).is_some_and(|tag| tag != crate::ber::Tag::SEQUENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ber::tests::hex;

    /// Association of libiec61850.
    const CN: &str = "0db2 0506130100160102 14020002 33020001 34020001 c19c 318199 a003800101 \
        a28191 810400000001 820400000001 a423 300f020101 060452010001 300406025101 \
        3010020103 060528ca220201 300406025101 615e 305c 020101 a057 6055 a107060528ca220203 \
        a20706052901876701 a30302010c a606060429018767 a70302010c be2f 282d 020103 a028 a826 \
        800300fde8 810105 820105 83010a a416 800101 810305f100 820c03ee1c00000408000079ef18";

    #[test]
    fn an_association_has_four_layers() {
        let octets = hex(CN);
        let upper = Upper::decode(&octets).unwrap();
        assert_eq!(upper.fault, None);
        assert!(upper.is_clear());
        let acse = acse::Pdu::decode(upper.acse.unwrap()).unwrap();
        let mms = mms::Pdu::decode(upper.mms.unwrap()).unwrap();
        let lines = [upper.session.to_string(), acse.to_string(), mms.to_string()];
        assert_eq!(
            lines,
            [
                "session CN v2 duplex calling=0001 called=0001 156 octets",
                "ACSE AARQ context=1.0.9506.2.3 called=1.1.1.999.1/12 calling=1.1.1.999/12 \
                 context=3 40 octets",
                "MMS initiate-request version=1 pdu=65000 outstanding=5/5 nesting=10 \
                 parameters=11110001000 services=ee1c00000408000079ef18/85",
            ]
        );
    }

    #[test]
    fn a_fault_counts_from_the_start_of_the_tsdu() {
        let mut octets = hex(CN);
        let place = octets.len() - 22;
        // The tag of the proposed version number.
        assert_eq!(octets[place..place + 3], [0x80, 1, 1]);
        octets[place] = 0x8F;
        let upper = Upper::decode(&octets).unwrap();
        assert_eq!(upper.fault, Some(Malformed { field: "version number", offset: place }));
        assert!(upper.acse.is_some() && upper.mms.is_none() && upper.is_clear());
    }

    #[test]
    fn case_needs_no_presentation() {
        let octets = hex("01000100 65820003 616263");
        let upper = Upper::decode(&octets).unwrap();
        assert!(upper.transfer.is_some() && upper.presentation.is_none() && upper.is_clear());
        let octets = hex("0d0b 0503160101 c104 6002a100");
        let upper = Upper::decode(&octets).unwrap();
        assert_eq!(upper.acse, None);
        assert!(upper.fault.is_some(), "an AARQ with an empty context name");
        let octets = hex("0e0c 0503160101 c105 6103a20100");
        assert!(Upper::decode(&octets).unwrap().fault.is_some(), "an AARE");
        let octets = hex("0904 c102 6200");
        assert!(Upper::decode(&octets).unwrap().acse.is_some());
    }

    #[test]
    fn other_protocols_are_not_clear() {
        for text in ["0d00", "0100", "010001006162", "0d03010203", "7f65"] {
            let octets = hex(text);
            assert!(!Upper::decode(&octets).is_ok_and(|upper| upper.is_clear()), "{text}");
        }
    }
}
