//! One direction of a TCP connection: delivers its octets in order, from segments in any order.
//!
//! A segment beyond a gap is held until the gap is filled or given up. A gap is given up once the
//! receiver has acknowledged the missing octets (the capture missed them), or once too much is
//! held. The held octets are bounded for a direction and for all directions together.

use super::framer::{Context, Found, Framer};
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
/// Time within which the same packet is a copy.
const COPY_NANOS: u64 = 10_000_000;
/// Number of recent packets that are compared to detect copies.
const REMEMBERED: usize = 2;

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

/// Packet that passed.
#[derive(Clone, Copy, Debug)]
struct Passed {
    /// Hash of its identity. Two of unlike packets are equal once in 2^64, unless a sender makes them so.
    print: u64,
    at: PackedInstant,
}

impl Passed {
    const NONE: Self = Self { print: 0, at: PackedInstant::NEVER };
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

/// Segments held beyond gaps.
#[derive(Clone, Debug, Default)]
struct Beyond {
    /// Segments in the order of their numbers.
    held: VecDeque<Held>,
}

/// One direction of a TCP connection. In the order of its fields, so that a segment touches few cache
/// lines: all up to the round trips are 56 octets.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Direction {
    /// Latest packets.
    passed: [Passed; REMEMBERED],
    /// Number of the next octet; set with the first segment.
    next: u32,
    /// Number up to which its sender acknowledged the other direction; set with its first ACK.
    acknowledged: u32,
    /// Number whose ACK ends the round trip under way, and its start; never if none is under way.
    trip: (u32, PackedInstant),
    has_next: bool,
    has_acknowledged: bool,
    /// Index of the packet that is replaced next.
    oldest_passed: u8,
    accepts: Accepts,
    /// Round trips of its octets.
    pub(super) round_trips: Times,
    pub(super) framer: Framer,
    /// None if nothing is held.
    beyond: Option<Box<Beyond>>,
    /// Round trips for which the receiver may have delayed its ACK.
    pub(super) delayed_acks: Times,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(core::mem::offset_of!(Direction, round_trips) == 56);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Direction>() == 128);

const NO_TRIP: (u32, PackedInstant) = (0, PackedInstant::NEVER);

/// Distance of `number` ahead of `from`; negative if it lies behind.
pub(super) const fn ahead(from: u32, number: u32) -> i32 {
    number.wrapping_sub(from).cast_signed()
}

impl Direction {
    /// Direction without segments.
    pub(super) fn new() -> Self {
        Self {
            passed: [Passed::NONE; REMEMBERED],
            next: 0,
            acknowledged: 0,
            trip: NO_TRIP,
            has_next: false,
            has_acknowledged: false,
            oldest_passed: 0,
            accepts: Accepts::First,
            round_trips: Times::NONE,
            framer: Framer::new(),
            beyond: None,
            delayed_acks: Times::NONE,
        }
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
    pub(super) fn is_copy(&mut self, at: Instant, piece: &Piece<'_>) -> bool {
        let print = Identity::of(piece).print();
        let is_copy = self.has_passed(at, print);
        if !is_copy {
            self.store(at, print);
        }
        is_copy
    }

    /// Stores the print of a packet.
    #[inline(always)]
    fn store(&mut self, at: Instant, print: u64) {
        let place = usize::from(self.oldest_passed) % REMEMBERED;
        self.passed[place] = Passed { print, at: PackedInstant::of(at) };
        self.oldest_passed = self.oldest_passed.wrapping_add(1);
    }

    /// True if a packet with this print passed a moment ago.
    fn has_passed(&self, at: Instant, print: u64) -> bool {
        self.passed.iter().any(|known| {
            let is_of_late = |since| at.nanos_since(since) < COPY_NANOS;
            known.print == print && known.at.get().is_some_and(is_of_late)
        })
    }

    /// Processes a segment with no flags but ACK and PSH, in sequence, with whole packets as data
    /// and nothing held. Returns false, without effect, for any other segment.
    // Always inline: so the identity need not be in memory.
    #[inline(always)]
    pub(crate) fn take_in_turn(&mut self, at: Instant, segment: &Identity) -> bool {
        let Identity { sequence, octets, acknowledgement, .. } = *segment;
        let (next, print) = (self.next, segment.print());
        // A segment with new data is no copy, which would be behind; and a segment without data one
        // octet behind is a keep-alive probe.
        let is_in_turn = if octets > 0 {
            sequence == next && self.accepts == Accepts::All
        } else {
            matches!(self.accepts, Accepts::Acks | Accepts::All)
                && sequence != next.wrapping_sub(1)
                && !self.has_passed(at, print)
        };
        if !is_in_turn {
            return false;
        }
        self.store(at, print);
        self.note_acknowledgement(acknowledgement);
        if octets > 0 {
            let end = next.wrapping_add(octets);
            self.next = end;
            self.begin_trip(end, at);
        }
        true
    }

    /// Records which segments it accepts next. Call it whenever its octets went on.
    fn set_accepts(&mut self) {
        self.accepts = match self.next() {
            _ if self.beyond.is_some() => Accepts::Nothing,
            None => Accepts::First,
            Some(_) if self.framer.is_in_step() => Accepts::All,
            Some(_) => Accepts::Acks,
        };
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
    /// the octets passed, and whether it is a round trip or a delayed ACK; none if it is not measured.
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
            self.delayed_acks.note_next(nanos);
            return Some((DelayKind::DelayedAck, nanos));
        }
        self.round_trips.note_next(nanos);
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
        let before = self.held_octets();
        let syn = u32::from(piece.flags.has(Flags::SYN));
        let sequence = piece.sequence.wrapping_add(syn);
        let octets = (piece.octets.len() + piece.missing_octets) as u32;
        let next = self.next().unwrap_or(sequence);
        self.set_next(next);
        if octets > 0 {
            let gap = ahead(next, sequence);
            if gap <= 0 {
                let seen = gap.unsigned_abs() as usize;
                self.deliver(piece.octets, piece.missing_octets, seen, context, found);
                if gap == 0 {
                    self.begin_trip(sequence.wrapping_add(octets), at);
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
        while self.held_octets() > HELD_OCTETS || self.held().count() > HELD_SEGMENTS {
            self.give_up(context, found);
        }
        self.set_accepts();
        self.held_octets().cast_signed() - before.cast_signed()
    }

    /// Gives up octets that the receiver has and that were not seen here; returns the change of the
    /// octets held.
    pub(super) fn has_arrived(
        &mut self,
        number: u32,
        context: Context,
        found: &mut dyn FnMut(Found<'_>),
    ) -> isize {
        if self.holds_nothing() {
            return 0;
        }
        let before = self.held_octets();
        while self.next().is_some_and(|next| ahead(next, number) > 0) && self.beyond.is_some() {
            self.give_up(context, found);
        }
        self.set_accepts();
        self.held_octets().cast_signed() - before.cast_signed()
    }

    /// Gives up every gap; returns the change of the octets held.
    pub(super) fn flush(&mut self, context: Context, found: &mut dyn FnMut(Found<'_>)) -> isize {
        let before = self.held_octets();
        while self.beyond.is_some() {
            self.give_up(context, found);
        }
        self.set_accepts();
        -before.cast_signed()
    }

    /// Number of the next octet; none before the first segment.
    #[inline]
    pub(super) fn next(&self) -> Option<u32> {
        self.has_next.then_some(self.next)
    }

    const fn set_next(&mut self, next: u32) {
        (self.next, self.has_next) = (next, true);
    }

    /// True if nothing is held.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.accepts != Accepts::Nothing
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        self.beyond.iter().flat_map(|beyond| &beyond.held)
    }

    /// Number of octets held.
    pub(super) fn held_octets(&self) -> usize {
        self.held().map(|held| held.octets.len()).sum()
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
        self.framer.push(new, context, found);
        let missing = total - seen - new.len();
        self.framer.skip(missing, found);
        self.set_next(self.next.wrapping_add((total - seen) as u32));
    }

    fn hold(&mut self, sequence: u32, piece: &Piece<'_>) {
        let Beyond { held } = &mut **self.beyond.get_or_insert_default();
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
        let is_reached = |next: u32, held: &Held| ahead(next, held.sequence) <= 0;
        while let Some(Beyond { held }) = self.beyond.as_deref_mut() {
            let next = self.next;
            let Some(held) = held.pop_front_if(|held| is_reached(next, held)) else { break };
            let seen = ahead(next, held.sequence).unsigned_abs() as usize;
            self.deliver(&held.octets, held.missing_octets, seen, context, found);
        }
        if self.held().next().is_none() {
            self.beyond = None;
        }
    }

    /// Gives up the octets before the first segment held.
    fn give_up(&mut self, context: Context, found: &mut dyn FnMut(Found<'_>)) {
        let Some(sequence) = self.held().next().map(|held| held.sequence) else { return };
        let gap = ahead(self.next, sequence).unsigned_abs() as usize;
        self.next = sequence;
        self.framer.skip(gap, found);
        self.release(context, found);
    }
}
