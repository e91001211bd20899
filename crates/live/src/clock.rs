//! System clock, and the only sleeps.
//!
//! [`now`] is CLOCK_MONOTONIC: nanoseconds since the host's boot. It never steps, and all processes
//! and network namespaces of a host share it. So the difference of two readings is a one-way delay
//! even between two processes. Clocks of two hosts are not compared here.
//!
//! The kernel stamps frames with CLOCK_REALTIME; [`Converter`] converts those stamps to readings of
//! the monotonic clock.
#![expect(unsafe_code, reason = "the system's clocks are read and waited for through libc")]

use core::time::Duration;
use wire::time::Instant;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Source of an arrival time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stamp {
    /// Kernel: time at which the frame reached the host's network stack.
    Kernel,
    /// This process: on a hub the time of sending, otherwise that of taking the frame, later by the
    /// wake-up.
    User,
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a timespec this call may write to, and is not used elsewhere meanwhile.
    let status = unsafe { libc::clock_gettime(clock, &raw mut spec) };
    debug_assert_eq!(status, 0, "every Linux has these clocks");
    from_spec(spec)
}

/// Nanoseconds of a `timespec`, saturating.
pub(crate) fn from_spec(spec: libc::timespec) -> u64 {
    let seconds = u64::try_from(spec.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(spec.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(NANOS_PER_SECOND).saturating_add(nanos)
}

/// Converts nanoseconds to a `timespec`, saturating.
pub(crate) fn to_spec(nanos: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: i64::try_from(nanos / NANOS_PER_SECOND).unwrap_or(i64::MAX),
        tv_nsec: (nanos % NANOS_PER_SECOND) as libc::c_long,
    }
}

/// Current reading of this host's monotonic clock.
#[must_use]
pub fn now() -> Instant {
    Instant::from_nanos(read(libc::CLOCK_MONOTONIC))
}

/// CPU time of this thread so far, in user and kernel mode. The difference of two readings is the
/// cost of the work between them. A reading is a system call.
#[must_use]
pub fn processor() -> Duration {
    Duration::from_nanos(read(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// Processor time that all threads of the process have used, those that have ended included.
#[must_use]
pub fn processor_of_process() -> Duration {
    Duration::from_nanos(read(libc::CLOCK_PROCESS_CPUTIME_ID))
}

/// Wall-clock time since the Unix epoch, for names of runs and for capture files.
#[must_use]
pub fn wall() -> Duration {
    Duration::from_nanos(read(libc::CLOCK_REALTIME))
}

/// Maximum error of the wall clock relative to UTC, as estimated by the kernel; `None` if the clock
/// is not disciplined.
#[must_use]
pub fn wall_error() -> Option<Duration> {
    // SAFETY: an all-zero timex is a valid one, and its zero modes read without setting anything.
    let mut state: libc::timex = unsafe { core::mem::zeroed() };
    // SAFETY: `state` is a timex this call may write to, and is not used elsewhere meanwhile.
    let status = unsafe { libc::adjtimex(&raw mut state) };
    let is_disciplined = status >= 0 && state.status & libc::STA_UNSYNC == 0;
    let micros = u64::try_from(state.maxerror).ok().filter(|_| is_disciplined)?;
    Some(Duration::from_micros(micros))
}

/// Waits until [`now`] has reached `at`; returns at once if it has.
pub fn sleep_until(at: Instant) {
    let spec = to_spec(at.as_nanos());
    let (clock, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
    while now() < at {
        // SAFETY: `spec` is a whole timespec; an absolute sleep writes no remaining time.
        let status = unsafe {
            libc::clock_nanosleep(clock, absolute, &raw const spec, core::ptr::null_mut())
        };
        if status != 0 && status != libc::EINTR {
            return;
        }
    }
}

/// Maximum wake-up latency of this thread, in `times` sleeps of `each`: the delay that a busy host,
/// a timer or a sleeping processor adds to every deadline of a station.
#[must_use]
pub fn latest_wake(times: u32, each: Duration) -> Duration {
    let wake = |_| {
        let at = now() + each;
        sleep_until(at);
        now().since(at)
    };
    (0..times).map(wake).max().unwrap_or_default()
}

/// Sets this thread's timer slack to 1 ns instead of 50 us, so that the kernel wakes it close to
/// its deadlines. To be called once by each thread that drives a station.
pub fn be_punctual() {
    // SAFETY: this option takes an integer and no pointer.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
}

/// Simultaneous readings of the wall clock and the monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Correlation {
    /// Reading of the monotonic clock.
    pub monotonic: Instant,
    /// Reading of the wall clock, in nanoseconds since the Unix epoch.
    pub wall_nanos: u64,
    /// Maximum time between the two readings.
    pub uncertainty: Duration,
}

impl Correlation {
    /// Reads the wall clock between two readings of the monotonic clock, and keeps the closest of
    /// five such triples.
    #[must_use]
    pub fn read() -> Self {
        Self::of(|| read(libc::CLOCK_REALTIME))
    }

    /// The same for the clock that `read` reads.
    pub(crate) fn of(read: impl Fn() -> u64) -> Self {
        let triple = || {
            let before = now();
            let wall_nanos = read();
            let width = now() - before;
            Self { monotonic: before + width / 2, wall_nanos, uncertainty: width }
        };
        let mut best = triple();
        for _ in 0..4 {
            let next = triple();
            if next.uncertainty < best.uncertainty {
                best = next;
            }
        }
        best
    }

    /// Converts a wall-clock reading to a monotonic reading.
    #[must_use]
    pub fn to_monotonic(&self, wall_nanos: u64) -> Instant {
        match wall_nanos.checked_sub(self.wall_nanos) {
            Some(later) => self.monotonic + Duration::from_nanos(later),
            None => {
                self.monotonic.saturating_sub(Duration::from_nanos(self.wall_nanos - wall_nanos))
            }
        }
    }

    /// The converted stamp `at` of an event before `now`, unless it cannot be right: a stamp up to
    /// the uncertainty after `now` counts as `now`, a later or a very old one was taken before the
    /// clock was set.
    pub(crate) fn plausible(&self, at: Instant, now: Instant) -> Option<Instant> {
        let margin = self.uncertainty + Duration::from_micros(1);
        let is_plausible = at <= now + margin && now - at <= OLDEST_STAMP;
        is_plausible.then(|| at.min(now))
    }

    /// Converts a monotonic reading to a time since the Unix epoch, as capture files require.
    #[must_use]
    pub fn to_wall(&self, at: Instant) -> Instant {
        let wall = Instant::from_nanos(self.wall_nanos);
        if at >= self.monotonic {
            wall + (at - self.monotonic)
        } else {
            wall.saturating_sub(self.monotonic - at)
        }
    }
}

/// Converts the kernel's stamps to monotonic readings.
///
/// The two clocks may be slewed against each other by 500 ppm, so the correlation is renewed after
/// 100 ms. Its error is at most 50 ns plus its uncertainty.
#[derive(Clone, Debug)]
pub struct Converter {
    correlation: Correlation,
}

/// Maximum age of a correlation.
const CORRELATION_LASTS: Duration = Duration::from_millis(100);
/// Maximum age of a stamp; an older one was taken before the wall clock was set.
const OLDEST_STAMP: Duration = Duration::from_secs(60);

impl Converter {
    /// Creates a converter from a fresh comparison of the clocks.
    #[must_use]
    pub fn new() -> Self {
        Self { correlation: Correlation::read() }
    }

    /// Converts a kernel stamp of an event before `now` to a monotonic reading.
    ///
    /// Returns `None` if the stamp cannot be right because the wall clock was set in between.
    pub fn convert(&mut self, wall_nanos: u64, now: Instant) -> Option<Instant> {
        if now - self.correlation.monotonic > CORRELATION_LASTS {
            self.correlation = Correlation::read();
        }
        self.correlation.plausible(self.correlation.to_monotonic(wall_nanos), now)
    }

    /// Arrival time of a frame taken at `now`, and its source: the kernel's stamp if it is
    /// plausible, or else this process.
    pub(crate) fn arrival(&mut self, wall_nanos: Option<u64>, now: Instant) -> (Instant, Stamp) {
        match wall_nanos.and_then(|wall_nanos| self.convert(wall_nanos, now)) {
            Some(at) => (at, Stamp::Kernel),
            None => (now, Stamp::User),
        }
    }
}

impl Default for Converter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::time::nanos;

    #[test]
    fn the_clock_never_goes_back_and_a_sleep_is_never_short() {
        let mut last = now();
        for _ in 0..1_000 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
        let due = now() + Duration::from_micros(200);
        sleep_until(due);
        assert!(now() >= due);
        sleep_until(Instant::ZERO);
    }

    #[test]
    fn processor_time_of_a_process_includes_ended_threads() {
        let (own, all) = (processor(), processor_of_process());
        let work = || {
            let began = processor();
            while processor() - began < Duration::from_millis(20) {}
        };
        std::thread::spawn(work).join().unwrap();
        // The other thread worked for 20 ms, and this one waited.
        assert!(processor_of_process() - all >= Duration::from_millis(20));
        assert!(processor() - own < Duration::from_millis(20));
    }

    #[test]
    fn work_costs_processor_time_and_waiting_costs_less() {
        let (began, before) = (now(), processor());
        // However slow the host, work takes CPU time.
        while processor() - before < Duration::from_micros(100) {}
        sleep_until(now() + Duration::from_millis(5));
        assert!(processor() - before < now() - began, "5 ms of waiting are not work");
    }

    #[test]
    fn the_wall_clock_is_past_the_year_2020() {
        // 2020-01-01T00:00:00Z is 1,577,836,800 s after the epoch.
        assert!(wall() > Duration::from_secs(1_577_836_800));
    }

    #[test]
    fn a_correlation_maps_both_ways() {
        let correlation = Correlation {
            monotonic: Instant::from_nanos(1_000),
            wall_nanos: 5_000,
            uncertainty: Duration::ZERO,
        };
        assert_eq!(correlation.to_monotonic(5_250), Instant::from_nanos(1_250));
        assert_eq!(correlation.to_monotonic(4_900), Instant::from_nanos(900));
        assert_eq!(correlation.to_monotonic(0), Instant::ZERO, "before boot there is nothing");
        assert_eq!(correlation.to_wall(Instant::from_nanos(900)), Instant::from_nanos(4_900));
        assert_eq!(correlation.to_wall(Instant::from_nanos(1_250)), Instant::from_nanos(5_250));
    }

    #[test]
    fn a_stamp_from_before_the_wall_clock_was_set_is_rejected() {
        let mut converter = Converter::new();
        let wall_nanos = nanos(wall());
        let at = now();
        assert_eq!(converter.convert(wall_nanos + 3_600 * NANOS_PER_SECOND, at), None);
        assert_eq!(converter.convert(wall_nanos - 3_600 * NANOS_PER_SECOND, at), None);
    }

    #[test]
    fn a_span_converts_to_the_systems_form() {
        let spec = to_spec(1_500_000_007);
        assert_eq!((spec.tv_sec, spec.tv_nsec), (1, 500_000_007));
        assert_eq!(from_spec(spec), 1_500_000_007);
        assert_eq!(to_spec(u64::MAX).tv_sec, 18_446_744_073);
    }
}
