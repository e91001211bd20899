//! Reports of a meter on connections.

use crate::follow::Follower as _;
use crate::{Connection, Meter};
use core::ops::Range;
use wire::time::Instant;

impl Meter {
    /// Number of connections followed, including those that ended recently.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.tracker.connections()
    }

    /// Connections followed, including those that ended recently, as of the latest time known: a
    /// closed window counts up to that time.
    pub fn each_connection(&self) -> impl Iterator<Item = Connection> {
        self.tracker.report(self.last().unwrap_or_default(), &self.streams)
    }

    /// Places in which the meter keeps connections, for [`Meter::connections_in`].
    #[must_use]
    pub fn connection_places(&self) -> Range<u32> {
        self.tracker.places()
    }

    /// The part of [`Meter::each_connection`] in some places: reports of thousands need not be in
    /// memory at one time.
    pub fn connections_in(&self, places: Range<u32>) -> impl Iterator<Item = Connection> {
        let now = self.last().unwrap_or_default();
        self.tracker.known_in(places, now, |ends| self.streams.carried(ends))
    }

    /// Connections with a TPDU or a change of state at or after `since`, or with a closed window,
    /// as of `now`: a closed window counts up to that time.
    pub fn each_active_connection(
        &self,
        since: Instant,
        now: Instant,
    ) -> impl Iterator<Item = Connection> {
        let streams = &self.streams;
        self.tracker.active(since, now, streams.active(since), |ends| streams.carried(ends))
    }

    /// Takes the oldest connection that was evicted, for its silence or to make room. Call it
    /// regularly: a meter keeps some thousand.
    #[inline]
    pub fn take_connection(&mut self) -> Option<Connection> {
        if !self.tracker.has_evicted() {
            return None;
        }
        if let Some(stream) = self.tracker.evicted_stream() {
            self.streams.hand_over(&stream, &mut self.tracker);
        }
        self.tracker.take_evicted()
    }
}
