//! MMS, the manufacturing message specification (ISO 9506-2): its PDUs, the services that devices
//! use, and data.
//!
//! ```text
//! A0 L  02 n invoke identifier  A4 L read  ...    a confirmed request
//! ```
//!
//! The names of services and fields are those of the standard's text; clauses are those of the
//! edition of 2003. Services that are not decoded
//! keep their tag and octets. [`Head`] decodes the first octets of a TSDU, for a meter. The members
//! of a SEQUENCE have their order; unknown ones behind them are skipped. Left out: the semantics of
//! the services, alternate access, events, journals, semaphores and program invocations.

mod confirmed;
mod data;
mod domain;
mod error;
mod file;
mod head;
mod initiate;
mod kind;
mod names;
mod types;
mod variables;
mod vmd;

pub use confirmed::{Request, Response};
pub use data::{AccessResult, DEEPEST_DATA, Data, WriteResult, access_error_name};
pub use domain::{Capability, DownloadEnd, DownloadRequest, Load, Segment, Upload};
pub use error::{Reject, ServiceError, class_name};
pub use file::{
    Directory, DirectoryEntry, DirectoryRequest, FileAttributes, FileData, FileName, FileOpen,
    FileRename, ObtainFile, OpenedFile, Part,
};
pub use head::{Failure, Head, Report};
pub use initiate::Initiate;
pub use kind::{Kind, Service, UnconfirmedService};
pub use names::{Identifier, ObjectName, Scope, Specification, Variable, VariableAccess};
pub use types::{Component, Nested, TypeDescription};
pub use variables::{
    Deleted, InformationReport, ListAttributes, ListDefinition, ListDeletion, ReadRequest,
    ReadResponse, VariableAttributes, WriteRequest,
};
pub use vmd::{Identification, NameList, NameListRequest, Status};

use crate::ber::{Element, Hex, Oid, Reader, Tag, Writer};
use crate::read::Malformed;
use core::fmt;

/// Abstract syntax of MMS, 1.0.9506.2.1.
pub const SYNTAX: Oid<'static> = Oid(&[0x28, 0xCA, 0x22, 2, 1]);
/// Application context of MMS, 1.0.9506.2.3.
pub const CONTEXT_NAME: Oid<'static> = Oid(&[0x28, 0xCA, 0x22, 2, 3]);

/// Request of a confirmed service, with its invoke identifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfirmedRequest<'a> {
    /// Invoke identifier, which the response repeats.
    pub invoke: u32,
    /// List of modifiers, undivided.
    pub modifiers: Option<&'a [u8]>,
    /// Service.
    pub service: Request<'a>,
    /// Additional detail of companion standards, as its elements.
    pub detail: &'a [u8],
}

/// Response of a confirmed service, with its invoke identifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfirmedResponse<'a> {
    /// Invoke identifier of the request.
    pub invoke: u32,
    /// Service.
    pub service: Response<'a>,
    /// Additional detail of companion standards, as its elements.
    pub detail: &'a [u8],
}

/// Error of a confirmed service, with its invoke identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConfirmedError<'a> {
    /// Invoke identifier of the request.
    pub invoke: u32,
    /// Position of the modifier that failed.
    pub modifier: Option<u32>,
    /// Error.
    pub error: ServiceError<'a>,
}

/// Unconfirmed service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unconfirmed<'a> {
    /// Information report.
    InformationReport(InformationReport<'a>),
    /// Unsolicited status.
    UnsolicitedStatus(Status<'a>),
    /// Another service.
    Other {
        /// Tag.
        tag: Tag,
        /// Contents.
        content: &'a [u8],
    },
}

/// PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pdu<'a> {
    /// Confirmed request.
    ConfirmedRequest(ConfirmedRequest<'a>),
    /// Confirmed response.
    ConfirmedResponse(ConfirmedResponse<'a>),
    /// Confirmed error.
    ConfirmedError(ConfirmedError<'a>),
    /// Unconfirmed service.
    Unconfirmed(Unconfirmed<'a>),
    /// Reject.
    Reject(Reject),
    /// Cancel request, with the invoke identifier of the request to cancel.
    CancelRequest(u32),
    /// Cancel response.
    CancelResponse(u32),
    /// Cancel error; it has no modifier.
    CancelError {
        /// Invoke identifier of the request to cancel.
        invoke: u32,
        /// Error.
        error: ServiceError<'a>,
    },
    /// Initiate request.
    InitiateRequest(Initiate<'a>),
    /// Initiate response.
    InitiateResponse(Initiate<'a>),
    /// Initiate error.
    InitiateError(ServiceError<'a>),
    /// Conclude request.
    ConcludeRequest,
    /// Conclude response.
    ConcludeResponse,
    /// Conclude error.
    ConcludeError(ServiceError<'a>),
}

impl<'a> Pdu<'a> {
    /// Decodes the PDU in `octets`.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut outer = Reader::new(octets);
        let element = outer.element("MMS PDU")?;
        outer.finish("MMS PDU")?;
        let kind = Kind::of_tag(element.tag).ok_or(element.malformed("MMS PDU"))?;
        let reader = element.reader();
        Ok(match kind {
            Kind::ConfirmedRequest => Self::ConfirmedRequest(request(reader)?),
            Kind::ConfirmedResponse => Self::ConfirmedResponse(response(reader)?),
            Kind::ConfirmedError => Self::ConfirmedError(error(reader)?),
            Kind::Unconfirmed => Self::Unconfirmed(unconfirmed(reader)?),
            Kind::Reject => Self::Reject(Reject::decode(reader)?),
            Kind::CancelRequest => {
                Self::CancelRequest(element.unsigned("original invoke identifier")?)
            }
            Kind::CancelResponse => {
                Self::CancelResponse(element.unsigned("original invoke identifier")?)
            }
            Kind::CancelError => cancel_error(reader)?,
            Kind::InitiateRequest => Self::InitiateRequest(Initiate::decode(reader)?),
            Kind::InitiateResponse => Self::InitiateResponse(Initiate::decode(reader)?),
            Kind::InitiateError => Self::InitiateError(ServiceError::decode(reader)?),
            Kind::ConcludeRequest => {
                element.null("conclude request").map(|()| Self::ConcludeRequest)?
            }
            Kind::ConcludeResponse => {
                element.null("conclude response").map(|()| Self::ConcludeResponse)?
            }
            Kind::ConcludeError => Self::ConcludeError(ServiceError::decode(reader)?),
        })
    }

    /// Writes the PDU in front of what `out` holds.
    pub fn encode(&self, out: &mut Writer) {
        let before = out.len();
        match self {
            Self::ConfirmedRequest(pdu) => {
                out.put(pdu.detail);
                pdu.service.encode(out);
                out.optional_element(Tag::SEQUENCE, pdu.modifiers);
                out.integer(Tag::INTEGER, i64::from(pdu.invoke));
            }
            Self::ConfirmedResponse(pdu) => {
                out.put(pdu.detail);
                pdu.service.encode(out);
                out.integer(Tag::INTEGER, i64::from(pdu.invoke));
            }
            Self::ConfirmedError(pdu) => {
                pdu.error.encode(out);
                out.close(Tag(0xA2), before);
                out.optional(Tag(0x81), pdu.modifier);
                out.integer(Tag(0x80), i64::from(pdu.invoke));
            }
            Self::Unconfirmed(pdu) => pdu.encode(out),
            Self::Reject(pdu) => pdu.encode(out),
            Self::CancelRequest(invoke) | Self::CancelResponse(invoke) => {
                return out.integer(self.kind().tag(), i64::from(*invoke));
            }
            Self::CancelError { invoke, error } => {
                error.encode(out);
                out.close(Tag(0xA1), before);
                out.integer(Tag(0x80), i64::from(*invoke));
            }
            Self::InitiateRequest(pdu) | Self::InitiateResponse(pdu) => pdu.encode(out),
            Self::InitiateError(error) | Self::ConcludeError(error) => error.encode(out),
            Self::ConcludeRequest | Self::ConcludeResponse => {}
        }
        out.close(self.kind().tag(), before);
    }

    /// Kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::ConfirmedRequest(_) => Kind::ConfirmedRequest,
            Self::ConfirmedResponse(_) => Kind::ConfirmedResponse,
            Self::ConfirmedError(_) => Kind::ConfirmedError,
            Self::Unconfirmed(_) => Kind::Unconfirmed,
            Self::Reject(_) => Kind::Reject,
            Self::CancelRequest(_) => Kind::CancelRequest,
            Self::CancelResponse(_) => Kind::CancelResponse,
            Self::CancelError { .. } => Kind::CancelError,
            Self::InitiateRequest(_) => Kind::InitiateRequest,
            Self::InitiateResponse(_) => Kind::InitiateResponse,
            Self::InitiateError(_) => Kind::InitiateError,
            Self::ConcludeRequest => Kind::ConcludeRequest,
            Self::ConcludeResponse => Kind::ConcludeResponse,
            Self::ConcludeError(_) => Kind::ConcludeError,
        }
    }

    /// Invoke identifier.
    #[must_use]
    pub const fn invoke(&self) -> Option<u32> {
        match self {
            Self::ConfirmedRequest(pdu) => Some(pdu.invoke),
            Self::ConfirmedResponse(pdu) => Some(pdu.invoke),
            Self::ConfirmedError(pdu) => Some(pdu.invoke),
            Self::Reject(pdu) => pdu.invoke,
            Self::CancelRequest(invoke)
            | Self::CancelResponse(invoke)
            | Self::CancelError { invoke, .. } => Some(*invoke),
            _ => None,
        }
    }

    /// Service of a confirmed request or response.
    #[must_use]
    pub const fn service(&self) -> Option<Service> {
        match self {
            Self::ConfirmedRequest(pdu) => Some(pdu.service.service()),
            Self::ConfirmedResponse(pdu) => Some(pdu.service.service()),
            _ => None,
        }
    }
}

fn invoke(reader: &mut Reader<'_>, tag: Tag) -> Result<u32, Malformed> {
    reader.expect("invoke identifier", tag)?.unsigned("invoke identifier")
}

fn request(mut reader: Reader<'_>) -> Result<ConfirmedRequest<'_>, Malformed> {
    let invoke = invoke(&mut reader, Tag::INTEGER)?;
    let modifiers = reader.optional("list of modifiers", Tag::SEQUENCE)?.map(|it| it.content);
    let service = Request::decode(&reader.element("confirmed service request")?)?;
    Ok(ConfirmedRequest { invoke, modifiers, service, detail: detail(reader)? })
}

fn response(mut reader: Reader<'_>) -> Result<ConfirmedResponse<'_>, Malformed> {
    let invoke = invoke(&mut reader, Tag::INTEGER)?;
    let service = Response::decode(&reader.element("confirmed service response")?)?;
    Ok(ConfirmedResponse { invoke, service, detail: detail(reader)? })
}

/// Elements up to the end.
fn detail(mut reader: Reader<'_>) -> Result<&[u8], Malformed> {
    let octets = reader.rest();
    while !reader.is_empty() {
        reader.element("detail")?;
    }
    Ok(octets)
}

fn error(mut reader: Reader<'_>) -> Result<ConfirmedError<'_>, Malformed> {
    let invoke = invoke(&mut reader, Tag(0x80))?;
    let modifier = reader.optional("modifier position", Tag(0x81))?;
    let modifier = modifier.map(|it| it.unsigned("modifier position")).transpose()?;
    let error = ServiceError::decode(reader.expect("service error", Tag(0xA2))?.reader())?;
    Ok(ConfirmedError { invoke, modifier, error })
}

fn cancel_error(mut reader: Reader<'_>) -> Result<Pdu<'_>, Malformed> {
    let invoke = invoke(&mut reader, Tag(0x80))?;
    let error = ServiceError::decode(reader.expect("service error", Tag(0xA1))?.reader())?;
    Ok(Pdu::CancelError { invoke, error })
}

fn unconfirmed(mut reader: Reader<'_>) -> Result<Unconfirmed<'_>, Malformed> {
    let element: Element<'_> = reader.element("unconfirmed service")?;
    match element.tag {
        Tag(0xA0) => {
            InformationReport::decode(element.reader()).map(Unconfirmed::InformationReport)
        }
        Tag(0xA1) => Status::decode(element.reader()).map(Unconfirmed::UnsolicitedStatus),
        tag if tag.is_context() => Ok(Unconfirmed::Other { tag, content: element.content }),
        _ => Err(element.malformed("unconfirmed service")),
    }
}

impl Unconfirmed<'_> {
    fn encode(&self, out: &mut Writer) {
        let before = out.len();
        match self {
            Self::InformationReport(it) => {
                it.encode(out);
                out.close(Tag(0xA0), before);
            }
            Self::UnsolicitedStatus(it) => {
                it.encode(out);
                out.close(Tag(0xA1), before);
            }
            Self::Other { tag, content } => out.element(*tag, content),
        }
    }

    /// Service.
    #[must_use]
    pub const fn service(&self) -> UnconfirmedService {
        UnconfirmedService(match self {
            Self::InformationReport(_) => 0,
            Self::UnsolicitedStatus(_) => 1,
            Self::Other { tag, .. } => tag.number(),
        })
    }
}

impl fmt::Display for Unconfirmed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.service())?;
        match self {
            Self::InformationReport(it) => write!(f, " {it}"),
            Self::UnsolicitedStatus(it) => write!(f, " {it}"),
            Self::Other { content, .. } => write!(f, " {}", Hex(content)),
        }
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MMS {}", self.kind())?;
        match self {
            Self::ConfirmedRequest(pdu) => write!(f, " invoke={} {}", pdu.invoke, pdu.service),
            Self::ConfirmedResponse(pdu) => write!(f, " invoke={} {}", pdu.invoke, pdu.service),
            Self::ConfirmedError(pdu) => write!(f, " invoke={} {}", pdu.invoke, pdu.error),
            Self::Unconfirmed(pdu) => write!(f, " {pdu}"),
            Self::Reject(pdu) => write!(f, " {pdu}"),
            Self::CancelRequest(invoke) | Self::CancelResponse(invoke) => {
                write!(f, " invoke={invoke}")
            }
            Self::CancelError { invoke, error } => write!(f, " invoke={invoke} {error}"),
            Self::InitiateRequest(pdu) | Self::InitiateResponse(pdu) => write!(f, " {pdu}"),
            Self::InitiateError(error) | Self::ConcludeError(error) => write!(f, " {error}"),
            Self::ConcludeRequest | Self::ConcludeResponse => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
