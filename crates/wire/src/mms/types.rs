//! Types of variables (ISO 9506-2 14).

use super::data::{DEEPEST_DATA, Printed};
use super::names::ObjectName;
use crate::ber::{Element, Hex, Item, List, Reader, Tag, Text, Writer};
use crate::read::Malformed;
use core::fmt;

/// Type of a variable. Sizes are in bits for numbers and bit strings, in octets for others; a
/// negative size is the longest of a variable length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeDescription<'a> {
    /// Type defined elsewhere.
    Named(ObjectName<'a>),
    /// Array.
    Array {
        /// True for the packed encoding; false if absent.
        packed: Option<bool>,
        /// Number of elements.
        count: u32,
        /// Type of the elements; [`Nested::description`] decodes it.
        element: Nested<'a>,
    },
    /// Structure.
    Structure {
        /// True for the packed encoding; false if absent.
        packed: Option<bool>,
        /// Components.
        components: List<'a, Component<'a>>,
    },
    /// Floating-point number.
    Float {
        /// Width in bits.
        width: i64,
        /// Width of the exponent in bits.
        exponent: i64,
    },
    /// Type without a parameter: \[3\] boolean, \[11\] generalized time, \[15\] object identifier,
    /// \[17\] UTC time.
    Plain(u32),
    /// Type with a size: \[4\] bit string, \[5\] integer, \[6\] unsigned, \[9\] octet string,
    /// \[10\] visible string, \[12\] binary time (not 0 with the date), \[13\] BCD, \[16\] MMS
    /// string.
    Sized {
        /// Number of the tag.
        number: u32,
        /// Size.
        size: i64,
    },
    /// Another type.
    Other {
        /// Tag.
        tag: Tag,
        /// Contents.
        content: &'a [u8],
    },
}

/// Type within another, as its element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nested<'a>(pub &'a [u8]);

impl<'a> Nested<'a> {
    /// Type; `None` if the octets are not an encoded type.
    #[must_use]
    pub fn description(&self) -> Option<TypeDescription<'a>> {
        TypeDescription::take(&mut Reader::new(self.0)).ok()
    }
}

/// Component of a structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Component<'a> {
    /// Name.
    pub name: Option<&'a [u8]>,
    /// Type.
    pub description: TypeDescription<'a>,
}

impl<'a> Item<'a> for TypeDescription<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        nested(reader, 0)
    }

    fn put(&self, out: &mut Writer) {
        let before = out.len();
        match *self {
            Self::Named(name) => {
                name.put(out);
                out.close(Tag(0xA0), before);
            }
            Self::Array { packed, count, element } => {
                out.element(Tag(0xA2), element.0);
                out.integer(Tag(0x81), i64::from(count));
                put_packed(packed, out);
                out.close(Tag(0xA1), before);
            }
            Self::Structure { packed, components } => {
                out.element(Tag(0xA1), components.octets());
                put_packed(packed, out);
                out.close(Tag(0xA2), before);
            }
            Self::Float { width, exponent } => {
                out.integer(Tag::INTEGER, exponent);
                out.integer(Tag::INTEGER, width);
                out.close(Tag(0xA7), before);
            }
            Self::Plain(number) => out.element(Tag::primitive(number), &[]),
            // The size of binary time is a boolean, which has the same octets.
            Self::Sized { number, size } => out.integer(Tag::primitive(number), size),
            Self::Other { tag, content } => out.element(tag, content),
        }
    }
}

fn put_packed(packed: Option<bool>, out: &mut Writer) {
    if let Some(packed) = packed {
        out.boolean(Tag(0x80), packed);
    }
}

/// Takes a type, and checks those in it, which lie in `depth` others.
fn nested<'a>(reader: &mut Reader<'a>, depth: usize) -> Result<TypeDescription<'a>, Malformed> {
    let element = reader.element("type description")?;
    if depth > DEEPEST_DATA {
        return Err(element.malformed("type nested too deeply"));
    }
    match element.tag {
        Tag(0xA0) => ObjectName::take(&mut element.reader()).map(TypeDescription::Named),
        Tag(0xA1) => array(&element, depth),
        Tag(0xA2) => structure(&element, depth),
        Tag(0xA7) => {
            let mut inside = element.reader();
            let width = inside.expect("format width", Tag::INTEGER)?.integer("format width")?;
            let exponent = inside.expect("exponent width", Tag::INTEGER)?;
            let exponent = exponent.integer("exponent width")?;
            Ok(TypeDescription::Float { width, exponent })
        }
        tag if !tag.is_context() => Err(element.malformed("type description")),
        tag if tag.is_constructed() => Ok(TypeDescription::Other { tag, content: element.content }),
        tag if element.content.is_empty() => Ok(TypeDescription::Plain(tag.number())),
        tag => {
            let size = element.integer("size")?;
            Ok(TypeDescription::Sized { number: tag.number(), size })
        }
    }
}

fn packed(reader: &mut Reader<'_>) -> Result<Option<bool>, Malformed> {
    let element = reader.optional("packed", Tag(0x80))?;
    element.map(|it| it.boolean("packed")).transpose()
}

fn array<'a>(element: &Element<'a>, depth: usize) -> Result<TypeDescription<'a>, Malformed> {
    let mut reader = element.reader();
    let packed = packed(&mut reader)?;
    let count = reader.expect("number of elements", Tag(0x81))?.unsigned("number of elements")?;
    let inner = reader.expect("element type", Tag(0xA2))?;
    nested(&mut inner.reader(), depth + 1)?;
    Ok(TypeDescription::Array { packed, count, element: Nested(inner.content) })
}

fn structure<'a>(element: &Element<'a>, depth: usize) -> Result<TypeDescription<'a>, Malformed> {
    let mut reader = element.reader();
    let packed = packed(&mut reader)?;
    let list = reader.expect("components", Tag(0xA1))?;
    let mut items = list.reader();
    while !items.is_empty() {
        component(&mut items, depth + 1)?;
    }
    Ok(TypeDescription::Structure { packed, components: List::unchecked(list.content) })
}

fn component<'a>(reader: &mut Reader<'a>, depth: usize) -> Result<Component<'a>, Malformed> {
    let mut item = reader.expect("component", Tag::SEQUENCE)?.reader();
    let name = item.optional("component name", Tag(0x80))?.map(|it| it.content);
    let inner = item.expect("component type", Tag(0xA1))?;
    let description = nested(&mut inner.reader(), depth)?;
    Ok(Component { name, description })
}

impl<'a> Item<'a> for Component<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        component(reader, 0)
    }

    fn put(&self, out: &mut Writer) {
        let before = out.len();
        self.description.put(out);
        out.close(Tag(0xA1), before);
        out.optional_element(Tag(0x80), self.name);
        out.close(Tag::SEQUENCE, before);
    }
}

impl fmt::Display for TypeDescription<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => name.fmt(f),
            Self::Array { count, element, .. } => match element.description() {
                Some(description) => write!(f, "array of {count} {description}"),
                None => write!(f, "array of {count}"),
            },
            Self::Structure { components, .. } => write!(f, "{{{}}}", Printed(*components)),
            Self::Float { width, .. } => write!(f, "float{width}"),
            Self::Plain(number) => f.write_str(name(*number)),
            Self::Sized { number, size } => write!(f, "{}{size}", name(*number)),
            Self::Other { tag, content } => write!(f, "?{tag}={}", Hex(content)),
        }
    }
}

const fn name(number: u32) -> &'static str {
    match number {
        3 => "boolean",
        4 => "bits",
        5 => "int",
        6 => "uint",
        9 => "octets",
        10 => "visible",
        11 => "generalized-time",
        12 => "binary-time",
        13 => "bcd",
        15 => "oid",
        16 => "text",
        17 => "utc-time",
        _ => "type",
    }
}

impl fmt::Display for Component<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name {
            write!(f, "{}: ", Text(name))?;
        }
        self.description.fmt(f)
    }
}
