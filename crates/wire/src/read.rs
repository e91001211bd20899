//! Reading octets one field at a time, without ever panicking.

use core::fmt;

/// Octets that do not mean what they should: which field, and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Malformed {
    /// The field that could not be read, in the words of its standard.
    pub field: &'static str,
    /// Octets from the start of what was being decoded to that field.
    pub offset: usize,
}

impl Malformed {
    /// The same complaint about octets that start `octets` further out.
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

/// A cursor over octets. Integers are big-endian, as everywhere in LLC, CLNP and the transport protocol.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the first of `octets`.
    #[must_use]
    pub const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets, offset: 0 }
    }

    /// How many octets have been read.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// What has not been read yet.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything has been read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The complaint that `field` cannot be what stands here.
    #[must_use]
    pub const fn malformed(&self, field: &'static str) -> Malformed {
        Malformed { field, offset: self.offset }
    }

    /// The next `count` octets.
    ///
    /// # Errors
    /// Names `field` where fewer than `count` octets are left.
    pub fn take(&mut self, field: &'static str, count: usize) -> Result<&'a [u8], Malformed> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.malformed(field));
        };
        self.rest = rest;
        self.offset += count;
        Ok(taken)
    }

    /// The next `N` octets, copied.
    ///
    /// # Errors
    /// Names `field` where fewer than `N` octets are left.
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Malformed> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.malformed(field));
        };
        self.rest = rest;
        self.offset += N;
        Ok(*taken)
    }

    /// The next octet.
    ///
    /// # Errors
    /// Names `field` at the end of the octets.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, Malformed> {
        self.array::<1>(field).map(|[octet]| octet)
    }

    /// The next two octets as an integer.
    ///
    /// # Errors
    /// Names `field` where fewer than two octets are left.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        self.array(field).map(u16::from_be_bytes)
    }

    /// The next four octets as an integer.
    ///
    /// # Errors
    /// Names `field` where fewer than four octets are left.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, Malformed> {
        self.array(field).map(u32::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_place() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert_eq!(reader.u16("length"), Ok(0x0102));
        let complaint = reader.u16("checksum").unwrap_err();
        assert_eq!(complaint.to_string(), "malformed checksum at octet 2");
        assert_eq!(reader.rest(), &[3], "a failed read takes nothing");
        assert_eq!(complaint.within(14).offset, 16);
    }
}
