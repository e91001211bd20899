//! Packets of TCP streams with their places: which octet of its stream is the last of each, and in which
//! segments that octet passed. For whoever compares what two taps saw of the same streams.
//!
//! Streams are followed as in [`Streams`](super::Streams), and what a mirror port shows twice counts once.
//!
//! Left out: packets whose last octet was not seen; what several TPDUs of one packet are.

use super::direction::{Direction, ahead};
use super::framer::{Found, Packet};
use super::look_at;
use crate::sight::Order;
use crate::slab::{Place, Slab};
use std::collections::{BTreeMap, VecDeque};
use wire::addr::Socket;
use wire::dissect::Piece;
use wire::tcp::Flags;
use wire::time::Instant;
use wire::tpkt;

/// Segments of a direction that wait for what lies before them.
const WAITING: usize = 256;

/// A segment with data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Carrier {
    pub(crate) at: Instant,
    /// From where to where.
    pub(crate) ends: [Socket; 2],
    /// The number of its first octet.
    pub(crate) first: u32,
    pub(crate) octets: u32,
}

impl Carrier {
    /// Whether the octet with this number is in it.
    const fn holds(&self, number: u32) -> bool {
        number.wrapping_sub(self.first) < self.octets
    }
}

/// What is seen of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sight {
    /// A segment, before the packets that come to light by it.
    Segment(Carrier),
    /// A packet, with a segment in which its last octet passed.
    Packet {
        carrier: Carrier,
        /// The number of its last octet.
        last: u32,
        /// Of the whole packet.
        octets: u32,
    },
}

/// One way of a connection.
#[derive(Clone, Debug)]
struct Way {
    direction: Direction,
    /// The number of the first octet its framer was given.
    base: Option<u32>,
    /// Segments that reach beyond what has come in order.
    waiting: VecDeque<Carrier>,
}

impl Way {
    const fn number(&self, end: u32) -> u32 {
        match self.base {
            Some(base) => base.wrapping_add(end).wrapping_sub(1),
            None => end,
        }
    }
}

/// A connection.
#[derive(Clone, Debug)]
struct Flow {
    ends: [Socket; 2],
    ways: [Way; 2],
    is_mixed: bool,
    is_over: bool,
}

impl Flow {
    fn new(ends: [Socket; 2]) -> Self {
        let way = || Way { direction: Direction::new(), base: None, waiting: VecDeque::new() };
        Self { ends, ways: [way(), way()], is_mixed: false, is_over: false }
    }

    /// Does something to a direction, and tells of the packets that come to light.
    fn act(
        &mut self,
        way: usize,
        seen: &mut dyn FnMut(Sight),
        act: impl FnOnce(&mut Direction, (bool, bool), &mut dyn FnMut(Found<'_>)) -> isize,
    ) {
        let context = (self.is_mixed, self.ways[1 - way].direction.framer.is_recognised());
        let (mut is_mixed, mut packets) = (self.is_mixed, Vec::new());
        act(&mut self.ways[way].direction, context, &mut |found| {
            let Found::Packet(packet) = found else { return };
            look_at(&packet, &mut is_mixed, &mut None);
            let Packet { octets, missing_octets, end, .. } = packet;
            packets.push((end, (tpkt::HEADER_OCTETS + octets.len() + missing_octets) as u32));
        });
        self.is_mixed = is_mixed;
        let way = &mut self.ways[way];
        for (end, octets) in packets {
            let last = way.number(end);
            for carrier in way.waiting.iter().filter(|carrier| carrier.holds(last)) {
                seen(Sight::Packet { carrier: *carrier, last, octets });
            }
        }
        let next = way.direction.next();
        let is_ahead = |carrier: &Carrier| {
            let end = carrier.first.wrapping_add(carrier.octets);
            next.is_some_and(|next| ahead(next, end) > 0)
        };
        way.waiting.retain(is_ahead);
    }
}

/// All TCP connections that a tap sees.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    index: BTreeMap<[Socket; 2], Place>,
    slab: Slab<Flow>,
}

impl Located {
    /// Follows up to so many connections; the one that was silent longest is forgotten for another.
    pub(crate) fn new(maximum: usize) -> Self {
        Self { index: BTreeMap::new(), slab: Slab::new(maximum) }
    }

    /// Takes notice of a segment.
    pub(crate) fn observe(&mut self, at: Instant, piece: &Piece<'_>, seen: &mut dyn FnMut(Sight)) {
        let sent = [piece.source, piece.destination];
        let way = usize::from(piece.source > piece.destination);
        let ends = if way == 0 { sent } else { [sent[1], sent[0]] };
        let place = self.find(at, ends);
        self.slab.touch(place, at);
        let flow = self.slab.at(place);
        let has_begun_anew = flow.is_over || flow.ways[way].direction.is_begun_anew(piece);
        if piece.flags.has(Flags::SYN) && !piece.flags.has(Flags::ACK) && has_begun_anew {
            *flow = Flow::new(ends);
        }
        let direction = &mut flow.ways[way].direction;
        if direction.is_copy(at, piece) {
            return;
        }
        let order = direction.order(piece);
        direction.acknowledges(piece);
        if piece.flags.has(Flags::ACK) {
            flow.act(1 - way, seen, |direction, context, found| {
                direction.has_arrived(piece.acknowledgement, context, found)
            });
        }
        if order != Order::KeepAlive {
            take(flow, way, at, piece, seen);
        }
        if piece.flags.has(Flags::RST) || piece.flags.has(Flags::FIN) {
            flow.act(way, seen, |direction, context, found| direction.flush(context, found));
            flow.is_over = true;
        }
    }

    /// Gives every gap up, so that what is held behind it counts.
    pub(crate) fn finish(&mut self, seen: &mut dyn FnMut(Sight)) {
        for place in self.slab.places() {
            if self.slab.get(place).is_none() {
                continue;
            }
            let flow = self.slab.at(place);
            for way in [0, 1] {
                flow.act(way, seen, |direction, context, found| direction.flush(context, found));
            }
        }
    }

    fn find(&mut self, at: Instant, ends: [Socket; 2]) -> Place {
        if let Some(place) = self.index.get(&ends) {
            return *place;
        }
        if self.slab.is_full()
            && let Some(oldest) = self.slab.oldest()
            && let Some(flow) = self.slab.remove(oldest)
        {
            self.index.remove(&flow.ends);
        }
        let place = self.slab.insert(Flow::new(ends), at);
        self.index.insert(ends, place);
        place
    }
}

/// Takes the octets of a segment.
fn take(flow: &mut Flow, way: usize, at: Instant, piece: &Piece<'_>, seen: &mut dyn FnMut(Sight)) {
    let first = piece.sequence.wrapping_add(u32::from(piece.flags.has(Flags::SYN)));
    let octets = (piece.octets.len() + piece.missing_octets) as u32;
    let of = &mut flow.ways[way];
    of.base.get_or_insert(first);
    if octets > 0 {
        let carrier = Carrier { at, ends: [piece.source, piece.destination], first, octets };
        seen(Sight::Segment(carrier));
        if of.waiting.len() >= WAITING {
            of.waiting.pop_front();
        }
        of.waiting.push_back(carrier);
    }
    let acknowledged = flow.ways[1 - way].direction.acknowledged();
    flow.act(way, seen, |direction, context, found| {
        direction.take(at, piece, acknowledged, context, found)
    });
}
