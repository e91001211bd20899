//! Frames that later ones overtake: a chosen frame is held back for a while.
//!
//! Not modelled: paths of different speed; every chosen frame is held back equally long, and
//! whether another overtakes it depends on whether one follows within that time.

use core::time::Duration;
use stats::rng::Stream;

/// Frames that are held back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reordering {
    /// How probable it is for a frame.
    pub probability: f64,
    /// How long.
    pub held_back: Duration,
}

impl Reordering {
    /// How long the next frame is held back, if it is.
    pub(super) fn draw(self, stream: &mut Stream) -> Option<Duration> {
        stream.chance(self.probability).then_some(self.held_back)
    }
}
