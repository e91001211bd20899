//! What a connection is handed with every call.

use super::params::Params;
use super::service::{Address, Counters, Indication, Note, Nsdu};
use crate::machine::Output;
use std::collections::VecDeque;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{Kind, Reference, tpdus};

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

    pub(super) fn note(&mut self, note: Note) {
        self.outputs.push_back(Output::Note(note));
    }

    /// Sends a TPDU, in the NSDU of the one before where that is allowed and asked for.
    pub(super) fn send(&mut self, peer: Address, kind: Kind, packet: Packet) {
        self.counters.sent[kind as usize] += 1;
        if self.params.concatenate
            && let Some(Output::Send(before)) = self.outputs.back_mut()
            && before.peer == peer
            && let Some(joined) = concatenate(before, &packet, self.params.nsdu_octets)
        {
            before.packet = joined;
            self.counters.concatenated += 1;
            return;
        }
        self.outputs.push_back(Output::Send(Nsdu { peer, packet }));
    }
}

/// Octets of header that may stand in front of a packet's payload without a copy, so that the layers
/// below find room for theirs.
const HEADER_OCTETS: usize = 48;

/// Both packets as one NSDU (6.4.2): any number of TPDUs without user data, each of another connection,
/// then at most one that may carry some. `None` where that is not allowed or they do not fit.
fn concatenate(before: &Nsdu, packet: &Packet, nsdu_octets: usize) -> Option<Packet> {
    let first = before.packet.head();
    let octets = first.len() + packet.head().len();
    let bare = before.packet.payload().is_empty() && !packet.head().is_empty();
    if !bare || octets > HEADER_OCTETS || octets + packet.payload().len() > nsdu_octets {
        return None;
    }
    let added = tpdus(packet.head()).next()?.ok()?;
    let to: Option<Reference> = added.destination_reference();
    for raw in tpdus(first) {
        let raw = raw.ok()?;
        let same = raw.destination_reference() == to && !added.kind.may_carry_data();
        if raw.kind.may_carry_data() || same {
            return None;
        }
    }
    let mut joined = packet.clone();
    joined.prepend(first);
    Some(joined)
}
