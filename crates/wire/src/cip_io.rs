//! I/O data of EtherNet/IP (CIP volume 2, 2-6): class 0 and 1 connections in datagrams of UDP to port
//! 2222, and the Forward_Open that sets them up (CIP volume 1, 3-5.5).
//!
//! ```text
//! octet  0-1            2-3   4-5     6-9                10-13          14-15  16-17   18 ...
//!        item count 2   8002  length  connection id      sequence       00B1   length  data
//! ```
//!
//! Numbers are little-endian. An item 8000 has the identifier without a sequence number. Data of class 1
//! begin with a sequence count that grows with each new data; in front of output data there commonly is a
//! header of four octets, whose bit 0 says that the originator runs.
//!
//! Left out: the data, and socket addresses for multicast.

use crate::enip::Message;
use crate::read::{Malformed, Reader};

/// Assigned port of UDP.
pub const PORT: u16 = 2_222;
/// Services Forward_Open, Large_Forward_Open and Forward_Close.
const OPEN: u8 = 0x54;
const LARGE_OPEN: u8 = 0x5B;
const CLOSE: u8 = 0x4E;
/// Octets of the header in front of output data.
const RUN_OCTETS: usize = 4;

/// Datagram of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu<'a> {
    /// Connection identifier.
    pub connection: u32,
    /// Encapsulation sequence number; none of an item without one.
    pub sequence: Option<u32>,
    /// Data, of class 1 with the sequence count in front.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes a datagram.
    ///
    /// # Errors
    /// Names the field that cannot be read, or that no I/O data have.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let fault = reader.malformed("item count");
        if reader.array("item count")? != [2, 0] {
            return Err(fault);
        }
        let fault = reader.malformed("address item");
        let address: [u8; 4] = reader.array("address item")?;
        let has_sequence = match address {
            [0x02, 0x80, 8, 0] => true,
            [0x00, 0x80, 4, 0] => false,
            _ => return Err(fault),
        };
        let connection = u32::from_le_bytes(reader.array("connection identifier")?);
        let sequence = if has_sequence {
            Some(u32::from_le_bytes(reader.array("encapsulation sequence number")?))
        } else {
            None
        };
        let fault = reader.malformed("data item");
        let [0xB1, 0, low, high] = reader.array("data item")? else { return Err(fault) };
        let data = reader.take("data", u16::from_le_bytes([low, high]).into())?;
        Ok(Self { connection, sequence, data })
    }

    /// Sequence count of class 1, if the data are of that class.
    #[must_use]
    pub fn count(&self) -> Option<u16> {
        self.data.first_chunk().map(|count| u16::from_le_bytes(*count))
    }

    /// Header of output data of this class; none if the octets cannot be one.
    #[must_use]
    pub fn run_header(&self, class: u8) -> Option<u32> {
        let at = if class == 1 { 2 } else { 0 };
        let header = self.data.get(at..at + RUN_OCTETS)?.first_chunk()?;
        // Bits 0 to 3 are defined.
        Some(u32::from_le_bytes(*header)).filter(|header| *header < 16)
    }

    /// Encodes the datagram; of the data at most 65,535 octets.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![2, 0];
        match self.sequence {
            Some(sequence) => {
                out.extend([0x02, 0x80, 8, 0]);
                out.extend(self.connection.to_le_bytes());
                out.extend(sequence.to_le_bytes());
            }
            None => {
                out.extend([0x00, 0x80, 4, 0]);
                out.extend(self.connection.to_le_bytes());
            }
        }
        let data = self.data.get(..self.data.len().min(0xFFFF)).unwrap_or_default();
        out.extend([0xB1, 0]);
        out.extend((data.len() as u16).to_le_bytes());
        out.extend(data);
        out
    }
}

/// Identity of a connection in its set-up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Serial {
    /// Connection serial number.
    pub number: u16,
    /// Vendor of the originator.
    pub vendor: u16,
    /// Serial number of the originator.
    pub originator: u32,
}

/// Message that sets up or ends a connection. Of each pair the first is from the originator to the target
/// (O->T), the second from the target to the originator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetUp {
    /// Request to open it.
    Open {
        /// Identity.
        serial: Serial,
        /// Connection timeout multiplier: a receiver waits for 4 by 2 to this power packet intervals.
        multiplier: u8,
        /// Requested packet intervals in microseconds.
        intervals_us: [u32; 2],
        /// Class of transport.
        class: u8,
    },
    /// Success of it.
    Opened {
        /// Identity.
        serial: Serial,
        /// Connection identifiers.
        connections: [u32; 2],
        /// Actual packet intervals in microseconds.
        intervals_us: [u32; 2],
    },
    /// Success of a request to close it.
    Closed {
        /// Identity.
        serial: Serial,
    },
}

impl SetUp {
    /// Reads an explicit message; none if it is another one, a failure, or too short.
    #[must_use]
    pub fn of(message: &Message<'_>) -> Option<Self> {
        match (message.service, message.is_reply) {
            (OPEN | LARGE_OPEN, false) => open(message),
            (OPEN | LARGE_OPEN, true) => {
                let mut reader = success(message)?;
                let connections = [number(&mut reader)?, number(&mut reader)?];
                let serial = serial(&mut reader)?;
                let intervals_us = [number(&mut reader)?, number(&mut reader)?];
                Some(Self::Opened { serial, connections, intervals_us })
            }
            (CLOSE, true) => Some(Self::Closed { serial: serial(&mut success(message)?)? }),
            _ => None,
        }
    }
}

fn number(reader: &mut Reader<'_>) -> Option<u32> {
    reader.array("number").ok().map(u32::from_le_bytes)
}

fn serial(reader: &mut Reader<'_>) -> Option<Serial> {
    let [number, vendor] = [reader.array("serial").ok()?, reader.array("vendor").ok()?];
    let [number, vendor] = [number, vendor].map(u16::from_le_bytes);
    Some(Serial { number, vendor, originator: self::number(reader)? })
}

/// Contents of a reply without an error.
fn success<'a>(message: &Message<'a>) -> Option<Reader<'a>> {
    let [_, 0, additional_words, rest @ ..] = message.data else { return None };
    Some(Reader::new(rest.get(usize::from(*additional_words) * 2..)?))
}

fn open(message: &Message<'_>) -> Option<SetUp> {
    let [path_words, rest @ ..] = message.data else { return None };
    let mut reader = Reader::new(rest.get(usize::from(*path_words) * 2..)?);
    reader.take("timeout and identifiers", 10).ok()?;
    let serial = serial(&mut reader)?;
    let [multiplier, ..]: [u8; 4] = reader.array("connection timeout multiplier").ok()?;
    let parameters = if message.service == LARGE_OPEN { 4 } else { 2 };
    let first = number(&mut reader)?;
    reader.take("parameters", parameters).ok()?;
    let second = number(&mut reader)?;
    reader.take("parameters", parameters).ok()?;
    let class = reader.u8("transport class").ok()? & 0x0F;
    Some(SetUp::Open { serial, multiplier, intervals_us: [first, second], class })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_reads_as_written() {
        // Frame 1 of cip_io.pcap of nDPI, without its data.
        let octets = [
            2, 0, 2, 0x80, 8, 0, 0x78, 0x7B, 0x3A, 0, 0xE8, 0xCB, 0x5E, 4, 0xB1, 0, 6, 0, 3, 0, 1,
            0, 0, 0,
        ];
        let pdu = Pdu::decode(&octets).unwrap();
        assert_eq!((pdu.connection, pdu.sequence), (0x003A_7B78, Some(0x045E_CBE8)));
        assert_eq!((pdu.count(), pdu.run_header(1)), (Some(3), Some(1)));
        assert_eq!(pdu.encode(), octets);
        let bare = Pdu { sequence: None, ..pdu };
        assert_eq!(Pdu::decode(&bare.encode()), Ok(bare));
    }

    #[test]
    fn other_datagrams_are_refused_by_their_field() {
        let fault = |octets: &[u8]| Pdu::decode(octets).unwrap_err().to_string();
        // The encapsulation of TCP, sent to the port of I/O data.
        assert_eq!(fault(&[0x70, 0, 20, 0]), "malformed item count at octet 0");
        assert_eq!(fault(&[2, 0, 2, 0x80, 9, 0]), "malformed address item at octet 2");
        let cut = [2, 0, 0, 0x80, 4, 0, 1, 0, 0, 0, 0xB1, 0, 2, 0, 9];
        assert_eq!(fault(&cut), "malformed data at octet 14");
    }

    #[test]
    fn a_forward_open_and_its_reply_are_read() {
        fn message(service: u8, is_reply: bool, data: &[u8]) -> Message<'_> {
            Message { sequence: None, service, is_reply, data }
        }
        let serial = Serial { number: 0x55, vendor: 0x1337, originator: 0xCAFE };
        // Those of own-class1.pcapng.
        let request = [
            2, 0x20, 6, 0x24, 1, 10, 14, 0, 0, 0, 0, 1, 0, 2, 0, 0x55, 0, 0x37, 0x13, 0xFE, 0xCA,
            0, 0, 2, 0, 0, 0, 0x10, 0x27, 0, 0, 0x16, 0x48, 0x10, 0x27, 0, 0, 0x12, 0x48, 1, 4,
        ];
        let intervals_us = [10_000; 2];
        let open = SetUp::Open { serial, multiplier: 2, intervals_us, class: 1 };
        assert_eq!(SetUp::of(&message(OPEN, false, &request)), Some(open));
        let reply = [
            0, 0, 0, 1, 0, 0xAB, 0, 1, 0, 2, 0, 0x55, 0, 0x37, 0x13, 0xFE, 0xCA, 0, 0, 0x10, 0x27,
            0, 0, 0x10, 0x27, 0, 0, 0, 0,
        ];
        let connections = [0x00AB_0001, 0x0002_0001];
        let opened = SetUp::Opened { serial, connections, intervals_us };
        assert_eq!(SetUp::of(&message(OPEN, true, &reply)), Some(opened));
        let closed = [&[0, 0, 0], &reply[11..19]].concat();
        assert_eq!(SetUp::of(&message(CLOSE, true, &closed)), Some(SetUp::Closed { serial }));
        let mut refused = reply;
        refused[1] = 1;
        assert_eq!(SetUp::of(&message(OPEN, true, &refused)), None);
        for cut in 0..request.len() - 1 {
            assert_eq!(SetUp::of(&message(OPEN, false, &request[..cut])), None, "{cut}");
        }
    }
}
