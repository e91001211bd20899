//! State of each transport connection of a host: its user, and the message being received.

use crate::load::{FlowId, Sink, Stamp};
use bytes::Bytes;
use std::collections::VecDeque;

/// Maximum number of replies waiting on one connection; if a peer requests more than it reads, the
/// rest is lost.
const REPLIES: usize = 256;

/// User of the host that owns a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Sender at this place.
    Sender(usize),
    /// Accepted from a peer.
    Accepted,
}

/// Connection from the point of view of its user.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) role: Role,
    pub(super) sink: Sink,
    /// Flow of the latest message received.
    pub(super) flow: Option<FlowId>,
    /// Requests whose replies wait. A reply is built when it is sent, so 20 octets of a request do
    /// not occupy up to 65,534 octets of memory.
    requests: VecDeque<Stamp>,
}

impl Conversation {
    pub(super) fn new(role: Role, flow: Option<FlowId>) -> Self {
        Self { role, sink: Sink::default(), flow, requests: VecDeque::new() }
    }

    /// Queues the reply to a request; returns `false` if too many wait already.
    pub(super) fn reply(&mut self, request: Stamp) -> bool {
        let room = self.requests.len() < REPLIES;
        if room {
            self.requests.push_back(request);
        }
        room
    }

    /// Returns true if replies wait.
    pub(super) fn has_replies(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Number of waiting replies.
    pub(super) fn replies(&self) -> usize {
        self.requests.len()
    }

    /// Length of the next reply in octets.
    pub(super) fn first_reply_octets(&self) -> Option<usize> {
        self.requests.front().and_then(Sink::reply_octets)
    }

    /// Takes the next reply, if it fits into `room` octets or the connection is `idle`.
    pub(super) fn next_reply(&mut self, room: usize, idle: bool) -> Option<Bytes> {
        let fits = self.first_reply_octets().is_some_and(|octets| idle || octets <= room);
        if !fits {
            return None;
        }
        Sink::reply_tsdu(&self.requests.pop_front()?)
    }
}
