//! Time base of tidewire: whole nanoseconds since an origin.
//!
//! The origin is the Unix epoch in a capture, the start of the run in a simulation, and the start
//! of the process on a live port. Spans are [`Duration`].

use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// Point in time: nanoseconds since the origin of its run or capture.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// Origin.
    pub const ZERO: Self = Self(0);
    /// Latest representable time, after every event.
    pub const MAX: Self = Self(u64::MAX);

    /// Point in time `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin, for formulas.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "formulas take seconds as a float")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Span from `earlier` to this point; zero if this point is not later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Nanoseconds from `earlier` to this point; zero if this point is not later.
    #[must_use]
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Point in time earlier by `span`, but not before the origin.
    #[must_use]
    pub fn saturating_sub(self, span: Duration) -> Self {
        self.earlier_by(nanos(span))
    }

    /// Point in time earlier by `nanos` nanoseconds, but not before the origin.
    #[must_use]
    pub const fn earlier_by(self, nanos: u64) -> Self {
        Self(self.0.saturating_sub(nanos))
    }
}

/// Converts a span to whole nanoseconds; spans beyond 584 years saturate.
#[must_use]
pub fn nanos(span: Duration) -> u64 {
    span.as_secs().saturating_mul(1_000_000_000).saturating_add(span.subsec_nanos().into())
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Display for Instant {
    /// Prints seconds with nine decimals: `0.006260000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_prints_as_seconds() {
        assert_eq!(Instant::from_nanos(6_260_000).to_string(), "0.006260000");
    }

    #[test]
    fn time_never_runs_below_the_origin_or_past_the_end() {
        assert_eq!(Instant::ZERO - Instant::from_nanos(5), Duration::ZERO);
        assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
    }
}
