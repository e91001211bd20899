//! Compact optional time, for state that exists once per connection.

use wire::time::Instant;

/// Optional time in 8 octets; the end of time stands for none. Stored as two halves, the lower
/// first, so that its alignment is 4 octets and it leaves no padding between fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PackedInstant([u32; 2]);

impl PackedInstant {
    pub(crate) const NEVER: Self = Self([u32::MAX; 2]);

    /// Time of `nanos` nanoseconds, which must be less than `u64::MAX`.
    pub(crate) const fn of_nanos(nanos: u64) -> Self {
        Self([nanos as u32, (nanos >> 32) as u32])
    }

    /// Nanoseconds; none if no time is set.
    #[inline]
    pub(crate) const fn nanos(self) -> Option<u64> {
        let [lower, upper] = self.0;
        let nanos = (upper as u64) << 32 | lower as u64;
        if nanos == u64::MAX { None } else { Some(nanos) }
    }

    #[inline]
    pub(crate) const fn of(at: Instant) -> Self {
        Self::of_nanos(at.as_nanos())
    }

    /// Time; none if no time is set.
    #[inline]
    pub(crate) const fn get(self) -> Option<Instant> {
        match self.nanos() {
            Some(nanos) => Some(Instant::from_nanos(nanos)),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_comes_back_as_it_was_and_the_end_of_time_is_none() {
        for nanos in [0, 1, u64::from(u32::MAX), 1 << 32, u64::MAX - 1] {
            assert_eq!(PackedInstant::of_nanos(nanos).nanos(), Some(nanos));
            assert_eq!(
                PackedInstant::of(Instant::from_nanos(nanos)).get(),
                Some(Instant::from_nanos(nanos))
            );
        }
        assert_eq!(
            (PackedInstant::of(Instant::MAX), PackedInstant::NEVER.get()),
            (PackedInstant::NEVER, None)
        );
    }
}
