//! Geometry of a ring: its stations, and the propagation delay between them.
//!
//! Not modelled: the elastic part of the latency buffer, and clock differences.

use super::params::{Invalid, Params};
use crate::medium::round_robin::{Picos, Rotation, bits, span};

/// Stations around a ring. A station's place is the point at which it receives and sends; places
/// are numbered along the ring.
#[derive(Clone, Debug)]
pub(super) struct Circle {
    /// Station at each place.
    pub stations: Vec<usize>,
    /// Place of each station.
    pub places: Vec<usize>,
    /// Circulation of a signal.
    pub rotation: Rotation,
}

impl Circle {
    /// Creates the ring with its stations in the order of their positions. The active monitor's
    /// latency lies before the first.
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
            let nanos = |picos| wire::time::nanos(span(picos));
            let (round_nanos, token_nanos) = (nanos(round), nanos(token));
            return Err(Invalid::Latency { round_nanos, token_nanos });
        }
        Ok(Self { stations, places, rotation: Rotation::new(from_first, round) })
    }

    /// Propagation delay from a place to the observer, who sits where place 0 sends.
    pub(super) fn way_to_observer(&self, from: usize) -> Picos {
        if from == 0 { 0 } else { self.rotation.way(from, 0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::round_robin::instant;
    use wire::time::Instant;
    use wire::units::BitRate;

    /// Four stations on 400 m at 1 Mbit/s and 5 ns/m, listed in a different order than their
    /// positions.
    fn circle() -> Circle {
        let mut params = Params::ieee_802_5(BitRate::mbps(1), 4, 400.0);
        params.positions_metres = vec![200.0, 100.0, 390.0, 300.0];
        Circle::new(&params).unwrap()
    }

    #[test]
    fn delays_between_stations_add_up_to_one_round() {
        let circle = circle();
        assert_eq!(circle.stations, [1, 0, 3, 2]);
        assert_eq!(circle.places, [1, 0, 3, 2]);
        // 4 + 24 bits of 1 us, and 2 us of cable.
        assert_eq!(circle.rotation.round, 30_000_000);
        // 100 m, and a bit at each station passed or reached.
        assert_eq!(circle.rotation.way(0, 1), 1_500_000);
        assert_eq!(circle.rotation.way(0, 3), 3_000_000 + 1_450_000);
        assert_eq!(circle.rotation.way(3, 0), 110 * 5_000 + 25_000_000);
        assert_eq!(circle.rotation.way(2, 2), circle.rotation.round);
        assert_eq!(circle.way_to_observer(0), 0);
        for from in 0..4 {
            let ways: Picos =
                (0..4).map(|n| circle.rotation.way((from + n) % 4, (from + n + 1) % 4)).sum();
            assert_eq!(ways, circle.rotation.round);
        }
    }

    #[test]
    fn the_last_visited_place_is_exact_after_a_million_rounds() {
        let circle = circle();
        for place in 0..4 {
            for turns in [0, 1, 1_000_000] {
                let begun = 7 + turns * circle.rotation.round;
                for steps in 1..=4 {
                    let next = (place + steps) % 4;
                    let reached = begun + circle.rotation.way(place, next);
                    let before = circle.rotation.last_before(reached, 7, place);
                    let after = circle.rotation.last_before(reached + 1, 7, place);
                    assert_eq!(after, (reached, next));
                    assert_eq!(before.1, (place + steps - 1) % 4, "still there to be captured");
                }
            }
        }
        assert_eq!(circle.rotation.last_before(3, 7, 2), (7, 2), "it is not there yet");
    }

    #[test]
    fn a_ring_that_cannot_hold_a_token_is_refused() {
        let mut params = Params::ieee_802_5(BitRate::mbps(4), 20, 0.0);
        params.monitor_latency_bits = 3;
        let invalid = Invalid::Latency { round_nanos: 5_750, token_nanos: 6_000 };
        assert_eq!(Circle::new(&params).unwrap_err(), invalid);
        params.monitor_latency_bits = 4;
        assert_eq!(Circle::new(&params).unwrap().rotation.round, 6_000_000);
    }

    #[test]
    fn a_bit_at_16_megabits_is_exact_in_picoseconds() {
        assert_eq!(bits(BitRate::mbps(16), 1), 62_500);
        assert_eq!(instant(62_500), Instant::from_nanos(63));
        assert_eq!(instant(125_000), Instant::from_nanos(125));
    }
}
