//! First octets of a TSDU with an MMS PDU, for a meter: enough to pair responses with requests.
//!
//! Only octets that are needed are read, nothing is checked beyond them, and none has to be there:
//! a value that the octets end before is `None`. 64 octets hold all values of common PDUs.

use super::kind::{Kind, Service};
use super::names::ObjectName;
use crate::ber::{Item, Reader, Tag};
use crate::session;

/// Failure that a PDU reports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Failure {
    /// Service error, of a confirmed, cancel, initiate or conclude error.
    Service {
        /// Class.
        class: u32,
        /// Code in its class.
        code: i64,
    },
    /// Reject.
    Reject {
        /// Kind of the rejected PDU, as in [`Reject`](super::Reject).
        kind: u32,
        /// Reason.
        reason: i64,
    },
    /// Data access error: the first result of a read or write response.
    Access(u32),
}

/// Name of an information report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Report<'a> {
    /// Variable list or first variable.
    pub list: ObjectName<'a>,
    /// First value, if it is a visible string: the `RptID` of a report of IEC 61850.
    pub identifier: Option<&'a [u8]>,
}

/// First octets of a TSDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head<'a> {
    /// Presentation context of the PDU.
    pub context: i64,
    /// Kind of PDU.
    pub kind: Kind,
    /// Invoke identifier.
    pub invoke: Option<u32>,
    /// Number of the confirmed or unconfirmed service.
    pub service: Option<Service>,
    /// Failure that the PDU reports, as far as the octets go.
    pub failure: Option<Failure>,
    /// Name of an information report.
    pub report: Option<Report<'a>>,
}

impl<'a> Head<'a> {
    /// Decodes the first octets of a TSDU: a DT with an MMS PDU as its first value. `None` for any
    /// other TSDU, and if the octets end before the tag of the PDU.
    ///
    /// A PDU of another application with the same tags is excluded as far as its first elements
    /// differ; the caller knows from the CN which context is that of MMS.
    #[must_use]
    pub fn decode(tsdu: &'a [u8]) -> Option<Self> {
        let ssdu = match tsdu {
            [1, 0, 1, 0, ssdu @ ..] => ssdu,
            _ => {
                let pdu = session::Pdu::decode(tsdu).ok()?;
                (pdu.kind == session::Kind::Dt).then_some(pdu.data)?
            }
        };
        let mut list = Reader::new(ssdu).cut().filter(|it| it.tag == Tag(0x61))?.reader();
        let mut pdv = list.cut().filter(|it| it.tag == Tag::SEQUENCE)?.reader();
        let mut element = pdv.cut()?;
        if element.tag == Tag::OBJECT_IDENTIFIER {
            element = pdv.cut()?;
        }
        let context = (element.tag == Tag::INTEGER).then(|| element.integer("context").ok())??;
        let value = pdv.cut().filter(|it| it.tag == Tag(0xA0))?;
        Self::of_pdu(context, value.content)
    }

    /// Decodes the first octets of an MMS PDU in a presentation context.
    #[must_use]
    pub fn of_pdu(context: i64, octets: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(octets);
        let kind = Kind::of_tag(reader.peek()?)?;
        let mut head =
            Self { context, kind, invoke: None, service: None, failure: None, report: None };
        let Some(element) = reader.cut() else { return Some(head) };
        let inside = element.reader();
        if inside.is_empty() {
            return Some(head);
        }
        match kind {
            Kind::ConfirmedRequest => {
                let mut reader = head.invoke(inside, Tag::INTEGER)?;
                skip(&mut reader, Tag::SEQUENCE);
                head.service = service(reader)?;
            }
            Kind::ConfirmedResponse => {
                let reader = head.invoke(inside, Tag::INTEGER)?;
                head.service = service(reader)?;
                head.failure = first_failure(reader);
            }
            Kind::ConfirmedError => {
                let mut reader = head.invoke(inside, Tag(0x80))?;
                skip(&mut reader, Tag(0x81));
                head.failure = wrapped(reader, Tag(0xA2)).and_then(service_error);
            }
            Kind::CancelError => {
                let reader = head.invoke(inside, Tag(0x80))?;
                head.failure = wrapped(reader, Tag(0xA1)).and_then(service_error);
            }
            Kind::InitiateError | Kind::ConcludeError => head.failure = service_error(inside),
            Kind::Unconfirmed => {
                head.service = service(inside)?;
                head.report = wrapped(inside, Tag(0xA0)).and_then(report);
            }
            Kind::Reject => head.reject(inside)?,
            Kind::CancelRequest | Kind::CancelResponse => {
                // A cut integer would be a smaller one.
                let whole = Reader::new(octets).element("invoke identifier").ok();
                head.invoke = whole.and_then(|it| it.unsigned("invoke identifier").ok());
            }
            Kind::InitiateRequest
            | Kind::InitiateResponse
            | Kind::ConcludeRequest
            | Kind::ConcludeResponse => {}
        }
        Some(head)
    }

    /// Takes the invoke identifier; `None` if there is another element in its place, so that this
    /// is no MMS PDU.
    fn invoke(&mut self, mut reader: Reader<'a>, tag: Tag) -> Option<Reader<'a>> {
        let is_other = reader.peek().is_some_and(|found| found != tag);
        if is_other {
            return None;
        }
        // A cut integer would be a smaller one.
        let element = reader.element("invoke identifier").ok();
        self.invoke = element.and_then(|it| it.unsigned("invoke identifier").ok());
        Some(if element.is_some() { reader } else { Reader::new(&[]) })
    }

    /// Takes a reject; `None` if there is another element in the place of the reason.
    fn reject(&mut self, mut reader: Reader<'a>) -> Option<()> {
        if reader.peek() == Some(Tag(0x80)) {
            reader = self.invoke(reader, Tag(0x80))?;
        }
        let Some(tag) = reader.peek() else { return Some(()) };
        if !tag.is_context() {
            return None;
        }
        let reason = reader.element("reject reason").ok().and_then(|it| it.integer("reason").ok());
        self.failure = reason.map(|reason| Failure::Reject { kind: tag.number(), reason });
        Some(())
    }
}

/// Service by the next tag; `None` within the result if there are no octets, and without if the tag
/// is not one of a service.
#[expect(clippy::option_option, reason = "absent octets differ from another protocol's octets")]
fn service(reader: Reader<'_>) -> Option<Option<Service>> {
    match reader.peek() {
        Some(tag) if tag.is_context() => Some(Some(Service(tag.number()))),
        Some(_) => None,
        None => Some(None),
    }
}

/// Takes the next element if it has the tag.
fn skip(reader: &mut Reader<'_>, tag: Tag) {
    if reader.peek() == Some(tag) {
        let _ = reader.cut();
    }
}

/// Reader of the contents of the next element, if it has the tag.
#[inline]
fn wrapped(mut reader: Reader<'_>, tag: Tag) -> Option<Reader<'_>> {
    let element = reader.cut().filter(|it| it.tag == tag)?;
    Some(element.reader())
}

fn service_error(reader: Reader<'_>) -> Option<Failure> {
    let class = wrapped(reader, Tag(0xA0))?.element("error class").ok()?;
    let code = class.integer("error code").ok()?;
    Some(Failure::Service { class: class.tag.number(), code })
}

/// Data access error of the first result of a read or write response.
fn first_failure(mut reader: Reader<'_>) -> Option<Failure> {
    let service = reader.cut()?;
    let mut results = service.reader();
    match service.tag {
        Tag(0xA4) => {
            skip(&mut results, Tag(0xA0));
            results = wrapped(results, Tag(0xA1))?;
        }
        Tag(0xA5) => {}
        _ => return None,
    }
    let first = results.element("result").ok().filter(|it| it.tag == Tag(0x80))?;
    first.unsigned("data access error").ok().map(Failure::Access)
}

/// Name of an information report, from its contents.
fn report(mut reader: Reader<'_>) -> Option<Report<'_>> {
    let access = reader.cut()?;
    let mut name = access.reader();
    if access.tag == Tag(0xA0) {
        // The first variable of a list: 30 L A0 L and its name.
        name = wrapped(wrapped(name, Tag::SEQUENCE)?, Tag(0xA0))?;
    }
    let list = ObjectName::take(&mut name).ok()?;
    let results = wrapped(reader, Tag(0xA0));
    let first = results.and_then(|mut it| it.element("first value").ok());
    let first = first.filter(|it| it.tag == Tag(0x8A));
    Some(Report { list, identifier: first.map(|it| it.content) })
}
