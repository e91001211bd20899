//! A time that is kept of very many things.

use wire::time::Instant;

/// A time, or none: the end of time. In two halves, the lower first, so that it needs no place of its own among what
/// stands beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment([u32; 2]);

impl Moment {
    pub(crate) const NEVER: Self = Self([u32::MAX; 2]);

    /// That of so many nanoseconds, which are fewer than there can be.
    pub(crate) const fn of_nanos(nanos: u64) -> Self {
        Self([nanos as u32, (nanos >> 32) as u32])
    }

    /// The nanoseconds; none of none.
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

    /// The time; none of none.
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
            assert_eq!(Moment::of_nanos(nanos).nanos(), Some(nanos));
            assert_eq!(
                Moment::of(Instant::from_nanos(nanos)).get(),
                Some(Instant::from_nanos(nanos))
            );
        }
        assert_eq!((Moment::of(Instant::MAX), Moment::NEVER.get()), (Moment::NEVER, None));
    }
}
