//! Delay of the path for every frame: a constant, and jitter.
//!
//! Not modelled: queues, so a frame does not delay the next. Jitter longer than the interval
//! between two frames may reorder them.

use core::time::Duration;
use stats::rng::Stream;
use wire::time::nanos;

/// Delay of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delay {
    /// Minimum delay.
    pub constant: Duration,
    /// Maximum additional delay: uniform from zero to this.
    pub jitter: Duration,
}

impl Delay {
    /// Draws the delay of the next frame.
    pub(super) fn draw(self, stream: &mut Stream) -> Duration {
        if self.jitter.is_zero() {
            return self.constant;
        }
        let jitter = stream.below(nanos(self.jitter).saturating_add(1));
        self.constant.saturating_add(Duration::from_nanos(jitter))
    }
}
