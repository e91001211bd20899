//! File services (ISO 9506-2, the annex on file access).

use super::data::Printed;
use super::vmd::{more_follows, put_more_follows};
use crate::ber::{Item, List, Reader, Tag, Text, Writer};
use crate::read::Malformed;
use core::fmt;

/// Name of a file: parts of a path, usually a single one.
pub type FileName<'a> = List<'a, Part<'a>>;

/// Part of the name of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Part<'a> {
    /// Kind of string: [`Tag::GRAPHIC_STRING`]; others exist.
    pub tag: Tag,
    /// Text.
    pub text: &'a [u8],
}

impl<'a> Item<'a> for Part<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let element = reader.element("file name")?;
        if element.tag.is_constructed() {
            return Err(element.malformed("file name"));
        }
        Ok(Self { tag: element.tag, text: element.content })
    }

    fn put(&self, out: &mut Writer) {
        out.element(self.tag, self.text);
    }
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text(self.text))
    }
}

/// Request to open a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileOpen<'a> {
    /// Name.
    pub name: FileName<'a>,
    /// Octet from which reading begins.
    pub position: u32,
}

impl<'a> FileOpen<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let name = List::decode(reader.expect("file name", Tag(0xA0))?.reader())?;
        let position = reader.expect("initial position", Tag(0x81))?;
        Ok(Self { name, position: position.unsigned("initial position")? })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.integer(Tag(0x81), i64::from(self.position));
        out.element(Tag(0xA0), self.name.octets());
    }
}

impl fmt::Display for FileOpen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} position={}", Printed(self.name), self.position)
    }
}

/// Attributes of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileAttributes<'a> {
    /// Size in octets.
    pub size_octets: u32,
    /// Time of the last change, as generalized time.
    pub modified: Option<&'a [u8]>,
}

impl<'a> FileAttributes<'a> {
    fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let size_octets = reader.expect("size of file", Tag(0x80))?.unsigned("size of file")?;
        let modified = reader.optional("last modified", Tag(0x81))?;
        Ok(Self { size_octets, modified: modified.map(|it| it.content) })
    }

    fn encode(&self, out: &mut Writer) {
        out.optional_element(Tag(0x81), self.modified);
        out.integer(Tag(0x80), i64::from(self.size_octets));
    }
}

impl fmt::Display for FileAttributes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} octets", self.size_octets)?;
        match self.modified {
            Some(time) => write!(f, " {}", Text(time)),
            None => Ok(()),
        }
    }
}

/// Opened file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OpenedFile<'a> {
    /// Identifier of the read state machine (FRSM), which later requests name.
    pub machine: i64,
    /// Attributes.
    pub attributes: FileAttributes<'a>,
}

impl<'a> OpenedFile<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let machine = reader.expect("FRSM identifier", Tag(0x80))?.integer("FRSM identifier")?;
        let attributes = reader.expect("file attributes", Tag(0xA1))?;
        Ok(Self { machine, attributes: FileAttributes::decode(attributes.reader())? })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        let before = out.len();
        self.attributes.encode(out);
        out.close(Tag(0xA1), before);
        out.integer(Tag(0x80), self.machine);
    }
}

impl fmt::Display for OpenedFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frsm={} {}", self.machine, self.attributes)
    }
}

/// Part of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileData<'a> {
    /// Octets.
    pub octets: &'a [u8],
    /// False for the last part; true if absent.
    pub more_follows: Option<bool>,
}

impl<'a> FileData<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let octets = reader.expect("file data", Tag(0x80))?.content;
        Ok(Self { octets, more_follows: more_follows(&mut reader)? })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        put_more_follows(self.more_follows, out);
        out.element(Tag(0x80), self.octets);
    }
}

impl fmt::Display for FileData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.more_follows == Some(false) { "" } else { " more" };
        write!(f, "{} octets{more}", self.octets.len())
    }
}

/// Request to rename a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileRename<'a> {
    /// Current name.
    pub current: FileName<'a>,
    /// New name.
    pub new: FileName<'a>,
}

impl<'a> FileRename<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let current = List::decode(reader.expect("current file name", Tag(0xA0))?.reader())?;
        let new = List::decode(reader.expect("new file name", Tag(0xA1))?.reader())?;
        Ok(Self { current, new })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.element(Tag(0xA1), self.new.octets());
        out.element(Tag(0xA0), self.current.octets());
    }
}

impl fmt::Display for FileRename<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", Printed(self.current), Printed(self.new))
    }
}

/// Request to obtain a file from another device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObtainFile<'a> {
    /// Application that has the file, undivided.
    pub server: Option<&'a [u8]>,
    /// Name at the source.
    pub source: FileName<'a>,
    /// Name at the destination.
    pub destination: FileName<'a>,
}

impl<'a> ObtainFile<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let server = reader.optional("source file server", Tag(0xA0))?.map(|it| it.content);
        let source = List::decode(reader.expect("source file", Tag(0xA1))?.reader())?;
        let destination = List::decode(reader.expect("destination file", Tag(0xA2))?.reader())?;
        Ok(Self { server, source, destination })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.element(Tag(0xA2), self.destination.octets());
        out.element(Tag(0xA1), self.source.octets());
        out.optional_element(Tag(0xA0), self.server);
    }
}

impl fmt::Display for ObtainFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", Printed(self.source), Printed(self.destination))
    }
}

/// Request for a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectoryRequest<'a> {
    /// Directory, or pattern of names.
    pub specification: Option<FileName<'a>>,
    /// Last name of the response before.
    pub continue_after: Option<FileName<'a>>,
}

impl<'a> DirectoryRequest<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let specification = reader.optional("file specification", Tag(0xA0))?;
        let specification = specification.map(|it| List::decode(it.reader())).transpose()?;
        let after = reader.optional("continue after", Tag(0xA1))?;
        let continue_after = after.map(|it| List::decode(it.reader())).transpose()?;
        Ok(Self { specification, continue_after })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.optional_element(Tag(0xA1), self.continue_after.map(|name| name.octets()));
        out.optional_element(Tag(0xA0), self.specification.map(|name| name.octets()));
    }
}

impl fmt::Display for DirectoryRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Printed(self.specification.unwrap_or_default()))?;
        match self.continue_after {
            Some(name) => write!(f, " after={}", Printed(name)),
            None => Ok(()),
        }
    }
}

/// File in a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectoryEntry<'a> {
    /// Name.
    pub name: FileName<'a>,
    /// Attributes.
    pub attributes: FileAttributes<'a>,
}

impl<'a> Item<'a> for DirectoryEntry<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut item = reader.expect("directory entry", Tag::SEQUENCE)?.reader();
        let name = List::decode(item.expect("file name", Tag(0xA0))?.reader())?;
        let attributes = item.expect("file attributes", Tag(0xA1))?;
        Ok(Self { name, attributes: FileAttributes::decode(attributes.reader())? })
    }

    fn put(&self, out: &mut Writer) {
        let before = out.len();
        self.attributes.encode(out);
        out.close(Tag(0xA1), before);
        out.element(Tag(0xA0), self.name.octets());
        out.close(Tag::SEQUENCE, before);
    }
}

impl fmt::Display for DirectoryEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Printed(self.name), self.attributes)
    }
}

/// Files in a directory. The standard tags the list explicitly; some implementations do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Directory<'a> {
    /// True if the list has an element of its own in \[0\], as in the standard.
    pub is_explicit: bool,
    /// Files.
    pub entries: List<'a, DirectoryEntry<'a>>,
    /// True if more entries follow; false if absent.
    pub more_follows: Option<bool>,
}

impl<'a> Directory<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let list = reader.expect("list of directory entries", Tag(0xA0))?;
        let mut outer = list.reader();
        let wrapper = outer.optional("list of directory entries", Tag::SEQUENCE)?;
        let is_explicit = wrapper.is_some_and(|it| {
            outer.is_empty() && it.reader().peek().is_none_or(|tag| tag == Tag::SEQUENCE)
        });
        let entries = match wrapper {
            Some(wrapper) if is_explicit => List::decode(wrapper.reader())?,
            _ => List::decode(list.reader())?,
        };
        Ok(Self { is_explicit, entries, more_follows: more_follows(&mut reader)? })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        put_more_follows(self.more_follows, out);
        let before = out.len();
        out.put(self.entries.octets());
        if self.is_explicit {
            out.close(Tag::SEQUENCE, before);
        }
        out.close(Tag(0xA0), before);
    }
}

impl fmt::Display for Directory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Printed(self.entries))?;
        f.write_str(if self.more_follows == Some(true) { " more" } else { "" })
    }
}
