//! `tidewire schema`: real outputs conform to it, and outputs of older versions do.

use crate::json_schema::conforms;
use crate::{check_code, records, run, run_in, stdout};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// A line of an older version: fields may be added, and are never removed or changed.
const OLDER: &str = include_str!("kept/samples-1.ndjson");

pub(crate) fn schema(of: &str) -> Value {
    let output = run(&["schema", of]);
    check_code(&output, 0);
    let schema: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(records(&run(&["schema", of, "--json"])), std::slice::from_ref(&schema));
    schema
}

/// Names of all properties of a schema.
fn known(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            let properties = object.get("properties").and_then(Value::as_object);
            found.extend(properties.into_iter().flat_map(|it| it.keys().cloned()));
            object.values().for_each(|it| known(it, found));
        }
        Value::Array(items) => items.iter().for_each(|it| known(it, found)),
        _ => {}
    }
}

/// Names of all keys of a record, but of tables whose keys are names of the scenario or of counters.
fn written(record: &Value, found: &mut BTreeSet<String>) {
    const FREE: [&str; 6] = ["settings", "counts", "failures", "ends", "profiles", "only_first"];
    match record {
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                if !FREE.contains(&key.as_str()) {
                    written(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|it| written(it, found)),
        _ => {}
    }
}

#[track_caller]
pub(crate) fn check(records: &[Value], schema: &Value) {
    let mut names = BTreeSet::new();
    known(schema, &mut names);
    for record in records {
        assert_eq!(conforms(record, schema, schema), Ok(()));
        let mut keys = BTreeSet::new();
        written(record, &mut keys);
        let unknown: Vec<_> = keys.difference(&names).collect();
        assert!(unknown.is_empty(), "{unknown:?} of {record:.200}");
    }
}

#[test]
fn results_conform_to_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let line = "predict status-csma --json -n 2 -P background.load=0%,60% -o";
    let made = |to: &str, more: &str| {
        let words = format!("{line} {to} {more}");
        let words: Vec<&str> = words.split_whitespace().collect();
        let require = ["--require", "miss(status) < 1e-3"];
        records(&run_in(folder.path(), &[&words[..], &require].concat()))
    };
    let result = made("one", "");
    check(&result, &schema("result"));
    let is_report = |record: &&Value| record["type"] == "report";
    let report = result.iter().find(is_report).unwrap();
    check(std::slice::from_ref(report), &schema("report"));
    let of_error = records(&run(&["predict", "status-shrt", "--json"]));
    assert_eq!(of_error[0]["type"], "error");
    check(&of_error, &schema("result"));
    let run_folder = fs::read_dir(folder.path().join("one")).unwrap().next().unwrap().unwrap();
    let lines = fs::read_to_string(run_folder.path().join("samples.ndjson")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    check(&lines, &schema("samples"));
    made("two", "--seed 9");
    let compared = records(&run_in(folder.path(), &["compare", "one", "two", "--json"]));
    let is_comparison = |record: &&Value| record["type"] == "comparison";
    let comparison = compared.iter().find(is_comparison).unwrap();
    check(std::slice::from_ref(comparison), &schema("compare"));
}

#[test]
fn records_against_a_schema_are_rejected() {
    let (samples, report) = (schema("samples"), schema("report"));
    let sample: Value = serde_json::from_str(OLDER.lines().next().unwrap()).unwrap();
    let with = |key: &str, value: Value| {
        let mut changed = sample.clone();
        changed[key] = value;
        conforms(&changed, &samples, &samples)
    };
    assert!(with("type", json!("smaple")).is_err());
    assert!(with("seed", json!(1)).is_err() && with("flows", json!({})).is_err());
    assert!(conforms(&sample, &report, &report).is_err());
}

#[test]
fn outputs_of_older_versions_conform_and_can_be_read() {
    let samples = schema("samples");
    for line in OLDER.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(conforms(&record, &samples, &samples), Ok(()));
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("older.ndjson"), OLDER).unwrap();
    let compared = run_in(folder.path(), &["compare", "older.ndjson", "older.ndjson"]);
    check_code(&compared, 0);
}

#[test]
fn each_schema_has_a_name_with_its_version() {
    for (of, id) in [
        ("result", "tidewire.result/1"),
        ("samples", "tidewire.samples/1"),
        ("report", "tidewire.report/1"),
        ("compare", "tidewire.compare/1"),
        ("histograms", "tidewire.histograms/1"),
        ("scenario", "tidewire.scenario/1"),
    ] {
        assert_eq!(schema(of)["$id"], id);
    }
    assert_eq!(schema("measures"), records(&run(&["schema", "measures", "--json"]))[0]);
}
