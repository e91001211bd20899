//! Initiate: agreement on versions, sizes and services (ISO 9506-2 8).

use crate::ber::{BitString, Reader, Tag, Writer};
use crate::read::Malformed;
use core::fmt;

/// Parameters of an initiate request or response.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Initiate<'a> {
    /// Local detail: the longest PDU in octets, proposed or agreed.
    pub local_detail: Option<i64>,
    /// Requests of the calling side that may be outstanding.
    pub outstanding_calling: i64,
    /// Requests of the called side that may be outstanding.
    pub outstanding_called: i64,
    /// Levels of nested data.
    pub nesting: Option<i64>,
    /// Version, 1.
    pub version: i64,
    /// Parameter CBB: optional features of the protocol, one bit each.
    pub parameters: BitString<'a>,
    /// Services that the sender supports, one bit each.
    pub services: BitString<'a>,
    /// Further members of the detail (second edition), undivided.
    pub further: &'a [u8],
}

impl<'a> Initiate<'a> {
    /// Decodes the members of the SEQUENCE.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let local_detail = reader.optional("local detail", Tag(0x80))?;
        let local_detail = local_detail.map(|it| it.integer("local detail")).transpose()?;
        let mut number = |field, tag| reader.expect(field, Tag(tag))?.integer(field);
        let outstanding_calling = number("max serv outstanding calling", 0x81)?;
        let outstanding_called = number("max serv outstanding called", 0x82)?;
        let nesting = reader.optional("data structure nesting level", Tag(0x83))?;
        let nesting = nesting.map(|it| it.integer("data structure nesting level")).transpose()?;
        let mut detail = reader.expect("initiate detail", Tag(0xA4))?.reader();
        let version = detail.expect("version number", Tag(0x80))?.integer("version number")?;
        let parameters = detail.expect("parameter CBB", Tag(0x81))?;
        let parameters = BitString::of(&parameters, "parameter CBB")?;
        let services = detail.expect("services supported", Tag(0x82))?;
        let services = BitString::of(&services, "services supported")?;
        let further = detail.rest();
        Ok(Self {
            local_detail,
            outstanding_calling,
            outstanding_called,
            nesting,
            version,
            parameters,
            services,
            further,
        })
    }

    /// Writes the members in front of what `out` holds.
    pub fn encode(&self, out: &mut Writer) {
        let before = out.len();
        out.put(self.further);
        out.bits(Tag(0x82), self.services);
        out.bits(Tag(0x81), self.parameters);
        out.integer(Tag(0x80), self.version);
        out.close(Tag(0xA4), before);
        out.optional(Tag(0x83), self.nesting);
        out.integer(Tag(0x82), self.outstanding_called);
        out.integer(Tag(0x81), self.outstanding_calling);
        out.optional(Tag(0x80), self.local_detail);
    }
}

impl fmt::Display for Initiate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version={}", self.version)?;
        if let Some(octets) = self.local_detail {
            write!(f, " pdu={octets}")?;
        }
        write!(f, " outstanding={}/{}", self.outstanding_calling, self.outstanding_called)?;
        if let Some(levels) = self.nesting {
            write!(f, " nesting={levels}")?;
        }
        write!(f, " parameters={} services={}", self.parameters, self.services)
    }
}
