//! How long TCP's own things took on a stream: its handshake, and round trips of the octets of both ends.
//!
//! They are added up here, and go to hosts and connections when somebody asks, when another connection begins on the
//! stream, and when the stream is forgotten.

use super::{Flow, Streams, party};
use crate::measure::{Times, Waits};
use crate::moment::Moment;
use crate::track::{Carried, Party, Tracker};
use wire::addr::Socket;
use wire::tcp::Flags;
use wire::time::Instant;

/// A segment that opens a stream. What answers one that was sent again answers nobody knows which, so that no time
/// is taken (RFC 6298, 3, after Karn).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opening {
    Unseen,
    Once(Instant),
    Again,
}

impl Opening {
    /// Takes notice that it was sent now.
    const fn sent(self, at: Instant) -> Self {
        match self {
            Self::Unseen => Self::Once(at),
            Self::Once(_) | Self::Again => Self::Again,
        }
    }

    /// How many nanoseconds after it this is, if that can be told.
    const fn nanos_to(self, at: Instant) -> Option<u64> {
        match self {
            Self::Once(since) => Some(at.nanos_since(since)),
            Self::Unseen | Self::Again => None,
        }
    }
}

/// How long the opening of a stream took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// How many nanoseconds the callee took to answer, and the caller after that.
    callee: Moment,
    caller: Moment,
    /// Which end is the callee.
    callee_end: u8,
}

impl Handshake {
    pub(super) const NONE: Self =
        Self { callee: Moment::NEVER, caller: Moment::NEVER, callee_end: 0 };

    /// How many nanoseconds the callee took to answer, and the caller after that; none where that was not seen.
    pub(super) const fn nanos(&self) -> [Option<u64>; 2] {
        [self.callee.nanos(), self.caller.nanos()]
    }
}

/// What was added up and has not gone to hosts and connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamTimes {
    ends: [Socket; 2],
    handshake: Handshake,
    /// Of the octets of each end.
    round_trips: [Times; 2],
    delayed_acks: [Times; 2],
}

impl StreamTimes {
    /// Of what each end sent.
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

    /// Goes to the hosts at both ends, and to the connection between them.
    pub(super) fn go_to(&self, tracker: &mut Tracker) {
        let waits = self.waits();
        if !waits.iter().all(Waits::is_without_tcp) {
            tracker.carried(&self.ends.map(party), &waits);
        }
    }
}

impl Flow {
    /// Takes notice of the three segments with which it opens; this one is of one end.
    pub(super) fn handshake(&mut self, at: Instant, way: usize, flags: Flags) {
        let Some(early) = &mut self.early else { return };
        let [callee, caller] = self.handshake.nanos();
        let first = |known: Option<u64>, now: Option<u64>| {
            known.or(now).map_or(Moment::NEVER, Moment::of_nanos)
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

    /// What was added up and has not gone to hosts and connections.
    pub(super) fn times(&self) -> StreamTimes {
        let round_trips = self.directions.each_ref().map(|direction| direction.round_trips);
        let delayed_acks = self.directions.each_ref().map(|direction| direction.delayed_acks);
        StreamTimes { ends: self.ends, handshake: self.handshake, round_trips, delayed_acks }
    }

    /// All that was added up has gone to hosts and connections.
    pub(super) fn forget_times(&mut self) {
        self.handshake = Handshake::NONE;
        self.forget_round_trips();
    }

    /// Round trips count from now on.
    pub(super) fn forget_round_trips(&mut self) {
        for direction in &mut self.directions {
            (direction.round_trips, direction.delayed_acks) = (Times::NONE, Times::NONE);
        }
    }

    /// Has hosts, and the connection that it carries, have what was added up.
    pub(super) fn hand_over(&mut self, tracker: &mut Tracker) {
        if self.early.is_none() {
            self.times().go_to(tracker);
            self.forget_times();
        }
    }
}

impl Streams {
    /// What was added up of each stream and has not gone to hosts.
    pub(crate) fn each_carried(&self) -> impl Iterator<Item = ([Party; 2], [Waits; 2])> {
        let flows = self.slab.iter().filter(|(_, flow, _)| flow.early.is_none());
        flows.map(|(_, flow, _)| (flow.ends.map(party), flow.times().waits()))
    }

    /// What was added up of the stream between two parties, and when it was heard last.
    pub(crate) fn carried(&self, [first, second]: &[Party; 2]) -> Option<Carried> {
        let [first, second] = [first.socket()?, second.socket()?];
        let is_swapped = first > second;
        let place = self.known(if is_swapped { [second, first] } else { [first, second] })?;
        let flow = self.slab.get(place).filter(|flow| flow.early.is_none())?;
        let mut waits = flow.times().waits();
        if is_swapped {
            waits.reverse();
        }
        Some(Carried { waits, heard: self.slab.heard(place) })
    }

    /// Has hosts, and the connection that it carries, have what was added up of the stream between two parties.
    pub(crate) fn hand_over(&mut self, [first, second]: &[Party; 2], tracker: &mut Tracker) {
        let (Some(first), Some(second)) = (first.socket(), second.socket()) else { return };
        let ends = if first > second { [second, first] } else { [first, second] };
        if let Some(place) = self.known(ends) {
            self.slab.at(place).hand_over(tracker);
        }
    }
}
