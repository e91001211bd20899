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
