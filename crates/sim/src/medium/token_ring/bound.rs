//! How long the token of a ring may take, whatever the load, where no frame has more priority than
//! another: reservations can hold the frames of the lower ones back without end.

use super::{Params, Release};
use core::time::Duration;

impl Params {
    /// The longest that a bit takes once round: what stations and the active monitor add, and the
    /// cable.
    #[must_use]
    pub fn longest_round(&self) -> Duration {
        let stations = self.positions_metres.len() as u64;
        let late = stations.saturating_mul(self.station_latency_bits);
        let bits = late.saturating_add(self.monitor_latency_bits);
        let cable = (self.length_metres / self.metres_per_second * 1e9).ceil() as u64;
        self.longest_bits(bits).saturating_add(Duration::from_nanos(cable))
    }

    /// How long so many bits last, rounded up to a nanosecond.
    #[must_use]
    pub fn longest_bits(&self, bits: u64) -> Duration {
        let rate = u128::from(self.rate.bits_per_second()).max(1);
        let nanos = (u128::from(bits) * 1_000_000_000).div_ceil(rate);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The longest from one visit of the token to a station to its next, where each station sends for
    /// no longer than this at a time, and not at all where that is zero: once round, and for each that
    /// sends its frames, the token, and the wait for its own header unless it releases early.
    #[must_use]
    pub fn longest_rotation(&self, sending: &[Duration]) -> Duration {
        let round = self.longest_round();
        let token = self.longest_bits(self.format.token_bits);
        let back = match self.release {
            Release::OwnHeader => self.longest_bits(self.format.header_bits).saturating_add(round),
            Release::Early => Duration::ZERO,
        };
        let active = sending.iter().filter(|sends| !sends.is_zero());
        active.fold(round.saturating_add(token), |sum, sends| {
            sum.saturating_add((*sends).max(back)).saturating_add(token)
        })
    }
}
