//! TCP delays of a stream: its handshake, and round trips of the octets of both ends.
//!
//! They are summed here, and handed over to hosts and connections for a report, when another
//! connection begins on the stream, and when the stream is evicted.

use super::{Flow, Streams, party};
use crate::host::HostKey;
use crate::measure::{Times, Waits};
use crate::packed_instant::PackedInstant;
use crate::track::{Party, Tracker};
use wire::addr::Socket;
use wire::tcp::Flags;
use wire::time::Instant;

/// Segment that opens a stream. The answer to a retransmitted segment may be to either copy, so no
/// delay is measured (RFC 6298, 3, after Karn).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opening {
    Unseen,
    Once(Instant),
    Again,
}

impl Opening {
    /// Records that it was sent at `at`.
    const fn sent(self, at: Instant) -> Self {
        match self {
            Self::Unseen => Self::Once(at),
            Self::Once(_) | Self::Again => Self::Again,
        }
    }

    /// Nanoseconds from it to `at`, if it was sent once.
    const fn nanos_to(self, at: Instant) -> Option<u64> {
        match self {
            Self::Once(since) => Some(at.nanos_since(since)),
            Self::Unseen | Self::Again => None,
        }
    }
}

/// Handshake of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// Nanoseconds until the callee answered, then until the caller did.
    callee: PackedInstant,
    caller: PackedInstant,
    /// End that is the callee.
    callee_end: u8,
}

impl Handshake {
    pub(super) const NONE: Self =
        Self { callee: PackedInstant::NEVER, caller: PackedInstant::NEVER, callee_end: 0 };

    /// Nanoseconds until the callee answered, then until the caller did; none if not seen.
    pub(super) const fn nanos(&self) -> [Option<u64>; 2] {
        [self.callee.nanos(), self.caller.nanos()]
    }
}

/// Delays not yet handed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamTimes {
    ends: [Socket; 2],
    handshake: Handshake,
    /// Round trips of the octets of each end.
    round_trips: [Times; 2],
    delayed_acks: [Times; 2],
}

impl StreamTimes {
    /// Delays, by sender.
    fn waits(&self) -> [Waits; 2] {
        let ([callee, caller], callee_end) = (self.handshake.nanos(), self.handshake.callee_end);
        [0, 1].map(|end: usize| {
            let one = |nanos: Option<u64>, is_of_end: bool| {
                nanos.filter(|_| is_of_end).map_or_else(Times::default, Times::one)
            };
            let is_callee = end == usize::from(callee_end);
            Waits {
                callee_handshake: one(callee, is_callee),
                caller_handshake: one(caller, !is_callee),
                round_trip: self.round_trips[end],
                delayed_ack: self.delayed_acks[end],
                ..Waits::default()
            }
        })
    }

    /// Hands the delays over to the hosts at both ends, and to the connection between them.
    pub(super) fn go_to(&self, tracker: &mut Tracker) {
        let waits = self.waits();
        if !waits.iter().all(Waits::is_without_tcp) {
            tracker.carried(&self.ends.map(party), &waits);
        }
    }
}

impl Flow {
    /// Processes one of the three segments of the handshake, sent by the end `way`.
    pub(super) fn handshake(&mut self, at: Instant, way: usize, flags: Flags) {
        let Some(early) = &mut self.early else { return };
        let [callee, caller] = self.handshake.nanos();
        let first = |known: Option<u64>, now: Option<u64>| {
            known.or(now).map_or(PackedInstant::NEVER, PackedInstant::of_nanos)
        };
        match (flags.has(Flags::SYN), flags.has(Flags::ACK)) {
            (true, false) => early.syn = early.syn.sent(at),
            (true, true) => {
                self.handshake.callee = first(callee, early.syn.nanos_to(at));
                if early.answer == Opening::Unseen {
                    self.handshake.callee_end = way as u8;
                }
                early.answer = early.answer.sent(at);
            }
            (false, true) => self.handshake.caller = first(caller, early.answer.nanos_to(at)),
            (false, false) => {}
        }
    }

    /// Delays not yet handed over.
    pub(super) fn times(&self) -> StreamTimes {
        let round_trips = self.directions.each_ref().map(|direction| direction.round_trips);
        let delayed_acks = self.directions.each_ref().map(|direction| direction.delayed_acks);
        StreamTimes { ends: self.ends, handshake: self.handshake, round_trips, delayed_acks }
    }

    /// Clears the delays after they were handed over.
    pub(super) fn clear_times(&mut self) {
        self.handshake = Handshake::NONE;
        self.clear_round_trips();
    }

    /// Clears the round trips, so that they count from now on.
    pub(super) fn clear_round_trips(&mut self) {
        for direction in &mut self.directions {
            (direction.round_trips, direction.delayed_acks) = (Times::NONE, Times::NONE);
        }
    }

    /// Hands the delays over to hosts, and to the connection that it carries.
    pub(super) fn hand_over(&mut self, tracker: &mut Tracker) {
        if self.early.is_none() {
            self.times().go_to(tracker);
            self.clear_times();
        }
    }
}

/// TCP delays of a stream, by sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carriage {
    pub(crate) ends: [Party; 2],
    pub(crate) waits: [Waits; 2],
}

impl Streams {
    /// Delays of each stream not yet handed over.
    pub(super) fn each_carried(&self) -> impl Iterator<Item = Carriage> {
        let flows = self.slab.iter().filter(|(_, flow, _)| flow.early.is_none());
        flows.map(|(_, flow, _)| Carriage {
            ends: flow.ends.map(party),
            waits: flow.times().waits(),
        })
    }

    /// Ends of the streams with a segment at or after `since`.
    pub(crate) fn active(&self, since: Instant) -> impl Iterator<Item = [Party; 2]> {
        let active =
            move |(_, flow, heard): &(_, &Flow, Instant)| flow.early.is_none() && *heard >= since;
        self.slab.iter().filter(active).map(|(_, flow, _)| flow.ends.map(party))
    }

    /// Marks the hosts of streams with a segment at or after `since`, and of those that became known
    /// since then: the delays of a stream count once both its hosts are known.
    pub(crate) fn mark_hosts(&mut self, since: Instant, tracker: &mut Tracker) {
        for place in self.slab.places() {
            let heard = self.slab.heard(place);
            let Some(flow) = self.slab.get_mut(place).filter(|flow| flow.early.is_none()) else {
                continue;
            };
            let is_new = flow.hosts.is_none();
            if is_new {
                flow.hosts = tracker.hosts_of(&flow.ends.map(party));
            }
            if let Some([first, second]) = flow.hosts.filter(|_| is_new || heard >= since) {
                tracker.hosts.counts.mark(first);
                tracker.hosts.counts.mark(second);
            }
        }
    }

    /// Hosts and delays of the streams whose hosts are known. Call [`Streams::mark_hosts`] first.
    pub(crate) fn of_hosts(&self) -> impl Iterator<Item = ([HostKey; 2], impl Fn() -> [Waits; 2])> {
        let flows = self.slab.iter().filter(|(_, flow, _)| flow.early.is_none());
        flows.filter_map(|(_, flow, _)| Some((flow.hosts?, move || flow.times().waits())))
    }

    /// Delays of the stream between two parties.
    pub(crate) fn carried(&self, [first, second]: &[Party; 2]) -> Option<[Waits; 2]> {
        let [first, second] = [first.socket()?, second.socket()?];
        let is_swapped = first > second;
        let place = self.known(if is_swapped { [second, first] } else { [first, second] })?;
        let flow = self.slab.get(place).filter(|flow| flow.early.is_none())?;
        let mut waits = flow.times().waits();
        if is_swapped {
            waits.reverse();
        }
        Some(waits)
    }

    /// Hands the delays of the stream between two parties over to hosts, and to the connection that
    /// it carries.
    pub(crate) fn hand_over(&mut self, [first, second]: &[Party; 2], tracker: &mut Tracker) {
        let (Some(first), Some(second)) = (first.socket(), second.socket()) else { return };
        let ends = if first > second { [second, first] } else { [first, second] };
        if let Some(place) = self.known(ends) {
            self.slab.at(place).hand_over(tracker);
        }
    }
}
