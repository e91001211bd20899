//! What a connection is handed with every call.

use super::outbox::{Header, Outbox};
use super::params::Params;
use super::service::{Address, Counters, Endpoint, Indication, Note};
use super::ticket::Timed;
use bytes::Bytes;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::Kind;

/// What all connections of an entity share, and the time it is.
pub(super) struct Context<'a> {
    pub(super) now: Instant,
    pub(super) params: &'a Params,
    pub(super) outputs: &'a mut Outbox,
    pub(super) counters: &'a mut Counters,
}

impl Context<'_> {
    pub(super) fn deliver(&mut self, indication: Indication) {
        self.outputs.deliver(indication);
    }

    pub(super) fn note(&mut self, note: Note) {
        self.outputs.note(note);
    }

    /// Sends a TPDU, in the NSDU of the one before where that is allowed and asked for.
    pub(super) fn send(&mut self, peer: Address, kind: Kind, packet: Packet) {
        self.outputs.send(peer, packet);
        self.sent(kind);
    }

    /// Sends a DT or AK, whose header is short.
    pub(super) fn send_short(&mut self, peer: Address, kind: Kind, header: Header, data: Bytes) {
        self.outputs.send_short(peer, header, data);
        self.sent(kind);
    }

    /// Says that a timer waits for the TPDU sent last.
    pub(super) fn wait_for_last(&mut self, endpoint: Endpoint, timed: Timed) {
        self.outputs.wait_for_last(endpoint.slot, timed);
    }

    fn sent(&mut self, kind: Kind) {
        self.counters.sent[kind as usize] += 1;
        if self.params.concatenate && self.outputs.join_last(self.params.nsdu_octets) {
            self.counters.concatenated += 1;
        }
    }
}
