//! What a host knows of each transport connection: whose it is, and what is half said on it.

use crate::load::{FlowId, Sink, Stamp};
use bytes::Bytes;
use std::collections::VecDeque;

/// Replies that may wait on one connection; a peer that asks more than it reads loses the rest.
const REPLIES: usize = 256;

/// Which user of the host a connection belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The sender at this place.
    Sender(usize),
    /// Whoever asked for it from elsewhere.
    Accepted,
}

/// One connection as its user sees it.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) role: Role,
    pub(super) sink: Sink,
    /// The flow of the latest message that arrived.
    pub(super) flow: Option<FlowId>,
    /// Requests whose replies wait. A reply is made when it is sent, so that 20 octets of a request do
    /// not take up to 65,534 octets of memory.
    requests: VecDeque<Stamp>,
}

impl Conversation {
    pub(super) fn new(role: Role, flow: Option<FlowId>) -> Self {
        Self { role, sink: Sink::default(), flow, requests: VecDeque::new() }
    }

    /// Queues the reply to a request; `false` where too many wait already.
    pub(super) fn reply(&mut self, request: Stamp) -> bool {
        let room = self.requests.len() < REPLIES;
        if room {
            self.requests.push_back(request);
        }
        room
    }

    /// Whether replies wait.
    pub(super) fn has_replies(&self) -> bool {
        !self.requests.is_empty()
    }

    /// How many replies wait.
    pub(super) fn replies(&self) -> usize {
        self.requests.len()
    }

    /// Octets of the next reply.
    pub(super) fn first_reply_octets(&self) -> Option<usize> {
        self.requests.front().and_then(Sink::reply_octets)
    }

    /// The next reply, if the connection takes that many octets.
    pub(super) fn next_reply(&mut self, room: usize, idle: bool) -> Option<Bytes> {
        let fits = self.first_reply_octets().is_some_and(|octets| idle || octets <= room);
        if !fits {
            return None;
        }
        Sink::reply_tsdu(&self.requests.pop_front()?)
    }
}
