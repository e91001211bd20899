//! State of each transport connection of a host: its user, the message being received, and the
//! TSDUs that wait.

use super::Host;
use super::work::{Arrival, Asker, Cargo};
use crate::load::{Event, FlowId, Outcome, Sink, Stamp, StampKind};
use crate::transport::Endpoint;
use bytes::{Bytes, BytesMut};
use core::mem;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::time::Instant;

/// Maximum number of replies waiting on one connection; if a peer requests more than it reads, the
/// rest is lost.
const REPLIES: usize = 256;

/// User of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Sender at this place.
    Sender(usize),
    /// Load accepted from a peer.
    Accepted,
    /// Control session with this station.
    Control(Mac),
    /// Echo.
    Echo,
    /// Query to a directory.
    Query,
    /// Directory, which answers a query.
    Directory,
}

/// Connection from the point of view of its user.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) role: Role,
    /// True if it carries the control session, even after its end.
    pub(super) is_control: bool,
    pub(super) sink: Sink,
    /// Flow of the latest message received.
    pub(super) flow: Option<FlowId>,
    /// Requests whose replies wait. A reply is built when it is sent, so 20 octets of a request do
    /// not occupy up to 65,534 octets of memory.
    requests: VecDeque<Stamp>,
    /// Octets received so far of a TSDU for the control session or the echo.
    piece: BytesMut,
    /// TSDUs of control session and echo that wait for the connection to open, or for room.
    pub(super) waiting: VecDeque<Bytes>,
}

impl Conversation {
    pub(super) fn new(role: Role, flow: Option<FlowId>) -> Self {
        Self {
            role,
            is_control: matches!(role, Role::Control(_)),
            sink: Sink::default(),
            flow,
            requests: VecDeque::new(),
            piece: BytesMut::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Drops what waits, because the connection has ended, and parts from its user.
    pub(super) fn end(&mut self) {
        self.role = Role::Accepted;
        self.requests.clear();
        self.waiting.clear();
    }

    /// Notes the flow of a received message.
    pub(super) const fn note_flow(&mut self, outcome: Outcome) {
        if let Outcome::Whole { stamp, .. } = outcome {
            self.flow = Some(stamp.flow);
        }
    }

    /// Returns true if TSDUs wait.
    pub(super) fn has_waiting(&self) -> bool {
        !self.requests.is_empty() || !self.waiting.is_empty()
    }

    /// Number of waiting replies.
    pub(super) fn replies(&self) -> usize {
        self.requests.len()
    }

    /// Length of the next waiting TSDU in octets.
    fn next_octets(&self) -> Option<usize> {
        let reply = self.requests.front().and_then(Sink::reply_octets);
        reply.or_else(|| self.waiting.front().map(Bytes::len))
    }

    /// Takes the next waiting TSDU.
    fn next_tsdu(&mut self) -> Option<Bytes> {
        match self.requests.pop_front() {
            Some(request) => Sink::reply_tsdu(&request),
            None => self.waiting.pop_front(),
        }
    }

    /// Adds a piece to a TSDU; returns the TSDU when it is complete. A TSDU longer than `most` is
    /// dropped.
    pub(super) fn gather(&mut self, octets: &[u8], end: bool, most: usize) -> Option<Bytes> {
        if self.piece.len() <= most {
            let rest = (most + 1).saturating_sub(self.piece.len());
            self.piece.extend_from_slice(&octets[..octets.len().min(rest)]);
        }
        if !end {
            return None;
        }
        let whole = mem::take(&mut self.piece);
        (whole.len() <= most).then(|| whole.freeze())
    }
}

impl Host {
    /// Passes one waiting TSDU to each connection that has room.
    pub(super) fn pump_replies(&mut self, now: Instant) -> bool {
        let mut acted = false;
        for endpoint in mem::take(&mut self.users.replying) {
            let conversation = self.users.conversations.get(&endpoint);
            let Some(octets) = conversation.and_then(|it| it.next_octets()) else { continue };
            if !self.has_room(endpoint, octets) {
                continue;
            }
            let conversation = self.users.conversations.get_mut(&endpoint);
            if let Some(tsdu) = conversation.and_then(|it| it.next_tsdu()) {
                self.send_tsdu(now, endpoint, tsdu, false);
                self.users.replying.insert(endpoint);
                acted = true;
            }
        }
        acted
    }

    /// Processes a received message, whole or damaged.
    #[inline]
    pub(super) fn message(
        &mut self,
        now: Instant,
        from: Option<FlowId>,
        outcome: Outcome,
        asker: Asker,
    ) {
        match outcome {
            Outcome::Whole { stamp, octets } => {
                self.submit(now, Cargo::Arrival(Arrival { stamp, octets, asker }));
            }
            Outcome::Damaged { reason } => {
                self.users.record(now, from.unwrap_or(FlowId(0)), Event::Damaged { reason });
            }
        }
    }

    /// Delivers a message to its user, who answers it if it is a request.
    pub(super) fn arrive(&mut self, now: Instant, Arrival { stamp, octets, asker }: Arrival) {
        let Stamp { flow, sequence, planned, .. } = stamp;
        let sent = stamp.sent();
        if let Asker::Connection(endpoint) = asker {
            self.release_buffer(now, endpoint);
        }
        if stamp.kind == StampKind::Reply {
            self.users.record(now, flow, Event::Answered { sequence, planned, sent, octets });
            for (_, place) in self.users.places.range((flow, 0)..=(flow, usize::MAX)) {
                self.users.flows[*place].sender.answered(now);
                self.users.waiting.wake(*place);
            }
            return;
        }
        self.users.record(now, flow, Event::Delivered { sequence, planned, sent, octets });
        let Some(octets) = Sink::reply_octets(&stamp) else { return };
        match asker {
            Asker::Connection(endpoint) => {
                if self.users.conversations.contains_key(&endpoint) {
                    self.submit(now, Cargo::Reply { request: stamp, endpoint });
                }
            }
            // A source address is never a group address (IEEE 802, 8.2); a forged one gets no
            // answer.
            Asker::Station(to) if to.station.is_group() || !self.users.accepts => {}
            Asker::Station(to) => {
                let longest = self.link.as_ref().map(|link| link.params.framing.longest_lsdu());
                if Some(octets) > longest {
                    let event = Event::Damaged { reason: "reply longer than a frame" };
                    self.users.record(now, flow, event);
                } else if let Some(data) = Sink::reply_lsdu(&stamp) {
                    self.submit(now, Cargo::Answer { to, data });
                }
            }
            Asker::NoRequester => {}
        }
    }

    /// Queues a reply until its connection has room.
    pub(super) fn reply(&mut self, now: Instant, request: Stamp, endpoint: Endpoint) {
        let Some(conversation) = self.users.conversations.get_mut(&endpoint) else { return };
        self.users.replying.insert(endpoint);
        if conversation.requests.len() < REPLIES {
            conversation.requests.push_back(request);
        } else {
            let event = Event::Damaged { reason: "too many replies wait" };
            self.users.record(now, request.flow, event);
        }
    }
}
