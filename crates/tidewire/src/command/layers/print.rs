//! The tables of `measure layers`.

use super::{Missing, Study};
use crate::output::Output;
use crate::quantity::{self, significant};
use crate::table::{Align, Table};
use bench::analysis::Unit;
use bench::paragraph::wrapped;
use core::time::Duration;
use papers::layers::Measurement;
use papers::layers::added::{Added, added};
use papers::layers::fit::{Basis, Curve, Fit};
use stats::histogram::{Histogram, has_quantile};
use stats::interval::Estimate;
use std::io;
use wire::time::nanos;

/// Prints what was found.
pub(super) fn tell(study: &Study, output: &Output) -> io::Result<()> {
    output.line(&study.title)?;
    output.line(format_args!("{}\n{}", study.extent, study.lines))?;
    output.line(format_args!("\n{}", layers(study)))?;
    output.line(format_args!("\n{}", lines(study)))?;
    output.line(format_args!("\n{}", sizes(study)))?;
    output.line("")?;
    for remark in &study.remarks {
        output.line(wrapped("  note: ", remark))?;
    }
    not_predicted(&study.missing).iter().try_for_each(|it| output.line(wrapped("  note: ", it)))
}

/// Sentences on the operations without a prediction, one for each reason.
fn not_predicted(missing: &[Missing]) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for Missing { operation, reason } in missing {
        match by_reason.iter_mut().find(|(known, _)| known == reason) {
            Some((_, operations)) => operations.push(operation.to_string()),
            None => by_reason.push((reason, vec![operation.to_string()])),
        }
    }
    let sentence =
        |(reason, all): (&str, Vec<String>)| format!("not predicted: {}: {reason}", all.join(", "));
    by_reason.into_iter().map(sentence).collect()
}

/// Lines for each layer: the time that it adds to a message from user to user, at three sizes.
fn layers(study: &Study) -> Table {
    let mut table = Table::new([
        ("layer", Align::Left),
        ("adds to", Align::Left),
        ("octets", Align::Right),
        ("time added", Align::Right),
        ("n", Align::Right),
    ]);
    for Added { layer, over, sizes, fit: _ } in &added(&study.curves) {
        for place in places(sizes.len()) {
            let Some(size) = sizes.get(place) else { continue };
            let names = [(*layer).to_owned(), over.unwrap_or("-").to_owned()];
            let [layer, over] = if place == 0 { names } else { Default::default() };
            let (octets, n) = (size.octets.to_string(), size.nanos.n.to_string());
            table.row([layer, over, octets, estimate(size.nanos), n]);
        }
    }
    for Missing { operation, .. } in &study.missing {
        if let Some(layer) = operation.to_string().strip_suffix(" end to end") {
            table.remark([layer.to_owned()], "not predicted");
        }
    }
    table
}

/// A line for each curve: what a message costs at all, what each octet adds, and whether that is all.
fn lines(study: &Study) -> Table {
    let mut table = Table::new([
        ("operation", Align::Left),
        ("service", Align::Left),
        ("at no octets", Align::Right),
        ("each octet", Align::Right),
        ("a line?", Align::Left),
    ]);
    for curve in &study.curves {
        let [intercept, slope, is_line] = curve.fit.as_ref().map_or_else(
            || [String::new(), String::new(), "one size".to_owned()],
            |fit| [estimate(fit.intercept), estimate(fit.slope), verdict(fit)],
        );
        let [operation, service] = names(curve);
        table.row([operation, service, intercept, slope, is_line]);
    }
    table
}

/// Results at the least, the middle and the greatest size.
fn sizes(study: &Study) -> Table {
    let mut table = Table::new([
        ("operation", Align::Left),
        ("service", Align::Left),
        ("octets", Align::Right),
        ("n", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
        ("processor", Align::Right),
    ]);
    for curve in &study.curves {
        for place in places(curve.measurements.len()) {
            let Some(Measurement { octets, times, processor, .. }) = curve.measurements.get(place)
            else {
                continue;
            };
            let span = |span: Option<_>| span.map_or_else(|| "-".to_owned(), told);
            let [operation, service] = if place == 0 { names(curve) } else { Default::default() };
            table.row([
                operation,
                service,
                octets.to_string(),
                times.count().to_string(),
                span(quantile(times, 0.5)),
                span(quantile(times, 0.99)),
                span(times.max()),
                span(*processor),
            ]);
        }
    }
    table
}

/// Quantile of this share, if there are enough times for it.
fn quantile(times: &Histogram, share: f64) -> Option<Duration> {
    times.quantile(share).filter(|_| has_quantile(times.count(), share))
}

/// Least, middle and greatest of this number of sizes.
fn places(n: usize) -> Vec<usize> {
    let last = n.saturating_sub(1);
    let mut places = vec![0, last / 2, last];
    places.dedup();
    places
}

fn told(span: core::time::Duration) -> String {
    quantity::span(nanos(span))
}

/// Name of a curve; below LLC there are no services to choose.
pub(super) fn names(curve: &Curve) -> [String; 2] {
    let operation = curve.operation.to_string();
    let service = if operation.starts_with("LLC") { curve.service.to_string() } else { "".into() };
    [operation, service]
}

/// `1.02 ± 0.03 us`, of nanoseconds.
fn estimate(estimate: Estimate) -> String {
    let scale = quantity::scale(Unit::Nanoseconds, estimate.mean.abs());
    let scaled = estimate.scaled(scale.each.recip());
    if !scaled.half_width.is_finite() {
        return format!("{} {}", significant(scaled.mean, 3), scale.unit);
    }
    let text = scaled.to_string();
    format!("{} {}", text.split(" (").next().unwrap_or_default(), scale.unit)
}

/// Fit of the line; without a fit, the place of its greatest miss.
pub(super) fn verdict(fit: &Fit) -> String {
    let worst = fit.worst;
    let off = format!("{:+.1} % at {}", worst.share * 100.0, worst.octets);
    match (fit.is_doubtful(), fit.basis) {
        (Some(true), _) => format!("no: {off}"),
        (Some(false), _) => format!("yes: {off}"),
        (None, Basis::Sizes(2)) => "two sizes".to_owned(),
        (None, _) => off,
    }
}
