//! Logical link control PDUs (IEEE 802.2): U-format with its information field, I- and S-format
//! with their sequence numbers.
//!
//! Left out: the contents of FRMR's information field.

use crate::addr::Sap;
use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;

/// C/R bit of an SSAP: set in responses.
pub const RESPONSE: u8 = 0x01;
/// P/F bit of a U-format control field.
pub const POLL_FINAL: u8 = 0x10;

/// Type of an LLC PDU, by its control field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Control {
    /// UI: unnumbered information, type 1.
    Ui,
    /// XID: exchange identification.
    Xid,
    /// TEST.
    Test,
    /// AC0: acknowledged connectionless, sequence number 0 (type 3).
    Ac0,
    /// AC1: acknowledged connectionless, sequence number 1 (type 3).
    Ac1,
    /// SABME: set asynchronous balanced mode extended (type 2).
    Sabme,
    /// DISC: disconnect (type 2).
    Disc,
    /// UA: unnumbered acknowledgement (type 2).
    Ua,
    /// DM: disconnected mode (type 2).
    Dm,
    /// FRMR: frame reject (type 2).
    Frmr,
    /// I: numbered information (type 2).
    Information {
        /// N(S).
        send: u8,
        /// N(R).
        receive: u8,
    },
    /// RR, RNR or REJ (type 2).
    Supervisory {
        /// First control octet: 01 RR, 05 RNR, 09 REJ.
        function: u8,
        /// N(R).
        receive: u8,
    },
    /// U-format control field that 802.2 does not define, with its P/F bit cleared.
    Unknown(u8),
}

impl Control {
    const fn of_u_format(octet: u8) -> Self {
        match octet & !POLL_FINAL {
            0x03 => Self::Ui,
            0xAF => Self::Xid,
            0xE3 => Self::Test,
            0x67 => Self::Ac0,
            0xE7 => Self::Ac1,
            0x6F => Self::Sabme,
            0x43 => Self::Disc,
            0x63 => Self::Ua,
            0x0F => Self::Dm,
            0x87 => Self::Frmr,
            other => Self::Unknown(other),
        }
    }

    /// Control octet of a U-format PDU with a zero P/F bit; 0 for I- and S-format, which have two
    /// octets.
    #[must_use]
    pub const fn u_format(self) -> u8 {
        match self {
            Self::Ui => 0x03,
            Self::Xid => 0xAF,
            Self::Test => 0xE3,
            Self::Ac0 => 0x67,
            Self::Ac1 => 0xE7,
            Self::Sabme => 0x6F,
            Self::Disc => 0x43,
            Self::Ua => 0x63,
            Self::Dm => 0x0F,
            Self::Frmr => 0x87,
            Self::Unknown(octet) => octet,
            Self::Information { .. } | Self::Supervisory { .. } => 0,
        }
    }

    /// Returns true if the control field has two octets.
    #[must_use]
    pub const fn is_numbered(self) -> bool {
        matches!(self, Self::Information { .. } | Self::Supervisory { .. })
    }
}

/// LLC PDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// DSAP: destination. Its low bit marks a group.
    pub destination: Sap,
    /// SSAP without the C/R bit: source.
    pub source: Sap,
    /// C/R bit: set for a response.
    pub is_response: bool,
    /// Control field.
    pub control: Control,
    /// P/F bit.
    pub poll_final: bool,
    /// Information field.
    pub information: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the PDU in `octets`.
    ///
    /// # Errors
    /// Names the missing field.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let destination = Sap(reader.u8("DSAP")?);
        let ssap = reader.u8("SSAP")?;
        let first = reader.u8("control")?;
        let (control, poll_final) = if first & 0x03 == 0x03 {
            (Control::of_u_format(first), first & POLL_FINAL != 0)
        } else {
            let second = reader.u8("control")?;
            let receive = second >> 1;
            let control = match first & 0x01 {
                0 => Control::Information { send: first >> 1, receive },
                _ => Control::Supervisory { function: first, receive },
            };
            (control, second & 0x01 != 0)
        };
        Ok(Self {
            destination,
            source: Sap(ssap & !RESPONSE),
            is_response: ssap & RESPONSE != 0,
            control,
            poll_final,
            information: reader.rest(),
        })
    }

    /// Octets before the information field.
    #[must_use]
    pub const fn header_octets(&self) -> usize {
        if self.control.is_numbered() { 4 } else { 3 }
    }

    /// Writes the PDU.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_u8(self.destination.0);
        out.put_u8(self.source.0 & !RESPONSE | u8::from(self.is_response));
        let bit = u8::from(self.poll_final);
        match self.control {
            Control::Information { send, receive } => {
                out.put_slice(&[send << 1, receive << 1 | bit]);
            }
            Control::Supervisory { function, receive } => {
                out.put_slice(&[function, receive << 1 | bit]);
            }
            other => out.put_u8(other.u_format() & !POLL_FINAL | (bit * POLL_FINAL)),
        }
        out.put_slice(self.information);
    }

    /// Status octet of a type 3 response: the status of the command in the low half, that of the
    /// reply in the high half.
    #[must_use]
    pub fn status(&self) -> Option<u8> {
        let type3 = matches!(self.control, Control::Ac0 | Control::Ac1);
        self.information.first().copied().filter(|_| type3 && self.is_response)
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LLC {}>{} ", self.source, self.destination)?;
        match self.control {
            Control::Ui => f.write_str("UI"),
            Control::Xid => f.write_str("XID"),
            Control::Test => f.write_str("TEST"),
            Control::Ac0 => f.write_str("AC0"),
            Control::Ac1 => f.write_str("AC1"),
            Control::Sabme => f.write_str("SABME"),
            Control::Disc => f.write_str("DISC"),
            Control::Ua => f.write_str("UA"),
            Control::Dm => f.write_str("DM"),
            Control::Frmr => f.write_str("FRMR"),
            Control::Information { send, receive } => write!(f, "I ns={send} nr={receive}"),
            Control::Supervisory { function, receive } => {
                let name = match function {
                    0x01 => "RR",
                    0x05 => "RNR",
                    0x09 => "REJ",
                    _ => "S?",
                };
                write!(f, "{name} nr={receive}")
            }
            Control::Unknown(octet) => write!(f, "U?{octet:02x}"),
        }?;
        if self.is_response {
            f.write_str(" response")?;
        }
        if self.poll_final {
            f.write_str(if self.is_response { " final" } else { " poll" })?;
        }
        if let Some(status) = self.status() {
            write!(f, " status={status:02x}")?;
        }
        match self.information.len() {
            0 => Ok(()),
            octets => write!(f, " {octets} octets"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Control fields from IEEE 802.2; XID information 81 01 00 is class I; status 40 is "accepted, no reply".
    #[test]
    fn pdus_read_and_write_back() {
        check(&[0xFE, 0xFE, 0x03, 0], "LLC fe>fe UI 1 octets");
        check(&[0xFE, 0x02, 0x13], "LLC 02>fe UI poll");
        check(&[0x00, 0x04, 0xBF, 0x81, 1, 0], "LLC 04>00 XID poll 3 octets");
        check(&[0x04, 0x01, 0xBF, 0x81, 1, 0], "LLC 00>04 XID response final 3 octets");
        check(&[0x04, 0x01, 0xE3, 9], "LLC 00>04 TEST response 1 octets");
        check(&[0x02, 0x04, 0x67, 9], "LLC 04>02 AC0 1 octets");
        check(&[0x02, 0x05, 0xE7, 0x40], "LLC 04>02 AC1 response status=40 1 octets");
        check(&[0xF0, 0xF0, 0x7F], "LLC f0>f0 SABME poll");
        check(&[0xF0, 0xF1, 0x73], "LLC f0>f0 UA response final");
        check(&[0xF0, 0xF0, 0x02, 0x05, 7], "LLC f0>f0 I ns=1 nr=2 poll 1 octets");
        check(&[0xF0, 0xF1, 0x01, 0x04], "LLC f0>f0 RR nr=2 response");
        check(&[0xF0, 0xF0, 0x23], "LLC f0>f0 U?23");
    }

    #[test]
    fn a_short_pdu_names_the_missing_field() {
        for (octets, complaint) in [
            (&[][..], "malformed DSAP at octet 0"),
            (&[0xFE], "malformed SSAP at octet 1"),
            (&[0xFE, 0xFE], "malformed control at octet 2"),
            (&[0xFE, 0xFE, 0x02], "malformed control at octet 3"),
        ] {
            assert_eq!(Pdu::decode(octets).unwrap_err().to_string(), complaint);
        }
    }

    #[track_caller]
    fn check(octets: &[u8], line: &str) {
        let pdu = Pdu::decode(octets).unwrap();
        assert_eq!(pdu.to_string(), line);
        let mut again = Vec::new();
        pdu.encode(&mut again);
        assert_eq!(again, octets);
    }
}
