//! `tidewire compare`: two runs held against each other, or a prediction against watched traffic.

mod intervals;
pub(crate) mod percentiles;
pub(crate) mod print;
mod source;
pub(crate) mod throughput;
mod tool;

use crate::args::Compare;
use crate::busy;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::quantity::{level, span, trimmed, value};
use crate::runs::{self, Kept, LEVEL};
use crate::table::{Align, Table};
use bench::analysis::{Report, analyse};
use bench::compare::{Compared, Comparison, Difference, compare};
use bench::folder::{self, LATEST_WAKE, Provenance, Results};
use bench::paragraph::wrapped;
use bench::sample::{End, Line, Origin};
use reports::study::{apart, clearest, differing, paired, settings, shown};
use schemars::JsonSchema;
use serde::Serialize;
use source::Source;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// A run that was read.
struct Run<'a> {
    path: &'a Path,
    results: Results,
    report: Report,
    /// Properties of the measuring host; none for a file of samples.
    host: BTreeMap<String, String>,
}

/// NDJSON record of the whole comparison.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "comparison")]
#[schemars(rename = "ComparisonRecord")]
pub(crate) struct Record<'a> {
    baseline: About<'a>,
    other: About<'a>,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

#[derive(Serialize, JsonSchema)]
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
            host_latest_wake_ns: self.host.get(LATEST_WAKE).and_then(|it| it.parse().ok()),
        }
    }
}

pub(crate) fn run(options: &Compare, output: &Output) -> anyhow::Result<Exit> {
    crate::percentiles::check(options.hgrm_unit, percentiles::are_files(options))?;
    if throughput::is_meant(options) || percentiles::are_meant(options) {
        if options.top.is_given() {
            let message = "--top: no effect without runs of a scenario, which have flows";
            return Err(Failure::usage(message).with_fix("leave it out").into());
        }
        return match throughput::is_meant(options) {
            true => throughput::run(options, output),
            false => percentiles::run(options, output),
        };
    }
    let sources = [&options.baseline, &options.other].map(|path| Source::find(path, output));
    match sources {
        [Source::Samples(_), Source::Samples(_)] => samples(options, output),
        sources => intervals::run(&sources, options, output),
    }
}

/// Compares two studies.
fn samples(options: &Compare, output: &Output) -> anyhow::Result<Exit> {
    if options.measure.is_some() || options.each_interval || options.runs.is_some() {
        let message = "--measure, --each-interval and --runs go with watched traffic";
        let fix = "name a capture or a run folder of watch in the second place";
        return Err(Failure::usage(message).with_fix(fix).into());
    }
    let [baseline, other] =
        [&options.baseline, &options.other].map(|path| runs::latest(path, Kept::Samples, output));
    let (baseline, other) = (read(&baseline)?, read(&other)?);
    let comparison = compare(&baseline.report, &other.report, LEVEL);
    let record =
        Record { baseline: baseline.about(), other: other.about(), comparison: &comparison };
    output.record(&record)?;
    output.record(&Line::End(End { complete: true, error: None }))?;
    tell(&record, options.top.rows(), output)?;
    if comparison.points.is_empty() {
        output.remark("the two runs have no point in common, so nothing can be compared");
        return Ok(Exit::Undecided);
    }
    Ok(Exit::Ok)
}

fn read(path: &Path) -> Result<Run<'_>, Failure> {
    let advice = match path.is_file() {
        true => tool::READS,
        false => "give a folder that tidewire predict or tidewire measure wrote",
    };
    let results =
        folder::read(path).map_err(|error| Failure::failed(error.to_string()).with_fix(advice))?;
    if results.samples.is_empty() {
        let why = format!("{} holds no samples", path.display());
        return Err(Failure::failed(why).with_fix(advice));
    }
    let provenance = folder::provenance(path).ok();
    let noise_ns = provenance.as_ref().and_then(Provenance::host_noise_ns);
    let report = analyse(&results.samples, LEVEL).with_host_noise(&results.samples, noise_ns);
    if let Some(shard) = provenance.as_ref().and_then(|provenance| provenance.shard) {
        return Err(runs::is_a_part(path, shard));
    }
    let host = provenance.map(|provenance| provenance.host).unwrap_or_default();
    Ok(Run { path, results, report, host })
}

fn tell(record: &Record<'_>, top: usize, output: &Output) -> io::Result<()> {
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
        for of_flow in clearest(&point.differences, top) {
            output.line(format_args!("\n  {}", of_flow[0].flow))?;
            output.line(table(of_flow, comparison.level))?;
        }
        if let Some(summary) = differing(&point.differences, top) {
            output.line(format_args!("\n{}", wrapped("", &summary)))?;
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

/// Every quantity of one flow.
fn table(differences: &[Difference], confidence: f64) -> Table {
    let heading = format!("difference ({})", level(confidence));
    let mut table = Table::new([
        ("", Align::Left),
        ("baseline", Align::Right),
        ("other", Align::Right),
        (&heading, Align::Left),
        ("other over baseline", Align::Left),
    ]);
    for difference in differences {
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
