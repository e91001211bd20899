//! Effect of one key in a sweep: each of its values against the first, run by run of one seed.

use crate::exit::Failure;
use crate::output::Output;
use crate::quantity::{level, value};
use crate::table::{Align, Table};
use bench::analysis::{PointReport, Report};
use bench::compare::{Difference, PointComparison, compare_points};
use bench::paragraph::wrapped;
use bench::scenario::Study;
use reports::study::{apart, clearest, differing, paired, shown};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

/// Quantities in plain text; NDJSON has all.
const TOLD: [&str; 7] = [
    "delay.mean",
    "delay.p99",
    "delay.max",
    "response.mean",
    "response.p99",
    "response.max",
    "missed",
];

/// The line of NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename = "differences")]
struct Record<'a> {
    key: &'a str,
    level: f64,
    differences: &'a [Against],
}

/// One value of a key against its first, where all else is the same.
#[derive(Serialize)]
struct Against {
    /// The first value.
    baseline: String,
    /// The other.
    other: String,
    /// Other settings.
    settings: BTreeMap<String, String>,
    #[serde(flatten)]
    comparison: PointComparison,
}

/// Makes sure before a long run that the key varies.
///
/// # Errors
/// The key does not vary.
pub(crate) fn check(study: &Study, key: &str) -> Result<(), Failure> {
    let varies = || study.points.iter().flat_map(|point| point.settings.keys());
    if varies().any(|path| path == key) {
        return Ok(());
    }
    let mut paths: Vec<&str> = varies().map(String::as_str).collect();
    paths.sort_unstable();
    paths.dedup();
    let message = format!("--differences {key}: nothing of that name varies");
    let fix = if paths.is_empty() {
        "give it several values under [vary]".to_owned()
    } else {
        format!("one of {}", paths.join(", "))
    };
    Err(Failure::usage(message).with_fix(fix))
}

/// Writes the record of the differences that a key makes.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn record(report: &Report, key: &str, output: &Output) -> io::Result<()> {
    let differences = &against(report, key)[..];
    output.record(&Record { key, level: report.level, differences })
}

/// Prints the differences that a key makes, in text: of the `top` flows with the clearest ones where there are more.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn tell(report: &Report, key: &str, top: usize, output: &Output) -> io::Result<()> {
    if output.json {
        return Ok(());
    }
    for Against { baseline, other, settings, comparison } in &against(report, key) {
        let rest: Vec<String> =
            settings.iter().map(|(key, set)| format!(", {key} = {set}")).collect();
        let pairs = paired(comparison);
        let rest = rest.concat();
        output.line(format_args!("\n{key}: {other} against {baseline}{rest}{pairs}"))?;
        let told = comparison.differences.iter().filter(|it| TOLD.contains(&it.quantity));
        let told: Vec<Difference> = told.cloned().collect();
        output.line(table(&clearest(&told, top), report.level))?;
        if let Some(summary) = differing(&told, top) {
            output.line(wrapped("  ", &summary))?;
        }
    }
    Ok(())
}

fn against(report: &Report, key: &str) -> Vec<Against> {
    let rest = |point: &PointReport| {
        let mut settings = point.settings.clone();
        settings.remove(key);
        settings
    };
    let mut firsts: Vec<&PointReport> = Vec::new();
    let mut found = Vec::new();
    for point in &report.points {
        let Some(other) = point.settings.get(key) else { continue };
        let settings = rest(point);
        match firsts.iter().find(|first| rest(first) == settings) {
            None => firsts.push(point),
            Some(first) => found.push(Against {
                baseline: first.settings.get(key).cloned().unwrap_or_default(),
                other: other.clone(),
                settings,
                comparison: compare_points(first, point, report.level),
            }),
        }
    }
    found
}

fn table(flows: &[&[Difference]], confidence: f64) -> Table {
    let heading = format!("difference ({})", level(confidence));
    let mut table = Table::new([
        ("flow", Align::Left),
        ("", Align::Left),
        ("first", Align::Right),
        ("here", Align::Right),
        (&heading, Align::Left),
        ("here over first", Align::Left),
    ]);
    let mut before = "";
    for difference in flows.iter().copied().flatten() {
        let flow = if difference.flow == before { "" } else { &difference.flow };
        before = &difference.flow;
        table.row([
            flow.to_owned(),
            difference.quantity.to_owned(),
            value(difference.unit, difference.first),
            value(difference.unit, difference.second),
            apart(difference),
            shown(difference),
        ]);
    }
    table
}
