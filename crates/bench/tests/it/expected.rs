//! The results of the built-in scenarios, held against committed tables: a change of behaviour is a
//! readable diff of `scenarios/*.expected`.
//!
//! A table has one block for each point. A flow's row counts messages and gives delays, or the
//! responses of a flow with replies, in nanoseconds. Below the flows stand the counters of the medium
//! and of the faults. The results are those of the first replication; further ones differ by their
//! seed alone. `BLESS=1` rewrites the tables.

use bench::run::run;
use bench::sample::{FlowSample, Sample};
use bench::scenario;
use bench::scenarios::{self, BuiltIn};
use core::fmt::Write;
use std::path::Path;

/// Heads the columns of a flow's row.
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
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
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

/// Returns the table of a scenario: the first replication of each of its points.
fn table(built_in: &BuiltIn) -> String {
    let study = scenario::load(built_in.text, &built_in.file()).unwrap();
    let mut text = format!("{}: replication 0 of each point, times in ns\n", built_in.name);
    for point in &study.points {
        write_point(&mut text, &run(point, "-", 0).unwrap());
    }
    text
}

/// Fails with the first line that differs, or rewrites the table if `BLESS` is set.
#[track_caller]
fn check(name: &str) {
    let built_in = scenarios::get(name).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios")
        .join(format!("{name}.expected"));
    let found = table(&built_in);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = found.lines().zip(expected.lines()).enumerate();
    let first = lines.into_iter().find(|(_, (found, expected))| found != expected);
    if let Some((number, (found, expected))) = first {
        panic!(
            "{name}.expected, line {}:\n  expected {expected}\n  found    {found}\n\
             BLESS=1 rewrites it; read the diff",
            number + 1
        );
    }
    let (found, expected) = (found.lines().count(), expected.lines().count());
    assert_eq!(found, expected, "{name}.expected: lines; BLESS=1 rewrites it");
}

/// Defines a test for each scenario, so that they run in parallel and fail one by one.
macro_rules! tables {
    ($($test:ident: $name:literal,)*) => {
        /// The scenarios that have a test below.
        const TESTED: &[&str] = &[$($name),*];
        $(#[test] fn $test() { check($name); })*
    };
}

tables! {
    status_csma_gives_its_table: "status-csma",
    status_short_gives_its_table: "status-short",
    ring_gives_its_table: "ring",
    ship_gives_its_table: "ship",
    ship_prototype_gives_its_table: "ship-prototype",
    t1s_zone_gives_its_table: "t1s-zone",
    manufacturing_cell_gives_its_table: "manufacturing-cell",
    control_loop_gives_its_table: "control-loop",
    map_architectures_gives_its_table: "map-architectures",
    file_transfer_gives_its_table: "file-transfer",
    titles_gives_its_table: "titles",
    substation_gives_its_table: "substation",
    ieds_gives_its_table: "ieds",
    polling_gives_its_table: "polling",
    plc_ring_gives_its_table: "plc-ring",
    forty_stations_gives_its_table: "forty-stations",
    bulk_gives_its_table: "bulk",
    ncc84_gives_its_table: "ncc84",
}

#[test]
fn every_built_in_scenario_has_a_table() {
    let names: Vec<_> = scenarios::ALL.iter().map(|built_in| built_in.name).collect();
    assert_eq!(names, TESTED);
}
