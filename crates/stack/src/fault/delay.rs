//! What the path takes, for every frame: a constant, and jitter.
//!
//! Not modelled: queues, so that a frame does not delay the next. Jitter longer than the interval
//! of two frames may change their order.

use core::time::Duration;
use stats::rng::Stream;
use wire::time::nanos;

/// What the path takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delay {
    /// At the least.
    pub constant: Duration,
    /// At the most in addition: uniform from zero to this.
    pub jitter: Duration,
}

impl Delay {
    /// What it takes for the next frame.
    pub(super) fn draw(self, stream: &mut Stream) -> Duration {
        if self.jitter.is_zero() {
            return self.constant;
        }
        let jitter = stream.below(nanos(self.jitter).saturating_add(1));
        self.constant.saturating_add(Duration::from_nanos(jitter))
    }
}
