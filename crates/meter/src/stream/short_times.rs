//! Packed delays of a direction of a TCP connection; small, because every connection has four.

use crate::measure::Times;

/// Count, sum and maximum of delays, as long as they are small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(2))]
pub(super) struct ShortTimes {
    total_ns: u32,
    max_ns: u32,
    count: u16,
}

impl ShortTimes {
    /// No delays.
    pub(super) const NONE: Self = Self { total_ns: 0, max_ns: 0, count: 0 };

    /// Adds a delay in nanoseconds; returns false, without effect, if the sums are too small for it.
    #[inline]
    pub(super) fn note(&mut self, nanos: u64) -> bool {
        let Ok(nanos) = u32::try_from(nanos) else { return false };
        let Self { total_ns, max_ns, count } = *self;
        let (Some(total_ns), Some(count)) = (total_ns.checked_add(nanos), count.checked_add(1))
        else {
            return false;
        };
        *self = Self { total_ns, max_ns: max_ns.max(nanos), count };
        true
    }

    /// Count, sum and maximum.
    pub(super) fn times(self) -> Times {
        let Self { total_ns, max_ns, count } = self;
        Times { count: count.into(), total_ns: total_ns.into(), max_ns: max_ns.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_added_until_a_sum_is_full() {
        let mut short = ShortTimes::NONE;
        assert!(short.note(3) && short.note(9) && short.note(5));
        let times = Times { count: 3, total_ns: 17, max_ns: 9 };
        assert_eq!(short.times(), times);
        // 17 + (2^32 - 17) is one too much.
        assert!(!short.note((1 << 32) - 17) && !short.note(1 << 40));
        assert_eq!(short.times(), times);
        assert!(short.note((1 << 32) - 18));
        let mut many = ShortTimes::NONE;
        assert!((0..u16::MAX).all(|_| many.note(0)) && !many.note(0));
    }

    #[test]
    fn four_take_forty_octets() {
        assert_eq!(size_of::<[ShortTimes; 4]>(), 40);
    }
}
