//! What a study found, as tables: point by point and flow by flow, with how sure it is.

use crate::output::Output;
use crate::quantity::{self, level};
use crate::table::{Align, Table};
use bench::analysis::{FlowReport, PointReport, PooledQuantile, Probability, Report, Unit};
use stats::interval::proportion;
use std::collections::BTreeMap;
use std::io;

/// Prints a report.
pub(crate) fn tell(report: &Report, output: &Output) -> io::Result<()> {
    if output.json {
        return Ok(());
    }
    output.line(&report.title)?;
    for (place, point) in report.points.iter().enumerate() {
        output.line(format_args!("\n{}", heading(point, place, report)))?;
        output.line(point_table(point, report.level))?;
        if has_verdicts(point) {
            output.line(format_args!("\n{}", verdicts(point, report.level)))?;
        }
        if let Some(assumptions) = point.assumptions {
            output.line(format_args!("  bounds hold if {assumptions}"))?;
        }
        for note in notes(point) {
            output.line(format_args!("  note: {note}"))?;
        }
    }
    Ok(())
}

/// What was set at a point, in one line.
pub(crate) fn settings(settings: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> =
        settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if pairs.is_empty() { "as the scenario says".to_owned() } else { pairs.join(", ") }
}

fn heading(point: &PointReport, place: usize, report: &Report) -> String {
    let (number, of) = (place + 1, report.points.len());
    let plural = if point.replications == 1 { "" } else { "s" };
    let runs = format!("{} run{plural}", point.replications);
    match of {
        1 => format!("{}, {runs}", settings(&point.settings)),
        _ => format!("point {number} of {of}: {}, {runs}", settings(&point.settings)),
    }
}

fn point_table(point: &PointReport, confidence: f64) -> Table {
    let mean = match point.replications {
        _ if point.deterministic => "mean (deterministic: one run)".to_owned(),
        1 if point.flows.iter().any(|flow| flow.within.is_some()) => {
            format!("mean (n = 1; {} by batches)", level(confidence))
        }
        1 => "mean (n = 1)".to_owned(),
        n => format!("mean ({}, n = {n})", level(confidence)),
    };
    let mut table = Table::new([
        ("flow", Align::Left),
        ("", Align::Left),
        (&mean, Align::Left),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
    ]);
    for flow in &point.flows {
        rows(&mut table, flow, &Shown { confidence, is_brief: is_long(point), point });
        if flow.bound_ns.is_some() && !has_verdicts(point) {
            let empty = String::new;
            table.row([empty(), "bound".to_owned(), empty(), empty(), empty(), bound(flow)]);
        }
    }
    table
}

/// Flows beyond which a point's table has one row for each, and deadlines a table of their own.
const SHORT: usize = 8;

fn is_long(point: &PointReport) -> bool {
    point.flows.len() > SHORT
}

/// Whether deadlines have a table of their own: where there are several.
fn has_verdicts(point: &PointReport) -> bool {
    point.flows.iter().filter(|flow| flow.deadline_ns.is_some()).count() > 1
}

/// Whether each type of message makes its deadline, and how sure that is.
fn verdicts(point: &PointReport, confidence: f64) -> Table {
    let chance = format!("probability ({})", level(confidence));
    let mut table = Table::new([
        ("flow", Align::Left),
        ("deadline", Align::Right),
        ("missed", Align::Right),
        (&chance, Align::Left),
        ("longest", Align::Right),
        ("longest of a run", Align::Left),
        ("bound", Align::Right),
        ("verdict", Align::Left),
    ]);
    for flow in &point.flows {
        let Some(deadline) = flow.deadline_ns else { continue };
        let (missed, chance, verdict) = match &flow.missed {
            None => ("n/a".to_owned(), String::new(), "not known"),
            Some(Probability { trials: 0, .. }) => ("none sent".to_owned(), String::new(), "none"),
            Some(missed) => {
                let Probability { events, trials, low, high } = *missed;
                let [low, high] = [low, high].map(|share| quantity::significant(share, 2));
                let is_within = flow.bound_ns.is_some_and(|bound| bound <= deadline);
                let (chance, verdict) = match events {
                    0 if is_within && point.deterministic => ("one run".to_owned(), "always met"),
                    0 if point.deterministic => ("one run".to_owned(), "met once"),
                    _ if point.deterministic => ("one run".to_owned(), "missed"),
                    0 if is_within => (format!("at most {high}"), "always met"),
                    0 => (format!("at most {high}"), "met"),
                    _ => (format!("{low} to {high}"), "missed"),
                };
                (format!("{events} of {trials}"), chance, verdict)
            }
        };
        table.row([
            flow.name.clone(),
            quantity::span(deadline),
            missed,
            chance,
            flow.longest_ns.map_or_else(|| "n/a".to_owned(), quantity::span),
            longest_of_a_run(flow),
            bound(flow),
            verdict.to_owned(),
        ]);
    }
    table
}

/// The mean of the longest of each run, with its interval.
fn longest_of_a_run(flow: &FlowReport) -> String {
    let found = ["response.max", "delay.max"].iter().find_map(|name| flow.quantity(name));
    found.map_or_else(|| "n/a".to_owned(), quantity::mean)
}

/// The longest in theory; a dash where there is none.
fn bound(flow: &FlowReport) -> String {
    flow.bound_ns.map_or_else(|| "-".to_owned(), quantity::span)
}

/// How the rows of a flow are shown.
struct Shown<'a> {
    confidence: f64,
    is_brief: bool,
    point: &'a PointReport,
}

fn rows(table: &mut Table, flow: &FlowReport, shown: &Shown<'_>) {
    let share = |probability: &Probability| share(probability, shown);
    let mut name = flow.name.clone();
    let mut add = |what: &str, cells: [String; 4]| {
        let [mean, p50, p99, max] = cells;
        table.row([core::mem::take(&mut name), what.to_owned(), mean, p50, p99, max]);
    };
    let alone = |text: String| [text, String::new(), String::new(), String::new()];
    add("delay", spans(flow, ["delay.mean", "delay.max"], &flow.delay_pooled));
    if !flow.response_pooled.is_empty() {
        let names = ["response.mean", "response.max"];
        add("response", spans(flow, names, &flow.response_pooled));
    }
    if shown.is_brief {
        if flow.lost.events > 0 {
            add("lost", alone(share(&flow.lost)));
        }
        return;
    }
    if let Some(found) = flow.quantity("throughput") {
        add("throughput", alone(quantity::mean(found)));
    }
    add("lost", alone(share(&flow.lost)));
    if let Some(missed) = &flow.missed {
        add("missed", alone(share(missed)));
    }
}

/// The mean over runs, and the median, the 99 % quantile and the longest of all runs together.
fn spans(flow: &FlowReport, [mean, max]: [&str; 2], pooled: &[PooledQuantile]) -> [String; 4] {
    let absent = || "n/a".to_owned();
    let far = |share: f64| {
        let quantile = pooled.iter().find(|quantile| quantile.share.total_cmp(&share).is_eq());
        quantile.map_or_else(absent, |quantile| quantity::span(quantile.value_ns))
    };
    let longest = flow.quantity(max).and_then(|found| found.values.max());
    let main = if flow.response_pooled.is_empty() { "delay.mean" } else { "response.mean" };
    let told = match &flow.within {
        Some(within) if mean == main => quantity::within(within),
        _ => flow.quantity(mean).map_or_else(absent, quantity::mean),
    };
    [
        told,
        far(0.5),
        far(0.99),
        longest.map_or_else(absent, |nanos| quantity::value(Unit::Nanoseconds, nanos)),
    ]
}

fn share(probability: &Probability, shown: &Shown<'_>) -> String {
    let Probability { events, trials, .. } = *probability;
    if trials == 0 {
        return "none sent".to_owned();
    }
    if shown.point.deterministic {
        return format!("{events} of {trials} (deterministic: one run)");
    }
    proportion(events, trials, shown.confidence).to_string()
}

/// What the runs say, and do not say, of the worst alignment of the flows.
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

/// What became of the logical ring of a token bus whose stations come and go.
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

/// What a reader of a point should know beside its numbers.
fn notes(point: &PointReport) -> Vec<String> {
    let mut notes = Vec::new();
    if point.incomplete > 0 {
        let (some, all) = (point.incomplete, point.replications);
        notes.push(format!("{some} of {all} runs did not run to their end"));
    }
    notes.extend(starts(point));
    notes.extend(ring(point));
    for flow in &point.flows {
        let name = &flow.name;
        for (count, what) in [
            (flow.not_taken, "messages were due but not taken: the service was too slow"),
            (flow.not_offered, "messages were not offered, nor judged: their station was away"),
            (flow.duplicated, "messages arrived twice"),
            (flow.out_of_order, "messages arrived behind a later one"),
            (flow.damaged, "arrivals were damaged"),
            (flow.failed, "messages could not be sent or were not acknowledged"),
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
