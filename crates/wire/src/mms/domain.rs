//! Download and upload of domains, by which programs reach a device (ISO 9506-2 11).

use super::data::Printed;
use super::error::ServiceError;
use super::vmd::{more_follows, put_more_follows};
use crate::ber::{Item, List, Reader, Tag, Text, Writer};
use crate::read::Malformed;
use core::fmt;

/// Capability of a device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Capability<'a>(pub &'a [u8]);

impl<'a> Item<'a> for Capability<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self(reader.expect("capability", Tag::VISIBLE_STRING)?.content))
    }

    fn put(&self, out: &mut Writer) {
        out.element(Tag::VISIBLE_STRING, self.0);
    }
}

impl fmt::Display for Capability<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text(self.0))
    }
}

/// Request that begins a download.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DownloadRequest<'a> {
    /// Domain.
    pub domain: &'a [u8],
    /// Capabilities.
    pub capabilities: List<'a, Capability<'a>>,
    /// True if several programs may share the domain.
    pub sharable: bool,
}

impl<'a> DownloadRequest<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let domain = reader.expect("domain name", Tag(0x80))?.content;
        let capabilities = reader.expect("list of capabilities", Tag(0xA1))?;
        let capabilities = List::decode(capabilities.reader())?;
        let sharable = reader.expect("sharable", Tag(0x82))?.boolean("sharable")?;
        Ok(Self { domain, capabilities, sharable })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.boolean(Tag(0x82), self.sharable);
        out.element(Tag(0xA1), self.capabilities.octets());
        out.element(Tag(0x80), self.domain);
    }
}

impl fmt::Display for DownloadRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Text(self.domain), Printed(self.capabilities))?;
        f.write_str(if self.sharable { " sharable" } else { "" })
    }
}

/// Part of a domain, in the response to a download or upload segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Segment<'a> {
    /// Octets; of coded data, the element of its EXTERNAL.
    pub load: Load<'a>,
    /// False for the last part; true if absent.
    pub more_follows: Option<bool>,
}

/// Load data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Load<'a> {
    /// Octets without a code.
    Octets(&'a [u8]),
    /// EXTERNAL, as its contents.
    Coded(&'a [u8]),
}

impl<'a> Segment<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let element = reader.element("load data")?;
        let load = match element.tag {
            Tag(0x80) => Load::Octets(element.content),
            Tag::EXTERNAL => Load::Coded(element.content),
            _ => return Err(element.malformed("load data")),
        };
        Ok(Self { load, more_follows: more_follows(&mut reader)? })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        put_more_follows(self.more_follows, out);
        match self.load {
            Load::Octets(octets) => out.element(Tag(0x80), octets),
            Load::Coded(octets) => out.element(Tag::EXTERNAL, octets),
        }
    }

    /// Octets of the load data.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        match self.load {
            Load::Octets(octets) | Load::Coded(octets) => octets,
        }
    }
}

impl fmt::Display for Segment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.more_follows == Some(false) { "" } else { " more" };
        write!(f, "{} octets{more}", self.octets().len())
    }
}

/// Request of the device that ends a download.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DownloadEnd<'a> {
    /// Domain.
    pub domain: &'a [u8],
    /// Reason for which the domain is discarded.
    pub discard: Option<ServiceError<'a>>,
}

impl<'a> DownloadEnd<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let domain = reader.expect("domain name", Tag(0x80))?.content;
        let discard = reader.optional("discard", Tag(0xA1))?;
        let discard = discard.map(|it| ServiceError::decode(it.reader())).transpose()?;
        Ok(Self { domain, discard })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        if let Some(error) = &self.discard {
            let before = out.len();
            error.encode(out);
            out.close(Tag(0xA1), before);
        }
        out.element(Tag(0x80), self.domain);
    }
}

impl fmt::Display for DownloadEnd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text(self.domain))?;
        match &self.discard {
            Some(error) => write!(f, " discard={error}"),
            None => Ok(()),
        }
    }
}

/// Response that begins an upload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Upload<'a> {
    /// Identifier of the upload state machine (ULSM), which later requests name.
    pub machine: i64,
    /// Capabilities.
    pub capabilities: List<'a, Capability<'a>>,
}

impl<'a> Upload<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let machine = reader.expect("ULSM identifier", Tag(0x80))?.integer("ULSM identifier")?;
        let capabilities = reader.expect("list of capabilities", Tag(0xA1))?;
        Ok(Self { machine, capabilities: List::decode(capabilities.reader())? })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.element(Tag(0xA1), self.capabilities.octets());
        out.integer(Tag(0x80), self.machine);
    }
}

impl fmt::Display for Upload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ulsm={} {}", self.machine, Printed(self.capabilities))
    }
}
