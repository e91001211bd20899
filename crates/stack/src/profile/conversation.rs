//! What a host knows of each transport connection: whose it is, and what is half said on it.

use crate::load::{FlowId, Sink};
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
    replies: VecDeque<Bytes>,
}

impl Conversation {
    pub(super) fn new(role: Role, flow: Option<FlowId>) -> Self {
        Self { role, sink: Sink::default(), flow, replies: VecDeque::new() }
    }

    /// Queues a reply; `false` where too many wait already.
    pub(super) fn reply(&mut self, reply: Bytes) -> bool {
        let room = self.replies.len() < REPLIES;
        if room {
            self.replies.push_back(reply);
        }
        room
    }

    /// Whether replies wait.
    pub(super) fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }

    /// How many replies wait.
    pub(super) fn replies(&self) -> usize {
        self.replies.len()
    }

    /// Octets of the next reply.
    pub(super) fn first_reply_octets(&self) -> Option<usize> {
        self.replies.front().map(Bytes::len)
    }

    /// The next reply, if the connection takes that many octets.
    pub(super) fn next_reply(&mut self, room: usize, idle: bool) -> Option<Bytes> {
        let fits = self.replies.front().is_some_and(|reply| idle || reply.len() <= room);
        if fits { self.replies.pop_front() } else { None }
    }
}
