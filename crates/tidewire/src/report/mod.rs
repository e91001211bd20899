//! Results of a study as tables: point by point and flow by flow, with their intervals.

mod deadlines;
pub(crate) mod difference;
mod groups;
mod limit;
mod met;
mod outcomes;
mod overview;
mod setups;

pub(crate) use groups::{Summed, summed};
pub(crate) use limit::{Limit, limits};
pub(crate) use met::Met;

use crate::output::Output;
use crate::quantity::{self, level};
use crate::table::{Align, Table};
use bench::analysis::{FlowReport, PointReport, PooledQuantile, Probability, Report, Unit};
use bench::paragraph::wrapped;
use std::collections::BTreeMap;
use std::io;

/// Prints a report, point by point.
pub(crate) fn tell(report: &Report, output: &Output) -> io::Result<()> {
    if output.json {
        return Ok(());
    }
    output.line(&report.title)?;
    for (place, point) in report.points.iter().enumerate() {
        output.line(format_args!("\n{}", heading(point, place, report)))?;
        output.line(point_table(point, report.level))?;
        if let Some(table) = setups::table(point) {
            output.line(format_args!("\n{table}"))?;
        }
        if deadlines::are_there(point) {
            output.line(format_args!("\n{}", deadlines::table(point, report.level)))?;
        }
        for line in groups::lines(point) {
            output.line(wrapped("  ", &line))?;
        }
        if let Some(assumptions) = point.assumptions {
            output.line(wrapped("  ", &format!("bounds hold if {assumptions}")))?;
        }
        for note in notes(point) {
            output.line(wrapped("  note: ", &note))?;
        }
    }
    Ok(())
}

/// Prints which point meets which deadline, or, if there are none, the results of each, in one
/// table; nothing for a single point.
pub(crate) fn tell_overview(report: &Report, output: &Output) -> io::Result<()> {
    let has_deadlines = report.points.iter().any(deadlines::are_there);
    let table = if has_deadlines { overview::overview(report) } else { outcomes::outcomes(report) };
    match table {
        Some(table) if !output.json => output.line(format_args!("\n{table}")),
        _ => Ok(()),
    }
}

/// Prints how far deadlines and requirements hold in a sweep.
pub(crate) fn tell_limits(limits: &[Limit], output: &Output) -> io::Result<()> {
    if output.json || limits.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> =
        limit::lines(limits).iter().map(|line| wrapped("limit  ", line)).collect();
    output.line(format_args!("\n{}", lines.join("\n")))
}

/// Settings of a point, in one line.
pub(crate) fn settings(settings: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> =
        settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if pairs.is_empty() { "as the scenario says".to_owned() } else { pairs.join(", ") }
}

fn heading(point: &PointReport, place: usize, report: &Report) -> String {
    let (number, of) = (place + 1, report.points.len());
    let plural = if point.replications == 1 { "" } else { "s" };
    let runs = match point.replications {
        n if point.deterministic => format!("n = {n} copies of one run"),
        1 if has_batches(point) => {
            format!("n = 1 run, intervals over its batches ({})", level(report.level))
        }
        n => format!("n = {n} run{plural}"),
    };
    match of {
        1 => wrapped("", &format!("{}, {runs}", settings(&point.settings))),
        _ => {
            let place = format!("point {number} of {of}: ");
            wrapped(&place, &format!("{}, {runs}", settings(&point.settings)))
        }
    }
}

/// Returns whether one run is long enough for intervals over batches of its messages.
fn has_batches(point: &PointReport) -> bool {
    point.replications == 1 && point.flows.iter().any(|flow| flow.within.is_some())
}

fn point_table(point: &PointReport, confidence: f64) -> Table {
    let mean = match point.replications {
        _ if point.deterministic => "mean".to_owned(),
        1 if has_batches(point) => "mean (batches)".to_owned(),
        1 => "mean".to_owned(),
        _ => format!("mean ({})", level(confidence)),
    };
    let mut table = Table::new([
        ("flow", Align::Left),
        ("", Align::Left),
        (&mean, Align::Left),
        ("sd", Align::Right),
        ("min", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
    ]);
    let all = summed(point);
    let is_brief = all.len() > SHORT;
    for summed in &all {
        let flow = summed.worst();
        rows(&mut table, summed, &Shown { is_brief, point });
        if flow.bound_ns.is_some() && flow.deadline_ns.is_none() {
            let mut row = [const { String::new() }; 8];
            row[1] = "bound".to_owned();
            row[7] = bound(flow);
            table.row(row);
        }
    }
    table
}

/// Flows, or groups of them, beyond which each has only its times in a point's table.
const SHORT: usize = 8;

/// The longest in theory; a dash where there is none.
fn bound(flow: &FlowReport) -> String {
    flow.bound_ns.map_or_else(|| "-".to_owned(), quantity::span)
}

/// Layout of the rows of a flow.
struct Shown<'a> {
    is_brief: bool,
    point: &'a PointReport,
}

fn rows(table: &mut Table, summed: &Summed<'_>, shown: &Shown<'_>) {
    let flow = summed.worst();
    let times = |table: &mut Table, name: String, kind: &str, pooled: &[PooledQuantile]| {
        let [mean, sd, min, p50, p99, max] = spans(flow, kind, pooled);
        table.row([name, kind.to_owned(), mean, sd, min, p50, p99, max]);
    };
    let remark = |table: &mut Table, what: &str, text: &str| {
        table.remark([String::new()], &format!("{what:<10}  {text}"));
    };
    // Messages without stamps, as those of MMS, have no one-way delay.
    let has_delay = !flow.delay_pooled.is_empty() || flow.response_pooled.is_empty();
    let is_sent = flow.lost.trials > 0;
    if !is_sent {
        table.remark([summed.label()], "none sent");
    } else if has_delay {
        times(table, summed.label(), "delay", &flow.delay_pooled);
    }
    if !flow.response_pooled.is_empty() {
        let label = if has_delay { String::new() } else { summed.label() };
        times(table, label, "response", &flow.response_pooled);
    }
    if let Some(found) = flow.quantity("setup").filter(|_| flow.shows_setup) {
        remark(table, "set-up", &quantity::mean(found));
    }
    if !is_sent {
        return;
    }
    if let Some(found) = flow.quantity("throughput").filter(|_| !shown.is_brief) {
        remark(table, "throughput", &quantity::mean(found));
    }
    if flow.lost.events > 0 || !shown.is_brief {
        remark(table, "lost", &share(&flow.lost, shown.point));
    }
}

/// Of a kind of times: the mean over runs, and of all messages of all runs the standard deviation (as the
/// root of the mean variance of a run), the shortest, the median, the 99 % quantile, the longest.
fn spans(flow: &FlowReport, kind: &str, pooled: &[PooledQuantile]) -> [String; 6] {
    let absent = || "n/a".to_owned();
    let found = |what: &str| flow.quantity(&format!("{kind}.{what}"));
    let time = |nanos: Option<f64>| {
        nanos.map_or_else(absent, |nanos| quantity::value(Unit::Nanoseconds, nanos))
    };
    let far = |share: f64| {
        let quantile = pooled.iter().find(|quantile| quantile.share.total_cmp(&share).is_eq());
        quantile.map_or_else(absent, |quantile| quantity::span(quantile.value_ns))
    };
    let is_main = flow.response_pooled.is_empty() || kind == "response";
    let mean = match &flow.within {
        Some(within) if is_main => quantity::within(within),
        _ => found("mean").map_or_else(absent, quantity::mean),
    };
    let variances = found("sd").map(|sd| sd.each.iter().map(|each| each * each).sum::<f64>());
    let deviation = variances.zip(found("sd")).map(|(sum, sd)| (sum / sd.n as f64).sqrt());
    [
        mean,
        time(deviation),
        time(found("min").and_then(|found| found.values.min())),
        far(0.5),
        far(0.99),
        time(found("max").and_then(|found| found.values.max())),
    ]
}

fn share(probability: &Probability, point: &PointReport) -> String {
    let Probability { events, trials, low, high } = *probability;
    if trials == 0 {
        return "none sent".to_owned();
    }
    if point.deterministic {
        return format!("{events} of {trials}");
    }
    let [low, high] = [low, high].map(|share| quantity::significant(share, 2));
    match events {
        0 => format!("0 of {trials} (at most {high})"),
        _ => format!("{events} of {trials} ({low} to {high})"),
    }
}

/// Notes on the worst alignment of the flows in the runs.
fn starts(point: &PointReport) -> Vec<String> {
    let mut notes = Vec::new();
    if point.deterministic {
        let runs = point.replications;
        notes.push(format!(
            "deterministic: {runs} runs are copies of one, since nothing in the scenario is random"
        ));
    }
    let random = || point.flows.iter().filter(|flow| flow.random_start);
    let judged = || random().filter(|flow| flow.deadline_ns.is_some());
    if judged().next().is_some() {
        let (all, bound) = (judged().count(), judged().filter(|f| f.bound_ns.is_some()).count());
        let flows = if all == 1 { "flow starts" } else { "flows start" };
        let theory = match bound {
            0 => "no bound covers the worst alignment".to_owned(),
            _ if bound == all => "their bounds cover the worst alignment".to_owned(),
            _ => format!("bounds cover the worst alignment of {bound} of them"),
        };
        notes.push(format!("{all} {flows} at random in each run: {theory}"));
    }
    notes
}

/// Services that the architectures of the stations choose among several.
fn services(point: &PointReport) -> Option<String> {
    let chosen = |flow: &FlowReport| Some(format!("{} {}", flow.name, flow.service?));
    let chosen: Vec<String> = point.flows.iter().filter_map(chosen).collect();
    (!chosen.is_empty()).then(|| format!("services by architecture: {}", chosen.join(", ")))
}

/// Changes of the logical ring of a token bus whose stations come and go.
fn ring(point: &PointReport) -> Option<String> {
    let kept = [
        ("entries", "entered"),
        ("departures", "left"),
        ("bridges", "mended past one that failed"),
        ("tokens-lost", "tokens lost"),
        ("claims", "tokens claimed"),
    ];
    let counts = kept.map(|(name, what)| (point.counts.get(&format!("medium.{name}")), what));
    let told: Vec<String> =
        counts.into_iter().filter_map(|(count, what)| Some(format!("{} {what}", count?))).collect();
    (!told.is_empty()).then(|| format!("ring, over all runs: {}", told.join(", ")))
}

/// Notes on the numbers of a point.
fn notes(point: &PointReport) -> Vec<String> {
    let mut notes = Vec::new();
    if point.incomplete > 0 {
        let (some, all) = (point.incomplete, point.replications);
        notes.push(format!("{some} of {all} runs did not run to their end"));
    }
    notes.extend(starts(point));
    notes.extend(ring(point));
    notes.extend(services(point));
    for flow in &point.flows {
        let name = &flow.name;
        let of = flow.group.as_ref().unwrap_or(name);
        let standing = flow.standing.map(|standing| format!("{of}: {standing}"));
        // Flows of a group have one.
        notes.extend(standing.filter(|standing| !notes.contains(standing)));
        let by_reason = flow.failures.iter();
        notes.extend(by_reason.map(|(reason, n)| format!("{name}: {n} failed: {reason}")));
        let unexplained = flow.failed.saturating_sub(flow.failures.values().sum());
        for (count, what) in [
            (flow.not_taken, "messages were due but not taken: the service was too slow"),
            (flow.not_offered, "messages were not offered, nor judged: their station was away"),
            (flow.duplicated, "messages arrived twice"),
            (flow.out_of_order, "messages arrived behind a later one"),
            (flow.damaged, "arrivals were damaged"),
            (unexplained, "messages could not be sent or were not acknowledged"),
            (flow.acknowledged_and_lost, "messages were acknowledged and did not arrive"),
            (flow.warmup_too_short, "runs were too short to find their warm-up"),
        ] {
            if count > 0 {
                notes.push(format!("{name}: {count} {what}"));
            }
        }
    }
    notes
}
