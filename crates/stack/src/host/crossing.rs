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
use crate::load::{Sink, Stamp};
use crate::station::{Crossing, Way};
use crate::transport::Endpoint;
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

/// User data between a user and its service: messages of flows, replies, and arrivals.
#[derive(Clone, Debug)]
pub(super) enum Cargo {
    Tsdu { place: usize, endpoint: Endpoint, tsdu: Bytes, eot: bool },
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

impl Cargo {
    /// Direction, service access point and length.
    fn crossing(&self, number: u64) -> Crossing {
        let (way, sap, octets) = match self {
            Self::Tsdu { tsdu, .. } => (Way::Down, Sap::ISO_NETWORK, tsdu.len()),
            Self::Lsdu { data, .. } | Self::Answer { data, .. } => {
                (Way::Down, MESSAGE_SAP, data.len())
            }
            Self::Reply { request, .. } => {
                (Way::Down, Sap::ISO_NETWORK, Sink::reply_octets(request).unwrap_or(0))
            }
            Self::Arrival(Arrival { octets, asker: Asker::Connection(_), .. }) => {
                (Way::Up, Sap::ISO_NETWORK, *octets)
            }
            Self::Arrival(Arrival { octets, .. }) => (Way::Up, MESSAGE_SAP, *octets),
        };
        Crossing { number, way, sap, octets }
    }
}

impl Crossings {
    /// Begins a transfer.
    pub(super) fn begin(&mut self, cargo: Cargo) {
        self.begun.push_back(cargo.crossing(self.next));
        self.under_way.insert(self.next, cargo);
        self.next += 1;
    }

    /// Next transfer that was not reported to the driver yet.
    pub(super) fn next(&mut self) -> Option<Crossing> {
        self.begun.pop_front()
    }
}

impl Host {
    /// Completes the transfer of user data.
    pub(super) fn has_crossed(&mut self, now: Instant, crossing: Crossing) {
        let crossings = self.crossings.as_mut();
        let cargo = crossings.and_then(|it| it.under_way.remove(&crossing.number));
        let Some(cargo) = cargo else { return };
        // The flow may pass its next message.
        if let Cargo::Tsdu { place, .. } | Cargo::Lsdu { place, .. } = cargo {
            self.users.flows[place].is_crossing = false;
            self.users.waiting.wake(place);
        }
        self.carry(now, cargo);
    }
}
