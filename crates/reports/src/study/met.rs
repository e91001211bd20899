//! Results of deadlines: met, missed, or why that is not known.

use bench::analysis::{FlowReport, PointReport, Probability};

/// Result of the deadline of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Met {
    /// By theory: the bound is within the deadline, and no message was seen beyond it.
    Always,
    /// By all messages of runs that differ.
    InTheRuns,
    /// By all messages of the only run, because nothing in the scenario is random.
    Once,
    /// By some messages it was not.
    Missed,
    /// There is no common clock to decide it.
    NotKnown,
    /// No message was sent.
    NoneSent,
    /// The flow has none.
    NoDeadline,
}

impl Met {
    /// Result of a flow's deadline.
    pub fn of(flow: &FlowReport, point: &PointReport) -> Self {
        let Some(deadline) = flow.deadline_ns else { return Self::NoDeadline };
        let is_within = flow.bound_ns.is_some_and(|bound| bound <= deadline);
        match flow.missed {
            None => Self::NotKnown,
            Some(Probability { trials: 0, .. }) => Self::NoneSent,
            Some(Probability { events: 0, .. }) if is_within => Self::Always,
            Some(Probability { events: 0, .. }) if point.deterministic => Self::Once,
            Some(Probability { events: 0, .. }) => Self::InTheRuns,
            Some(_) => Self::Missed,
        }
    }

    /// In a table and in a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Always => "always met",
            Self::InTheRuns => "met",
            Self::Once => "met once",
            Self::Missed => "missed",
            Self::NotKnown => "not known",
            Self::NoneSent => "none sent",
            Self::NoDeadline => "no deadline",
        }
    }
}
