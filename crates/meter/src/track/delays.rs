//! What connections keep of how long things took, and what it comes to for their hosts.
//!
//! Nothing is counted for hosts when a time ends: what their connections kept is added up when somebody
//! asks, and when a connection is forgotten.

use super::Tracker;
use super::connection::{Connection, other};
use super::remembered::Tally;
use crate::host::{Counts, Host};
use crate::measure::{Times, Traffic, Waits};
use wire::time::Instant;

/// Times of one kind, in as few octets as they take.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelaySum {
    total_nanos: u64,
    count: u32,
    /// Rounded up.
    max_micros: u32,
}

impl DelaySum {
    pub(super) const NONE: Self = Self { total_nanos: 0, count: 0, max_micros: 0 };

    /// Notes one of so many nanoseconds.
    #[inline]
    pub(super) fn note(&mut self, nanos: u64) {
        self.count = self.count.saturating_add(1);
        self.total_nanos = self.total_nanos.saturating_add(nanos);
        if nanos > u64::from(self.max_micros) * 1_000 {
            self.max_micros = u32::try_from(nanos.div_ceil(1_000)).unwrap_or(u32::MAX);
        }
    }

    /// All of them; the greatest to the next microsecond.
    pub(super) fn times(&self) -> Times {
        Times {
            count: self.count.into(),
            total_ns: self.total_nanos,
            max_ns: u64::from(self.max_micros) * 1_000,
        }
    }
}

/// Counts for the hosts of a connection how long things took on it, by `now`.
fn count(counts: &mut Counts, connection: &Connection, now: Instant) {
    for side in [0, 1] {
        let ends = [side, other(side)].map(|side| connection.senders[side].end().host);
        counts.waited(ends, &connection.waits(side, now));
    }
}

impl Tracker {
    /// Each host, at this time.
    pub(crate) fn hosts(&self, now: Instant) -> impl Iterator<Item = Host> {
        let mut counts = self.hosts.counts.clone();
        let (all, sides) = (&mut Traffic::default(), &mut self.sides.nobody());
        self.remembered.tell(Tally { hosts: &mut counts, all, sides });
        for (_, connection, _) in self.table.slab.iter() {
            count(&mut counts, connection, now);
        }
        self.hosts.iter(counts)
    }

    /// Takes notice that a connection is forgotten, as it was when it was heard last.
    pub(super) fn keep_delays(&mut self, connection: &Connection, last: Instant) {
        count(&mut self.hosts.counts, connection, last);
    }
}

impl Connection {
    /// How long what a side sent took, and how long it waited, by `now`.
    pub(super) fn waits(&self, side: usize, now: Instant) -> Waits {
        let replies = self.turns.requester().is_some_and(|requester| requester != side);
        let response = if replies { self.responses.times() } else { Times::default() };
        let [opening, established, ..] = self.history();
        let set_up = opening.zip(established).filter(|_| side == 1);
        Waits {
            acknowledgement: self.senders[side].delays.times(),
            response,
            set_up: set_up
                .map_or_else(Times::default, |(from, to)| Times::one(to.nanos_since(from))),
            closed_window: self.senders[side].closed_windows(now),
        }
    }
}
