//! Something that goes round and round among stations, in time: a pure calculation, so that a token
//! that nobody wants costs nothing.
//!
//! Times are picoseconds, since a bit at 16 Mbit/s lasts 62,500 of them and an idle token goes
//! round a million times before anybody asks where it is.
//!
//! Not modelled: clocks that differ.

use core::time::Duration;
use wire::time::Instant;
use wire::units::BitRate;

/// Picoseconds since the origin, or of a span.
pub(super) type Picos = u128;

/// Picoseconds in a nanosecond.
const NANO: Picos = 1_000;

/// An instant in picoseconds.
pub(super) const fn picos(at: Instant) -> Picos {
    at.as_nanos() as Picos * NANO
}

/// The first instant that is not before.
pub(super) fn instant(at: Picos) -> Instant {
    // Half a year fits into 64 bits, in which dividing costs next to nothing.
    match u64::try_from(at) {
        Ok(at) => Instant::from_nanos(at.div_ceil(NANO as u64)),
        Err(_) => Instant::from_nanos(u64::try_from(at.div_ceil(NANO)).unwrap_or(u64::MAX)),
    }
}

/// A span, to the nearest nanosecond.
pub(super) fn span(picos: Picos) -> Duration {
    if let Ok(picos) = u64::try_from(picos + NANO / 2) {
        return Duration::from_nanos(picos / NANO as u64);
    }
    Duration::from_nanos(u64::try_from((picos + NANO / 2) / NANO).unwrap_or(u64::MAX))
}

/// How long so many bits last, to the nearest picosecond.
pub(super) fn bits(rate: BitRate, bits: u64) -> Picos {
    let exact = bits.checked_mul(1_000_000_000_000);
    let rounded = exact.and_then(|exact| exact.checked_add(rate.bits_per_second() / 2));
    if let Some(rounded) = rounded {
        return Picos::from(rounded / rate.bits_per_second());
    }
    let rate = Picos::from(rate.bits_per_second());
    (Picos::from(bits) * 1_000_000_000_000 + rate / 2) / rate
}

/// A span that was computed, to the nearest picosecond.
pub(super) fn nearest(picos: f64) -> Picos {
    // Beyond 2^53 nothing is left to round.
    let whole = picos as u64;
    Picos::from(whole) + Picos::from(picos - whole as f64 >= 0.5)
}

/// Places that are visited in turn, and how long the way from each to the next takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Rotation {
    /// How long it takes from place 0 to each place, in order.
    from_first: Vec<Picos>,
    /// How long it takes all the way round.
    pub round: Picos,
}

impl Rotation {
    /// Of places that are reached so long after place 0, in this order, and all the way round.
    pub(super) const fn new(from_first: Vec<Picos>, round: Picos) -> Self {
        Self { from_first, round }
    }

    /// How many places there are.
    pub(super) const fn places(&self) -> usize {
        self.from_first.len()
    }

    /// How long a signal takes from one place to another; all the way round to the same.
    pub(super) fn way(&self, from: usize, to: usize) -> Picos {
        let (start, end) = (self.from_first[from], self.from_first[to]);
        if to > from { end - start } else { self.round - (start - end) }
    }

    /// The rounds that are over after so long, in picoseconds.
    pub(super) fn whole_rounds(&self, gone: Picos) -> Picos {
        if gone < self.round {
            return 0;
        }
        match (u64::try_from(gone), u64::try_from(self.round)) {
            (Ok(gone), Ok(round)) => Picos::from(gone / round * round),
            _ => gone / self.round * self.round,
        }
    }

    /// Where something that was at a place at some time last was before `now`: the last place it
    /// had reached, and when.
    pub(super) fn last_before(&self, now: Picos, at: Picos, place: usize) -> (Picos, usize) {
        if now <= at {
            return (at, place);
        }
        // Strictly before: what is at a place this very instant may still be taken there.
        let gone = now - at - 1;
        let rounds = self.whole_rounds(gone);
        let (at, gone) = (at + rounds, gone - rounds);
        // Places in the order in which they are reached, this one first.
        let count = self.from_first.len();
        let (mut low, mut high) = (0, count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.way(place, wrapped(place + middle, count)) <= gone {
                low = middle;
            } else {
                high = middle;
            }
        }
        let last = wrapped(place + low, count);
        if low == 0 { (at, place) } else { (at + self.way(place, last), last) }
    }
}

/// A place beyond the last, counted on from the first.
pub(super) const fn wrapped(place: usize, count: usize) -> usize {
    if place < count { place } else { place - count }
}
