//! BER, the basic encoding rules of ASN.1 (ISO 8825-1, X.690), as far as the layers above transport
//! need them.
//!
//! ```text
//! identifier: class, constructed, number   length: 1 to 127, or 8n and n octets   contents
//! ```
//!
//! A [`Reader`] borrows: it allocates nothing, and an element is a slice of the input. Lengths may
//! have the long form anywhere. The indefinite form is read, nested at most [`DEEPEST`] times, and
//! never written. A [`Writer`] writes from the end to the front, so that each length is known when
//! it is written.
//!
//! Left out: strings in several parts (constructed OCTET STRING), REAL, and canonical order.

mod list;
mod reader;
mod value;
mod writer;

pub use list::{Item, Items, List};
pub use reader::{Element, Reader};
pub use value::{BitString, Hex, Oid, Text};
pub use writer::Writer;

/// Most elements of indefinite length that may lie in each other.
pub const DEEPEST: usize = 16;

/// Identifier octets of an element, as a big-endian integer: `A4` for \[4\] constructed, `BF48` for
/// \[72\] constructed (X.690 8.1.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tag(pub u32);

impl Tag {
    /// BOOLEAN.
    pub const BOOLEAN: Self = Self(0x01);
    /// INTEGER.
    pub const INTEGER: Self = Self(0x02);
    /// BIT STRING.
    pub const BIT_STRING: Self = Self(0x03);
    /// OCTET STRING.
    pub const OCTET_STRING: Self = Self(0x04);
    /// NULL.
    pub const NULL: Self = Self(0x05);
    /// OBJECT IDENTIFIER.
    pub const OBJECT_IDENTIFIER: Self = Self(0x06);
    /// `GraphicString`.
    pub const GRAPHIC_STRING: Self = Self(0x19);
    /// `VisibleString`.
    pub const VISIBLE_STRING: Self = Self(0x1A);
    /// EXTERNAL.
    pub const EXTERNAL: Self = Self(0x28);
    /// SEQUENCE and SEQUENCE OF.
    pub const SEQUENCE: Self = Self(0x30);
    /// SET and SET OF.
    pub const SET: Self = Self(0x31);

    /// Number of the tag.
    #[must_use]
    pub const fn number(self) -> u32 {
        let Self(code) = self;
        match code {
            0..=0xFF => code & 0x1F,
            0x100..=0xFFFF => code & 0x7F,
            0x1_0000..=0xFF_FFFF => (code >> 8 & 0x7F) << 7 | code & 0x7F,
            _ => (code >> 16 & 0x7F) << 14 | (code >> 8 & 0x7F) << 7 | code & 0x7F,
        }
    }

    /// First identifier octet: class, bit of the constructed encoding, and number.
    #[must_use]
    pub const fn leading(self) -> u8 {
        let [first, second, third, fourth] = self.0.to_be_bytes();
        match self.0 {
            0..=0xFF => fourth,
            0x100..=0xFFFF => third,
            0x1_0000..=0xFF_FFFF => second,
            _ => first,
        }
    }

    /// Returns true if the contents are elements.
    #[must_use]
    pub const fn is_constructed(self) -> bool {
        self.leading() & 0x20 != 0
    }

    /// Returns true if the class is context-specific.
    #[must_use]
    pub const fn is_context(self) -> bool {
        self.leading() & 0xC0 == 0x80
    }

    /// Creates the tag of a context-specific number, primitive. Numbers have up to 21 bits; higher
    /// bits are dropped.
    #[must_use]
    pub const fn primitive(number: u32) -> Self {
        Self::with_leading(0x80, number)
    }

    /// Creates the tag of a context-specific number, constructed. Numbers have up to 21 bits;
    /// higher bits are dropped.
    #[must_use]
    pub const fn constructed(number: u32) -> Self {
        Self::with_leading(0xA0, number)
    }

    const fn with_leading(leading: u32, number: u32) -> Self {
        let low = number & 0x7F;
        Self(match number {
            0..=30 => leading | number,
            31..=0x7F => (leading | 0x1F) << 8 | low,
            0x80..=0x3FFF => (leading | 0x1F) << 16 | (0x80 | number >> 7) << 8 | low,
            _ => {
                let high = 0x80 | number >> 14 & 0x7F;
                let middle = 0x80 | number >> 7 & 0x7F;
                (leading | 0x1F) << 24 | high << 16 | middle << 8 | low
            }
        })
    }
}

impl core::fmt::Display for Tag {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:02X}", self.0)
    }
}

#[cfg(test)]
pub(crate) mod tests;
