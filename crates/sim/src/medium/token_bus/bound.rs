//! Bounds on the token rotation time of a bus, whatever the load.
//!
//! Sevcik and Johnson (1987) prove a similar bound for FDDI, whose timers differ. The proof for the
//! timers of IEEE 802.4, which are reloaded at each visit, is in [`Params::longest_rotation`].

use super::{Params, Service};
use core::time::Duration;

impl Params {
    /// Maximum time to pass the token from one station to the next: its bits, the station delay,
    /// and the propagation between the two stations farthest apart, by the head end if there is
    /// one.
    #[must_use]
    pub fn longest_pass(&self) -> Duration {
        let token = self.longest_empty_frame();
        token.saturating_add(self.station_delay).saturating_add(self.longest_way())
    }

    /// Transmission time of a frame without data, rounded up to a nanosecond.
    fn longest_empty_frame(&self) -> Duration {
        let bits = u128::from(self.frame_bits(0));
        let rate = u128::from(self.rate.bits_per_second());
        let nanos = (bits * 1_000_000_000).div_ceil(rate.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Maximum propagation delay from one station to another.
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

    /// Maximum time from one visit of the token to a station to its next. `holds` is the longest
    /// time for which each station holds the token for class 6, and `low` the longest transmission
    /// time of a frame of a lower class.
    ///
    /// Without classes the bound is the sum of holds and passes. With classes, let j be the last
    /// transmission of a lower class between the two visits. It began with T - e left on its timer,
    /// where e is the time since the previous service of its class. So from that service to the end
    /// of j at most the longest target T and a frame pass, and what follows is class 6 and passes
    /// alone. Hence the bound is T + F + sum of holds and passes.
    ///
    /// Each pass may follow a window without an answer, and that of the lowest address two. If
    /// [`Params::changes`] are due, there is no such bound: a station may answer, or fail.
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
