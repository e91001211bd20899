//! Quantities that are easy to confuse, each with its own type.

use core::fmt;
use core::time::Duration;

/// Bit rate of a medium, in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BitRate(u64);

impl BitRate {
    /// Creates a rate; `None` for zero, at which a frame would never end.
    #[must_use]
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        if bits_per_second == 0 { None } else { Some(Self(bits_per_second)) }
    }

    /// Creates a rate in megabits (10^6 bits) per second; zero counts as one bit per second.
    #[must_use]
    pub const fn mbps(megabits_per_second: u64) -> Self {
        match Self::new(megabits_per_second * 1_000_000) {
            Some(rate) => rate,
            None => Self(1),
        }
    }

    /// Rate in bits per second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Duration of `bits` bits, rounded to the nearest nanosecond.
    #[must_use]
    pub fn bits(self, bits: u64) -> Duration {
        let exact = bits.checked_mul(1_000_000_000).and_then(|bits| bits.checked_add(self.0 / 2));
        if let Some(exact) = exact {
            return Duration::from_nanos(exact / self.0);
        }
        let rate = u128::from(self.0);
        let nanos = (u128::from(bits) * 1_000_000_000 + rate / 2) / rate;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Duration of `octets` octets, rounded to the nearest nanosecond.
    #[must_use]
    pub fn octets(self, octets: usize) -> Duration {
        self.bits(octets as u64 * 8)
    }
}

impl fmt::Display for BitRate {
    /// Prints the rate with the largest unit that leaves a whole number: `10 Mbit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            r if r.is_multiple_of(1_000_000_000) => (r / 1_000_000_000, "Gbit/s"),
            r if r.is_multiple_of(1_000_000) => (r / 1_000_000, "Mbit/s"),
            r if r.is_multiple_of(1_000) => (r / 1_000, "kbit/s"),
            r => (r, "bit/s"),
        };
        write!(f, "{value} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimum_frame_lasts_51_2_microseconds_at_10_megabits() {
        assert_eq!(BitRate::mbps(10).octets(64), Duration::from_nanos(51_200));
    }

    #[test]
    fn a_bit_that_is_no_whole_nanosecond_is_rounded_once() {
        // One bit at 16 Mbit/s lasts 62.5 ns; 24 bits last 1,500 ns exactly.
        assert_eq!(BitRate::mbps(16).bits(1), Duration::from_nanos(63));
        assert_eq!(BitRate::mbps(16).bits(24), Duration::from_nanos(1_500));
    }

    #[test]
    fn rates_print_in_their_largest_whole_unit() {
        assert_eq!(BitRate::mbps(10).to_string(), "10 Mbit/s");
        assert_eq!(BitRate::new(1_500).map(|r| r.to_string()).as_deref(), Some("1500 bit/s"));
    }
}
