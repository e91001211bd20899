//! Streams that `measure` sends between two namespaces, through a relay: what `watch` counts is what the
//! relay's log has.

use crate::relay::line;
use crate::wires::{Namespaces, result, serving, session};
use crate::{check_code, interrupt, records, run, stderr};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

const DELAY_NS: u64 = 5_000_000;
/// Most frames that are due within the delay.
const MOST_BEHIND: u64 = 25;
/// Two seconds of SV at 50 Hz, of GOOSE with two changes, and of cyclic data. A busy host may take longer.
const SCENARIO: &str = r#"
version = 1
title = "streams"
stop = { after = "6 s" }
replications = 1
medium = { kind = "switched", rate = "100 Mbit/s", length = "100 m" }
stations = { count = 2, prefix = "s" }
[[flow]]
name = "samples"
from = "s-1"
to = "s-2"
service = "sampled-values"
appid = 0x4001
vlan = 5
priority = 4
pattern = { kind = "cyclic", period = "250 us" }
start = "0 s"
messages = 8000
[[flow]]
name = "trip"
from = "s-1"
to = "s-2"
service = "goose"
appid = 0x0001
priority = 6
pattern = { kind = "retransmission", min-time = "4 ms", max-time = "100 ms" }
changes = ["610 ms", "1.203 s"]
size = "140 B"
start = "0 s"
messages = 28
[[flow]]
name = "io"
from = "s-1"
to = "s-2"
service = "cyclic"
frame-id = 0x8001
pattern = { kind = "cyclic", period = "10 ms" }
size = "60 B"
start = "0 s"
messages = 200
"#;

/// Stream: its record, and what the log has of its frames, which are known by their length.
struct Seen {
    record: Value,
    sent: u64,
    lost: u64,
    late: u64,
}

impl Seen {
    fn number(&self, name: &str) -> u64 {
        self.record[name].as_u64().unwrap_or_else(|| panic!("{name}: {}", self.record))
    }
}

/// Sends the streams through a relay with these faults; returns them by protocol.
fn through(fault: &str, more: &[&str], [left, right]: [&Namespaces; 2]) -> BTreeMap<String, Seen> {
    let folder = tempfile::tempdir().unwrap();
    let [log, scenario] = ["log.ndjson", "streams.toml"].map(|name| folder.path().join(name));
    fs::write(&scenario, SCENARIO).unwrap();
    let [log_path, path] = [&log, &scenario].map(|path| path.display().to_string());
    let options = ["--fault", fault, "--way", "there", "--log", &log_path];
    let mut relay = left.command(1, &[&["relay", "w0", "w1", "--json"], &options[..]].concat());
    let mut relay = relay.stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(relay.stdout.take().unwrap()).lines();
    assert!(told.next().unwrap().unwrap().contains("relaying"));
    let mut watch = right.command(0, &["watch", "-i", "w0", "--json"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stderr.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("listening on ")));

    let serve = right.command(0, &["serve", "-i", "w0", "-n", "1", "--json"]);
    let (child, lines, station) = serving(serve);
    let measure = ["measure", &path, "-i", "w0", "--to", &station, "--no-save", "--json"];
    let output = left.command(0, &[&measure, more].concat()).output().unwrap();
    check_code(&output, 0);
    let is_said = stderr(&output).contains("streams go to the peer alone, not to their groups");
    assert_eq!(is_said, more.is_empty(), "{}", stderr(&output));
    let served = session(child, lines);
    interrupt(watch.id());
    let watched = watch.wait_with_output().unwrap();
    check_code(&watched, 130);
    interrupt(relay.id());
    relay.wait().unwrap();

    let log = fs::read_to_string(log).unwrap();
    let log: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |action: &str, octets: u64| {
        let is = |of: &&Value| of["action"] == action && of["octets"] == octets;
        log.iter().filter(is).count() as u64
    };
    // 14 octets of MAC, 4 of a tag, and the data.
    let kinds = [("SV", 123, 8_000), ("GOOSE", 158, 28), ("PROFINET RT", 74, 200)];
    let streams = records(&watched);
    let seen: BTreeMap<String, Seen> = kinds
        .into_iter()
        .map(|(protocol, octets, sent)| {
            let is = |record: &&Value| record["protocol"] == protocol;
            let record = streams.iter().find(is).unwrap_or_else(|| panic!("no {protocol}")).clone();
            // Stations that did not agree get no frame unless the user wants it.
            let is_to_peer = record["destination"] == station.as_str();
            assert_eq!(is_to_peer, more.is_empty() || protocol == "PROFINET RT", "{record}");
            assert_eq!(record["longest_octets"], octets);
            let (lost, late) = (count("lost", octets), count("late", octets));
            (protocol.to_owned(), Seen { record, sent, lost, late })
        })
        .collect();
    let arrived: u64 = seen.values().map(|it| it.sent - it.lost).sum();
    let sample = result(&output);
    assert_eq!(sample["sent"], 8_228);
    assert_eq!(sample["delivered"], served["delivered"]);
    // A frame that was held back at the end comes behind the peer's final counts.
    let delivered = sample["delivered"].as_u64().unwrap();
    let late = seen.values().any(|it| it.late > 0);
    let behind = if late { MOST_BEHIND } else { 0 };
    assert!((arrived - behind..=arrived).contains(&delivered), "{delivered} of {arrived}");
    seen
}

/// Compares the counts of a stream with those of the log. Nothing tells of frames that are lost before the
/// first one or behind the last one, nor of GOOSE behind the last one of a state.
fn check(seen: &Seen) {
    assert_eq!(seen.number("frames"), seen.sent - seen.lost, "{}", seen.record);
    let missing = seen.number("missing");
    assert!(missing <= seen.lost && missing + 3 >= seen.lost, "{missing} of {}", seen.lost);
    assert_eq!((seen.number("repeated"), seen.number("restarts")), (0, 0));
}

#[test]
fn watch_counts_what_a_relay_lost_and_held_back() {
    let Some((left, right)) = line() else { return };
    let quiet = through("loss=1%", &[], [&left, &right]);
    quiet.values().for_each(check);
    assert!(quiet["SV"].lost > 40, "1 % of 8,000");
    assert_eq!(quiet["SV"].number("out_of_order"), 0);
    assert_eq!(quiet["GOOSE"].number("state_changes") + quiet["GOOSE"].number("missed_states"), 2);

    let delayed = through("loss=1%,reorder=5%,reorder-delay=5ms", &["--groups"], [&left, &right]);
    delayed.values().for_each(check);
    // A frame of SV that is held back for 5 ms comes behind 20 others; the last ones do not.
    let (late, behind) = (delayed["SV"].late, delayed["SV"].number("out_of_order"));
    let least = late.saturating_sub(MOST_BEHIND);
    assert!((least..=late).contains(&behind) && behind > 200, "{behind} of {late}");
    let [noise, found] = [&quiet, &delayed].map(|of| of["PROFINET RT"].number("late_max_ns"));
    println!("seen: {noise} ns late without delays, {found} ns with 5 ms, of {DELAY_NS}");
    // The frame before, or the one that is late, can be late by the noise of this host.
    assert!(found + noise >= DELAY_NS, "{found} {noise}");
    assert!(delayed["PROFINET RT"].late > 0);
}

#[test]
fn measure_sends_streams_with_the_jitter_of_their_table() {
    let Some(namespaces) = Namespaces::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [scenario, capture] = ["streams.toml", "seen.pcapng"].map(|name| folder.path().join(name));
    let [path, capture] = [scenario.display().to_string(), capture.display().to_string()];
    // The lines that --write-scenario writes: half of the frames of io are early by 2 ms on average.
    let text = SCENARIO
        .replace("appid = 0x4001\n", "appid = 0x4001\njitter = [\"0 % -9 us\", \"100 % 20 us\"]\n")
        .replace(
            "frame-id = 0x8001\n",
            "frame-id = 0x8001\njitter = [\"0 % -4 ms\", \"100 % 4 ms\"]\n",
        );
    fs::write(scenario, text).unwrap();
    let serve = ["serve", "-i", "w0", "-n", "1", "--json", "--capture", &capture];
    let (child, lines, station) = serving(namespaces.command(1, &serve));
    let measure = ["measure", &path, "-i", "w0", "--to", &station, "--no-save", "--json"];
    let output = namespaces.command(0, &measure).output().unwrap();
    check_code(&output, 0);
    session(child, lines);
    assert_eq!(result(&output)["sent"], 8_228);
    let watched = run(&["watch", "-r", &capture, "--json"]);
    check_code(&watched, 0);
    let streams = records(&watched);
    let stream = |protocol: &str| {
        let is = |record: &&Value| record["protocol"] == protocol;
        streams.iter().find(is).unwrap_or_else(|| panic!("no {protocol}")).clone()
    };
    assert_eq!((&stream("SV")["frames"], &stream("SV")["missing"]), (&8_000.into(), &0.into()));
    let io = stream("PROFINET RT");
    assert_eq!((&io["frames"], &io["missing"]), (&200.into(), &0.into()));
    // The noise of this host adds to the table, and a median of it is far less than a millisecond.
    let [early_ns, late_ns] =
        ["early_p50_ns", "late_p50_ns"].map(|name| io[name].as_u64().unwrap());
    println!("seen: medians of {early_ns} ns early and {late_ns} ns late");
    assert!(early_ns > 1_000_000 && late_ns > 1_000_000, "{io}");
}
