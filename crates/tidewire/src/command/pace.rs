//! Pace of a replay: from times of frames to times on a screen.

use crate::exit::Failure;
use crate::interrupt::{self, LOOK_UP};
use crate::tui::{FASTEST, SLOWEST, Tempo};
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
        Ok(speed) if (SLOWEST..=FASTEST).contains(&speed) => Ok(Some(speed)),
        Ok(_) | Err(_) => {
            let expected = "expected from 0.001 to 1000000, or max";
            Err(Failure::usage(format!("--speed {text:?}: {expected}")))
        }
    }
}

/// Mapping from times of frames to times on a screen.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    tempo: Tempo,
    /// Speed since `begun`.
    speed: f64,
    /// Begin of the replay at this speed, on the clock and in the stream.
    begun: Option<(Instant, Instant)>,
}

impl Pace {
    /// Creates a pace of a multiple of the speed of the frames.
    pub(super) fn new(tempo: Tempo) -> Self {
        Self { speed: tempo.speed(), tempo, begun: None }
    }

    /// Begins the replay with the first time, which is due at once.
    pub(super) fn begin(&mut self, at: Instant) {
        self.begun.get_or_insert_with(|| (clock::now(), at));
    }

    /// Waits for a short time until an instant is due; returns true if it is due, or if there is no pace.
    pub(super) fn wait(&mut self, at: Instant) -> bool {
        self.follow_tempo(clock::now());
        let Some((clock_begun, begun)) = self.begun else { return true };
        let due = clock_begun + stretched(at.since(begun), 1.0 / self.speed);
        let now = clock::now();
        if now >= due || interrupt::requested() {
            return true;
        }
        clock::sleep_until(due.min(now + LOOK_UP));
        false
    }

    /// Goes on at another speed from here, if a key has changed it.
    fn follow_tempo(&mut self, now: Instant) {
        let speed = self.tempo.speed();
        if speed.to_bits() != self.speed.to_bits() {
            let reached = self.reached_at(now);
            self.begun = self.begun.map(|_| (now, reached));
            self.speed = speed;
        }
    }

    /// Current time in the stream.
    pub(super) fn reached(&self) -> Instant {
        self.reached_at(clock::now())
    }

    fn reached_at(&self, now: Instant) -> Instant {
        let Some((clock_begun, begun)) = self.begun else { return Instant::ZERO };
        begun + stretched(now.since(clock_begun), self.speed)
    }
}

/// Product of a span and a factor, limited to the longest span.
fn stretched(span: Duration, by: f64) -> Duration {
    Duration::try_from_secs_f64(span.as_secs_f64() * by).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_speed_holds_from_the_time_at_which_it_was_set() {
        let tempo = Tempo::new(2.0);
        let mut pace = Pace::new(tempo.clone());
        let second = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
        pace.begun = Some((second(100), second(0)));
        assert_eq!(pace.reached_at(second(103)), second(6));
        tempo.multiply(0.5);
        pace.follow_tempo(second(103));
        // Six seconds at twice the speed, then three at its own.
        assert_eq!(pace.reached_at(second(106)), second(9));
        for _ in 0..40 {
            tempo.multiply(2.0);
        }
        assert_eq!(tempo.speed(), FASTEST);
    }
}
