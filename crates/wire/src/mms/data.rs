//! Data: values of variables (ISO 9506-2 14.4), and results of access.

use crate::ber::{BitString, Element, Hex, Item, List, Oid, Reader, Tag, Text, Writer};
use crate::read::Malformed;
use core::fmt;

/// Most arrays and structures that may lie in each other.
pub const DEEPEST_DATA: usize = 32;
/// Values of an array, a structure or a list of results that are printed.
const PRINTED: usize = 16;

/// Value of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data<'a> {
    /// Array (A1).
    Array(List<'a, Self>),
    /// Structure (A2).
    Structure(List<'a, Self>),
    /// Boolean (83).
    Boolean(bool),
    /// Bit string (84).
    Bits(BitString<'a>),
    /// Integer (85).
    Integer(i64),
    /// Unsigned integer (86).
    Unsigned(u64),
    /// Floating-point number (87): the width of the exponent in bits, and an IEEE 754 number.
    Float(&'a [u8]),
    /// Octet string (89).
    Octets(&'a [u8]),
    /// Visible string (8A).
    Visible(&'a [u8]),
    /// Generalized time (8B), as text.
    GeneralizedTime(&'a [u8]),
    /// Binary time (8C): milliseconds of the day, and in the long form days since 1984.
    BinaryTime(&'a [u8]),
    /// Object identifier (8F).
    Oid(Oid<'a>),
    /// MMS string (90), in UTF-8.
    Text(&'a [u8]),
    /// UTC time (91): seconds since 1970, a fraction of 24 bits, and the quality.
    UtcTime([u8; 8]),
    /// Value of another type, or one that is not encoded as its type demands.
    Other {
        /// Tag.
        tag: Tag,
        /// Contents.
        content: &'a [u8],
    },
}

impl<'a> Data<'a> {
    /// Converts from an element; arrays and structures must have been checked.
    fn of(element: &Element<'a>) -> Self {
        let content = element.content;
        let other = Self::Other { tag: element.tag, content };
        match element.tag {
            Tag(0xA1) => Self::Array(List::unchecked(content)),
            Tag(0xA2) => Self::Structure(List::unchecked(content)),
            Tag(0x83) => match content {
                [0] => Self::Boolean(false),
                [1] => Self::Boolean(true),
                _ => other,
            },
            Tag(0x84) => BitString::of(element, "bit string").map_or(other, Self::Bits),
            Tag(0x85) if is_shortest(content) => {
                element.integer("integer").map_or(other, Self::Integer)
            }
            Tag(0x86) if is_shortest(content) => unsigned(content).map_or(other, Self::Unsigned),
            Tag(0x87) => Self::Float(content),
            Tag(0x89) => Self::Octets(content),
            Tag(0x8A) => Self::Visible(content),
            Tag(0x8B) => Self::GeneralizedTime(content),
            Tag(0x8C) => Self::BinaryTime(content),
            Tag(0x8F) => Oid::of(element, "object identifier").map_or(other, Self::Oid),
            Tag(0x90) => Self::Text(content),
            Tag(0x91) => content.try_into().map_or(other, Self::UtcTime),
            _ => other,
        }
    }

    /// Value of a floating-point number of 32 or 64 bits, of an integer or of an unsigned integer.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Float([8, octets @ ..]) => {
                Some(f64::from(f32::from_be_bytes(octets.try_into().ok()?)))
            }
            Self::Float([11, octets @ ..]) => Some(f64::from_be_bytes((*octets).try_into().ok()?)),
            Self::Integer(value) => Some(*value as f64),
            Self::Unsigned(value) => Some(*value as f64),
            _ => None,
        }
    }
}

/// Returns true if an integer has no redundant octets (X.690 8.3.2).
const fn is_shortest(content: &[u8]) -> bool {
    !matches!(content, [] | [0, 0..=0x7F, ..] | [0xFF, 0x80..=0xFF, ..])
}

fn unsigned(content: &[u8]) -> Option<u64> {
    let digits = match content {
        [0, rest @ ..] => rest,
        [1..=0x7F, ..] => content,
        _ => return None,
    };
    let longer = |value: u64, digit: &u8| value << 8 | u64::from(*digit);
    (digits.len() <= 8).then(|| digits.iter().fold(0, longer))
}

/// Checks the elements of an array or structure, which lies in `depth` others.
fn check(mut reader: Reader<'_>, depth: usize) -> Result<(), Malformed> {
    while !reader.is_empty() {
        let element = element(&mut reader)?;
        if matches!(element.tag, Tag(0xA1 | 0xA2)) {
            if depth >= DEEPEST_DATA {
                return Err(element.malformed("data nested too deeply"));
            }
            check(element.reader(), depth + 1)?;
        }
    }
    Ok(())
}

/// Takes an element of Data, which has a context-specific tag other than \[0\].
fn element<'a>(reader: &mut Reader<'a>) -> Result<Element<'a>, Malformed> {
    let element = reader.element("data")?;
    if element.tag.is_context() && element.tag.number() != 0 {
        Ok(element)
    } else {
        Err(element.malformed("data"))
    }
}

impl<'a> Item<'a> for Data<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let element = element(reader)?;
        if matches!(element.tag, Tag(0xA1 | 0xA2)) {
            check(element.reader(), 1)?;
        }
        Ok(Self::of(&element))
    }

    fn put(&self, out: &mut Writer) {
        match *self {
            Self::Array(list) => out.element(Tag(0xA1), list.octets()),
            Self::Structure(list) => out.element(Tag(0xA2), list.octets()),
            Self::Boolean(value) => out.boolean(Tag(0x83), value),
            Self::Bits(bits) => out.bits(Tag(0x84), bits),
            Self::Integer(value) => out.integer(Tag(0x85), value),
            Self::Unsigned(value) => {
                let before = out.len();
                let octets = value.to_be_bytes();
                let zeros = (value.leading_zeros() / 8).min(7) as usize;
                let digits = octets.get(zeros..).unwrap_or_default();
                out.put(digits);
                if digits.first().is_some_and(|first| *first >= 0x80) {
                    out.put_u8(0);
                }
                out.close(Tag(0x86), before);
            }
            Self::Float(octets) => out.element(Tag(0x87), octets),
            Self::Octets(octets) => out.element(Tag(0x89), octets),
            Self::Visible(octets) => out.element(Tag(0x8A), octets),
            Self::GeneralizedTime(octets) => out.element(Tag(0x8B), octets),
            Self::BinaryTime(octets) => out.element(Tag(0x8C), octets),
            Self::Oid(oid) => out.oid(Tag(0x8F), oid),
            Self::Text(octets) => out.element(Tag(0x90), octets),
            Self::UtcTime(octets) => out.element(Tag(0x91), &octets),
            Self::Other { tag, content } => out.element(tag, content),
        }
    }
}

impl fmt::Display for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(list) => write!(f, "[{}]", Printed(*list)),
            Self::Structure(list) => write!(f, "{{{}}}", Printed(*list)),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Bits(bits) => write!(f, "b{bits}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Float(octets) => match (self.number(), octets) {
                (Some(value), [8, ..]) => write!(f, "{}", value as f32),
                (Some(value), _) => write!(f, "{value}"),
                (None, octets) => write!(f, "float {}", Hex(octets)),
            },
            Self::Octets(octets) => write!(f, "x{}", Hex(octets)),
            Self::Visible(text) | Self::Text(text) | Self::GeneralizedTime(text) => {
                write!(f, "{}", Text(text))
            }
            Self::BinaryTime(octets) => write!(f, "time {}", Hex(octets)),
            Self::Oid(oid) => write!(f, "{oid}"),
            Self::UtcTime(octets) => write!(f, "utc {}", Hex(octets)),
            Self::Other { tag, content } => write!(f, "?{tag}={}", Hex(content)),
        }
    }
}

/// List that prints its first items, with commas.
pub(super) struct Printed<'a, T>(pub(super) List<'a, T>);

impl<'a, T: Item<'a> + fmt::Display> fmt::Display for Printed<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut more = 0_usize;
        for (place, item) in self.0.iter().enumerate() {
            if place < PRINTED {
                write!(f, "{}{item}", if place == 0 { "" } else { ", " })?;
            } else {
                more += 1;
            }
        }
        if more > 0 { write!(f, ", +{more}") } else { Ok(()) }
    }
}

/// Result of reading one variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessResult<'a> {
    /// Failure, with the number of the data access error.
    Failure(u32),
    /// Value.
    Success(Data<'a>),
}

impl<'a> Item<'a> for AccessResult<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        match reader.optional("data access error", Tag(0x80))? {
            Some(element) => element.unsigned("data access error").map(Self::Failure),
            None => Data::take(reader).map(Self::Success),
        }
    }

    fn put(&self, out: &mut Writer) {
        match self {
            Self::Failure(error) => out.integer(Tag(0x80), i64::from(*error)),
            Self::Success(data) => data.put(out),
        }
    }
}

impl fmt::Display for AccessResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failure(error) => f.write_str(access_error_name(*error)),
            Self::Success(data) => data.fmt(f),
        }
    }
}

/// Result of writing one variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteResult {
    /// Failure, with the number of the data access error.
    Failure(u32),
    /// Success.
    Success,
}

impl<'a> Item<'a> for WriteResult {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let element = reader.element("write result")?;
        match element.tag {
            Tag(0x80) => element.unsigned("data access error").map(Self::Failure),
            Tag(0x81) => element.null("write result").map(|()| Self::Success),
            _ => Err(element.malformed("write result")),
        }
    }

    fn put(&self, out: &mut Writer) {
        match self {
            Self::Failure(error) => out.integer(Tag(0x80), i64::from(*error)),
            Self::Success => out.element(Tag(0x81), &[]),
        }
    }
}

impl fmt::Display for WriteResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failure(error) => f.write_str(access_error_name(*error)),
            Self::Success => f.write_str("success"),
        }
    }
}

/// Returns the name of a data access error (ISO 9506-2 14.4.3).
#[must_use]
pub const fn access_error_name(error: u32) -> &'static str {
    match error {
        0 => "object-invalidated",
        1 => "hardware-fault",
        2 => "temporarily-unavailable",
        3 => "object-access-denied",
        4 => "object-undefined",
        5 => "invalid-address",
        6 => "type-unsupported",
        7 => "type-inconsistent",
        8 => "object-attribute-inconsistent",
        9 => "object-access-unsupported",
        10 => "object-non-existent",
        11 => "object-value-invalid",
        _ => "unknown-access-error",
    }
}
