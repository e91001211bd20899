//! Values, user data, and the items of lists in PPDUs.

use crate::ber::{BitString, Element, Item, List, Oid, Reader, Tag, Writer};
use crate::read::Malformed;
use core::fmt;

/// Tag of user data: fully encoded, \[APPLICATION 1\].
pub(super) const FULL: Tag = Tag(0x61);
/// Tag of user data: simply encoded, \[APPLICATION 0\].
pub(super) const SIMPLE: Tag = Tag(0x40);

/// Data value in the syntax of its context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value<'a> {
    /// Single ASN.1 value, as its element.
    Single(&'a [u8]),
    /// Octets.
    Octets(&'a [u8]),
    /// Bits.
    Bits(BitString<'a>),
}

impl<'a> Value<'a> {
    /// Converts from the element of the CHOICE, which PDV lists and EXTERNAL have in common.
    ///
    /// # Errors
    /// Names `field` for an alternative that does not exist, or invalid contents.
    pub fn of(element: &Element<'a>, field: &'static str) -> Result<Self, Malformed> {
        match element.tag {
            Tag(0xA0) => Ok(Self::Single(element.content)),
            Tag(0x81) => Ok(Self::Octets(element.content)),
            Tag(0x82) => BitString::of(element, field).map(Self::Bits),
            _ => Err(element.malformed(field)),
        }
    }

    /// Writes the element in front of what `out` holds.
    pub fn encode(&self, out: &mut Writer) {
        match self {
            Self::Single(octets) => out.element(Tag(0xA0), octets),
            Self::Octets(octets) => out.element(Tag(0x81), octets),
            Self::Bits(bits) => out.bits(Tag(0x82), *bits),
        }
    }

    /// Octets of the value.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        match self {
            Self::Single(octets) | Self::Octets(octets) => octets,
            Self::Bits(bits) => bits.octets,
        }
    }
}

/// Data value with its context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdv<'a> {
    /// Transfer syntax name, if it is given.
    pub transfer: Option<Oid<'a>>,
    /// Presentation context identifier.
    pub context: i64,
    /// Value.
    pub value: Value<'a>,
}

impl<'a> Item<'a> for Pdv<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut list = reader.expect("PDV list", Tag::SEQUENCE)?.reader();
        let transfer = list.optional("transfer syntax name", Tag::OBJECT_IDENTIFIER)?;
        let transfer = transfer.map(|it| Oid::of(&it, "transfer syntax name")).transpose()?;
        let context = list.expect("presentation context identifier", Tag::INTEGER)?;
        let context = context.integer("presentation context identifier")?;
        let value = list.element("presentation data value")?;
        let value = Value::of(&value, "presentation data value")?;
        list.finish("PDV list")?;
        Ok(Self { transfer, context, value })
    }

    fn put(&self, out: &mut Writer) {
        let before = out.len();
        self.value.encode(out);
        out.integer(Tag::INTEGER, self.context);
        if let Some(transfer) = self.transfer {
            out.oid(Tag::OBJECT_IDENTIFIER, transfer);
        }
        out.close(Tag::SEQUENCE, before);
    }
}

/// User data of a PPDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UserData<'a> {
    /// Simply encoded: octets of the only or the default context.
    Simple(&'a [u8]),
    /// Fully encoded: values, each with its context.
    Full(List<'a, Pdv<'a>>),
}

impl<'a> UserData<'a> {
    pub(super) fn of(element: &Element<'a>) -> Result<Option<Self>, Malformed> {
        Ok(match element.tag {
            SIMPLE => Some(Self::Simple(element.content)),
            FULL => Some(Self::Full(List::decode(element.reader())?)),
            _ => None,
        })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        match self {
            Self::Simple(octets) => out.element(SIMPLE, octets),
            Self::Full(list) => out.element(FULL, list.octets()),
        }
    }

    /// First value; `None` for simply encoded data.
    #[must_use]
    pub fn first(&self) -> Option<Pdv<'a>> {
        match self {
            Self::Simple(_) => None,
            Self::Full(list) => list.iter().next(),
        }
    }
}

/// Writes the header of a PDV list with one ASN.1 value, and of the user data around it, in front
/// of the value, which is all octets written since `out` had `before` octets.
///
/// The header has 9 octets up to a value of 120 octets, and 15 from 256 to 65,523.
pub fn wrap(context: i64, before: usize, out: &mut Writer) {
    out.close(Tag(0xA0), before);
    out.integer(Tag::INTEGER, context);
    out.close(Tag::SEQUENCE, before);
    out.close(FULL, before);
}

/// Proposed presentation context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context<'a> {
    /// Identifier: odd if the initiator assigned it.
    pub identifier: i64,
    /// Abstract syntax name.
    pub abstract_syntax: Oid<'a>,
    /// Transfer syntax names.
    pub transfer_syntaxes: List<'a, Name<'a>>,
}

impl<'a> Item<'a> for Context<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut item = reader.expect("presentation context definition", Tag::SEQUENCE)?.reader();
        let identifier = item.expect("presentation context identifier", Tag::INTEGER)?;
        let identifier = identifier.integer("presentation context identifier")?;
        let name = item.expect("abstract syntax name", Tag::OBJECT_IDENTIFIER)?;
        let abstract_syntax = Oid::of(&name, "abstract syntax name")?;
        let names = item.expect("transfer syntax name list", Tag::SEQUENCE)?;
        let transfer_syntaxes = List::decode(names.reader())?;
        Ok(Self { identifier, abstract_syntax, transfer_syntaxes })
    }

    fn put(&self, out: &mut Writer) {
        let before = out.len();
        out.element(Tag::SEQUENCE, self.transfer_syntaxes.octets());
        out.oid(Tag::OBJECT_IDENTIFIER, self.abstract_syntax);
        out.integer(Tag::INTEGER, self.identifier);
        out.close(Tag::SEQUENCE, before);
    }
}

/// Name of a syntax in a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Name<'a>(pub Oid<'a>);

impl<'a> Item<'a> for Name<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let name = reader.expect("syntax name", Tag::OBJECT_IDENTIFIER)?;
        Oid::of(&name, "syntax name").map(Self)
    }

    fn put(&self, out: &mut Writer) {
        out.oid(Tag::OBJECT_IDENTIFIER, self.0);
    }
}

/// Result for a proposed context; the results have the order of the proposals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outcome<'a> {
    /// 0 acceptance, 1 rejection by the user, 2 by the provider.
    pub result: i64,
    /// Transfer syntax name, if accepted.
    pub transfer: Option<Oid<'a>>,
    /// Reason of the provider: 0 not specified, 1 abstract syntax not supported, 2 no transfer
    /// syntax supported, 3 local limit.
    pub reason: Option<i64>,
}

impl<'a> Item<'a> for Outcome<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut item = reader.expect("context definition result", Tag::SEQUENCE)?.reader();
        let result = item.expect("result", Tag(0x80))?.integer("result")?;
        let transfer = item.optional("transfer syntax name", Tag(0x81))?;
        let transfer = transfer.map(|it| Oid::of(&it, "transfer syntax name")).transpose()?;
        let reason = item.optional("provider reason", Tag(0x82))?;
        let reason = reason.map(|it| it.integer("provider reason")).transpose()?;
        Ok(Self { result, transfer, reason })
    }

    fn put(&self, out: &mut Writer) {
        let before = out.len();
        out.optional(Tag(0x82), self.reason);
        if let Some(transfer) = self.transfer {
            out.oid(Tag(0x81), transfer);
        }
        out.integer(Tag(0x80), self.result);
        out.close(Tag::SEQUENCE, before);
    }
}

/// Context identifier with the transfer syntax in use, in an ARU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Defined<'a> {
    /// Identifier.
    pub identifier: i64,
    /// Transfer syntax name.
    pub transfer: Oid<'a>,
}

impl<'a> Item<'a> for Defined<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut item = reader.expect("context identifier list", Tag::SEQUENCE)?.reader();
        let identifier = item.expect("presentation context identifier", Tag::INTEGER)?;
        let identifier = identifier.integer("presentation context identifier")?;
        let transfer = item.expect("transfer syntax name", Tag::OBJECT_IDENTIFIER)?;
        let transfer = Oid::of(&transfer, "transfer syntax name")?;
        Ok(Self { identifier, transfer })
    }

    fn put(&self, out: &mut Writer) {
        let before = out.len();
        out.oid(Tag::OBJECT_IDENTIFIER, self.transfer);
        out.integer(Tag::INTEGER, self.identifier);
        out.close(Tag::SEQUENCE, before);
    }
}

impl fmt::Display for UserData<'_> {
    /// Prints each value as its context and length, with a space in front.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = match self {
            Self::Simple(octets) => return write!(f, " simple {} octets", octets.len()),
            Self::Full(list) => list,
        };
        for pdv in *list {
            write!(f, " context={}", pdv.context)?;
            if let Some(transfer) = pdv.transfer {
                write!(f, " transfer={transfer}")?;
            }
            write!(f, " {} octets", pdv.value.octets().len())?;
        }
        Ok(())
    }
}
