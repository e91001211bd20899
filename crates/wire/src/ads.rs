//! ADS, the protocol of Beckhoff controllers: the header AMS/TCP and the header AMS.
//!
//! ```text
//! octet  0-1       2-5     6-11           12-13        14-19          20-21        22-23    24-25  26-29   30-33  34-37
//!        reserved  length  target net id  target port  source net id  source port  command  state  length  error  invoke id
//! ```
//!
//! Numbers are little-endian; the length counts from octet 6 on. The lowest bit of the state flags is
//! set in a response, which repeats the invoke identifier. Source: the vendor's documentation
//! *TwinCAT ADS/AMS specification*; names are those of Wireshark's dissector `ams`.
//!
//! Left out: the data of commands, but for the result at the front of a response.

use crate::read::{Malformed, Reader};

/// Assigned TCP port.
pub const PORT: u16 = 48_898;
/// Octets of both headers.
pub const HEADER_OCTETS: usize = 38;
/// Octets of AMS/TCP.
const TCP_OCTETS: usize = 6;
/// Longest PDU that is read: memory of controllers is read in parts of this size at most.
const LONGEST: u32 = 1 << 22;
/// Bit of a response in the state flags.
const RESPONSE: u16 = 1;
/// Bit of an ADS command in the state flags.
const ADS: u16 = 4;

/// PDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Octets of the whole, both headers included.
    pub octets: usize,
    /// AMS port of the receiver: the service of a request.
    pub target_port: u16,
    /// AMS port of the sender.
    pub source_port: u16,
    /// Command: 1 read device info, 2 read, 3 write, 4 read state, 8 notification, 9 read and write.
    pub command: u16,
    /// True of a response.
    pub is_response: bool,
    /// Error of the header; 0 is success.
    pub error: u32,
    /// Invoke identifier, which a response repeats.
    pub invoke: u32,
    /// Data of the command; of a response they begin with its result.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the PDU at the front of `octets`.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let wrong = reader.malformed("AMS/TCP reserved");
        if reader.array("AMS/TCP reserved")? != [0; 2] {
            return Err(wrong);
        }
        let wrong = reader.malformed("AMS/TCP length");
        let length = u32::from_le_bytes(reader.array("AMS/TCP length")?);
        if !((HEADER_OCTETS - TCP_OCTETS) as u32..=LONGEST).contains(&length) {
            return Err(wrong);
        }
        reader.take("AMS target", 6)?;
        let target_port = u16::from_le_bytes(reader.array("AMS target")?);
        reader.take("AMS source", 6)?;
        let source_port = u16::from_le_bytes(reader.array("AMS source")?);
        let command = u16::from_le_bytes(reader.array("AMS command")?);
        let wrong = reader.malformed("AMS state flags");
        let state = u16::from_le_bytes(reader.array("AMS state flags")?);
        if state & ADS == 0 {
            return Err(wrong);
        }
        let wrong = reader.malformed("AMS data length");
        let data_octets = u32::from_le_bytes(reader.array("AMS data length")?);
        if data_octets != length - (HEADER_OCTETS - TCP_OCTETS) as u32 {
            return Err(wrong);
        }
        let error = u32::from_le_bytes(reader.array("AMS error")?);
        let invoke = u32::from_le_bytes(reader.array("AMS invoke identifier")?);
        let whole = TCP_OCTETS + length as usize;
        let data = octets.get(HEADER_OCTETS..whole.min(octets.len())).unwrap_or_default();
        let is_response = state & RESPONSE != 0;
        Ok(Self {
            octets: whole,
            target_port,
            source_port,
            command,
            is_response,
            error,
            invoke,
            data,
        })
    }

    /// True if a response reports an error, in the header or as its result.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let result = self.data.first_chunk().map_or(0, |result| u32::from_le_bytes(*result));
        self.is_response && (self.error != 0 || result != 0)
    }

    /// Octets of a request that say which data it is about: index group, offset and length.
    #[must_use]
    pub fn subject(&self) -> &'a [u8] {
        let octets = match self.command {
            2 | 3 => 12,
            9 => 16,
            _ => self.data.len(),
        };
        self.data.get(..octets).unwrap_or(self.data)
    }
}

/// Name of a command.
#[must_use]
pub const fn command_name(command: u16) -> Option<&'static str> {
    Some(match command {
        1 => "read device info",
        2 => "read",
        3 => "write",
        4 => "read state",
        5 => "write control",
        6 => "add notification",
        7 => "delete notification",
        8 => "notification",
        9 => "read/write",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PDU of a command with this state and data.
    fn encoded(state: u8, data: &[u8]) -> Vec<u8> {
        let mut octets = vec![0, 0, 32 + data.len() as u8, 0, 0, 0];
        octets.extend([5, 1, 2, 3, 1, 1, 0x53, 3, 192, 168, 0, 1, 1, 1, 1, 0x80]);
        octets.extend([2, 0, state, 0, data.len() as u8, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0]);
        octets.extend(data);
        octets
    }

    #[test]
    fn a_read_and_its_response_have_one_identifier() {
        let request = encoded(4, &[0x20, 0xF0, 0, 0, 8, 0, 0, 0, 4, 0, 0, 0]);
        let read = Pdu::decode(&request).unwrap();
        assert_eq!((read.octets, read.command, read.invoke), (50, 2, 9));
        assert_eq!((read.target_port, read.source_port, read.is_response), (851, 32_769, false));
        assert_eq!(read.subject(), read.data);
        let response = encoded(5, &[0, 7, 0, 0, 0, 0, 0, 0]);
        let read = Pdu::decode(&response).unwrap();
        assert!(read.is_response && read.has_failed() && read.invoke == 9);
        assert!(!Pdu::decode(&encoded(5, &[0; 8])).unwrap().has_failed());
    }

    #[test]
    fn an_invalid_header_names_its_field() {
        let change = |place: usize, value: u8| {
            let mut octets = encoded(4, &[0; 12]);
            octets[place] = value;
            Pdu::decode(&octets).unwrap_err()
        };
        assert_eq!(change(1, 1).field, "AMS/TCP reserved");
        assert_eq!(change(2, 31), Malformed { field: "AMS/TCP length", offset: 2 });
        assert_eq!(change(24, 0), Malformed { field: "AMS state flags", offset: 24 });
        assert_eq!(change(26, 9), Malformed { field: "AMS data length", offset: 26 });
        let cut = Pdu::decode(&encoded(4, &[])[..37]).unwrap_err();
        assert_eq!(cut, Malformed { field: "AMS invoke identifier", offset: 34 });
    }
}
