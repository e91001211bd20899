//! How long the token of a bus may take, whatever the load.
//!
//! Sevcik and Johnson (1987) prove the like of FDDI, whose timers differ; the proof for the timers of
//! IEEE 802.4, which are set anew at each visit, is in [`Params::longest_rotation`].

use super::{Params, Service};
use core::time::Duration;

impl Params {
    /// The longest that a token takes from one station to the next: its bits, the station that
    /// answers, and the way between the two that are farthest apart, by the head end if there is one.
    #[must_use]
    pub fn longest_pass(&self) -> Duration {
        let token = self.longest_empty_frame();
        token.saturating_add(self.station_delay).saturating_add(self.longest_way())
    }

    /// How long a frame without data takes, rounded up to a nanosecond.
    fn longest_empty_frame(&self) -> Duration {
        let bits = u128::from(self.frame_bits(0));
        let rate = u128::from(self.rate.bits_per_second());
        let nanos = (bits * 1_000_000_000).div_ceil(rate.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The longest that a signal takes from one station to another.
    #[must_use]
    pub fn longest_way(&self) -> Duration {
        let ends = |from: f64, metres: &f64| (metres - from).abs();
        let farthest = |from: f64| {
            self.positions_metres.iter().map(|metres| ends(from, metres)).fold(0.0, f64::max)
        };
        let (metres, delay) = match self.head_end {
            Some(head_end) => (2.0 * farthest(head_end.position_metres), head_end.delay),
            None => {
                let all = self.positions_metres.iter().map(|metres| farthest(*metres));
                (all.fold(0.0, f64::max), Duration::ZERO)
            }
        };
        let nanos = (metres / self.metres_per_second * 1e9).ceil() as u64;
        Duration::from_nanos(nanos).saturating_add(delay)
    }

    /// The longest from one visit of the token to a station to its next, where each station holds it
    /// for class 6 no longer than this, and no frame of a lower class lasts longer than `low`.
    ///
    /// Without classes it is the sum of what stations hold the token for and of the passes. With
    /// classes, let j be the last transmission of a lower class between the two visits. It was begun
    /// with T - e left on its timer, where e is how long ago its class was served before; so from that
    /// service to its end no more than the longest target T and a frame go by, and what follows is
    /// class 6 and passes alone. Hence T + F + sum of holds and passes.
    ///
    /// Each pass may come after a window in which nobody answers, and that of the lowest address after
    /// two. Where [`Params::changes`] are due there is no such bound: somebody may answer, or fail.
    #[must_use]
    pub fn longest_rotation(&self, holds: &[Duration], low: Duration) -> Duration {
        let (window, second) = match self.maintenance {
            Some(_) => {
                (self.longest_empty_frame().saturating_add(self.slot_time()), self.slot_time())
            }
            None => (Duration::ZERO, Duration::ZERO),
        };
        let pass = self.longest_pass().saturating_add(window);
        let high =
            holds.iter().fold(second, |sum, hold| sum.saturating_add(*hold).saturating_add(pass));
        match self.service {
            Service::HoldingTime(_) => high,
            Service::Classes { target_rotation_times, .. } => {
                let target = target_rotation_times.into_iter().max().unwrap_or_default();
                high.saturating_add(target).saturating_add(low)
            }
        }
    }
}
