//! Holds and passes of the token in a trace of a bus.
//!
//! Not modelled: frames of maintenance, such as solicit_successor, and claims of the token; they are left out.

use super::{Token, TokenBus};
use crate::medium::round_robin::{Picos, bits, instant, picos, wrapped};
use crate::medium::trace::{Kind, note};

impl TokenBus {
    /// Notes that `station` releases the token at `at`, unless it passed it on at once.
    pub(super) fn note_hold(&mut self, at: Picos, station: usize) {
        let begun = self.entities[station].visited.unwrap_or(at);
        if at > begun {
            note(&mut self.trace, station, || (instant(begun), instant(at)), || Kind::Hold);
        }
    }

    /// Notes that `station` begins to send the token at `begun`.
    pub(super) fn note_pass(&mut self, begun: Picos, station: usize) {
        if self.trace.is_some() {
            let end = begun + bits(self.params.rate, self.params.frame_bits(0));
            note(&mut self.trace, station, || (instant(begun), instant(end)), || Kind::Token);
        }
    }

    /// Notes the passes of a token that left `place` at `at`, those that begin before `end`.
    pub(super) fn note_passes(&mut self, at: Picos, place: usize, end: Picos) {
        let Some(trace) = &self.trace else { return };
        // A pass that begins before the window may reach into it.
        let early = picos(trace.from()).saturating_sub(self.rotation.round).min(end);
        let (mut at, mut place) = self.rotation.last_before(early, at, place);
        while at < end && self.trace.as_ref().is_some_and(|it| it.takes_more(instant(at))) {
            self.note_pass(at, self.stations[place]);
            let next = wrapped(place + 1, self.rotation.places());
            at += self.rotation.way(place, next);
            place = next;
        }
    }

    /// Notes the pass by which an unused token reaches a station that uses it.
    pub(super) fn note_last_pass(&mut self) {
        if let Token::Free(at, place) = self.token {
            self.note_pass(at, self.stations[place]);
        }
    }

    /// Notes the passes of an unused token until `now`.
    pub(super) fn note_idle(&mut self, now: Picos) {
        if let Token::Free(at, place) = self.token
            && !self.stations.is_empty()
        {
            self.note_passes(at, place, now);
        }
    }
}
