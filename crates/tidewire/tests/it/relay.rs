//! `relay` between `measure` and `serve`: what its log says befell frames is what both ends, and the
//! meter on either side, count.

use crate::wires::{Namespaces, must, result, serving, session};
use crate::{check_code, interrupt, records, run, run_in, stderr};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::Stdio;
use wire::capture::Capture;

/// DTs in a capture, and how many of them the meter had seen before.
fn metered(capture: &Path) -> (u64, u64) {
    let path = capture.display().to_string();
    let output = run(&["watch", "-r", &path, "--measure", "60 s", "--json"]);
    check_code(&output, 0);
    let records = records(&output);
    let total = &records.iter().find(|record| record["type"] == "total").unwrap()["measures"];
    let count = |name: &str| total[name].as_u64().unwrap();
    (count("dt_tpdus"), count("dt_retransmissions"))
}

/// The stations' namespaces: between them a third one with an end of each of their wires.
pub(crate) fn line() -> Option<(Namespaces, Namespaces)> {
    let (left, right) = (Namespaces::make()?, Namespaces::make()?);
    let (here, there) = (&left.names[1], &right.names[1]);
    must(&["-n", there, "link", "set", "w0", "down"]);
    must(&["-n", there, "link", "set", "w0", "name", "w1", "netns", here]);
    must(&["-n", here, "link", "set", "w1", "addrgenmode", "none"]);
    must(&["-n", here, "link", "set", "w1", "up"]);
    Some((left, right))
}

#[test]
fn the_log_of_a_relay_agrees_with_meters_and_stations() {
    let Some((left, right)) = line() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [log, sent, received] =
        ["actions.ndjson", "sent.pcapng", "received.pcapng"].map(|name| folder.path().join(name));
    let [log_path, sent_path, received_path] =
        [&log, &sent, &received].map(|path| path.display().to_string());
    let fault = "loss=2%,duplicate=1%";
    let options = ["--fault", fault, "--way", "there", "--tpdus", "DT", "--log", &log_path];
    let mut relay = left.command(1, &[&["relay", "w0", "w1", "--json"], &options[..]].concat());
    let mut relay = relay.stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(relay.stdout.take().unwrap()).lines();
    assert!(told.next().unwrap().unwrap().contains("relaying"));

    let serve = ["serve", "-i", "w0", "-n", "1", "--json", "--capture", &received_path];
    let (child, lines, station) = serving(right.command(0, &serve));
    let mut measure = left.command(0, &["measure", "-i", "w0", "--to", &station, "--json"]);
    measure.args(["--load", "bulk", "--size", "1000", "--bytes", "2MB", "--no-save"]);
    let output = measure.args(["--capture", &sent_path]).output().unwrap();
    check_code(&output, 0);
    let (measured, served) = (result(&output), session(child, lines));
    interrupt(relay.id());
    assert_eq!(relay.wait().unwrap().code(), Some(130));
    assert_eq!((&measured["exact"], &measured["delivered"]), (&true.into(), &2_000.into()));

    let told: Vec<Value> = told.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    let there = &told.iter().find(|record| record["way"] == "there").unwrap()["faults"];
    let actions: Vec<Value> = fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let logged =
        |action: &str| actions.iter().filter(|record| record["action"] == action).count() as u64;
    let (lost, copied) = (logged("lost"), logged("copied"));
    assert_eq!((&there["lost"], &there["duplicated"]), (&lost.into(), &copied.into()));
    // Other TPDUs may come before a DT in its frame.
    let has_dt = |action: &Value| {
        let mut tpdus = action["tpdus"].as_array().unwrap().iter();
        tpdus.any(|tpdu| tpdu.as_str().unwrap().starts_with("TP DT"))
    };
    assert!(actions.iter().all(has_dt));

    let (dt_sent, again) = metered(&sent);
    let (dt_received, seen_twice) = metered(&received);
    assert_eq!(there["frames"], dt_sent, "every DT took the path");
    assert_eq!(dt_received, dt_sent - lost + copied);
    assert_eq!(again, dt_sent - 2_000, "the sender sent 2,000 TSDUs of one DT each");
    // A copy can come after the session's end, when the station takes no load: of all others it counts
    // each, since the session ends once all are acknowledged.
    let taken = served["transport"]["received"]["dt"].as_u64().unwrap();
    assert!((dt_received - copied..=dt_received).contains(&taken), "{taken} of {dt_received}");
    assert_eq!(seen_twice, dt_received - 2_000);
    println!("seen: {dt_sent} DTs sent, {lost} lost, {copied} copied, {again} sent again");
}

/// Frames of a capture from stations of the kind that `is_wanted` tells by their source address.
fn frames(capture: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let mut capture = Capture::open(std::io::Cursor::new(capture.to_vec())).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = capture.next().unwrap() {
        if is_wanted(&record.octets[6..12]) {
            frames.push(record.octets.to_vec());
        }
    }
    frames
}

/// Runs a measurement across a relay with this option; what the receiver captured, and what the relay wrote to
/// standard output.
fn measured_across(relay_options: &[&str], folder: &Path) -> Option<(Vec<u8>, Vec<u8>)> {
    let (left, right) = line()?;
    let received = folder.join("received.pcapng");
    let mut relay = left.command(1, &[&["relay", "w0", "w1"], relay_options].concat());
    let pipes = relay.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut relay = pipes.spawn().unwrap();
    let mut out = relay.stdout.take().unwrap();
    // The first line, or the head of the capture: the relay is there.
    let mut written = vec![0; 12];
    out.read_exact(&mut written).unwrap();
    let rest = std::thread::spawn(move || {
        let mut rest = Vec::new();
        out.read_to_end(&mut rest).unwrap();
        rest
    });
    let received_path = received.display().to_string();
    let serve = ["serve", "-i", "w0", "-n", "1", "--json", "--capture", &received_path];
    let (child, lines, station) = serving(right.command(0, &serve));
    let mut measure = left.command(0, &["measure", "-i", "w0", "--to", &station, "--json"]);
    measure.args(["--load", "bulk", "--size", "1000", "--bytes", "100kB", "--no-save"]);
    check_code(&measure.output().unwrap(), 0);
    session(child, lines);
    interrupt(relay.id());
    assert_eq!(relay.wait().unwrap().code(), Some(130));
    written.extend(rest.join().unwrap());
    Some((fs::read(received).unwrap(), written))
}

/// Holds a relay's capture against the receiver's: the frames that crossed, in their order, and what `watch` counts.
fn check_capture(relayed: &[u8], received: &[u8], folder: &Path) {
    // Who sent the first frame that was received is the caller.
    let mut first = Capture::open(std::io::Cursor::new(received.to_vec())).unwrap();
    let caller = first.next().unwrap().unwrap().octets[6..12].to_vec();
    let [there, came] = [relayed, received].map(|it| frames(it, |from| from == caller));
    assert!(came.len() > 100, "{} frames", came.len());
    // The last may be under way when the session ends.
    assert!(there.starts_with(&came), "{} and {}", there.len(), came.len());
    let back = frames(relayed, |from| from != caller);
    assert!(back.len() > 10, "{} frames back", back.len());
    fs::write(folder.join("relayed.pcapng"), relayed).unwrap();
    let (dts, again) = metered(&folder.join("relayed.pcapng"));
    // A busy host may be slower than T1, so that a DT is sent again.
    assert_eq!(dts - again, 100, "100 kB in TSDUs of 1,000 octets");
}

#[test]
fn a_relay_writes_what_crosses_to_a_capture_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let Some((received, _)) = measured_across(&["--capture", "seen.pcapng"], folder.path()) else {
        return;
    };
    let relayed = fs::read(folder.path().join("seen.pcapng")).unwrap();
    check_capture(&relayed, &received, folder.path());
}

#[test]
fn a_relay_streams_what_crosses_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let Some((received, relayed)) = measured_across(&["--capture", "-"], folder.path()) else {
        return;
    };
    check_capture(&relayed, &received, folder.path());
}

#[test]
fn a_relay_refuses_one_file_for_its_log_and_its_capture() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a"), "old").unwrap();
    fs::hard_link(at("a"), at("hard")).unwrap();
    std::os::unix::fs::symlink("a", at("soft")).unwrap();
    for (log, capture) in [("a", "a"), ("a", "hard"), ("soft", "a"), ("new", "./new")] {
        let files = ["--log", log, "--capture", capture];
        let arguments = [&["relay", "lo", "lo", "--fault", "loss=1%"], &files[..]].concat();
        let output = run_in(folder.path(), &arguments);
        check_code(&output, 2);
        let said = stderr(&output);
        assert!(said.contains("--log and --capture both write"), "{said}");
    }
    assert_eq!(fs::read(at("a")).unwrap(), b"old");
    assert!(!at("new").exists());
}

#[test]
fn a_relay_says_what_is_wrong_with_its_options() {
    let cases = [
        (&["relay", "a", "b", "--tpdus", "dt"][..], 2),
        (&["relay", "lo", "lo", "--fault", "loss=1%", "--tpdus", "xy"], 2),
        (&["relay", "a", "b", "--fault", "loss=2"], 2),
        (&["relay", "lo", "lo"], 1),
    ];
    for (arguments, code) in cases {
        check_code(&run(arguments), code);
    }
}
