//! Results of a built-in scenario as a table of whole numbers, which every machine has to give alike.
//!
//! A table has one block for each point. A flow's row counts messages and gives delays, or the
//! responses of a flow with replies, in nanoseconds. Below the flows stand the counters of the medium
//! and of the faults. The results are those of the first replication; further ones differ by their
//! seed alone.

use crate::run::{RunError, run};
use crate::sample::{FlowSample, Sample};
use crate::scenario::Study;
use core::fmt::Write;

/// Headings of the columns of a flow's row.
const HEADER: [&str; 10] =
    ["flow", "sent", "arrived", "lost", "missed", "timed", "mean", "p50", "p99", "max"];

fn cell(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn row(flow: &FlowSample) -> [String; 10] {
    let times = if flow.response.count > 0 { &flow.response } else { &flow.delay };
    [
        flow.name.clone(),
        flow.sent.to_string(),
        flow.delivered.to_string(),
        flow.lost.to_string(),
        cell(flow.missed),
        if flow.response.count > 0 { "response" } else { "delay" }.to_owned(),
        // Whole nanoseconds: the last bits of a mean are no result.
        cell(times.mean_ns.map(|mean| mean.round() as u64)),
        cell(times.p50_ns),
        cell(times.p99_ns),
        cell(times.max_ns),
    ]
}

fn write_rows(text: &mut String, rows: &[[String; 10]]) {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0)
    };
    let widths: [usize; 10] = core::array::from_fn(width);
    for row in rows {
        let mut line = String::from("  ");
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            match column {
                0 => write!(line, "{cell:<width$}").expect("writing to a String cannot fail"),
                _ => write!(line, "  {cell:>width$}").expect("writing to a String cannot fail"),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

fn write_point(text: &mut String, sample: &Sample) {
    let settings: Vec<String> =
        sample.settings.iter().map(|(path, value)| format!("{path} = {value}")).collect();
    let settings = if settings.is_empty() { "as written".to_owned() } else { settings.join(", ") };
    let (point, end) = (sample.point + 1, sample.ended_at_ns);
    writeln!(text, "\npoint {point}: {settings}; ended at {end}")
        .expect("writing to a String cannot fail");
    let header = HEADER.map(str::to_owned);
    let rows: Vec<_> = core::iter::once(header).chain(sample.flows.iter().map(row)).collect();
    write_rows(text, &rows);
    for (name, count) in &sample.counts {
        writeln!(text, "  {name} {count}").expect("writing to a String cannot fail");
    }
}

/// The table of a study of this name: the first replication of each of its points.
///
/// # Errors
/// A point cannot be simulated.
pub fn table(name: &str, study: &Study) -> Result<String, RunError> {
    let mut text = format!("{name}: replication 0 of each point, times in ns\n");
    for point in &study.points {
        write_point(&mut text, &run(point, "-", 0)?);
    }
    Ok(text)
}
