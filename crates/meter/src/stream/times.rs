//! TCP delays of a stream: its handshake, and round trips of the octets of both ends.
//!
//! They are summed here, and handed over to hosts and connections for a report, when another
//! connection begins on the stream, and when the stream is evicted.

use super::direction::{self, Direction, Open};
use super::flow::{Aside, Flags, Flow};
use super::handshake::{Handshake, Opening};
use super::short_times::ShortTimes;
use super::{Streams, party};
use crate::host::HostKey;
use crate::measure::{Times, Waits};
use crate::track::{Party, Tracker};
use wire::addr::Socket;
use wire::tcp;
use wire::time::Instant;

/// Delays not yet handed over, unpacked on use.
#[derive(Clone, Debug)]
pub(super) struct StreamTimes {
    handshake: Handshake,
    /// Halves of the handshake that are long.
    long_handshake: [u64; 2],
    /// End that is the callee.
    callee_end: usize,
    /// Round trips of the octets of each end, and delayed ACKs.
    short: [[ShortTimes; 2]; 2],
    /// Those that were added up before, by end.
    long: [[Times; 2]; 2],
}

/// Delays of a connection while its direction `way` changes: unpacked only where they are handed over, since that is rare
/// and every segment may ask for it.
#[derive(Clone, Copy)]
pub(super) struct Delays<'a> {
    pub(super) way: usize,
    pub(super) handshake: Handshake,
    pub(super) flags: Flags,
    /// Those of the direction, and those of it that were added up before.
    pub(super) own: [ShortTimes; 2],
    pub(super) own_long: Option<&'a [Times; 2]>,
    /// The other direction, and what the connection has aside.
    pub(super) peer: &'a Direction,
    pub(super) aside: Option<&'a Aside>,
}

impl Delays<'_> {
    /// The delays as they are now.
    pub(super) fn unpacked(&self) -> StreamTimes {
        let Self { way, handshake, flags, own, own_long, peer, aside } = *self;
        let peer_long = aside.and_then(|aside| aside.long_times(1 - way));
        let mut short = [own, peer.times()];
        let mut long = [own_long, peer_long].map(|long| long.copied().unwrap_or([Times::NONE; 2]));
        if way == 1 {
            short.reverse();
            long.reverse();
        }
        let long_handshake = aside.and_then(|aside| aside.handshake.as_deref());
        StreamTimes {
            handshake,
            long_handshake: long_handshake.copied().unwrap_or_default(),
            callee_end: usize::from(flags.has(Flags::SECOND_ANSWERED)),
            short,
            long,
        }
    }
}

impl StreamTimes {
    /// Delays, by sender.
    fn waits(&self) -> [Waits; 2] {
        let [callee, caller] = self.handshake.nanos(&self.long_handshake);
        [0, 1].map(|end: usize| {
            let one = |nanos: Option<u64>, is_of_end: bool| {
                nanos.filter(|_| is_of_end).map_or_else(Times::default, Times::one)
            };
            let is_callee = end == self.callee_end;
            let mut times = self.short[end].map(|short| short.times());
            times.iter_mut().zip(&self.long[end]).for_each(|(sum, more)| sum.add(more));
            let [round_trip, delayed_ack] = times;
            Waits {
                callee_handshake: one(callee, is_callee),
                caller_handshake: one(caller, !is_callee),
                round_trip,
                delayed_ack,
                ..Waits::default()
            }
        })
    }

    /// Hands the delays over to the hosts at both ends, and to the connection between them.
    pub(super) fn go_to(&self, ends: [Socket; 2], tracker: &mut Tracker) {
        let waits = self.waits();
        if !waits.iter().all(Waits::is_without_tcp) {
            tracker.carried(&ends.map(party), &waits);
        }
    }
}

impl Flow {
    /// Processes one of the three segments of the handshake, sent by the end `way`.
    pub(super) fn handshake(&mut self, at: Instant, way: usize, flags: tcp::Flags) {
        let is_plain_ack = !flags.has(tcp::Flags::SYN) && flags.has(tcp::Flags::ACK);
        if !self.is_early() || is_plain_ack && self.handshake.has_caller() {
            return;
        }
        let [callee, caller] = self.handshake_nanos();
        let Some(early) = self.aside.as_mut().and_then(|aside| aside.early.as_mut()) else {
            return;
        };
        let (half, nanos) = match (flags.has(tcp::Flags::SYN), flags.has(tcp::Flags::ACK)) {
            (true, false) => {
                early.syn = early.syn.sent(at);
                return;
            }
            (true, true) => {
                let nanos = callee.or(early.syn.nanos_to(at));
                let is_first = early.answer == Opening::Unseen;
                early.answer = early.answer.sent(at);
                if is_first {
                    self.flags.set(Flags::SECOND_ANSWERED, way == 1);
                }
                (0, nanos)
            }
            (false, true) => (1, caller.or(early.answer.nanos_to(at))),
            (false, false) => return,
        };
        self.set_handshake(half, nanos);
    }

    fn set_handshake(&mut self, half: usize, nanos: Option<u64>) {
        let is_long = self.handshake.set(half, nanos);
        if let Some(nanos) = nanos.filter(|_| is_long) {
            let aside = self.aside.get_or_insert_default();
            aside.handshake.get_or_insert_default()[half] = nanos;
        }
    }

    fn long_handshake(&self) -> [u64; 2] {
        let aside = self.aside.as_ref().and_then(|aside| aside.handshake.as_deref());
        aside.copied().unwrap_or_default()
    }

    /// Nanoseconds until the callee answered, then until the caller did; none if not seen.
    pub(super) fn handshake_nanos(&self) -> [Option<u64>; 2] {
        self.handshake.nanos(&self.long_handshake())
    }

    /// The direction `way`, to be changed with what it has aside, and the delays meanwhile.
    pub(super) fn open<'a>(
        &'a mut self,
        way: usize,
        own_aside: &'a mut direction::Aside,
        own_long: Option<&'a [Times; 2]>,
    ) -> (Open<'a>, Delays<'a>) {
        let (handshake, flags, aside) = (self.handshake, self.flags, self.aside.as_deref());
        let [first, second] = &mut self.directions;
        let (direction, peer) = if way == 0 { (first, &*second) } else { (second, &*first) };
        let own = direction.times();
        let delays = Delays { way, handshake, flags, own, own_long, peer, aside };
        (Open { direction, aside: own_aside }, delays)
    }

    /// Delays not yet handed over.
    pub(super) fn times(&self) -> StreamTimes {
        let [first, second] = &self.directions;
        let aside = self.aside.as_deref();
        let own_long = aside.and_then(|aside| aside.long_times(0));
        let (handshake, flags) = (self.handshake, self.flags);
        let own = first.times();
        Delays { way: 0, handshake, flags, own, own_long, peer: second, aside }.unpacked()
    }

    /// Clears the delays after they were handed over.
    pub(super) fn clear_times(&mut self) {
        self.handshake = Handshake::NONE;
        self.clear_round_trips();
    }

    /// Hands the delays over to hosts, and to the connection that it carries.
    pub(super) fn hand_over(&mut self, tracker: &mut Tracker) {
        if !self.is_early() {
            self.times().go_to(self.ends(), tracker);
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
        let flows = self.slab.iter().filter(|(_, flow, _)| !flow.is_early());
        flows.map(|(_, flow, _)| Carriage {
            ends: flow.ends().map(party),
            waits: flow.times().waits(),
        })
    }

    /// Ends of the streams with a segment at or after `since`.
    pub(crate) fn active(&self, since: Instant) -> impl Iterator<Item = [Party; 2]> {
        let active =
            move |(_, flow, heard): &(_, &Flow, Instant)| !flow.is_early() && *heard >= since;
        self.slab.iter().filter(active).map(|(_, flow, _)| flow.ends().map(party))
    }

    /// Marks the hosts of streams with a segment at or after `since`, and of those that became known
    /// since then: the delays of a stream count once both its hosts are known.
    pub(crate) fn mark_hosts(&mut self, since: Instant, tracker: &mut Tracker) {
        for place in self.slab.places() {
            let heard = self.slab.heard(place);
            let Some(flow) = self.slab.get_mut(place).filter(|flow| !flow.is_early()) else {
                continue;
            };
            let is_new = flow.hosts().is_none();
            if is_new {
                let hosts = tracker.hosts_of(&flow.ends().map(party));
                hosts.into_iter().for_each(|hosts| flow.set_hosts(hosts));
            }
            if let Some([first, second]) = flow.hosts().filter(|_| is_new || heard >= since) {
                tracker.hosts.counts.mark(first);
                tracker.hosts.counts.mark(second);
            }
        }
    }

    /// Hosts and delays of the streams whose hosts are known. Call [`Streams::mark_hosts`] first.
    pub(crate) fn of_hosts(&self) -> impl Iterator<Item = ([HostKey; 2], impl Fn() -> [Waits; 2])> {
        let flows = self.slab.iter().filter(|(_, flow, _)| !flow.is_early());
        flows.filter_map(|(_, flow, _)| Some((flow.hosts()?, move || flow.times().waits())))
    }

    /// Delays of the stream between two parties.
    pub(crate) fn carried(&self, [first, second]: &[Party; 2]) -> Option<[Waits; 2]> {
        let [first, second] = [first.socket()?, second.socket()?];
        let is_swapped = first > second;
        let place = self.known(if is_swapped { [second, first] } else { [first, second] })?;
        let flow = self.slab.get(place).filter(|flow| !flow.is_early())?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::over_ipv4;
    use crate::{Meter, Settings};
    use core::time::Duration;
    use wire::dissect::Link;

    const SECOND: u64 = 1_000_000_000;
    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;

    /// Segment of the caller, host 1, or of the callee, host 2, to the other.
    fn segment(from: u8, flags: u8, [sequence, acknowledgement]: [u32; 2], data: &[u8]) -> Vec<u8> {
        let (to, ports) = (3 - from, if from == 1 { [1_024, 102] } else { [102, 1_024] });
        let segment =
            tcp::Pdu::between(ports, tcp::Flags(flags), [sequence, acknowledgement], data);
        over_ipv4(&segment, [from, to], 0, &[])
    }

    #[test]
    fn delays_of_any_length_and_number_are_summed() {
        let silence = Duration::from_secs(3_600);
        let mut meter = Meter::new(Settings { silence, ..Settings::every(silence) });
        let mut observe = |nanos: u64, frame: Vec<u8>| {
            meter.observe(Instant::from_nanos(nanos), Link::Ethernet, &frame, frame.len());
        };
        observe(0, segment(1, SYN, [0, 0], &[]));
        observe(5 * SECOND, segment(2, SYN | ACK, [0, 1], &[]));
        observe(11 * SECOND, segment(1, ACK, [1, 1], &[3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0]));
        observe(12 * SECOND, segment(2, ACK, [1, 12], &[3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0]));
        let dt = [3, 0, 0, 8, 2, 0xF0, 0x80, 7];
        let (mut next, mut at) = (12, 13 * SECOND);
        // Each DT is acknowledged alone, 70,000 after 1 us and the last after 1,200 s.
        for delay in core::iter::repeat_n(1_000, 70_000).chain([1_200 * SECOND]) {
            observe(at, segment(1, ACK, [next, 12], &dt));
            next += dt.len() as u32;
            at += delay;
            observe(at, segment(2, ACK, [12, next], &[]));
            at += 20_000;
        }
        let known: Vec<_> = meter.each_connection().collect();
        let [connection] = &known[..] else { panic!("{} connections", known.len()) };
        let [caller, callee] = connection.directions.each_ref().map(|direction| direction.waits);
        // CR and CC are acknowledged with data after a second.
        assert_eq!([caller.round_trip, callee.round_trip], [Times::one(SECOND); 2]);
        let (total_ns, max_ns) = (70_000_000 + 1_200 * SECOND, 1_200 * SECOND);
        assert_eq!(caller.delayed_ack, Times { count: 70_001, total_ns, max_ns });
        assert_eq!(callee.callee_handshake, Times::one(5 * SECOND));
        assert_eq!(caller.caller_handshake, Times::one(6 * SECOND));
    }
}
