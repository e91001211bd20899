//! Labels of the points of a sweep in a table that has to fit a terminal.

use bench::analysis::Report;
use std::collections::BTreeSet;

/// Widest label.
const MOST_COLUMNS: usize = 40;

/// Returns a label for each point: its values of these keys. A table of the scenario, such as a medium, is named by its
/// kind where that tells all values apart. A point whose label is too wide is named by its number, as in its heading.
pub(super) fn labels(report: &Report, keys: &BTreeSet<&String>) -> Vec<String> {
    let kind = |text: &str| text.split(" (").next().unwrap_or(text).to_owned();
    let is_enough = |key: &String| {
        let values: BTreeSet<&String> =
            report.points.iter().filter_map(|point| point.settings.get(key)).collect();
        values.iter().map(|value| kind(value)).collect::<BTreeSet<_>>().len() == values.len()
    };
    let short: BTreeSet<&String> = keys.iter().copied().filter(|key| is_enough(key)).collect();
    let label = |(number, point): (usize, &bench::analysis::PointReport)| {
        let values = keys.iter().filter_map(|key| {
            let value = point.settings.get(*key)?;
            Some(if short.contains(key) { kind(value) } else { value.clone() })
        });
        let label = values.collect::<Vec<_>>().join(", ");
        match label.chars().count() {
            0..=MOST_COLUMNS => label,
            _ => format!("point {}", number + 1),
        }
    };
    report.points.iter().enumerate().map(label).collect()
}
