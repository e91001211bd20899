//! Packed delays of a direction of a TCP connection; small, because every connection has four.

use crate::measure::Times;

/// Count, sum and maximum of delays, as long as they are small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ShortTimes {
    /// Lower 32 bits of the sum in nanoseconds.
    total: u32,
    /// Lower 32 bits of the maximum in nanoseconds.
    max: u32,
    count: u16,
    /// Upper 8 bits of the sum, and of the maximum.
    upper: [u8; 2],
}

const _: () = assert!(size_of::<ShortTimes>() == 12);

/// Bits of the sum, and of the maximum: 18 minutes.
const BITS: u32 = 40;

const fn joined(upper: u8, lower: u32) -> u64 {
    (upper as u64) << 32 | lower as u64
}

impl ShortTimes {
    /// No delays.
    pub(super) const NONE: Self = Self { total: 0, max: 0, count: 0, upper: [0; 2] };

    /// Adds a delay in nanoseconds; returns false, without effect, if the sums are too small for it.
    #[inline]
    pub(super) fn note(&mut self, nanos: u64) -> bool {
        let (total, has_carry) = self.total.overflowing_add(nanos as u32);
        let [_, upper_max] = self.upper;
        if has_carry || nanos >> 32 != 0 || upper_max != 0 || self.count == u16::MAX {
            return self.note_long(nanos);
        }
        (self.total, self.max) = (total, self.max.max(nanos as u32));
        self.count += 1;
        true
    }

    /// Does the same if upper bits change or have to be compared.
    #[cold]
    fn note_long(&mut self, nanos: u64) -> bool {
        let Times { total_ns, max_ns, .. } = self.times();
        let total_ns = total_ns.saturating_add(nanos);
        if self.count == u16::MAX || total_ns >> BITS != 0 {
            return false;
        }
        let max_ns = max_ns.max(nanos);
        *self = Self {
            total: total_ns as u32,
            max: max_ns as u32,
            count: self.count + 1,
            upper: [(total_ns >> 32) as u8, (max_ns >> 32) as u8],
        };
        true
    }

    /// Count, sum and maximum.
    #[inline]
    pub(super) const fn times(&self) -> Times {
        let [upper_total, upper_max] = self.upper;
        Times {
            count: self.count as u64,
            total_ns: joined(upper_total, self.total),
            max_ns: joined(upper_max, self.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_added_until_a_sum_is_full() {
        let mut short = ShortTimes::NONE;
        assert!(short.note(3) && short.note(9 << 30) && short.note(5));
        let times = Times { count: 3, total_ns: (9 << 30) + 8, max_ns: 9 << 30 };
        assert_eq!(short.times(), times);
        let room = (1 << BITS) - times.total_ns;
        assert!(!short.note(room) && !short.note(1 << BITS) && !short.note(u64::MAX));
        assert_eq!(short.times(), times);
        assert!(short.note(room - 1));
        assert_eq!(short.times().total_ns, (1 << BITS) - 1);
        let mut many = ShortTimes::NONE;
        assert!((0..u16::MAX).all(|_| many.note(0)) && !many.note(0));
    }
}
