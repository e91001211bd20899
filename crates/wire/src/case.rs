//! CASE over a null presentation layer, as MAP 2.1 has it: the APDUs of ISO 8650 directly in the
//! user data of SPDUs, and a header in front of the data of A-TRANSFER.
//!
//! ```text
//! octet  0              1         2-3             4
//!        application 5  82        length of data  data
//! ```
//!
//! The octets of 1985 were not found: the header is an assumption of this project. It has four
//! octets at every length, so the length has the long form even where a short one would do.

use crate::ber::Writer;
use crate::read::{Malformed, Reader};
use core::fmt;

/// First octets of an A-TRANSFER: \[APPLICATION 5\] constructed, and a length of two octets.
const TRANSFER: [u8; 2] = [0x65, 0x82];
/// Length of the header of an A-TRANSFER.
pub const HEADER_OCTETS: usize = 4;
/// Longest data of an A-TRANSFER.
pub const LONGEST: usize = 65_535;

/// APDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pdu<'a> {
    /// A-TRANSFER with its data.
    Transfer(&'a [u8]),
    /// APDU of association control, undivided: [`acse::Pdu`] decodes it.
    ///
    /// [`acse::Pdu`]: crate::acse::Pdu
    Control(&'a [u8]),
}

impl<'a> Pdu<'a> {
    /// Decodes the APDU in the user data of an SPDU.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(ssdu: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(ssdu);
        if matches!(ssdu.first(), Some(0x60..=0x64)) {
            return Ok(Self::Control(ssdu));
        }
        let wrong = |offset| Malformed { field: "length of data", offset };
        let [application, length] = TRANSFER;
        if reader.u8("APDU")? != application {
            return Err(Malformed { field: "APDU", offset: 0 });
        }
        if reader.u8("length of data")? != length {
            return Err(wrong(1));
        }
        let octets = reader.u16("length of data")?;
        if reader.rest().len() == usize::from(octets) {
            Ok(Self::Transfer(reader.rest()))
        } else {
            Err(wrong(2))
        }
    }

    /// Writes the APDU in front of what `out` holds. Data beyond [`LONGEST`] are left out.
    pub fn encode(&self, out: &mut Writer) {
        match self {
            Self::Transfer(data) => {
                let data = data.get(..LONGEST).unwrap_or(data);
                out.put(data);
                out.put(&header(data.len() as u16));
            }
            Self::Control(apdu) => out.put(apdu),
        }
    }
}

/// Header of an A-TRANSFER of `data_octets`.
#[must_use]
pub const fn header(data_octets: u16) -> [u8; HEADER_OCTETS] {
    let [high, low] = data_octets.to_be_bytes();
    let [application, length] = TRANSFER;
    [application, length, high, low]
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transfer(data) => write!(f, "CASE transfer {} octets", data.len()),
            Self::Control(apdu) => write!(f, "CASE control {} octets", apdu.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_has_a_header_of_four_octets_at_every_length() {
        for octets in [0, 1, 127, 1_000, LONGEST] {
            let data = vec![7; octets];
            let mut out = Writer::new();
            Pdu::Transfer(&data).encode(&mut out);
            assert_eq!(out.len(), octets + 4);
            assert_eq!(out.octets()[..4], header(octets as u16));
            assert_eq!(Pdu::decode(out.octets()), Ok(Pdu::Transfer(&data)));
        }
        assert_eq!(header(1_000), [0x65, 0x82, 0x03, 0xE8]);
        assert_eq!(Pdu::Transfer(&[1, 2]).to_string(), "CASE transfer 2 octets");
    }

    #[test]
    fn an_invalid_transfer_names_its_field() {
        for (octets, complaint) in [
            (&[][..], "malformed APDU at octet 0"),
            (&[0x66, 0x82], "malformed APDU at octet 0"),
            (&[0x65], "malformed length of data at octet 1"),
            (&[0x65, 2, 1, 2], "malformed length of data at octet 1"),
            (&[0x65, 0x82, 0], "malformed length of data at octet 2"),
            (&[0x65, 0x82, 0, 2, 1], "malformed length of data at octet 2"),
        ] {
            assert_eq!(Pdu::decode(octets).unwrap_err().to_string(), complaint);
        }
        let release = [0x62, 3, 0x80, 1, 0];
        assert_eq!(Pdu::decode(&release), Ok(Pdu::Control(&release)));
    }
}
