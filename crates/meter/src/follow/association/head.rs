//! First octets of a TSDU, as far as the follower needs them.

use super::report::{Cause, Layer, Source};
use wire::acse;
use wire::mms::{self, Failure};
use wire::presentation;
use wire::session::{self, Kind};

/// Contexts of a proposal that are kept.
pub(super) const MOST_CONTEXTS: usize = 16;

/// First PDUs of a TSDU, from session to MMS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Head<'a> {
    /// CN, with the contexts that its CP proposes; none if these cannot be read.
    Connect(Option<Vec<i64>>),
    /// AC.
    Accept,
    /// Refusal.
    Refuse(Cause),
    /// FN.
    Finish,
    /// DN.
    Disconnect,
    /// AB.
    Abort(Cause),
    /// User data with an MMS PDU.
    Data(mms::Head<'a>),
    /// Anything else.
    Other,
}

impl<'a> Head<'a> {
    /// Head of the TSDU that begins with these octets.
    pub(super) fn of(tsdu: &'a [u8]) -> Self {
        match tsdu {
            [1, 0, 1, 0, ..] => mms::Head::decode(tsdu).map_or(Self::Other, Self::Data),
            _ => Self::of_session(tsdu),
        }
    }

    #[cold]
    fn of_session(tsdu: &'a [u8]) -> Self {
        let Ok(spdu) = session::Pdu::decode(tsdu) else {
            // The capture, or the limit, cut it.
            return match tsdu.first().map(|code| Kind::of_code(*code)) {
                Some(Kind::Cn) => Self::Connect(None),
                Some(Kind::Ac) => Self::Accept,
                _ => Self::Other,
            };
        };
        let ppdu = presentation::Pdu::decode(spdu.kind, spdu.ssdu()).ok();
        match spdu.kind {
            Kind::Cn => Self::Connect(ppdu.and_then(proposed)),
            Kind::Ac => refused(ppdu.as_ref()).map_or(Self::Accept, Self::Refuse),
            Kind::Rf => {
                let by_session = Cause::new(Layer::Session, spdu.parameters.reason.map(i64::from));
                Self::Refuse(refused(ppdu.as_ref()).unwrap_or(by_session))
            }
            Kind::Fn => Self::Finish,
            Kind::Dn => Self::Disconnect,
            Kind::Ab => Self::Abort(aborted(&spdu, ppdu.as_ref())),
            Kind::Dt => mms::Head::decode(tsdu).map_or(Self::Other, Self::Data),
            Kind::Gt | Kind::Pt | Kind::Aa | Kind::Short(_) | Kind::Other(_) => Self::Other,
        }
    }
}

/// Common MMS PDU: one data value that extends to the end of the TSDU, or of what was captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Common<'a> {
    pub(super) context: u8,
    pub(super) pdu: CommonPdu<'a>,
}

/// PDU of a common TSDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CommonPdu<'a> {
    /// Confirmed request.
    Request { invoke: u32, service: u8 },
    /// Confirmed response without a failure.
    Response { invoke: u32 },
    /// Information report, with the name of its control block or list.
    Report { name: &'a [u8] },
}

impl<'a> Common<'a> {
    /// Reads a TSDU; none for any that is not common. What is read is equal to what `wire::mms`
    /// decodes.
    #[inline]
    pub(super) fn of(tsdu: &'a [u8]) -> Option<Self> {
        let [1, 0, 1, 0, 0x61, rest @ ..] = tsdu else { return None };
        let [0x30, rest @ ..] = to_the_end(rest)? else { return None };
        let [2, 1, context @ ..=0x7F, 0xA0, rest @ ..] = to_the_end(rest)? else { return None };
        let [tag, rest @ ..] = to_the_end(rest)? else { return None };
        let rest = to_the_end(rest)?;
        let pdu = match *tag {
            0xA0 | 0xA1 => CommonPdu::confirmed(*tag == 0xA0, rest)?,
            0xA3 => CommonPdu::Report { name: report(rest)? },
            _ => return None,
        };
        Some(Self { context: *context, pdu })
    }
}

impl CommonPdu<'_> {
    /// Confirmed request or response, from its contents.
    #[inline]
    fn confirmed(is_request: bool, octets: &[u8]) -> Option<Self> {
        let (invoke, rest) = match octets {
            [2, 1, a @ ..=0x7F, rest @ ..] => (u32::from(*a), rest),
            [2, 2, a @ ..=0x7F, b, rest @ ..] => (u32::from_be_bytes([0, 0, *a, *b]), rest),
            [2, 3, a @ ..=0x7F, b, c, rest @ ..] => (u32::from_be_bytes([0, *a, *b, *c]), rest),
            [2, 4, a @ ..=0x7F, b, c, d, rest @ ..] => (u32::from_be_bytes([*a, *b, *c, *d]), rest),
            _ => return None,
        };
        let [service @ 0x80..=0xBF, rest @ ..] = rest else { return None };
        let number = service & 0x1F;
        if number == 0x1F || !is_request && may_fail(*service, rest) {
            return None;
        }
        let request = Self::Request { invoke, service: number };
        Some(if is_request { request } else { Self::Response { invoke } })
    }
}

/// Name of an information report of a named list, from the contents of its PDU: its first value, if
/// that is a visible string, or else the name of the list.
#[inline]
fn report(octets: &[u8]) -> Option<&[u8]> {
    let [0xA0, rest @ ..] = octets else { return None };
    let [0xA1, rest @ ..] = to_the_end(rest)? else { return None };
    let (list, rest) = short(rest)?;
    let name = match list {
        [0x80 | 0x82, rest @ ..] => short(rest)?.0,
        [0xA1, rest @ ..] => {
            let [0x1A, rest @ ..] = short(rest)?.0 else { return None };
            let [0x1A, rest @ ..] = short(rest)?.1 else { return None };
            short(rest)?.0
        }
        _ => return None,
    };
    let [0xA0, rest @ ..] = rest else { return None };
    match to_the_end(rest)? {
        [0x8A, rest @ ..] => Some(short(rest)?.0),
        [first, ..] if first & 0x1F != 0x1F => Some(name),
        _ => None,
    }
}

/// Contents of an element with a length of one octet, and the octets behind it.
#[inline(always)]
fn short(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let [length @ ..=0x7F, rest @ ..] = octets else { return None };
    rest.split_at_checked(usize::from(*length))
}

/// True unless the first result of a read or write response is a success beyond doubt.
fn may_fail(service: u8, rest: &[u8]) -> bool {
    match service {
        0xA4 => match to_the_end(rest) {
            Some([0xA1, rest @ ..]) => {
                !matches!(rest, [1..=0x7F, 0x81..=0xBF, ..] | [0x81, _, 0x81..=0xBF, ..])
            }
            _ => true,
        },
        0xA5 => !matches!(rest, [_, 0x81, 0, ..]),
        _ => false,
    }
}

/// Contents of an element, from its length on, if they extend to the end.
#[inline(always)]
fn to_the_end(octets: &[u8]) -> Option<&[u8]> {
    let (length, rest) = match octets {
        [length @ ..=0x7F, rest @ ..] => (usize::from(*length), rest),
        [0x81, length, rest @ ..] => (usize::from(*length), rest),
        [0x82, high, low, rest @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        _ => return None,
    };
    (length >= rest.len()).then_some(rest)
}

/// Contexts that a CP proposes.
fn proposed(pdu: presentation::Pdu<'_>) -> Option<Vec<i64>> {
    let presentation::Pdu::Cp(parameters) = pdu else { return None };
    let contexts = parameters.contexts.iter().map(|context| context.identifier);
    Some(contexts.take(MOST_CONTEXTS).collect())
}

/// APDU in a PPDU.
fn apdu<'a>(pdu: Option<&presentation::Pdu<'a>>) -> Option<acse::Pdu<'a>> {
    acse::Pdu::decode(pdu?.user_data()?.first()?.value.octets()).ok()
}

/// Cause of a refusal in a CPA or CPR; none if nothing is refused.
fn refused(pdu: Option<&presentation::Pdu<'_>>) -> Option<Cause> {
    if let Some(acse::Pdu::Aare(response)) = apdu(pdu) {
        let information = response.information.iter().next();
        let mms = information.and_then(|it| initiate_error(it.value.octets()));
        if response.result != 0 || mms.is_some() {
            let (source, reason) = match response.diagnostic {
                Some(acse::Diagnostic::User(number)) => (Source::User, Some(number)),
                Some(acse::Diagnostic::Provider(number)) => (Source::Provider, Some(number)),
                None => (Source::Unknown, None),
            };
            return Some(mms.unwrap_or(Cause { layer: Layer::Acse, source, reason }));
        }
    }
    match pdu? {
        presentation::Pdu::Cpr(parameters) => {
            Some(Cause::new(Layer::Presentation, parameters.reason))
        }
        presentation::Pdu::X410(_) => Some(Cause::new(Layer::Presentation, None)),
        _ => None,
    }
}

/// Cause in an initiate error (ISO 9506-2 8.2), by its class and code.
fn initiate_error(octets: &[u8]) -> Option<Cause> {
    let head = mms::Head::of_pdu(0, octets)?;
    match head.failure.filter(|_| head.kind == mms::Kind::InitiateError)? {
        Failure::Service { class, code } => {
            Some(Cause::new(Layer::Mms, Some(i64::from(class) * 100 + code)))
        }
        Failure::Reject { .. } | Failure::Access(_) => Some(Cause::new(Layer::Mms, None)),
    }
}

/// Cause of an abort.
fn aborted(spdu: &session::Pdu<'_>, ppdu: Option<&presentation::Pdu<'_>>) -> Cause {
    if let Some(acse::Pdu::Abrt(abort)) = apdu(ppdu) {
        let source = match abort.source {
            Some(0) => Source::User,
            Some(1) => Source::Provider,
            _ => Source::Unknown,
        };
        return Cause { layer: Layer::Acse, source, reason: abort.diagnostic };
    }
    match ppdu {
        Some(presentation::Pdu::Arp { reason, .. }) => {
            Cause { source: Source::Provider, ..Cause::new(Layer::Presentation, *reason) }
        }
        Some(presentation::Pdu::Aru { .. }) => {
            Cause { source: Source::User, ..Cause::new(Layer::Presentation, None) }
        }
        _ => Cause::new(Layer::Session, spdu.parameters.disconnect.map(i64::from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;

    /// Requests and responses of several services, and reports by the three kinds of names.
    const TSDUS: [&[u8]; 9] = [
        &[1, 0, 1, 0, 0x61, 12, 0x30, 10, 2, 1, 3, 0xA0, 5, 0xA0, 3, 2, 1, 7],
        &[1, 0, 1, 0, 0x61, 14, 0x30, 12, 2, 1, 3, 0xA0, 7, 0xA0, 5, 2, 1, 7, 0x82, 0],
        &[
            1, 0, 1, 0, 0x61, 18, 0x30, 16, 2, 1, 3, 0xA0, 11, 0xA1, 9, 2, 1, 7, 0xA4, 4, 0xA1, 2,
            0x83, 0,
        ],
        &[
            1, 0, 1, 0, 0x61, 18, 0x30, 16, 2, 1, 3, 0xA0, 11, 0xA1, 9, 2, 1, 7, 0xA4, 4, 0xA1, 2,
            0x80, 0,
        ],
        &[1, 0, 1, 0, 0x61, 16, 0x30, 14, 2, 1, 3, 0xA0, 9, 0xA1, 7, 2, 1, 7, 0xA5, 2, 0x81, 0],
        &[
            1, 0, 1, 0, 0x61, 0x81, 20, 0x30, 0x81, 17, 2, 1, 3, 0xA0, 0x81, 11, 0xA0, 9, 2, 4, 0,
            1, 2, 3, 0xA4, 1, 0,
        ],
        &[
            1, 0, 1, 0, 0x61, 30, 0x30, 28, 2, 1, 3, 0xA0, 23, 0xA3, 21, 0xA0, 19, 0xA1, 10, 0xA1,
            8, 0x1A, 2, 65, 66, 0x1A, 2, 67, 68, 0xA0, 5, 0x83, 1, 1, 0x85, 0,
        ],
        &[
            1, 0, 1, 0, 0x61, 27, 0x30, 25, 2, 1, 3, 0xA0, 20, 0xA3, 18, 0xA0, 16, 0xA1, 5, 0x80,
            3, 82, 80, 84, 0xA0, 7, 0x8A, 2, 97, 98, 0x84, 1, 0,
        ],
        &[
            1, 0, 1, 0, 0x61, 24, 0x30, 22, 2, 1, 3, 0xA0, 17, 0xA3, 15, 0xA0, 13, 0xA1, 4, 0x82,
            2, 82, 80, 0xA0, 5, 0x8A, 3, 97, 98, 99,
        ],
    ];

    /// Decodes a TSDU with `wire::mms`, and returns it as a common PDU.
    fn decoded(tsdu: &[u8]) -> Common<'_> {
        let head = mms::Head::decode(tsdu).unwrap();
        assert_eq!(head.failure, None, "{tsdu:02x?}");
        let service = || u8::try_from(head.service.unwrap().0).unwrap();
        let pdu = match head.kind {
            mms::Kind::ConfirmedRequest => {
                CommonPdu::Request { invoke: head.invoke.unwrap(), service: service() }
            }
            mms::Kind::ConfirmedResponse => CommonPdu::Response { invoke: head.invoke.unwrap() },
            mms::Kind::Unconfirmed => {
                let report = head.report.unwrap();
                CommonPdu::Report { name: report.identifier.unwrap_or(report.list.item()) }
            }
            kind => panic!("{kind:?} is not common: {tsdu:02x?}"),
        };
        Common { context: u8::try_from(head.context).unwrap(), pdu }
    }

    #[test]
    fn common_pdus_are_read_as_they_are_decoded() {
        let (mut draw, mut common_ones, mut reports) = (Draw(9_506), 0, 0);
        for tsdu in TSDUS {
            assert!(mms::Head::decode(tsdu).is_some(), "{tsdu:02x?}");
        }
        for _ in 0..300_000 {
            let mut tsdu = TSDUS[draw.below(9) as usize].to_vec();
            for _ in 0..draw.below(4) {
                let place = draw.below(tsdu.len() as u64) as usize;
                tsdu[place] =
                    if draw.below(2) == 0 { draw.octet_below(255) } else { tsdu[place] ^ 1 };
            }
            tsdu.truncate(tsdu.len() - draw.below(3) as usize);
            let Some(common) = Common::of(&tsdu) else { continue };
            common_ones += 1;
            reports += u32::from(matches!(common.pdu, CommonPdu::Report { .. }));
            assert_eq!(common, decoded(&tsdu), "{tsdu:02x?}");
        }
        println!("seen: {common_ones} common PDUs, {reports} of them reports");
        assert!(common_ones > 30_000 && reports > 10_000, "{common_ones} {reports}");
    }
}
