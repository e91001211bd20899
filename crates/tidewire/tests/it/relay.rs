//! `relay` between `measure` and `serve`: what its log says befell frames is what both ends, and the
//! meter on either side, count.

use crate::wires::{Namespaces, must, result, serving, session};
use crate::{check_code, interrupt, records, run};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

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
fn the_log_of_a_relay_the_meters_on_both_sides_and_the_stations_agree() {
    let Some((left, right)) = line() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [log, sent, received] =
        ["deeds.ndjson", "sent.pcapng", "received.pcapng"].map(|name| folder.path().join(name));
    let [log_path, sent_path, received_path] =
        [&log, &sent, &received].map(|path| path.display().to_string());
    let fault = "loss=2%,duplicate=1%";
    let options = ["--fault", fault, "--way", "there", "--only", "DT", "--log", &log_path];
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
    let deeds: Vec<Value> = fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let logged = |deed: &str| deeds.iter().filter(|record| record["deed"] == deed).count() as u64;
    let (lost, copied) = (logged("lost"), logged("copied"));
    assert_eq!((&there["lost"], &there["duplicated"]), (&lost.into(), &copied.into()));
    // Other TPDUs may come before a DT in its frame.
    let has_dt = |deed: &Value| {
        let mut tpdus = deed["tpdus"].as_array().unwrap().iter();
        tpdus.any(|tpdu| tpdu.as_str().unwrap().starts_with("TP DT"))
    };
    assert!(deeds.iter().all(has_dt));

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

#[test]
fn a_relay_says_what_is_wrong_with_its_options() {
    let cases = [
        (&["relay", "a", "b", "--only", "dt"][..], 2),
        (&["relay", "lo", "lo", "--fault", "loss=1%", "--only", "xy"], 2),
        (&["relay", "a", "b", "--fault", "loss=2"], 2),
        (&["relay", "lo", "lo"], 1),
    ];
    for (arguments, code) in cases {
        check_code(&run(arguments), code);
    }
}
