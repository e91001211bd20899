//! Redundancy of IEC 62439-3: trailers of PRP, tags of HSR, and the supervision of both.
//!
//! ```text
//! PRP  .. data | sequence 2, LAN 4 bits (A: 10, B: 11), LSDU size 12 bits, suffix 88FB     end of frame
//! HSR  addresses, (VLAN tag) | 892F, path 4 bits, LSDU size 12 bits, sequence 2 | EtherType ..
//! Supervision, EtherType 88FB: path and version 2, sequence 2, type 1, length 1, MAC address 6, ..
//! ```
//!
//! A trailer is one only if its size is that of the frame: other data may end in 88FB. Left out: the
//! TLVs of proxies (RedBox), and which of its two ports a node of HSR used.

use crate::addr::Mac;
use crate::leaf::Leaf;
use crate::mac;
use crate::read::{Malformed, Reader};
use core::fmt;

/// EtherType of supervision frames, and suffix of a trailer.
pub const SUFFIX: [u8; 2] = [0x88, 0xFB];
/// EtherType of the tag of HSR.
pub const TAG_TYPE: [u8; 2] = [0x89, 0x2F];
/// Octets of a trailer, and of a tag.
const MARK_OCTETS: usize = 6;
/// Offset of the EtherType of a frame without VLAN tags.
const TYPE_AT: usize = 12;
/// Octets of a VLAN tag.
const VLAN_OCTETS: usize = 4;
/// LAN A in a trailer.
const LAN_A: u16 = 0xA;
/// LAN B in a trailer.
const LAN_B: u16 = 0xB;
/// Octets of a supervision frame up to the end of its address.
const SUPERVISION_OCTETS: usize = 12;
/// Type of the first TLV of a node of HSR.
const OF_HSR: u8 = 23;

/// Supervision of PRP and HSR as a leaf of the layering.
pub const LEAF: Leaf = Leaf {
    name: "PRP-HSR",
    cyclic: None,
    kind: |octets| Supervision::decode(octets).map(|pdu| pdu.title()),
    print: |octets, f| Supervision::decode(octets).map_or(Ok(()), |pdu| write!(f, "{pdu}")),
    headers_octets: |octets| octets.len().min(SUPERVISION_OCTETS),
    rewrite: |names, octets| {
        if let Some(address) = octets.get_mut(6..SUPERVISION_OCTETS) {
            names.station(address);
        }
        octets.len().min(SUPERVISION_OCTETS)
    },
};

/// Protocol of a redundant frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Redundancy {
    /// Parallel redundancy: two LANs.
    Prp,
    /// Seamless redundancy in a ring: two directions.
    Hsr,
}

/// LAN of PRP, or direction in a ring of HSR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lan {
    /// LAN A, or path with an even identifier.
    A,
    /// LAN B, or path with an odd identifier.
    B,
}

/// Frame of which a node sent two: its mark, and the frame without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marked<'a> {
    /// Protocol.
    pub redundancy: Redundancy,
    /// LAN or direction.
    pub lan: Lan,
    /// Number that both frames have.
    pub sequence: u16,
    /// Node that sent it.
    pub source: Mac,
    /// Octets in front of the mark.
    pub front: &'a [u8],
    /// Octets behind it.
    pub back: &'a [u8],
}

/// True if a frame of Ethernet may have a mark.
#[inline]
#[must_use]
pub fn may_be_marked(octets: &[u8]) -> bool {
    octets.ends_with(&SUFFIX) || at_tag(octets).is_some()
}

/// Offset of the tag of HSR.
#[inline]
fn at_tag(octets: &[u8]) -> Option<usize> {
    let has_tag = |at: usize| octets.get(at..at + TAG_TYPE.len()) == Some(&TAG_TYPE);
    if has_tag(TYPE_AT) {
        return Some(TYPE_AT);
    }
    let is_vlan = octets.get(TYPE_AT) == Some(&0x81);
    (is_vlan && has_tag(TYPE_AT + VLAN_OCTETS)).then_some(TYPE_AT + VLAN_OCTETS)
}

impl<'a> Marked<'a> {
    /// Finds the mark of a frame of Ethernet; none if it has none. A frame that was not captured as a
    /// whole has lost its trailer.
    #[must_use]
    pub fn of(octets: &'a [u8], is_whole: bool) -> Option<Self> {
        match at_tag(octets) {
            Some(at) => Self::of_tag(octets, at),
            None => Self::of_trailer(octets).filter(|_| is_whole),
        }
    }

    fn of_tag(octets: &'a [u8], at: usize) -> Option<Self> {
        let mut reader = Reader::new(octets.get(at + TAG_TYPE.len()..)?);
        let path = reader.u16("path").ok()? >> 12;
        let sequence = reader.u16("sequence").ok()?;
        // An EtherType follows.
        let back = octets.get(at + MARK_OCTETS..).filter(|back| back.len() > TAG_TYPE.len())?;
        Some(Self {
            redundancy: Redundancy::Hsr,
            lan: if path & 1 == 0 { Lan::A } else { Lan::B },
            sequence,
            source: source(octets)?,
            front: octets.get(..at)?,
            back,
        })
    }

    fn of_trailer(octets: &'a [u8]) -> Option<Self> {
        let place = octets.len().checked_sub(MARK_OCTETS)?;
        let (front, trailer) = octets.split_at_checked(place)?;
        let mut reader = Reader::new(trailer);
        let sequence = reader.u16("sequence").ok()?;
        let lan_and_size = reader.u16("LAN").ok()?;
        let frame = mac::Pdu::decode(octets).ok()?;
        let size = usize::from(lan_and_size & 0x0FFF);
        let is_it = trailer.ends_with(&SUFFIX) && size == octets.len() - frame.header_octets();
        let lan = match lan_and_size >> 12 {
            LAN_A => Lan::A,
            LAN_B => Lan::B,
            _ => return None,
        };
        let (redundancy, source) = (Redundancy::Prp, frame.source);
        is_it.then_some(Self { redundancy, lan, sequence, source, front, back: &[] })
    }

    /// The frame without its mark.
    #[must_use]
    pub fn plain(&self) -> Vec<u8> {
        [self.front, self.back].concat()
    }
}

fn source(octets: &[u8]) -> Option<Mac> {
    Some(Mac(octets.get(6..TYPE_AT)?.try_into().ok()?))
}

/// Supervision frame behind its EtherType: a node of PRP or HSR that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Supervision {
    /// Number of the frame.
    pub sequence: u16,
    /// Type of the first TLV: 20 and 21 of PRP, 23 of HSR.
    pub kind: u8,
    /// Node.
    pub node: Mac,
}

impl Supervision {
    /// Decodes a frame.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        reader.u16("path and version")?;
        let sequence = reader.u16("sequence")?;
        let kind = reader.u8("TLV type")?;
        reader.u8("TLV length")?;
        Ok(Self { sequence, kind, node: Mac(reader.array("MAC address")?) })
    }

    /// Name under which the meter counts the frame.
    const fn title(&self) -> &'static str {
        match self.kind {
            OF_HSR => "HSR supervision",
            _ => "PRP supervision",
        }
    }
}

impl fmt::Display for Supervision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} node={} sequence={}", self.title(), self.node, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: [u8; 20] =
        [1, 0x0C, 0xCD, 1, 0, 1, 2, 0, 0, 0, 0, 7, 0x88, 0xB8, 0, 1, 0, 2, 0, 3];

    #[test]
    fn a_trailer_is_one_only_with_the_size_of_its_frame() {
        // Data of 6 octets and 6 of the trailer.
        let framed = |lan_and_size: u16| {
            [&FRAME[..], &[0x12, 0x34], &lan_and_size.to_be_bytes(), &SUFFIX].concat()
        };
        let octets = framed(0xB00C);
        let marked = Marked::of(&octets, true).unwrap();
        assert!(may_be_marked(&octets));
        let found = (marked.redundancy, marked.lan, marked.sequence, marked.source);
        assert_eq!(found, (Redundancy::Prp, Lan::B, 0x1234, Mac([2, 0, 0, 0, 0, 7])));
        assert_eq!(marked.plain(), FRAME);
        assert_eq!(Marked::of(&framed(0xA00C), true).unwrap().lan, Lan::A);
        for other in [0xA00D, 0xC00C, 0xA000] {
            assert_eq!(Marked::of(&framed(other), true), None);
        }
        // A VLAN tag is no part of the size.
        let mut tagged = framed(0xA00C);
        tagged.splice(12..12, [0x81, 0, 0x80, 5]);
        let marked = Marked::of(&tagged, true).unwrap();
        assert_eq!((marked.lan, marked.plain().len()), (Lan::A, 24));
        for length in 0..octets.len() {
            assert_eq!(Marked::of(&octets[..length], true), None);
        }
    }

    #[test]
    fn a_tag_is_taken_out_behind_addresses_or_a_vlan_tag() {
        for at in [12, 16] {
            let mut plain = FRAME.to_vec();
            if at == 16 {
                plain.splice(12..12, [0x81, 0, 0x80, 5]);
            }
            let mut octets = plain.clone();
            octets.splice(at..at, [0x89, 0x2F, 0x10, 0x0C, 0, 9]);
            let marked = Marked::of(&octets, true).unwrap();
            let found = (marked.redundancy, marked.lan, marked.sequence);
            assert_eq!(found, (Redundancy::Hsr, Lan::B, 9));
            assert_eq!(marked.plain(), plain);
            assert_eq!(Marked::of(&octets[..at + 6], true), None);
        }
        assert!(!may_be_marked(&FRAME));
    }

    #[test]
    fn supervision_names_its_node() {
        let octets = [0, 1, 0, 5, 20, 6, 2, 0, 0, 0, 0, 7, 0, 0];
        let text = "PRP supervision node=02:00:00:00:00:07 sequence=5";
        assert_eq!(Supervision::decode(&octets).unwrap().to_string(), text);
        let mut ring = octets;
        ring[4] = 23;
        assert_eq!((LEAF.kind)(&ring), Ok("HSR supervision"));
        let fault = Supervision::decode(&octets[..9]).unwrap_err();
        assert_eq!(fault.to_string(), "malformed MAC address at octet 6");
    }
}
