//! UADP, network messages of OPC UA PubSub (Part 14 v1.05, 7.2.4.4): headers up to the timestamp, on
//! Ethernet or in datagrams of UDP to port 4840.
//!
//! ```text
//! 0   version 4 bits, flags; extended flags 1, extended flags 2 if flagged
//!     PublisherId (1, 2, 4, 8 or a string), DataSetClassId 16
//!     group header: flags 1, WriterGroupId 2, GroupVersion 4, NetworkMessageNumber 2, SequenceNumber 2
//!     payload header: count 1, DataSetWriterId 2 each; Timestamp 8 (100 ns since 1601)
//! ```
//!
//! Numbers are little-endian. Left out: data sets, discovery, chunks, and what security encrypts.

use crate::leaf::{Cyclic, Leaf};
use crate::read::{Malformed, Reader};
use core::fmt;

/// Assigned port of UDP.
pub const PORT: u16 = 4_840;
/// From 1601-01-01 to 1970-01-01, in 100 ns.
const ORIGIN: u64 = 116_444_736_000_000_000;

/// UADP as a leaf of the layering. Everything counts as user data, because a publisher may be a name.
pub const LEAF: Leaf = Leaf {
    name: "UADP",
    cyclic: Some(Cyclic::Uadp),
    kind: |octets| Pdu::decode(octets).map(|_| "UADP"),
    print: |octets, f| Pdu::decode(octets).map_or(Ok(()), |pdu| write!(f, "{pdu}")),
    headers_octets: |octets| octets.len().min(2),
    rewrite: |_, octets| octets.len().min(2),
};

/// PublisherId.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Publisher<'a> {
    /// None.
    None,
    /// Number of 1, 2, 4 or 8 octets.
    Number(u64),
    /// Name.
    Name(&'a [u8]),
}

/// Network message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu<'a> {
    /// PublisherId.
    pub publisher: Publisher<'a>,
    /// WriterGroupId.
    pub group: Option<u16>,
    /// NetworkMessageNumber within the group.
    pub message: Option<u16>,
    /// SequenceNumber of the group.
    pub sequence: Option<u16>,
    /// First DataSetWriterId.
    pub writer: Option<u16>,
    /// Timestamp in nanoseconds since 1970.
    pub time_ns: Option<u64>,
}

impl<'a> Pdu<'a> {
    /// Decodes the headers of a message.
    ///
    /// # Errors
    /// Names the field that cannot be read; another version than 1 too.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let fault = reader.malformed("UADPVersion");
        let flags = reader.u8("UADPVersion")?;
        if flags & 0x0F != 1 {
            return Err(fault);
        }
        let has = |bit: u8| flags & bit != 0;
        let extended = if has(0x80) { reader.u8("ExtendedFlags1")? } else { 0 };
        if extended & 0x80 != 0 {
            reader.u8("ExtendedFlags2")?;
        }
        let publisher =
            if has(0x10) { publisher(&mut reader, extended & 7)? } else { Publisher::None };
        if extended & 0x08 != 0 {
            reader.take("DataSetClassId", 16)?;
        }
        let mut pdu = Self {
            publisher,
            group: None,
            message: None,
            sequence: None,
            writer: None,
            time_ns: None,
        };
        if has(0x20) {
            let group = reader.u8("GroupFlags")?;
            pdu.group = number(&mut reader, "WriterGroupId", group & 1 != 0)?;
            if group & 2 != 0 {
                reader.take("GroupVersion", 4)?;
            }
            pdu.message = number(&mut reader, "NetworkMessageNumber", group & 4 != 0)?;
            pdu.sequence = number(&mut reader, "SequenceNumber", group & 8 != 0)?;
        }
        if has(0x40) {
            let count = reader.u8("Count")?;
            for place in 0..count {
                let writer = number(&mut reader, "DataSetWriterId", true)?;
                pdu.writer = if place == 0 { writer } else { pdu.writer };
            }
        }
        if extended & 0x20 != 0 {
            let ticks = u64::from_le_bytes(reader.array("Timestamp")?);
            pdu.time_ns = ticks.checked_sub(ORIGIN).and_then(|ticks| ticks.checked_mul(100));
        }
        Ok(pdu)
    }
}

fn number(
    reader: &mut Reader<'_>,
    field: &'static str,
    is_there: bool,
) -> Result<Option<u16>, Malformed> {
    if is_there { reader.array(field).map(u16::from_le_bytes).map(Some) } else { Ok(None) }
}

fn publisher<'a>(reader: &mut Reader<'a>, kind: u8) -> Result<Publisher<'a>, Malformed> {
    let field = "PublisherId";
    let fault = reader.malformed(field);
    Ok(match kind {
        0 => Publisher::Number(reader.u8(field)?.into()),
        1 => Publisher::Number(u16::from_le_bytes(reader.array(field)?).into()),
        2 => Publisher::Number(u32::from_le_bytes(reader.array(field)?).into()),
        3 => Publisher::Number(u64::from_le_bytes(reader.array(field)?)),
        4 => {
            let length = u32::from_le_bytes(reader.array(field)?);
            Publisher::Name(reader.take(field, usize::try_from(length).map_err(|_| fault)?)?)
        }
        _ => return Err(fault),
    })
}

impl fmt::Display for Publisher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("-"),
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => crate::ber::Text(name).fmt(f),
        }
    }
}

impl fmt::Display for Pdu<'_> {
    /// Prints the message on one line, without its data sets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UADP publisher={}", self.publisher)?;
        for (name, number) in [
            ("group", self.group),
            ("message", self.message),
            ("sequence", self.sequence),
            ("writer", self.writer),
        ] {
            if let Some(number) = number {
                write!(f, " {name}={number}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_in_their_order() {
        // By the tables of 7.2.4.4.2: publisher 2234 (UInt16), group 100, version 1, message 1, sequence
        // 65000, one writer 62541, a second after 1970.
        let mut octets = vec![0xF1, 0x21, 0xBA, 0x08, 0x0F, 100, 0, 1, 0, 0, 0, 1, 0, 0xE8, 0xFD];
        octets.extend([1, 0x4D, 0xF4]);
        octets.extend((ORIGIN + 10_000_000).to_le_bytes());
        let pdu = Pdu::decode(&octets).unwrap();
        assert_eq!(
            pdu.to_string(),
            "UADP publisher=2234 group=100 message=1 sequence=65000 writer=62541"
        );
        assert_eq!(pdu.time_ns, Some(1_000_000_000));
        for cut in 0..octets.len() {
            assert!(Pdu::decode(&octets[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn names_and_missing_headers_are_read() {
        let name = [0x91, 4, 3, 0, 0, 0, b'a', b'b', b'c'];
        assert_eq!(Pdu::decode(&name).map(|it| it.publisher), Ok(Publisher::Name(b"abc")));
        assert_eq!(Pdu::decode(&[1]).map(|it| it.publisher), Ok(Publisher::None));
        let long = Pdu::decode(&[0x91, 4, 0xFF, 0xFF, 0xFF, 0xFF]).unwrap_err();
        assert_eq!(long.to_string(), "malformed PublisherId at octet 6");
        assert_eq!(Pdu::decode(&[2]).unwrap_err().to_string(), "malformed UADPVersion at octet 0");
    }
}
