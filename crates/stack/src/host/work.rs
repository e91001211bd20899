//! Host whose machine takes time for the work of its layers: each data unit waits until the work on
//! it is done.
//!
//! ```text
//!   user message   user ─ (case, session) ─▶ service        confirm to the user
//!   TSDU           session, case or mms ─▶ association ─▶ user
//!   NSDU           transport, network ─▶ link;  network, transport ─▶ entity
//! ```
//!
//! A host requests the work that its machine charges for ([`Host::charging`]), and no other: the rest
//! takes no time, and needs no request. With a front end, users run on another processor than their
//! protocols, and a message is passed to its service when it has reached the front end. Each flow has
//! one message on its way down at a time, like a user that makes blocking calls, and at most
//! [`UNCONFIRMED`] messages without their confirm, for which it does not wait. Replies cross like any other message.
//!
//! The work of session and CASE on a message precedes CASE's decision to hold it: a held message has
//! cost nothing below session.
//!
//! Left out: messages through sockets on their way down, and requests for connections, which do not
//! cross. The data units under way are bounded downwards by one message per flow, the replies to
//! received requests and the transport's window; upwards only by the traffic of the peers.
use super::pdu_work::{self, Steps};
use super::{Host, MESSAGE_SAP, To};
use crate::load::{Sink, Stamp};
use crate::messaging::Priority;
use crate::network::NetworkConnectionId;
use crate::station::{Charge, Frame, Work, WorkKind, WorkLayer};
use crate::tp4::{Nsdu, TransmitHandle};
use crate::transport::Endpoint;
use crate::upper::Addressed;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::addr::Sap;
use wire::packet::Packet;
use wire::time::Instant;

/// Maximum number of messages of a flow whose confirm is under way; its next message waits.
pub(super) const UNCONFIRMED: u32 = 4;
/// Work on data units.
#[derive(Clone, Debug, Default)]
pub(super) struct Works {
    /// Work that takes time.
    charged: BTreeSet<Charge>,
    next: u64,
    begun: VecDeque<Work>,
    under_way: BTreeMap<u64, Pending>,
    /// Flows whose message has reached its service, and whose user awaits the confirm.
    to_confirm: VecDeque<usize>,
}

/// Data unit that waits for work, and the steps after the present one.
#[derive(Clone, Debug)]
struct Pending {
    cargo: Cargo,
    steps: Steps,
}

/// Data unit between two layers, or a user and its service.
#[derive(Clone, Debug)]
pub(super) enum Cargo {
    /// Message of the flow at this place, for its connection.
    Tsdu { place: usize, endpoint: Endpoint, tsdu: Bytes, eot: bool },
    /// Message of the flow at this place, without a connection.
    Lsdu { place: usize, to: To, data: Packet },
    /// Frame of the stream that the flow at this place publishes.
    Published { place: usize, frame: Frame, priority: Priority },
    /// Request whose reply the user sends.
    Reply { request: Stamp, endpoint: Endpoint },
    /// Reply without a connection.
    Answer { to: To, data: Packet },
    /// Message for a user.
    Arrival(Arrival),
    /// Notice to the flow at this place.
    Confirm { place: usize },
    /// Message for CASE.
    Transfer { endpoint: Endpoint, data: Bytes, eot: bool },
    /// PDU of a file transfer for CASE.
    FileSent { endpoint: Endpoint, data: Bytes, eot: bool },
    /// PDU of a file transfer for its user.
    FileReceived { endpoint: Endpoint, data: Bytes },
    /// TSDU of an association for the transport, and the layer above session; of CASE those that are
    /// no data.
    Spdu { endpoint: Endpoint, tsdu: Bytes, user: WorkLayer },
    /// TSDU for an association, and the layer above session.
    Received { endpoint: Endpoint, tsdu: Bytes, user: WorkLayer },
    /// Primitive of an MMS server, and the number of values that it has read for it.
    Answered { addressed: Box<Addressed>, values: usize },
    /// NSDU of transport for the network, with the timer that waits for it.
    Outgoing { nsdu: Nsdu, priority: Priority, handle: Option<TransmitHandle> },
    /// NSDU of the network for transport.
    Incoming(Nsdu),
    /// TPDU of class 0 for its network connection.
    Descending { line: NetworkConnectionId, tpdu: Packet },
    /// TPDU of a network connection for the transport.
    Ascending { line: NetworkConnectionId, tpdu: Packet },
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
    NoRequester,
}

impl Cargo {
    /// Service access point and length, or the number of values that were read.
    fn extent(&self) -> (Sap, usize) {
        match self {
            Self::Tsdu { tsdu, .. } | Self::Spdu { tsdu, .. } | Self::Received { tsdu, .. } => {
                (Sap::ISO_NETWORK, tsdu.len())
            }
            Self::Answered { values, .. } => (Sap::ISO_NETWORK, *values),
            Self::Transfer { data, .. }
            | Self::FileSent { data, .. }
            | Self::FileReceived { data, .. } => (Sap::ISO_NETWORK, data.len()),
            Self::Lsdu { data, .. } | Self::Answer { data, .. } => (MESSAGE_SAP, data.len()),
            Self::Published { frame, .. } => (MESSAGE_SAP, frame.len()),
            Self::Reply { request, .. } => {
                (Sap::ISO_NETWORK, Sink::reply_octets(request).unwrap_or(0))
            }
            Self::Arrival(Arrival { octets, asker: Asker::Connection(_), .. }) => {
                (Sap::ISO_NETWORK, *octets)
            }
            Self::Arrival(Arrival { octets, .. }) => (MESSAGE_SAP, *octets),
            Self::Confirm { .. } => (Sap::ISO_NETWORK, 0),
            Self::Outgoing { nsdu, .. } | Self::Incoming(nsdu) => {
                (Sap::ISO_NETWORK, nsdu.packet.len())
            }
            Self::Descending { tpdu, .. } | Self::Ascending { tpdu, .. } => {
                (Sap::ISO_NETWORK, tpdu.len())
            }
        }
    }

    /// Place of the flow whose message it is, on its way to the service.
    const fn crossing(&self) -> Option<usize> {
        match self {
            Self::Tsdu { place, .. } | Self::Lsdu { place, .. } | Self::Published { place, .. } => {
                Some(*place)
            }
            _ => None,
        }
    }

    /// Work on it in the order of its layers.
    fn path(&self) -> Steps {
        let (case, session) = (WorkLayer::Case, WorkLayer::Session);
        let charge = |at, kind| Charge { at, kind };
        let path: &[Charge] = match self {
            Self::Tsdu { .. }
            | Self::Lsdu { .. }
            | Self::Published { .. }
            | Self::Reply { .. }
            | Self::Answer { .. }
            | Self::FileSent { .. } => &[Charge::DOWN],
            Self::Arrival(_) | Self::FileReceived { .. } => &[Charge::UP],
            Self::Confirm { .. } => &[charge(WorkLayer::User, WorkKind::Confirm)],
            Self::Transfer { .. } => {
                &[charge(case, WorkKind::Down), charge(session, WorkKind::Down)]
            }
            Self::Spdu { tsdu, user, .. } => return pdu_work::of_spdu_down(tsdu, *user),
            Self::Received { tsdu, user, .. } => return pdu_work::of_spdu_up(tsdu, *user),
            Self::Answered { values: 0, .. } => &[],
            Self::Answered { .. } => &[charge(WorkLayer::Mms, WorkKind::Access)],
            Self::Outgoing { nsdu, .. } => return pdu_work::of_nsdu_down(&nsdu.packet),
            Self::Incoming(nsdu) => return pdu_work::of_nsdu_up(&nsdu.packet),
            Self::Descending { tpdu, .. } => return pdu_work::of_nsdu_down(tpdu),
            Self::Ascending { tpdu, .. } => return pdu_work::of_nsdu_up(tpdu),
        };
        path.iter().rev().copied().collect()
    }
}

impl Works {
    /// Begins the work on a data unit; returns the data unit if none takes time.
    fn begin(&mut self, cargo: Cargo) -> Option<Cargo> {
        let mut steps = cargo.path();
        steps.retain(|charge| self.charged.contains(charge));
        self.step(Pending { cargo, steps })
    }

    /// Begins the next step; returns the data unit if there is none.
    fn step(&mut self, mut pending: Pending) -> Option<Cargo> {
        let Some(charge) = pending.steps.pop() else { return Some(pending.cargo) };
        let (sap, octets) = pending.cargo.extent();
        self.begun.push_back(Work { number: self.next, charge, sap, octets });
        self.under_way.insert(self.next, pending);
        self.next += 1;
        None
    }

    /// Next work that was not reported to the driver yet.
    pub(super) fn next(&mut self) -> Option<Work> {
        self.begun.pop_front()
    }
}

impl Host {
    /// Has the machine take time for this work. The driver reports when it is done.
    #[must_use]
    pub fn charging(mut self, charged: BTreeSet<Charge>) -> Self {
        self.works = (!charged.is_empty()).then(|| Works { charged, ..Works::default() });
        self
    }

    /// Has the host's protocols run on a front-end processor: messages take time on their way to it
    /// and back.
    #[must_use]
    pub fn behind_front_end(self) -> Self {
        self.charging(BTreeSet::from([Charge::DOWN, Charge::UP]))
    }

    /// Passes a data unit on, after the work on it that takes time.
    #[inline]
    pub(super) fn submit(&mut self, now: Instant, cargo: Cargo) {
        let Some(works) = &mut self.works else { return self.carry(now, cargo) };
        if let Some(place) = cargo.crossing() {
            self.users.flows[place].is_crossing = true;
        }
        if let Some(cargo) = works.begin(cargo) {
            self.arrived(now, cargo);
        }
    }

    /// Goes on with a data unit after a step of work.
    pub(super) fn has_worked(&mut self, now: Instant, work: Work) {
        let Some(works) = &mut self.works else { return };
        let Some(pending) = works.under_way.remove(&work.number) else { return };
        if let Some(cargo) = works.step(pending) {
            self.arrived(now, cargo);
        }
    }

    /// Begins the notice to the next user whose message has reached its service: behind the work that
    /// users request by themselves. Returns false if there is none.
    pub(super) fn confirm(&mut self, now: Instant) -> bool {
        let place = self.works.as_mut().and_then(|works| works.to_confirm.pop_front());
        let Some(place) = place else { return false };
        self.submit(now, Cargo::Confirm { place });
        true
    }

    /// Passes on a data unit on which all work is done.
    fn arrived(&mut self, now: Instant, cargo: Cargo) {
        // The flow may pass its next message.
        if let Some(place) = cargo.crossing() {
            let flowing = &mut self.users.flows[place];
            flowing.is_crossing = false;
            flowing.unconfirmed += 1;
            self.users.waiting.wake(place);
            if let Some(works) = &mut self.works {
                works.to_confirm.push_back(place);
            }
        }
        self.carry(now, cargo);
    }

    /// Delivers a data unit to the next layer, its service or its user.
    #[inline]
    pub(super) fn carry(&mut self, now: Instant, cargo: Cargo) {
        match cargo {
            Cargo::Tsdu { endpoint, tsdu, eot, .. } => self.send_tsdu(now, endpoint, tsdu, eot),
            Cargo::Lsdu { to, data, .. } | Cargo::Answer { to, data } => {
                self.send_message(to, data);
            }
            Cargo::Published { frame, priority, .. } => self.send_published(frame, priority),
            Cargo::Reply { request, endpoint } => self.reply(now, request, endpoint),
            Cargo::Arrival(arrival) => self.arrive(now, arrival),
            Cargo::Confirm { place } => {
                let flowing = &mut self.users.flows[place];
                flowing.unconfirmed = flowing.unconfirmed.saturating_sub(1);
                self.users.waiting.wake(place);
            }
            Cargo::FileSent { endpoint, data, eot } => self.pass_file(now, endpoint, data, eot),
            Cargo::FileReceived { endpoint, data } => self.file_received(now, endpoint, data),
            Cargo::Transfer { endpoint, data, eot } => self.transfer(now, endpoint, data, eot),
            Cargo::Spdu { endpoint, tsdu, .. } => self.send_spdu(now, endpoint, tsdu),
            Cargo::Received { endpoint, tsdu, .. } => self.received_tsdu(now, endpoint, tsdu),
            Cargo::Answered { addressed, .. } => self.request_below(now, *addressed),
            Cargo::Outgoing { nsdu, priority, handle } => {
                self.pass_nsdu(now, nsdu, priority, handle);
            }
            Cargo::Incoming(nsdu) => self.take_nsdu(now, nsdu),
            Cargo::Descending { line, tpdu } => self.descend(now, line, &tpdu),
            Cargo::Ascending { line, tpdu } => self.ascend(now, line, tpdu),
        }
    }
}
