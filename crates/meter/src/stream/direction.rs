//! One direction of a TCP connection: its octets in order, out of segments in any order.
//!
//! A segment beyond a gap is held until the gap is filled, or given up: once the receiver has
//! acknowledged what is missing (it came past where nobody listened), or once too much is held. What
//! is held is bounded for a direction and for all.

use super::framer::{Found, Framer};
use crate::measure::Times;
use crate::moment::Moment;
use crate::sight::{Between, Order};
use std::collections::VecDeque;
use wire::dissect::Piece;
use wire::tcp::Flags;
use wire::time::Instant;

/// Octets held beyond a gap, of a direction.
const HELD_OCTETS: usize = 1 << 16;
/// Segments held beyond a gap, of a direction.
const HELD_SEGMENTS: usize = 64;
/// Within this time the same packet is a copy.
const COPY_NANOS: u64 = 10_000_000;
/// Packets that are remembered to know copies by.
const REMEMBERED: usize = 2;

/// What tells a copy of a packet from a segment that is sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Print {
    pub(super) sequence: u32,
    pub(super) acknowledgement: u32,
    /// Octets of data.
    pub(super) octets: u32,
    /// The window, then the checksum.
    pub(super) window_and_checksum: u32,
    /// The identification of IP, then the flags.
    pub(super) identification_and_flags: u32,
}

impl Print {
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
}

/// A segment beyond a gap.
#[derive(Clone, Debug)]
struct Held {
    sequence: u32,
    octets: Box<[u8]>,
    missing_octets: usize,
}

/// What is held beyond gaps.
#[derive(Clone, Debug, Default)]
struct Beyond {
    /// In order of their numbers.
    held: VecDeque<Held>,
}

/// One direction.
#[derive(Clone, Debug)]
pub(super) struct Direction {
    /// The number of the next octet, once a segment was seen.
    next: u32,
    has_next: bool,
    /// What its sender acknowledged of the other direction, once it did.
    acknowledged: u32,
    has_acknowledged: bool,
    pub(super) framer: Framer,
    prints: [(Print, Moment); REMEMBERED],
    /// Which of the prints is replaced next.
    oldest_print: u8,
    /// The number whose ACK ends a round trip, and when it began; never where none is under way.
    trip: (u32, Moment),
    /// How long round trips of its octets took.
    pub(super) round_trips: Times,
    /// The same, where the receiver may have delayed its ACK.
    pub(super) delayed_acks: Times,
    /// None where nothing is held.
    beyond: Option<Box<Beyond>>,
}

const NO_TRIP: (u32, Moment) = (0, Moment::NEVER);

/// How far `number` lies ahead of `from`; less than zero where it lies behind.
pub(super) const fn ahead(from: u32, number: u32) -> i32 {
    number.wrapping_sub(from).cast_signed()
}

impl Direction {
    /// A direction of which nothing was seen.
    pub(super) fn new() -> Self {
        Self {
            next: 0,
            has_next: false,
            acknowledged: 0,
            has_acknowledged: false,
            framer: Framer::new(),
            prints: [(Print::default(), Moment::NEVER); REMEMBERED],
            oldest_print: 0,
            trip: NO_TRIP,
            round_trips: Times::NONE,
            delayed_acks: Times::NONE,
            beyond: None,
        }
    }

    /// Whether this SYN begins another connection than the one that is known.
    pub(super) fn is_begun_anew(&self, piece: &Piece<'_>) -> bool {
        self.next().is_some_and(|next| {
            let behind = next.wrapping_sub(piece.sequence.wrapping_add(1));
            // The same SYN again comes before much was sent.
            behind > HELD_OCTETS as u32 || (behind > 0 && !self.holds_nothing())
        })
    }

    /// Whether the same packet passed a moment ago; it is remembered.
    pub(super) fn is_copy(&mut self, at: Instant, piece: &Piece<'_>) -> bool {
        let print = Print::of(piece);
        let is_copy = self.has_print(at, &print);
        if !is_copy {
            self.remember(at, &print);
        }
        is_copy
    }

    /// Remembers a packet by its print.
    #[inline]
    fn remember(&mut self, at: Instant, print: &Print) {
        let place = usize::from(self.oldest_print) % REMEMBERED;
        self.prints[place] = (*print, Moment::of(at));
        self.oldest_print = self.oldest_print.wrapping_add(1);
    }

    /// Whether a packet with this print passed a moment ago.
    fn has_print(&self, at: Instant, print: &Print) -> bool {
        self.prints.iter().any(|(known, since)| {
            let is_of_late = |since| at.nanos_since(since) < COPY_NANOS;
            *known == *print && since.get().is_some_and(is_of_late)
        })
    }

    /// Takes notice of a segment without a flag but ACK and PSH that comes in its turn, its data being whole
    /// packets and nothing held. Says whether it is one; if not, nothing has happened.
    #[inline]
    pub(super) fn take_in_turn(&mut self, at: Instant, print: &Print) -> bool {
        let Some(next) = self.next() else { return false };
        let Print { sequence, octets, acknowledgement, .. } = *print;
        // What comes next with data is no copy, which would lie behind what it is a copy of; and what
        // lies one behind without data keeps alive.
        let is_in_turn = if octets > 0 {
            sequence == next && self.framer.is_in_step()
        } else {
            sequence != next.wrapping_sub(1) && !self.has_print(at, print)
        };
        if !is_in_turn || !self.holds_nothing() {
            return false;
        }
        self.remember(at, print);
        self.note_acknowledgement(acknowledgement);
        if octets > 0 {
            let end = next.wrapping_add(octets);
            self.next = end;
            self.begin_trip(end, at);
        }
        true
    }

    /// Takes notice that its sender acknowledged octets of the other direction.
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

    /// Measures how long it takes until octets up to this number are acknowledged, unless others are measured.
    #[inline]
    fn begin_trip(&mut self, edge: u32, at: Instant) {
        if self.trip.1 == Moment::NEVER {
            self.trip = (edge, Moment::of(at));
        }
    }

    /// What its sender acknowledged of the other direction.
    pub(super) fn acknowledged(&self) -> Option<u32> {
        self.has_acknowledged.then_some(self.acknowledged)
    }

    /// Handles an acknowledgement by the receiver, whose segment may carry data of its own. Returns the time since
    /// the octets passed, and whether it is a round trip or a delayed ACK; none if it is not measured.
    #[inline]
    pub(super) fn is_acknowledged(
        &mut self,
        at: Instant,
        number: u32,
        octets: u32,
    ) -> Option<(Between, u64)> {
        let (edge, since) = self.trip;
        let since = since.get()?;
        if ahead(edge, number) < 0 {
            return None;
        }
        self.trip = NO_TRIP;
        let nanos = at.nanos_since(since);
        // An ACK of more than one segment is not held back (RFC 1122, 4.2.3.2).
        if octets == 0 && number == edge {
            self.delayed_acks.note_next(nanos);
            return Some((Between::DelayedAck, nanos));
        }
        self.round_trips.note_next(nanos);
        Some((Between::RoundTrip, nanos))
    }

    /// What a segment is beside what went before.
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

    /// Notes that octets of a segment were sent before, so that no round trip is taken of them.
    pub(super) const fn forget_trip(&mut self) {
        self.trip = NO_TRIP;
    }

    /// Takes the octets of a segment, and hands on what is in order; how many more octets are held
    /// than before.
    pub(super) fn take(
        &mut self,
        at: Instant,
        piece: &Piece<'_>,
        peer_acknowledged: Option<u32>,
        context: (bool, bool),
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
        self.held_octets().cast_signed() - before.cast_signed()
    }

    /// Takes notice that its receiver has octets that were not seen here; how many fewer are held.
    pub(super) fn has_arrived(
        &mut self,
        number: u32,
        context: (bool, bool),
        found: &mut dyn FnMut(Found<'_>),
    ) -> isize {
        if self.holds_nothing() {
            return 0;
        }
        let before = self.held_octets();
        while self.next().is_some_and(|next| ahead(next, number) > 0) && !self.holds_nothing() {
            self.give_up(context, found);
        }
        self.held_octets().cast_signed() - before.cast_signed()
    }

    /// Gives up every gap; how many fewer octets are held.
    pub(super) fn flush(
        &mut self,
        context: (bool, bool),
        found: &mut dyn FnMut(Found<'_>),
    ) -> isize {
        let before = self.held_octets();
        while !self.holds_nothing() {
            self.give_up(context, found);
        }
        -before.cast_signed()
    }

    /// The number of the octet that comes next; none before the first segment.
    #[inline]
    pub(super) fn next(&self) -> Option<u32> {
        self.has_next.then_some(self.next)
    }

    const fn set_next(&mut self, next: u32) {
        (self.next, self.has_next) = (next, true);
    }

    /// Whether nothing is held.
    pub(super) fn holds_nothing(&self) -> bool {
        self.beyond.is_none()
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        self.beyond.iter().flat_map(|beyond| &beyond.held)
    }

    /// Octets that are held.
    pub(super) fn held_octets(&self) -> usize {
        self.held().map(|held| held.octets.len()).sum()
    }

    /// Hands on octets of which the first `seen` went by before.
    fn deliver(
        &mut self,
        octets: &[u8],
        missing_octets: usize,
        seen: usize,
        context: (bool, bool),
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

    /// Hands on what no gap separates any more.
    fn release(&mut self, context: (bool, bool), found: &mut dyn FnMut(Found<'_>)) {
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

    /// Stops waiting for the octets before the first segment held.
    fn give_up(&mut self, context: (bool, bool), found: &mut dyn FnMut(Found<'_>)) {
        let Some(sequence) = self.held().next().map(|held| held.sequence) else { return };
        let gap = ahead(self.next, sequence).unsigned_abs() as usize;
        self.next = sequence;
        self.framer.skip(gap, found);
        self.release(context, found);
    }
}
