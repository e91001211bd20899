//! What the first octets of a TSDU say to the follower: the kind of PDU, its context, its invoke
//! identifier.

use super::report::{Cause, Layer, Source};
use crate::measure::Service;
use wire::acse;
use wire::ber::{Reader, Tag};
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
    Data { context: i64, pdu: Pdu<'a> },
    /// Anything else.
    Other,
}

/// Head of an MMS PDU (ISO 9506-2 7.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pdu<'a> {
    /// Confirmed request.
    Request { invoke: u32, service: Service },
    /// Confirmed response.
    Answer { invoke: u32 },
    /// Confirmed error.
    Error { invoke: u32, class: u8, code: u8 },
    /// Reject, with the class and code of its reason.
    Reject { invoke: Option<u32>, class: u8, code: u8 },
    /// Unconfirmed PDU, with the name of its control block or list.
    Report(&'a [u8]),
    /// Response to a conclude request.
    Concluded,
    /// Cancel, initiate, and the other PDUs of conclude.
    Other,
}

impl<'a> Head<'a> {
    /// Head of the TSDU that begins with these octets.
    pub(super) fn of(tsdu: &'a [u8]) -> Self {
        match tsdu {
            [1, 0, 1, 0, ssdu @ ..] => data(ssdu).unwrap_or(Self::Other),
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
            Kind::Dt | Kind::Gt | Kind::Pt => data(spdu.ssdu()).unwrap_or(Self::Other),
            Kind::Aa | Kind::Short(_) | Kind::Other(_) => Self::Other,
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
    let pdu = Reader::new(octets).cut().filter(|pdu| pdu.tag == Tag(0xAA))?;
    let [class, code] = service_error(pdu.reader())?;
    Some(Cause::new(Layer::Mms, Some(i64::from(class) * 100 + i64::from(code))))
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

/// First data value in user data (ISO 8823 8.4), and the MMS PDU that begins it.
fn data(ssdu: &[u8]) -> Option<Head<'_>> {
    let user_data = Reader::new(ssdu).cut().filter(|data| data.tag == Tag(0x61))?;
    let list = user_data.reader().cut().filter(|list| list.tag == Tag::SEQUENCE)?;
    let mut list = list.reader();
    let mut context = list.cut()?;
    if context.tag == Tag::OBJECT_IDENTIFIER {
        context = list.cut()?;
    }
    let context = context.integer("context").ok().filter(|_| context.tag == Tag::INTEGER)?;
    let value = list.cut().filter(|value| matches!(value.tag, Tag(0xA0 | 0x81)))?;
    let pdu = mms(value.reader())?;
    Some(Head::Data { context, pdu })
}

/// Head of an MMS PDU; none for another one.
fn mms(mut reader: Reader<'_>) -> Option<Pdu<'_>> {
    let pdu = reader.cut()?;
    let mut inside = pdu.reader();
    match pdu.tag {
        Tag(0xA0) => {
            let invoke = invoke(&mut inside, Tag::INTEGER)?;
            let mut service = inside.cut()?;
            // List of modifiers.
            if service.tag == Tag::SEQUENCE {
                service = inside.cut()?;
            }
            Some(Pdu::Request { invoke, service: Service::of(service.tag.number()) })
        }
        Tag(0xA1) => Some(Pdu::Answer { invoke: invoke(&mut inside, Tag::INTEGER)? }),
        Tag(0xA2) => {
            let invoke = invoke(&mut inside, Tag(0x80))?;
            let [class, code] = service_error(inside).unwrap_or_default();
            Some(Pdu::Error { invoke, class, code })
        }
        Tag(0xA3) => Some(Pdu::Report(reported(inside).unwrap_or_default())),
        Tag(0xA4) => {
            let invoke = if inside.peek() == Some(Tag(0x80)) {
                Some(invoke(&mut inside, Tag(0x80))?)
            } else {
                None
            };
            let reason = inside.cut();
            let class = reason.map_or(0, |reason| octet(reason.tag.number()));
            let code = reason.and_then(|reason| reason.content.last().copied()).unwrap_or(0);
            Some(Pdu::Reject { invoke, class, code })
        }
        Tag(0x8C) => Some(Pdu::Concluded),
        Tag(0x85 | 0x86 | 0xA7 | 0xA8 | 0xA9 | 0xAA | 0x8B | 0xAD) => Some(Pdu::Other),
        _ => None,
    }
}

fn octet(number: u32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

fn invoke(inside: &mut Reader<'_>, tag: Tag) -> Option<u32> {
    let invoke = inside.cut().filter(|invoke| invoke.tag == tag)?;
    invoke.unsigned("invoke identifier").ok()
}

/// Class and code in the service error of a PDU (ISO 9506-2 7.4), wherever it stands.
fn service_error(mut inside: Reader<'_>) -> Option<[u8; 2]> {
    while let Some(element) = inside.cut() {
        if matches!(element.tag, Tag(0xA2)) {
            let class = element.reader().cut().filter(|class| class.tag == Tag(0xA0))?;
            let code = class.reader().cut()?;
            return Some([octet(code.tag.number()), code.content.last().copied()?]);
        }
    }
    None
}

/// Name in an information report: of IEC 61850 the identifier of the report, the first value of the
/// list RPT; otherwise that of the list, or of the first variable.
fn reported(mut inside: Reader<'_>) -> Option<&[u8]> {
    let service = inside.cut().filter(|service| service.tag == Tag(0xA0))?;
    let mut service = service.reader();
    let access = service.cut()?;
    let name = match access.tag {
        Tag(0xA1) => access.reader().cut()?,
        // List of variables: specification, choice name.
        _ => {
            let variable = access.reader().cut()?.reader().cut()?;
            variable.reader().cut()?
        }
    };
    if name.tag == Tag(0x80) && name.content == b"RPT" {
        let results = service.cut()?;
        let identifier = results.reader().cut()?;
        return Some(identifier.content).filter(|_| identifier.tag == Tag(0x8A));
    }
    match name.tag {
        Tag(0xA1) => {
            let mut domain = name.reader();
            domain.cut()?;
            domain.cut().map(|item| item.content)
        }
        _ => Some(name.content),
    }
}
