//! Ethernet POWERLINK, version 2 (EPSG DS 301): message types, nodes, and the time of SoC.
//!
//! ```text
//! 0   message type 1, destination node 1, source node 1
//! 3   SoC: reserved 1, flags 2, NetTime 8 (seconds, nanoseconds: little-endian), RelativeTime 8
//! ```
//!
//! Left out: data, and version 1, which has another EtherType.

use crate::leaf::{Cyclic, Leaf};
use crate::read::{Malformed, Reader};
use core::fmt;

/// Octets of message type and nodes.
pub const HEADER_OCTETS: usize = 3;

/// POWERLINK as a leaf of the layering. Everything behind the nodes counts as user data.
pub const LEAF: Leaf = Leaf {
    name: "POWERLINK",
    cyclic: Some(Cyclic::Powerlink),
    kind: |octets| Pdu::decode(octets).map(|pdu| pdu.kind.title()),
    print: |octets, f| Pdu::decode(octets).map_or(Ok(()), |pdu| write!(f, "{pdu}")),
    headers_octets: |_| HEADER_OCTETS,
    rewrite: |_, _| HEADER_OCTETS,
};

/// Type of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Start of Cycle, by the managing node.
    StartOfCycle,
    /// Poll Request, to one node.
    PollRequest,
    /// Poll Response, to all nodes.
    PollResponse,
    /// Start of Asynchronous phase.
    StartOfAsynchronous,
    /// Asynchronous Send, or a type that is not defined.
    Other,
}

impl Kind {
    /// Name in the standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StartOfCycle => "SoC",
            Self::PollRequest => "PReq",
            Self::PollResponse => "PRes",
            Self::StartOfAsynchronous => "SoA",
            Self::Other => "ASnd",
        }
    }

    /// Name under which the meter counts the type.
    const fn title(self) -> &'static str {
        match self {
            Self::Other => "POWERLINK, asynchronous",
            _ => "POWERLINK",
        }
    }
}

/// POWERLINK message behind its EtherType.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu {
    /// Type.
    pub kind: Kind,
    /// Node that it goes to; 255 for all.
    pub destination: u8,
    /// Node that sends it; 240 is the managing node.
    pub source: u8,
    /// NetTime of SoC in nanoseconds; none if it is zero.
    pub time_ns: Option<u64>,
}

impl Pdu {
    /// Decodes a message.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let kind = match reader.u8("messageType")? & 0x7F {
            1 => Kind::StartOfCycle,
            3 => Kind::PollRequest,
            4 => Kind::PollResponse,
            5 => Kind::StartOfAsynchronous,
            _ => Kind::Other,
        };
        let destination = reader.u8("destination")?;
        let source = reader.u8("source")?;
        let mut time_ns = None;
        if kind == Kind::StartOfCycle {
            reader.take("flags", 3)?;
            let [seconds, nanos] = [reader.array("NetTime")?, reader.array("NetTime")?];
            let [seconds, nanos] = [seconds, nanos].map(u32::from_le_bytes).map(u64::from);
            time_ns = Some(seconds * 1_000_000_000 + nanos).filter(|time| *time > 0);
        }
        Ok(Self { kind, destination, source, time_ns })
    }
}

impl fmt::Display for Pdu {
    /// Prints the message on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, destination, source, .. } = self;
        write!(f, "POWERLINK {} {source}>{destination}", kind.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_by_their_type() {
        let cycle = [1, 255, 240, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0];
        let pdu = Pdu::decode(&cycle).unwrap();
        assert_eq!(
            (pdu.to_string().as_str(), pdu.time_ns),
            ("POWERLINK SoC 240>255", Some(1_000_000_005))
        );
        assert_eq!(Pdu::decode(&[3, 17, 240]).unwrap().to_string(), "POWERLINK PReq 240>17");
        assert_eq!((LEAF.kind)(&[6, 255, 1]), Ok("POWERLINK, asynchronous"));
        let fault = Pdu::decode(&cycle[..9]).unwrap_err();
        assert_eq!(fault.to_string(), "malformed NetTime at octet 6");
    }
}
