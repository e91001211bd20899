//! Packets of TCP streams with their positions: the last octet of each in its stream, and the
//! segments in which that octet passed. Used to compare the captures of two taps.
//!
//! Streams are followed as in [`Streams`](super::Streams), and a copy by a mirror port counts once.
//!
//! Left out: packets whose last octet was not seen; the individual TPDUs of a packet; segments
//! retransmitted after [`BACK`] more packets of their direction, or [`REMEMBERED`] of all.

use super::direction::{Aside, Direction, Open, ahead};
use super::framer::{Context, Found, Packet};
use super::passed::Passed;
use super::{hash, look_at};
use crate::lru_slab::{LruSlab, Place};
use crate::observation::Order;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::collections::VecDeque;
use wire::addr::Socket;
use wire::dissect::Piece;
use wire::tcp::Flags;
use wire::time::Instant;
use wire::tpkt;

/// Limit of segments of a direction that wait for earlier octets.
const WAITING: usize = 256;
/// Limit of octets held beyond gaps and in waiting segments, of all streams.
const HELD_OCTETS: usize = 4 << 20;
/// Recent packets kept, of all streams.
const REMEMBERED: u32 = 1 << 16;
/// Number of recent packets searched for a retransmitted segment.
const BACK: usize = 1 << 14;

/// Segment with data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Carrier {
    pub(crate) at: Instant,
    /// Number of its first octet.
    pub(crate) first: u32,
    pub(crate) octets: u32,
}

impl Carrier {
    /// True if it contains the octet with this number.
    const fn holds(&self, number: u32) -> bool {
        number.wrapping_sub(self.first) < self.octets
    }
}

/// Packet of a stream, and a segment in which its last octet passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Observation {
    pub(crate) carrier: Carrier,
    /// Sender and receiver.
    pub(crate) ends: [Socket; 2],
    /// Number of its last octet.
    pub(crate) last: u32,
    /// Octets of the whole packet.
    pub(crate) octets: u32,
    /// True if the packet was already seen in another segment.
    pub(crate) is_again: bool,
}

/// Recent packet.
#[derive(Clone, Copy, Debug)]
struct Past {
    last: u32,
    octets: u32,
    /// Number of the previous packet of its direction, which may have been evicted.
    before: Option<u32>,
}

/// Recent packets of all streams, numbered in order.
#[derive(Clone, Debug, Default)]
struct Latest {
    /// Ring, indexed by number modulo its size.
    ring: Vec<Past>,
    count: u32,
}

impl Latest {
    /// Adds a packet; returns its number.
    fn push(&mut self, past: Past) -> u32 {
        let number = self.count;
        self.count = self.count.wrapping_add(1);
        match self.ring.get_mut((number % REMEMBERED) as usize) {
            Some(place) => *place = past,
            None => self.ring.push(past),
        }
        number
    }

    /// Recent packets of a direction, latest first.
    fn back(&self, newest: Option<u32>) -> impl Iterator<Item = Past> {
        let known = |number: &u32| self.count.wrapping_sub(*number) <= REMEMBERED;
        let mut next = newest;
        let pasts = core::iter::from_fn(move || {
            let number = next.filter(known)?;
            let past = *self.ring.get((number % REMEMBERED) as usize)?;
            next = past.before;
            Some(past)
        });
        pasts.take(BACK)
    }
}

/// One direction of a connection.
#[derive(Clone, Debug)]
struct Way {
    direction: Direction,
    aside: Aside,
    /// Segments that reach beyond the octets delivered in order.
    waiting: VecDeque<Carrier>,
    /// Number of its latest packet.
    newest: Option<u32>,
}

impl Way {
    /// Octets held for it.
    fn held_octets(&self) -> usize {
        self.aside.held_octets() + self.waiting.len() * size_of::<Carrier>()
    }
}

/// TCP connection.
#[derive(Clone, Debug)]
struct Flow {
    ends: [Socket; 2],
    ways: [Way; 2],
    is_mixed: bool,
    is_over: bool,
}

/// State shared by all connections while packets are reported.
struct Light<'a> {
    passed: &'a mut Passed,
    latest: &'a mut Latest,
    /// Ends and sizes of packets, empty between uses.
    packets: &'a mut Vec<(u32, u32)>,
    seen: &'a mut dyn FnMut(Observation),
}

impl Flow {
    fn new(ends: [Socket; 2]) -> Self {
        let way = || Way {
            direction: Direction::new(),
            aside: Aside::default(),
            waiting: VecDeque::new(),
            newest: None,
        };
        Self { ends, ways: [way(), way()], is_mixed: false, is_over: false }
    }

    fn held_octets(&self) -> usize {
        self.ways.iter().map(Way::held_octets).sum()
    }

    /// Sender and receiver of a direction.
    const fn ends(&self, way: usize) -> [Socket; 2] {
        let [low, high] = self.ends;
        if way == 0 { [low, high] } else { [high, low] }
    }

    /// Runs `act` on a direction, and reports the packets that it completes.
    fn act(
        &mut self,
        way: usize,
        light: &mut Light<'_>,
        act: impl FnOnce(Open<'_>, Context, &mut dyn FnMut(Found<'_>)) -> isize,
    ) {
        let ends = self.ends(way);
        let is_known_back = self.ways[1 - way].direction.is_recognised();
        let context = Context {
            is_mixed: self.is_mixed,
            is_known_back,
            keeps_whole: false,
            passes_octets: false,
        };
        let mut is_mixed = self.is_mixed;
        let Way { direction, aside, .. } = &mut self.ways[way];
        act(Open { direction, aside }, context, &mut |found| {
            let Found::Packet(packet) = found else { return };
            look_at(&packet, &mut is_mixed, &mut None);
            let Packet { octets, missing_octets, end, .. } = packet;
            let octets = (tpkt::HEADER_OCTETS + octets.len() + missing_octets) as u32;
            light.packets.push((end, octets));
        });
        self.is_mixed = is_mixed;
        let way = &mut self.ways[way];
        for (end, octets) in light.packets.drain(..) {
            let last = end.wrapping_sub(1);
            for carrier in way.waiting.iter().filter(|carrier| carrier.holds(last)) {
                let carrier = *carrier;
                (light.seen)(Observation { carrier, ends, last, octets, is_again: false });
            }
            let past = Past { last, octets, before: way.newest };
            way.newest = Some(light.latest.push(past));
        }
        let next = way.direction.next();
        let is_ahead = |carrier: &Carrier| {
            let end = carrier.first.wrapping_add(carrier.octets);
            next.is_some_and(|next| ahead(next, end) > 0)
        };
        way.waiting.retain(is_ahead);
    }

    /// Reports packets seen before whose last octet is in this segment.
    fn report_repeated(&self, way: usize, carrier: Carrier, light: &mut Light<'_>) {
        let ends = self.ends(way);
        let repeated = light.latest.back(self.ways[way].newest);
        for Past { last, octets, .. } in
            repeated.take_while(|past| ahead(carrier.first, past.last) >= 0)
        {
            if carrier.holds(last) {
                (light.seen)(Observation { carrier, ends, last, octets, is_again: true });
            }
        }
    }

    /// Takes the octets of a segment.
    fn take(&mut self, way: usize, at: Instant, piece: &Piece<'_>, light: &mut Light<'_>) {
        let first = piece.sequence.wrapping_add(u32::from(piece.flags.has(Flags::SYN)));
        let octets = (piece.octets.len() + piece.missing_octets) as u32;
        if octets > 0 {
            let carrier = Carrier { at, first, octets };
            if self.ways[way].direction.next().is_some_and(|next| ahead(next, first) < 0) {
                self.report_repeated(way, carrier, light);
            }
            let waiting = &mut self.ways[way].waiting;
            if waiting.len() >= WAITING {
                waiting.pop_front();
            }
            waiting.push_back(carrier);
        }
        let acknowledged = self.ways[1 - way].direction.acknowledged();
        self.act(way, light, |mut open, context, found| {
            open.take(at, piece, acknowledged, context, found)
        });
    }

    /// Gives up every gap of a direction.
    fn flush(&mut self, way: usize, light: &mut Light<'_>) {
        self.act(way, light, |mut open, context, found| open.flush(context, found));
    }

    /// Processes a segment.
    fn segment(&mut self, way: usize, at: Instant, piece: &Piece<'_>, light: &mut Light<'_>) {
        let direction = &mut self.ways[way].direction;
        if direction.is_copy(at, piece, light.passed) {
            return;
        }
        let order = direction.order(piece);
        direction.acknowledges(piece);
        if piece.flags.has(Flags::ACK) && !self.ways[1 - way].direction.holds_nothing() {
            self.act(1 - way, light, |mut open, context, found| {
                open.has_arrived(piece.acknowledgement, context, found)
            });
        }
        if order != Order::KeepAlive {
            self.take(way, at, piece, light);
        }
        if piece.flags.has(Flags::RST) || piece.flags.has(Flags::FIN) {
            self.flush(way, light);
            self.is_over = true;
        }
    }
}

/// All TCP connections at a tap.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    /// For lookups only, never iterated, so its order cannot show.
    index: HashTable<Place>,
    state: FixedState,
    slab: LruSlab<Flow>,
    passed: Passed,
    latest: Latest,
    packets: Vec<(u32, u32)>,
    held_octets: usize,
}

impl Located {
    /// Follows up to `maximum` connections; the least recently used is evicted for another.
    pub(crate) fn new(maximum: usize) -> Self {
        Self {
            index: HashTable::new(),
            state: FixedState::with_seed(0),
            slab: LruSlab::new(maximum),
            passed: Passed::new(),
            latest: Latest::default(),
            packets: Vec::new(),
            held_octets: 0,
        }
    }

    /// Octets held beyond gaps and in waiting segments.
    pub(crate) const fn held_octets(&self) -> usize {
        self.held_octets
    }

    /// Processes a segment.
    pub(crate) fn observe(
        &mut self,
        at: Instant,
        piece: &Piece<'_>,
        seen: &mut dyn FnMut(Observation),
    ) {
        let sent = [piece.source, piece.destination];
        let way = usize::from(piece.source > piece.destination);
        let ends = if way == 0 { sent } else { [sent[1], sent[0]] };
        let place = self.find(at, ends);
        self.slab.touch(place, at);
        let Self { slab, passed, latest, packets, held_octets, .. } = self;
        let flow = slab.at(place);
        let before = flow.held_octets();
        let has_begun_anew = flow.is_over || flow.ways[way].direction.is_begun_anew(piece);
        if piece.flags.has(Flags::SYN) && !piece.flags.has(Flags::ACK) && has_begun_anew {
            *flow = Flow::new(ends);
        }
        let light = &mut Light { passed, latest, packets, seen };
        flow.segment(way, at, piece, light);
        *held_octets = *held_octets + flow.held_octets() - before;
        if *held_octets > HELD_OCTETS {
            let before = flow.held_octets();
            [0, 1].into_iter().for_each(|way| flow.flush(way, light));
            *held_octets = *held_octets + flow.held_octets() - before;
        }
    }

    /// Gives up every gap, so that the octets held beyond it count.
    pub(crate) fn finish(&mut self, seen: &mut dyn FnMut(Observation)) {
        let Self { slab, passed, latest, packets, .. } = self;
        let light = &mut Light { passed, latest, packets, seen };
        for place in slab.places() {
            if slab.get(place).is_some_and(|flow| flow.held_octets() > 0) {
                let flow = slab.at(place);
                [0, 1].into_iter().for_each(|way| flow.flush(way, light));
            }
        }
    }

    fn find(&mut self, at: Instant, ends: [Socket; 2]) -> Place {
        let name = hash(&self.state, ends);
        let slab = &self.slab;
        let is_it = |place: &Place| slab.get(*place).is_some_and(|flow| flow.ends == ends);
        if let Some(place) = self.index.find(name, is_it) {
            return *place;
        }
        if self.slab.is_full()
            && let Some(oldest) = self.slab.oldest()
        {
            self.evict(oldest);
        }
        let place = self.slab.insert(Flow::new(ends), at);
        let (slab, state) = (&self.slab, &self.state);
        self.index.insert_unique(name, place, |place| {
            slab.get(*place).map_or(0, |flow| hash(state, flow.ends))
        });
        place
    }

    fn evict(&mut self, place: Place) {
        let Some(flow) = self.slab.remove(place) else { return };
        self.held_octets -= flow.held_octets();
        let name = hash(&self.state, flow.ends);
        if let Ok(entry) = self.index.find_entry(name, |found| *found == place) {
            entry.remove();
        }
    }
}
