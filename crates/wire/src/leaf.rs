//! Shape of a protocol that ends a frame, as `next` lists it.

use crate::addr::Names;
use crate::read::Malformed;
use core::fmt;

/// Protocols whose PDUs belong to streams of cyclic data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cyclic {
    /// GOOSE (IEC 61850-8-1).
    Goose,
    /// Sampled Values (IEC 61850-9-2).
    SampledValues,
    /// Cyclic data of PROFINET (IEC 61158-6-10).
    ProfinetRt,
    /// EtherCAT (IEC 61158-4-12).
    EtherCat,
    /// PTP (IEEE 1588, IEEE 802.1AS).
    Ptp,
    /// I/O data of EtherNet/IP, over UDP.
    CipIo,
    /// OPC UA PubSub (UADP).
    Uadp,
    /// AVTP (IEEE 1722).
    Avtp,
    /// CC-Link IE Field Network Basic, over UDP.
    CcLink,
    /// Ethernet POWERLINK.
    Powerlink,
    /// SOME/IP, over UDP.
    SomeIp,
    /// Test load of tidewire.
    Load,
    /// Parallel redundancy (PRP, IEC 62439-3): frames of which a node sends one on each of two LANs.
    Prp,
    /// Seamless redundancy (HSR, IEC 62439-3): frames that a node sends in both directions of a ring.
    Hsr,
}

impl Cyclic {
    /// All protocols.
    pub const ALL: [Self; 14] = [
        Self::Goose,
        Self::SampledValues,
        Self::ProfinetRt,
        Self::EtherCat,
        Self::Ptp,
        Self::CipIo,
        Self::Uadp,
        Self::Avtp,
        Self::CcLink,
        Self::Powerlink,
        Self::SomeIp,
        Self::Load,
        Self::Prp,
        Self::Hsr,
    ];

    /// Name of the protocol of these streams.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goose => "GOOSE",
            Self::SampledValues => "SV",
            Self::ProfinetRt => "PROFINET RT",
            Self::EtherCat => "EtherCAT",
            Self::Ptp => "PTP",
            Self::CipIo => "CIP I/O",
            Self::Uadp => "UADP",
            Self::Avtp => "AVTP",
            Self::CcLink => "CC-Link",
            Self::Powerlink => "POWERLINK",
            Self::SomeIp => "SOME/IP",
            Self::Load => "LOAD",
            Self::Prp => "PRP",
            Self::Hsr => "HSR",
        }
    }
}

/// Protocol that carries nothing to be followed: its PDUs end the decoding of a frame.
#[derive(Clone, Copy)]
pub struct Leaf {
    /// Name of the protocol; in lower case, a word of filters.
    pub name: &'static str,
    /// Streams that its PDUs belong to, if any.
    pub cyclic: Option<Cyclic>,
    /// Returns the name under which the meter counts a PDU, or the field that is malformed.
    pub kind: fn(&[u8]) -> Result<&'static str, Malformed>,
    /// Prints a PDU that `kind` accepts on one line.
    pub print: fn(&[u8], &mut fmt::Formatter<'_>) -> fmt::Result,
    /// Length of the front of a PDU that holds no user data, in octets.
    pub headers_octets: fn(&[u8]) -> usize,
    /// Maps the addresses in a PDU. Returns the length of the front that then holds neither
    /// addresses nor user data of the network, in octets.
    pub rewrite: fn(&dyn Names, &mut [u8]) -> usize,
}

impl PartialEq for Leaf {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Leaf {}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Leaf").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_equal_by_name() {
        let [one, other] = ["ONE", "OTHER"].map(|name| Leaf {
            name,
            cyclic: None,
            kind: |_| Ok("PDU"),
            print: |_, _| Ok(()),
            headers_octets: <[u8]>::len,
            rewrite: |_, _| 0,
        });
        assert_eq!(one, Leaf { headers_octets: |_| 0, ..one });
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "Leaf(\"ONE\")");
    }
}
