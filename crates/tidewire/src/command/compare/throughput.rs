//! Results of iperf3 against each other, or against the flows of a run.
//!
//! A result is one test. Its intervals depend on each other, so that no difference has an interval of confidence.

use super::tool::{self, READS, format, malformed, text};
use crate::args::Compare;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::quantity::{trimmed, value};
use crate::runs::LEVEL;
use crate::table::{Align, Table};
use bench::analysis::{FlowReport, Unit, analyse};
use bench::paragraph::wrapped;
use bench::sample::{End, Line};
use reports::study::settings;
use reports::tool::Format;
use reports::tool::iperf3::{self, Test};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Most pairs that are printed.
const MOST_PAIRS: usize = 100;

/// Quantity of a test, and that of a flow, if it has one.
struct Row {
    name: &'static str,
    unit: Unit,
    of_test: fn(&Test) -> Option<f64>,
    of_flow: fn(&FlowReport) -> Option<f64>,
}

const ROWS: [Row; 7] = [
    Row {
        name: "throughput, received",
        unit: Unit::BitsPerSecond,
        of_test: |test| test.received,
        of_flow: |flow| mean(flow, "throughput"),
    },
    Row {
        name: "throughput, lowest interval",
        unit: Unit::BitsPerSecond,
        of_test: |test| sorted(test).first().copied(),
        of_flow: |_| None,
    },
    Row {
        name: "throughput, median interval",
        unit: Unit::BitsPerSecond,
        of_test: |test| sorted(test).get((test.intervals.len().max(1) - 1) / 2).copied(),
        of_flow: |_| None,
    },
    Row {
        name: "throughput, highest interval",
        unit: Unit::BitsPerSecond,
        of_test: |test| sorted(test).last().copied(),
        of_flow: |_| None,
    },
    Row {
        name: "lost",
        unit: Unit::Fraction,
        of_test: |test| test.lost.filter(|lost| lost.of > 0.0).map(|lost| lost.lost / lost.of),
        of_flow: |flow| {
            let all = flow.lost.trials as f64;
            (flow.lost.trials > 0).then(|| flow.lost.events as f64 / all)
        },
    },
    Row {
        name: "jitter",
        unit: Unit::Nanoseconds,
        of_test: |test| test.jitter_ns,
        of_flow: |_| None,
    },
    Row {
        name: "round trip, mean",
        unit: Unit::Nanoseconds,
        of_test: |test| test.rtt_ns,
        of_flow: |flow| mean(flow, "response.mean"),
    },
];

/// One side of a comparison.
struct Side {
    about: String,
    settings: BTreeMap<String, String>,
    flow: Option<String>,
    intervals: Option<usize>,
    values: Vec<Option<f64>>,
}

/// NDJSON record of a result of another tool next to another, or to a flow.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "tool-comparison")]
#[schemars(rename = "ToolComparisonRecord")]
pub(crate) struct Record<'a> {
    baseline: About<'a>,
    other: About<'a>,
    quantities: Vec<Compared>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolSide")]
struct About<'a> {
    path: &'a Path,
    /// `iperf3`; none of a run.
    tool: Option<&'static str>,
    settings: &'a BTreeMap<String, String>,
    flow: Option<&'a str>,
    /// Number of intervals of a test, without those that were omitted.
    intervals: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolQuantity")]
struct Compared {
    quantity: &'static str,
    unit: Unit,
    /// Null if the side does not have it.
    baseline: Option<f64>,
    other: Option<f64>,
}

fn mean(flow: &FlowReport, name: &str) -> Option<f64> {
    flow.quantity(name).map(|found| found.mean)
}

fn sorted(test: &Test) -> Vec<f64> {
    let mut intervals = test.intervals.clone();
    intervals.sort_unstable_by(f64::total_cmp);
    intervals
}

/// True if a side of a comparison is a result of iperf3.
pub(super) fn is_meant(options: &Compare) -> bool {
    [&options.baseline, &options.other].into_iter().any(|path| format(path) == Some(Format::Iperf3))
}

pub(super) fn run(options: &Compare, output: &Output) -> anyhow::Result<Exit> {
    if options.measure.is_some() || options.each_interval || options.runs.is_some() {
        let message = "--measure, --each-interval and --runs go with watched traffic";
        let fix = "leave them out: a result of iperf3 is one test";
        return Err(Failure::usage(message).with_fix(fix).into());
    }
    let baseline = sides(&options.baseline, output)?;
    let other = sides(&options.other, output)?;
    let pairs = baseline.iter().flat_map(|one| other.iter().map(move |other| [one, other]));
    let mut has_common = false;
    for (nth, [one, another]) in pairs.clone().take(MOST_PAIRS).enumerate() {
        let record = record([(&options.baseline, one), (&options.other, another)]);
        has_common |=
            record.quantities.iter().any(|it| it.baseline.is_some() && it.other.is_some());
        output.record(&record)?;
        if !output.json {
            if nth > 0 {
                output.line("")?;
            }
            tell(&record, [one, another], output)?;
        }
    }
    let more = pairs.count().saturating_sub(MOST_PAIRS);
    if more > 0 {
        output.remark(format_args!("{more} more pairs are not compared"));
    }
    output.record(&Line::End(End { complete: true, error: None }))?;
    output.remark(wrapped(
        "",
        "a result of iperf3 is one test, so that no difference has an interval; it has no delays of \
         single messages",
    ));
    Ok(if has_common { Exit::Ok } else { Exit::Undecided })
}

/// A test, or the flows of a run.
fn sides(path: &Path, output: &Output) -> Result<Vec<Side>, Failure> {
    match format(path) {
        Some(Format::Iperf3) => {
            let test = iperf3::read(&text(path)?)
                .map_err(|error| malformed(path, Format::Iperf3, &error))?;
            return Ok(vec![of_test(&test)]);
        }
        Some(Format::Sockperf) => return Err(delays(path)),
        None if crate::percentiles::is_file(path) => return Err(delays(path)),
        None => {}
    }
    let results = tool::other_side(path, output)?;
    let report = analyse(&results.samples, LEVEL);
    let flows =
        report.points.iter().flat_map(|point| point.flows.iter().map(move |it| (point, it)));
    let sides: Vec<Side> = flows
        .map(|(point, flow)| Side {
            about: format!(", flow {}", flow.name),
            settings: point.settings.clone(),
            flow: Some(flow.name.clone()),
            intervals: None,
            values: ROWS.iter().map(|row| (row.of_flow)(flow)).collect(),
        })
        .collect();
    if sides.is_empty() {
        let message = format!("{} holds no samples", path.display());
        return Err(Failure::failed(message).with_fix(READS));
    }
    Ok(sides)
}

fn of_test(test: &Test) -> Side {
    let Test { version, protocol, streams, intervals, .. } = test;
    let of = if *streams == 1 { "1 stream".to_owned() } else { format!("{streams} streams") };
    let role = if test.is_sender { "the client sent" } else { "the client received" };
    let version = if version.is_empty() { "iperf3" } else { version };
    Side {
        about: format!(": {version}, {protocol}, {of}, {} intervals, {role}", intervals.len()),
        settings: BTreeMap::new(),
        flow: None,
        intervals: Some(intervals.len()),
        values: ROWS.iter().map(|row| (row.of_test)(test)).collect(),
    }
}

fn delays(path: &Path) -> Failure {
    let message = format!("{} has delays of messages alone, iperf3 has none", path.display());
    Failure::usage(message).with_fix("compare a result of iperf3 with another, or with a run")
}

fn record<'a>([baseline, other]: [(&'a Path, &'a Side); 2]) -> Record<'a> {
    let about = |(path, side): (&'a Path, &'a Side)| About {
        path,
        tool: side.intervals.map(|_| Format::Iperf3.tool()),
        settings: &side.settings,
        flow: side.flow.as_deref(),
        intervals: side.intervals,
    };
    let both = baseline.1.values.iter().zip(&other.1.values);
    let quantities = ROWS.iter().zip(both).map(|(row, (one, another))| Compared {
        quantity: row.name,
        unit: row.unit,
        baseline: *one,
        other: *another,
    });
    Record { baseline: about(baseline), other: about(other), quantities: quantities.collect() }
}

fn tell(record: &Record<'_>, sides: [&Side; 2], output: &Output) -> std::io::Result<()> {
    let both = [("baseline", &record.baseline), ("other", &record.other)];
    for ((name, about), side) in both.into_iter().zip(sides) {
        let point = match about.settings.is_empty() {
            true => String::new(),
            false => format!(", {}", settings(about.settings)),
        };
        let text = format!("{}{}{point}", about.path.display(), side.about);
        output.line(wrapped(&format!("{name:9} "), &text))?;
    }
    let mut table = Table::new([
        ("", Align::Left),
        ("baseline", Align::Right),
        ("other", Align::Right),
        ("difference", Align::Right),
        ("other over baseline", Align::Right),
    ]);
    let is_any = |it: &&Compared| it.baseline.is_some() || it.other.is_some();
    for Compared { quantity, unit, baseline, other } in record.quantities.iter().filter(is_any) {
        let text =
            |found: &Option<f64>| found.map_or_else(|| "n/a".to_owned(), |it| value(*unit, it));
        let both = baseline.zip(*other);
        let difference = both.map(|(one, other)| {
            let sign = if other < one { "-" } else { "+" };
            format!("{sign}{}", value(*unit, (other - one).abs()))
        });
        let ratio = both.filter(|(one, _)| *one > 0.0);
        let ratio = ratio.map(|(one, other)| trimmed(other / one, 3));
        table.row([
            (*quantity).to_owned(),
            text(baseline),
            text(other),
            difference.unwrap_or_default(),
            ratio.unwrap_or_default(),
        ]);
    }
    output.line(table)?;
    let absent: Vec<&str> =
        record.quantities.iter().filter(|it| !is_any(it)).map(|it| it.quantity).collect();
    if absent.is_empty() {
        return Ok(());
    }
    output.line(wrapped("on neither side: ", &absent.join("; ")))
}
