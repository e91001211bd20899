//! Reordering: a chosen frame is held back for a fixed time.
//!
//! Not modelled: paths of different speed. Every chosen frame is held back equally long, and it is
//! overtaken only if another follows within that time.

use core::time::Duration;
use stats::rng::Stream;

/// Reordering of frames by holding some back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reordering {
    /// Probability per frame.
    pub probability: f64,
    /// Time for which a chosen frame is held back.
    pub held_back: Duration,
}

impl Reordering {
    /// Draws the time for which the next frame is held back, if any.
    pub(super) fn draw(self, stream: &mut Stream) -> Option<Duration> {
        stream.chance(self.probability).then_some(self.held_back)
    }
}
