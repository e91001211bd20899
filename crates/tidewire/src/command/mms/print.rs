//! Result of `measure mms`, as lines and as a record.

use crate::output::Output;
use crate::quantity;
use bench::mms::{FileRead, Found, OwnCost, Pipelining, Reports, Rung};
use bench::session::mms::Inquiry;
use serde_json::{Value, json};
use stats::histogram::Histogram;
use wire::time::nanos;

/// Difference of the medians of two steps, in nanoseconds.
fn difference(rung: &Rung, before: Option<&Rung>) -> Option<i64> {
    let p50 = |rung: &Rung| rung.times.quantile(0.5).map(nanos).map(|it| it as i64);
    Some(p50(rung)? - p50(before?)?)
}

/// Each step with the one before it that has a time.
fn with_previous(found: &Found) -> impl Iterator<Item = (&Rung, Option<&Rung>)> {
    found.rungs.iter().enumerate().map(|(place, rung)| {
        let before = found.rungs[..place].iter().rev().find(|rung| !rung.times.is_empty());
        (rung, before)
    })
}

pub(super) fn print(inquiry: &Inquiry, found: &Found, output: &Output) -> anyhow::Result<()> {
    output.line(format_args!(
        "iso-tcp://{}: {} of {} associations opened, {} released, {} aborted",
        inquiry.remote, found.opened, found.asked, found.released, found.aborted
    ))?;
    if let Some(identity) = &found.identity {
        output.line(format_args!("  vendor, model and revision: {identity}"))?;
    }
    if let Some(agreement) = found.agreement {
        output.line(format_args!(
            "  PDUs of up to {} octets, {} requests outstanding at most",
            agreement.pdu_octets, agreement.outstanding
        ))?;
    }
    for item in &found.items {
        output.line(format_args!("  reads {item}"))?;
    }
    output.line(format_args!(
        "  {:18} {:>6} {:>9} {:>9} {:>9} {:>9} {:>11}",
        "step", "count", "min", "p50", "p99", "max", "p50 change"
    ))?;
    for (rung, before) in with_previous(found) {
        print_rung(rung, before, output)?;
    }
    for pipelining in &found.pipelining {
        print_pipelining(pipelining, output)?;
    }
    if let Some(own) = &found.own {
        print_own(found, own, output)?;
    }
    if let Some(file) = &found.file {
        print_file(file, output)?;
    }
    if let Some(reports) = &found.reports {
        print_reports(reports, output)?;
    }
    if let Some(reason) = &found.unread {
        output
            .line(format_args!("  no variable to read among the names of the server: {reason}"))?;
    }
    if found.odd > 0 {
        let odd = quantity::counted(found.odd, "PDU");
        output.line(format_args!(
            "  {odd} of the server answered no request or could not be decoded"
        ))?;
    }
    if let Some(failure) = &found.failure {
        output.line(format_args!("  {failure}"))?;
    }
    Ok(())
}

fn print_rung(rung: &Rung, before: Option<&Rung>, output: &Output) -> anyhow::Result<()> {
    let missing = match (rung.unanswered, rung.failed) {
        (0, 0) => String::new(),
        (unanswered, failed) => {
            let reason = rung.reason.as_deref().unwrap_or_default();
            format!("  {unanswered} unanswered, {failed} failed: {reason}")
        }
    };
    if rung.times.is_empty() {
        let missing = if missing.is_empty() { "  not measured" } else { &missing };
        return Ok(output.line(format_args!("  {:18} {:>6}{missing}", rung.name, 0))?);
    }
    let ([min, .., max], [p50, p99]) =
        (spread(&rung.times).map(quantity::span), quantiles(&rung.times));
    let change = difference(rung, before).map_or_else(String::new, |change| {
        let sign = if change < 0 { '-' } else { '+' };
        format!("{sign}{}", quantity::span(change.unsigned_abs()))
    });
    let (name, count) = (&rung.name, rung.times.count());
    Ok(output.line(format_args!(
        "  {name:18} {count:>6} {min:>9} {p50:>9} {p99:>9} {max:>9} {change:>11}{missing}"
    ))?)
}

fn print_pipelining(pipelining: &Pipelining, output: &Output) -> anyhow::Result<()> {
    let Pipelining { outstanding, answered, times, .. } = pipelining;
    let name = if *outstanding == 1 {
        "stop-and-wait".to_owned()
    } else {
        format!("{outstanding} outstanding")
    };
    let Some(rate) = pipelining.rate() else {
        return Ok(output.line(format_args!("  {name:18} no request was answered"))?);
    };
    let [p50, p99] = quantiles(times);
    Ok(output.line(format_args!(
        "  {name:18} {rate:.0} requests/s within bursts, response p50 {p50}, p99 {p99}  (n = {answered})"
    ))?)
}

/// Median of a step by its name.
fn median(found: &Found, name: &str) -> Option<u64> {
    let rung = found.rungs.iter().find(|rung| rung.name == name)?;
    rung.times.quantile(0.5).map(nanos)
}

/// Prints the share of this program in the response time of a read.
fn print_own(found: &Found, own: &OwnCost, output: &Output) -> anyhow::Result<()> {
    let read = median(found, "read 1 variable");
    let whole = read
        .map_or_else(String::new, |p50| format!(" of {}, the p50 of a read,", quantity::span(p50)));
    let total = quantity::span(nanos(own.total()));
    output.line(format_args!("  {total}{whole} is CPU time of the client's layers:"))?;
    for layer in &own.layers {
        let time = quantity::span(nanos(layer.time));
        output.line(format_args!("    {:16} {time:>9}", layer.name))?;
    }
    match median(found, "TCP connect") {
        Some(handshake) => Ok(output.line(format_args!("  {}", rest(handshake, read)))?),
        None => Ok(()),
    }
}

/// Sentence on the time of a read that is not that of the path, by the medians of a TCP handshake
/// and of the read.
fn rest(handshake: u64, read: Option<u64>) -> String {
    let path = quantity::span(handshake);
    match read.and_then(|read| read.checked_sub(handshake)) {
        None | Some(0) => {
            format!("A TCP handshake takes {path}, no less than a read: the server adds little.")
        }
        Some(rest) => {
            let rest = quantity::span(rest);
            format!("A TCP handshake takes {path}; the hosts and the server take the other {rest}.")
        }
    }
}

fn print_file(file: &FileRead, output: &Output) -> anyhow::Result<()> {
    let FileRead { name, octets, parts, failure, .. } = file;
    let took = match (file.taken, failure) {
        (Some(taken), _) => format!("in {}", quantity::span(nanos(taken))),
        (None, Some(reason)) => format!("and no more: {reason}"),
        (None, None) => "and no more".to_owned(),
    };
    output.line(format_args!("  file {name}: {} octets in {parts} parts {took}", octets.len()))?;
    match file.size_octets {
        Some(size) if size != octets.len() as u64 => {
            Ok(output.line(format_args!("    the server stated a size of {size} octets"))?)
        }
        _ => Ok(()),
    }
}

fn print_reports(reports: &Reports, output: &Output) -> anyhow::Result<()> {
    output.line(format_args!("  reports of {}: {} received", reports.block, reports.received))?;
    for (name, times) in [("first after", &reports.first), ("interval", &reports.intervals)] {
        if !times.is_empty() {
            let [min, p50, p99, max] = spread(times).map(quantity::span);
            output.line(format_args!(
                "    {name:12} min {min}  p50 {p50}  p99 {p99}  max {max}  (n = {})",
                times.count()
            ))?;
        }
    }
    if reports.gaps > 0 {
        output.line(format_args!("    {} gaps in their sequence numbers", reports.gaps))?;
    }
    match &reports.failure {
        Some(reason) => Ok(output.line(format_args!("    not enabled: {reason}"))?),
        None => Ok(()),
    }
}

/// Median and 99th percentile in words; `n/a` if the times are too few.
fn quantiles(times: &Histogram) -> [String; 2] {
    let [_, p50, p99, _] = spread(times);
    let of = |(share, nanos)| quantity::quantile(share, times.count(), Some(nanos));
    [(0.5, p50), (0.99, p99)].map(of)
}

/// Minimum, median, 99th percentile and maximum in nanoseconds.
fn spread(times: &Histogram) -> [u64; 4] {
    let at = |share| times.quantile(share).map_or(0, nanos);
    [times.min().map_or(0, nanos), at(0.5), at(0.99), times.max().map_or(0, nanos)]
}

fn times(times: &Histogram) -> Value {
    let [min, p50, p99, max] = spread(times);
    json!({ "count": times.count(), "min_ns": min, "p50_ns": p50, "p99_ns": p99, "max_ns": max })
}

fn of_file(file: &FileRead) -> Value {
    json!({
        "name": file.name,
        "size_octets": file.size_octets,
        "octets": file.octets.len(),
        "parts": file.parts,
        "time_ns": file.taken.map(nanos),
        "failure": file.failure,
    })
}

fn of_own(own: &OwnCost) -> Value {
    let layers = own.layers.iter().map(|it| json!({ "name": it.name, "cpu_ns": nanos(it.time) }));
    json!({
        "request_octets": own.request_octets,
        "answer_octets": own.answer_octets,
        "cpu_ns": nanos(own.total()),
        "layers": layers.collect::<Vec<_>>(),
    })
}

pub(super) fn record(inquiry: &Inquiry, found: &Found, complete: bool) -> Value {
    let steps: Vec<Value> = with_previous(found)
        .map(|(rung, before)| {
            json!({
                "name": rung.name,
                "times": times(&rung.times),
                "difference_ns": difference(rung, before),
                "unanswered": rung.unanswered,
                "failed": rung.failed,
                "reason": rung.reason,
            })
        })
        .collect();
    let rates: Vec<Value> = found
        .pipelining
        .iter()
        .map(|it| {
            json!({
                "outstanding": it.outstanding,
                "answered": it.answered,
                "requests_per_second": it.rate(),
                "times": times(&it.times),
            })
        })
        .collect();
    let reports = found.reports.as_ref().map(|it| {
        json!({
            "block": it.block,
            "received": it.received,
            "gaps": it.gaps,
            "first": times(&it.first),
            "intervals": times(&it.intervals),
            "failure": it.failure,
        })
    });
    json!({
        "type": "mms",
        "peer": format!("iso-tcp://{}", inquiry.remote),
        "complete": complete,
        "asked": found.asked,
        "opened": found.opened,
        "released": found.released,
        "aborted": found.aborted,
        "identity": found.identity,
        "pdu_octets": found.agreement.map(|it| it.pdu_octets),
        "outstanding": found.agreement.map(|it| it.outstanding),
        "items": found.items,
        "unread": found.unread,
        "odd": found.odd,
        "steps": steps,
        "rates": rates,
        "reports": reports,
        "file": found.file.as_ref().map(of_file),
        "own": found.own.as_ref().map(of_own),
        "failure": found.failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_shorter_than_a_handshake_leaves_no_rest() {
        let longer =
            "A TCP handshake takes 80.0 us; the hosts and the server take the other 20.0 us.";
        assert_eq!(rest(80_000, Some(100_000)), longer);
        let shorter = "A TCP handshake takes 80.0 us, no less than a read: the server adds little.";
        assert_eq!(rest(80_000, Some(53_000)), shorter);
    }
}
