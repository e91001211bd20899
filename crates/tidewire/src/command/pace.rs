//! Pace of a replay: from times of frames to times on a screen.

use crate::exit::Failure;
use crate::interrupt::{self, LOOK_UP};
use core::time::Duration;
use live::clock;
use wire::time::Instant;

/// Returns the multiple of the speed at which things came about; none means at once.
///
/// # Errors
/// The text is neither a number, with or without an x behind it, nor `max`.
pub(super) fn speed(text: &str) -> Result<Option<f64>, Failure> {
    if text == "max" {
        return Ok(None);
    }
    match text.strip_suffix('x').unwrap_or(text).parse::<f64>() {
        Ok(speed) if (0.001..=1e6).contains(&speed) => Ok(Some(speed)),
        Ok(_) | Err(_) => {
            let expected = "expected from 0.001 to 1000000, or max";
            Err(Failure::usage(format!("--speed {text:?}: {expected}")))
        }
    }
}

/// Mapping from times of frames to times on a screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    speed: f64,
    /// Begin of the replay, on the clock and in the stream.
    begun: Option<(Instant, Instant)>,
}

impl Pace {
    /// Creates a pace of a multiple of the speed of the frames.
    pub(super) const fn new(speed: f64) -> Self {
        Self { speed, begun: None }
    }

    /// Begins the replay with the first time, which is due at once.
    pub(super) fn begun(&mut self, at: Instant) -> &mut Self {
        self.begun.get_or_insert_with(|| (clock::now(), at));
        self
    }

    /// Waits for a short time until an instant is due; returns true if it is due, or if there is no pace.
    pub(super) fn wait(&self, at: Instant) -> bool {
        let Some((clock_begun, begun)) = self.begun else { return true };
        let due = clock_begun + stretched(at.since(begun), 1.0 / self.speed);
        let now = clock::now();
        if now >= due || interrupt::requested() {
            return true;
        }
        clock::sleep_until(due.min(now + LOOK_UP));
        false
    }

    /// Current time in the stream.
    pub(super) fn reached(&self) -> Instant {
        let Some((clock_begun, begun)) = self.begun else { return Instant::ZERO };
        begun + stretched(clock::now().since(clock_begun), self.speed)
    }
}

/// Product of a span and a factor, limited to the longest span.
fn stretched(span: Duration, by: f64) -> Duration {
    Duration::try_from_secs_f64(span.as_secs_f64() * by).unwrap_or(Duration::MAX)
}
