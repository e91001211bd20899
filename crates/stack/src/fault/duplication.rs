//! Duplication of frames.
//!
//! Not modelled: more than one copy of a frame, and copies of lost frames. A copy equals the frame
//! as sent, even if the frame itself arrives damaged.

use core::time::Duration;
use stats::rng::Stream;

/// Duplication of frames.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Duplication {
    /// Probability per frame.
    pub probability: f64,
    /// Delay of the copy after the frame.
    pub after: Duration,
}

impl Duplication {
    /// Draws the delay of the next frame's copy, if there is one.
    pub(super) fn draw(self, stream: &mut Stream) -> Option<Duration> {
        stream.chance(self.probability).then_some(self.after)
    }
}
