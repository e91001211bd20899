//! `tidewire predict --timeline`: a window of a run as a figure with its table.

use crate::{check_code, run_in, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};

const SCENARIO: &str = r#"
version = 1
title = "two on a token bus"
replications = 2
stop = { after = "100 ms", warmup = "none" }
medium = { kind = "token-bus", rate = "10 Mbit/s", length = "100 m" }
station = [{ name = "a" }, { name = "b" }]

[[flow]]
name = "status"
from = "a"
to = "b"
service = "class-4"
pattern = { kind = "cyclic", period = "2 ms" }
size = "64 B"
"#;

fn predicted(folder: &Path, options: &[&str]) -> std::process::Output {
    fs::write(folder.join("a.toml"), SCENARIO).unwrap();
    run_in(folder, &[&["predict", "a.toml"], options].concat())
}

/// The only run folder in a folder of runs.
fn only(runs: &Path) -> PathBuf {
    let mut found = fs::read_dir(runs).unwrap();
    found.next().unwrap().unwrap().path()
}

#[test]
fn a_window_is_drawn_into_the_run_folder_with_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let output = predicted(folder.path(), &["--timeline", "10ms..15ms", "--run", "1"]);
    check_code(&output, 0);
    let run = only(&folder.path().join("runs"));
    let svg = fs::read_to_string(run.join("timeline.svg")).unwrap();
    assert!(svg.contains("scenario a, repetition 1, seed of the run "), "{svg}");
    assert!(svg.contains("repetition 1, 10 ms to 15 ms</metadata>"), "{svg}");
    assert!(svg.contains(">token hold</text>") && svg.contains(">DT</text>"), "{svg}");
    let csv = fs::read_to_string(run.join("timeline.csv")).unwrap();
    let heading = "start_ns,end_ns,station,event,kind,connection,octets,sequence,retransmitted";
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some(heading));
    let lines: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    for line in &lines {
        let [start, end] = [line[0], line[1]].map(|text| text.parse::<u64>().unwrap());
        assert!(start <= 15_000_000 && end >= 10_000_000 && start <= end, "{line:?}");
    }
    let count = |event: &str| lines.iter().filter(|line| line[3] == event).count();
    // A message every 2 ms, and each is acknowledged.
    assert!(count("frame") >= 4 && count("hold") >= 4 && count("token") > 50, "{csv}");
    let said = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = format!(
        "timeline of repetition 1, 10 ms to 15 ms: {} transmissions, 0 collisions, {} token holds, \
         0 frames with retransmitted TPDUs",
        count("frame"),
        count("hold")
    );
    assert!(said.contains(&expected), "{said}");
    assert!(stderr(&output).contains("timeline.svg\n"), "{}", stderr(&output));
}

#[test]
fn a_window_of_too_many_bars_is_answered_with_a_shorter_one() {
    let folder = tempfile::tempdir().unwrap();
    let long = predicted(folder.path(), &["--timeline", "0ms..100ms", "--run", "0"]);
    check_code(&long, 0);
    let said = stderr(&long);
    let (_, rest) = said.split_once("timeline.svg has ").unwrap();
    let n: usize = rest.split(' ').next().unwrap().parse().unwrap();
    let svg = only(&folder.path().join("runs")).join("timeline.svg");
    let rows = fs::read_to_string(svg.with_extension("csv")).unwrap().lines().count();
    assert!(n > 1_000 && n + 1 == rows, "{n} bars, {rows} lines");
    let (_, window) = rest.split_once("--timeline ").unwrap();
    let window = window.split_whitespace().next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let short = predicted(folder.path(), &["--timeline", window, "--run", "0"]);
    check_code(&short, 0);
    assert!(!stderr(&short).contains("timeline.svg has"), "{window}: {}", stderr(&short));
}

#[test]
fn a_dry_run_lists_the_figure_and_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let output = predicted(folder.path(), &["--timeline", "10ms..15ms", "--dry-run"]);
    check_code(&output, 0);
    let text = stdout(&output);
    assert!(["timeline.svg\n", "timeline.csv\n"].iter().all(|it| text.contains(it)), "{text}");
}

#[test]
fn a_report_draws_the_timeline_of_its_run_folder() {
    let folder = tempfile::tempdir().unwrap();
    check_code(&predicted(folder.path(), &["--timeline", "10ms..15ms"]), 0);
    let run = only(&folder.path().join("runs"));
    let title = "a: 10 ms to 15 ms";
    let report = |of: &Path| {
        let output = run_in(folder.path(), &["report", of.to_str().unwrap(), "--output", "-"]);
        check_code(&output, 0);
        stdout(&output)
    };
    let svg = fs::read_to_string(run.join("timeline.svg")).unwrap();
    assert!(svg.contains(title), "{svg}");
    let page = report(&run);
    assert!(page.contains(title) && page.contains("start_ns"), "{page}");
    // Without its files there is no timeline in the report.
    fs::remove_file(run.join("timeline.csv")).unwrap();
    assert!(!report(&run).contains(title));
}

#[test]
fn a_timeline_has_the_same_octets_in_two_runs() {
    let both = ["one", "other"].map(|_| {
        let folder = tempfile::tempdir().unwrap();
        let line =
            ["--timeline", "10ms..15ms", "--no-save", "--figure", "drawn", "--emit", "vega-lite"];
        let output = predicted(folder.path(), &line);
        check_code(&output, 0);
        assert!(!stderr(&output).contains("no figure"), "{}", stderr(&output));
        let drawn = folder.path().join("drawn");
        ["timeline.svg", "timeline.csv", "timeline.vl.json"]
            .map(|name| fs::read(drawn.join(name)).unwrap())
    });
    assert!(both[0] == both[1], "the same window gives other octets");
}

#[test]
fn a_window_that_no_run_has_is_refused_before_any_run() {
    for (line, expected) in [
        ("--timeline 15ms..10ms", "it ends at 10 ms, and begins at 15 ms"),
        ("--timeline 10ms", "expected two times, such as 100ms..105ms"),
        ("--timeline soon..10ms", "\"soon\" is no time: expected"),
        ("--timeline 9s..10s", "--timeline: the window begins at 9 s, but the run ended at "),
        ("--timeline 1ms..2ms --no-save", "--timeline: no run folder to write to with --no-save"),
        ("--timeline 1ms..2ms --no-save --dry-run", "--timeline: no run folder to write to"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let output = predicted(folder.path(), &words);
        check_code(&output, 2);
        assert!(stderr(&output).contains(expected), "{line}: {}", stderr(&output));
        assert!(!folder.path().join("runs").exists(), "{line}");
    }
}

#[test]
fn a_plan_names_the_timeline_that_it_would_write() {
    let folder = tempfile::tempdir().unwrap();
    let output = predicted(folder.path(), &["--timeline", "10ms..15ms", "--dry-run"]);
    check_code(&output, 0);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("timeline.svg"), "{said}");
}
