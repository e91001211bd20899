//! `predict` gives the same numbers for the same seed, and keeps what it ran.

use crate::{check_code, command, interrupt, records, run, run_in, stderr, stdout};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

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
fn a_run_folder_holds_scenario_provenance_and_every_sample() {
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
    assert_eq!(about["seed"], "5");
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
fn the_table_has_means_with_spread_and_shares_with_bounds() {
    let output = run(&["predict", "status-short", "--no-save"]);
    check_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("mean (95 %)") && text.contains(", n = 3 runs\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let line = |starts: &str| {
        text.lines().find(|line| line.trim_start().starts_with(starts)).unwrap().to_owned()
    };
    // 8 preamble + 14 MAC + 3 LLC + 1 CLNP + 12 DT (extended, checksum) + 200 + 4 FCS = 242 octets:
    // 193.6 us at 10 Mbit/s, and 5 us on the way.
    assert!(line("status  delay").contains("198.6 ± 0.0 us"), "{text}");
    // 45 judged reports a run (900 ms of 20 ms), three runs, none missed: 1 - 0.025^(1/135).
    assert!(line("status   20.0 ms").contains("0 of 135  at most 0.027  "), "{text}");
    assert!(line("status   20.0 ms").ends_with("  met"), "{text}");
    assert_eq!(stderr(&output), "");
}

#[test]
fn one_command_finds_the_limit_of_ieds_and_draws_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["predict", "ieds", "--no-save", "--figure", "drawn", "--vary"];
    let vary = "stations.ied.count=100,140,200";
    let output = run_in(folder.path(), &[&arguments[..], &[vary]].concat());
    check_code(&output, 0);
    let said = stdout(&output);
    let limit = "limit  stations.ied.count: always met at 100; met in these runs at 140; not at\n       \
                 200: trip-ied-200 misses its deadline";
    assert!(said.contains(limit), "{said}");
    let line = |starts: &str| said.lines().find(|line| line.starts_with(starts)).unwrap();
    let row = "\n  trip (worst of 100)\n     3.00 ms  0 of 100  one run      1.66 ms  2.58 ms  always met\n";
    assert!(said.contains(row), "{said}");
    assert!(
        line("  trip: 100 of 100").contains("100 of 100 always met; worst trip-ied-"),
        "{said}"
    );
    assert_eq!(
        said.matches("trip-ied-").count(),
        4,
        "a line for the group, not one for each: {said}"
    );
    let drawn = fs::read_to_string(folder.path().join("drawn/max.csv")).unwrap();
    let rows = |series: &str| drawn.lines().filter(|line| line.starts_with(series)).count();
    assert_eq!((rows("trip,"), rows("trip bound,"), rows("trip deadline,")), (3, 3, 3), "{drawn}");
    assert!(drawn.contains("trip deadline,140,3,"), "{drawn}");
    assert_eq!(fs::read_dir(folder.path().join("drawn")).unwrap().count(), 6, "three figures");
    let records = records(&run(&["predict", "ieds", "--no-save", "--json", "--vary", vary]));
    let report = records.iter().find(|record| record["type"] == "report").unwrap();
    let limit = &report["limits"][0];
    let value = |key: &str| limit[key][0].as_str().unwrap();
    assert_eq!([value("always"), value("met"), value("missed")], ["100", "140", "200"]);
    let groups = report["points"][0]["flows"].as_array().unwrap().iter();
    assert_eq!(
        groups.filter(|flow| flow["group"] == "trip").count(),
        100,
        "records have each flow"
    );
}

#[test]
fn a_long_single_run_has_an_interval_by_batches() {
    // 45 reports are enough for 40 batches of one, and all of them are alike.
    let text = stdout(&run(&["predict", "status-short", "-n", "1", "--no-save"]));
    assert!(text.contains("n = 1 run, intervals over its batches (95 %)\n"), "{text}");
    assert!(text.contains("mean (batches)"), "{text}");
    assert!(text.contains("status  delay     198.6 ± 0.0 us"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("few.toml"), FORTY.replace("messages = 40", "messages = 39"))
        .unwrap();
    let text = stdout(&run_in(folder.path(), &["predict", "few.toml", "-n", "1", "--no-save"]));
    assert!(text.contains(", n = 1 run\n") && !text.contains('±'), "{text}");
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

/// Forty reports over one connection, and nothing else.
const FORTY: &str = r#"version = 1
title = "forty reports"
replications = 2
stop = { after = "10 s", messages = 40 }
medium = { kind = "ideal", rate = "10 Mbit/s", delay = "5 us" }
stations = { count = 2, prefix = "s" }

[[flow]]
name = "status"
from = "s-1"
to = "s-2"
service = "class-4"
pattern = { kind = "cyclic", period = "20 ms" }
size = "200 B"
"#;

#[test]
fn the_frames_of_the_first_run_can_be_kept_and_metered() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("forty.toml"), FORTY).unwrap();
    let predict = ["predict", "forty.toml", "--no-save", "--capture", "a.pcapng"];
    check_code(&run_in(folder.path(), &predict), 0);
    let watch = ["watch", "-r", "a.pcapng", "--measure", "1 min", "--json"];
    let watched = run_in(folder.path(), &watch);
    check_code(&watched, 0);
    let told = records(&watched);
    let interval = told.iter().find(|record| record["type"] == "interval").unwrap();
    let measures = &interval["measures"];
    // One connection, opened once; each report one DT of 200 octets, none lost. The frames of one
    // run, not of both.
    assert_eq!(measures["transport_connections"], 1);
    assert_eq!((&measures["dt_tpdus"], &measures["dt_retransmissions"]), (&40.into(), &0.into()));
    assert_eq!((&measures["tsdus"], &measures["tsdu_octets"]), (&40.into(), &8_000.into()));
}

#[test]
fn an_error_within_a_run_folder_names_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("runs"), "in the way").unwrap();
    let output = run_in(folder.path(), &["predict", "status-short"]);
    check_code(&output, 1);
    assert!(stderr(&output).contains("runs is a file, not a folder"), "{}", stderr(&output));
}

/// Interrupts a command after its first record. Returns its records, of which the last one says so.
pub(crate) fn interrupted(child: &mut Child) -> Vec<String> {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    interrupt(child.id());
    let told: Vec<String> =
        core::iter::once(first).chain(lines.map(|line| line.unwrap())).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let end = r#"{"type":"end","complete":false,"error":"interrupted"}"#;
    assert_eq!(told.last().map(String::as_str), Some(end));
    told
}

#[test]
fn an_interrupt_keeps_the_runs_that_were_made() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(&["predict", "status-csma", "-n", "100000", "--json"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = interrupted(&mut child);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(
        said.contains("of 300000 runs are finished and kept: tidewire predict --resume runs/"),
        "{said}"
    );
    let results = bench::folder::read(&only_run(&folder.path().join("runs"))).unwrap();
    // All but the report and the end.
    assert_eq!(results.samples.len(), told.len() - 2);
    assert!(results.samples.first().is_some_and(|sample| sample.complete));
    assert_eq!(results.end.error.as_deref(), Some("interrupted"));
}

/// A flow at random has no bound, so that a deadline which it met in every run is not one that it always meets, though
/// the other flow's is.
#[test]
fn a_limit_is_always_met_only_where_each_flow_has_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    // Each at a station of its own: a flow at random leaves none at its own station bounded.
    let flow = |name: &str, ends: [u8; 2], pattern: &str| {
        let [from, to] = ends;
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"s-{from}\"\nto = \"s-{to}\"\nservice = \"datagram\"\n\
             size = \"100 B\"\ndeadline = \"20 ms\"\npattern = {pattern}\n"
        )
    };
    let limit = |other: &str| {
        let text = format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\n\
             medium = {{ kind = \"ideal\", rate = \"10 Mbit/s\" }}\n\
             stations = {{ count = 2, prefix = \"s\" }}\n{}{}",
            flow("bounded", [1, 2], "{ kind = \"cyclic\", period = \"20 ms\" }"),
            flow("other", [2, 1], other)
        );
        fs::write(folder.path().join("two.toml"), text).unwrap();
        let vary = ["predict", "two.toml", "--no-save", "--vary", "flow.bounded.size=100 B,200 B"];
        let output = run_in(folder.path(), &vary);
        check_code(&output, 0);
        let told = stdout(&output);
        told.lines().find(|line| line.starts_with("limit  ")).unwrap().to_owned()
    };
    let bounded = limit("{ kind = \"cyclic\", period = \"50 ms\" }");
    assert!(bounded.contains("always met at 100 B, 200 B"), "{bounded}");
    let at_random = limit("{ kind = \"poisson\", mean-interval = \"50 ms\" }");
    assert!(at_random.contains("met in these runs at 100 B, 200 B"), "{at_random}");
    assert!(!at_random.contains("always"), "{at_random}");
}

#[test]
fn the_oldest_runs_go_where_their_number_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("runs/notes")).unwrap();
    let left = || {
        let entries = fs::read_dir(folder.path().join("runs")).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != "notes").collect();
        names.sort();
        names
    };
    // Several of these begin within one second, and take each other's names.
    for verb in ["predict", "predict", "measure", "predict", "predict", "predict", "predict"] {
        let limited = [verb, "status-short", "-n", "1", "-q", "--keep-runs", "2"];
        check_code(&run_in(folder.path(), &limited), 0);
    }
    let kept = left();
    assert_eq!(kept.len(), 2, "{kept:?}");
    // Without the option none goes.
    check_code(&run_in(folder.path(), &["predict", "status-short", "-n", "1", "-q"]), 0);
    let all = left();
    assert!(all.len() == 3 && kept.iter().all(|name| all.contains(name)), "{all:?}");
    assert!(folder.path().join("runs/notes").is_dir());
}

#[test]
fn one_repetition_alone_has_the_octets_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let samples = |line: &str| {
        let output = run_in(folder.path(), &line.split(' ').collect::<Vec<_>>());
        check_code(&output, 0);
        let lines = stdout(&output);
        lines
            .lines()
            .filter(|it| it.starts_with("{\"type\":\"sample\""))
            .map(str::to_owned)
            .collect()
    };
    let line = "predict status-csma -P background.load=30%,60% --json -o";
    let whole: Vec<String> = samples(&format!("{line} whole -n 4"));
    let one: Vec<String> = samples(&format!("{line} one --run 2"));
    // Four repetitions of two points.
    assert_eq!((whole.len(), one.len()), (8, 2));
    assert_eq!(one, [whole[2].clone(), whole[6].clone()]);
    assert_ne!(whole[1], whole[2]);
    // A folder of one repetition can be made anew, and needs no others.
    check_code(&run_in(folder.path(), &["rerun", "one"]), 0);
    let found = run_in(folder.path(), &["predict", "--resume", "one"]);
    assert!(stderr(&found).contains("2 runs found, none is missing"), "{}", stderr(&found));
    let refused = run_in(folder.path(), &["predict", "status-csma", "--run", "1", "-n", "3"]);
    check_code(&refused, 2);
}
