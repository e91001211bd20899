//! Result of comparing a prediction with watched traffic: lines of text, and records.

use crate::args::Compare;
use crate::output::Output;
use crate::quantity::{counted, span, trimmed};
use crate::table::{Align, Table};
use bench::paragraph::wrapped;
use bench::sample::{End, Line};
use records::comparison::{
    Compared, ComparedInterval, ComparedValue, Comparison, OfQuantity, Quantity, Range, Subject,
    Worst,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::path::Path;

/// Streams that are named where only one side has them.
const NAMED: usize = 5;

/// Both sides, and the intervals in which they were measured.
pub(super) struct Sides<'a> {
    pub(super) predicted: &'a Path,
    pub(super) watched: &'a Path,
    pub(super) measure_ns: u64,
    /// Simulated runs, copies among them.
    pub(super) made: usize,
    /// Start of the first interval of the watched traffic.
    pub(super) origin_ns: u64,
}

/// NDJSON record of both sides.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "interval-comparison")]
#[schemars(rename = "HeadRecord")]
pub(crate) struct Head<'a> {
    predicted: &'a Path,
    watched: &'a Path,
    measure_ns: u64,
    /// Simulated runs that are not copies of each other.
    runs: usize,
    only_predicted: &'a [Subject],
    only_watched: &'a [Subject],
}

/// NDJSON record of an interval of a stream.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "compared-interval")]
#[schemars(rename = "IntervalRecord")]
pub(crate) struct Interval<'a> {
    subject: &'a Subject,
    #[serde(flatten)]
    interval: &'a ComparedInterval,
}

/// NDJSON record of a stream.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "compared-stream")]
#[schemars(rename = "StreamRecord")]
pub(crate) struct Stream<'a> {
    #[serde(flatten)]
    stream: &'a Compared,
}

/// Prints a comparison as these options want it.
pub(super) fn comparison(
    comparison: &Comparison,
    sides: &Sides<'_>,
    options: &Compare,
    output: &Output,
) -> io::Result<()> {
    if output.json {
        return records(comparison, sides, output);
    }
    head(comparison, sides, output)?;
    let top = options.top.rows();
    for stream in comparison.each.iter().take(top) {
        let Compared { subject, judged, within, .. } = stream;
        let verdict = format!("{within} of {} within", counted(*judged, "interval"));
        output.line(format_args!("\n{}", wrapped("  ", &format!("{subject}: {verdict}"))))?;
        output.line(quantities(stream, sides.origin_ns))?;
        if options.each_interval {
            output.line(each_interval(stream, sides.origin_ns))?;
        }
    }
    summary(comparison, sides, top, output)?;
    for (side, all) in
        [("predicted", &comparison.only_predicted), ("watched", &comparison.only_watched)]
    {
        if !all.is_empty() {
            let first: Vec<String> = all.iter().take(NAMED).map(ToString::to_string).collect();
            let more = all.len() - first.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let text = format!("{}{more}", first.join(", "));
            output.line(format_args!("\n{}", wrapped(&format!("only {side}: "), &text)))?;
        }
    }
    Ok(())
}

fn records(comparison: &Comparison, sides: &Sides<'_>, output: &Output) -> io::Result<()> {
    let Comparison { only_predicted, only_watched, runs, .. } = comparison;
    let Sides { predicted, watched, measure_ns, .. } = *sides;
    output.record(&Head {
        predicted,
        watched,
        measure_ns,
        runs: *runs,
        only_predicted,
        only_watched,
    })?;
    for stream in &comparison.each {
        for interval in &stream.intervals {
            output.record(&Interval { subject: &stream.subject, interval })?;
        }
        output.record(&Stream { stream })?;
    }
    output.record(&Line::End(End { complete: true, error: None }))
}

fn head(comparison: &Comparison, sides: &Sides<'_>, output: &Output) -> io::Result<()> {
    let Sides { predicted, watched, measure_ns, made, .. } = *sides;
    output.line(wrapped("predicted  ", &predicted.display().to_string()))?;
    output.line(wrapped("watched    ", &watched.display().to_string()))?;
    let runs = match (made, comparison.runs) {
        (1, _) => "one run".to_owned(),
        (made, 1) => format!("one run: all {made} are copies of it"),
        (_, runs) => format!("{runs} runs"),
    };
    let text = format!(
        "of {}; the prediction is the range over all whole intervals of {runs}",
        span(measure_ns)
    );
    output.line(wrapped("intervals  ", &text))
}

/// Each quantity of a stream.
fn quantities(stream: &Compared, origin_ns: u64) -> Table {
    let mut table = Table::new([
        ("", Align::Left),
        ("predicted (n)", Align::Left),
        ("watched", Align::Left),
        ("within", Align::Left),
        ("furthest outside", Align::Left),
    ]);
    for of in &stream.quantities {
        let OfQuantity { quantity, predicted, watched, judged, within, worst } = of;
        let n = predicted.map_or(String::new(), |range| format!(" ({})", range.n));
        table.row([
            quantity.name().to_owned(),
            range(*quantity, *predicted) + &n,
            range(*quantity, *watched),
            format!("{within} of {judged}"),
            worst.map_or(String::new(), |worst| outside(worst, origin_ns)),
        ]);
    }
    table
}

/// Each interval of a stream.
fn each_interval(stream: &Compared, origin_ns: u64) -> Table {
    let mut table = Table::new([
        ("interval", Align::Left),
        ("", Align::Left),
        ("predicted", Align::Right),
        ("watched", Align::Right),
        ("difference", Align::Right),
        ("", Align::Left),
    ]);
    for interval in &stream.intervals {
        let start = span(interval.start_ns.saturating_sub(origin_ns));
        for (nth, it) in interval.values.iter().enumerate() {
            let ComparedValue { quantity, predicted, watched, difference, within } = *it;
            let verdict = match (within, interval.whole) {
                (Some(false), _) => "outside",
                (None, false) => "not whole",
                _ => "",
            };
            table.row([
                if nth == 0 { start.clone() } else { String::new() },
                quantity.name().to_owned(),
                predicted.map_or("-".to_owned(), |it| value(quantity, it)),
                watched.map_or("-".to_owned(), |it| value(quantity, it)),
                difference.map_or("-".to_owned(), |it| signed(quantity, it)),
                verdict.to_owned(),
            ]);
        }
    }
    table
}

/// The streams, the one furthest outside first.
fn summary(
    comparison: &Comparison,
    sides: &Sides<'_>,
    top: usize,
    output: &Output,
) -> io::Result<()> {
    output.line("\nfurthest outside first")?;
    let mut table = Table::new([
        ("within", Align::Left),
        ("worst", Align::Left),
        ("share", Align::Right),
        ("", Align::Left),
    ]);
    for stream in comparison.each.iter().take(top) {
        let Compared { subject, judged, within, worst, .. } = stream;
        let worst = worst.map(|worst| {
            let Worst { quantity, share, .. } = worst;
            let text = format!("{} {}", quantity.name(), outside(worst, sides.origin_ns));
            (text, shown(share))
        });
        let (worst, share) = worst.unwrap_or_default();
        table.row([format!("{within} of {judged}"), worst, share, subject.to_string()]);
    }
    output.line(table)?;
    let all = comparison.each.len();
    if all > top {
        let text = format!("the tables have {top} of {all}: --top N shows more, --json all");
        output.line(wrapped("  ", &text))?;
    }
    Ok(())
}

/// A share in percent, or as a multiple where it is large.
fn shown(share: f64) -> String {
    if share < 10.0 {
        format!("{} %", trimmed(share * 100.0, 3))
    } else {
        format!("{share:.0} times")
    }
}

fn outside(worst: Worst, origin_ns: u64) -> String {
    let at = span(worst.start_ns.saturating_sub(origin_ns));
    format!("{} at {at}", value(worst.quantity, worst.watched))
}

fn range(quantity: Quantity, of: Option<Range>) -> String {
    match of {
        None => "-".to_owned(),
        Some(Range { low, high, .. }) if low == high => value(quantity, low),
        Some(Range { low, high, .. }) => {
            format!("{} to {}", value(quantity, low), value(quantity, high))
        }
    }
}

fn value(quantity: Quantity, value: u64) -> String {
    if quantity.is_time() { span(value) } else { value.to_string() }
}

fn signed(quantity: Quantity, difference: i64) -> String {
    let sign = if difference < 0 { "-" } else { "+" };
    match difference {
        0 => value(quantity, 0),
        _ => format!("{sign}{}", value(quantity, difference.unsigned_abs())),
    }
}
