//! S7 communication, the protocol of programmable controllers above class 0: the header of its
//! PDUs.
//!
//! ```text
//! octet  0         1       2-3         4-5            6-7                8-9          10-11
//!        32        ROSCTR  redundancy  PDU reference  parameter length   data length  error (ROSCTR 2 and 3)
//! ```
//!
//! No standard describes it; the names are those of Wireshark's dissector `s7comm`. A PDU is a
//! TSDU. Its header contains no user data. The parameters of user data PDUs (ROSCTR 7) begin with a
//! head of their own, which distinguishes requests from answers.
//!
//! Left out: all other parameters, and the data.

use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;

/// Protocol identifier.
pub const PROTOCOL: u8 = 0x32;
/// Length of the header of a request.
pub const HEADER_OCTETS: usize = 10;
/// Length of the longest header, including the head of parameters that may follow it.
pub const LONGEST_HEADER_OCTETS: usize = 16;
/// Length of the part common to all PDUs except for the ROSCTR: protocol identifier, ROSCTR, and
/// two zeros.
pub const PREFIX_OCTETS: usize = 4;
/// Length of the head of the parameters of user data: 00 01 12, a length, the method, the type.
const HEAD_OCTETS: usize = 6;

/// ROSCTR: type of PDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// 1: request.
    Job,
    /// 2: acknowledgement without data.
    Acknowledgement,
    /// 3: acknowledgement with data.
    AcknowledgementData,
    /// 7: user data: a request, a reply or an indication.
    UserData,
}

impl Kind {
    /// Returns the kind for a ROSCTR code.
    #[must_use]
    pub const fn of_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Job),
            2 => Some(Self::Acknowledgement),
            3 => Some(Self::AcknowledgementData),
            7 => Some(Self::UserData),
            _ => None,
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Job => 1,
            Self::Acknowledgement => 2,
            Self::AcknowledgementData => 3,
            Self::UserData => 7,
        }
    }

    const fn has_error(self) -> bool {
        matches!(self, Self::Acknowledgement | Self::AcknowledgementData)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Acknowledgement => "ack",
            Self::AcknowledgementData => "ack-data",
            Self::UserData => "user-data",
        }
    }
}

/// Header of a PDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// Type of PDU.
    pub kind: Kind,
    /// PDU reference; a reply repeats that of its request.
    pub reference: u16,
    /// Octets of parameters after the header.
    pub parameter_octets: u16,
    /// Octets of data after the parameters.
    pub data_octets: u16,
    /// Error class and code; only in acknowledgements.
    pub error: Option<[u8; 2]>,
}

impl Header {
    /// Decodes the header at the start of a TSDU.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(tsdu: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(tsdu);
        let wrong = |field, offset| Malformed { field, offset };
        if reader.u8("protocol identifier")? != PROTOCOL {
            return Err(wrong("protocol identifier", 0));
        }
        let kind = Kind::of_code(reader.u8("ROSCTR")?).ok_or(wrong("ROSCTR", 1))?;
        if reader.u16("redundancy identification")? != 0 {
            return Err(wrong("redundancy identification", 2));
        }
        let reference = reader.u16("PDU reference")?;
        let parameter_octets = reader.u16("parameter length")?;
        let data_octets = reader.u16("data length")?;
        let error = if kind.has_error() { Some(reader.array("error code")?) } else { None };
        Ok(Self { kind, reference, parameter_octets, data_octets, error })
    }

    /// Writes the header.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_slice(&[PROTOCOL, self.kind.code(), 0, 0]);
        out.put_u16(self.reference);
        out.put_u16(self.parameter_octets);
        out.put_u16(self.data_octets);
        out.put_slice(self.error.as_ref().map_or(&[], |error| error));
    }

    /// Length of the header in octets.
    #[must_use]
    pub fn header_octets(&self) -> usize {
        HEADER_OCTETS + self.error.map_or(0, |error| error.len())
    }

    /// Length of the whole PDU in octets.
    #[must_use]
    pub fn pdu_octets(&self) -> usize {
        self.header_octets() + usize::from(self.parameter_octets) + usize::from(self.data_octets)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, reference, parameter_octets, data_octets, error } = self;
        write!(f, "S7 {} reference={reference}", kind.name())?;
        if let Some([class, code]) = error {
            write!(f, " error={class:02x}{code:02x}")?;
        }
        write!(f, " parameters={parameter_octets} data={data_octets}")
    }
}

/// Returns true if `octets` may begin a PDU, as far as they cover its constant prefix.
#[must_use]
pub fn is_prefix(octets: &[u8]) -> bool {
    let is_right = |(place, octet): (usize, &u8)| match place {
        0 => *octet == PROTOCOL,
        1 => Kind::of_code(*octet).is_some(),
        _ => *octet == 0,
    };
    octets.iter().take(PREFIX_OCTETS).enumerate().all(is_right)
}

/// Octets of S7 header at the start of a TSDU of `tsdu_octets`, including the head of the
/// parameters of user data; no user data is among them. `None` if the lengths in the header do not
/// add up to that of the TSDU.
#[must_use]
pub fn header_octets(tsdu: &[u8], tsdu_octets: usize) -> Option<usize> {
    let header = Header::decode(tsdu).ok()?;
    let has_head = header.kind == Kind::UserData
        && tsdu.get(HEADER_OCTETS..).is_some_and(|head| head.starts_with(&[0, 1, 0x12]))
        && usize::from(header.parameter_octets) >= HEAD_OCTETS;
    let head_octets = if has_head { HEAD_OCTETS } else { 0 };
    (header.pdu_octets() == tsdu_octets).then_some(header.header_octets() + head_octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job with 14 octets of parameters, as in a read of one variable.
    const JOB: [u8; 10] = [0x32, 1, 0, 0, 0x12, 0x34, 0, 14, 0, 0];
    /// Its acknowledgement with 2 octets of parameters and 5 of data.
    const ACK: [u8; 12] = [0x32, 3, 0, 0, 0x12, 0x34, 0, 2, 0, 5, 0, 0];

    #[test]
    fn headers_print_their_reference_and_lengths() {
        check(&JOB, "S7 job reference=4660 parameters=14 data=0");
        check(&ACK, "S7 ack-data reference=4660 error=0000 parameters=2 data=5");
    }

    #[track_caller]
    fn check(octets: &[u8], line: &str) {
        let header = Header::decode(octets).unwrap();
        assert_eq!(header.to_string(), line);
        assert_eq!(header.header_octets(), octets.len());
        let mut again = Vec::new();
        header.encode(&mut again);
        assert_eq!(again, octets);
    }

    #[test]
    fn a_short_header_names_the_missing_field() {
        for (octets, complaint) in [
            (&ACK[..11], "malformed error code at octet 10"),
            (&JOB[..9], "malformed data length at octet 8"),
            (&[0x32, 4][..], "malformed ROSCTR at octet 1"),
            (&[0x72][..], "malformed protocol identifier at octet 0"),
        ] {
            assert_eq!(Header::decode(octets).unwrap_err().to_string(), complaint);
        }
    }

    #[test]
    fn only_a_header_that_fits_its_tsdu_is_accepted() {
        assert_eq!(header_octets(&JOB, 24), Some(10));
        assert_eq!(header_octets(&ACK, 19), Some(12));
        assert_eq!(header_octets(&JOB, 25), None, "one octet more than the lengths add up to");
        assert_eq!(header_octets(&JOB[..9], 24), None);
        // User data: the head of the parameters marks a request (type 4, function group 4).
        let user =
            [0x32, 7, 0, 0, 0, 1, 0, 8, 0, 4, 0, 1, 0x12, 4, 0x11, 0x44, 1, 0, 0xFF, 9, 0, 0];
        assert_eq!(header_octets(&user, 22), Some(16));
        let mut other = user;
        other[10] = 9;
        assert_eq!(header_octets(&other, 22), Some(10), "parameters of another form");
    }

    #[test]
    fn a_prefix_is_compared_over_the_octets_there_are() {
        assert!(is_prefix(&[]) && is_prefix(&[0x32]) && is_prefix(&JOB));
        assert!(!is_prefix(&[0x32, 4]) && !is_prefix(&[0x32, 1, 0, 1]) && !is_prefix(&[3]));
    }
}
