//! Deadlines: the flows that met theirs, the certainty, and the bounds from theory.

use super::groups::{Summed, summed};
use crate::quantity::{self, level};
use crate::table::{Align, Table};
use bench::analysis::{FlowReport, PointReport, Probability};

/// Result of the deadline of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Met {
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
    pub(crate) fn of(flow: &FlowReport, point: &PointReport) -> Self {
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
    pub(crate) const fn words(self) -> &'static str {
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

/// True if any flow has a deadline.
pub(super) fn are_there(point: &PointReport) -> bool {
    point.flows.iter().any(|flow| flow.deadline_ns.is_some())
}

/// Table of the deadlines of all types of message, with their certainty: of a group its worst flow.
pub(super) fn table(point: &PointReport, confidence: f64) -> Table {
    // Of one run there is no interval, and so no level.
    let chance = match point.deterministic {
        true => "probability".to_owned(),
        false => format!("probability ({})", level(confidence)),
    };
    let mut table = Table::new([
        ("flow", Align::Left),
        ("deadline", Align::Right),
        ("missed", Align::Right),
        (&chance, Align::Left),
        ("longest", Align::Right),
        ("bound", Align::Right),
        ("verdict", Align::Left),
    ]);
    for summed in summed(point) {
        if let Some(row) = row(&summed, point) {
            table.row(row);
        }
    }
    table
}

fn row(summed: &Summed<'_>, point: &PointReport) -> Option<[String; 7]> {
    let flow = summed.worst();
    let deadline = flow.deadline_ns?;
    let met = Met::of(flow, point);
    let (missed, chance) = match &flow.missed {
        None => ("n/a".to_owned(), String::new()),
        Some(Probability { trials: 0, .. }) => ("none sent".to_owned(), String::new()),
        Some(Probability { events, trials, .. }) if point.deterministic => {
            (format!("{events} of {trials}"), "one run".to_owned())
        }
        Some(Probability { events, trials, low, high }) => {
            let [low, high] = [low, high].map(|share| quantity::significant(*share, 2));
            let chance =
                if *events == 0 { format!("at most {high}") } else { format!("{low} to {high}") };
            (format!("{events} of {trials}"), chance)
        }
    };
    Some([
        summed.label(),
        quantity::span(deadline),
        missed,
        chance,
        flow.longest_ns.map_or_else(|| "n/a".to_owned(), quantity::span),
        super::bound(flow),
        met.words().to_owned(),
    ])
}
