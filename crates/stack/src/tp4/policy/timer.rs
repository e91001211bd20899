//! T1: time to wait before a DT or ED is retransmitted (ISO 8073 12.2.1.1.4; RFC 1008 8.3.1.1).
//!
//! The adaptive timer follows the mean and the mean deviation of the round trip (V. Jacobson,
//! Congestion avoidance and control, 1988), as RFC 1008 requires if delays vary. It never uses a DT
//! that was sent more than once (P. Karn and C. Partridge, 1987), because it is unknown which
//! transmission an AK answers. A sample is taken from each AK that newly covers a DT which was sent
//! once, after all others covered. One sample per window would not be enough.
//!
//! If every window loses DTs, there may be no samples for a long time: every AK that makes progress
//! also covers a retransmitted DT, and T1 would double at each loss. So an AK that covers a DT sent
//! once, together with one retransmitted later, takes back half the doublings. If T1 is shorter
//! than the round trip, it still grows by the expiries within one, until a sample is possible. No
//! sample is possible if a window holds no more DTs than one AK covers: then a DT may be
//! retransmitted needlessly each time.

use core::time::Duration;

/// Source of T1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RetransmissionTimer {
    /// Always [`super::super::Params::retransmission_time`].
    Fixed,
    /// Adapted to the measured round trips. It starts at
    /// [`super::super::Params::retransmission_time`], doubles with each expiry until AKs arrive
    /// again, and never exceeds W, so that the relation of I to T1 holds.
    Adaptive,
}

/// Minimum of T1: clocks and schedulers are not finer.
const LEAST: Duration = Duration::from_millis(1);

/// Round trips of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tp4) struct RoundTrip {
    /// Mean and mean deviation; `None` before the first round trip.
    estimate: Option<(Duration, Duration)>,
    /// Number of expiries of T1 since the last round trip.
    doublings: u32,
}

impl RoundTrip {
    /// Doubles T1 after its expiry.
    pub(in crate::tp4) const fn ran_out(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }

    /// Takes back half the doublings, after an AK covered a DT sent once, although the AK may have
    /// waited for others.
    pub(in crate::tp4) const fn moved_on(&mut self) {
        self.doublings /= 2;
    }

    /// Adds a round trip sample, from the last DT that an AK covers, which was sent once; takes
    /// back all doublings.
    pub(in crate::tp4) fn learn(&mut self, trip: Duration) {
        self.doublings = 0;
        self.estimate = Some(match self.estimate {
            None => (trip, trip / 2),
            Some((mean, deviation)) => {
                let error = mean.abs_diff(trip);
                (mean * 7 / 8 + trip / 8, deviation * 3 / 4 + error / 4)
            }
        });
    }

    /// Current T1: `first` before the first sample, and never more than `most`.
    ///
    /// T1 = E_LR + E_RL + A_R + x: the mean represents E, the peer's `acknowledge_time` A_R, and
    /// four deviations x.
    pub(in crate::tp4) fn t1(
        &self,
        first: Duration,
        acknowledge_time: Duration,
        most: Duration,
    ) -> Duration {
        let learnt = self.estimate.map(|(mean, deviation)| mean + deviation * 4 + acknowledge_time);
        let once = learnt.unwrap_or(first).max(LEAST);
        once.saturating_mul(1 << self.doublings.min(16)).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn t1(trips: &RoundTrip) -> Duration {
        trips.t1(ms(100), ms(10), ms(2_000))
    }

    #[test]
    fn the_first_round_trip_replaces_the_first_guess() {
        let mut trips = RoundTrip::default();
        assert_eq!(t1(&trips), ms(100));
        trips.learn(ms(8));
        // 8 + 4 x 4 + 10.
        assert_eq!(t1(&trips), ms(34));
        trips.learn(ms(8));
        // The deviation is 4 x 3/4: 8 + 4 x 3 + 10.
        assert_eq!(t1(&trips), ms(30));
        trips.learn(ms(16));
        // The error is 8: a mean of 7 + 2, a deviation of 2.25 + 2, and 10.
        assert_eq!(t1(&trips), ms(9 + 17 + 10));
    }

    #[test]
    fn it_doubles_each_time_and_never_exceeds_its_bound() {
        let mut trips = RoundTrip::default();
        let mut seen = Vec::new();
        for _ in 0..6 {
            trips.ran_out();
            seen.push(t1(&trips).as_millis());
        }
        assert_eq!(seen, [200, 400, 800, 1_600, 2_000, 2_000]);
    }

    #[test]
    fn progress_takes_back_half_the_doublings_and_a_round_trip_all() {
        let mut trips = RoundTrip::default();
        trips.moved_on();
        assert_eq!(t1(&trips), ms(100), "no doubling to take back");
        (0..4).for_each(|_| trips.ran_out());
        trips.moved_on();
        assert_eq!(t1(&trips), ms(400), "two of four are left");
        trips.learn(ms(2));
        assert_eq!(t1(&trips), ms(2 + 4 + 10));
    }
}
