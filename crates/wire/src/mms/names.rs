//! Names of objects, and how variables are specified (ISO 9506-2 7 and 14.5).

use super::data::Printed;
use crate::ber::{Element, Hex, Item, List, Reader, Tag, Text, Writer};
use crate::read::Malformed;
use core::fmt;

/// Name of an object, with its scope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ObjectName<'a> {
    /// Name in the whole device.
    Vmd(&'a [u8]),
    /// Name in a domain.
    Domain {
        /// Domain.
        domain: &'a [u8],
        /// Name in it.
        item: &'a [u8],
    },
    /// Name in the association.
    Association(&'a [u8]),
}

impl<'a> ObjectName<'a> {
    /// Converts from an element of the CHOICE.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn of(element: &Element<'a>) -> Result<Self, Malformed> {
        match element.tag {
            Tag(0x80) => Ok(Self::Vmd(element.content)),
            Tag(0xA1) => {
                let mut reader = element.reader();
                let domain = reader.expect("domain identifier", Tag::VISIBLE_STRING)?.content;
                let item = reader.expect("item identifier", Tag::VISIBLE_STRING)?.content;
                Ok(Self::Domain { domain, item })
            }
            Tag(0x82) => Ok(Self::Association(element.content)),
            _ => Err(element.malformed("object name")),
        }
    }

    /// Name without its domain.
    #[must_use]
    pub const fn item(&self) -> &'a [u8] {
        match self {
            Self::Vmd(item) | Self::Domain { item, .. } | Self::Association(item) => item,
        }
    }
}

impl<'a> Item<'a> for ObjectName<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Self::of(&reader.element("object name")?)
    }

    fn put(&self, out: &mut Writer) {
        match self {
            Self::Vmd(name) => out.element(Tag(0x80), name),
            Self::Domain { domain, item } => {
                let before = out.len();
                out.element(Tag::VISIBLE_STRING, item);
                out.element(Tag::VISIBLE_STRING, domain);
                out.close(Tag(0xA1), before);
            }
            Self::Association(name) => out.element(Tag(0x82), name),
        }
    }
}

impl fmt::Display for ObjectName<'_> {
    /// Prints a name in a domain as `domain/item`, one in the association as `@item`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vmd(name) => write!(f, "{}", Text(name)),
            Self::Domain { domain, item } => write!(f, "{}/{}", Text(domain), Text(item)),
            Self::Association(name) => write!(f, "@{}", Text(name)),
        }
    }
}

/// Scope of a list of names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope<'a> {
    /// The whole device.
    Vmd,
    /// A domain.
    Domain(&'a [u8]),
    /// The association.
    Association,
}

impl<'a> Scope<'a> {
    pub(super) fn of(element: &Element<'a>) -> Result<Self, Malformed> {
        match element.tag {
            Tag(0x80) => Ok(Self::Vmd),
            Tag(0x81) => Ok(Self::Domain(element.content)),
            Tag(0x82) => Ok(Self::Association),
            _ => Err(element.malformed("object scope")),
        }
    }

    pub(super) fn put(self, out: &mut Writer) {
        match self {
            Self::Vmd => out.element(Tag(0x80), &[]),
            Self::Domain(name) => out.element(Tag(0x81), name),
            Self::Association => out.element(Tag(0x82), &[]),
        }
    }
}

impl fmt::Display for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vmd => f.write_str("vmd"),
            Self::Domain(name) => write!(f, "{}", Text(name)),
            Self::Association => f.write_str("association"),
        }
    }
}

/// Identifier in a list of names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Identifier<'a>(pub &'a [u8]);

impl<'a> Item<'a> for Identifier<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self(reader.expect("identifier", Tag::VISIBLE_STRING)?.content))
    }

    fn put(&self, out: &mut Writer) {
        out.element(Tag::VISIBLE_STRING, self.0);
    }
}

impl fmt::Display for Identifier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text(self.0))
    }
}

/// Specification of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Specification<'a> {
    /// By its name.
    Name(ObjectName<'a>),
    /// In another way, undivided: \[1\] an address, \[2\] a description, \[3\] scattered
    /// access, \[4\] invalidated.
    Other {
        /// Tag.
        tag: Tag,
        /// Contents.
        content: &'a [u8],
    },
}

impl<'a> Item<'a> for Specification<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let element = reader.element("variable specification")?;
        match element.tag {
            Tag(0xA0) => ObjectName::take(&mut element.reader()).map(Self::Name),
            tag if tag.is_context() => Ok(Self::Other { tag, content: element.content }),
            _ => Err(element.malformed("variable specification")),
        }
    }

    fn put(&self, out: &mut Writer) {
        match self {
            Self::Name(name) => {
                let before = out.len();
                name.put(out);
                out.close(Tag(0xA0), before);
            }
            Self::Other { tag, content } => out.element(*tag, content),
        }
    }
}

impl fmt::Display for Specification<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Other { tag, content } => write!(f, "?{tag}={}", Hex(content)),
        }
    }
}

/// Variable in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variable<'a> {
    /// Specification.
    pub specification: Specification<'a>,
    /// Alternate access: the parts of the variable that are meant, undivided.
    pub alternate: Option<&'a [u8]>,
}

impl<'a> Item<'a> for Variable<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut item = reader.expect("variable", Tag::SEQUENCE)?.reader();
        let specification = Specification::take(&mut item)?;
        let alternate = item.optional("alternate access", Tag(0xA5))?;
        Ok(Self { specification, alternate: alternate.map(|it| it.content) })
    }

    fn put(&self, out: &mut Writer) {
        let before = out.len();
        out.optional_element(Tag(0xA5), self.alternate);
        self.specification.put(out);
        out.close(Tag::SEQUENCE, before);
    }
}

impl fmt::Display for Variable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.specification.fmt(f)?;
        match self.alternate {
            Some(octets) => write!(f, "({})", Hex(octets)),
            None => Ok(()),
        }
    }
}

/// Variables that a service accesses: each of them, or a named list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableAccess<'a> {
    /// List of variables.
    Variables(List<'a, Variable<'a>>),
    /// Name of a list.
    Named(ObjectName<'a>),
}

impl<'a> Item<'a> for VariableAccess<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let element = reader.element("variable access specification")?;
        match element.tag {
            Tag(0xA0) => List::decode(element.reader()).map(Self::Variables),
            Tag(0xA1) => ObjectName::take(&mut element.reader()).map(Self::Named),
            _ => Err(element.malformed("variable access specification")),
        }
    }

    fn put(&self, out: &mut Writer) {
        let before = out.len();
        match self {
            Self::Variables(list) => out.element(Tag(0xA0), list.octets()),
            Self::Named(name) => {
                name.put(out);
                out.close(Tag(0xA1), before);
            }
        }
    }
}

impl fmt::Display for VariableAccess<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variables(list) => write!(f, "{}", Printed(*list)),
            Self::Named(name) => write!(f, "list {name}"),
        }
    }
}
