//! Values: object identifiers, bit strings, and how octets are printed.

use super::Element;
use crate::printable::is_printable;
use crate::read::Malformed;
use core::fmt::{self, Write as _};

/// Object identifier, as the contents of its element (X.690 8.19).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Oid<'a>(pub &'a [u8]);

impl<'a> Oid<'a> {
    /// Takes the object identifier in an element.
    ///
    /// # Errors
    /// Names `field` if the contents are empty or end within a component.
    pub fn of(element: &Element<'a>, field: &'static str) -> Result<Self, Malformed> {
        match element.content.last() {
            Some(0..=0x7F) => Ok(Self(element.content)),
            _ => Err(element.malformed(field)),
        }
    }
}

impl fmt::Display for Oid<'_> {
    /// Prints the components with dots. A component of more than 64 bits prints as `*`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut component, mut is_first) = (Some(0_u64), true);
        for octet in self.0 {
            let high = component.and_then(|value| value.checked_mul(128));
            component = high.map(|high| high | u64::from(octet & 0x7F));
            if octet & 0x80 != 0 {
                continue;
            }
            match component {
                Some(value) if is_first => {
                    let arc = (value / 40).min(2);
                    write!(f, "{arc}.{}", value - 40 * arc)?;
                }
                Some(value) => write!(f, ".{value}")?,
                None => f.write_str(".*")?,
            }
            (component, is_first) = (Some(0), false);
        }
        Ok(())
    }
}

/// Bit string (X.690 8.6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BitString<'a> {
    /// Unused bits of the last octet, 0 to 7.
    pub unused: u8,
    /// Bits, the first in the top bit of the first octet.
    pub octets: &'a [u8],
}

impl<'a> BitString<'a> {
    /// Takes the bit string in an element.
    ///
    /// # Errors
    /// Names `field` if the number of unused bits is missing or invalid.
    pub fn of(element: &Element<'a>, field: &'static str) -> Result<Self, Malformed> {
        match element.content {
            [unused @ 0..=7, octets @ ..] if *unused == 0 || !octets.is_empty() => {
                Ok(Self { unused: *unused, octets })
            }
            _ => Err(element.malformed(field)),
        }
    }

    /// Bit of a number; false beyond the end.
    #[must_use]
    pub fn bit(&self, number: usize) -> bool {
        let octet = self.octets.get(number / 8).copied().unwrap_or_default();
        number < self.len() && octet & 0x80 >> (number % 8) != 0
    }

    /// Number of bits.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.octets.len() * 8).saturating_sub(usize::from(self.unused))
    }

    /// Returns true if there are no bits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for BitString<'_> {
    /// Prints the bits as zeros and ones, or as hexadecimal digits if there are more than 32.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.len() > 32 {
            return write!(f, "{}/{}", Hex(self.octets), self.len());
        }
        for number in 0..self.len() {
            f.write_char(if self.bit(number) { '1' } else { '0' })?;
        }
        Ok(())
    }
}

/// Octets that print as hexadecimal digits, the first 32 of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for octet in self.0.iter().take(32) {
            write!(f, "{octet:02x}")?;
        }
        match self.0.len().saturating_sub(32) {
            0 => Ok(()),
            more => write!(f, "+{more}"),
        }
    }
}

/// Octets that print as text in quotation marks, unprintable ones escaped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text<'a>(pub &'a [u8]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for chunk in self.0.utf8_chunks() {
            for symbol in chunk.valid().chars() {
                if is_printable(symbol) && symbol != '"' && symbol != '\\' {
                    f.write_char(symbol)?;
                } else {
                    write!(f, "{}", symbol.escape_default())?;
                }
            }
            for octet in chunk.invalid() {
                write!(f, "\\x{octet:02x}")?;
            }
        }
        f.write_char('"')
    }
}
