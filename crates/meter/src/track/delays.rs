//! Delays that connections keep, and their sums for hosts.
//!
//! A delay is not counted for its hosts when it ends. The sums that connections keep are added for
//! the hosts when a report is made, and when a connection is evicted. The TCP delays that streams
//! keep are handled alike: they go to the connection that the stream carries, and to its hosts.

use super::connection::Connection;
use super::side::{Side, other};
use super::table::{Key, Party};
use super::{Evicted, Known, Tracker};
use crate::host::{Counts, HostKey, HostReports, Met};
use crate::lru_slab::Place;
use crate::measure::{Times, Traffic, Waits};
use crate::stream::Carriage;
use wire::time::Instant;
use wire::tp::Reference;

/// Adds the delays of a connection, as of `now`, to its hosts.
fn count(counts: &mut Counts, connection: &Connection, now: Instant) {
    for side in [0, 1] {
        let ends = [side, other(side)].map(|side| Some(connection.senders[side].end().host));
        counts.waited(ends, &connection.waits(side, now));
        let replied = connection.replied(side);
        if replied.count > 0 {
            counts.replied(ends[0]).add(&replied);
        }
    }
}

/// Adds the delays of a stream to the hosts at its ends, if both are known.
fn count_carried(counts: &mut Counts, ends: [Option<Met>; 2], waits: &[Waits; 2]) {
    let [Some(first), Some(second)] = ends else { return };
    counts.waited([first, second], &waits[0]);
    counts.waited([second, first], &waits[1]);
}

impl Tracker {
    /// Number of connections with counters.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.sides.kept()
    }

    /// Returns a function that makes the report of a connection as of `now`, including pending
    /// batches; `carried` supplies the TCP delays of a stream.
    pub(super) fn spelling_out(
        &self,
        now: Instant,
        carried: impl Fn(&[Party; 2]) -> Option<[Waits; 2]>,
    ) -> impl Fn((Place, &Connection, Instant)) -> Known {
        let (mut hosts, mut pending) = (self.hosts.counts.none(), self.sides.empty());
        let all = &mut Traffic::default();
        self.recent.add_pending_to(&mut hosts, all, &mut pending);
        move |(place, connection, last)| {
            let mut kept = self.sides.with(&pending, place);
            if let Some(more) = self.stream_of(connection).and_then(|ends| carried(&ends)) {
                kept.iter_mut().zip(more).for_each(|(side, more)| side.carried.add(&more));
            }
            Known::of(connection, (last, now), &self.hosts, &kept)
        }
    }

    /// Hosts as of `now`, including delays that streams did not hand over yet.
    pub(crate) fn hosts(
        &self,
        now: Instant,
        streams: impl Iterator<Item = Carriage>,
    ) -> HostReports {
        let mut counts = self.hosts.counts.clone();
        let (all, sides) = (&mut Traffic::default(), &mut self.sides.empty());
        self.recent.add_pending_to(&mut counts, all, sides);
        for (_, connection, _) in self.table.slab.iter() {
            count(&mut counts, connection, now);
        }
        for Carriage { ends, waits } in streams {
            count_carried(&mut counts, self.met(&ends), &waits);
        }
        self.hosts.reports(counts)
    }

    /// Keeps the delays of a connection that is evicted, as of its last TPDU.
    pub(super) fn keep_delays(&mut self, connection: &Connection, last: Instant) {
        count(&mut self.hosts.counts, connection, last);
    }

    fn met(&self, ends: &[Party; 2]) -> [Option<Met>; 2] {
        ends.map(|end| self.hosts.met(end.address))
    }

    /// Hosts at both ends of a stream, once both are known.
    pub(crate) fn hosts_of(&self, ends: &[Party; 2]) -> Option<[HostKey; 2]> {
        let [first, second] = self.met(ends);
        Some([first?, second?].map(|met| self.hosts.counts.key(met)))
    }

    /// Takes over the TCP delays of the stream between two ends: for its hosts, and for the
    /// connection that it carries. If that was evicted and not taken yet, its report receives them.
    pub(crate) fn carried(&mut self, ends: &[Party; 2], waits: &[Waits; 2]) {
        let met = self.met(ends);
        count_carried(&mut self.hosts.counts, met, waits);
        let [owner, peer] = ends;
        let key = Key { owner, peer, reference: Reference(0) };
        if let Some((place, side)) = self.table.find(&key, &self.hosts) {
            return self.sides.carried(place, &of_sides(side, waits));
        }
        let is_of_stream = |evicted: &&mut Evicted| {
            evicted
                .stream
                .is_some_and(|[first, second]| [first, second] == *ends || [second, first] == *ends)
        };
        if let Some(Evicted { known, stream: Some([first, _]) }) =
            self.evicted.iter_mut().rev().find(is_of_stream)
        {
            let side = usize::from(first != owner);
            for (direction, waits) in known.directions.iter_mut().zip(of_sides(side, waits)) {
                direction.waits.add(&waits);
            }
        }
    }
}

/// Delays of both sides, with `side` first.
fn of_sides(side: Side, waits: &[Waits; 2]) -> [Waits; 2] {
    [waits[side], waits[other(side)]]
}

impl Connection {
    /// Delays of one side as of `now`.
    pub(super) fn waits(&self, side: usize, now: Instant) -> Waits {
        let [opening, established, ..] = self.history();
        let set_up = opening.zip(established).filter(|_| side == 1);
        Waits {
            acknowledgement: self.acknowledgement_delays(side),
            response: self.reply_times(side),
            ambiguous_responses: self.ambiguous_replies(side),
            set_up: set_up
                .map_or_else(Times::default, |(from, to)| Times::one(to.nanos_since(from))),
            // TCP delays are kept by streams.
            callee_handshake: Times::default(),
            caller_handshake: Times::default(),
            round_trip: Times::default(),
            delayed_ack: Times::default(),
            closed_window: self.closed_windows(side, now),
        }
    }
}
