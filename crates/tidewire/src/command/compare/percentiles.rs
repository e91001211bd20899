//! Files of percentiles against each other, or against the flows of a run: quantile by quantile.
//!
//! A file states neither runs nor their spread, so no difference has an interval and no verdict is given.

use crate::args::compare::Compare;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::percentiles;
use crate::quantity::{span, trimmed};
use crate::runs::{self, Kept};
use crate::table::{Align, Table};
use bench::analysis::analyse;
use bench::folder;
use bench::paragraph::wrapped;
use bench::sample::{End, Line};
use reports::hgrm::read::Percentiles;
use reports::hgrm::spectra;
use reports::of_percentiles::QUANTILES;
use reports::of_study::LEVEL;
use reports::study::settings;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Most pairs of distributions that are printed.
const MOST_PAIRS: usize = 100;

/// Distribution of one side.
struct Times {
    /// Point of a run.
    settings: BTreeMap<String, String>,
    /// Flow, and its kind of times; none of a file.
    flow: Option<(String, &'static str)>,
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
    /// `delay` or `response`.
    kind: Option<&'static str>,
    count: u64,
}

#[derive(Serialize, JsonSchema)]
struct Quantile {
    share: f64,
    baseline_ns: Option<u64>,
    other_ns: Option<u64>,
}

/// True if a side of a comparison is a file of percentiles.
pub(super) fn are_meant(options: &Compare) -> bool {
    [&options.baseline, &options.other].into_iter().any(|path| percentiles::is_file(path))
}

pub(super) fn run(options: &Compare, output: &Output) -> anyhow::Result<Exit> {
    if options.measure.is_some() || options.each_interval || options.runs.is_some() {
        let message = "--measure, --each-interval and --runs go with watched traffic";
        let fix = "leave them out: a file of percentiles is one distribution";
        return Err(Failure::usage(message).with_fix(fix).into());
    }
    let baseline = side(&options.baseline, options, output)?;
    let other = side(&options.other, options, output)?;
    let pairs = baseline.iter().flat_map(|one| other.iter().map(move |other| [one, other]));
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
    output.remark("files of percentiles have no intervals; `tidewire report` draws them");
    Ok(Exit::Ok)
}

/// Distributions of a side: that of a file, or those of all flows of a run.
fn side(path: &Path, options: &Compare, output: &Output) -> Result<Vec<Times>, Failure> {
    if percentiles::is_file(path) {
        let percentiles = percentiles::read(path, options.hgrm_unit)?;
        return Ok(vec![Times { settings: BTreeMap::new(), flow: None, percentiles }]);
    }
    let fail = |error: String| {
        Failure::failed(error)
            .with_fix("a file of percentiles is compared with another, or with a run")
    };
    let path = runs::latest(path, Kept::Samples, output);
    let results = folder::read(&path).map_err(|error| fail(error.to_string()))?;
    let report = analyse(&results.samples, LEVEL);
    let times: Result<Vec<Times>, _> = spectra(&report, &results.samples)
        .into_iter()
        .map(|spectrum| {
            let percentiles = spectrum.percentiles(&spectrum.flow)?;
            let point = report.points.iter().find(|it| it.point + 1 == spectrum.point);
            let settings = point.map(|point| point.settings.clone()).unwrap_or_default();
            Ok(Times { settings, flow: Some((spectrum.flow, spectrum.kind)), percentiles })
        })
        .collect();
    let times = times.map_err(|error: reports::hgrm::read::Malformed| fail(error.to_string()))?;
    if times.is_empty() {
        return Err(fail(format!("{} holds no times of messages", path.display())));
    }
    Ok(times)
}

fn record<'a>([(baseline, one), (other, another)]: [(&'a Path, &'a Times); 2]) -> Record<'a> {
    let about = |path: &'a Path, times: &'a Times| About {
        path,
        settings: &times.settings,
        flow: times.flow.as_ref().map(|(flow, _)| flow.as_str()),
        kind: times.flow.as_ref().map(|(_, kind)| *kind),
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
        let flow = flow.zip(*kind).map(|(flow, kind)| format!(", {kind} of {flow}"));
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
