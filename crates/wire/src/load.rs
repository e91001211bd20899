//! Test load of tidewire: cyclic data behind the EtherType for experiments (IEEE 802, Local
//! Experimental 1).
//!
//! ```text
//! 0   mark "tide" 4
//! 4   stamp: flow 2, kind 2 (0 for a message), number 4, time at which it was due 8 (nanoseconds)
//! ```
//!
//! Frames without the mark are of other programs.

use crate::leaf::{Cyclic, Leaf};
use crate::read::{Malformed, Reader};
use core::fmt;

/// EtherType of the frames.
pub const ETHERTYPE: u16 = 0x88B5;
/// First octets behind the EtherType.
pub const MARK: [u8; 4] = *b"tide";
/// Octets of mark and stamp.
pub const HEADER_OCTETS: usize = MARK.len() + 16;

/// Test load as a leaf of the layering. Everything behind the stamp counts as user data.
pub const LEAF: Leaf = Leaf {
    name: "LOAD",
    cyclic: Some(Cyclic::Load),
    kind: |octets| Pdu::decode(octets).map(|pdu| pdu.map_or("EtherType 88b5", |_| "test load")),
    print: |octets, f| match Pdu::decode(octets) {
        Ok(Some(pdu)) => write!(f, "{pdu}"),
        Ok(None) | Err(_) => f.write_str("EtherType 88b5"),
    },
    headers_octets,
    rewrite: |_, octets| headers_octets(octets),
};

fn headers_octets(octets: &[u8]) -> usize {
    if octets.starts_with(&MARK) { HEADER_OCTETS } else { 0 }
}

/// Stamp of a message in a frame of test load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu {
    /// Flow of the message, from 0.
    pub flow: u16,
    /// Number of the message in its flow, from 0.
    pub sequence: u32,
    /// Time at which it was due on the sender's clock, in nanoseconds.
    pub planned_ns: u64,
}

impl Pdu {
    /// Decodes the octets behind the EtherType; `None` if they have no mark, or hold a request or a reply.
    ///
    /// # Errors
    /// Names the field that cannot be read behind a mark.
    pub fn decode(octets: &[u8]) -> Result<Option<Self>, Malformed> {
        if !octets.starts_with(&MARK) {
            return Ok(None);
        }
        let mut reader = Reader::new(octets);
        reader.take("mark", MARK.len())?;
        let flow = reader.u16("flow")?;
        let kind = reader.u16("kind")?;
        let sequence = u32::from_be_bytes(reader.array("number")?);
        let planned_ns = u64::from_be_bytes(reader.array("time")?);
        Ok((kind == 0).then_some(Self { flow, sequence, planned_ns }))
    }
}

impl fmt::Display for Pdu {
    /// Prints the stamp on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LOAD flow {} number {}", self.flow, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_behind_its_mark() {
        let mut octets =
            *b"tide\x00\x03\x00\x00\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x01\x00 and data";
        let pdu = Pdu { flow: 3, sequence: 9, planned_ns: 256 };
        assert_eq!(Pdu::decode(&octets), Ok(Some(pdu)));
        assert_eq!(pdu.to_string(), "LOAD flow 3 number 9");
        assert_eq!((LEAF.headers_octets)(&octets), HEADER_OCTETS);
        let fault = Pdu::decode(&octets[..19]).unwrap_err();
        assert_eq!(fault.to_string(), "malformed time at octet 12");
        // A reply.
        octets[6] = 0xFF;
        assert_eq!(Pdu::decode(&octets), Ok(None));
        octets[0] = b'T';
        assert_eq!((LEAF.kind)(&octets), Ok("EtherType 88b5"));
        assert_eq!((LEAF.headers_octets)(&octets), 0);
    }
}
