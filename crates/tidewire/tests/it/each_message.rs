//! `tidewire predict --each-message`: a row for each message, which agree with the samples.

use crate::{check_code, records, run_in, stderr};
use std::collections::BTreeMap;
use std::fs;

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

fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    lines.map(|cells| names.iter().cloned().zip(cells).collect()).collect()
}

#[test]
fn rows_of_messages_add_up_to_the_samples() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.toml"), SCENARIO).unwrap();
    let line = ["predict", "a.toml", "--no-save", "--json", "--each-message", "m.csv"];
    let output = run_in(folder.path(), &line);
    check_code(&output, 0);
    let rows = rows(&fs::read_to_string(folder.path().join("m.csv")).unwrap());
    let mut compared = 0;
    for sample in records(&output).iter().filter(|it| it["type"] == "sample") {
        for flow in sample["flows"].as_array().unwrap() {
            let [point, repetition] = ["point", "replication"].map(|key| sample[key].to_string());
            let is_of = |row: &&Row| {
                row["point"] == point
                    && row["repetition"] == repetition
                    && row["flow"] == flow["name"].as_str().unwrap()
                    // Later messages are sent too, and not judged.
                    && row["due_ns"].parse::<u64>().unwrap() < 500_000_000
            };
            let of: Vec<&Row> = rows.iter().filter(is_of).collect();
            let times = |column: &str| -> Vec<u64> {
                let cells = of.iter().filter(|row| !row[column].is_empty());
                cells.map(|row| row[column].parse().unwrap()).collect()
            };
            let delivered = of.iter().filter(|row| row["outcome"] == "delivered").count() as u64;
            let lost = of.iter().filter(|row| row["outcome"] == "lost").count() as u64;
            assert_eq!(Some(of.len() as u64), flow["sent"].as_u64());
            assert_eq!(Some(delivered), flow["delivered"].as_u64());
            assert!(lost > 0 && lost + delivered == of.len() as u64);
            for kind in ["delay", "response"] {
                let times = times(&format!("{kind}_ns"));
                assert_eq!(times.iter().max().copied(), flow[kind]["max_ns"].as_u64(), "{kind}");
                assert_eq!(Some(times.len() as u64), flow[kind]["count"].as_u64(), "{kind}");
            }
            compared += of.len();
        }
    }
    // 250 trips and 100 polls, in two runs of two points.
    assert_eq!(compared, 4 * 350);
}

/// The table of Parquet holds the cells of the table of CSV.
#[cfg(feature = "parquet")]
#[test]
fn messages_as_parquet_are_those_of_csv() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.toml"), SCENARIO).unwrap();
    for file in ["m.csv", "m.parquet"] {
        let line = ["predict", "a.toml", "--no-save", "-q", "--each-message", file];
        check_code(&run_in(folder.path(), &line), 0);
    }
    let file = fs::File::open(folder.path().join("m.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let text = |field: &Field| match field {
        Field::Null => String::new(),
        Field::ULong(count) => count.to_string(),
        Field::Str(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    let found: Vec<Row> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            row.unwrap().get_column_iter().map(|(name, it)| (name.clone(), text(it))).collect()
        })
        .collect();
    let expected = rows(&fs::read_to_string(folder.path().join("m.csv")).unwrap());
    assert!(expected.len() > 1_400 && found == expected);
}

/// The table of Arrow holds the cells of the table of CSV.
#[cfg(feature = "arrow")]
#[test]
fn messages_as_arrow_are_those_of_csv() {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::UInt64Type;
    use arrow_array::{Array as _, ArrayRef};
    use arrow_ipc::reader::FileReader;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.toml"), SCENARIO).unwrap();
    for file in ["m.csv", "m.arrow"] {
        let line = ["predict", "a.toml", "--no-save", "-q", "--each-message", file];
        check_code(&run_in(folder.path(), &line), 0);
    }
    let text = |column: &ArrayRef, row: usize| match column.as_primitive_opt::<UInt64Type>() {
        _ if column.is_null(row) => String::new(),
        Some(counts) => counts.value(row).to_string(),
        None => column.as_string::<i32>().value(row).to_owned(),
    };
    let file = fs::File::open(folder.path().join("m.arrow")).unwrap();
    let mut found: Vec<Row> = Vec::new();
    for batch in FileReader::try_new(file, None).unwrap() {
        let batch = batch.unwrap();
        let names: Vec<String> =
            batch.schema().fields().iter().map(|it| it.name().clone()).collect();
        found.extend((0..batch.num_rows()).map(|row| {
            let cells = names.iter().cloned().zip(batch.columns());
            cells.map(|(name, column)| (name, text(column, row))).collect()
        }));
    }
    let expected = rows(&fs::read_to_string(folder.path().join("m.csv")).unwrap());
    assert!(expected.len() > 1_400 && found == expected);
}

#[test]
fn a_table_of_messages_of_no_known_form_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |file: &str, expected: &str| {
        let line = ["predict", "status-short", "--no-save", "--each-message", file];
        let output = run_in(folder.path(), &line);
        check_code(&output, 2);
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
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
