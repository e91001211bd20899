//! Ends of connections: by DR and DC (ISO 8073 6.7), or with their network connection.

use super::connection::{Disconnects, State};
use super::side::{Side, other};
use super::table::{Found, Key};
use super::transfer::end_association;
use super::{Passage, Sink, Tracker};
use crate::lru_slab::Place;
use crate::observation::{Ending, Step, Tpdu};
use wire::tp::{Disconnect, DisconnectConfirm, Reference};

/// DR reason 128: normal disconnect, requested by the user (ISO 8073 13.5.3).
const NORMAL: u8 = 128;
/// DR reason 128 + 2: connection negotiation failed.
const NEGOTIATION_FAILED: u8 = 130;
/// DR reasons that report a protocol violation: duplicate source reference, mismatched references,
/// protocol error, reference overflow, header or parameter length invalid.
const ERRORS: [u8; 5] = [131, 132, 133, 135, 138];
/// End of a network connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NetworkEnd {
    /// By a FIN, between TPDUs.
    Orderly,
    /// By a RST, or within a TPDU.
    BrokenOff,
}

impl Tracker {
    /// Ends the class 0 connection of a TCP connection that is over, and refuses the one it still
    /// requests, found by the reference of its last CR.
    pub(crate) fn network_ended(
        &mut self,
        passage: Passage,
        last_request: Option<Reference>,
        how: NetworkEnd,
        sink: &mut Sink<'_>,
    ) {
        let Passage { at, from, to } = passage;
        let by_network = Key { owner: &from, peer: &to, reference: Reference(0) };
        let requested = |reference| {
            let keys =
                [Key { reference, ..by_network }, Key { owner: &to, peer: &from, reference }];
            keys.into_iter().find_map(|key| self.table.find(&key, &self.hosts))
        };
        let found =
            self.table.find(&by_network, &self.hosts).or_else(|| last_request.and_then(requested));
        let Some((place, _)) = found else { return };
        let connection = self.table.get(place);
        let is_of_network = connection.is_by_network() || connection.state == State::Opening;
        if !is_of_network || connection.state.is_over() {
            return;
        }
        let step = if connection.state == State::Opening {
            Step::Refused
        } else {
            let ending = match how {
                _ if connection.is_erroneous => Ending::Erroneous,
                NetworkEnd::Orderly => Ending::Graceful,
                NetworkEnd::BrokenOff => Ending::Abrupt,
            };
            connection.ending = Some(ending);
            Step::Ended(ending)
        };
        connection.enter(State::Closed, at);
        connection.end_windows(at).for_each(|closed| sink.closed_window(closed));
        end_association(connection, at, sink);
        sink.step(step);
    }

    /// Processes a DR, which begins the release of a connection.
    pub(super) fn disconnect(
        &mut self,
        passage: Passage,
        dr: &Disconnect<'_>,
        found: Option<Found>,
        tpdu: &mut Tpdu,
        sink: &mut Sink<'_>,
    ) -> Option<Found> {
        let by_sender = self.by_sender(passage, dr.source_reference);
        let mut first: Option<Found> = None;
        for (place, side) in halves(found, by_sender) {
            self.table.slab.touch(place, passage.at);
            let connection = self.table.get(place);
            let was_opening = connection.state == State::Opening;
            let is_idle = connection.is_idle();
            let sender = &mut connection.senders[side];
            let retransmitted = sender.disconnects.sent(Disconnects::REQUEST);
            let ending = match dr.reason {
                _ if connection.is_erroneous || ERRORS.contains(&dr.reason) => Ending::Erroneous,
                NORMAL if is_idle => Ending::Graceful,
                _ => Ending::Abrupt,
            };
            let step = match (retransmitted, connection.state.is_over()) {
                (true, _) | (_, true) => None,
                _ if dr.reason == NEGOTIATION_FAILED => Some(Step::NotAgreed),
                _ if was_opening && side == 1 => Some(Step::Refused),
                _ => Some(Step::Ended(ending)),
            };
            if let Some(Step::Ended(ending)) = step {
                connection.ending = Some(ending);
            }
            connection.enter(State::Closing, passage.at);
            connection.end_windows(passage.at).for_each(|closed| sink.closed_window(closed));
            end_association(connection, passage.at, sink);
            if first.is_none() {
                (tpdu.retransmitted, tpdu.step) = (retransmitted, step);
            }
            first = first.or(Some((place, side)));
        }
        first
    }

    /// Processes a DC, which completes the release.
    pub(super) fn confirm_disconnect(
        &mut self,
        passage: Passage,
        dc: &DisconnectConfirm<'_>,
        found: Option<Found>,
        tpdu: &mut Tpdu,
    ) -> Option<Found> {
        let by_sender = self.by_sender(passage, dc.source_reference);
        let mut first: Option<Found> = None;
        for (place, side) in halves(found, by_sender) {
            self.table.slab.touch(place, passage.at);
            let connection = self.table.get(place);
            connection.enter(State::Closed, passage.at);
            let sender = &mut connection.senders[side];
            let retransmitted = sender.disconnects.sent(Disconnects::CONFIRM);
            if first.is_none() {
                tpdu.retransmitted = retransmitted;
            }
            first = first.or(Some((place, side)));
        }
        first
    }

    /// Connection in which the sender of a TPDU has this reference, and its side.
    fn by_sender(&self, passage: Passage, reference: Reference) -> Option<Found> {
        let key = Key { owner: &passage.from, peer: &passage.to, reference };
        let is_named = reference != Reference(0);
        is_named.then(|| self.table.find(&key, &self.hosts)).flatten()
    }
}

/// Connections that a DR or DC concerns: one, or both halves of one found under way. Each comes
/// with the side that sent the TPDU.
fn halves(
    by_receiver: Option<Found>,
    by_sender: Option<Found>,
) -> impl Iterator<Item = (Place, Side)> {
    let first = by_receiver.map(|(place, receiver)| (place, other(receiver)));
    let second = by_sender.filter(|(place, _)| first.is_none_or(|(other, _)| other != *place));
    first.into_iter().chain(second)
}
