//! Bounds on the token rotation time of a ring, whatever the load, if all frames have one priority.
//! With several priorities there is no bound: reservations can hold back the lower ones without
//! end.

use super::{Params, Release};
use core::time::Duration;

impl Params {
    /// Maximum time of a bit once round the ring: the latencies of the stations and of the active
    /// monitor, and the cable.
    #[must_use]
    pub fn longest_round(&self) -> Duration {
        let stations = self.positions_metres.len() as u64;
        let late = stations.saturating_mul(self.station_latency_bits);
        let bits = late.saturating_add(self.monitor_latency_bits);
        let cable = (self.length_metres / self.metres_per_second * 1e9).ceil() as u64;
        self.longest_bits(bits).saturating_add(Duration::from_nanos(cable))
    }

    /// Duration of `bits` bits, rounded up to a nanosecond.
    #[must_use]
    pub fn longest_bits(&self, bits: u64) -> Duration {
        let rate = u128::from(self.rate.bits_per_second()).max(1);
        let nanos = (u128::from(bits) * 1_000_000_000).div_ceil(rate);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Maximum time from one visit of the token to a station to its next. `sending` is the longest
    /// time for which each station sends per token, 0 for one that does not send. The bound is one
    /// round and, for each sending station, its frames, the token, and, without early release, the
    /// wait for its own header.
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
