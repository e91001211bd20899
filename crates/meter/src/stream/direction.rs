//! One direction of a TCP connection: delivers its octets in order, from segments in any order.
//!
//! A segment beyond a gap is held until the gap is filled or given up. A gap is given up once the
//! receiver has acknowledged the missing octets (the capture missed them), or once too much is
//! held. The held octets are bounded for a direction and for all directions together.

use super::framer::{Context, Found, Framer, Partial, State};
use super::passed::{Number, Passed};
use super::short_times::ShortTimes;
use crate::measure::Times;
use crate::observation::{DelayKind, Order};
use crate::packed_instant::PackedInstant;
use std::collections::VecDeque;
use wire::dissect::Piece;
use wire::tcp::Flags;
use wire::time::Instant;

/// Limit of octets held beyond a gap, of a direction.
const HELD_OCTETS: usize = 1 << 16;
/// Limit of segments held beyond a gap, of a direction.
const HELD_SEGMENTS: usize = 64;

/// Fields of a packet that distinguish a copy from a retransmitted segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    /// Octets of data.
    pub(crate) octets: u32,
    /// Window, then checksum.
    pub(crate) window_and_checksum: u32,
    /// Identification of IP, then flags.
    pub(crate) identification_and_flags: u32,
}

impl Identity {
    fn of(piece: &Piece<'_>) -> Self {
        Self {
            sequence: piece.sequence,
            acknowledgement: piece.acknowledgement,
            octets: (piece.octets.len() + piece.missing_octets) as u32,
            window_and_checksum: u32::from(piece.window) << 16 | u32::from(piece.checksum),
            identification_and_flags: u32::from(piece.identification) << 8
                | u32::from(piece.flags.0),
        }
    }

    /// Hash of all fields: the product of two words that contain them, folded.
    #[inline]
    const fn print(&self) -> u64 {
        let numbers = (self.sequence as u64) << 32 | self.acknowledgement as u64;
        let rest = (self.window_and_checksum as u64) << 32 | self.identification_and_flags as u64;
        let rest = rest ^ (self.octets as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let one = numbers ^ 0x243F_6A88_85A3_08D3;
        let other = rest ^ 0x1319_8A2E_0370_7344;
        let product = one as u128 * other as u128;
        product as u64 ^ (product >> 64) as u64
    }
}

/// Segments that a direction accepts next without a look at its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Accepts {
    /// None, because octets are held.
    Nothing,
    /// None before the first segment.
    First,
    /// Those without data.
    Acks,
    /// Those without data, and those in sequence that begin with a packet.
    All,
}

/// Segment beyond a gap.
#[derive(Clone, Debug)]
struct Held {
    sequence: u32,
    octets: Box<[u8]>,
    missing_octets: usize,
}

/// State of a direction that few need.
#[derive(Clone, Debug, Default)]
pub(super) struct Aside {
    /// Segments beyond gaps in the order of their numbers; none if nothing is held.
    #[expect(clippy::box_collection, reason = "one word in place of four; few directions have it")]
    held: Option<Box<VecDeque<Held>>>,
    /// Packet that began in an earlier segment.
    partial: Option<Box<Partial>>,
    /// Round trips and delayed ACKs that were added up before.
    times: Option<Box<[Times; 2]>>,
}

impl Aside {
    /// True if it holds no state.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_none() && self.partial.is_none() && self.times.is_none()
    }

    /// True if the last packet is complete.
    pub(super) fn is_between(&self) -> bool {
        self.partial.is_none()
    }

    /// Gives up the packet under way.
    pub(super) fn forget_partial(&mut self) {
        self.partial = None;
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        self.held.iter().flat_map(|held| held.iter())
    }

    /// Number of octets held.
    pub(super) fn held_octets(&self) -> usize {
        self.held().map(|held| held.octets.len()).sum()
    }

    /// Clears the delays.
    pub(super) fn clear_times(&mut self) {
        self.times = None;
    }

    /// Earlier round trips and delayed ACKs; none before they were added up.
    pub(super) fn times(&self) -> Option<&[Times; 2]> {
        self.times.as_deref()
    }

    /// Takes them out; [`Self::put_long_times`] puts them back.
    pub(super) const fn take_long_times(&mut self) -> Option<Box<[Times; 2]>> {
        self.times.take()
    }

    /// Puts them back.
    pub(super) fn put_long_times(&mut self, times: Option<Box<[Times; 2]>>) {
        self.times = times;
    }

    /// Adds delays of a kind, and one in nanoseconds that did not fit.
    pub(super) fn add_times(&mut self, kind: DelayKind, more: Times, nanos: u64) {
        let [round_trips, delayed_acks] =
            &mut **self.times.get_or_insert_with(|| Box::new([Times::NONE; 2]));
        let times = if kind == DelayKind::DelayedAck { delayed_acks } else { round_trips };
        times.add(&more);
        times.note_next(nanos);
    }
}

/// One direction of a TCP connection.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Direction {
    /// Its latest packet.
    latest: Number,
    /// Number of the next octet; set with the first segment.
    next: u32,
    /// Number up to which its sender acknowledged the other direction; set with its first ACK.
    acknowledged: u32,
    /// Number whose ACK ends the round trip under way, and its start; never if none is under way.
    trip: (u32, PackedInstant),
    /// Round trips of its octets.
    round_trips: ShortTimes,
    /// Round trips for which the receiver may have delayed its ACK.
    delayed_acks: ShortTimes,
    state: State,
    has_acknowledged: bool,
    accepts: Accepts,
}

const _: () = assert!(size_of::<Direction>() == 52);

/// Direction with its state aside, for segments of any kind.
pub(super) struct Open<'a> {
    pub(super) direction: &'a mut Direction,
    pub(super) aside: &'a mut Aside,
}

const NO_TRIP: (u32, PackedInstant) = (0, PackedInstant::NEVER);

/// Distance of `number` ahead of `from`; negative if it lies behind.
pub(super) const fn ahead(from: u32, number: u32) -> i32 {
    number.wrapping_sub(from).cast_signed()
}

impl Direction {
    /// Direction without segments.
    pub(super) const fn new() -> Self {
        Self {
            latest: Number::NONE,
            next: 0,
            acknowledged: 0,
            trip: NO_TRIP,
            round_trips: ShortTimes::NONE,
            delayed_acks: ShortTimes::NONE,
            state: State::NEW,
            has_acknowledged: false,
            accepts: Accepts::First,
        }
    }

    /// True if it carries TPKTs.
    pub(super) const fn is_recognised(&self) -> bool {
        self.state.is_recognised()
    }

    /// Round trips and delayed ACKs since they were added up last.
    pub(super) const fn times(&self) -> [ShortTimes; 2] {
        [self.round_trips, self.delayed_acks]
    }

    /// Clears the delays.
    pub(super) const fn clear_times(&mut self) {
        (self.round_trips, self.delayed_acks) = (ShortTimes::NONE, ShortTimes::NONE);
    }

    /// Adds a delay in nanoseconds; returns false, without effect, if it must be added aside.
    #[inline]
    pub(crate) fn note(&mut self, kind: DelayKind, nanos: u64) -> bool {
        self.short_times(kind).note(nanos)
    }

    const fn short_times(&mut self, kind: DelayKind) -> &mut ShortTimes {
        match kind {
            DelayKind::DelayedAck => &mut self.delayed_acks,
            _ => &mut self.round_trips,
        }
    }

    /// Removes and returns the delays of a kind.
    pub(super) fn take_times(&mut self, kind: DelayKind) -> Times {
        core::mem::replace(self.short_times(kind), ShortTimes::NONE).times()
    }

    /// True if this SYN opens another connection than the current one.
    pub(super) fn is_begun_anew(&self, piece: &Piece<'_>) -> bool {
        self.next().is_some_and(|next| {
            let behind = next.wrapping_sub(piece.sequence.wrapping_add(1));
            // A retransmitted SYN comes before much was sent.
            behind > HELD_OCTETS as u32 || (behind > 0 && !self.holds_nothing())
        })
    }

    /// True if the same packet passed a moment ago; stores its print.
    pub(super) fn is_copy(&mut self, at: Instant, piece: &Piece<'_>, passed: &mut Passed) -> bool {
        let print = Identity::of(piece).print();
        let is_copy = passed.has(self.latest, at, print);
        if !is_copy {
            self.latest = passed.store(self.latest, at, print);
        }
        is_copy
    }

    /// Processes a segment with no flags but ACK and PSH, in sequence, with whole packets as data
    /// and nothing held. Returns false, without effect, for any other segment.
    // Always inline: so the identity need not be in memory.
    #[inline(always)]
    pub(crate) fn take_in_turn(
        &mut self,
        at: Instant,
        segment: &Identity,
        passed: &mut Passed,
    ) -> bool {
        let Identity { sequence, octets, acknowledgement, .. } = *segment;
        let (next, print) = (self.next, segment.print());
        // A segment with new data is no copy, which would be behind; and a segment without data one
        // octet behind is a keep-alive probe.
        let is_in_turn = if octets > 0 {
            sequence == next && self.accepts == Accepts::All
        } else {
            matches!(self.accepts, Accepts::Acks | Accepts::All)
                && sequence != next.wrapping_sub(1)
                && !passed.has(self.latest, at, print)
        };
        if !is_in_turn {
            return false;
        }
        self.latest = passed.store(self.latest, at, print);
        self.note_acknowledgement(acknowledgement);
        if octets > 0 {
            let end = next.wrapping_add(octets);
            self.next = end;
            self.begin_trip(end, at);
        }
        true
    }

    /// True for a segment with no flags but ACK and PSH, in sequence, while nothing is held. Stores
    /// its print and its acknowledgement.
    pub(crate) fn accepts_next(
        &mut self,
        at: Instant,
        segment: &Identity,
        passed: &mut Passed,
    ) -> bool {
        let Identity { sequence, octets, acknowledgement, .. } = *segment;
        let (next, print) = (self.next, segment.print());
        // As in `take_in_turn`.
        let is_next = if octets > 0 {
            sequence == next
        } else {
            sequence != next.wrapping_sub(1) && !passed.has(self.latest, at, print)
        };
        if !is_next || !matches!(self.accepts, Accepts::Acks | Accepts::All) {
            return false;
        }
        self.latest = passed.store(self.latest, at, print);
        self.note_acknowledgement(acknowledgement);
        true
    }

    /// Skips the octets of a segment in sequence, if the direction is known to carry no TPKTs;
    /// returns false, without effect, otherwise.
    pub(super) fn skip_foreign(&mut self, at: Instant, octets: usize) -> bool {
        let is_foreign = self.state == State::Foreign;
        if is_foreign {
            self.next = self.next.wrapping_add(octets as u32);
            self.begin_trip(self.next, at);
        }
        is_foreign
    }

    /// Takes the direction for one without TPKTs, unless it has met some; true if it then is.
    pub(super) const fn search_no_more(&mut self) -> bool {
        if !self.state.is_recognised() {
            self.state = State::Foreign;
        }
        matches!(self.state, State::Foreign)
    }

    /// Records the acknowledgement that a segment carries for the other direction.
    pub(super) fn acknowledges(&mut self, piece: &Piece<'_>) {
        if piece.flags.has(Flags::ACK) {
            self.note_acknowledgement(piece.acknowledgement);
        }
    }

    fn note_acknowledgement(&mut self, number: u32) {
        if !self.has_acknowledged || ahead(self.acknowledged, number) > 0 {
            (self.acknowledged, self.has_acknowledged) = (number, true);
        }
    }

    /// Starts to measure a round trip of octets up to this number, unless one is under way.
    #[inline]
    fn begin_trip(&mut self, edge: u32, at: Instant) {
        if self.trip.1 == PackedInstant::NEVER {
            self.trip = (edge, PackedInstant::of(at));
        }
    }

    /// Number up to which its sender acknowledged the other direction.
    pub(super) fn acknowledged(&self) -> Option<u32> {
        self.has_acknowledged.then_some(self.acknowledged)
    }

    /// Handles an acknowledgement by the receiver, whose segment may carry data of its own. Returns the time since
    /// the octets passed, which is not added to the delays, and whether it is a round trip or a delayed
    /// ACK; none if it is not measured.
    #[inline]
    pub(crate) fn is_acknowledged(
        &mut self,
        at: Instant,
        number: u32,
        octets: u32,
    ) -> Option<(DelayKind, u64)> {
        let (edge, since) = self.trip;
        let since = since.get()?;
        if ahead(edge, number) < 0 {
            return None;
        }
        self.trip = NO_TRIP;
        let nanos = at.nanos_since(since);
        // A receiver does not delay the ACK of more than one segment (RFC 1122, 4.2.3.2).
        if octets == 0 && number == edge {
            return Some((DelayKind::DelayedAck, nanos));
        }
        Some((DelayKind::RoundTrip, nanos))
    }

    /// Position of a segment relative to the earlier ones.
    pub(super) fn order(&self, piece: &Piece<'_>) -> Order {
        let octets = (piece.octets.len() + piece.missing_octets) as u32;
        let Some(next) = self.next() else { return Order::Next };
        let before = ahead(next, piece.sequence);
        let is_silent = !piece.flags.has(Flags::SYN)
            && !piece.flags.has(Flags::FIN)
            && !piece.flags.has(Flags::RST);
        if before == -1 && octets <= 1 && is_silent {
            return Order::KeepAlive;
        }
        if piece.flags.has(Flags::SYN) || octets == 0 {
            return if before < 0 && !is_silent { Order::Again } else { Order::Next };
        }
        let end = ahead(next, piece.sequence.wrapping_add(octets));
        match (before, end) {
            (0.., _) if before > 0 => Order::Ahead,
            (_, ..=0) => Order::Again,
            _ if !self.holds_nothing() => Order::Late,
            _ => Order::Next,
        }
    }

    /// Cancels the round trip under way because octets were retransmitted.
    pub(super) const fn cancel_trip(&mut self) {
        self.trip = NO_TRIP;
    }

    /// Number of the next octet; none before the first segment.
    #[inline]
    pub(super) fn next(&self) -> Option<u32> {
        (self.accepts != Accepts::First).then_some(self.next)
    }

    /// True if nothing is held.
    #[inline]
    pub(crate) fn holds_nothing(&self) -> bool {
        self.accepts != Accepts::Nothing
    }
}

impl Open<'_> {
    /// Takes the octets of a segment, and delivers what is in order; returns the change of the
    /// octets held.
    pub(super) fn take(
        &mut self,
        at: Instant,
        piece: &Piece<'_>,
        peer_acknowledged: Option<u32>,
        context: Context,
        found: &mut dyn FnMut(Found<'_>),
    ) -> isize {
        let before = self.aside.held_octets();
        let syn = u32::from(piece.flags.has(Flags::SYN));
        let sequence = piece.sequence.wrapping_add(syn);
        let octets = (piece.octets.len() + piece.missing_octets) as u32;
        let next = self.direction.next().unwrap_or(sequence);
        self.direction.next = next;
        if octets > 0 {
            let gap = ahead(next, sequence);
            if gap <= 0 {
                let seen = gap.unsigned_abs() as usize;
                self.deliver(piece.octets, piece.missing_octets, seen, context, found);
                if gap == 0 {
                    self.direction.begin_trip(sequence.wrapping_add(octets), at);
                }
            } else {
                self.hold(sequence, piece);
                let is_lost = peer_acknowledged.is_some_and(|number| ahead(next, number) > 0);
                if is_lost {
                    self.give_up(context, found);
                }
            }
            self.release(context, found);
        }
        while self.aside.held_octets() > HELD_OCTETS || self.aside.held().count() > HELD_SEGMENTS {
            self.give_up(context, found);
        }
        self.set_accepts();
        self.aside.held_octets().cast_signed() - before.cast_signed()
    }

    /// Delivers the octets of a segment in sequence, while nothing is held; returns the change of the
    /// octets held, which is none.
    pub(super) fn go_on(
        &mut self,
        at: Instant,
        octets: &[u8],
        context: Context,
        found: &mut dyn FnMut(Found<'_>),
    ) -> isize {
        let end = self.direction.next.wrapping_add(octets.len() as u32);
        self.deliver(octets, 0, 0, context, found);
        self.direction.begin_trip(end, at);
        self.set_accepts();
        0
    }

    /// Gives up octets that the receiver has and that were not seen here; returns the change of the
    /// octets held.
    pub(super) fn has_arrived(
        &mut self,
        number: u32,
        context: Context,
        found: &mut dyn FnMut(Found<'_>),
    ) -> isize {
        if self.direction.holds_nothing() {
            return 0;
        }
        let before = self.aside.held_octets();
        while self.aside.held.is_some() && ahead(self.direction.next, number) > 0 {
            self.give_up(context, found);
        }
        self.set_accepts();
        self.aside.held_octets().cast_signed() - before.cast_signed()
    }

    /// Gives up every gap; returns the change of the octets held.
    pub(super) fn flush(&mut self, context: Context, found: &mut dyn FnMut(Found<'_>)) -> isize {
        let before = self.aside.held_octets();
        while self.aside.held.is_some() {
            self.give_up(context, found);
        }
        if self.direction.next().is_some() {
            self.set_accepts();
        }
        -before.cast_signed()
    }

    /// Records which segments the direction accepts next. Call it whenever its octets went on.
    fn set_accepts(&mut self) {
        self.direction.accepts = match self.direction.state {
            _ if self.aside.held.is_some() => Accepts::Nothing,
            State::InStep if self.aside.partial.is_none() => Accepts::All,
            _ => Accepts::Acks,
        };
    }

    /// Runs `act` on the framer, whose next octet is that of the direction.
    fn with_framer(&mut self, context: Context, act: impl FnOnce(&mut Framer)) {
        let partial = self.aside.partial.take();
        let Direction { state, next, .. } = *self.direction;
        let mut framer = Framer { state, partial, next, keeps_whole: context.keeps_whole };
        act(&mut framer);
        (self.direction.state, self.direction.next) = (framer.state, framer.next);
        self.aside.partial = framer.partial;
    }

    /// Delivers octets of which the first `seen` were delivered before.
    fn deliver(
        &mut self,
        octets: &[u8],
        missing_octets: usize,
        seen: usize,
        context: Context,
        found: &mut dyn FnMut(Found<'_>),
    ) {
        let total = octets.len() + missing_octets;
        if seen >= total {
            return;
        }
        let new = octets.get(seen..).unwrap_or_default();
        let missing = total - seen - new.len();
        if context.passes_octets {
            found(Found::Octets { octets: new, missing_octets: missing });
        }
        self.with_framer(context, |framer| {
            framer.push(new, context, found);
            framer.skip(missing, found);
        });
    }

    fn hold(&mut self, sequence: u32, piece: &Piece<'_>) {
        let held = self.aside.held.get_or_insert_default();
        let place = held.partition_point(|held| ahead(held.sequence, sequence) > 0);
        let is_known = held.get(place).is_some_and(|held| {
            held.sequence == sequence && held.octets.len() >= piece.octets.len()
        });
        if !is_known {
            let octets = piece.octets.into();
            held.insert(place, Held { sequence, octets, missing_octets: piece.missing_octets });
        }
    }

    /// Delivers segments that no gap precedes any more.
    fn release(&mut self, context: Context, found: &mut dyn FnMut(Found<'_>)) {
        while let Some(all) = self.aside.held.as_deref_mut() {
            let next = self.direction.next;
            let is_reached = |held: &mut Held| ahead(next, held.sequence) <= 0;
            let Some(held) = all.pop_front_if(is_reached) else { break };
            let seen = ahead(next, held.sequence).unsigned_abs() as usize;
            self.deliver(&held.octets, held.missing_octets, seen, context, found);
        }
        if self.aside.held().next().is_none() {
            self.aside.held = None;
        }
    }

    /// Gives up the octets before the first segment held.
    fn give_up(&mut self, context: Context, found: &mut dyn FnMut(Found<'_>)) {
        let Some(sequence) = self.aside.held().next().map(|held| held.sequence) else { return };
        let gap = ahead(self.direction.next, sequence).unsigned_abs() as usize;
        if context.passes_octets {
            found(Found::Octets { octets: &[], missing_octets: gap });
        }
        self.with_framer(context, |framer| framer.skip(gap, found));
        self.direction.next = sequence;
        self.release(context, found);
    }
}
