//! Ethernet frames (IEEE 802.3): with a length and LLC behind it, or with a type (behind one of which
//! LLC stands as well, IEEE 802.1AC); VLAN tags (802.1Q, 802.1ad).
//!
//! From the destination address to the end of the data; preamble and FCS are the medium's. A length field
//! counts the LLC PDU without the padding behind it, so a receiver can cut that off; a type field does not.

use crate::addr::Mac;
use crate::read::{Malformed, Reader};
use arrayvec::ArrayVec;
use bytes::BufMut;
use core::fmt;

/// Octets of the header without tags.
pub const HEADER_OCTETS: usize = 14;
/// The shortest frame, without FCS.
pub const MIN_OCTETS: usize = 60;
/// The longest frame, without FCS and tags.
pub const MAX_OCTETS: usize = 1_514;
/// Values from here on are types; below, lengths.
pub const FIRST_TYPE: u16 = 1_536;
/// The most data of a length frame: the most that its length may say.
pub const MOST_DATA_OCTETS: usize = 1_500;
/// LLC encapsulation (IEEE 802.1AC): behind this type stands an LLC PDU of any length.
pub const LLC_ENCAPSULATION: u16 = 0x8870;
/// Preamble and start frame delimiter.
pub const PREAMBLE_OCTETS: usize = 8;
/// The frame check sequence.
pub const FCS_OCTETS: usize = 4;
/// Tags that are read; frames with more are left alone.
const TAGS: usize = 2;
/// Tag protocol identifiers: 802.1Q, 802.1ad, and the one that was used before that.
const TAG_TYPES: [u16; 3] = [0x8100, 0x88A8, 0x9100];

/// A VLAN tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tag {
    /// TPID: which kind of tag.
    pub protocol: u16,
    /// TCI: priority, drop eligibility and VLAN.
    pub control: u16,
}

impl Tag {
    /// The VLAN, 0 to 4095; 0 is a priority tag.
    #[must_use]
    pub const fn vlan(self) -> u16 {
        self.control & 0x0FFF
    }

    /// The priority, 0 to 7.
    #[must_use]
    pub const fn priority(self) -> u8 {
        (self.control >> 13) as u8
    }
}

/// What follows the addresses and tags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// So many octets of LLC.
    Length(u16),
    /// Data of this EtherType.
    Type(u16),
}

/// An Ethernet frame.
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
    /// The data: for a length frame exactly as long as it says, or as much of it as was captured.
    pub data: &'a [u8],
    /// What follows the data in a length frame: padding, or a trailer.
    pub padding: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// The frame in `octets`, all of which was captured.
    ///
    /// # Errors
    /// Names the field that is missing, or "length" where it says more than there is.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        Self::decode_cut(octets, octets.len())
    }

    /// The frame that was `original_octets` long and of which `octets` were captured.
    ///
    /// # Errors
    /// As for [`Pdu::decode`], where "what there is" is the original.
    pub fn decode_cut(octets: &'a [u8], original_octets: usize) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let destination = Mac(reader.array("destination address")?);
        let source = Mac(reader.array("source address")?);
        let mut tags = ArrayVec::new();
        let mut at_kind = reader.malformed("length");
        let mut value = reader.u16("length")?;
        while TAG_TYPES.contains(&value) && !tags.is_full() {
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

    /// Octets of the LLC PDU in a frame that was `original_octets` long, without padding; `None` where
    /// it carries something else.
    #[must_use]
    pub fn lpdu_octets(&self, original_octets: usize) -> Option<usize> {
        match self.kind {
            Kind::Length(length) => Some(usize::from(length)),
            Kind::Type(LLC_ENCAPSULATION) => original_octets.checked_sub(self.header_octets()),
            Kind::Type(_) => None,
        }
    }

    /// Writes the frame, its padding as it stands.
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

/// The header of a length frame, for [`crate::packet::Packet::prepend`].
#[must_use]
pub const fn header(destination: Mac, source: Mac, length: u16) -> [u8; HEADER_OCTETS] {
    let Mac([a, b, c, d, e, f]) = destination;
    let Mac([g, h, i, j, k, l]) = source;
    let [high, low] = length.to_be_bytes();
    [a, b, c, d, e, f, g, h, i, j, k, l, high, low]
}

/// Octets a frame of `octets` without FCS takes on the medium: padded, with preamble and FCS.
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

#[cfg(test)]
mod tests {
    use super::*;

    // Addresses 02:…:02 from 02:…:01, in front of everything below.
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
    fn a_length_beyond_the_frame_is_malformed_unless_the_capture_cut_it() {
        let octets = frame(&[0, 4, 7, 8, 9]);
        let complaint = Pdu::decode(&octets).unwrap_err();
        assert_eq!(complaint.to_string(), "malformed length at octet 12");
        let cut = Pdu::decode_cut(&octets, 60).unwrap();
        assert_eq!((cut.kind, cut.data), (Kind::Length(4), &[7, 8, 9][..]));
        let missing = Pdu::decode(&octets[..13]).unwrap_err();
        assert_eq!(missing.to_string(), "malformed length at octet 12");
    }

    #[test]
    fn an_llc_pdu_is_as_long_as_a_length_says_or_as_the_frame_behind_its_type() {
        let octets = |rest: &[u8], original| {
            let octets = frame(rest);
            Pdu::decode_cut(&octets, original).unwrap().lpdu_octets(original)
        };
        assert_eq!(octets(&[0, 1, 7, 0, 0], 60), Some(1));
        // 802.1AC: 2,046 octets behind a header of 14, of which a capture kept two.
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
