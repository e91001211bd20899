//! Network layer of a host, between its transport entity and its link.
//!
//! A peer is identified by its station, and addressed by the NSAP of that station. So every NSDU
//! from a station belongs to one peer, in whichever form of CLNP it arrived.

use super::Host;
use crate::clnp::{Indication, Npdu, Request};
use crate::llc::type1;
use crate::machine::{Machine, Output};
use crate::messaging::Priority;
use crate::tp4::{Address, Nsdu, Ticket};
use wire::addr::{Mac, Nsap, Sap};
use wire::packet::Packet;
use wire::time::Instant;

impl Host {
    pub(super) fn send_nsdu(&mut self, now: Instant, Nsdu { peer, mut packet }: Nsdu) {
        let Address::Station(station) = peer;
        let ticket = self.transport.ticket();
        self.sending = self.transport.priority();
        // Fast path for nearly all NSDUs: bypasses the queues while they are empty.
        if self.link.is_silent() && self.network.send_inactive(station, &mut packet) {
            let (sap, before) = (Sap::ISO_NETWORK, self.frames.len());
            self.send_lpdu(type1::Lpdu::ui(station, sap, sap, packet));
            self.sending = Priority::LOWEST;
            if let Some(ticket) = ticket {
                self.attach(now, ticket, before);
            }
            return;
        }
        let sending = core::mem::take(&mut self.sending);
        while self.poll_link(now) {}
        let destination = Nsap::of_station(station);
        self.network.request(now, Request { station, destination, data: packet });
        self.drain_network(now);
        self.sending = sending;
        self.pass_down(now, ticket);
        self.sending = Priority::LOWEST;
    }

    /// Sends the outputs of the link; the timer of `ticket` waits for the last frame of them.
    fn pass_down(&mut self, now: Instant, ticket: Option<Ticket>) {
        let before = self.frames.len();
        while self.poll_link(now) {}
        if let Some(ticket) = ticket {
            self.attach(now, ticket, before);
        }
    }

    /// Attaches `ticket` to the last waiting frame, if there is one after the first `before`.
    fn attach(&mut self, now: Instant, ticket: Ticket, before: usize) {
        let has_frame = self.frames.len() > before;
        match self.frames.last_mut().filter(|_| has_frame) {
            Some(last) => last.ticket = Some(ticket),
            // The network layer did not accept the NSDU.
            None => self.transport.transmitted(now, ticket),
        }
    }

    pub(super) fn receive_npdu(&mut self, now: Instant, station: Mac, mut packet: Packet) {
        if self.network.receive_inactive(station, &mut packet) {
            let peer = Address::Station(station);
            return self.transport.receive(now, Nsdu { peer, packet });
        }
        self.network.receive(now, Npdu { station, packet });
        self.drain_network(now);
    }

    /// Forwards the outputs of the network layer at once, so that their order is kept.
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
                // The machine counts both; class 4 retransmits.
                Output::Deliver(Indication::Reported { .. } | Indication::TooLong { .. }) => {}
                Output::Note(never) => match never {},
            }
        }
    }
}
