//! Files of percentiles and logs of sockperf against each other, or against the flows of a run: quantile by
//! quantile.
//!
//! A file states neither runs nor their spread, so no difference has an interval and no verdict is given.

use super::tool::{self, READS, format, malformed, text};
use crate::args::compare::Compare;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::percentiles;
use crate::quantity::{span, trimmed};
use crate::table::{Align, Table};
use bench::analysis::analyse;
use bench::paragraph::wrapped;
use bench::sample::{End, Line};
use reports::hgrm::read::Percentiles;
use reports::hgrm::spectra;
use reports::of_percentiles::QUANTILES;
use reports::of_study::LEVEL;
use reports::study::settings;
use reports::tool::{Format, sockperf};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most pairs of distributions that are printed.
const MOST_PAIRS: usize = 100;

/// Distribution of one side.
struct Times {
    /// Point of a run.
    settings: BTreeMap<String, String>,
    /// Flow of a run, or server of a log.
    flow: Option<String>,
    /// Kind of the times; none of a file of percentiles.
    kind: Option<&'static str>,
    percentiles: Percentiles,
}

/// NDJSON record of two distributions.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "percentile-comparison")]
#[schemars(rename = "PercentileComparisonRecord")]
pub(crate) struct Record<'a> {
    baseline: About<'a>,
    other: About<'a>,
    quantiles: Vec<Quantile>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DistributionSide")]
struct About<'a> {
    path: &'a Path,
    settings: &'a BTreeMap<String, String>,
    flow: Option<&'a str>,
    /// `delay` or `response` of a flow, `round-trip` or `half-round-trip` of a log of sockperf.
    kind: Option<&'static str>,
    count: u64,
}

#[derive(Serialize, JsonSchema)]
struct Quantile {
    share: f64,
    baseline_ns: Option<u64>,
    other_ns: Option<u64>,
}

/// Kind of the times of a log of sockperf.
const ROUND_TRIP: &str = "round-trip";
/// Half of it: sockperf's estimate of the delay one way.
const HALF: &str = "half-round-trip";

/// True if a side of a comparison is a file of percentiles.
pub(super) fn are_files(options: &Compare) -> bool {
    [&options.baseline, &options.other].into_iter().any(|path| percentiles::is_file(path))
}

/// True if a side of a comparison is a file of percentiles or a log of sockperf.
pub(super) fn are_meant(options: &Compare) -> bool {
    let is_log = |path: &PathBuf| format(path) == Some(Format::Sockperf);
    are_files(options) || is_log(&options.baseline) || is_log(&options.other)
}

/// True if times of these kinds are of one quantity: a response is a round trip, a delay is half of one. A file
/// does not say what its times are; a log's round trips are held against it.
fn are_alike(one: &Times, other: &Times) -> bool {
    match (one.kind, other.kind) {
        (None, kind) | (kind, None) => kind != Some(HALF),
        (Some(HALF), Some(kind)) | (Some(kind), Some(HALF)) => kind == "delay",
        (Some(ROUND_TRIP), Some(kind)) | (Some(kind), Some(ROUND_TRIP)) => kind != "delay",
        _ => true,
    }
}

pub(super) fn run(options: &Compare, output: &Output) -> anyhow::Result<Exit> {
    if options.measure.is_some() || options.each_interval || options.runs.is_some() {
        let message = "--measure, --each-interval and --runs go with watched traffic";
        let fix = "leave them out: a file of times is one distribution";
        return Err(Failure::usage(message).with_fix(fix).into());
    }
    let baseline = side(&options.baseline, options, output)?;
    let other = side(&options.other, options, output)?;
    let pairs = baseline.iter().flat_map(|one| other.iter().map(move |other| [one, other]));
    let pairs = pairs.filter(|[one, other]| are_alike(one, other));
    for (nth, [one, another]) in pairs.clone().take(MOST_PAIRS).enumerate() {
        let both = [(&*options.baseline, one), (&*options.other, another)];
        let record = record(both);
        output.record(&record)?;
        tell(&record, nth, output)?;
    }
    let more = pairs.count().saturating_sub(MOST_PAIRS);
    if more > 0 {
        output.remark(format_args!("{more} more pairs of distributions are not compared"));
    }
    output.record(&Line::End(End { complete: true, error: None }))?;
    if are_files(options) {
        output.remark("files of percentiles have no intervals; `tidewire report` draws them");
    } else {
        output.remark("a log of sockperf has times of one run: no intervals, throughput or jitter");
    }
    Ok(Exit::Ok)
}

/// Distributions of a side: those of a file, or those of all flows of a run.
fn side(path: &Path, options: &Compare, output: &Output) -> Result<Vec<Times>, Failure> {
    if percentiles::is_file(path) {
        let percentiles = percentiles::read(path, options.hgrm_unit)?;
        return Ok(vec![Times { settings: BTreeMap::new(), flow: None, kind: None, percentiles }]);
    }
    if format(path) == Some(Format::Sockperf) {
        return log(path, output);
    }
    let results = tool::other_side(path, output)?;
    let report = analyse(&results.samples, LEVEL);
    let times: Result<Vec<Times>, _> = spectra(&report, &results.samples)
        .into_iter()
        .map(|spectrum| {
            let percentiles = spectrum.percentiles(&spectrum.flow)?;
            let point = report.points.iter().find(|it| it.point + 1 == spectrum.point);
            let settings = point.map(|point| point.settings.clone()).unwrap_or_default();
            Ok(Times {
                settings,
                flow: Some(spectrum.flow),
                kind: Some(spectrum.kind),
                percentiles,
            })
        })
        .collect();
    let fail = |error: String| Failure::failed(error).with_fix(READS);
    let times = times.map_err(|error: reports::hgrm::read::Malformed| fail(error.to_string()))?;
    if times.is_empty() {
        return Err(fail(format!("{} holds no times of messages", path.display())));
    }
    Ok(times)
}

/// Round trips of each server of a log of sockperf, and their halves.
fn log(path: &Path, output: &Output) -> Result<Vec<Times>, Failure> {
    let servers = sockperf::read(&path.display().to_string(), &text(path)?)
        .map_err(|error| malformed(path, Format::Sockperf, &error))?;
    let are_several = servers.len() > 1;
    let mut times = Vec::new();
    for (place, server) in servers.into_iter().enumerate() {
        if let Some(dropped) = server.dropped.filter(|dropped| *dropped > 0) {
            let path = path.display();
            output.remark(format_args!("{path}: {dropped} messages without a reply have no time"));
        }
        let halves = server.halves();
        for (kind, percentiles) in [(ROUND_TRIP, server.round_trips), (HALF, halves)] {
            let flow = are_several.then(|| format!("server {place}"));
            times.push(Times { settings: BTreeMap::new(), flow, kind: Some(kind), percentiles });
        }
    }
    Ok(times)
}

fn record<'a>([(baseline, one), (other, another)]: [(&'a Path, &'a Times); 2]) -> Record<'a> {
    let about = |path: &'a Path, times: &'a Times| About {
        path,
        settings: &times.settings,
        flow: times.flow.as_deref(),
        kind: times.kind,
        count: times.percentiles.count(),
    };
    let quantile = |(share, _): (f64, &str)| Quantile {
        share,
        baseline_ns: one.percentiles.quantile(share),
        other_ns: another.percentiles.quantile(share),
    };
    Record {
        baseline: about(baseline, one),
        other: about(other, another),
        quantiles: QUANTILES.map(quantile).into(),
    }
}

fn tell(record: &Record<'_>, nth: usize, output: &Output) -> std::io::Result<()> {
    if output.json {
        return Ok(());
    }
    if nth > 0 {
        output.line("")?;
    }
    for (name, about) in [("baseline", &record.baseline), ("other", &record.other)] {
        let About { path, settings: point, flow, kind, count } = about;
        let kind = kind.map(|kind| match kind {
            ROUND_TRIP => ", round trip from txTime to rxTime",
            HALF => ", half of the round trip: sockperf's latency",
            "response" => ", response",
            _ => ", delay",
        });
        let of = flow.map(|flow| format!(" of {flow}")).unwrap_or_default();
        let flow = kind.map(|kind| format!("{kind}{of}"));
        let point = if point.is_empty() { String::new() } else { format!(", {}", settings(point)) };
        let text = format!("{}{}{point}, n = {count}", path.display(), flow.unwrap_or_default());
        output.line(wrapped(&format!("{name:9} "), &text))?;
    }
    let mut table = Table::new([
        ("", Align::Left),
        ("baseline", Align::Right),
        ("other", Align::Right),
        ("difference", Align::Right),
        ("other over baseline", Align::Right),
    ]);
    for (quantile, (_, name)) in record.quantiles.iter().zip(QUANTILES) {
        let Quantile { baseline_ns, other_ns, .. } = *quantile;
        let text = |nanos: Option<u64>| nanos.map_or_else(|| "n/a".to_owned(), span);
        let both = baseline_ns.zip(other_ns);
        let difference = both.map(|(one, other)| {
            let sign = if other < one { "-" } else { "+" };
            format!("{sign}{}", span(other.abs_diff(one)))
        });
        let ratio = both.filter(|(one, _)| *one > 0);
        let ratio = ratio.map(|(one, other)| trimmed(other as f64 / one as f64, 3));
        table.row([
            name.to_owned(),
            text(baseline_ns),
            text(other_ns),
            difference.unwrap_or_default(),
            ratio.unwrap_or_default(),
        ]);
    }
    output.line(table)
}
