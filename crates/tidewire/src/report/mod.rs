//! Results of a study as tables: point by point and flow by flow, with their intervals.

mod deadlines;
mod labels;
mod limit;
mod outcomes;
mod overview;
mod setups;

pub(crate) use limit::{Limit, limits};

use crate::output::Output;
use crate::quantity::{self, level};
use crate::table::{Align, Table};
use bench::analysis::{PointReport, PooledQuantile, Report};
use bench::paragraph::wrapped;
use reports::study::{self, Summed, bound, notes, quantile, ranked, settings, share, spans};
use std::io;

/// Prints a report, point by point, with rows of at most `top` flows, or groups of them.
pub(crate) fn tell(report: &Report, top: usize, output: &Output) -> io::Result<()> {
    if output.json || report.points.is_empty() {
        return Ok(());
    }
    output.line(&report.title)?;
    output.line(wrapped("", &kinds(report)))?;
    for (place, point) in report.points.iter().enumerate() {
        output.line(format_args!("\n{}", heading(point, place, report)))?;
        let ranked = ranked(point, top);
        output.line(point_table(&ranked.shown, point, report.level))?;
        if let Some(table) = setups::table(point, top) {
            output.line(format_args!("\n{table}"))?;
        }
        if deadlines::are_there(point) {
            let table = deadlines::table(&ranked.shown, point, report.level);
            output.line(format_args!("\n{table}"))?;
        }
        for line in study::lines(&ranked, point) {
            output.line(wrapped("  ", &line))?;
        }
        if let Some(assumptions) = point.assumptions {
            output.line(wrapped("  ", &format!("bounds hold if {assumptions}")))?;
        }
        for note in notes(point, top) {
            output.line(wrapped("  note: ", &note))?;
        }
    }
    Ok(())
}

/// Prints which point meets which deadline, or, if there are none, the results of each, in one
/// table; nothing for a single point.
pub(crate) fn tell_overview(report: &Report, top: usize, output: &Output) -> io::Result<()> {
    let has_deadlines = report.points.iter().any(deadlines::are_there);
    let table = if has_deadlines {
        overview::overview(report, top)
    } else {
        outcomes::outcomes(report, top)
    };
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

/// Meaning of the times in the tables. Delays are measured only where both ends read one clock.
fn kinds(report: &Report) -> String {
    let flows = || report.points.iter().flat_map(|point| &point.flows);
    let delay = flows().any(|flow| !flow.delay_pooled.is_empty());
    let response = flows().any(|flow| !flow.response_pooled.is_empty());
    let kinds = [
        delay.then_some("delay: one-way, both ends by one clock (clock error 0)"),
        response.then_some("response: round trip"),
    ];
    kinds.into_iter().flatten().collect::<Vec<_>>().join("; ")
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

fn point_table(all: &[Summed<'_>], point: &PointReport, confidence: f64) -> Table {
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
    let is_brief = all.len() > SHORT;
    for summed in all {
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
        if !pooled.is_empty() {
            let [p90, p99_9] = [0.9, 0.999].map(|share| quantile(pooled, share));
            remark(table, "p90, p99.9", &format!("{p90}, {p99_9}"));
        }
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
    if flow.duplicated + flow.out_of_order > 0 || !shown.is_brief {
        remark(
            table,
            "duplicated",
            &format!("{}, out of order {}", flow.duplicated, flow.out_of_order),
        );
    }
}

/// Row of a flow that is not in columns.
fn remark(table: &mut Table, what: &str, text: &str) {
    table.remark([String::new()], &format!("{what:<10}  {text}"));
}
