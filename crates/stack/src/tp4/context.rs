//! What a connection is handed with every call.

use super::params::Params;
use super::service::{Address, Counters, Indication, Note, Nsdu};
use crate::machine::Output;
use std::collections::VecDeque;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::Kind;

/// What all connections of an entity share, and the time it is.
pub(super) struct Context<'a> {
    pub(super) now: Instant,
    pub(super) params: &'a Params,
    pub(super) outputs: &'a mut VecDeque<Output<Nsdu, Indication, Note>>,
    pub(super) counters: &'a mut Counters,
}

impl Context<'_> {
    pub(super) fn deliver(&mut self, indication: Indication) {
        self.outputs.push_back(Output::Deliver(indication));
    }

    pub(super) fn send(&mut self, peer: Address, kind: Kind, packet: Packet) {
        self.counters.sent[kind as usize] += 1;
        self.outputs.push_back(Output::Send(Nsdu { peer, packet }));
    }
}
