//! FINS, the protocol of Omron controllers, over TCP: the header FINS/TCP and that of a FINS frame.
//!
//! ```text
//! octet  0-3   4-7     8-11     12-15   16   17   18   19   20   21   22   23   24   25   26-27    28-29
//!        FINS  length  command  error   ICF  RSV  GCT  DNA  DA1  DA2  SNA  SA1  SA2  SID  command  end code
//! ```
//!
//! Numbers are big-endian; the length counts from octet 8 on. Only command 2 has a FINS frame. ICF has
//! bit 6 set in a response, and bit 0 if no response is required. A response repeats SID and command.
//! Source: the vendor's *Ethernet Units, Construction of Applications* (W421), 7.
//!
//! Over UDP a datagram is a FINS frame. Left out: the data of commands.

use crate::read::{Malformed, Reader};

/// Port of controllers, of TCP and UDP.
pub const PORT: u16 = 9_600;
/// Octets of FINS/TCP.
pub const HEADER_OCTETS: usize = 16;
/// Octets before those that the length counts.
const BEFORE_LENGTH: usize = 8;
/// Longest PDU that is read, by the octets that the length counts.
const LONGEST: u32 = 4_096;

/// Frame of FINS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame<'a> {
    /// True of a response.
    pub is_response: bool,
    /// True if a response is required.
    pub is_answered: bool,
    /// Node of the receiver (DA1), and of the sender (SA1).
    pub nodes: [u8; 2],
    /// Service identifier, which a response repeats.
    pub service: u8,
    /// Command: main and sub-request code.
    pub command: u16,
    /// Octets behind the command; of a response they begin with the end code.
    pub data: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Decodes a frame: of FINS over UDP, all of a datagram.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        // Bits 1 to 5 are zero, and bit 7 is one.
        match octets.first() {
            Some(icf) if icf & 0xBE == 0x80 => {}
            _ => return Err(Malformed { field: "FINS ICF", offset: 0 }),
        }
        frame(octets).ok_or(Malformed { field: "FINS command", offset: octets.len().min(10) })
    }

    /// End code of a response; 0 is success. The bits of relays and of errors of the controller are left
    /// out.
    #[must_use]
    pub fn end_code(&self) -> Option<u16> {
        let code = self.data.first_chunk().map(|code| u16::from_be_bytes(*code) & 0x7F3F);
        code.filter(|_| self.is_response)
    }
}

/// PDU of FINS/TCP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Octets of the whole, header included.
    pub octets: usize,
    /// Command of FINS/TCP: 0 and 1 exchange node addresses, 2 sends a frame.
    pub command: u32,
    /// Frame, if there is one and its header was captured.
    pub frame: Option<Frame<'a>>,
}

impl<'a> Pdu<'a> {
    /// Decodes the PDU at the front of `octets`.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let wrong = reader.malformed("FINS/TCP header");
        if reader.array("FINS/TCP header")? != *b"FINS" {
            return Err(wrong);
        }
        let wrong = reader.malformed("FINS/TCP length");
        let length = reader.u32("FINS/TCP length")?;
        if !((HEADER_OCTETS - BEFORE_LENGTH) as u32..=LONGEST).contains(&length) {
            return Err(wrong);
        }
        let command = reader.u32("FINS/TCP command")?;
        reader.u32("FINS/TCP error")?;
        let whole = BEFORE_LENGTH + length as usize;
        let data = octets.get(HEADER_OCTETS..whole.min(octets.len())).unwrap_or_default();
        let frame = if command == 2 { frame(data) } else { None };
        Ok(Self { octets: whole, command, frame })
    }
}

fn frame(octets: &[u8]) -> Option<Frame<'_>> {
    let [icf, _, _, _, destination, _, _, source, _, service, main, sub, data @ ..] = octets else {
        return None;
    };
    Some(Frame {
        is_response: icf & 0x40 != 0,
        is_answered: icf & 1 == 0,
        nodes: [*destination, *source],
        service: *service,
        command: u16::from_be_bytes([*main, *sub]),
        data,
    })
}

/// Name of a command.
#[must_use]
pub const fn command_name(command: u16) -> Option<&'static str> {
    Some(match command {
        0x0101 => "memory area read",
        0x0102 => "memory area write",
        0x0103 => "memory area fill",
        0x0104 => "multiple area read",
        0x0401 => "run",
        0x0402 => "stop",
        0x0501 => "controller data read",
        0x0601 => "controller status read",
        0x0701 => "clock read",
        0x0702 => "clock write",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PDU with a frame of this ICF and data behind command 0101.
    fn encoded(icf: u8, data: &[u8]) -> Vec<u8> {
        let length = 20 + data.len() as u8;
        let head = [0, 0, 0, length, 0, 0, 0, 2, 0, 0, 0, 0];
        let frame = [icf, 0, 2, 0, 1, 0, 0, 5, 0, 77, 1, 1];
        [&b"FINS"[..], &head, &frame, data].concat()
    }

    #[test]
    fn a_read_and_its_response_have_one_identifier() {
        let octets = encoded(0x80, &[0x82, 0, 0, 0, 0, 1]);
        let read = Pdu::decode(&octets).unwrap();
        let frame = read.frame.unwrap();
        assert_eq!((read.octets, frame.service, frame.command), (34, 77, 0x0101));
        assert_eq!((frame.nodes, frame.is_response, frame.is_answered), ([1, 5], false, true));
        let octets = encoded(0xC0, &[0x11, 0x43]);
        let frame = Pdu::decode(&octets).unwrap().frame.unwrap();
        assert_eq!((frame.is_response, frame.end_code()), (true, Some(0x1103)));
        assert_eq!(Pdu::decode(&octets[..20]).unwrap().frame, None);
        assert_eq!(Frame::decode(&octets[16..]), Ok(frame));
        let wrong = |field, offset| Err(Malformed { field, offset });
        assert_eq!(Frame::decode(&octets[16..26]), wrong("FINS command", 10));
        assert_eq!(Frame::decode(&octets), wrong("FINS ICF", 0));
    }

    #[test]
    fn an_invalid_header_names_its_field() {
        let check = |octets: &[u8], field, offset| {
            assert_eq!(Pdu::decode(octets), Err(Malformed { field, offset }), "{octets:?}");
        };
        check(b"FINX\0\0\0\x08", "FINS/TCP header", 0);
        check(b"FINS\0\0\0\x07", "FINS/TCP length", 4);
        check(b"FINS\0\x01\0\0", "FINS/TCP length", 4);
        check(b"FINS\0\0\0\x08", "FINS/TCP command", 8);
    }
}
