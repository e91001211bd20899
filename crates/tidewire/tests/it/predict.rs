//! `predict` gives the same numbers for the same seed, and keeps what it ran.

use crate::{check_code, records, run, run_in, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};

/// The only run folder in `folder`.
pub(crate) fn only_run(folder: &Path) -> PathBuf {
    let runs: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [run] = &runs[..] else { panic!("{runs:?}") };
    run.clone()
}

/// Runs the short scenario with a seed into a folder of its own; what its samples say.
fn samples(seed: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["predict", "status-short", "-n", "2", "--seed", seed, "-o", "here"];
    check_code(&run_in(folder.path(), &arguments), 0);
    fs::read(only_run(&folder.path().join("here")).join("samples.ndjson")).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_octets_and_another_gives_others() {
    let first = samples("7");
    assert!(first == samples("7"));
    assert!(first != samples("8"));
}

#[test]
fn a_run_folder_holds_the_scenario_where_it_came_from_and_every_sample() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["predict", "status-short", "--json", "--seed", "5"]);
    check_code(&output, 0);
    let run = only_run(&folder.path().join("runs"));
    let name = run.file_name().unwrap().to_str().unwrap();
    // A date and a time to the second, then the name of the scenario.
    let shape: String = name.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00-00-00-status-short");

    let built_in = bench::scenarios::get("status-short").unwrap();
    assert_eq!(fs::read_to_string(run.join("scenario.toml")).unwrap(), built_in.text);
    let about: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(run.join("run.json")).unwrap()).unwrap();
    assert_eq!(about["seed"], 5);
    assert_eq!(about["command"][1], "predict");
    assert!(about["host"]["cores"].is_string());

    // What is kept is what was told, line by line, but for the report.
    let kept = fs::read_to_string(run.join("samples.ndjson")).unwrap();
    let told = stdout(&output);
    let told: Vec<&str> =
        told.lines().filter(|line| !line.starts_with(r#"{"type":"report""#)).collect();
    assert_eq!(kept.lines().collect::<Vec<_>>(), told);
    let records = records(&output);
    let kinds: Vec<&str> = records.iter().map(|r| r["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["sample", "sample", "sample", "report", "end"]);
    assert_eq!(records[4]["complete"], true);
    assert_eq!(records[3]["folder"].as_str().map(|f| folder.path().join(f)), Some(run));
}

#[test]
fn the_table_tells_means_with_their_spread_and_shares_with_their_bounds() {
    let output = run(&["predict", "status-short", "--no-save"]);
    check_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("mean (95 %, n = 3)"), "{text}");
    let line = |starts: &str| {
        text.lines().find(|line| line.trim_start().starts_with(starts)).unwrap().to_owned()
    };
    // 239 octets of message and headers and 4 of AK room: see the arithmetic in bench's runs;
    // class 4 in the extended format with checksum takes 198.6 us.
    assert!(line("status").contains("198.6 ± 0.0 us"), "{text}");
    // 45 judged reports a run (900 ms of 20 ms), three runs, none missed: 1 - 0.025^(1/135).
    assert!(line("missed").contains("0 of 135 (at most 0.027, 95 %)"), "{text}");
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_single_run_has_no_interval() {
    let text = stdout(&run(&["predict", "status-short", "-n", "1", "--no-save"]));
    assert!(text.contains("mean (n = 1)"), "{text}");
    assert!(!text.contains('±'), "{text}");
}

#[test]
fn the_scenario_that_is_printed_runs_to_the_same_samples() {
    let folder = tempfile::tempdir().unwrap();
    let printed = run(&["predict", "status-short", "--seed", "9", "-n", "2", "--print-scenario"]);
    check_code(&printed, 0);
    fs::write(folder.path().join("full.toml"), stdout(&printed)).unwrap();
    let of = |arguments: &[&str]| {
        let mut records = records(&run_in(folder.path(), arguments));
        for record in &mut records {
            // The texts differ, so their hashes do.
            record.as_object_mut().unwrap().remove("scenario_hash");
        }
        records
    };
    let full = of(&["predict", "full.toml", "--json", "--no-save"]);
    let short = of(&["predict", "status-short", "--seed", "9", "-n", "2", "--json", "--no-save"]);
    assert_eq!(full, short);
    assert_eq!(full.len(), 4);
}

#[test]
fn the_frames_of_the_first_run_can_be_kept_and_metered() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        ["predict", "status-short", "-n", "1", "--no-save", "--json", "--capture", "a.pcapng"];
    let predicted = run_in(folder.path(), &arguments);
    check_code(&predicted, 0);
    let watched =
        run_in(folder.path(), &["watch", "-r", "a.pcapng", "--measure", "1 min", "--json"]);
    check_code(&watched, 0);
    let records = records(&watched);
    let measures = &records[0]["measures"];
    // Two class 4 connections, each opened once; each status report, request and answer one DT.
    assert_eq!(measures["transport_connections"], 2);
    let sent = |flow: usize| {
        let sample: serde_json::Value =
            serde_json::from_str(stdout(&predicted).lines().next().unwrap()).unwrap();
        sample["flows"][flow]["sent"].as_u64().unwrap()
    };
    // The sample leaves out the 100 ms of warm-up: 5 reports, and 2 requests with their answers.
    assert_eq!(measures["tsdus"], sent(0) + 5 + 2 * (sent(1) + 2));
    assert_eq!(measures["dt_retransmissions"], 0);
}

#[test]
fn what_went_wrong_within_a_run_folder_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("runs"), "in the way").unwrap();
    let output = run_in(folder.path(), &["predict", "status-short"]);
    check_code(&output, 1);
    assert!(stderr(&output).contains("cannot write a run folder in runs"), "{}", stderr(&output));
}
