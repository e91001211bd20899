//! Where things are on a ring, in time: a pure calculation, so that a token that nobody wants costs
//! nothing.
//!
//! Times are picoseconds, since a bit at 16 Mbit/s lasts 62,500 of them and an idle token goes
//! round a million times before anybody asks where it is.
//!
//! Not modelled: the elastic part of the latency buffer, and clocks that differ.

use super::params::{Invalid, Params};
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
    Instant::from_nanos(u64::try_from(at.div_ceil(NANO)).unwrap_or(u64::MAX))
}

/// A span, to the nearest nanosecond.
pub(super) fn span(picos: Picos) -> Duration {
    Duration::from_nanos(u64::try_from((picos + NANO / 2) / NANO).unwrap_or(u64::MAX))
}

/// How long so many bits last, to the nearest picosecond.
pub(super) fn bits(rate: BitRate, bits: u64) -> Picos {
    let rate = Picos::from(rate.bits_per_second());
    (Picos::from(bits) * 1_000_000_000_000 + rate / 2) / rate
}

/// The stations around a ring. A station's place is where it takes what it hears and sends what it
/// has; places are numbered along the ring.
#[derive(Clone, Debug)]
pub(super) struct Circle {
    /// The station at each place.
    pub stations: Vec<usize>,
    /// The place of each station.
    pub places: Vec<usize>,
    /// How long a signal takes from place 0 to each place, in order.
    from_first: Vec<Picos>,
    /// How long it takes all the way round.
    pub round: Picos,
}

impl Circle {
    /// The stations in the order of their positions. The active monitor's latency lies before the
    /// first.
    pub(super) fn new(params: &Params) -> Result<Self, Invalid> {
        params.check()?;
        let metres = &params.positions_metres;
        let mut stations: Vec<usize> = (0..metres.len()).collect();
        stations.sort_by(|a, b| metres[*a].total_cmp(&metres[*b]));
        let mut places = vec![0; stations.len()];
        stations.iter().enumerate().for_each(|(place, station)| places[*station] = place);
        let cable = |metres: f64| (metres / params.metres_per_second * 1e12).round() as Picos;
        let latency = |stations: usize, more: u64| {
            bits(params.rate, params.station_latency_bits * stations as u64 + more)
        };
        let first = stations.first().map_or(0.0, |station| metres[*station]);
        let from_first = stations.iter().enumerate();
        let from_first = from_first
            .map(|(place, station)| cable(metres[*station] - first) + latency(place, 0))
            .collect();
        let all = latency(stations.len(), params.monitor_latency_bits);
        let round = cable(params.length_metres) + all;
        let token = bits(params.rate, params.format.token_bits);
        if round < token || round == 0 {
            let nanos = |picos| u64::try_from(picos / NANO).unwrap_or(u64::MAX);
            let (round_nanos, token_nanos) = (nanos(round), nanos(token));
            return Err(Invalid::Latency { round_nanos, token_nanos });
        }
        Ok(Self { stations, places, from_first, round })
    }

    /// How long a signal takes from one place to another; all the way round to the same.
    pub(super) fn way(&self, from: usize, to: usize) -> Picos {
        let (start, end) = (self.from_first[from], self.from_first[to]);
        if to > from { end - start } else { self.round - (start - end) }
    }

    /// How long a signal takes from a place to the observer, who sits where place 0 sends.
    pub(super) fn way_to_observer(&self, from: usize) -> Picos {
        if from == 0 { 0 } else { self.way(from, 0) }
    }

    /// Where something that was at a place at some time last was before `now`: the last place it
    /// had reached, and when.
    pub(super) fn last_before(&self, now: Picos, at: Picos, place: usize) -> (Picos, usize) {
        if now <= at {
            return (at, place);
        }
        // Strictly before: what is at a place this very instant may still be taken there.
        let gone = now - at - 1;
        let at = at + gone / self.round * self.round;
        let gone = gone % self.round;
        // Places in the order in which they are reached, this one first.
        let count = self.from_first.len();
        let (mut low, mut high) = (0, count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.way(place, (place + middle) % count) <= gone {
                low = middle;
            } else {
                high = middle;
            }
        }
        let last = (place + low) % count;
        if low == 0 { (at, place) } else { (at + self.way(place, last), last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four stations on 400 m at 1 Mbit/s and 5 ns/m, given in another order than they sit in.
    fn circle() -> Circle {
        let mut params = Params::ieee_802_5(BitRate::mbps(1), 4, 400.0);
        params.positions_metres = vec![200.0, 100.0, 390.0, 300.0];
        Circle::new(&params).unwrap()
    }

    #[test]
    fn ways_add_up_to_the_way_round() {
        let circle = circle();
        assert_eq!(circle.stations, [1, 0, 3, 2]);
        assert_eq!(circle.places, [1, 0, 3, 2]);
        // 4 + 24 bits of 1 us, and 2 us of cable.
        assert_eq!(circle.round, 30_000_000);
        // 100 m, and a bit at each station passed or reached.
        assert_eq!(circle.way(0, 1), 1_500_000);
        assert_eq!(circle.way(0, 3), 3_000_000 + 1_450_000);
        assert_eq!(circle.way(3, 0), 110 * 5_000 + 25_000_000);
        assert_eq!(circle.way(2, 2), circle.round);
        assert_eq!(circle.way_to_observer(0), 0);
        for from in 0..4 {
            let ways: Picos = (0..4).map(|n| circle.way((from + n) % 4, (from + n + 1) % 4)).sum();
            assert_eq!(ways, circle.round);
        }
    }

    #[test]
    fn the_last_place_is_found_however_long_ago() {
        let circle = circle();
        for place in 0..4 {
            for turns in [0, 1, 1_000_000] {
                let begun = 7 + turns * circle.round;
                for steps in 1..=4 {
                    let next = (place + steps) % 4;
                    let reached = begun + circle.way(place, next);
                    let before = circle.last_before(reached, 7, place);
                    let after = circle.last_before(reached + 1, 7, place);
                    assert_eq!(after, (reached, next));
                    assert_eq!(before.1, (place + steps - 1) % 4, "still there to be taken");
                }
            }
        }
        assert_eq!(circle.last_before(3, 7, 2), (7, 2), "it is not there yet");
    }

    #[test]
    fn a_ring_that_cannot_hold_a_token_is_refused() {
        let mut params = Params::ieee_802_5(BitRate::mbps(4), 20, 0.0);
        params.monitor_latency_bits = 3;
        let invalid = Invalid::Latency { round_nanos: 5_750, token_nanos: 6_000 };
        assert_eq!(Circle::new(&params).unwrap_err(), invalid);
        params.monitor_latency_bits = 4;
        assert_eq!(Circle::new(&params).unwrap().round, 6_000_000);
    }

    #[test]
    fn a_bit_at_16_megabits_is_exact_in_picoseconds() {
        assert_eq!(bits(BitRate::mbps(16), 1), 62_500);
        assert_eq!(instant(62_500), Instant::from_nanos(63));
        assert_eq!(instant(125_000), Instant::from_nanos(125));
    }
}
