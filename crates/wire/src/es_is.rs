//! ES-IS, the routing exchange of end systems and intermediate systems (ISO 9542, RFC 995): its
//! header.
//!
//! Left out: addresses and options after the header (they are kept), and verification of the
//! checksum.

use crate::clnp;
use crate::leaf::Leaf;
use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;

/// Octets of the fixed part (9542 7.2).
pub const HEADER_OCTETS: usize = 9;
/// Longest PDU: the length indicator 255 is reserved (ISO 9542, as in ISO 8473 7.2.3).
const MOST_OCTETS: usize = 254;

/// ES-IS as a leaf of the layering. Its PDUs carry addresses and no user data.
pub const LEAF: Leaf = Leaf {
    name: "ES-IS",
    cyclic: None,
    kind: |npdu| Pdu::decode(npdu).map(|pdu| pdu.kind.name()),
    print: |npdu, f| Pdu::decode(npdu).map_or(Ok(()), |pdu| write!(f, "{pdu}")),
    headers_octets: <[u8]>::len,
    rewrite: |_, _| 0,
};

/// Type of a PDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// ESH: hello of an end system.
    EndSystemHello,
    /// ISH: hello of an intermediate system.
    IntermediateSystemHello,
    /// RD: redirect to a better route.
    Redirect,
    /// A type code the protocol does not define.
    Other(u8),
}

impl Kind {
    /// Name under which the meter counts the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EndSystemHello => "ES-IS ESH",
            Self::IntermediateSystemHello => "ES-IS ISH",
            Self::Redirect => "ES-IS RD",
            Self::Other(_) => "ES-IS of unknown type",
        }
    }

    const fn of_code(code: u8) -> Self {
        match code {
            2 => Self::EndSystemHello,
            4 => Self::IntermediateSystemHello,
            6 => Self::Redirect,
            other => Self::Other(other),
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::EndSystemHello => 2,
            Self::IntermediateSystemHello => 4,
            Self::Redirect => 6,
            Self::Other(code) => code,
        }
    }
}

/// ES-IS PDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Version; 1.
    pub version: u8,
    /// Reserved octet, as received.
    pub reserved: u8,
    /// The three bits above the type, as received.
    pub reserved_bits: u8,
    /// Type of the PDU.
    pub kind: Kind,
    /// Holding time of the information, in seconds.
    pub holding_time: u16,
    /// Header checksum as received.
    pub checksum: [u8; 2],
    /// Addresses and options, to the end of the PDU.
    pub addresses: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the PDU in `octets`. The whole PDU is header, so the length indicator gives its end.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        if reader.u8("network layer protocol identifier")? != clnp::ES_IS {
            return Err(Malformed { field: "network layer protocol identifier", offset: 0 });
        }
        let length = usize::from(reader.u8("length indicator")?);
        let version = reader.u8("version")?;
        let reserved = reader.u8("reserved octet")?;
        let kind = reader.u8("type")?;
        let holding_time = reader.u16("holding time")?;
        let checksum = reader.array("checksum")?;
        let addresses_octets = length
            .checked_sub(HEADER_OCTETS)
            .filter(|_| length <= MOST_OCTETS)
            .ok_or(Malformed { field: "length indicator", offset: 1 })?;
        let addresses = reader.take("addresses", addresses_octets)?;
        let (reserved_bits, kind) = (kind & 0xE0, Kind::of_code(kind & 0x1F));
        Ok(Self { version, reserved, reserved_bits, kind, holding_time, checksum, addresses })
    }

    /// Writes the PDU, with the checksum as it is.
    pub fn encode(&self, out: &mut impl BufMut) {
        let length = HEADER_OCTETS + self.addresses.len();
        out.put_slice(&[clnp::ES_IS, length.min(MOST_OCTETS) as u8, self.version, self.reserved]);
        out.put_u8(self.reserved_bits | self.kind.code() & 0x1F);
        out.put_u16(self.holding_time);
        out.put_slice(&self.checksum);
        out.put_slice(self.addresses);
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} holding-time={}s", self.kind.name(), self.holding_time)?;
        write!(f, " {} octets", self.addresses.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ISO 9542 7.6: an ISH, holding time 300 s, no checksum, and a NET of two octets.
    const HELLO: [u8; 12] = [0x82, 12, 1, 0, 4, 1, 0x2C, 0, 0, 2, 0x49, 1];

    #[test]
    fn a_hello_reads_and_writes_back_without_padding() {
        let padded = [&HELLO[..], &[0; 30]].concat();
        let pdu = Pdu::decode(&padded).unwrap();
        assert_eq!(pdu.to_string(), "ES-IS ISH holding-time=300s 3 octets");
        let mut again = Vec::new();
        pdu.encode(&mut again);
        assert_eq!(again, HELLO);
    }

    #[test]
    fn a_broken_header_names_the_field() {
        let complaint = |octets: &[u8]| Pdu::decode(octets).unwrap_err().to_string();
        assert_eq!(complaint(&[0x81]), "malformed network layer protocol identifier at octet 0");
        assert_eq!(complaint(&HELLO[..6]), "malformed holding time at octet 5");
        assert_eq!(complaint(&HELLO[..11]), "malformed addresses at octet 9");
        let mut short = HELLO;
        short[1] = 8;
        assert_eq!(complaint(&short), "malformed length indicator at octet 1");
        let mut reserved = [&HELLO[..], &[0; 250]].concat();
        reserved[1] = 254;
        assert!(Pdu::decode(&reserved).is_ok());
        reserved[1] = 255;
        assert_eq!(complaint(&reserved), "malformed length indicator at octet 1");
    }
}
