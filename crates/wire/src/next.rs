//! Layering: which protocol carries which, in one table per carrier.
//!
//! Decoding, counting, filters, removal of user data and mapping of addresses follow these rows. A
//! [`Leaf`] carries nothing that is followed: its file and its row here are all that they need.

use crate::addr::Sap;
use crate::leaf::Leaf;
use crate::{
    avtp, clnp, es_is, ethercat, goose, is_is, load, powerlink, profinet, prp, ptp, sampled_values,
    tcp, uadp,
};

/// Protocol that an EtherType stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OverType {
    /// IP, version 4 or 6: each version has an EtherType, and the packet states it too.
    Internet,
    /// Label stack of MPLS, then a packet that its first octet identifies.
    Mpls,
    Leaf(&'static Leaf),
}

/// Protocol that an LLC service access point stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OverSap {
    /// Network layer of OSI.
    Osi,
    /// SNAP, which holds an EtherType.
    Snap,
}

/// Protocol that an OSI network layer protocol identifier stands for (ISO/IEC TR 9577).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OverOsi {
    /// Inactive subset of CLNP: TPDUs follow.
    Inactive,
    Clnp,
    Leaf(&'static Leaf),
}

/// Protocol that a protocol number of IP stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OverInternet {
    Tcp,
}

/// EtherTypes of MPLS with unicast and multicast labels (RFC 3032, RFC 5332).
pub(crate) const MPLS_TYPES: [u16; 2] = [0x8847, 0x8848];

const TYPES: [(u16, OverType); 14] = [
    (0x0800, OverType::Internet),
    (0x86DD, OverType::Internet),
    (MPLS_TYPES[0], OverType::Mpls),
    (MPLS_TYPES[1], OverType::Mpls),
    (0x8892, OverType::Leaf(&profinet::LEAF)),
    (0x88A4, OverType::Leaf(&ethercat::LEAF)),
    (0x88AB, OverType::Leaf(&powerlink::LEAF)),
    (load::ETHERTYPE, OverType::Leaf(&load::LEAF)),
    (0x88B8, OverType::Leaf(&goose::LEAF)),
    (0x88BA, OverType::Leaf(&sampled_values::LEAF)),
    (0x88F7, OverType::Leaf(&ptp::LEAF)),
    (0x88FB, OverType::Leaf(&prp::LEAF)),
    (0x22F0, OverType::Leaf(&avtp::LEAF)),
    (0xB62C, OverType::Leaf(&uadp::LEAF)),
];

const SAPS: [(Sap, OverSap); 2] = [(Sap::ISO_NETWORK, OverSap::Osi), (Sap::SNAP, OverSap::Snap)];

const IDENTIFIERS: [(u8, OverOsi); 4] = [
    (clnp::INACTIVE, OverOsi::Inactive),
    (clnp::CLNP, OverOsi::Clnp),
    (clnp::ES_IS, OverOsi::Leaf(&es_is::LEAF)),
    (clnp::IS_IS, OverOsi::Leaf(&is_is::LEAF)),
];

const NUMBERS: [(u8, OverInternet); 1] = [(tcp::PROTOCOL, OverInternet::Tcp)];

/// Row of a table for this number.
fn of<N: Copy + PartialEq, P: Copy>(rows: &[(N, P)], number: N) -> Option<P> {
    rows.iter().find(|(known, _)| *known == number).map(|(_, protocol)| *protocol)
}

impl OverType {
    /// Protocol of an EtherType, if it is read.
    #[inline]
    pub(crate) fn of(number: u16) -> Option<Self> {
        of(&TYPES, number)
    }

    /// Protocol behind a label stack, by its first half octet (RFC 4928 3), if it is read.
    #[inline]
    pub(crate) fn of_labelled(octets: &[u8]) -> Option<Self> {
        matches!(octets.first().map(|first| first >> 4), Some(4 | 6)).then_some(Self::Internet)
    }

    /// EtherTypes of this protocol.
    pub(crate) fn types(self) -> impl Iterator<Item = u16> {
        TYPES.into_iter().filter(move |(_, protocol)| *protocol == self).map(|(number, _)| number)
    }
}

impl OverSap {
    #[inline]
    pub(crate) fn of(sap: Sap) -> Option<Self> {
        of(&SAPS, sap)
    }
}

impl OverOsi {
    #[inline]
    pub(crate) fn of(identifier: u8) -> Option<Self> {
        of(&IDENTIFIERS, identifier)
    }

    /// Returns true if a leaf has an identifier here.
    pub(crate) fn carries(leaf: &'static Leaf) -> bool {
        IDENTIFIERS.iter().any(|(_, protocol)| *protocol == Self::Leaf(leaf))
    }
}

impl OverInternet {
    #[inline]
    pub(crate) fn of(number: u8) -> Option<Self> {
        of(&NUMBERS, number)
    }
}

/// Leaf of this name, in any case.
pub(crate) fn leaf(name: &str) -> Option<&'static Leaf> {
    let typed = TYPES.iter().filter_map(|(_, protocol)| match protocol {
        OverType::Leaf(leaf) => Some(*leaf),
        OverType::Internet | OverType::Mpls => None,
    });
    let osi = IDENTIFIERS.iter().filter_map(|(_, protocol)| match protocol {
        OverOsi::Leaf(leaf) => Some(*leaf),
        OverOsi::Inactive | OverOsi::Clnp => None,
    });
    typed.chain(osi).find(|leaf| leaf.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_leads_to_its_protocol() {
        for (number, protocol) in TYPES {
            assert_eq!(OverType::of(number), Some(protocol));
            assert!(protocol.types().any(|known| known == number));
        }
        assert_eq!(OverType::of(0x0806), None);
        let labelled = [&[0x45][..], &[0x60], &[0x81], &[]].map(OverType::of_labelled);
        assert_eq!(labelled, [Some(OverType::Internet), Some(OverType::Internet), None, None]);
        assert_eq!(leaf("ES-IS"), Some(&es_is::LEAF));
        assert_eq!(leaf("mpls"), None);
    }
}
