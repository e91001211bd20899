//! Connections of the host: their users, admission and eviction.

use super::{NetworkCounters, NetworkHost};
use crate::machine::Machine as _;
use crate::profile::conversation::{Conversation, Role};
use crate::tp0::{Connection, Network, Request, State, disconnect_reason};
use bytes::{Bytes, BytesMut};
use core::mem;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::time::Instant;

/// User of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum User {
    /// Not assigned yet: its CR has not arrived.
    Unknown,
    /// Rendezvous protocol, with this station.
    Rendezvous(Mac),
    /// Flow of this host or of a peer.
    Load,
    /// Echo.
    Echo,
}

#[derive(Clone, Debug)]
pub(super) struct Attached {
    pub(super) connection: Connection,
    pub(super) user: User,
    pub(super) conversation: Conversation,
    /// Octets received so far of a TSDU for the rendezvous protocol or the echo.
    pub(super) piece: BytesMut,
    /// TSDUs that wait for the connection to open, or for room.
    pub(super) waiting: VecDeque<Bytes>,
    pub(super) is_open: bool,
}

impl Attached {
    /// Returns true if the connection has room for a TSDU of this length.
    pub(super) fn takes(&self, octets: usize) -> bool {
        self.connection.is_idle() || octets <= self.connection.room()
    }

    /// Returns true if nothing can be sent on it any more.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::Ending | State::Releasing)
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

    /// Passes one waiting TSDU to the connection; returns true if there was one.
    pub(super) fn hand_over(&mut self, now: Instant) -> bool {
        if !self.is_open {
            return false;
        }
        let idle = self.connection.is_idle();
        let reply = self.conversation.next_reply(self.connection.room(), idle);
        let fits = self.waiting.front().is_some_and(|tsdu| self.takes(tsdu.len()));
        let tsdu = reply.or_else(|| if fits { self.waiting.pop_front() } else { None });
        let Some(tsdu) = tsdu else { return false };
        self.connection.request(now, Request::Data { tsdu });
        true
    }

    pub(super) fn add_to(&self, counters: &mut NetworkCounters) {
        let own = self.connection.counters();
        counters.sent.iter_mut().zip(own.sent).for_each(|(sum, own)| *sum += own);
        counters.received.iter_mut().zip(own.received).for_each(|(sum, own)| *sum += own);
        counters.malformed += own.malformed;
        counters.closed_window += own.closed_window;
    }
}

impl NetworkHost {
    /// Joins the session with this nonce, or leaves it. Its load connections carry the nonce as
    /// calling TSAP-ID, so no other caller can add to its load. Load connections of another session
    /// are released.
    pub fn take_part(&mut self, now: Instant, session: Option<u64>) {
        if self.session == session {
            return;
        }
        self.session = session;
        let reason = disconnect_reason::NORMAL;
        for (line, attached) in &mut self.attached {
            let is_taken = attached.conversation.role == Role::Accepted;
            if attached.user == User::Load && is_taken {
                attached.connection.request(now, Request::Disconnect { reason });
                self.touched.insert(*line);
            }
        }
        self.drain(now);
    }

    pub(super) fn is_of_session(&self, calling: &[u8]) -> bool {
        self.session.is_some_and(|nonce| calling == nonce.to_be_bytes())
    }

    /// Makes room by closing the oldest connection whose use is still unknown; returns true if
    /// there was one. Otherwise idle callers could keep out all others.
    pub(super) fn evict(&mut self) -> bool {
        let idle = self.attached.iter().find(|(_, attached)| attached.user == User::Unknown);
        let Some((line, _)) = idle else { return false };
        let line = *line;
        self.attached.remove(&line);
        self.counters.refused += 1;
        // The first disconnect requests a release, the second does not wait for it.
        self.outputs.extend([(line, Network::Disconnect), (line, Network::Disconnect)]);
        true
    }
}
