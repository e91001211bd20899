//! Loss of frames: single, and in bursts after Gilbert and Elliott.
//!
//! Not modelled: bursts with a duration in time; a burst here spans a number of frames.

use super::Plan;
use stats::rng::Stream;

/// Bursts of loss: the path is good or bad, and may change before each frame (Elliott 1963; in the
/// good state only [`Plan::loss`] applies).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Burst {
    /// Probability that a good path turns bad.
    pub begin: f64,
    /// Probability that a bad path turns good.
    pub end: f64,
    /// Probability that a frame is lost on a bad path.
    pub loss: f64,
}

/// Random streams of loss.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    single: Stream,
    state: Stream,
    burst: Stream,
    bad: bool,
}

impl Draws {
    pub(super) fn new(stream: impl Fn(&'static str) -> Stream) -> Self {
        Self {
            single: stream("loss"),
            state: stream("burst"),
            burst: stream("burst loss"),
            bad: false,
        }
    }

    /// Draws whether the next frame is lost.
    pub(super) fn lose(&mut self, plan: &Plan) -> bool {
        let single = self.single.chance(plan.loss);
        let Some(burst) = plan.burst else { return single };
        let turns = self.state.chance(if self.bad { burst.end } else { burst.begin });
        self.bad ^= turns;
        let in_burst = self.burst.chance(burst.loss);
        single || (self.bad && in_burst)
    }
}
