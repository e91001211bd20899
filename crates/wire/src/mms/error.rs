//! Errors of services and rejected PDUs (ISO 9506-2 7).

use crate::ber::{Element, Hex, Reader, Tag, Text, Writer};
use crate::read::Malformed;
use core::fmt;

/// Error of a service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ServiceError<'a> {
    /// Class: the number in the CHOICE.
    pub class: u32,
    /// Code in its class.
    pub code: i64,
    /// Additional code.
    pub additional: Option<i64>,
    /// Additional description.
    pub description: Option<&'a [u8]>,
    /// Information specific to the service, undivided.
    pub information: Option<&'a [u8]>,
}

impl<'a> ServiceError<'a> {
    /// Decodes the members of the SEQUENCE.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let class = reader.expect("error class", Tag(0xA0))?.reader().element("error class")?;
        if !class.tag.is_context() {
            return Err(class.malformed("error class"));
        }
        let code = class.integer("error code")?;
        let additional = reader.optional("additional code", Tag(0x81))?;
        let additional = additional.map(|it| it.integer("additional code")).transpose()?;
        let description = reader.optional("additional description", Tag(0x82))?;
        let information = reader.optional("service specific information", Tag(0xA3))?;
        Ok(Self {
            class: class.tag.number(),
            code,
            additional,
            description: description.map(|it| it.content),
            information: information.map(|it| it.content),
        })
    }

    /// Writes the members in front of what `out` holds.
    pub fn encode(&self, out: &mut Writer) {
        out.optional_element(Tag(0xA3), self.information);
        out.optional_element(Tag(0x82), self.description);
        out.optional(Tag(0x81), self.additional);
        let before = out.len();
        out.integer(Tag::primitive(self.class), self.code);
        out.close(Tag(0xA0), before);
    }
}

/// Returns the name of an error class.
#[must_use]
pub const fn class_name(class: u32) -> &'static str {
    match class {
        0 => "vmd-state",
        1 => "application-reference",
        2 => "definition",
        3 => "resource",
        4 => "service",
        5 => "service-preempt",
        6 => "time-resolution",
        7 => "access",
        8 => "initiate",
        9 => "conclude",
        10 => "cancel",
        11 => "file",
        12 => "others",
        _ => "unknown-class",
    }
}

impl fmt::Display for ServiceError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", class_name(self.class), self.code)?;
        if let Some(code) = self.additional {
            write!(f, " additional={code}")?;
        }
        if let Some(text) = self.description {
            write!(f, " {}", Text(text))?;
        }
        match self.information {
            Some(octets) => write!(f, " information={}", Hex(octets)),
            None => Ok(()),
        }
    }
}

/// Rejected PDU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reject {
    /// Invoke identifier of the rejected PDU.
    pub invoke: Option<u32>,
    /// Kind of the rejected PDU: the number in the CHOICE, 1 for a confirmed request, 2 response, 3
    /// error, 4 unconfirmed, 5 an unknown PDU, 6 to 8 cancel, 9 to 11 conclude.
    pub kind: u32,
    /// Reason.
    pub reason: i64,
}

impl Reject {
    /// Decodes the members of the SEQUENCE.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(mut reader: Reader<'_>) -> Result<Self, Malformed> {
        let invoke = reader.optional("original invoke identifier", Tag(0x80))?;
        let invoke = invoke.map(|it| it.unsigned("original invoke identifier")).transpose()?;
        let reason: Element<'_> = reader.element("reject reason")?;
        if !reason.tag.is_context() || reason.tag.number() == 0 {
            return Err(reason.malformed("reject reason"));
        }
        let kind = reason.tag.number();
        Ok(Self { invoke, kind, reason: reason.integer("reject reason")? })
    }

    /// Writes the members in front of what `out` holds.
    pub fn encode(&self, out: &mut Writer) {
        out.integer(Tag::primitive(self.kind), self.reason);
        out.optional(Tag(0x80), self.invoke);
    }

    /// Name of the reason.
    #[must_use]
    pub const fn reason_name(&self) -> &'static str {
        match (self.kind, self.reason) {
            (_, 0) if self.kind != 5 => "other",
            (1, 1) => "unrecognized-service",
            (1, 2) => "unrecognized-modifier",
            (1, 3) => "invalid-invoke-id",
            (1, 4) => "invalid-argument",
            (1, 5) => "invalid-modifier",
            (1, 6) => "max-serv-outstanding-exceeded",
            (1, 8) => "max-recursion",
            (1, 9) => "value-out-of-range",
            (5, 0) => "unknown-pdu-type",
            (5, 1) => "invalid-pdu",
            (5, 2) => "illegal-acse-mapping",
            _ => "unknown-reason",
        }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(invoke) = self.invoke {
            write!(f, "invoke={invoke} ")?;
        }
        write!(f, "{}/{} ({})", self.kind, self.reason, self.reason_name())
    }
}
