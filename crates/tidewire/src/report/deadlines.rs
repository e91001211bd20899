//! Deadlines: the flows that met theirs, the certainty, and the bounds from theory.

use crate::quantity::level;
use crate::table::{Align, Table};
use bench::analysis::PointReport;
use reports::study::{Summed, deadline};

/// True if any flow has a deadline.
pub(super) fn are_there(point: &PointReport) -> bool {
    point.flows.iter().any(|flow| flow.deadline_ns.is_some())
}

/// Table of the deadlines of these types of message, with their certainty: of a group its worst flow.
pub(super) fn table(all: &[Summed<'_>], point: &PointReport, confidence: f64) -> Table {
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
    for summed in all {
        if let Some(row) = deadline(summed, point) {
            table.row(row);
        }
    }
    table
}
