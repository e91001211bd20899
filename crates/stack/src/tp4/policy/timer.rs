//! How long to wait before a DT or ED is sent again: T1 (ISO 8073 12.2.1.1.4; RFC 1008 8.3.1.1).
//!
//! The adaptive timer follows the mean and the mean deviation of the round trip (V. Jacobson, Congestion
//! avoidance and control, 1988), as RFC 1008 asks for where delays vary, and never learns from a DT that was
//! sent more than once (P. Karn and C. Partridge, 1987): which transmission an AK answers cannot be known.

use core::time::Duration;
use wire::time::Instant;

/// Where T1 comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RetransmissionTimer {
    /// It is [`super::super::Params::retransmission_time`], always.
    Fixed,
    /// It follows the round trips seen. It begins at [`super::super::Params::retransmission_time`],
    /// doubles each time it runs out, and never exceeds W, so that the relation of I to T1 holds.
    Adaptive,
}

/// Shorter than this T1 does not become: clocks and schedulers are not finer.
const LEAST: Duration = Duration::from_millis(1);

/// The round trips of one connection. A DT is timed at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tp4) struct RoundTrip {
    /// Mean and mean deviation; `None` until the first round trip.
    estimate: Option<(Duration, Duration)>,
    /// How often T1 ran out since the last round trip.
    doublings: u32,
    /// The DT timed: how many DTs an AK must cover to cover it, and when it was sent.
    timed: Option<(u32, Instant)>,
}

impl RoundTrip {
    /// A new DT was sent, the `outstanding`th not acknowledged.
    pub(in crate::tp4) fn sent(&mut self, now: Instant, outstanding: usize) {
        if self.timed.is_none() {
            self.timed = Some((outstanding as u32, now));
        }
    }

    /// T1 ran out: what is outstanding is timed no more, and T1 doubles.
    pub(in crate::tp4) const fn ran_out(&mut self) {
        self.timed = None;
        self.doublings = self.doublings.saturating_add(1);
    }

    /// Something was sent again before T1 ran out.
    pub(in crate::tp4) const fn sent_again(&mut self) {
        self.timed = None;
    }

    /// An AK covered `newly` more DTs.
    pub(in crate::tp4) fn acknowledged(&mut self, now: Instant, newly: u32) {
        let Some((remaining, sent)) = self.timed else { return };
        if newly < remaining {
            self.timed = Some((remaining - newly, sent));
            return;
        }
        self.timed = None;
        self.learn(now.since(sent));
    }

    fn learn(&mut self, sample: Duration) {
        self.doublings = 0;
        self.estimate = Some(match self.estimate {
            None => (sample, sample / 2),
            Some((mean, deviation)) => {
                let error = mean.abs_diff(sample);
                (mean * 7 / 8 + sample / 8, deviation * 3 / 4 + error / 4)
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

    fn at(time: Duration) -> Instant {
        Instant::ZERO + time
    }

    fn t1(trip: &RoundTrip) -> Duration {
        trip.t1(ms(100), ms(10), ms(2_000))
    }

    #[test]
    fn the_first_round_trip_replaces_the_first_guess() {
        let mut trip = RoundTrip::default();
        assert_eq!(t1(&trip), ms(100));
        trip.sent(at(ms(0)), 1);
        trip.acknowledged(at(ms(8)), 1);
        // 8 + 4 x 4 + 10.
        assert_eq!(t1(&trip), ms(34));
        trip.sent(at(ms(10)), 1);
        trip.acknowledged(at(ms(18)), 1);
        // The deviation is 4 x 3/4: 8 + 4 x 3 + 10.
        assert_eq!(t1(&trip), ms(30));
    }

    #[test]
    fn it_doubles_each_time_and_never_exceeds_its_bound() {
        let mut trip = RoundTrip::default();
        let mut seen = Vec::new();
        for _ in 0..6 {
            trip.ran_out();
            seen.push(t1(&trip).as_millis());
        }
        assert_eq!(seen, [200, 400, 800, 1_600, 2_000, 2_000]);
    }

    #[test]
    fn what_was_sent_again_is_never_timed() {
        let mut trip = RoundTrip::default();
        trip.sent(at(ms(0)), 1);
        trip.ran_out();
        trip.acknowledged(at(ms(101)), 1);
        assert_eq!(t1(&trip), ms(200), "neither 101 ms nor 1 ms was learnt, and T1 stays doubled");
        trip.sent(at(ms(110)), 1);
        trip.acknowledged(at(ms(112)), 1);
        assert_eq!(t1(&trip), ms(2 + 4 + 10), "a DT sent once ends the doubling");
    }

    #[test]
    fn the_dt_timed_is_the_one_that_was_sent_then() {
        let mut trip = RoundTrip::default();
        trip.sent(at(ms(0)), 3);
        trip.sent(at(ms(5)), 4);
        trip.acknowledged(at(ms(6)), 2);
        assert_eq!(t1(&trip), ms(100), "the third is still out");
        trip.acknowledged(at(ms(8)), 2);
        assert_eq!(t1(&trip), ms(34));
    }
}
