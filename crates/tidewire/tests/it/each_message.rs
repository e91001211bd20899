//! `--each-message` of `predict` and `measure`: a row for each message, which agree with the samples.

use crate::wires::{free_address, serving};
use crate::{check_code, command, records, run_in, stderr};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const SCENARIO: &str = r#"
version = 1
title = "lossy"
replications = 2
stop = { after = "500 ms", warmup = "none" }
medium = { kind = "ideal", rate = "10 Mbit/s", delay = "5 us" }
faults = { loss = "20 %", duplicate = "10 %" }
vary = { "flow.poll.size" = ["64 B", "128 B"] }
station = [{ name = "a" }, { name = "b" }]

[[flow]]
name = "trip"
from = "a"
to = "b"
service = "datagram"
pattern = { kind = "cyclic", period = "2 ms" }
size = "64 B"

[[flow]]
name = "poll"
from = "b"
to = "a"
service = "datagram"
pattern = { kind = "constant-rate-request", period = "5 ms", reply = "32 B" }
size = "64 B"
"#;

/// A row by the names of its columns.
type Row = BTreeMap<String, String>;

/// A folder with the scenario.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.toml"), SCENARIO).unwrap();
    folder
}

/// Rows of a table, whatever its form.
fn rows(path: &Path) -> Vec<Row> {
    match path.extension().unwrap().to_str().unwrap() {
        #[cfg(feature = "parquet")]
        "parquet" => rows_of_parquet(path),
        #[cfg(feature = "arrow")]
        "arrow" => rows_of_arrow(path),
        _ => rows_of_csv(&fs::read_to_string(path).unwrap()),
    }
}

fn rows_of_csv(text: &str) -> Vec<Row> {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    lines.map(|cells| names.iter().cloned().zip(cells).collect()).collect()
}

#[cfg(feature = "parquet")]
fn rows_of_parquet(path: &Path) -> Vec<Row> {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let text = |field: &Field| match field {
        Field::Null => String::new(),
        Field::ULong(count) => count.to_string(),
        Field::Str(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| {
        row.unwrap().get_column_iter().map(|(name, it)| (name.clone(), text(it))).collect()
    })
    .collect()
}

#[cfg(feature = "arrow")]
fn rows_of_arrow(path: &Path) -> Vec<Row> {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::UInt64Type;
    use arrow_array::{Array as _, ArrayRef};
    use arrow_ipc::reader::FileReader;
    let text = |column: &ArrayRef, row: usize| match column.as_primitive_opt::<UInt64Type>() {
        _ if column.is_null(row) => String::new(),
        Some(counts) => counts.value(row).to_string(),
        None => column.as_string::<i32>().value(row).to_owned(),
    };
    let mut found: Vec<Row> = Vec::new();
    for batch in FileReader::try_new(fs::File::open(path).unwrap(), None).unwrap() {
        let batch = batch.unwrap();
        let names: Vec<String> =
            batch.schema().fields().iter().map(|it| it.name().clone()).collect();
        found.extend((0..batch.num_rows()).map(|row| {
            let cells = names.iter().cloned().zip(batch.columns());
            cells.map(|(name, column)| (name, text(column, row))).collect()
        }));
    }
    found
}

/// Forms of tables that this build writes.
fn forms() -> Vec<&'static str> {
    let csv = "m.csv";
    let arrow = cfg!(feature = "arrow").then_some("m.arrow");
    let parquet = cfg!(feature = "parquet").then_some("m.parquet");
    [csv].into_iter().chain(arrow).chain(parquet).collect()
}

/// Compares a flow of a sample with its rows; returns their number.
fn compare(sample: &Value, flow: &Value, rows: &[Row]) -> usize {
    let [point, repetition] = ["point", "replication"].map(|key| sample[key].to_string());
    let is_of = |row: &&Row| {
        row["point"] == point
            && row["repetition"] == repetition
            && row["flow"] == flow["name"].as_str().unwrap()
            // Later messages are sent too, and not judged.
            && row["due_ns"].parse::<u64>().unwrap() < 500_000_000
    };
    let of: Vec<&Row> = rows.iter().filter(is_of).collect();
    let numbers = |column: &str| -> Vec<u64> {
        let cells = of.iter().filter(|row| !row[column].is_empty());
        cells.map(|row| row[column].parse().unwrap()).collect()
    };
    let delivered = of.iter().filter(|row| row["outcome"] == "delivered").count() as u64;
    let lost = of.iter().filter(|row| row["outcome"] == "lost").count() as u64;
    assert_eq!(Some(of.len() as u64), flow["sent"].as_u64());
    assert_eq!(Some(delivered), flow["delivered"].as_u64());
    assert!(lost > 0 && lost + delivered == of.len() as u64);
    assert_eq!(Some(numbers("octets").iter().sum()), flow["delivered_octets"].as_u64());
    for kind in ["delay", "response"] {
        let times = numbers(&format!("{kind}_ns"));
        assert_eq!(times.iter().max().copied(), flow[kind]["max_ns"].as_u64(), "{kind}");
        assert_eq!(Some(times.len() as u64), flow[kind]["count"].as_u64(), "{kind}");
        let mean = times.iter().sum::<u64>() as f64 / times.len().max(1) as f64;
        let expected = flow[kind]["mean_ns"].as_f64().unwrap_or(0.0);
        assert!((mean - expected).abs() < 0.001, "{kind}: {mean} and {expected}");
    }
    of.len()
}

/// Checks that the rows of a table add up to the samples of a command: 250 trips and 100 polls, in two runs of two
/// points.
#[track_caller]
fn agree(output: &std::process::Output, table: &Path) {
    check_code(output, 0);
    let rows = rows(table);
    let mut compared = 0;
    for sample in records(output).iter().filter(|it| it["type"] == "sample") {
        let flows = sample["flows"].as_array().unwrap();
        compared += flows.iter().map(|flow| compare(sample, flow, &rows)).sum::<usize>();
    }
    assert_eq!(compared, 4 * 350);
}

#[test]
fn rows_of_messages_add_up_to_the_samples() {
    let folder = folder();
    for file in forms() {
        let line = ["predict", "a.toml", "--no-save", "--json", "--each-message", file];
        agree(&run_in(folder.path(), &line), &folder.path().join(file));
    }
}

/// The forms of tables are those of `predict`.
#[test]
fn rows_of_measured_messages_add_up_to_the_samples() {
    let folder = folder();
    let line = ["measure", "a.toml", "--no-save", "--json", "--each-message", "m.csv"];
    agree(&run_in(folder.path(), &line), &folder.path().join("m.csv"));
}

/// The serving end loses frames, so the losses are those of its report.
#[test]
fn rows_of_messages_to_a_peer_add_up_to_the_samples() {
    let folder = folder();
    let (here, there) = (free_address(), free_address());
    let serve = ["serve", "--udp", &there, "--fault", "loss=20%", "-n", "4", "--json"];
    let (mut child, _lines, _) = serving(command(&serve));
    let line = ["measure", "a.toml", "--udp", &here, "--udp-peer", &there, "--no-save", "--json"];
    let output = run_in(folder.path(), &[&line[..], &["--each-message", "m.csv"]].concat());
    agree(&output, &folder.path().join("m.csv"));
    assert!(child.wait().unwrap().success());
    let result = records(&output).into_iter().find(|it| it["type"] == "result").unwrap();
    assert_eq!(result["without_row"], 0);
}

#[test]
fn without_a_peer_an_older_table_of_messages_stays() {
    let folder = folder();
    let table = folder.path().join("m.csv");
    fs::write(&table, "old").unwrap();
    let (here, there) = (free_address(), free_address());
    let line = ["measure", "a.toml", "--udp", &here, "--udp-peer", &there, "--no-save", "-q"];
    let output = run_in(folder.path(), &[&line[..], &["--each-message", "m.csv"]].concat());
    check_code(&output, 1);
    assert!(stderr(&output).contains("no answer"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&table).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing temporary stays");
}

/// The tables of Arrow and Parquet hold the cells of the table of CSV.
#[test]
fn messages_in_each_form_are_those_of_csv() {
    let folder = folder();
    let tables = forms().into_iter().map(|file| {
        let line = ["predict", "a.toml", "--no-save", "-q", "--each-message", file];
        check_code(&run_in(folder.path(), &line), 0);
        rows(&folder.path().join(file))
    });
    let tables: Vec<_> = tables.collect();
    assert!(tables[0].len() > 1_400);
    assert!(tables.iter().all(|table| *table == tables[0]));
}

#[test]
fn a_table_of_messages_on_a_full_disk_is_an_error() {
    if !Path::new("/dev/full").exists() {
        println!("skipped: no /dev/full");
        return;
    }
    let folder = folder();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("m.csv")).unwrap();
    for verb in ["predict", "measure"] {
        let line = [verb, "a.toml", "--json", "--output", verb, "--each-message", "m.csv"];
        let output = run_in(folder.path(), &line);
        check_code(&output, 1);
        let cannot = "cannot write m.csv: No space left on device";
        assert!(stderr(&output).contains(cannot), "{}", stderr(&output));
    }
    // A measurement cannot be repeated, so its samples are kept.
    let run = fs::read_dir(folder.path().join("measure")).unwrap().next().unwrap().unwrap();
    let samples = fs::read_to_string(run.path().join("samples.ndjson")).unwrap();
    assert!(samples.contains("\"type\":\"sample\"") && samples.contains("cannot write m.csv"));
}

#[test]
fn a_table_of_messages_of_no_known_form_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |file: &str, expected: &str| {
        for (verb, more) in
            [("predict", "--no-save"), ("measure", "--no-save"), ("measure", "--dry-run")]
        {
            let line = [verb, "status-short", more, "--each-message", file];
            let output = run_in(folder.path(), &line);
            check_code(&output, 2);
            assert!(stderr(&output).contains(expected), "{}", stderr(&output));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    };
    refused(
        "m.txt",
        "m.txt: no form of table\n  fix: a name that ends in .csv, .arrow or .parquet",
    );
    if cfg!(not(feature = "arrow")) {
        refused("m.arrow", "this tidewire writes no Arrow\n  fix: build tidewire with its feature");
    }
    if cfg!(not(feature = "parquet")) {
        refused(
            "m.parquet",
            "this tidewire writes no Parquet\n  fix: build tidewire with its feature",
        );
    }
}
