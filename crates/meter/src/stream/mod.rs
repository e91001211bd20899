//! TCP streams and the TPKTs in them.
//!
//! Every TCP connection is followed by its two sockets, and evicted by age. Connections that turn
//! out to carry TPKTs, on any port, deliver their TPDUs, each once, however often TCP sent it.
//! Memory per stream is bounded: segments beyond a gap, and the front of a divided packet.
//!
//! Left out: windows and options of TCP.

pub(crate) mod direction;
mod flow;
pub(crate) mod framer;
mod handshake;
mod located;
mod passed;
mod short_times;
mod times;

use crate::follow::Follower;
use crate::follow::transactions::{Event as TransactionEvent, Part};
use crate::host::Address;
use crate::lru_slab::{Handle, LruSlab, Place};
use crate::observation::{Order, Segment};
use crate::oddity::Class;
use crate::track::transfer::DtFields;
use crate::track::{NetworkEnd, Nsdu, Party, Passage, Results as _, Sink, Tracker};
use core::hash::BuildHasher;
use core::time::Duration;
use direction::Open;
use flow::Flags;
pub(crate) use flow::Flow;
use foldhash::fast::FixedState;
use framer::{Context, Event, Found, Packet};
use hashbrown::HashTable;
pub(crate) use located::{Located, Observation as LocatedSight};
pub(crate) use passed::Passed;
pub(crate) use times::Carriage;
use wire::addr::Socket;
use wire::dissect::Piece;
use wire::tcp;
use wire::time::{Instant, nanos};
use wire::tp::Reference;

/// Oddity of octets that belong to no packet.
const LEFT: (Class, &str) = (Class::Unassigned, "octets outside of TPKTs");
/// Limit of octets held beyond gaps, of all streams.
const HELD_OCTETS: isize = 16 << 20;

/// Table of TCP connections.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// For lookups only, never iterated, so its order cannot show.
    index: HashTable<Place>,
    state: FixedState,
    pub(crate) slab: LruSlab<Flow>,
    pub(crate) passed: Passed,
    held_octets: isize,
    /// True if new connections keep packets that segments divide as a whole.
    keeps_whole: bool,
}

pub(crate) fn party(socket: Socket) -> Party {
    Party { address: Address::Internet(socket.address), port: socket.port }
}

fn hash(state: &FixedState, [first, second]: [Socket; 2]) -> u64 {
    let ports = u64::from(first.port) << 16 | u64::from(second.port);
    state.hash_one((first.address.to_bits(), second.address.to_bits(), ports))
}

/// Follower above TCP, and the sink.
pub(crate) struct Above<'a, 's> {
    pub(crate) tracker: &'a mut Tracker,
    pub(crate) sink: &'a mut Sink<'s>,
}

impl Follower<Above<'_, '_>> for Streams {
    type Input<'a> = Piece<'a>;
    type Below = ();
    type Report = Carriage;

    fn observe(&mut self, at: Instant, piece: Piece<'_>, above: &mut Above<'_, '_>) {
        self.segment(at, &piece, above.tracker, above.sink);
    }

    fn expire(&mut self, at: Instant, above: &mut Above<'_, '_>) {
        self.give_up_silent(at, above.tracker);
    }

    fn report(&self, _: Instant, (): &()) -> impl Iterator<Item = Carriage> {
        self.each_carried()
    }
}

impl Streams {
    /// Follows up to `maximum` connections, each until it was silent for `silence`.
    pub(crate) fn new(maximum: usize, silence: Duration, seed: u64) -> Self {
        Self {
            index: HashTable::new(),
            state: FixedState::with_seed(seed),
            slab: LruSlab::expiring(maximum, nanos(silence)),
            passed: Passed::new(),
            held_octets: 0,
            keeps_whole: false,
        }
    }

    /// Keeps packets that segments divide as a whole, in connections that begin from now on.
    pub(crate) const fn keep_whole(&mut self) {
        self.keeps_whole = true;
    }

    /// Processes a segment, and passes its TPDUs to `tracker`.
    fn segment(
        &mut self,
        at: Instant,
        piece: &Piece<'_>,
        tracker: &mut Tracker,
        sink: &mut Sink<'_>,
    ) {
        self.give_up_silent(at, tracker);
        let is_swapped = piece.source > piece.destination;
        let way = usize::from(is_swapped);
        let ends = if is_swapped {
            [piece.destination, piece.source]
        } else {
            [piece.source, piece.destination]
        };
        let place = self.find(at, ends, tracker, sink);
        self.slab.touch(place, at);
        let flow = self.slab.at(place);
        let passage = Passage { at, from: party(piece.source), to: party(piece.destination) };
        let has_begun_anew = flow.is_over() || flow.directions[way].is_begun_anew(piece);
        if piece.flags.has(tcp::Flags::SYN) && !piece.flags.has(tcp::Flags::ACK) && has_begun_anew {
            self.held_octets -= flow.held_octets().cast_signed();
            flow.hand_over(tracker);
            let anew = Flow::new(ends, flow.flags.has(Flags::KEEPS_WHOLE));
            let over = core::mem::replace(flow, anew);
            if !over.is_over() {
                tracker.network_ended(passage, over.request(), NetworkEnd::BrokenOff, sink);
            }
        }
        if flow.directions[way].is_copy(at, piece, &mut self.passed) {
            let octets = (piece.octets.len() + piece.missing_octets) as u64;
            return flow.count(Segment { octets, order: Order::Copy }, sink);
        }
        let stream = self.slab.handle(place);
        let flow = self.slab.at(place);
        let more = segment(flow, stream, way, piece, passage, tracker, sink);
        self.held_octets += more;
        if self.held_octets > HELD_OCTETS {
            sink.oddities.count(Class::Meter, "segments given up for want of room");
            for way in [0, 1] {
                let flow = self.slab.at(place);
                self.held_octets += flush(flow, stream, way, at, tracker, sink);
            }
        }
    }

    /// Octets held beyond gaps, of all streams.
    pub(crate) fn held_octets(&self) -> usize {
        self.held_octets.unsigned_abs()
    }

    /// Gives up every gap, so that the octets held beyond it count.
    pub(crate) fn finish(&mut self, tracker: &mut Tracker, sink: &mut Sink<'_>) {
        for place in self.slab.places() {
            if self.slab.get(place).is_none_or(|flow| flow.held_octets() == 0) {
                continue;
            }
            let (at, stream) = (self.slab.heard(place), self.slab.handle(place));
            let flow = self.slab.at(place);
            for way in [0, 1] {
                self.held_octets += flush(flow, stream, way, at, tracker, sink);
            }
            // Each counts in the second of its stream's last segment.
            tracker.settle(&mut sink.measures.traffic);
        }
    }

    /// Place of the stream between these ends, if it is known.
    pub(crate) fn known(&self, ends: [Socket; 2]) -> Option<Place> {
        let is_it =
            |place: &Place| self.slab.get(*place).is_some_and(|flow| flow.is_between(&ends));
        self.index.find(hash(&self.state, ends), is_it).copied()
    }

    fn find(
        &mut self,
        at: Instant,
        ends: [Socket; 2],
        tracker: &mut Tracker,
        sink: &mut Sink<'_>,
    ) -> Place {
        if let Some(place) = self.known(ends) {
            return place;
        }
        if self.slab.is_full()
            && let Some(oldest) = self.slab.oldest()
        {
            sink.oddities.count(Class::Meter, "TCP connection forgotten for want of room");
            self.remove(oldest, tracker);
        }
        let place = self.slab.insert(Flow::new(ends, self.keeps_whole), at);
        let (slab, state) = (&self.slab, &self.state);
        self.index.insert_unique(hash(state, ends), place, |place| {
            slab.get(*place).map_or(0, |flow| hash(state, flow.ends()))
        });
        place
    }

    /// Forgets the connections that were silent for too long.
    #[inline]
    pub(crate) fn give_up_silent(&mut self, at: Instant, tracker: &mut Tracker) {
        if self.slab.may_have_expired(at) {
            self.evict_silent(at, tracker);
        }
    }

    #[cold]
    fn evict_silent(&mut self, at: Instant, tracker: &mut Tracker) {
        while let Some(place) = self.slab.expired_at(at) {
            self.remove(place, tracker);
        }
    }

    fn remove(&mut self, place: Place, tracker: &mut Tracker) {
        let Some(mut flow) = self.slab.remove(place) else { return };
        flow.hand_over(tracker);
        self.held_octets -= flow.held_octets().cast_signed();
        let hash = hash(&self.state, flow.ends());
        if let Ok(entry) = self.index.find_entry(hash, |found| *found == place) {
            entry.remove();
        }
    }
}

/// Processes a segment of a connection; returns the change of the octets held.
fn segment(
    flow: &mut Flow,
    stream: Handle,
    way: usize,
    piece: &Piece<'_>,
    passage: Passage,
    tracker: &mut Tracker,
    sink: &mut Sink<'_>,
) -> isize {
    let at = passage.at;
    let octets = (piece.octets.len() + piece.missing_octets) as u64;
    flow.handshake(at, way, piece.flags);
    if piece.flags.has(tcp::Flags::SYN) && !piece.flags.has(tcp::Flags::ACK) {
        flow.pass(at, Part::Opened, sink);
    }
    let order = flow.directions[way].order(piece);
    flow.directions[way].acknowledges(piece);
    let mut held = 0;
    if piece.flags.has(tcp::Flags::ACK) {
        let peer = &mut flow.directions[1 - way];
        let acknowledged = peer.is_acknowledged(at, piece.acknowledgement, octets as u32);
        if let Some((between, span)) = acknowledged.filter(|_| !flow.is_early()) {
            flow.note(1 - way, between, span);
            sink.span(between, span);
        }
        if !flow.directions[1 - way].holds_nothing() {
            held += arrived(flow, stream, 1 - way, piece.acknowledgement, passage, tracker, sink);
        }
    }
    if order != Order::KeepAlive {
        let acknowledged = flow.directions[1 - way].acknowledged();
        held += with_sink(flow, stream, way, passage, tracker, sink, |mut open, context, found| {
            open.take(at, piece, acknowledged, context, found)
        });
    }
    if matches!(order, Order::Again | Order::Late) {
        flow.directions[way].cancel_trip();
    }
    flow.count(Segment { octets, order }, sink);
    count_foreign(flow, is_read(flow, way, sink), octets, sink);
    let is_reset = piece.flags.has(tcp::Flags::RST);
    if (is_reset || piece.flags.has(tcp::Flags::FIN)) && !flow.is_over() {
        held += flush(flow, stream, way, at, tracker, sink);
        flow.end();
        let is_orderly = !is_reset && flow.is_between_packets(way);
        let how = if is_orderly { NetworkEnd::Orderly } else { NetworkEnd::BrokenOff };
        if !flow.is_early() {
            tracker.network_ended(passage, flow.request(), how, sink);
        }
    }
    // A client that sends no more requests may still receive replies.
    let is_of_server = || flow.carrier().is_some_and(|carrier| carrier.server == Some(way));
    if is_reset || piece.flags.has(tcp::Flags::FIN) && is_of_server() {
        flow.pass(at, Part::Closed, sink);
    }
    held
}

/// True if PDUs of requests or replies were read in this direction.
fn is_read(flow: &Flow, way: usize, sink: &Sink<'_>) -> bool {
    flow.carrier().is_some_and(|carrier| sink.transactions.follows(&carrier, way))
}

/// Counts data of a protocol that is not followed.
fn count_foreign(flow: &Flow, is_read: bool, octets: u64, sink: &mut Sink<'_>) {
    if flow.is_early() && octets > 0 && !is_read {
        sink.oddities.count(Class::Foreign, "TCP");
    }
}

/// Segment in sequence of a direction, which holds nothing.
#[derive(Clone, Copy)]
pub(crate) struct NextSegment<'a> {
    pub(crate) octets: &'a [u8],
    pub(crate) acknowledgement: u32,
}

/// Processes a segment that its direction accepted as the next one, as [`segment`] does.
pub(crate) fn next_segment(
    flow: &mut Flow,
    stream: Handle,
    way: usize,
    next: &NextSegment<'_>,
    passage: Passage,
    tracker: &mut Tracker,
    sink: &mut Sink<'_>,
) {
    let (at, NextSegment { octets, acknowledgement }) = (passage.at, *next);
    let data_octets = octets.len() as u64;
    flow.handshake(at, way, tcp::Flags::ACK);
    let peer = &mut flow.directions[1 - way];
    let acknowledged = peer.is_acknowledged(at, acknowledgement, data_octets as u32);
    if let Some((between, span)) = acknowledged.filter(|_| !flow.is_early()) {
        flow.note(1 - way, between, span);
        sink.span(between, span);
    }
    let segment = Segment { octets: data_octets, order: Order::Next };
    if data_octets > 0 && flow.directions[way].skip_foreign(at, octets.len()) {
        let is_read = flow.pass(at, Part::Octets { way, octets, missing_octets: 0 }, sink);
        flow.count(segment, sink);
        return count_foreign(flow, is_read, data_octets, sink);
    }
    if data_octets > 0 {
        with_sink(flow, stream, way, passage, tracker, sink, |mut open, context, found| {
            open.go_on(at, octets, context, found)
        });
    }
    flow.count(segment, sink);
    count_foreign(flow, is_read(flow, way, sink), data_octets, sink);
}

/// Gives up octets of a direction that its receiver has; returns the change of the octets held.
fn arrived(
    flow: &mut Flow,
    stream: Handle,
    way: usize,
    number: u32,
    passage: Passage,
    tracker: &mut Tracker,
    sink: &mut Sink<'_>,
) -> isize {
    let back = Passage { at: passage.at, from: passage.to, to: passage.from };
    with_sink(flow, stream, way, back, tracker, sink, |mut open, context, found| {
        open.has_arrived(number, context, found)
    })
}

/// Gives up every gap of a direction; returns the change of the octets held.
fn flush(
    flow: &mut Flow,
    stream: Handle,
    way: usize,
    at: Instant,
    tracker: &mut Tracker,
    sink: &mut Sink<'_>,
) -> isize {
    let ends = flow.ends();
    let passage = Passage { at, from: party(ends[way]), to: party(ends[1 - way]) };
    with_sink(flow, stream, way, passage, tracker, sink, |mut open, context, found| {
        open.flush(context, found)
    })
}

/// Runs `act` on a direction, and processes the packets and events that it reports.
fn with_sink(
    flow: &mut Flow,
    stream: Handle,
    way: usize,
    passage: Passage,
    tracker: &mut Tracker,
    sink: &mut Sink<'_>,
    act: impl FnOnce(Open<'_>, Context, &mut dyn FnMut(Found<'_>)) -> isize,
) -> isize {
    let context = flow.context(way);
    let number = stream.number() << 1 | way as u64;
    let mut is_recognised = false;
    let (mut is_mixed, mut request) = (context.is_mixed, None);
    let (ends, mut has_gone) = (flow.ends(), false);
    let (carrier, mut is_read) = (flow.carrier(), false);
    let mut has_carried = flow.flags.has(Flags::CARRIED);
    let mut aside = flow.take_aside(way);
    let long_times = aside.take_long_times();
    let (open, delays) = flow.open(way, &mut aside, long_times.as_deref());
    let held = act(open, context, &mut |found| match found {
        Found::Packet(packet) => {
            look_at(&packet, &mut is_mixed, &mut request);
            let Packet { octets, missing_octets, is_cut, .. } = packet;
            // Earlier TPDUs belong to the previous connection.
            if is_request(octets) && has_carried && !has_gone {
                delays.unpacked().go_to(ends, tracker);
                has_gone = true;
            }
            has_carried = true;
            let Passage { at, from, to } = passage;
            let nsdu = Nsdu { from, to, octets, missing_octets, is_cut };
            // Observations of the frame need full dissection.
            if let [2, 0xF0, nr, octets @ ..] = octets
                && sink.witness.is_none()
                && let part = DtFields::of_class_0(*nr, octets, missing_octets)
                && tracker.dt_of_stream(at, number, || [to, from], part, sink)
            {
                let times = u64::from(is_cut && missing_octets > 0 && sink.has_data);
                return sink.oddities.add(Class::Truncated, "user data", times);
            }
            tracker.observe(at, nsdu, sink);
        }
        Found::Octets { octets, missing_octets } => {
            let Some(carrier) = carrier else { return };
            let part = Part::Octets { way, octets, missing_octets };
            let event = TransactionEvent { carrier, part };
            is_read = sink.transactions.pass(passage.at, event, sink.oddities);
        }
        Found::Event(event) => {
            let (class, what) = match event {
                Event::Recognised => {
                    is_recognised = true;
                    return;
                }
                Event::LostStep => {
                    tracker.interrupt(passage);
                    (Class::Transport, "TPKT stream lost its step")
                }
                Event::Outside(octets) => return sink.oddities.add(LEFT.0, LEFT.1, octets as u64),
                Event::FoundStep => (Class::Transport, "TPKT stream found its step"),
                Event::ForeignPdu => (Class::Foreign, "RDP fast-path PDU"),
                Event::Tls => (Class::Foreign, "TLS in place of TPKT"),
            };
            sink.oddities.count(class, what);
        }
    });
    aside.put_long_times(long_times);
    flow.put_aside(way, aside);
    flow.set_request(request);
    flow.flags.set(Flags::MIXED, is_mixed);
    flow.flags.set(Flags::CARRIED, has_carried);
    if has_gone {
        flow.clear_times();
    }
    if is_recognised {
        flow.recognise(sink);
    }
    if is_read {
        flow.search_no_more(way);
    }
    held
}

/// True for a CR.
const fn is_request(octets: &[u8]) -> bool {
    matches!(octets, [_, code, ..] if *code & 0xF0 == 0xE0)
}

/// Looks for signs of RDP, and for the reference of a CR.
fn look_at(packet: &Packet<'_>, is_mixed: &mut bool, request: &mut Option<Reference>) {
    match packet.octets {
        // Class 0 DT with Connect-Initial or Connect-Response of T.125.
        [2, 0xF0, 0x80, 0x7F, 0x65 | 0x66, ..] => *is_mixed = true,
        [_, code, _, _, high, low, ..] if code & 0xF0 == 0xE0 => {
            *request = Some(Reference(u16::from_be_bytes([*high, *low])));
        }
        _ => {}
    }
}
