//! What connections keep of how long things took, and what it comes to for their hosts.
//!
//! Nothing is counted for hosts when a time ends: what their connections kept is added up when somebody
//! asks, and when a connection is forgotten. So it is with what TCP's own things took, which streams keep: it goes to
//! the connection that the stream carries, and to its hosts.

use super::connection::{Connection, Side, other};
use super::remembered::Tally;
use super::table::{Key, Party};
use super::{Forgotten, Tracker};
use crate::host::{Counts, Host, Met};
use crate::measure::{Times, Traffic, Waits};
use wire::time::Instant;
use wire::tp::Reference;

/// Counts for the hosts of a connection how long things took on it, by `now`.
fn count(counts: &mut Counts, connection: &Connection, now: Instant) {
    for side in [0, 1] {
        let ends = [side, other(side)].map(|side| Some(connection.senders[side].end().host));
        counts.waited(ends, &connection.waits(side, now));
        if let Some(replied) = connection.replied(side) {
            counts.replied(ends[0]).add(&replied);
        }
    }
}

/// Counts for the hosts at the ends of a stream how long things took on it, where both were met.
fn count_carried(counts: &mut Counts, ends: [Option<Met>; 2], waits: &[Waits; 2]) {
    let [Some(first), Some(second)] = ends else { return };
    counts.waited([first, second], &waits[0]);
    counts.waited([second, first], &waits[1]);
}

/// What TCP's own things took on a stream, of what each end sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    pub(crate) waits: [Waits; 2],
    /// When the stream was heard last.
    pub(crate) heard: Instant,
}

impl Tracker {
    /// Each host, at this time, with what streams did not hand over yet.
    pub(crate) fn hosts(
        &self,
        now: Instant,
        streams: impl Iterator<Item = ([Party; 2], [Waits; 2])>,
    ) -> impl Iterator<Item = Host> {
        let mut counts = self.hosts.counts.clone();
        let (all, sides) = (&mut Traffic::default(), &mut self.sides.nobody());
        self.remembered.tell(Tally { hosts: &mut counts, all, sides });
        for (_, connection, _) in self.table.slab.iter() {
            count(&mut counts, connection, now);
        }
        for (ends, waits) in streams {
            count_carried(&mut counts, self.met(&ends), &waits);
        }
        self.hosts.iter(counts)
    }

    /// Takes notice that a connection is forgotten, as it was when it was heard last.
    pub(super) fn keep_delays(&mut self, connection: &Connection, last: Instant) {
        count(&mut self.hosts.counts, connection, last);
    }

    fn met(&self, ends: &[Party; 2]) -> [Option<Met>; 2] {
        ends.map(|end| self.hosts.met(end.address))
    }

    /// Takes over how long TCP's own things took on the stream between two ends: for its hosts, and for the connection
    /// that it carries, or carried last if that was forgotten and nobody took it yet.
    pub(crate) fn carried(&mut self, ends: &[Party; 2], waits: &[Waits; 2]) {
        let met = self.met(ends);
        count_carried(&mut self.hosts.counts, met, waits);
        let [owner, peer] = ends;
        let key = Key { owner, peer, reference: Reference(0) };
        if let Some((place, side)) = self.table.find(&key, &self.hosts) {
            return self.sides.carried(place, &of_sides(side, waits));
        }
        let is_of_stream = |forgotten: &&mut Forgotten| {
            forgotten
                .stream
                .is_some_and(|[first, second]| [first, second] == *ends || [second, first] == *ends)
        };
        if let Some(Forgotten { known, stream: Some([first, _]) }) =
            self.forgotten.iter_mut().rev().find(is_of_stream)
        {
            let side = usize::from(first != owner);
            for (direction, waits) in known.directions.iter_mut().zip(of_sides(side, waits)) {
                direction.waits.add(&waits);
            }
        }
    }
}

/// The times of both sides, the first of which are those of this side.
fn of_sides(side: Side, waits: &[Waits; 2]) -> [Waits; 2] {
    [waits[side], waits[other(side)]]
}

impl Connection {
    /// How long what a side sent took, and how long it waited, by `now`.
    pub(super) fn waits(&self, side: usize, now: Instant) -> Waits {
        let [opening, established, ..] = self.history();
        let set_up = opening.zip(established).filter(|_| side == 1);
        Waits {
            acknowledgement: self.senders[side].delays.times(),
            response: self.reply_times(side),
            ambiguous_responses: self.ambiguous_replies(side),
            set_up: set_up
                .map_or_else(Times::default, |(from, to)| Times::one(to.nanos_since(from))),
            // Streams keep what is of TCP.
            callee_handshake: Times::default(),
            caller_handshake: Times::default(),
            round_trip: Times::default(),
            delayed_ack: Times::default(),
            closed_window: self.senders[side].closed_windows(now),
        }
    }
}
