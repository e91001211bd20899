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

/// Common confirmed request, or response without a failure: one data value that extends to the end of
/// the TSDU, or of what was captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Common {
    pub(super) context: u8,
    pub(super) is_request: bool,
    pub(super) invoke: u32,
    pub(super) service: u8,
}

impl Common {
    /// Reads a TSDU; none for any that is not common. What is read is equal to what `wire::mms`
    /// decodes.
    #[inline]
    pub(super) fn of(tsdu: &[u8]) -> Option<Self> {
        let [1, 0, 1, 0, 0x61, rest @ ..] = tsdu else { return None };
        let [0x30, rest @ ..] = to_the_end(rest)? else { return None };
        let [2, 1, context @ ..=0x7F, 0xA0, rest @ ..] = to_the_end(rest)? else { return None };
        let [tag @ (0xA0 | 0xA1), rest @ ..] = to_the_end(rest)? else { return None };
        let (invoke, rest) = match to_the_end(rest)? {
            [2, 1, a @ ..=0x7F, rest @ ..] => (u32::from(*a), rest),
            [2, 2, a @ ..=0x7F, b, rest @ ..] => (u32::from_be_bytes([0, 0, *a, *b]), rest),
            [2, 3, a @ ..=0x7F, b, c, rest @ ..] => (u32::from_be_bytes([0, *a, *b, *c]), rest),
            [2, 4, a @ ..=0x7F, b, c, d, rest @ ..] => (u32::from_be_bytes([*a, *b, *c, *d]), rest),
            _ => return None,
        };
        let [service @ 0x80..=0xBF, rest @ ..] = rest else { return None };
        let (is_request, number) = (*tag == 0xA0, service & 0x1F);
        if number == 0x1F || !is_request && may_fail(*service, rest) {
            return None;
        }
        Some(Self { context: *context, is_request, invoke, service: number })
    }
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
#[inline]
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

    /// Requests and responses of several services, in the short form of lengths.
    const TSDUS: [&[u8]; 6] = [
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
    ];

    #[test]
    fn common_pdus_are_read_as_they_are_decoded() {
        let (mut draw, mut common_ones) = (Draw(9_506), 0);
        for _ in 0..200_000 {
            let mut tsdu = TSDUS[draw.below(6) as usize].to_vec();
            for _ in 0..draw.below(4) {
                let place = draw.below(tsdu.len() as u64) as usize;
                tsdu[place] =
                    if draw.below(2) == 0 { draw.octet_below(255) } else { tsdu[place] ^ 1 };
            }
            tsdu.truncate(tsdu.len() - draw.below(3) as usize);
            let Some(common) = Common::of(&tsdu) else { continue };
            common_ones += 1;
            let head = mms::Head::decode(&tsdu).unwrap();
            let is_request = head.kind == mms::Kind::ConfirmedRequest;
            assert!(is_request || head.kind == mms::Kind::ConfirmedResponse);
            let decoded = Common {
                context: u8::try_from(head.context).unwrap(),
                is_request,
                invoke: head.invoke.unwrap(),
                service: u8::try_from(head.service.unwrap().0).unwrap(),
            };
            assert_eq!((common, head.failure), (decoded, None), "{tsdu:02x?}");
        }
        assert!(common_ones > 20_000, "{common_ones}");
    }
}
