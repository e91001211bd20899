//! `advise` tells settings with their evidence, the same each time, and scenarios that run.

use crate::{check_code, command, records, run, run_in, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Stdio;

/// A transfer of 40 messages over a wire that loses one frame in fifty.
const LOSSY: &str = r#"version = 1
title = "lossy"
stop = { after = "10 s" }
medium = { kind = "ideal", rate = "10 Mbit/s", delay = "2 ms" }
faults = { loss = "2 %" }
transport = { t1 = "500 ms", window = 1 }
stations = { count = 2, prefix = "s" }

[[flow]]
name = "transfer"
from = "s-1"
to = "s-2"
service = "class-4"
pattern = { kind = "bulk", total = "40 kB" }
size = "1000 B"
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("lossy.toml"), LOSSY).unwrap();
    folder
}

fn throughput(folder: &Path, file: &str) -> f64 {
    let output = run_in(folder, &["predict", file, "--json", "--no-save", "--seed", "9"]);
    check_code(&output, 0);
    let records = records(&output);
    let report = records.iter().find(|record| record["type"] == "report").unwrap();
    let quantities = report["points"][0]["flows"][0]["quantities"].as_array().unwrap();
    let found = quantities.iter().find(|found| found["name"] == "throughput").unwrap();
    found["mean"].as_f64().unwrap()
}

#[test]
fn what_is_written_is_a_scenario_that_does_better() {
    let folder = folder();
    let arguments = ["advise", "lossy.toml", "--write", "better.toml"];
    let output = run_in(folder.path(), &arguments);
    // Decided or not, there is advice.
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", stderr(&output));
    let (own, advised) =
        (throughput(folder.path(), "lossy.toml"), throughput(folder.path(), "better.toml"));
    // One TPDU of 1,024 octets per 4 ms of way at the most: 2 Mbit/s, and half a second a loss.
    assert!(own < 2e6 && advised > 2.0 * own, "{own} {advised}");
    let text = stdout(&output);
    let policies = ["credit", "acknowledge", "retransmit", "concatenate"];
    for knob in ["checksum", "t1", "window", "tpdu"].into_iter().chain(policies) {
        assert!(text.lines().any(|line| line.trim_start().starts_with(knob)), "{knob}: {text}");
    }
    assert!(text.contains("repeat: tidewire advise lossy.toml\n"), "{text}");
    // It is not written over.
    check_code(&run_in(folder.path(), &arguments), 1);
}

#[test]
fn advice_follows_from_the_seed_and_needs_enough_budget() {
    let folder = folder();
    let advise = || {
        let output = run_in(folder.path(), &["advise", "lossy.toml", "--json", "--budget", "30"]);
        check_code(&output, 4);
        records(&output)
    };
    let first = advise();
    assert_eq!(first, advise());
    assert_eq!(first.len(), 2);
    let (advice, end) = (&first[0], &first[1]);
    assert_eq!((&advice["type"], &end["type"]), (&"advice".into(), &"end".into()));
    assert_eq!((advice["runs"].as_u64(), &advice["ended"]), (Some(30), &"budget".into()));
    assert_eq!(end["complete"], false);
    assert_eq!(advice["objective"], "throughput");
}

#[test]
fn the_checksum_stays_where_damage_passes_the_fcs() {
    let folder = folder();
    let text = LOSSY.replace("loss = \"2 %\"", "damage = \"2 %\"");
    fs::write(folder.path().join("lossy.toml"), text).unwrap();
    let output = run_in(folder.path(), &["advise", "lossy.toml", "--json", "--budget", "60"]);
    let advice = &records(&output)[0];
    let knobs = advice["knobs"].as_array().unwrap();
    let checksum = knobs.iter().find(|knob| knob["knob"] == "checksum").unwrap();
    assert_eq!((&advice["damaging"], &checksum["advised"]), (&true.into(), &"true".into()));
    assert_eq!(checksum["tried"].as_array().unwrap().len(), 1, "without it nothing was tried");
}

#[test]
fn a_live_search_in_this_process_keeps_to_its_budget() {
    let folder = folder();
    let text = LOSSY.replace("loss = \"2 %\"", "loss = \"0 %\"").replace("40 kB", "5 kB");
    fs::write(folder.path().join("lossy.toml"), text).unwrap();
    let arguments = ["advise", "lossy.toml", "--json", "--live", "--budget", "6"];
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 4);
    let advice = &records(&output)[0];
    assert_eq!((advice["runs"].as_u64(), &advice["ended"]), (Some(6), &"budget".into()));
    assert!(stderr(&output).contains("within this process"), "{}", stderr(&output));
}

#[test]
fn what_a_peer_decides_is_not_tried_against_it_and_said() {
    let folder = folder();
    let text = LOSSY.replace("loss = \"2 %\"", "loss = \"0 %\"").replace("40 kB", "5 kB");
    fs::write(folder.path().join("lossy.toml"), text).unwrap();
    let free = || UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (here, there) = (free(), free());
    // One session for each run.
    let mut serve = command(&["serve", "--udp", &there, "-n", "6", "-t", "60 s"]);
    let mut serve = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let port = ["--udp", &here, "--udp-peer", &there, "--live", "--budget", "6"];
    let output = run_in(folder.path(), &[&["advise", "lossy.toml", "--json"], &port[..]].concat());
    check_code(&output, 4);
    assert!(serve.wait().unwrap().success());
    let advice = &records(&output)[0];
    assert_eq!(advice["runs"].as_u64(), Some(6));
    let knobs =
        advice["knobs"].as_array().unwrap().iter().map(|knob| knob["knob"].as_str().unwrap());
    let tried: Vec<&str> = knobs.collect();
    assert_eq!(tried, ["checksum", "t1", "tpdu", "retransmit", "concatenate"]);
    let not_tried: Vec<Value> = ["window", "credit", "acknowledge"].map(Value::from).to_vec();
    assert_eq!(advice["not_tried"], Value::from(not_tried));
}

#[test]
fn what_cannot_be_advised_on_ends_with_2_and_says_why() {
    let check = |arguments: &[&str], expected: &str| {
        let output = run(&[&["advise"], arguments].concat());
        check_code(&output, 2);
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    };
    check(&["bulkk"], "did you mean bulk?");
    check(&["status-csma"], "fix: --point N, from 1 to 3");
    check(&["status-csma", "--point", "4"], "there is no point 4");
    check(&["bulk", "--objective", "misses"], "no flow of the scenario has a deadline");
    check(&["status-short", "--objective", "throughput"], "as fast as it can");
    check(&["bulk", "--budget", "0"], "0 is not in 1..=1000000");
    check(&["bulk", "-n", "1"], "1 is not in 2..=1000");
    check(&["bulk", "--time", "5"], "the unit is missing");
    check(&["bulk", "-i", "lo"], "fix: --live");
    check(&["bulk", "--live", "--udp", "127.0.0.1:0"], "--to is missing");
    check(&["bulk", "--live", "--over", "iso-tcp://127.0.0.1"], "not class 4");
    let peer = ["--live", "--to", "02:00:00:00:00:01", "-i", "lo"];
    check(&[&["status-short"][..], &peer].concat(), "--objective throughput");
}
