//! Services of the virtual device: status, names, identification (ISO 9506-2 10).

use super::data::Printed;
use super::names::{Identifier, Scope};
use crate::ber::{BitString, Hex, List, Reader, Tag, Text, Writer};
use crate::read::Malformed;
use core::fmt;

/// Status of a device, as a response or unsolicited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Status<'a> {
    /// Logical status: 0 state changes allowed, 1 none allowed, 2 limited services, 3 support
    /// services.
    pub logical: i64,
    /// Physical status: 0 operational, 1 partially, 2 inoperable, 3 needs commissioning.
    pub physical: i64,
    /// Local detail.
    pub local: Option<BitString<'a>>,
}

impl<'a> Status<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let logical = reader.expect("logical status", Tag(0x80))?.integer("logical status")?;
        let physical = reader.expect("physical status", Tag(0x81))?.integer("physical status")?;
        let local = reader.optional("local detail", Tag(0x82))?;
        let local = local.map(|it| BitString::of(&it, "local detail")).transpose()?;
        Ok(Self { logical, physical, local })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        if let Some(bits) = self.local {
            out.bits(Tag(0x82), bits);
        }
        out.integer(Tag(0x81), self.physical);
        out.integer(Tag(0x80), self.logical);
    }
}

impl fmt::Display for Status<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "logical={} physical={}", self.logical, self.physical)?;
        match self.local {
            Some(bits) => write!(f, " local={bits}"),
            None => Ok(()),
        }
    }
}

/// Request for names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NameListRequest<'a> {
    /// Class of objects: 0 named variables, 2 named variable lists, 8 journals, 9 domains.
    pub class: i64,
    /// Scope.
    pub scope: Scope<'a>,
    /// Last name of the response before.
    pub continue_after: Option<&'a [u8]>,
}

impl<'a> NameListRequest<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let mut class = reader.expect("object class", Tag(0xA0))?.reader();
        let class = class.expect("basic object class", Tag(0x80))?.integer("basic object class")?;
        let scope = reader.expect("object scope", Tag(0xA1))?.reader().element("object scope")?;
        let scope = Scope::of(&scope)?;
        let continue_after = reader.optional("continue after", Tag(0x82))?;
        Ok(Self { class, scope, continue_after: continue_after.map(|it| it.content) })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.optional_element(Tag(0x82), self.continue_after);
        let before = out.len();
        self.scope.put(out);
        out.close(Tag(0xA1), before);
        let before = out.len();
        out.integer(Tag(0x80), self.class);
        out.close(Tag(0xA0), before);
    }
}

impl fmt::Display for NameListRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "class={} scope={}", self.class, self.scope)?;
        match self.continue_after {
            Some(name) => write!(f, " after={}", Text(name)),
            None => Ok(()),
        }
    }
}

/// Response with names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameList<'a> {
    /// Names.
    pub names: List<'a, Identifier<'a>>,
    /// False for the last part; true if absent.
    pub more_follows: Option<bool>,
}

impl<'a> NameList<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let names = List::decode(reader.expect("list of identifiers", Tag(0xA0))?.reader())?;
        Ok(Self { names, more_follows: more_follows(&mut reader)? })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        put_more_follows(self.more_follows, out);
        out.element(Tag(0xA0), self.names.octets());
    }
}

impl fmt::Display for NameList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Printed(self.names))?;
        f.write_str(if self.more_follows == Some(false) { "" } else { " more" })
    }
}

/// Takes the member that tells the last part of a response from others.
pub(super) fn more_follows(reader: &mut Reader<'_>) -> Result<Option<bool>, Malformed> {
    let element = reader.optional("more follows", Tag(0x81))?;
    element.map(|it| it.boolean("more follows")).transpose()
}

/// Writes the member that tells the last part of a response from others.
pub(super) fn put_more_follows(value: Option<bool>, out: &mut Writer) {
    if let Some(value) = value {
        out.boolean(Tag(0x81), value);
    }
}

/// Identification of a device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Identification<'a> {
    /// Vendor.
    pub vendor: &'a [u8],
    /// Model.
    pub model: &'a [u8],
    /// Revision.
    pub revision: &'a [u8],
    /// Abstract syntaxes, undivided.
    pub syntaxes: Option<&'a [u8]>,
}

impl<'a> Identification<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let vendor = reader.expect("vendor name", Tag(0x80))?.content;
        let model = reader.expect("model name", Tag(0x81))?.content;
        let revision = reader.expect("revision", Tag(0x82))?.content;
        let syntaxes = reader.optional("list of abstract syntaxes", Tag(0xA3))?;
        Ok(Self { vendor, model, revision, syntaxes: syntaxes.map(|it| it.content) })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.optional_element(Tag(0xA3), self.syntaxes);
        out.element(Tag(0x82), self.revision);
        out.element(Tag(0x81), self.model);
        out.element(Tag(0x80), self.vendor);
    }
}

impl fmt::Display for Identification<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", Text(self.vendor), Text(self.model), Text(self.revision))?;
        match self.syntaxes {
            Some(octets) => write!(f, " syntaxes={}", Hex(octets)),
            None => Ok(()),
        }
    }
}
