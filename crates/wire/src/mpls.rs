//! MPLS label stacks (RFC 3032): the bottom of the stack, and the octets after it.
//!
//! Left out: the meaning of labels, which only the routers have. The protocol after the stack is
//! inferred from its first half octet, as routers do (RFC 4928 3).

use crate::read::{Malformed, Reader};
use core::fmt;

/// Largest number of labels skipped; stacks with more are not decoded further.
const LABELS: usize = 8;

/// Label stack with the octets after it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Label at the bottom, 20 bits.
    pub bottom: u32,
    /// Number of labels.
    pub labels: usize,
    /// Octets after the stack.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the stack at the front of `octets`.
    ///
    /// # Errors
    /// The stack has no bottom.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        for labels in 1..=LABELS {
            let entry = reader.u32("label stack entry")?;
            if entry & 0x100 != 0 {
                return Ok(Self { bottom: entry >> 12, labels, data: reader.rest() });
            }
        }
        Err(reader.malformed("label stack entry"))
    }

    /// Length of the stack in octets.
    #[must_use]
    pub const fn header_octets(&self) -> usize {
        4 * self.labels
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MPLS labels={} bottom={} {} octets", self.labels, self.bottom, self.data.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_ends_at_its_bottom() {
        // Labels 29 and 30, the second with S set, TTL 255.
        let octets = [0, 1, 0xD0, 0xFF, 0, 1, 0xE1, 0xFF, 0x45];
        let pdu = Pdu::decode(&octets).unwrap();
        assert_eq!(pdu.to_string(), "MPLS labels=2 bottom=30 1 octets");
        assert_eq!(pdu.header_octets(), 8);
        let complaint = Pdu::decode(&octets[..6]).unwrap_err();
        assert_eq!(complaint.to_string(), "malformed label stack entry at octet 4");
        assert!(Pdu::decode(&[0; 40]).is_err(), "no bottom");
    }
}
