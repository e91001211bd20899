//! Histograms of several runs of `watch --hdr`: their sum is that of one run over all frames.

use crate::export::CELL;
use crate::json_schema::conforms;
use crate::stream::of_type;
use crate::{check_code, records, run_in, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Station of one connection of the capture.
const STATION: &str = "host 02:00:00:00:00:03";
/// Stations of all other connections.
const OTHERS: &str = "not host 02:00:00:00:00:03";

/// Watches the capture into a run folder.
fn watch(here: &Path, into: &str, more: &[&str]) {
    let arguments = [&["watch", "-q", "-r", CELL, "-o", into], more].concat();
    check_code(&run_in(here, &arguments), 0);
}

/// The one run folder in a folder.
fn only_run(folder: &Path) -> PathBuf {
    let found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Two runs that share the connections of the capture.
fn halves() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    watch(folder.path(), "one", &["--hdr", "--filter", STATION]);
    watch(folder.path(), "another", &["--hdr", "--filter", OTHERS]);
    folder
}

#[test]
fn histograms_of_parts_add_up_to_that_of_the_whole() {
    let folder = halves();
    let here = folder.path();
    watch(here, "whole", &["--hdr"]);
    let whole = lines(&only_run(&here.join("whole")).join("measures.ndjson"));
    let whole = of_type(&whole, "total")[0];
    let output = run_in(here, &["merge", "one", "another", "--json", "-o", "merged"]);
    check_code(&output, 0);
    let [merged, end] = &records(&output)[..] else { panic!("{}", stdout(&output)) };
    assert_eq!(lines(&only_run(&here.join("merged")).join("histograms.ndjson"))[0], *merged);
    assert_eq!(end["complete"], true);
    let schema = records(&run_in(here, &["schema", "histograms", "--json"])).remove(0);
    conforms(merged, &schema, &schema).unwrap();
    let delays = merged["delays"].as_array().unwrap();
    assert_eq!(delays.len(), whole["histograms"].as_object().unwrap().len());
    for delay in delays {
        let name = delay["delay"].as_str().unwrap();
        assert_eq!(delay["histogram"], whole["histograms"][name], "{name}");
        assert_eq!(delay["count"], whole["measures"][format!("{name}s")], "{name}");
        // Quantiles of both are upper edges of the same classes, and end at the maximum.
        for statistic in ["min_ns", "p50_ns", "p99_ns", "max_ns"] {
            let of_whole = &whole["measures"][format!("{name}_{statistic}")];
            assert_eq!(&delay[statistic], of_whole, "{name}_{statistic}");
        }
        assert_eq!(delay["exact"], true, "{name}");
    }
    assert_eq!((&delays[0]["delay"], &delays[0]["parts"]), (&"ack_delay".into(), &2.into()));
    assert_eq!(delays[0]["count"], 288);
    let sources: Vec<&Value> =
        merged["parts"].as_array().unwrap().iter().map(|part| &part["source"]).collect();
    assert_eq!(sources.len(), 2);
    // Files of records, as lines for people.
    let file = |half| only_run(&here.join(half)).join("measures.ndjson");
    for (half, name) in [("one", "a.ndjson"), ("another", "b.ndjson")] {
        fs::copy(file(half), here.join(name)).unwrap();
    }
    let table = stdout(&run_in(here, &["merge", "b.ndjson", "a.ndjson", "-o", "files"]));
    let row = table.lines().find(|line| line.contains("ack_delay")).unwrap();
    assert!(row.split_whitespace().take(3).eq(["ack_delay", "2", "288"]), "{table}");
}

#[test]
fn extremes_that_records_do_not_state_are_edges_and_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (half, filter) in [("one", STATION), ("another", OTHERS)] {
        watch(here, half, &["--hdr", "--only", "ack_delay_p99_ns", "--filter", filter]);
    }
    let merge = ["merge", "one", "another", "-o", "merged"];
    let table = stdout(&run_in(here, &merge));
    let (_, row) = table.split_once("ack_delay").unwrap();
    let words: Vec<&str> = row.split_whitespace().take(15).collect();
    let expected = ["2", "288", "at", "least", "67.1", "us"];
    assert_eq!(words[..6], expected, "{table}");
    assert_eq!(words[words.len() - 4..], ["at", "most", "60.3", "ms"], "{table}");
    let merged = records(&run_in(here, &[&merge[..], &["--json"]].concat())).remove(0);
    assert_eq!(merged["delays"][0]["exact"], false);
}

#[test]
fn parts_that_cannot_be_added_are_refused_by_the_field() {
    let folder = halves();
    let here = folder.path();
    watch(here, "again", &["--hdr", "--filter", STATION, "--measure", "1 s"]);
    watch(here, "bare", &["--filter", OTHERS]);
    watch(here, "few", &["--hdr", "--only", "ack_delay*", "--filter", OTHERS]);
    let refused = |more: &[&str], code: i32, reason: &str| {
        let output = run_in(here, &[&["merge", "one"], more].concat());
        check_code(&output, code);
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
        assert!(!here.join("runs").exists());
    };
    refused(&["one"], 2, "have the same records");
    refused(&["again"], 2, "are of the same capture, SHA-256 ");
    refused(&["bare"], 2, "fix: watch again with --hdr");
    refused(&["few"], 2, "the field only is ack_delay*, not all");
    refused(&["another", "--plot"], 2, "--plot goes with shards of a study");
    let text = fs::read_to_string(only_run(&here.join("another")).join("measures.ndjson")).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        fs::write(here.join("changed.ndjson"), text.replace(from, to)).unwrap();
    };
    changed("tidewire.measures/2", "tidewire.measures/1");
    refused(&["changed.ndjson"], 2, "the field schema is tidewire.measures/1, not");
    changed("\"ack_delay\":\"HIST", "\"ack_delay\":\"HISU");
    refused(&["changed.ndjson"], 1, "histograms.ack_delay of the total: the cookie is not that");
    changed("\"set_up\":\"HIST", "\"ack_delay\":\"HIST");
    refused(
        &["changed.ndjson"],
        1,
        "histograms.ack_delay of the total: the name stands there twice",
    );
    changed("\"set_up\":\"HIST", "\"dinner\":\"HIST");
    refused(
        &["changed.ndjson"],
        1,
        "histograms.dinner of the total: this version has no such delay",
    );
    changed("{\"type\":\"total\"", "{\"type\":\"later\"");
    refused(&["changed.ndjson"], 1, "it has no record of the type \"total\"");
    fs::write(here.join("changed.ndjson"), text.rsplit_once("{\"type\":\"end\"").unwrap().0)
        .unwrap();
    refused(&["changed.ndjson"], 1, "without its end record");
}
