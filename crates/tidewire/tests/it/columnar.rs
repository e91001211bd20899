//! Parquet files of `watch`: the columns hold what the records tell. Behind the feature `parquet`.

use crate::export::{CELL, of_kind};
use crate::watch::one_each;
use crate::{check_code, command, interrupt, records, run_in};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;

const SECOND: u64 = 1_000_000_000;

/// Rows of a table by the names of its columns.
fn rows(folder: &Path, table: &str) -> Vec<BTreeMap<String, Field>> {
    let file = File::open(folder.join(format!("p/{table}.parquet"))).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    assert_eq!(reader.metadata().file_metadata().schema().name(), table);
    let named = |(name, field): (&String, &Field)| (name.clone(), field.clone());
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().get_column_iter().map(named).collect()).collect()
}

/// Asserts that a field holds a value of NDJSON.
#[track_caller]
fn check(name: &str, field: &Field, value: &Value) {
    let is_same = match field {
        Field::Null => value.is_null(),
        Field::ULong(count) => value.as_u64() == Some(*count),
        // Points in time; none of these is before 1970.
        Field::Long(nanos) => value.as_u64() == Some(nanos.cast_unsigned()),
        Field::Double(number) => value.as_f64() == Some(*number),
        Field::Str(text) => value.as_str() == Some(text),
        other => panic!("{name}: {other:?}"),
    };
    assert!(is_same, "{name}: {field:?}, not {value}");
}

#[test]
fn columns_hold_what_the_records_tell() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["watch", "-r", CELL, "--measure", "1 s", "--json", "--parquet", "p"];
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 0);
    let (records, mut values) = (records(&output), 0);
    let mut compare = |row: &BTreeMap<String, Field>, prefix: &str, told: &Value| {
        for (name, value) in told.as_object().unwrap() {
            if let Some(field) = row.get(&format!("{prefix}{name}")) {
                check(name, field, value);
                values += 1;
            }
        }
    };
    let (intervals, told) = (rows(folder.path(), "intervals"), of_kind(&records, "interval"));
    assert_eq!((intervals.len(), intervals.len()), (told.len(), 6));
    for (row, record) in intervals.iter().zip(told) {
        check("start", &row["start"], &record["start_ns"]);
        check("length_ns", &row["length_ns"], &record["length_ns"]);
        compare(row, "", &record["measures"]);
        compare(row, "", &record["metrics"]);
    }
    let (hosts, told) = (rows(folder.path(), "hosts"), of_kind(&records, "host"));
    assert_eq!(hosts.len(), told.len());
    for (row, record) in hosts.iter().zip(told) {
        check("host", &row["host"], &record["host"]);
        compare(row, "sent_", &record["sent"]);
        compare(row, "received_", &record["received"]);
    }
    let (connections, told) = (rows(folder.path(), "connections"), of_kind(&records, "connection"));
    assert_eq!((connections.len(), connections.len()), (told.len(), 3));
    for (row, record) in connections.iter().zip(told) {
        check("last", &row["last"], &record["last_ns"]);
        compare(row, "", record);
        for (side, prefix) in ["orig_", "resp_"].into_iter().enumerate() {
            check(prefix, &row[&format!("{prefix}host")], &record["ends"][side]);
            compare(row, prefix, &record["directions"][side]);
        }
    }
    assert!(values > 1_000, "{values} values compared");
    println!("seen: {values} values of three tables in columns as in records");
}

#[test]
fn after_an_interrupt_the_files_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(&["watch", "-r", "-", "--json", "--parquet", "p"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&one_each(&[0, 10, 15])).unwrap();
    stdin.flush().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The head, and the first interval, which is over when the second frame has been read.
    for kind in ["stream", "interval"] {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["type"], kind);
    }
    interrupt(child.id());
    let records: Vec<Value> =
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
    let intervals = rows(folder.path(), "intervals");
    let [whole, cut] = &intervals[..] else { panic!("{} intervals", intervals.len()) };
    assert_eq!(whole["length_ns"], Field::ULong(10 * SECOND));
    check("length_ns", &cut["length_ns"], &of_kind(&records, "interval")[0]["length_ns"]);
    assert_eq!(rows(folder.path(), "hosts").len(), 2);
    assert_eq!(rows(folder.path(), "connections").len(), 1);
}
