//! Faults of a bad path: a seeded plan, the same on simulated media and on live ports.
//!
//! ```text
//!   frame ─▶ lost? ─▶ FCS wrong? ─▶ damaged? ─▶ copied? ─▶ late, held back? ─▶ 0, 1 or 2 frames
//! ```
//!
//! Every kind of fault draws from its own stream, and draws for every frame, whatever the other
//! faults do to it. Whether the n-th frame is copied does not depend on the plan's loss.
//!
//! Not modelled: faults that depend on a frame's length, content or receiver; temporary link
//! outages; errors of the sender. Each kind lists its own omissions.

mod corruption;
mod delay;
mod duplication;
mod loss;
mod reordering;

pub use corruption::{Corruption, Damage};
pub use delay::Delay;
pub use duplication::Duplication;
pub use loss::Burst;
pub use reordering::Reordering;

use crate::station::Frame;
use core::fmt;
use core::time::Duration;
use smallvec::SmallVec;
use stats::rng::Stream;
use wire::time::Instant;

/// Faults of a path. Probabilities are per frame and lie from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plan {
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Bursts of loss, in addition.
    pub burst: Option<Burst>,
    /// Probability that a frame arrives with a wrong FCS, so that the receiver's MAC drops it.
    pub fcs_errors: f64,
    /// Corruption that the FCS does not detect.
    pub corruption: Option<Corruption>,
    /// Duplication of frames.
    pub duplication: Option<Duplication>,
    /// Reordering of frames.
    pub reordering: Option<Reordering>,
    /// Delay of every frame.
    pub delay: Delay,
    /// M: maximum transit time of a frame, as the protocols assume. No plan may exceed it.
    pub nsdu_lifetime: Duration,
}

impl Plan {
    /// Plan of a path without faults.
    #[must_use]
    pub const fn harmless(nsdu_lifetime: Duration) -> Self {
        Self {
            loss: 0.0,
            burst: None,
            fcs_errors: 0.0,
            corruption: None,
            duplication: None,
            reordering: None,
            delay: Delay { constant: Duration::ZERO, jitter: Duration::ZERO },
            nsdu_lifetime,
        }
    }

    /// Maximum delay of a frame or its copy.
    #[must_use]
    pub fn longest_delay(&self) -> Duration {
        let held = self.reordering.map_or(Duration::ZERO, |reordering| reordering.held_back);
        let copied = self.duplication.map_or(Duration::ZERO, |duplication| duplication.after);
        let always = self.delay.constant.saturating_add(self.delay.jitter);
        always.saturating_add(held).saturating_add(copied)
    }

    /// Checks that the plan is valid.
    ///
    /// # Errors
    /// Names the invalid part.
    pub fn check(&self) -> Result<(), Invalid> {
        let burst = self.burst.unwrap_or(Burst { begin: 0.0, end: 1.0, loss: 0.0 });
        let probabilities = [
            ("loss", self.loss),
            ("burst begin", burst.begin),
            ("burst end", burst.end),
            ("burst loss", burst.loss),
            ("FCS errors", self.fcs_errors),
            ("corruption", self.corruption.map_or(0.0, |c| c.probability)),
            ("duplication", self.duplication.map_or(0.0, |d| d.probability)),
            ("reordering", self.reordering.map_or(0.0, |r| r.probability)),
        ];
        for (fault, probability) in probabilities {
            if !(0.0..=1.0).contains(&probability) {
                return Err(Invalid::Probability { fault });
            }
        }
        if self.corruption.is_some_and(|c| c.damage == Damage::BitFlips { at_most: 0 }) {
            return Err(Invalid::NoDamage);
        }
        let longest = self.longest_delay();
        if longest > self.nsdu_lifetime {
            return Err(Invalid::Outlived { longest, nsdu_lifetime: self.nsdu_lifetime });
        }
        Ok(())
    }
}

/// Reason why a plan is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// A probability outside 0 to 1.
    Probability {
        /// Fault with this probability.
        fault: &'static str,
    },
    /// Corruption of zero bits.
    NoDamage,
    /// The delays exceed the transit time that the protocols assume.
    Outlived {
        /// Maximum delay under this plan.
        longest: Duration,
        /// Transit time that the protocols assume.
        nsdu_lifetime: Duration,
    },
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probability { fault } => {
                write!(f, "the probability of {fault} does not lie from 0 to 1")
            }
            Self::NoDamage => f.write_str("corruption flips no bits"),
            Self::Outlived { longest, nsdu_lifetime } => write!(
                f,
                "a frame may be {longest:?} late, but the protocols assume at most \
                 {nsdu_lifetime:?}"
            ),
        }
    }
}

impl core::error::Error for Invalid {}

/// Fate of a frame on the path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fate {
    /// It arrives as sent.
    Whole,
    /// It arrives with changed octets, under a correct FCS.
    Damaged,
    /// It arrives as a second copy.
    Copied,
    /// It is lost.
    Lost,
    /// It arrives with a wrong FCS, and the receiver's MAC drops it.
    BadFcs,
}

impl Fate {
    /// Returns true if the frame passes the receiver's MAC.
    #[must_use]
    pub const fn arrives(self) -> bool {
        match self {
            Self::Whole | Self::Damaged | Self::Copied => true,
            Self::Lost | Self::BadFcs => false,
        }
    }
}

/// Frame after the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Arrival time; for a lost frame, the time at which it would have arrived.
    pub at: Instant,
    /// Frame, with its damage.
    pub frame: Frame,
    /// Fate of the frame.
    pub fate: Fate,
}

/// Counters of the faults.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Frames sent over the path.
    pub frames: u64,
    /// Frames lost, in bursts or singly.
    pub lost: u64,
    /// Frames dropped for a wrong FCS.
    pub bad_fcs: u64,
    /// Frames that arrived damaged.
    pub damaged: u64,
    /// Frames that arrived twice.
    pub duplicated: u64,
    /// Frames that were held back.
    pub held_back: u64,
}

/// Fault injector: executes a plan.
#[derive(Clone, Debug)]
pub struct Faults {
    plan: Plan,
    loss: loss::Draws,
    fcs_errors: Stream,
    corruption: corruption::Draws,
    duplication: Stream,
    reordering: Stream,
    delay: Stream,
    counts: Counts,
}

impl Faults {
    /// Starts to execute `plan` on the path called `name`. Each kind of fault draws from its own
    /// stream, named `fault/NAME/KIND`.
    ///
    /// # Errors
    /// The plan is invalid.
    pub fn new(plan: Plan, seed: u64, name: &str) -> Result<Self, Invalid> {
        plan.check()?;
        let stream = |kind| Stream::named(seed, &format!("fault/{name}/{kind}"));
        Ok(Self {
            plan,
            loss: loss::Draws::new(stream),
            fcs_errors: stream("fcs"),
            corruption: corruption::Draws::new(stream),
            duplication: stream("duplication"),
            reordering: stream("reordering"),
            delay: stream("delay"),
            counts: Counts::default(),
        })
    }

    /// Plan in execution.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Counters of the faults so far.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Applies the faults to a frame sent at `now`: one outcome, and a second one for a copy.
    pub fn apply(&mut self, now: Instant, frame: Frame) -> SmallVec<[Outcome; 2]> {
        let plan = self.plan;
        let lost = self.loss.lose(&plan);
        let bad_fcs = self.fcs_errors.chance(plan.fcs_errors);
        let damaged = plan.corruption.and_then(|plan| self.corruption.damage(plan, &frame));
        let copy = plan.duplication.and_then(|plan| plan.draw(&mut self.duplication));
        let held_back = plan.reordering.and_then(|plan| plan.draw(&mut self.reordering));
        let late = plan.delay.draw(&mut self.delay);

        self.counts.frames += 1;
        let mut outcomes = SmallVec::new();
        if lost || bad_fcs {
            self.counts.lost += u64::from(lost);
            self.counts.bad_fcs += u64::from(!lost);
            let fate = if lost { Fate::Lost } else { Fate::BadFcs };
            outcomes.push(Outcome { at: now + late, frame, fate });
            return outcomes;
        }
        self.counts.damaged += u64::from(damaged.is_some());
        self.counts.duplicated += u64::from(copy.is_some());
        self.counts.held_back += u64::from(held_back.is_some());
        let at = now + late + held_back.unwrap_or(Duration::ZERO);
        let copy =
            copy.map(|after| Outcome { at: at + after, frame: frame.clone(), fate: Fate::Copied });
        outcomes.push(match damaged {
            Some(frame) => Outcome { at, frame, fate: Fate::Damaged },
            None => Outcome { at, frame, fate: Fate::Whole },
        });
        outcomes.extend(copy);
        outcomes
    }
}

#[cfg(test)]
mod tests;
