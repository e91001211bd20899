//! Host whose protocols run on a front-end processor: user data crosses to it and back.
//!
//! A message is passed to its service when it has reached the front end, and delivered when it has
//! reached its user. Each flow has one message on its way down at a time, like a user that makes
//! blocking calls. Replies cross like any other message.
//!
//! Left out: messages through sockets on their way down, and requests for connections, which do not
//! cross. The transfers are bounded downwards by one message per flow and the replies to received
//! requests; upwards only by the traffic of the peers.

use super::{Host, MESSAGE_SAP, To};
use crate::load::{Event, Sink, Stamp, StampKind};
use crate::machine::Machine;
use crate::station::{Crossing, Way};
use crate::tp4::{Endpoint, Request};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use wire::addr::Sap;
use wire::packet::Packet;
use wire::time::Instant;

/// Transfers between users and front end.
#[derive(Clone, Debug, Default)]
pub(super) struct Crossings {
    next: u64,
    begun: VecDeque<Crossing>,
    under_way: BTreeMap<u64, Cargo>,
}

/// Contents of a transfer.
#[derive(Clone, Debug)]
enum Cargo {
    Tsdu { place: usize, endpoint: Endpoint, tsdu: Bytes },
    Lsdu { place: usize, to: To, data: Packet },
    Reply { request: Stamp, endpoint: Endpoint },
    Answer { to: To, data: Packet },
    Arrival(Arrival),
}

/// Message on its way to its user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) stamp: Stamp,
    pub(super) octets: usize,
    pub(super) asker: Asker,
}

/// Destination of a reply.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asker {
    /// Peer of this connection.
    Connection(Endpoint),
    /// Station that asked without connection, and the priority of its request.
    Station(To),
    /// No reply: such messages are not requests.
    Nobody,
}

impl Crossings {
    /// Next transfer that was not reported to the driver yet.
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
    /// Moves the host's protocols to a front-end processor. The driver reports when user data has
    /// crossed.
    #[must_use]
    pub fn behind_front_end(mut self) -> Self {
        self.crossings = Some(Crossings::default());
        self
    }

    /// Passes a message from a user to its connection.
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

    /// Passes a message without connection from a user.
    pub(super) fn submit_lsdu(&mut self, now: Instant, place: usize, to: To, data: Packet) {
        match &mut self.crossings {
            Some(crossings) => {
                let octets = data.len();
                self.flows[place].is_crossing = true;
                let cargo = Cargo::Lsdu { place, to, data };
                crossings.begin(Way::Down, MESSAGE_SAP, octets, cargo);
            }
            None => self.send_message(now, to, data),
        }
    }

    /// Passes a user's reply to a request on a connection.
    pub(super) fn submit_reply(&mut self, now: Instant, request: Stamp, endpoint: Endpoint) {
        match &mut self.crossings {
            Some(crossings) => {
                let octets = Sink::reply_octets(&request).unwrap_or(0);
                let cargo = Cargo::Reply { request, endpoint };
                crossings.begin(Way::Down, Sap::ISO_NETWORK, octets, cargo);
            }
            None => self.reply(now, request, endpoint),
        }
    }

    /// Passes a user's reply to a request without connection.
    pub(super) fn submit_answer(&mut self, now: Instant, to: To, data: Packet) {
        match &mut self.crossings {
            Some(crossings) => {
                let octets = data.len();
                let cargo = Cargo::Answer { to, data };
                crossings.begin(Way::Down, MESSAGE_SAP, octets, cargo);
            }
            None => self.send_message(now, to, data),
        }
    }

    /// Passes a complete message to its user.
    pub(super) fn deliver(&mut self, now: Instant, sap: Sap, arrival: Arrival) {
        match &mut self.crossings {
            Some(crossings) => {
                crossings.begin(Way::Up, sap, arrival.octets, Cargo::Arrival(arrival));
            }
            None => self.arrive(now, arrival),
        }
    }

    /// Lets the flow at this place pass its next message.
    fn has_submitted(&mut self, place: usize) {
        self.flows[place].is_crossing = false;
        self.waiting.wake(place);
    }

    /// Completes the transfer of user data.
    pub(super) fn has_crossed(&mut self, now: Instant, crossing: Crossing) {
        let Some(crossings) = &mut self.crossings else { return };
        match crossings.under_way.remove(&crossing.number) {
            Some(Cargo::Tsdu { place, endpoint, tsdu }) => {
                self.has_submitted(place);
                self.transport.request(now, Request::Data { endpoint, tsdu });
            }
            Some(Cargo::Lsdu { place, to, data }) => {
                self.has_submitted(place);
                self.send_message(now, to, data);
            }
            Some(Cargo::Reply { request, endpoint }) => self.reply(now, request, endpoint),
            Some(Cargo::Answer { to, data }) => self.send_message(now, to, data),
            Some(Cargo::Arrival(arrival)) => self.arrive(now, arrival),
            None => {}
        }
    }

    /// Delivers a message to its user, who answers it if it is a request.
    fn arrive(&mut self, now: Instant, Arrival { stamp, octets, asker }: Arrival) {
        let Stamp { flow, sequence, planned, .. } = stamp;
        let sent = stamp.sent();
        if stamp.kind == StampKind::Reply {
            let event = Event::Answered { sequence, planned, sent, octets };
            self.record_event(now, flow, event);
            for (_, place) in self.places.range((flow, 0)..=(flow, usize::MAX)) {
                self.flows[*place].sender.answered(now);
                self.waiting.wake(*place);
            }
            return;
        }
        self.record_event(now, flow, Event::Delivered { sequence, planned, sent, octets });
        match asker {
            Asker::Connection(endpoint) => {
                let is_request = Sink::reply_octets(&stamp).is_some();
                if is_request && self.conversations.contains_key(&endpoint) {
                    self.submit_reply(now, stamp, endpoint);
                }
            }
            // A source address is never a group address (IEEE 802, 8.2); a forged one gets no
            // answer.
            Asker::Station(To { station, .. }) if station.is_group() || !self.params.accepts => {}
            Asker::Station(to) => self.answer(now, stamp, to),
            Asker::Nobody => {}
        }
    }

    /// Answers a request without connection, if the requested reply fits a frame.
    fn answer(&mut self, now: Instant, request: Stamp, to: To) {
        let Some(octets) = Sink::reply_octets(&request) else { return };
        if octets > self.params.framing.longest_lsdu() {
            let event = Event::Damaged { reason: "reply longer than a frame" };
            return self.record_event(now, request.flow, event);
        }
        if let Some(reply) = Sink::reply_lsdu(&request) {
            self.submit_answer(now, to, reply);
        }
    }

    /// Queues a reply until its connection has room.
    fn reply(&mut self, now: Instant, request: Stamp, endpoint: Endpoint) {
        let Some(conversation) = self.conversations.get_mut(&endpoint) else { return };
        self.replying.insert(endpoint);
        if !conversation.reply(request) {
            let event = Event::Damaged { reason: "too many replies wait" };
            self.record_event(now, request.flow, event);
        }
    }
}
