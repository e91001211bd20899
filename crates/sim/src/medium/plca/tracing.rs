//! Opportunities and beacons in a trace of a segment.
//!
//! Not modelled: opportunities of nodes beyond the stations of the segment; they are left out.

use super::{BIT_NANOS, Opportunity, Plca, Turn};
use crate::medium::trace::{Kind, note};
use wire::time::Instant;

impl Plca {
    /// Notes the `steps` opportunities from `from` on, none of which is used, and the beacons among
    /// them.
    pub(super) fn note_unused(&mut self, from: Opportunity, steps: u64) {
        let Some(trace) = &self.trace else { return };
        let (opportunity, beacon, cycle) = self.spans();
        let count = self.params.node_count;
        // Whole cycles before the window, less one that may reach into it.
        let early =
            trace.from().as_nanos().saturating_sub(from.begins).saturating_sub(cycle) / cycle;
        for step in early.saturating_mul(count)..steps {
            let node = (from.node + step) % count;
            let wraps = (from.node + step) / count;
            let begins = from.begins + step * opportunity + wraps * beacon;
            let at = Instant::from_nanos(begins);
            if !self.trace.as_ref().is_some_and(|trace| trace.takes_more(at)) {
                return;
            }
            let end = begins + opportunity;
            self.note_turn(node as usize, (begins, end), Kind::Opportunity { is_used: false });
            if node + 1 == count {
                self.note_turn(0, (end, end + beacon), Kind::Beacon);
            }
        }
    }

    /// Notes the used opportunity that ends at `at`, and the beacon that follows the last one of a
    /// cycle.
    pub(super) fn note_used(&mut self, station: usize, at: u64) {
        let beacon = self.params.beacon_bits * BIT_NANOS;
        let opened = self.opened;
        self.note_turn(station, (opened, at), Kind::Opportunity { is_used: true });
        if station as u64 + 1 == self.params.node_count {
            self.note_turn(0, (at, at + beacon), Kind::Beacon);
        }
    }

    /// Notes the opportunities that have ended by `now` since the last one that is known.
    pub(super) fn note_idle(&mut self, now: u64) {
        let Turn::Open(from) = self.turn else { return };
        let (opportunity, _, cycle) = self.spans();
        let Some(gone) = now.checked_sub(from.begins) else { return };
        let since = from.node * opportunity + gone;
        let node = (since % cycle / opportunity).min(self.params.node_count);
        let steps = since / cycle * self.params.node_count + node;
        self.note_unused(from, steps.saturating_sub(from.node));
    }

    fn note_turn(&mut self, station: usize, (begin, end): (u64, u64), kind: Kind) {
        if station < self.entities.len() {
            let span = || (Instant::from_nanos(begin), Instant::from_nanos(end));
            note(&mut self.trace, station, span, || kind);
        }
    }
}
