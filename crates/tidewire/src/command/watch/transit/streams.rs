//! Transits of streams of cyclic data between two taps: a table, and records.

use crate::output::Output;
use crate::quantity::{enough, span};
use crate::table::{Align, Table};
use bench::paragraph::wrapped;
use core::cmp::Reverse;
use meter::measure::Summary;
use meter::transit::StreamTransit;
use serde_json::{Value, json};
use std::io;

/// Name of a stream in the table: its source, and its name or number.
fn label(stream: &StreamTransit) -> String {
    let key = &stream.key;
    let name = String::from_utf8_lossy(&key.name);
    let name = if name.is_empty() { format!("{:04x}", key.identifier) } else { name.into_owned() };
    format!("{} {} {}", key.protocol.name(), key.source, records::shortened(&name, 24))
}

/// The record of a stream.
pub(super) fn record(stream: &StreamTransit) -> Value {
    let StreamTransit { key, frames, alone, repeated, unnumbered, ways } = stream;
    let [there, back] = ways.map(|way| {
        let Summary { count, total_ns, min_ns, p50_ns, p99_ns, max_ns } = way;
        let mean_ns = total_ns.checked_div(count)?;
        Some(json!({
            "count": count, "min_ns": min_ns, "mean_ns": mean_ns, "p50_ns": p50_ns,
            "p99_ns": p99_ns, "max_ns": max_ns,
        }))
    });
    let name = String::from_utf8_lossy(&key.name);
    let name = (!name.is_empty()).then_some(name);
    json!({
        "type": "transit-stream", "protocol": key.protocol.name(),
        "source": key.source.to_string(), "destination": key.destination.to_string(),
        "identifier": key.identifier, "name": name, "frames": frames, "alone": alone,
        "repeated": repeated, "unnumbered": unnumbered, "there": there, "back": back,
    })
}

/// Says which frames could not be matched, and why.
fn unmatched(streams: &[StreamTransit]) -> Vec<String> {
    let sum = |of: fn(&StreamTransit) -> [u64; 2]| {
        streams.iter().map(of).fold([0_u64; 2], |[near, far], [a, b]| [near + a, far + b])
    };
    let why = [
        (sum(|it| it.repeated), "are copies, or have a number that came again within 0.9 s"),
        (sum(|it| it.unnumbered), "have no number"),
    ];
    let told = why.into_iter().filter(|(frames, _)| *frames != [0; 2]);
    told.map(|([near, far], why)| {
        format!("Not matched: {near} frames at the near tap and {far} at the far one, which {why}.")
    })
    .collect()
}

/// Prints the streams, the one with the highest 99th percentile first.
pub(super) fn print(
    streams: &[StreamTransit],
    beyond: u64,
    has_one_clock: bool,
    output: &Output,
) -> io::Result<()> {
    if streams.is_empty() {
        return Ok(());
    }
    let mut sorted: Vec<&StreamTransit> = streams.iter().collect();
    let slowest = |it: &StreamTransit| it.ways.iter().map(|way| way.p99_ns).max();
    sorted.sort_by_key(|stream| Reverse(slowest(stream)));
    let right = ["near", "far", "count", "min", "p50", "p99", "max"];
    let columns = right.map(|name| (name, Align::Right));
    let mut table = Table::of([("stream; alone at", Align::Left)].into_iter().chain(columns));
    for stream in sorted {
        let [near, far] = stream.alone.map(|alone| alone.to_string());
        let ways = stream.ways.iter().zip(["", ", far to near"]);
        let ways = ways.filter(|(way, back)| way.count > 0 || back.is_empty());
        for (way, back) in ways {
            let Summary { count, min_ns, p50_ns, p99_ns, max_ns, .. } = *way;
            let [p50_ns, p99_ns] =
                [(0.5, p50_ns), (0.99, p99_ns)].map(|(share, ns)| enough(share, count, Some(ns)));
            let [min_ns, max_ns] = [min_ns, max_ns].map(|nanos| (count > 0).then_some(nanos));
            let times = [min_ns, p50_ns, p99_ns, max_ns]
                .map(|nanos| nanos.map_or_else(|| "-".to_owned(), span));
            let head = [label(stream) + back, near.clone(), far.clone(), count.to_string()];
            table.add(head.into_iter().chain(times).collect());
        }
    }
    output.line(table)?;
    for sentence in unmatched(streams) {
        output.line(wrapped("", &sentence))?;
    }
    if beyond > 0 {
        let text = format!("{beyond} frames of further streams were not matched.");
        output.line(wrapped("", &text))?;
    }
    let clocks = if has_one_clock {
        "One clock stamped the frames of streams at both taps."
    } else {
        "Transits of streams are the differences of the stamps: if two clocks made them, the \
         difference of the clocks is part of each."
    };
    output.line(format_args!("\n{}\n", wrapped("", clocks)))
}
