//! `tidewire compare`: two runs held against each other.

use crate::args::Compare;
use crate::busy;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::quantity::{level, scale, significant, span, trimmed, value};
use crate::report::settings;
use crate::runs::{self, LEVEL};
use crate::table::{Align, Table};
use bench::analysis::{Report, analyse};
use bench::compare::{Compared, Comparison, Difference, PointComparison, Verdict, compare};
use bench::folder::{self, Results};
use bench::paragraph::wrapped;
use bench::sample::{End, Line, Origin};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A run that was read.
struct Run<'a> {
    path: &'a Path,
    results: Results,
    report: Report,
    /// Properties of the measuring host; none for a file of samples.
    host: BTreeMap<String, String>,
}

/// NDJSON record of the whole comparison.
#[derive(Serialize)]
#[serde(tag = "type", rename = "comparison")]
struct Record<'a> {
    baseline: About<'a>,
    other: About<'a>,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

#[derive(Serialize)]
struct About<'a> {
    path: &'a Path,
    title: &'a str,
    source: Option<Origin>,
    samples: usize,
    complete: bool,
    error: Option<&'a str>,
    /// Load of the host that measured it, and how late it was woken at the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    host_load: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_latest_wake_ns: Option<u64>,
}

impl Run<'_> {
    fn about(&self) -> About<'_> {
        About {
            path: self.path,
            title: &self.report.title,
            source: self.results.samples.first().map(|sample| sample.source),
            samples: self.results.samples.len(),
            complete: self.results.end.complete,
            error: self.results.end.error.as_deref(),
            host_load: self.host.get(busy::LOAD).and_then(|load| load.parse().ok()),
            host_latest_wake_ns: self.host.get(busy::LATEST_WAKE).and_then(|it| it.parse().ok()),
        }
    }
}

pub(crate) fn run(options: &Compare, output: &Output) -> anyhow::Result<Exit> {
    let (baseline, other) = (latest(&options.baseline, output), latest(&options.other, output));
    let (baseline, other) = (read(&baseline)?, read(&other)?);
    let comparison = compare(&baseline.report, &other.report, LEVEL);
    let record =
        Record { baseline: baseline.about(), other: other.about(), comparison: &comparison };
    output.record(&record)?;
    output.record(&Line::End(End { complete: true, error: None }))?;
    tell(&record, output)?;
    if comparison.points.is_empty() {
        output.remark("the two runs have no point in common, so nothing can be compared");
        return Ok(Exit::Undecided);
    }
    Ok(Exit::Ok)
}

/// The run folder itself, or the latest in a folder that `--output` named.
fn latest(path: &Path, output: &Output) -> PathBuf {
    let found = runs::below(path);
    let Some(latest) = found.last() else { return path.to_owned() };
    if found.len() > 1 {
        output.remark(format_args!(
            "{} has {} run folders; the latest is {}",
            path.display(),
            found.len(),
            latest.display()
        ));
    }
    latest.clone()
}

fn read(path: &Path) -> Result<Run<'_>, Failure> {
    let advice = "give a folder that tidewire predict or tidewire measure wrote";
    let results =
        folder::read(path).map_err(|error| Failure::failed(error.to_string()).with_fix(advice))?;
    if results.samples.is_empty() {
        let why = format!("{} holds no samples", path.display());
        return Err(Failure::failed(why).with_fix(advice));
    }
    let report = analyse(&results.samples, LEVEL);
    let host = folder::provenance(path).map(|provenance| provenance.host).unwrap_or_default();
    Ok(Run { path, results, report, host })
}

fn tell(record: &Record<'_>, output: &Output) -> io::Result<()> {
    if output.json {
        return Ok(());
    }
    for (name, about) in [("baseline", &record.baseline), ("other", &record.other)] {
        let About { path, title, source, samples, .. } = about;
        let source = match source {
            Some(Origin::Measured) => "measured",
            Some(Origin::Predicted) | None => "predicted",
        };
        let path = path.display();
        let about_it = format!("{path}: {title} ({source}, {samples} runs)");
        output.line(wrapped(&format!("{name:9} "), &about_it))?;
        if source == "measured"
            && let Some(late) = about.host_latest_wake_ns
        {
            let load = about.host_load.map(|load| format!("load {}, ", trimmed(load, 2)));
            let (load, late) = (load.unwrap_or_default(), span(late));
            output.line(format_args!(
                "{:9} its host: {load}woken up to {late} late, which its delays include",
                ""
            ))?;
        }
        if !about.complete {
            let error = about.error.unwrap_or("no reason is given");
            output.line(format_args!("{:9} NOT COMPLETE: {error}", ""))?;
        }
    }
    let comparison = record.comparison;
    for point in &comparison.points {
        output.line(format_args!("\n{}{}", settings(&point.settings), paired(point)))?;
        let mut flow = "";
        for difference in &point.differences {
            if difference.flow != flow {
                flow = &difference.flow;
                output.line(format_args!("\n  {flow}"))?;
                output.line(table(flow, &point.differences, comparison.level))?;
            }
        }
    }
    lonely("baseline", &comparison.only_first, output)?;
    lonely("other", &comparison.only_second, output)
}

fn lonely(name: &str, points: &[BTreeMap<String, String>], output: &Output) -> io::Result<()> {
    points
        .iter()
        .try_for_each(|point| output.line(format_args!("\nonly in {name}: {}", settings(point))))
}

/// Note on runs that were compared pair by pair, with their number.
pub(crate) fn paired(point: &PointComparison) -> String {
    match point.pairs {
        Some(pairs) => format!(", {pairs} pairs of runs, each of one seed"),
        None => String::new(),
    }
}

/// Every quantity of one flow.
fn table(flow: &str, differences: &[Difference], confidence: f64) -> Table {
    let heading = format!("difference ({})", level(confidence));
    let mut table = Table::new([
        ("", Align::Left),
        ("baseline", Align::Right),
        ("other", Align::Right),
        (&heading, Align::Left),
        ("other over baseline", Align::Left),
    ]);
    for difference in differences.iter().filter(|difference| difference.flow == flow) {
        table.row([
            named(difference),
            value(difference.unit, difference.first),
            value(difference.unit, difference.second),
            apart(difference),
            shown(difference),
        ]);
    }
    table
}

/// A quantity with what of it is compared.
fn named(difference: &Difference) -> String {
    match difference.of {
        Compared::MeanOfRuns => format!("{}, mean of runs", difference.quantity),
        Compared::AllMessages => format!("{}, all messages", difference.quantity),
    }
}

/// The difference with half the width of its interval where it lies evenly around it, else with both ends.
pub(crate) fn apart(found: &Difference) -> String {
    if let Some((low, high)) = found.interval
        && ((high + low) / 2.0 - found.difference).abs() > (high - low) * 1e-6
    {
        let unit = scale(found.unit, found.difference.abs().max(high.abs()).max(low.abs()));
        let number = |value: f64| significant(value / unit.each, 3);
        let sign = if found.difference > 0.0 { "+" } else { "" };
        let (apart, low, high) = (number(found.difference), number(low), number(high));
        return format!("{sign}{apart} {} ({low} to {high})", unit.unit).replace("  ", " ");
    }
    let half = found.interval.map(|(low, high)| (high - low) / 2.0);
    let unit = scale(found.unit, found.difference.abs().max(half.unwrap_or(0.0)));
    let number = |value: f64| significant(value / unit.each, 3);
    let sign = if found.difference > 0.0 { "+" } else { "" };
    let spread = half.map(|half| format!(" ± {}", number(half))).unwrap_or_default();
    format!("{sign}{}{spread} {}", number(found.difference), unit.unit).trim_end().to_owned()
}

/// Text of a difference: its verdict, and the ratio with its interval if there is one.
pub(crate) fn shown(found: &Difference) -> String {
    let verdict = found.verdict;
    match (verdict, found.ratio, found.ratio_interval) {
        (Verdict::Lower | Verdict::Higher, Some(ratio), Some((low, high))) => {
            let [ratio, low, high] = [ratio, low, high].map(|value| significant(value, 3));
            format!("{verdict}: {ratio} ({low} to {high})")
        }
        (Verdict::Lower | Verdict::Higher, Some(ratio), None) => {
            format!("{verdict}: {}", significant(ratio, 3))
        }
        _ => verdict.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::analysis::Unit;

    fn difference(interval: Option<(f64, f64)>, verdict: Verdict) -> Difference {
        Difference {
            flow: "status".to_owned(),
            quantity: "delay.mean",
            unit: Unit::Nanoseconds,
            of: Compared::MeanOfRuns,
            first: 2e6,
            second: 3e6,
            difference: 1e6,
            interval,
            ratio: Some(1.5),
            ratio_interval: interval.map(|_| (1.25, 1.75)),
            verdict,
        }
    }

    #[test]
    fn a_difference_is_told_with_its_spread_and_what_it_shows() {
        let clear = difference(Some((0.5e6, 1.5e6)), Verdict::Higher);
        assert_eq!(apart(&clear), "+1.00 ± 0.500 ms");
        assert_eq!(shown(&clear), "higher: 1.50 (1.25 to 1.75)");
        let open = difference(Some((-1e6, 3e6)), Verdict::NoDifferenceShown);
        assert_eq!(apart(&open), "+1.00 ± 2.00 ms");
        assert_eq!(shown(&open), "no difference shown");
        let single = difference(None, Verdict::Undecided);
        assert_eq!(apart(&single), "+1.00 ms");
        assert_eq!(shown(&single), "undecided: too few replications");
    }
}
