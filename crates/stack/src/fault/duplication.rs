//! Frames that arrive twice.
//!
//! Not modelled: more than one copy of a frame, and copies of frames that were lost. A copy is as
//! the frame was sent, even where the frame itself arrives damaged.

use core::time::Duration;
use stats::rng::Stream;

/// Frames that arrive twice.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Duplication {
    /// How probable it is for a frame.
    pub probability: f64,
    /// How long after the frame its copy arrives.
    pub after: Duration,
}

impl Duplication {
    /// How long after the next frame its copy arrives, if there is to be one.
    pub(super) fn draw(self, stream: &mut Stream) -> Option<Duration> {
        stream.chance(self.probability).then_some(self.after)
    }
}
