//! DNP3 (IEEE 1815): the header of a link frame, and that of an application fragment that begins in it.
//!
//! ```text
//! octet  0-1    2       3        4-5          6-7     8-9  10         11       12        13
//!        05 64  length  control  destination  source  CRC  transport  control  function  objects, or IIN
//! ```
//!
//! Numbers are little-endian. Blocks of up to 16 octets follow the header, each with a CRC. The
//! transport octet has FIR (0x40) in the first segment of a fragment. The application control has a
//! sequence number of four bits, which a response repeats.
//!
//! Left out: data beyond the first block, the CRCs of blocks, and segments that do not begin a fragment.

use crate::read::{Malformed, Reader};

/// Assigned port, of TCP and UDP.
pub const PORT: u16 = 20_000;
/// Octets of the header of a link frame, its CRC included.
pub const HEADER_OCTETS: usize = 10;
/// Octets of a block of user data, without its CRC.
const BLOCK_OCTETS: usize = 16;
/// Octets of a CRC.
const CRC_OCTETS: usize = 2;
/// Octets that the length of a frame without user data counts.
const LEAST_LENGTH: usize = 5;
/// First function of responses.
const RESPONSES: u8 = 129;

/// CRC of DNP3 (IEEE 1815, 9.2.4.1.4): generator x^16 + x^13 + x^12 + x^11 + x^10 + x^8 + x^6 + x^5 + x^2
/// + 1, reflected, inverted at the end.
#[must_use]
pub fn crc(octets: &[u8]) -> u16 {
    !octets.iter().fold(0, |crc: u16, octet| {
        (0..8).fold(crc ^ u16::from(*octet), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0xA6BC } else { 0 }
        })
    })
}

/// Header of a link frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// Octets of the whole frame, with all CRCs.
    pub frame_octets: usize,
    /// Link address of the receiver; from 0xFFF0 on of several.
    pub destination: u16,
    /// Link address of the sender.
    pub source: u16,
}

impl Header {
    /// Decodes the header of a frame.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let start = reader.malformed("DNP3 start");
        if reader.array("DNP3 start")? != [0x05, 0x64] {
            return Err(start);
        }
        let length = reader.malformed("DNP3 length");
        let counted = usize::from(reader.u8("DNP3 length")?);
        let data_octets = counted.checked_sub(LEAST_LENGTH).ok_or(length)?;
        reader.u8("DNP3 control")?;
        let destination = u16::from_le_bytes(reader.array("DNP3 destination")?);
        let source = u16::from_le_bytes(reader.array("DNP3 source")?);
        let check = reader.malformed("DNP3 header CRC");
        let found = u16::from_le_bytes(reader.array("DNP3 header CRC")?);
        if octets.get(..HEADER_OCTETS - CRC_OCTETS).map(crc) != Some(found) {
            return Err(check);
        }
        let blocks = data_octets.div_ceil(BLOCK_OCTETS);
        let frame_octets = HEADER_OCTETS + data_octets + blocks * CRC_OCTETS;
        Ok(Self { frame_octets, destination, source })
    }

    /// True if the frame carries user data: a segment of a fragment.
    #[must_use]
    pub const fn has_data(&self) -> bool {
        self.frame_octets > HEADER_OCTETS
    }
}

/// Application fragment, as far as the first block of its first frame has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fragment<'a> {
    /// Link frame.
    pub header: Header,
    /// Sequence number, 0 to 15.
    pub sequence: u8,
    /// True if it is the first, or only, fragment of a message.
    pub is_first: bool,
    /// Function code.
    pub function: u8,
    /// Octets behind the function, in the first block: object headers, or IIN and then objects.
    pub data: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// Decodes a link frame; none if no fragment begins in it.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let header = Header::decode(octets)?;
        let frame = octets.get(..header.frame_octets).unwrap_or(octets);
        let rest = frame.get(HEADER_OCTETS..).unwrap_or_default();
        let of_data = header.frame_octets.saturating_sub(HEADER_OCTETS + CRC_OCTETS);
        let block = rest.get(..of_data.min(BLOCK_OCTETS)).unwrap_or(rest);
        let [transport, control, function, data @ ..] = block else { return Ok(None) };
        let (sequence, is_first, function) = (control & 0x0F, control & 0x80 != 0, *function);
        let begins = transport & 0x40 != 0;
        Ok(begins.then_some(Self { header, sequence, is_first, function, data }))
    }

    /// True of a response to a request; false of an unsolicited one.
    #[must_use]
    pub const fn is_response(&self) -> bool {
        self.function == RESPONSES
    }

    /// True of a request that is answered: not of a confirmation, of functions without
    /// acknowledgement, and of those to several outstations.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        let is_answered =
            !matches!(self.function, 0 | 6 | 8 | 10 | 12) && self.function < RESPONSES;
        is_answered && self.header.destination < 0xFFF0
    }

    /// True if the response reports an unknown function or object, or a wrong parameter (IIN2.0 to
    /// IIN2.2).
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.function >= RESPONSES && self.data.get(1).is_some_and(|second| second & 7 != 0)
    }
}

/// Name of a function of requests.
#[must_use]
pub const fn function_name(function: u8) -> Option<&'static str> {
    Some(match function {
        1 => "read",
        2 => "write",
        3 => "select",
        4 => "operate",
        5 => "direct operate",
        7 => "immediate freeze",
        9 => "freeze clear",
        11 => "freeze at time",
        13 => "cold restart",
        14 => "warm restart",
        18 => "stop application",
        20 => "enable unsolicited",
        21 => "disable unsolicited",
        22 => "assign class",
        23 => "delay measurement",
        24 => "record current time",
        25 => "open file",
        26 => "close file",
        27 => "delete file",
        28 => "get file info",
        129 => "response",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frame with user data, from 3 to 1,024.
    fn frame(data: &[u8]) -> Vec<u8> {
        let mut octets = vec![0x05, 0x64, 5 + data.len() as u8, 0xC4, 0, 4, 3, 0];
        octets.extend(crc(&octets).to_le_bytes());
        for block in data.chunks(16) {
            octets.extend(block);
            octets.extend(crc(block).to_le_bytes());
        }
        octets
    }

    #[test]
    fn the_example_of_a_link_reset_has_its_crc() {
        // Reset of link states from 1,024 to 1, as in the guide for testing of the DNP users group.
        let octets = [0x05, 0x64, 0x05, 0xC0, 0x01, 0x00, 0x00, 0x04, 0xE9, 0x21];
        let header = Header { frame_octets: 10, destination: 1, source: 1_024 };
        assert_eq!(Header::decode(&octets), Ok(header));
        assert_eq!(Fragment::decode(&octets), Ok(None));
    }

    #[test]
    fn a_class_poll_is_read_from_its_first_block() {
        let poll = frame(&[0xC5, 0xC7, 1, 0x3C, 2, 6, 0x3C, 3, 6, 0x3C, 4, 6, 0x3C, 1, 6, 9, 9, 9]);
        assert_eq!(poll.len(), 10 + 18 + 4);
        let read = Fragment::decode(&poll).unwrap().unwrap();
        assert_eq!((read.sequence, read.function, read.data.len()), (7, 1, 13));
        assert!(read.is_request() && !read.is_response() && !read.has_failed());
        let answer = frame(&[0xC5, 0xC7, 129, 0x80, 0x02]);
        let read = Fragment::decode(&answer).unwrap().unwrap();
        assert!(read.is_response() && read.has_failed() && !read.is_request());
        let segment = frame(&[0x05, 1, 2, 3]);
        assert_eq!(Fragment::decode(&segment), Ok(None), "no first segment");
    }

    #[test]
    fn an_invalid_header_names_its_field() {
        let check = |octets: &[u8], field, offset| {
            assert_eq!(Header::decode(octets), Err(Malformed { field, offset }), "{octets:?}");
        };
        let valid = frame(&[]);
        check(&[5], "DNP3 start", 0);
        check(&[5, 0x65, 5, 0, 0, 0, 0, 0, 0, 0], "DNP3 start", 0);
        check(&[5, 0x64, 4, 0, 0, 0, 0, 0, 0, 0], "DNP3 length", 2);
        check(&valid[..9], "DNP3 header CRC", 8);
        let mut wrong = valid;
        wrong[4] ^= 1;
        check(&wrong, "DNP3 header CRC", 8);
    }
}
