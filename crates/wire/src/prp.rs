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
pub const TAG_TYPE: [u8; 2] = TAG.to_be_bytes();
/// EtherType of the tag of HSR, as a number.
pub const TAG: u16 = 0x892F;
/// Octets of a trailer, and of a tag.
pub const MARK_OCTETS: usize = 6;
/// Offset of the EtherType of a frame without VLAN tags.
const TYPE_AT: usize = 12;
/// Octets of a VLAN tag.
const VLAN_OCTETS: usize = 4;
/// LAN A in a trailer.
const LAN_A: u8 = 0xA;
/// LAN B in a trailer.
const LAN_B: u8 = 0xB;
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

/// Trailer of PRP or tag of HSR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Protocol.
    pub redundancy: Redundancy,
    /// LAN identifier of PRP, 10 or 11, or path identifier of HSR; 4 bits.
    pub path: u8,
    /// Octets of the LSDU, mark included; 12 bits.
    pub lsdu_octets: u16,
    /// Number that both frames have.
    pub sequence: u16,
}

/// Content behind a tag of HSR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Behind<'a> {
    /// The tag.
    pub mark: Mark,
    /// Field behind it.
    pub kind: mac::Kind,
    /// Captured octets behind that; with a length, at most as many.
    pub data: &'a [u8],
}

impl Mark {
    /// LAN, or direction in the ring.
    #[must_use]
    pub const fn lan(&self) -> Lan {
        if self.path & 1 == 0 { Lan::A } else { Lan::B }
    }

    /// Reads a tag of HSR behind its EtherType, and the field behind it, of a frame that had
    /// `original_octets` from there on.
    ///
    /// # Errors
    /// Names the field that is missing, or "length" if it exceeds the frame.
    pub fn tag(octets: &[u8], original_octets: usize) -> Result<Behind<'_>, Malformed> {
        let mut reader = Reader::new(octets);
        let [path, lsdu_octets] = halves(reader.u16("HSR path")?);
        let sequence = reader.u16("HSR sequence")?;
        let at_kind = reader.malformed("length");
        let (kind, rest) = (mac::Kind::of(reader.u16("length")?), reader.rest());
        let data = match kind {
            mac::Kind::Length(length) => {
                if MARK_OCTETS + usize::from(length) > original_octets {
                    return Err(at_kind);
                }
                rest.get(..length.into()).unwrap_or(rest)
            }
            mac::Kind::Type(_) => rest,
        };
        let path = path as u8;
        let mark = Self { redundancy: Redundancy::Hsr, path, lsdu_octets, sequence };
        Ok(Behind { mark, kind, data })
    }

    /// Reads the trailer of PRP at the end of a whole frame; none if it has none.
    #[must_use]
    pub fn trailer(octets: &[u8]) -> Option<Self> {
        let place = octets.len().checked_sub(MARK_OCTETS)?;
        let mut reader = Reader::new(octets.get(place..)?);
        let sequence = reader.u16("sequence").ok()?;
        let [path, lsdu_octets] = halves(reader.u16("LAN").ok()?);
        let size = octets.len() - mac::Pdu::decode(octets).ok()?.header_octets();
        let is_it = reader.rest() == SUFFIX && usize::from(lsdu_octets) == size;
        let path = path as u8;
        let mark = Self { redundancy: Redundancy::Prp, path, lsdu_octets, sequence };
        (is_it && matches!(path, LAN_A | LAN_B)).then_some(mark)
    }
}

/// The upper 4 bits of a number, and its lower 12.
const fn halves(number: u16) -> [u16; 2] {
    [number >> 12, number & 0x0FFF]
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, lsdu_octets, sequence, .. } = self;
        match (self.redundancy, self.lan()) {
            (Redundancy::Hsr, _) => write!(f, "HSR tag path={path}")?,
            (Redundancy::Prp, Lan::A) => f.write_str("PRP trailer LAN A")?,
            (Redundancy::Prp, Lan::B) => f.write_str("PRP trailer LAN B")?,
        }
        write!(f, " LSDU {lsdu_octets} octets sequence={sequence}")
    }
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
        let Behind { mark, .. } = Mark::tag(octets.get(at + TAG_TYPE.len()..)?, usize::MAX).ok()?;
        // An EtherType follows, and data.
        let back = octets.get(at + MARK_OCTETS..).filter(|back| back.len() > TAG_TYPE.len())?;
        Some(Self {
            redundancy: mark.redundancy,
            lan: mark.lan(),
            sequence: mark.sequence,
            source: source(octets)?,
            front: octets.get(..at)?,
            back,
        })
    }

    fn of_trailer(octets: &'a [u8]) -> Option<Self> {
        let mark = Mark::trailer(octets)?;
        let front = octets.get(..octets.len().checked_sub(MARK_OCTETS)?)?;
        let (redundancy, lan, sequence) = (mark.redundancy, mark.lan(), mark.sequence);
        Some(Self { redundancy, lan, sequence, source: source(octets)?, front, back: &[] })
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
