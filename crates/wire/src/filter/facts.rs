//! Properties of a frame that filters test.

use super::Term;
use crate::addr::{Mac, Nsap, Sap};
use crate::dissect::{Layer, Link, dissect_to_transport};
use crate::encapsulation::Protocol;
use crate::leaf::Leaf;
use crate::tp::{self, Kind};
use arrayvec::ArrayVec;
use core::net::Ipv6Addr;

/// Properties of one frame. Pairs are source and destination.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    stations: Option<[Mac; 2]>,
    internet: Option<[Ipv6Addr; 2]>,
    nsaps: Option<[Nsap; 2]>,
    ports: Option<[u16; 2]>,
    vlans: ArrayVec<u16, 2>,
    leaf: Option<&'static Leaf>,
    is_llc: bool,
    is_iso: bool,
    /// Bit set of the TPDU kinds in the frame.
    tpdus: u16,
    /// Bit set of the classes in its CRs and CCs.
    classes: u16,
}

const fn bit(kind: Kind) -> u16 {
    1 << (kind.code() >> 4)
}

impl Facts {
    pub(super) fn of(link: Link, octets: &[u8], original_octets: usize) -> Self {
        let mut facts = Self::default();
        if link.is_ethernet() {
            // Also set for a frame that is malformed after its addresses.
            facts.stations = stations(octets);
        }
        for layer in &dissect_to_transport(link, octets, original_octets).layers {
            facts.add(layer);
        }
        facts
    }

    fn add(&mut self, layer: &Layer<'_>) {
        match layer {
            Layer::Mac(pdu) => self.vlans = pdu.tags.iter().map(|tag| tag.vlan()).collect(),
            Layer::Encapsulation(pdu) => {
                let stations = [pdu.source, pdu.destination];
                self.stations = (stations != [Mac::default(); 2]).then_some(stations);
                self.is_iso |= pdu.protocol == Protocol::Osi;
            }
            Layer::Llc(pdu) => {
                self.is_llc = true;
                self.is_iso |= pdu.destination == Sap::ISO_NETWORK;
            }
            Layer::Ipv4(pdu) => {
                let pair = [pdu.source, pdu.destination];
                self.internet = Some(pair.map(|address| address.to_ipv6_mapped()));
            }
            Layer::Ipv6(pdu) => self.internet = Some([pdu.source, pdu.destination]),
            Layer::Tcp(pdu) => self.ports = Some([pdu.source_port, pdu.destination_port]),
            Layer::Clnp(pdu, _) => self.nsaps = Some([pdu.source, pdu.destination]),
            Layer::Leaf(leaf, _) => self.leaf = Some(*leaf),
            Layer::Tp(pdu, _) => {
                self.tpdus |= bit(pdu.kind());
                if let tp::Pdu::Cr(connect) | tp::Pdu::Cc(connect) = pdu {
                    self.classes |= 1 << (connect.class.class & 0x0F);
                }
            }
            Layer::Snap(_)
            | Layer::Mpls(_)
            | Layer::Redundancy(_)
            | Layer::Tpkt(_)
            | Layer::InactiveNetwork
            | Layer::Segment(_)
            | Layer::Opaque(..)
            | Layer::S7(_)
            | Layer::Session(_)
            | Layer::Presentation(..)
            | Layer::Acse(_)
            | Layer::Case(_)
            | Layer::Mms(_)
            | Layer::NotUnderstood(_)
            | Layer::Cut(..)
            | Layer::Missing { .. } => {}
        }
    }

    pub(super) fn hold(&self, term: Term) -> bool {
        match term {
            Term::All => true,
            Term::Station(way, mac) => {
                self.stations.is_some_and(|pair| way.picks(pair.map(|end| end == mac)))
            }
            Term::Internet(way, address) => {
                self.internet.is_some_and(|pair| way.picks(pair.map(|end| end == address)))
            }
            Term::Nsap(way, wanted, is_prefix) => self.nsaps.is_some_and(|pair| {
                way.picks(pair.map(|end| {
                    end == wanted || is_prefix && end.octets().starts_with(wanted.octets())
                }))
            }),
            Term::Port(way, port) => {
                self.ports.is_some_and(|pair| way.picks(pair.map(|end| end == port)))
            }
            Term::Class(class) => self.classes & 1 << class != 0,
            Term::Tpdu(kind) => self.tpdus & bit(kind) != 0,
            Term::Leaf(leaf) => self.leaf == Some(leaf),
            Term::Llc => self.is_llc,
            Term::Iso => self.is_iso,
            Term::Ip => self.internet.is_some(),
            Term::Tcp => self.ports.is_some(),
            Term::Vlan(None) => !self.vlans.is_empty(),
            Term::Vlan(Some(vlan)) => self.vlans.contains(&vlan),
        }
    }
}

/// Source and destination; on the wire the destination comes first.
fn stations(octets: &[u8]) -> Option<[Mac; 2]> {
    let (destination, rest) = octets.split_first_chunk()?;
    Some([Mac(*rest.first_chunk()?), Mac(*destination)])
}
