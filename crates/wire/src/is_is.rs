//! IS-IS, the routing exchange of intermediate systems (ISO 10589, RFC 1142): its common header.
//!
//! Left out: everything after the eight octets common to all its PDUs (it is kept).

use crate::clnp;
use crate::leaf::Leaf;
use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;

/// Length of the common header (10589 9.5 to 9.13).
pub const HEADER_OCTETS: usize = 8;

/// IS-IS as a leaf of the layering. Its PDUs carry addresses and no user data.
pub const LEAF: Leaf = Leaf {
    name: "IS-IS",
    cyclic: None,
    kind: |npdu| Pdu::decode(npdu).map(|pdu| pdu.kind.name()),
    print: |npdu, f| Pdu::decode(npdu).map_or(Ok(()), |pdu| write!(f, "{pdu}")),
    headers_octets: <[u8]>::len,
    rewrite: |_, _| 0,
};

/// Type of a PDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// L1 LAN IIH: hello of a level 1 router (within the area).
    Level1Hello,
    /// L2 LAN IIH: hello of a level 2 router (between areas).
    Level2Hello,
    /// P2P IIH: hello on a point-to-point link.
    PointToPointHello,
    /// L1 LSP: link state of a level 1 router.
    Level1LinkState,
    /// L2 LSP: link state of a level 2 router.
    Level2LinkState,
    /// L1 CSNP: list of all level 1 LSPs of a router.
    Level1Complete,
    /// L2 CSNP: list of all level 2 LSPs of a router.
    Level2Complete,
    /// L1 PSNP: acknowledgement of, or request for, level 1 LSPs.
    Level1Partial,
    /// L2 PSNP: acknowledgement of, or request for, level 2 LSPs.
    Level2Partial,
    /// A type code the protocol does not define.
    Other(u8),
}

impl Kind {
    const ALL: [(u8, Self, &'static str); 9] = [
        (15, Self::Level1Hello, "IS-IS L1 LAN IIH"),
        (16, Self::Level2Hello, "IS-IS L2 LAN IIH"),
        (17, Self::PointToPointHello, "IS-IS P2P IIH"),
        (18, Self::Level1LinkState, "IS-IS L1 LSP"),
        (20, Self::Level2LinkState, "IS-IS L2 LSP"),
        (24, Self::Level1Complete, "IS-IS L1 CSNP"),
        (25, Self::Level2Complete, "IS-IS L2 CSNP"),
        (26, Self::Level1Partial, "IS-IS L1 PSNP"),
        (27, Self::Level2Partial, "IS-IS L2 PSNP"),
    ];

    /// Name under which the meter counts the type.
    #[must_use]
    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(_, kind, _)| *kind == self);
        known.map_or("IS-IS of unknown type", |(.., name)| name)
    }

    fn of_code(code: u8) -> Self {
        let known = Self::ALL.iter().find(|(known, ..)| *known == code);
        known.map_or(Self::Other(code), |(_, kind, _)| *kind)
    }

    fn code(self) -> u8 {
        match self {
            Self::Other(code) => code,
            known => Self::ALL.iter().find(|(_, kind, _)| *kind == known).map_or(0, |(c, ..)| *c),
        }
    }
}

/// IS-IS PDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Length indicator: octets of the PDU's header.
    pub length_indicator: u8,
    /// Version or protocol identifier extension; 1.
    pub extension: u8,
    /// Octets of a system identifier; 0 stands for 6.
    pub identifier_octets: u8,
    /// The three bits above the type, as received.
    pub reserved_bits: u8,
    /// Type of the PDU.
    pub kind: Kind,
    /// Version; 1.
    pub version: u8,
    /// Reserved octet, as received.
    pub reserved: u8,
    /// Maximum number of area addresses; 0 stands for 3.
    pub maximum_areas: u8,
    /// Captured octets after the common header.
    pub rest: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the PDU in `octets`.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        if reader.u8("network layer protocol identifier")? != clnp::IS_IS {
            return Err(Malformed { field: "network layer protocol identifier", offset: 0 });
        }
        let at_length = reader.malformed("length indicator");
        let length_indicator = reader.u8("length indicator")?;
        let extension = reader.u8("protocol identifier extension")?;
        let identifier_octets = reader.u8("ID length")?;
        let kind = reader.u8("type")?;
        let version = reader.u8("version")?;
        let reserved = reader.u8("reserved octet")?;
        let maximum_areas = reader.u8("maximum area addresses")?;
        if usize::from(length_indicator) < HEADER_OCTETS {
            return Err(at_length);
        }
        Ok(Self {
            length_indicator,
            extension,
            identifier_octets,
            reserved_bits: kind & 0xE0,
            kind: Kind::of_code(kind & 0x1F),
            version,
            reserved,
            maximum_areas,
            rest: reader.rest(),
        })
    }

    /// Writes the PDU.
    pub fn encode(&self, out: &mut impl BufMut) {
        let kind = self.reserved_bits | self.kind.code() & 0x1F;
        out.put_slice(&[clnp::IS_IS, self.length_indicator, self.extension]);
        out.put_slice(&[self.identifier_octets, kind, self.version, self.reserved]);
        out.put_u8(self.maximum_areas);
        out.put_slice(self.rest);
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} octets", self.kind.name(), self.rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_reads_and_writes_back() {
        for (code, kind, name) in Kind::ALL {
            let octets = [0x83, 27, 1, 0, code, 1, 0, 0, 7];
            let pdu = Pdu::decode(&octets).unwrap();
            assert_eq!((pdu.kind, pdu.to_string()), (kind, format!("{name} 1 octets")));
            let mut again = Vec::new();
            pdu.encode(&mut again);
            assert_eq!(again, octets);
        }
    }

    #[test]
    fn a_broken_header_names_the_field() {
        let complaint = |octets: &[u8]| Pdu::decode(octets).unwrap_err().to_string();
        assert_eq!(complaint(&[0x83, 27, 1]), "malformed ID length at octet 3");
        let short = [0x83, 7, 1, 0, 15, 1, 0, 0];
        assert_eq!(complaint(&short), "malformed length indicator at octet 1");
    }
}
