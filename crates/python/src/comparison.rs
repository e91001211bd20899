//! Comparison of two studies.

use crate::study::{LEVEL, Runs, settings_of};
use crate::table::{Rows, Table};
use bench::compare::{self as bench_compare, Compared};
use pyo3::prelude::*;
use records::tables::{Cell, Column, Kind, Layout};

/// Differences of `other` from `baseline`, by point, flow and quantity, as `tidewire compare` prints them.
#[pyfunction]
pub(crate) fn compare(baseline: &Runs, other: &Runs) -> PyResult<Table> {
    let comparison = bench_compare::compare(baseline.report(), other.report(), LEVEL);
    let keys = settings_of(comparison.points.iter().map(|point| &point.settings));
    let mut layout = Layout::new("comparison", &[]);
    let named = |name: &str, kind| Column { name: name.to_owned().into(), kind };
    layout.columns.extend(keys.iter().map(|key| named(key, Kind::Text)));
    let columns = [
        ("flow", Kind::Text),
        ("quantity", Kind::Text),
        ("unit", Kind::Text),
        ("of", Kind::Text),
        ("baseline", Kind::Real),
        ("other", Kind::Real),
        ("difference", Kind::Real),
        ("low", Kind::Real),
        ("high", Kind::Real),
        ("ratio", Kind::Real),
        ("pairs", Kind::Count),
        ("verdict", Kind::Text),
    ];
    layout.columns.extend(columns.map(|(name, kind)| named(name, kind)));
    let mut rows = Rows::new(layout);
    for point in &comparison.points {
        for found in &point.differences {
            let mut row: Vec<Cell> = keys
                .iter()
                .map(|key| Cell::of(point.settings.get(key).cloned(), Cell::Text))
                .collect();
            row.extend([
                Cell::Text(found.flow.clone()),
                Cell::Text(found.quantity.to_owned()),
                Cell::Text(crate::study::unit(found.unit).to_owned()),
                Cell::Text(
                    match found.of {
                        Compared::MeanOfRuns => "mean-of-runs",
                        Compared::AllMessages => "all-messages",
                    }
                    .to_owned(),
                ),
                Cell::Real(found.first),
                Cell::Real(found.second),
                Cell::Real(found.difference),
                Cell::of(found.interval.map(|(low, _)| low), Cell::Real),
                Cell::of(found.interval.map(|(_, high)| high), Cell::Real),
                Cell::of(found.ratio, Cell::Real),
                Cell::of(point.pairs, Cell::Count),
                Cell::Text(found.verdict.to_string()),
            ]);
            rows.push(&row);
        }
    }
    rows.finish()
}
