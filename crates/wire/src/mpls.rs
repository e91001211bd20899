//! MPLS label stacks (RFC 3032): where they end and what lies behind them.
//!
//! Left out: what labels mean, which only the routers know; so what lies behind is told by its first
//! half octet, as routers that guess do (RFC 4928 3).

use crate::read::{Malformed, Reader};
use core::fmt;

/// The EtherTypes of packets for one station, and for several.
pub const ETHERTYPES: [u16; 2] = [0x8847, 0x8848];
/// Labels that are passed; stacks with more are left alone.
const LABELS: usize = 8;

/// A stack of labels and what lies behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// The label at the bottom, 20 bits.
    pub bottom: u32,
    /// How many labels there are.
    pub labels: usize,
    /// What lies behind them.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// The stack at the front of `octets`.
    ///
    /// # Errors
    /// A stack without a bottom.
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

    /// Octets of the stack.
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
