//! Clock of an interface, which stamps frames as they arrive on the wire (a PTP hardware clock).
//!
//! It is another clock than those of the host, and may differ from them in time and in speed. Its
//! stamps are shifted to the host's monotonic clock. The shift follows the difference of the two
//! clocks without steps, so that the times between frames stay those of the interface.
//!
//! Tried with made-up stamps and readings only, not with an interface that has such a clock.
#![expect(unsafe_code, reason = "a hardware clock is read through libc")]

use crate::clock::{Correlation, from_spec};
use core::fmt;
use core::time::Duration;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use wire::time::Instant;

/// Age at which a comparison of the clocks is renewed.
const COMPARISON_LASTS: Duration = Duration::from_secs(1);
/// The same until the speeds of the clocks have been compared once.
const FIRST_LASTS: Duration = Duration::from_millis(100);
/// Difference after which the clock counts as set, in nanoseconds: the shift then steps.
const STEP_NS: i64 = 1_000_000;
const PER_BILLION: i128 = 1_000_000_000;

/// Clock that stamps frames.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stamps {
    /// The kernel's, when a frame reaches its network stack.
    Kernel,
    /// The interface's own, when a frame arrives on the wire. Frames that it did not stamp, such as
    /// those that this host sends, have the kernel's.
    Hardware,
}

/// Ability of an interface to stamp the frames that it receives, by its own clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HardwareStamps {
    /// Every frame, by the clock `/dev/ptp` and this number.
    By(u32),
    /// It can stamp every frame, which is not turned on.
    Off,
    /// It can stamp the frames of PTP only.
    OfPtp,
    /// It has no such clock, or its driver does not say so.
    None,
}

impl fmt::Display for HardwareStamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::By(_) => "it stamps every frame",
            Self::Off => "it can stamp every frame, but this is not turned on",
            Self::OfPtp => "it can stamp the frames of PTP only",
            Self::None => "it has no clock that stamps frames",
        })
    }
}

/// Clock of an interface, as a device file.
#[derive(Debug)]
pub(crate) struct HardwareClock(File);

impl HardwareClock {
    /// Opens `/dev/ptp` and this number.
    pub(crate) fn open(number: u32) -> io::Result<Self> {
        File::open(format!("/dev/ptp{number}")).map(Self)
    }

    /// Compares it with the monotonic clock.
    fn compare(&self) -> Correlation {
        // clock_gettime(2): the clock of a descriptor is its complement, shifted, with 3 below.
        let clock = (!self.0.as_raw_fd() << 3) | 3;
        Correlation::of(|| {
            let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `spec` is a timespec this call may write to, and is not used elsewhere.
            let _ = unsafe { libc::clock_gettime(clock, &raw mut spec) };
            from_spec(spec)
        })
    }
}

/// Converts the stamps of an interface to readings of the monotonic clock.
#[derive(Debug)]
pub(crate) struct Hardware {
    clock: HardwareClock,
    shift: Shift,
}

impl Hardware {
    /// Converter for the stamps of `clock`.
    pub(crate) fn new(clock: HardwareClock) -> Self {
        let shift = Shift::new(clock.compare());
        Self { clock, shift }
    }

    /// Converts the stamp of a frame that was taken at `now`. Returns `None` if it cannot be right.
    pub(crate) fn convert(&mut self, stamp_nanos: u64, now: Instant) -> Option<Instant> {
        if self.shift.is_old(now) {
            self.shift.renew(self.clock.compare());
        }
        self.shift.measured.plausible(self.shift.convert(stamp_nanos), now)
    }
}

/// Shift from one clock to the other.
#[derive(Clone, Copy, Debug)]
struct Shift {
    /// Latest comparison.
    measured: Correlation,
    /// Reading of the monotonic clock that stands for `measured.wall_nanos`.
    applied: Instant,
    /// Nanoseconds by which the shift grows in a second.
    rate: i64,
    is_first: bool,
}

impl Shift {
    const fn new(measured: Correlation) -> Self {
        Self { measured, applied: measured.monotonic, rate: 0, is_first: true }
    }

    fn is_old(&self, now: Instant) -> bool {
        let lasts = if self.is_first { FIRST_LASTS } else { COMPARISON_LASTS };
        now - self.measured.monotonic > lasts
    }

    fn convert(&self, stamp_nanos: u64) -> Instant {
        let since = i128::from(stamp_nanos) - i128::from(self.measured.wall_nanos);
        let shifted = since + since * i128::from(self.rate) / PER_BILLION;
        let at = i128::from(self.applied.as_nanos()) + shifted;
        Instant::from_nanos(u64::try_from(at.max(0)).unwrap_or(u64::MAX))
    }

    /// Continues from here at the speed measured since the last comparison, and makes up for the
    /// remaining difference until the next one.
    fn renew(&mut self, next: Correlation) {
        let applied = self.convert(next.wall_nanos);
        let ahead_ns = |one: Instant, other: Instant| {
            i64::try_from(i128::from(one.as_nanos()) - i128::from(other.as_nanos()))
                .unwrap_or(i64::MAX)
        };
        let behind_ns = ahead_ns(next.monotonic, applied);
        let passed_ns = ahead_ns(next.monotonic, self.measured.monotonic).max(1);
        let stamped_ns = i128::from(next.wall_nanos) - i128::from(self.measured.wall_nanos);
        *self = if behind_ns.abs() > STEP_NS {
            Self::new(next)
        } else {
            let faster_ns = i128::from(passed_ns) - stamped_ns;
            let in_a_second = |ns: i128, span_ns: i128| ns * PER_BILLION / span_ns;
            let until_next_ns = COMPARISON_LASTS.as_nanos() as i128;
            let rate = in_a_second(faster_ns, passed_ns.into())
                + in_a_second(behind_ns.into(), until_next_ns);
            let rate = i64::try_from(rate).unwrap_or(0);
            Self { measured: next, applied, rate, is_first: false }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A clock that is `ahead` of the monotonic one and fast by `ppb`, compared at `at`.
    fn compared(at: u64, ahead: u64, ppb: u64) -> Correlation {
        Correlation {
            monotonic: Instant::from_nanos(at),
            wall_nanos: stamp(at, ahead, ppb),
            uncertainty: Duration::from_nanos(200),
        }
    }

    fn stamp(at: u64, ahead: u64, ppb: u64) -> u64 {
        at + ahead + at * ppb / SECOND
    }

    #[test]
    fn gaps_are_those_of_the_interface_and_never_step() {
        // TAI, 37 s ahead, and 50 ppm fast: 12.5 ns in the 250 us between two samples.
        let (ahead, ppb) = (37 * SECOND, 50_000);
        let mut shift = Shift::new(compared(SECOND, ahead, ppb));
        let mut last = None;
        for frame in 0..40_000 {
            let at = SECOND + frame * 250_000;
            if shift.is_old(Instant::from_nanos(at)) {
                shift.renew(compared(at, ahead, ppb));
            }
            let time = shift.convert(stamp(at, ahead, ppb)).as_nanos();
            let gap: u64 = last.map_or(250_000, |last| time - last);
            assert!(gap.abs_diff(250_000) <= 14, "frame {frame}: a gap of {gap} ns");
            assert!(time.abs_diff(at) < 10_000, "frame {frame}: {time} for {at}");
            last = Some(time);
        }
        // After some comparisons the speeds agree.
        assert!(shift.rate.abs_diff(-50_000) < 100, "{}", shift.rate);
    }

    #[test]
    fn a_clock_that_was_set_is_right_from_the_next_comparison() {
        let mut shift = Shift::new(compared(SECOND, 0, 0));
        shift.renew(compared(2 * SECOND, 0, 0));
        let set = stamp(2 * SECOND + 1, 37 * SECOND, 0);
        let now = Instant::from_nanos(2 * SECOND + 2);
        assert_eq!(shift.measured.plausible(shift.convert(set), now), None, "later than now");
        shift.renew(compared(3 * SECOND, 37 * SECOND, 0));
        let later = shift.convert(stamp(3 * SECOND + 5, 37 * SECOND, 0));
        assert_eq!(later, Instant::from_nanos(3 * SECOND + 5));
    }

    #[test]
    fn the_clock_of_no_interface_cannot_be_opened() {
        assert!(HardwareClock::open(u32::MAX).is_err());
    }
}
