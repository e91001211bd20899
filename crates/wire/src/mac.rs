//! Ethernet frames (IEEE 802.3), with VLAN tags (802.1Q, 802.1ad): either with a length, followed
//! by LLC, or with a type. One type announces LLC too (IEEE 802.1AC).
//!
//! A frame here extends from the destination address to the end of the data; preamble and FCS
//! belong to the medium. A length field counts the LLC PDU without the padding, so a receiver can
//! remove that; a type field does not.

use crate::addr::{Mac, Names};
use crate::read::{Malformed, Reader};
use arrayvec::ArrayVec;
use bytes::BufMut;
use core::fmt;

/// Length of the header without tags.
pub const HEADER_OCTETS: usize = 14;
/// Shortest frame, without FCS.
pub const MIN_OCTETS: usize = 60;
/// Longest frame, without FCS and tags.
pub const MAX_OCTETS: usize = 1_514;
/// Smallest type; smaller values are lengths.
pub const FIRST_TYPE: u16 = 1_536;
/// Largest data of a length frame: the largest permitted length.
pub const MOST_DATA_OCTETS: usize = 1_500;
/// LLC encapsulation (IEEE 802.1AC): type of a frame with an LLC PDU of any length.
pub const LLC_ENCAPSULATION: u16 = 0x8870;
/// Preamble and start frame delimiter.
pub const PREAMBLE_OCTETS: usize = 8;
/// Length of the frame check sequence.
pub const FCS_OCTETS: usize = 4;
/// Largest number of tags decoded; frames with more are not decoded further.
const TAGS: usize = 2;

/// True for a tag protocol identifier: of 802.1Q, 802.1ad, and its predecessor.
const fn is_tag(value: u16) -> bool {
    matches!(value, 0x8100 | 0x88A8 | 0x9100)
}

/// VLAN tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tag {
    /// TPID: type of the tag.
    pub protocol: u16,
    /// TCI: priority, drop eligibility and VLAN.
    pub control: u16,
}

impl Tag {
    /// VLAN identifier, 0 to 4095; 0 is a priority tag.
    #[must_use]
    pub const fn vlan(self) -> u16 {
        self.control & 0x0FFF
    }

    /// Priority, 0 to 7.
    #[must_use]
    pub const fn priority(self) -> u8 {
        (self.control >> 13) as u8
    }
}

/// Field after the addresses and tags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Length of the LLC PDU, in octets.
    Length(u16),
    /// EtherType of the data.
    Type(u16),
}

impl Kind {
    /// Length or type, by the value of the field.
    #[must_use]
    pub const fn of(value: u16) -> Self {
        if value < FIRST_TYPE { Self::Length(value) } else { Self::Type(value) }
    }
}

/// Ethernet frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pdu<'a> {
    /// Destination address.
    pub destination: Mac,
    /// Source address.
    pub source: Mac,
    /// VLAN tags, outermost first.
    pub tags: ArrayVec<Tag, TAGS>,
    /// Length or type.
    pub kind: Kind,
    /// Captured octets of the data; in a length frame at most as many as the length.
    pub data: &'a [u8],
    /// Octets after the data of a length frame: padding, or a trailer.
    pub padding: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the frame in `octets`, which were captured completely.
    ///
    /// # Errors
    /// Names the missing field, or "length" if it exceeds the frame.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        Self::decode_cut(octets, octets.len())
    }

    /// Decodes a frame that was `original_octets` long and of which `octets` were captured.
    ///
    /// # Errors
    /// See [`Pdu::decode`]; a length may reach up to `original_octets`.
    pub fn decode_cut(octets: &'a [u8], original_octets: usize) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let destination = Mac(reader.array("destination address")?);
        let source = Mac(reader.array("source address")?);
        let mut tags = ArrayVec::new();
        let mut at_kind = reader.malformed("length");
        let mut value = reader.u16("length")?;
        while is_tag(value) && !tags.is_full() {
            tags.push(Tag { protocol: value, control: reader.u16("tag")? });
            at_kind = reader.malformed("length");
            value = reader.u16("length")?;
        }
        let rest = reader.rest();
        let (kind, data, padding) = if value < FIRST_TYPE {
            let length = usize::from(value);
            if reader.offset() + length > original_octets {
                return Err(at_kind);
            }
            let (data, padding) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            (Kind::Length(value), data, padding)
        } else {
            (Kind::Type(value), rest, &[][..])
        };
        Ok(Self { destination, source, tags, kind, data, padding })
    }

    /// Octets before the data.
    #[must_use]
    pub fn header_octets(&self) -> usize {
        HEADER_OCTETS + 4 * self.tags.len()
    }

    /// Octets of the LLC PDU in a frame that was `original_octets` long, without padding; `None` if
    /// the frame does not carry LLC.
    #[must_use]
    pub fn lpdu_octets(&self, original_octets: usize) -> Option<usize> {
        match self.kind {
            Kind::Length(length) => Some(usize::from(length)),
            Kind::Type(LLC_ENCAPSULATION) => original_octets.checked_sub(self.header_octets()),
            Kind::Type(_) => None,
        }
    }

    /// Writes the frame, including its padding.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_slice(&self.destination.0);
        out.put_slice(&self.source.0);
        for tag in &self.tags {
            out.put_u16(tag.protocol);
            out.put_u16(tag.control);
        }
        let (Kind::Length(value) | Kind::Type(value)) = self.kind;
        out.put_u16(value);
        out.put_slice(self.data);
        out.put_slice(self.padding);
    }
}

/// Header of a length frame, for [`crate::packet::Packet::prepend`].
#[must_use]
pub const fn header(destination: Mac, source: Mac, length: u16) -> [u8; HEADER_OCTETS] {
    let Mac([a, b, c, d, e, f]) = destination;
    let Mac([g, h, i, j, k, l]) = source;
    let [high, low] = length.to_be_bytes();
    [a, b, c, d, e, f, g, h, i, j, k, l, high, low]
}

/// Octets that a frame of `octets` without FCS occupies on the medium: padded, with preamble and
/// FCS.
#[must_use]
pub fn medium_octets(octets: usize) -> usize {
    PREAMBLE_OCTETS + octets.max(MIN_OCTETS) + FCS_OCTETS
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MAC {}>{}", self.source, self.destination)?;
        for tag in &self.tags {
            write!(f, " vlan={}", tag.vlan())?;
            if tag.priority() > 0 {
                write!(f, " priority={}", tag.priority())?;
            }
        }
        match self.kind {
            Kind::Length(length) => write!(f, " length={length}")?,
            Kind::Type(protocol) => write!(f, " type={protocol:04x}")?,
        }
        match self.padding.len() {
            0 => Ok(()),
            octets => write!(f, " padding={octets}"),
        }
    }
}

/// Maps both addresses of a frame, as far as they were captured.
pub(crate) fn rewrite(names: &dyn Names, frame: &mut [u8]) {
    frame.chunks_exact_mut(6).take(2).for_each(|address| names.station(address));
}

#[cfg(test)]
mod tests {
    use super::*;

    // Addresses 02:…:02 from 02:…:01, in front of all frames below.
    const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

    fn frame(rest: &[u8]) -> Vec<u8> {
        [&ADDRESSES[..], rest].concat()
    }

    #[test]
    fn length_and_type_frames_read_and_write_back() {
        check(&[0, 3, 7, 8, 9], "MAC 02:00:00:00:00:01>02:00:00:00:00:02 length=3");
        check(&[0, 1, 7, 0, 0], "MAC 02:00:00:00:00:01>02:00:00:00:00:02 length=1 padding=2");
        check(&[8, 0, 69], "MAC 02:00:00:00:00:01>02:00:00:00:00:02 type=0800");
        check(
            &[0x81, 0, 0xE0, 5, 0, 1, 7],
            "MAC 02:00:00:00:00:01>02:00:00:00:00:02 vlan=5 priority=7 length=1",
        );
        check(
            &[0x88, 0xA8, 0, 9, 0x81, 0, 0, 5, 0x08, 0x06],
            "MAC 02:00:00:00:00:01>02:00:00:00:00:02 vlan=9 vlan=5 type=0806",
        );
    }

    #[test]
    fn a_length_beyond_the_frame_is_malformed_unless_it_was_cut() {
        let octets = frame(&[0, 4, 7, 8, 9]);
        let complaint = Pdu::decode(&octets).unwrap_err();
        assert_eq!(complaint.to_string(), "malformed length at octet 12");
        let cut = Pdu::decode_cut(&octets, 60).unwrap();
        assert_eq!((cut.kind, cut.data), (Kind::Length(4), &[7, 8, 9][..]));
        let missing = Pdu::decode(&octets[..13]).unwrap_err();
        assert_eq!(missing.to_string(), "malformed length at octet 12");
    }

    #[test]
    fn an_llc_pdu_has_its_length_from_the_field_or_the_frame() {
        let octets = |rest: &[u8], original| {
            let octets = frame(rest);
            Pdu::decode_cut(&octets, original).unwrap().lpdu_octets(original)
        };
        assert_eq!(octets(&[0, 1, 7, 0, 0], 60), Some(1));
        // 802.1AC: 2,046 octets after a header of 14, of which a capture kept two.
        assert_eq!(octets(&[0x88, 0x70, 7, 8], 2_060), Some(2_046));
        assert_eq!(octets(&[0x08, 0x00, 7, 8], 60), None);
    }

    #[test]
    fn a_minimum_frame_takes_72_octets_on_the_medium() {
        assert_eq!((medium_octets(20), medium_octets(60), medium_octets(1_514)), (72, 72, 1_526));
    }

    #[track_caller]
    fn check(rest: &[u8], line: &str) {
        let octets = frame(rest);
        let pdu = Pdu::decode(&octets).unwrap();
        assert_eq!(pdu.to_string(), line);
        let mut again = Vec::new();
        pdu.encode(&mut again);
        assert_eq!(again, octets);
    }
}
