//! A host whose protocols are on a front-end processor: user data crosses to them and back.
//!
//! A message is handed to its service once it is on the front end, and delivered once it is with its
//! user. Of each flow one message at a time is on its way down, as a user does that calls and waits.
//!
//! Left out: messages through sockets, requests for connections and replies, which do not cross.
//! Bounds: one message of each flow on the way down; upwards as many as the peers send meanwhile.

use super::{Host, MESSAGE_SAP};
use crate::load::{Event, FlowId};
use crate::machine::Machine;
use crate::station::{Crossing, Way};
use crate::tp4::{Endpoint, Request};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use wire::addr::{Mac, Sap};
use wire::packet::Packet;
use wire::time::Instant;

/// What is on its way between users and front end.
#[derive(Clone, Debug, Default)]
pub(super) struct Crossings {
    next: u64,
    begun: VecDeque<Crossing>,
    under_way: BTreeMap<u64, Cargo>,
}

/// What crosses.
#[derive(Clone, Debug)]
enum Cargo {
    Tsdu { place: usize, endpoint: Endpoint, tsdu: Bytes },
    Lsdu { place: usize, station: Mac, data: Packet },
    Delivery { flow: FlowId, event: Event },
}

impl Crossings {
    /// The next one that nobody has been told of.
    pub(super) fn next(&mut self) -> Option<Crossing> {
        self.begun.pop_front()
    }

    fn begin(&mut self, way: Way, sap: Sap, octets: usize, cargo: Cargo) {
        let number = self.next;
        self.next += 1;
        self.under_way.insert(number, cargo);
        self.begun.push_back(Crossing { number, way, sap, octets });
    }
}

impl Host {
    /// The same host with its protocols on a front-end processor; whoever drives it says when user data
    /// has crossed.
    #[must_use]
    pub fn behind_front_end(mut self) -> Self {
        self.crossings = Some(Crossings::default());
        self
    }

    /// A user hands a message to its connection.
    pub(super) fn submit_tsdu(
        &mut self,
        now: Instant,
        place: usize,
        endpoint: Endpoint,
        tsdu: Bytes,
    ) {
        match &mut self.crossings {
            Some(crossings) => {
                let octets = tsdu.len();
                self.flows[place].is_crossing = true;
                let cargo = Cargo::Tsdu { place, endpoint, tsdu };
                crossings.begin(Way::Down, Sap::ISO_NETWORK, octets, cargo);
            }
            None => self.transport.request(now, Request::Data { endpoint, tsdu }),
        }
    }

    /// A user hands over a message without connection.
    pub(super) fn submit_lsdu(&mut self, now: Instant, place: usize, station: Mac, data: Packet) {
        match &mut self.crossings {
            Some(crossings) => {
                let octets = data.len();
                self.flows[place].is_crossing = true;
                let cargo = Cargo::Lsdu { place, station, data };
                crossings.begin(Way::Down, MESSAGE_SAP, octets, cargo);
            }
            None => self.send_message(now, station, data),
        }
    }

    /// A message is whole and goes to its user.
    pub(super) fn deliver(&mut self, now: Instant, flow: FlowId, sap: Sap, event: Event) {
        let octets = if let Event::Delivered { octets, .. } = event { octets } else { 0 };
        match &mut self.crossings {
            Some(crossings) => {
                crossings.begin(Way::Up, sap, octets, Cargo::Delivery { flow, event });
            }
            None => self.record_event(now, flow, event),
        }
    }

    /// The flow at this place may hand over its next message.
    fn has_submitted(&mut self, place: usize) {
        self.flows[place].is_crossing = false;
        self.waiting.wake(place);
    }

    /// User data is on the other side.
    pub(super) fn has_crossed(&mut self, now: Instant, crossing: Crossing) {
        let Some(crossings) = &mut self.crossings else { return };
        match crossings.under_way.remove(&crossing.number) {
            Some(Cargo::Tsdu { place, endpoint, tsdu }) => {
                self.has_submitted(place);
                self.transport.request(now, Request::Data { endpoint, tsdu });
            }
            Some(Cargo::Lsdu { place, station, data }) => {
                self.has_submitted(place);
                self.send_message(now, station, data);
            }
            Some(Cargo::Delivery { flow, event }) => self.record_event(now, flow, event),
            None => {}
        }
    }
}
