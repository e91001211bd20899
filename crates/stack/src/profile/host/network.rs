//! The host's network layer, between its transport entity and its link.
//!
//! A peer is known by its station, and reached at the NSAP of that station. So every NSDU from a
//! station belongs to one peer, whichever form of CLNP it came in.

use super::Host;
use crate::clnp::{Indication, Npdu, Request};
use crate::llc::type1;
use crate::machine::{Machine, Output};
use crate::tp4::{Address, Nsdu};
use wire::addr::{Mac, Nsap, Sap};
use wire::packet::Packet;
use wire::time::Instant;

impl Host {
    pub(super) fn send_nsdu(&mut self, now: Instant, Nsdu { peer, packet }: Nsdu) {
        let Address::Station(station) = peer;
        let destination = Nsap::of_station(station);
        self.network.request(now, Request { station, destination, data: packet });
        self.drain_network(now);
    }

    pub(super) fn receive_npdu(&mut self, now: Instant, station: Mac, packet: Packet) {
        self.network.receive(now, Npdu { station, packet });
        self.drain_network(now);
    }

    /// Carries what the network layer has to say up and down, at once, so that order is kept.
    pub(super) fn drain_network(&mut self, now: Instant) {
        while let Some(output) = self.network.poll() {
            match output {
                Output::Send(Npdu { station, packet }) => {
                    let (destination, source) = (Sap::ISO_NETWORK, Sap::ISO_NETWORK);
                    let data = packet;
                    let request = type1::Request::Unitdata { station, destination, source, data };
                    self.link.request(now, request);
                }
                Output::Deliver(Indication::Unitdata { station, data, .. }) => {
                    let peer = Address::Station(station);
                    self.transport.receive(now, Nsdu { peer, packet: data });
                }
                // The machine counts both; class 4 sends again what did not arrive.
                Output::Deliver(Indication::Reported { .. } | Indication::TooLong { .. }) => {}
                Output::Note(never) => match never {},
            }
        }
    }
}
