//! How long to wait before a DT or ED is sent again: T1 (ISO 8073 12.2.1.1.4; RFC 1008 8.3.1.1).
//!
//! The adaptive timer follows the mean and the mean deviation of the round trip (V. Jacobson, Congestion
//! avoidance and control, 1988), as RFC 1008 asks for where delays vary, and never learns from a DT that was
//! sent more than once (P. Karn and C. Partridge, 1987): which transmission an AK answers cannot be known.
//! Each AK is learnt from that newly covers a DT which was sent once, and after all others it covers. One in
//! a window would not do. Nor is that enough where every window loses DTs: for long, every AK that goes on
//! also covers one that was sent again, there is nothing to learn from, and T1 would double at each loss.
//! So an AK that covers a DT sent once beside one sent again later takes back half the doublings. Where T1
//! is shorter than the round trip it still grows by what runs out within one, until an AK can be learnt from.
//! None can where a window holds no more than one AK covers: a DT may then be repeated in vain each time.

use core::time::Duration;

/// Where T1 comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RetransmissionTimer {
    /// It is [`super::super::Params::retransmission_time`], always.
    Fixed,
    /// It follows the round trips seen. It begins at [`super::super::Params::retransmission_time`],
    /// doubles each time it runs out until AKs come again, and never exceeds W, so that the relation of I to T1 holds.
    Adaptive,
}

/// Shorter than this T1 does not become: clocks and schedulers are not finer.
const LEAST: Duration = Duration::from_millis(1);

/// The round trips of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tp4) struct RoundTrip {
    /// Mean and mean deviation; `None` until the first round trip.
    estimate: Option<(Duration, Duration)>,
    /// How often T1 ran out since the last round trip.
    doublings: u32,
}

impl RoundTrip {
    /// T1 ran out: it doubles.
    pub(in crate::tp4) const fn ran_out(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }

    /// An AK covered a DT sent once, though it may have waited for others: half the doublings go.
    pub(in crate::tp4) const fn moved_on(&mut self) {
        self.doublings /= 2;
    }

    /// An AK came so long after the last DT it covers was sent, which was sent once: no doubling is left.
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

    /// T1 now. `first` where no round trip is known, never more than `most`.
    ///
    /// T1 = E_LR + E_RL + A_R + x: the mean stands for E, the peer's `acknowledge_time` for A_R, four
    /// deviations for x.
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
        assert_eq!(t1(&trips), ms(100), "nothing to take back");
        (0..4).for_each(|_| trips.ran_out());
        trips.moved_on();
        assert_eq!(t1(&trips), ms(400), "two of four are left");
        trips.learn(ms(2));
        assert_eq!(t1(&trips), ms(2 + 4 + 10));
    }
}
