//! Deadlines: the flows that met theirs, the certainty, and the bounds from theory.

use super::groups::{Summed, summed};
use super::met::Met;
use crate::quantity::{self, level};
use crate::table::{Align, Table};
use bench::analysis::{PointReport, Probability};

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
