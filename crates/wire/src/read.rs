//! Panic-free reading of octets, one field at a time.

use core::fmt;

/// Decoding error: a field is missing or has an invalid value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Malformed {
    /// Name of the field in its standard.
    pub field: &'static str,
    /// Offset of the field from the start of the decoded octets.
    pub offset: usize,
}

impl Malformed {
    /// Returns the error with its offset increased by `octets`, the length of the outer headers.
    #[must_use]
    pub const fn within(self, octets: usize) -> Self {
        Self { field: self.field, offset: self.offset + octets }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed {} at octet {}", self.field, self.offset)
    }
}

impl core::error::Error for Malformed {}

/// Cursor over octets. Integers are big-endian, as everywhere in LLC, CLNP and the transport
/// protocol.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the first of `octets`.
    #[must_use]
    pub const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets, offset: 0 }
    }

    /// Number of octets read.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Octets not read yet.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns true if all octets were read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Error that `field`, at the current position, is invalid.
    #[must_use]
    pub const fn malformed(&self, field: &'static str) -> Malformed {
        Malformed { field, offset: self.offset }
    }

    /// Takes the next `count` octets.
    ///
    /// # Errors
    /// Names `field` if fewer than `count` octets are left.
    #[inline]
    pub fn take(&mut self, field: &'static str, count: usize) -> Result<&'a [u8], Malformed> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.malformed(field));
        };
        self.rest = rest;
        self.offset += count;
        Ok(taken)
    }

    /// Takes a copy of the next `N` octets.
    ///
    /// # Errors
    /// Names `field` if fewer than `N` octets are left.
    #[inline]
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Malformed> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.malformed(field));
        };
        self.rest = rest;
        self.offset += N;
        Ok(*taken)
    }

    /// Takes the next octet.
    ///
    /// # Errors
    /// Names `field` if no octet is left.
    #[inline]
    pub fn u8(&mut self, field: &'static str) -> Result<u8, Malformed> {
        self.array::<1>(field).map(|[octet]| octet)
    }

    /// Takes the next two octets as an integer.
    ///
    /// # Errors
    /// Names `field` if fewer than two octets are left.
    #[inline]
    pub fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        self.array(field).map(u16::from_be_bytes)
    }

    /// Takes the next four octets as an integer.
    ///
    /// # Errors
    /// Names `field` if fewer than four octets are left.
    #[inline]
    pub fn u32(&mut self, field: &'static str) -> Result<u32, Malformed> {
        self.array(field).map(u32::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_field_is_named_with_its_offset() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert_eq!(reader.u16("length"), Ok(0x0102));
        let complaint = reader.u16("checksum").unwrap_err();
        assert_eq!(complaint.to_string(), "malformed checksum at octet 2");
        assert_eq!(reader.rest(), &[3], "a failed read takes nothing");
        assert_eq!(complaint.within(14).offset, 16);
    }
}
