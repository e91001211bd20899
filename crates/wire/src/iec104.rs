//! IEC 60870-5-104: APDUs of the three formats, and the head of an ASDU.
//!
//! ```text
//! octet  0   1       2-3            4-5            6     7    8      9           10-11           12-14
//!        68  length  N(S), format   N(R)           type  VSQ  cause  originator  common address  object
//! ```
//!
//! Numbers are little-endian. The two low bits of octet 2 give the format: I (0 in the lowest), S (01), U
//! (11). The numbers N(S) and N(R) have 15 bits. Cause of transmission, common address and information
//! object address have two, two and three octets, as this profile prescribes (7.2).
//!
//! Left out: information elements, and all objects but the first.

use crate::read::{Malformed, Reader};

/// Assigned TCP port.
pub const PORT: u16 = 2_404;
/// First octet of an APDU.
pub const START: u8 = 0x68;
/// Octets of an APDU without ASDU.
pub const HEADER_OCTETS: usize = 6;
/// Octets before those that the length counts.
const BEFORE_LENGTH: usize = 2;
/// Longest APDU, by the octets that the length counts.
const LONGEST: u8 = 253;

/// Format of an APDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// Numbered, with an ASDU.
    I {
        /// N(S): number of this APDU.
        send: u16,
        /// N(R): number of the APDU that is expected next.
        receive: u16,
    },
    /// Acknowledgement.
    S {
        /// N(R).
        receive: u16,
    },
    /// STARTDT, STOPDT, TESTFR: octet 2.
    U(u8),
}

/// Head of an ASDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Asdu {
    /// Type identification.
    pub kind: u8,
    /// Cause of transmission: 6 activation, 7 its confirmation, 8 deactivation, 9 its confirmation, 44 to
    /// 47 unknown type, cause, common address, object.
    pub cause: u8,
    /// True of a negative confirmation.
    pub is_negative: bool,
    /// Common address of the station.
    pub common_address: u16,
    /// Address of the first information object.
    pub object: u32,
}

/// APDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu {
    /// Format, with its numbers.
    pub format: Format,
    /// Octets of the whole APDU.
    pub octets: usize,
    /// Head of its ASDU; none of formats S and U, and of one that is cut.
    pub asdu: Option<Asdu>,
}

impl Pdu {
    /// Decodes the APDU at the front of `octets`.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let start = reader.malformed("APDU start");
        if reader.u8("APDU start")? != START {
            return Err(start);
        }
        let length = reader.malformed("APDU length");
        let counted = reader.u8("APDU length")?;
        if !(4..=LONGEST).contains(&counted) {
            return Err(length);
        }
        let control = reader.malformed("APDU control");
        let [first, second, third, fourth] = reader.array("APDU control")?;
        let number = |low: u8, high: u8| u16::from_le_bytes([low, high]) >> 1;
        let format = match first & 3 {
            1 if counted == 4 => Format::S { receive: number(third, fourth) },
            3 if counted == 4 => Format::U(first),
            0 | 2 => Format::I { send: number(first, second), receive: number(third, fourth) },
            _ => return Err(control),
        };
        let whole = BEFORE_LENGTH + usize::from(counted);
        let asdu = octets.get(HEADER_OCTETS..whole.min(octets.len())).and_then(Asdu::decode);
        Ok(Self { format, octets: whole, asdu })
    }
}

impl Asdu {
    fn decode(octets: &[u8]) -> Option<Self> {
        let [kind, _, cause, _, low, high, rest @ ..] = octets else { return None };
        let object = match rest {
            [low, middle, high, ..] => u32::from_le_bytes([*low, *middle, *high, 0]),
            _ => 0,
        };
        Some(Self {
            kind: *kind,
            cause: cause & 0x3F,
            is_negative: cause & 0x40 != 0,
            common_address: u16::from_le_bytes([*low, *high]),
            object,
        })
    }
}

/// Name of a command by its type identification.
#[must_use]
pub const fn type_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        45 | 58 => "single command",
        46 | 59 => "double command",
        47 | 60 => "regulating step",
        48 | 61 => "set point normalised",
        49 | 62 => "set point scaled",
        50 | 63 => "set point float",
        51 | 64 => "bitstring command",
        100 => "interrogation",
        101 => "counter interrogation",
        103 => "clock synchronisation",
        104 | 107 => "test command",
        105 => "reset process",
        110..=113 => "parameter",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_formats_are_read() {
        // Interrogation of station 10, N(S) 3, N(R) 5.
        let octets = [0x68, 14, 6, 0, 10, 0, 100, 1, 6, 0, 10, 0, 0, 0, 0, 20];
        let asdu = Asdu { kind: 100, cause: 6, is_negative: false, common_address: 10, object: 0 };
        let format = Format::I { send: 3, receive: 5 };
        assert_eq!(Pdu::decode(&octets), Ok(Pdu { format, octets: 16, asdu: Some(asdu) }));
        let cut = Pdu::decode(&octets[..9]).unwrap();
        assert_eq!((cut.octets, cut.asdu), (16, None));
        let s = Pdu::decode(&[0x68, 4, 1, 0, 0x10, 0x27]).unwrap();
        assert_eq!(s.format, Format::S { receive: 5_000 });
        assert_eq!(Pdu::decode(&[0x68, 4, 0x43, 0, 0, 0]).unwrap().format, Format::U(0x43));
    }

    #[test]
    fn an_invalid_header_names_its_field() {
        let check = |octets: &[u8], field, offset| {
            assert_eq!(Pdu::decode(octets), Err(Malformed { field, offset }), "{octets:?}");
        };
        check(&[0x69, 4, 1, 0, 0, 0], "APDU start", 0);
        check(&[0x68, 3, 1, 0, 0, 0], "APDU length", 1);
        check(&[0x68, 254, 0, 0, 0, 0], "APDU length", 1);
        check(&[0x68, 14, 1, 0, 0, 0], "APDU control", 2);
        check(&[0x68, 4, 1], "APDU control", 2);
    }
}
