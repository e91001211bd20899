//! Circulation of a token or signal among stations, computed in closed form, so that an unused
//! token costs no events.
//!
//! Times are in picoseconds: a bit at 16 Mbit/s lasts 62,500 of them, and rounding errors would add
//! up over the millions of rounds of an idle token.
//!
//! Not modelled: clock differences between stations.

use core::time::Duration;
use wire::time::Instant;
use wire::units::BitRate;

/// Picoseconds since the origin, or of a span.
pub(super) type Picos = u128;

/// Picoseconds in a nanosecond.
const NANO: Picos = 1_000;

/// Converts an instant to picoseconds.
pub(super) const fn picos(at: Instant) -> Picos {
    at.as_nanos() as Picos * NANO
}

/// Earliest instant, in whole nanoseconds, that is not before `at`.
pub(super) fn instant(at: Picos) -> Instant {
    // Half a year fits into 64 bits, where division is cheap.
    match u64::try_from(at) {
        Ok(at) => Instant::from_nanos(at.div_ceil(NANO as u64)),
        Err(_) => Instant::from_nanos(u64::try_from(at.div_ceil(NANO)).unwrap_or(u64::MAX)),
    }
}

/// Converts a span to a duration, to the nearest nanosecond.
pub(super) fn span(picos: Picos) -> Duration {
    if let Ok(picos) = u64::try_from(picos + NANO / 2) {
        return Duration::from_nanos(picos / NANO as u64);
    }
    Duration::from_nanos(u64::try_from((picos + NANO / 2) / NANO).unwrap_or(u64::MAX))
}

/// Duration of `bits` bits, to the nearest picosecond.
pub(super) fn bits(rate: BitRate, bits: u64) -> Picos {
    let exact = bits.checked_mul(1_000_000_000_000);
    let rounded = exact.and_then(|exact| exact.checked_add(rate.bits_per_second() / 2));
    if let Some(rounded) = rounded {
        return Picos::from(rounded / rate.bits_per_second());
    }
    let rate = Picos::from(rate.bits_per_second());
    (Picos::from(bits) * 1_000_000_000_000 + rate / 2) / rate
}

/// Rounds a computed span to the nearest picosecond.
pub(super) fn nearest(picos: f64) -> Picos {
    // Above 2^53 there is no fraction to round.
    let whole = picos as u64;
    Picos::from(whole) + Picos::from(picos - whole as f64 >= 0.5)
}

/// Places that are visited in turn, and the time from each to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Rotation {
    /// Time from place 0 to each place, in order.
    from_first: Vec<Picos>,
    /// Time of a full rotation.
    pub round: Picos,
}

impl Rotation {
    /// Creates a rotation of places reached at these times after place 0, in this order; `round` is
    /// the time of a full rotation.
    pub(super) const fn new(from_first: Vec<Picos>, round: Picos) -> Self {
        Self { from_first, round }
    }

    /// Number of places.
    pub(super) const fn places(&self) -> usize {
        self.from_first.len()
    }

    /// Time from one place to another; from a place to itself, a full rotation.
    pub(super) fn way(&self, from: usize, to: usize) -> Picos {
        let (start, end) = (self.from_first[from], self.from_first[to]);
        if to > from { end - start } else { self.round - (start - end) }
    }

    /// Sum of the complete rotations within `gone` picoseconds.
    pub(super) fn whole_rounds(&self, gone: Picos) -> Picos {
        if gone < self.round {
            return 0;
        }
        match (u64::try_from(gone), u64::try_from(self.round)) {
            (Ok(gone), Ok(round)) => Picos::from(gone / round * round),
            _ => gone / self.round * self.round,
        }
    }

    /// Last place reached strictly before `now`, and the time of that visit, by a token that was at
    /// `place` at the time `at`.
    pub(super) fn last_before(&self, now: Picos, at: Picos, place: usize) -> (Picos, usize) {
        if now <= at {
            return (at, place);
        }
        // Strictly before: a token that is at a place at this very instant may still be captured
        // there.
        let gone = now - at - 1;
        let rounds = self.whole_rounds(gone);
        let (at, gone) = (at + rounds, gone - rounds);
        // Binary search over the places in the order of visits, `place` first.
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

/// Wraps an index at or beyond `count` once.
pub(super) const fn wrapped(place: usize, count: usize) -> usize {
    if place < count { place } else { place - count }
}
