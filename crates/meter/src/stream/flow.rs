//! TCP connection: both directions, its ends, and what few connections need, aside.

use super::direction::{self, Direction};
use super::framer::Context;
use super::handshake::{Handshake, Opening};
use crate::follow::transactions::{Carrier, Event, Part};
use crate::host::HostKey;
use crate::measure::{Streams as Counts, Times};
use crate::observation::{DelayKind, Observation, Segment};
use crate::track::{Results as _, Sink};
use core::net::{Ipv4Addr, Ipv6Addr};
use wire::addr::Socket;
use wire::time::Instant;
use wire::tp::Reference;

/// State of a stream not yet known to carry TPKTs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Early {
    pub(super) counts: Counts,
    pub(super) syn: Opening,
    /// The answering SYN.
    pub(super) answer: Opening,
}

/// State that few connections need.
#[derive(Clone, Debug, Default)]
pub(super) struct Aside {
    /// None once it is known to carry TPKTs.
    pub(super) early: Option<Early>,
    ways: [direction::Aside; 2],
    /// Addresses of its ends, unless both are of IPv4.
    addresses: Option<Box<[Ipv6Addr; 2]>>,
    /// Halves of the handshake in nanoseconds that are too long for the connection.
    pub(super) handshake: Option<Box<[u64; 2]>>,
}

impl Aside {
    /// Round trips of a direction's octets, and delayed ACKs, that were added up before.
    pub(super) fn long_times(&self, way: usize) -> Option<&[Times; 2]> {
        self.ways[way].times()
    }

    fn is_empty(&self) -> bool {
        self.early.is_none()
            && self.ways.iter().all(direction::Aside::is_empty)
            && self.addresses.is_none()
            && self.handshake.is_none()
    }
}

/// Properties of a connection, a bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flags(u16);

impl Flags {
    /// It is not known yet to carry TPKTs.
    pub(super) const EARLY: u16 = 1;
    /// PDUs of RDP may come between the packets.
    pub(super) const MIXED: u16 = 2;
    /// Packets that segments divide are kept whole.
    pub(super) const KEEPS_WHOLE: u16 = 4;
    /// It was closed or aborted.
    pub(super) const OVER: u16 = 8;
    /// A packet has passed.
    pub(super) const CARRIED: u16 = 16;
    /// A CR has passed.
    const REQUESTED: u16 = 32;
    /// The callee is the second end.
    pub(super) const SECOND_ANSWERED: u16 = 64;
    /// The hosts at its ends are known.
    const HOSTS: u16 = 128;
    /// Its addresses are aside.
    const ADDRESSES_ASIDE: u16 = 256;
    /// Its ports are those of a protocol whose requests and replies are followed.
    const REQUESTS: u16 = 512;

    #[inline]
    pub(super) const fn has(self, flag: u16) -> bool {
        self.0 & flag != 0
    }

    pub(super) const fn set(&mut self, flag: u16, is_set: bool) {
        self.0 = if is_set { self.0 | flag } else { self.0 & !flag };
    }
}

/// TCP connection. In the order of its fields, so that a segment touches few cache lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Flow {
    pub(super) aside: Option<Box<Aside>>,
    /// Directions, by sender.
    pub(crate) directions: [Direction; 2],
    pub(super) flags: Flags,
    /// Reference of its last CR, if one has passed.
    request: Reference,
    /// Ports of its ends, the lower socket first, and their addresses of IPv4.
    ports: [u16; 2],
    addresses: [Ipv4Addr; 2],
    pub(super) handshake: Handshake,
    hosts: [HostKey; 2],
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Flow>() == 144);

impl Flow {
    /// Connection without segments between two ends, the lower first.
    pub(super) fn new(ends: [Socket; 2], keeps_whole: bool) -> Self {
        let mut flags = Flags(Flags::EARLY);
        flags.set(Flags::KEEPS_WHOLE, keeps_whole);
        flags.set(Flags::REQUESTS, Carrier::of(ends).is_some());
        let [first, second] = ends.map(|end| end.address.to_ipv4_mapped());
        let of_ipv4 = first.zip(second).map(|(first, second)| [first, second]);
        flags.set(Flags::ADDRESSES_ASIDE, of_ipv4.is_none());
        let addresses = of_ipv4.is_none().then(|| Box::new(ends.map(|end| end.address)));
        let early =
            Early { counts: Counts::default(), syn: Opening::Unseen, answer: Opening::Unseen };
        Self {
            aside: Some(Box::new(Aside { early: Some(early), addresses, ..Aside::default() })),
            directions: [Direction::new(), Direction::new()],
            flags,
            request: Reference(0),
            ports: ends.map(|end| end.port),
            addresses: of_ipv4.unwrap_or([Ipv4Addr::UNSPECIFIED; 2]),
            handshake: Handshake::NONE,
            hosts: [HostKey::OTHERS; 2],
        }
    }

    /// Its ends, the lower socket first.
    pub(crate) fn ends(&self) -> [Socket; 2] {
        let aside = self.aside.as_ref().and_then(|aside| aside.addresses.as_deref());
        let addresses = aside
            .copied()
            .unwrap_or_else(|| self.addresses.map(|address| address.to_ipv6_mapped()));
        [0, 1].map(|end: usize| Socket { address: addresses[end], port: self.ports[end] })
    }

    /// True if these are its ends.
    #[inline]
    pub(super) fn is_between(&self, ends: &[Socket; 2]) -> bool {
        let [first, second] = ends;
        if self.ports != [first.port, second.port] {
            return false;
        }
        if self.flags.has(Flags::ADDRESSES_ASIDE) {
            return self.ends() == *ends;
        }
        let [low, high] = self.addresses.map(|address| address.to_ipv6_mapped());
        first.address == low && second.address == high
    }

    /// True if it is not known yet to carry TPKTs.
    #[inline]
    pub(crate) const fn is_early(&self) -> bool {
        self.flags.has(Flags::EARLY)
    }

    /// Reference of its last CR.
    pub(super) fn request(&self) -> Option<Reference> {
        self.flags.has(Flags::REQUESTED).then_some(self.request)
    }

    /// Records the reference of a CR.
    pub(super) const fn set_request(&mut self, request: Option<Reference>) {
        if let Some(request) = request {
            self.request = request;
            self.flags.set(Flags::REQUESTED, true);
        }
    }

    /// Hosts at its ends, once both are known.
    pub(super) fn hosts(&self) -> Option<[HostKey; 2]> {
        self.flags.has(Flags::HOSTS).then_some(self.hosts)
    }

    /// Records the hosts at its ends.
    pub(super) const fn set_hosts(&mut self, hosts: [HostKey; 2]) {
        self.hosts = hosts;
        self.flags.set(Flags::HOSTS, true);
    }

    /// Octets held beyond gaps.
    pub(super) fn held_octets(&self) -> usize {
        let ways = self.aside.iter().flat_map(|aside| &aside.ways);
        ways.map(direction::Aside::held_octets).sum()
    }

    /// True if the last packet of a direction is complete.
    pub(super) fn is_between_packets(&self, way: usize) -> bool {
        self.aside.as_ref().is_none_or(|aside| aside.ways[way].is_between())
    }

    /// State aside of a direction; none is allocated for one that has none.
    pub(super) fn take_aside(&mut self, way: usize) -> direction::Aside {
        let aside = self.aside.as_mut();
        aside.map(|aside| core::mem::take(&mut aside.ways[way])).unwrap_or_default()
    }

    /// Puts the state aside of a direction back.
    pub(super) fn put_aside(&mut self, way: usize, aside: direction::Aside) {
        if self.aside.is_some() || !aside.is_empty() {
            self.aside.get_or_insert_default().ways[way] = aside;
        }
    }

    /// Frees the state aside, if there is none left.
    fn shrink(&mut self) {
        if self.aside.as_ref().is_some_and(|aside| aside.is_empty()) {
            self.aside = None;
        }
    }

    /// Context of a direction for its framer.
    pub(super) fn context(&self, way: usize) -> Context {
        Context {
            is_mixed: self.flags.has(Flags::MIXED),
            is_known_back: self.directions[1 - way].is_recognised(),
            keeps_whole: self.flags.has(Flags::KEEPS_WHOLE),
            passes_octets: self.has_requests(),
        }
    }

    /// True if its ports are those of a protocol whose requests and replies are followed.
    #[inline]
    pub(super) const fn has_requests(&self) -> bool {
        self.flags.has(Flags::REQUESTS)
    }

    /// Protocol that carries requests and replies, if its ports are those of one.
    #[inline]
    pub(super) fn carrier(&self) -> Option<Carrier> {
        if self.has_requests() { Carrier::of(self.ends()) } else { None }
    }

    /// Passes a part of it to the follower of requests and replies, if it may have any; true if that
    /// reads PDUs of its direction.
    pub(super) fn pass(&self, at: Instant, part: Part<'_>, sink: &mut Sink<'_>) -> bool {
        self.carrier().is_some_and(|carrier| {
            sink.transactions.pass(at, Event { carrier, part }, sink.oddities)
        })
    }

    /// Adds a delay of a direction in nanoseconds.
    #[inline]
    pub(crate) fn note(&mut self, way: usize, kind: DelayKind, nanos: u64) {
        if !self.directions[way].note(kind, nanos) {
            self.note_aside(way, kind, nanos);
        }
    }

    /// Adds a delay that the direction has no room for.
    #[cold]
    pub(crate) fn note_aside(&mut self, way: usize, kind: DelayKind, nanos: u64) {
        let more = self.directions[way].take_times(kind);
        self.aside.get_or_insert_default().ways[way].add_times(kind, more, nanos);
    }

    /// Clears the round trips, so that they count from now on.
    pub(super) fn clear_round_trips(&mut self) {
        self.directions.iter_mut().for_each(Direction::clear_times);
        let ways = self.aside.iter_mut().flat_map(|aside| &mut aside.ways);
        ways.for_each(direction::Aside::clear_times);
    }

    /// Searches a direction for TPKTs no more, unless it has met some: other PDUs were read in it.
    pub(super) fn search_no_more(&mut self, way: usize) {
        if self.directions[way].search_no_more()
            && let Some(aside) = self.aside.as_mut()
        {
            aside.ways[way].forget_partial();
        }
    }

    /// Counts a segment.
    pub(super) fn count(&mut self, segment: Segment, sink: &mut Sink<'_>) {
        let observation = Observation::Segment(segment);
        sink.witness(|| observation);
        match self.aside.as_mut().and_then(|aside| aside.early.as_mut()) {
            Some(early) => early.counts.observe(&observation),
            None => sink.measures.observe(&observation),
        }
    }

    /// Marks it as carrying TPKTs, and counts its earlier segments.
    pub(super) fn recognise(&mut self, sink: &mut Sink<'_>) {
        let early = self.aside.as_mut().and_then(|aside| aside.early.take());
        let Some(early) = early else { return };
        self.flags.set(Flags::EARLY, false);
        sink.measures.streams.add(&early.counts);
        self.clear_round_trips();
        let both = [DelayKind::CalleeHandshake, DelayKind::CallerHandshake];
        for (between, span) in both.into_iter().zip(self.handshake_nanos()) {
            if let Some(span) = span {
                sink.span(between, span);
            }
        }
        self.shrink();
    }

    /// Records that it was closed or aborted.
    pub(super) const fn end(&mut self) {
        self.flags.set(Flags::OVER, true);
    }

    /// True if it was closed or aborted.
    pub(super) const fn is_over(&self) -> bool {
        self.flags.has(Flags::OVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_come_back_and_no_others_are_taken_for_them() {
        let of_ipv4 = |n| Ipv4Addr::new(10, 0, 0, n).to_ipv6_mapped();
        let of_ipv6 = |n| Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, n);
        let none = Ipv4Addr::UNSPECIFIED.to_ipv6_mapped();
        let addresses = [of_ipv4(1), of_ipv4(2), none, of_ipv6(1), of_ipv6(2)];
        let mut all: Vec<[Socket; 2]> = Vec::new();
        for first in addresses {
            for second in addresses {
                let sockets = [(first, 102), (second, 1_024)];
                all.push(sockets.map(|(address, port)| Socket { address, port }));
            }
        }
        for ends in &all {
            let flow = Flow::new(*ends, false);
            assert_eq!(flow.ends(), *ends);
            let alike: Vec<_> = all.iter().filter(|other| flow.is_between(other)).collect();
            assert_eq!(alike, [ends]);
            let [first, second] = *ends;
            assert!(!flow.is_between(&[Socket { port: 103, ..first }, second]));
        }
    }
}
