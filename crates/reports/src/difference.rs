//! Comparison of two studies for a report.

use crate::document::{Comparison, Table};
use crate::study::{apart, clearest, paired, settings, shown};
use crate::text::Text;
use bench::analysis::Report;
use bench::compare::{Compared, Difference, compare};
use bench::sample::Origin;
use records::quantity::{counted, level, value};

/// Rows of a table.
const MOST_ROWS: usize = 60;
/// Flows with rows where all would be too many.
const MOST_FLOWS: usize = 6;
/// Points with a table.
const MOST_POINTS: usize = 12;

/// Two studies.
pub(crate) struct Pair<'a> {
    pub(crate) baseline: &'a Report,
    pub(crate) baseline_path: &'a str,
    pub(crate) baseline_origin: Origin,
    pub(crate) other: &'a Report,
    pub(crate) other_path: &'a str,
    pub(crate) other_origin: Origin,
}

/// Differences of the second study from the first.
pub(crate) fn of(pair: &Pair<'_>) -> Comparison {
    let found = compare(pair.baseline, pair.other, pair.baseline.level);
    let word = |origin| match origin {
        Origin::Predicted => "predicted",
        Origin::Measured => "measured",
    };
    let common = found.points.len();
    let (first, second) = (found.only_first.len(), found.only_second.len());
    let about = if common == 0 {
        "The two runs have no point in common, so that nothing can be compared.".to_owned()
    } else {
        format!(
            "Differences of this run ({}, {}) from the baseline {} ({}, {}): {} in common, \
             {first} only in the baseline, {second} only in this run.",
            word(pair.other_origin),
            Text::from(pair.other_path),
            Text::from(pair.baseline_path),
            word(pair.baseline_origin),
            Text::from(&pair.baseline.title),
            counted(common as u64, "point"),
        )
    };
    let difference = format!("difference ({})", level(found.level));
    let heads =
        ["flow", "quantity", "baseline", "this run", difference.as_str(), "this over baseline"];
    let tables = found.points.iter().take(MOST_POINTS).map(|point| {
        let caption = format!("{}{}", settings(&point.settings), paired(point));
        // Of many flows, those with the clearest differences.
        let fits = point.differences.len() <= MOST_ROWS;
        let flows = clearest(&point.differences, if fits { MOST_ROWS } else { MOST_FLOWS });
        let shown: usize = flows.iter().map(|of_flow| of_flow.len()).sum();
        let rows = flows.into_iter().flatten().map(row);
        let mut table = Table::of(caption, &heads, rows, MOST_ROWS);
        table.left_out += point.differences.len() - shown;
        table
    });
    Comparison { about: Text::long(about), tables: tables.collect() }
}

fn row(difference: &Difference) -> Vec<String> {
    let of = match difference.of {
        Compared::MeanOfRuns => "mean of runs",
        Compared::AllMessages => "all messages",
    };
    vec![
        difference.flow.clone(),
        format!("{}, {of}", difference.quantity),
        value(difference.unit, difference.first),
        value(difference.unit, difference.second),
        apart(difference),
        shown(difference),
    ]
}
