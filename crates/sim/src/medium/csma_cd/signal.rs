//! Signals on the bus, and the places they reach.
//!
//! Not modelled: attenuation; a signal reaches every station.

use super::Times;
use super::deference::{Carrier, Gap, later};
use wire::time::Instant;

/// Signal of one station: a frame, or the fragment that a collision leaves of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    pub(super) station: usize,
    pub(super) place: u64,
    pub(super) reach: u64,
    pub(super) start: Instant,
    pub(super) end: Instant,
    pub(super) collided: bool,
    /// True while the station is still sending.
    pub(super) on: bool,
}

impl Signal {
    /// Carrier as a station at `place` receives it.
    pub(super) fn as_heard_at(&self, place: u64) -> Carrier {
        let delay = self.place.abs_diff(place);
        Carrier { rises: later(self.start, delay), falls: later(self.end, delay), own: false }
    }

    /// Handles the station's detection of a collision at `at`.
    pub(super) fn collide(&mut self, at: Instant, times: Times) {
        let jam = at.max(later(self.start, times.preamble));
        self.end = self.end.min(later(jam, times.jam));
        self.collided = true;
    }

    /// Returns whether, for every station, this signal is a separate busy period after `before`,
    /// and the later one to end deference.
    ///
    /// If this holds at this signal's source, it holds everywhere: by the triangle inequality,
    /// `before` reaches any other place no later directly than by way of the source.
    pub(super) fn follows(&self, before: &Self, gap: Gap) -> bool {
        let falls = before.as_heard_at(self.place).falls;
        self.start > falls
            && self.start >= later(falls, gap.part_1)
            && self.end > later(falls, gap.whole)
    }

    /// Time at which every station has received it to its end.
    pub(super) fn heard_by_all(&self) -> Instant {
        later(self.end, self.reach)
    }
}
