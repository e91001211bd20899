//! `watch --require` and `--events`: requirements on traffic, and events as they happen.

use crate::watch::{capture, data};
use crate::{check_code, command, records, run_in, stderr, stdout};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::process::{Output, Stdio};

const SECOND: u64 = 1_000_000_000;

/// Meters DTs of these numbers, one a second, with intervals of 10 s.
fn watch(numbers: &[u8], more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let frames: Vec<(u64, Vec<u8>)> =
        numbers.iter().zip(0..).map(|(number, at)| (at * SECOND, data(*number))).collect();
    fs::write(folder.path().join("a.pcap"), capture(&frames)).unwrap();
    let mut arguments = vec!["watch", "-r", "a.pcap"];
    arguments.extend(more);
    run_in(folder.path(), &arguments)
}

/// Checks the exit code of a requirement on a capture, the numbers of subjects that passed, failed and
/// were undecided, and the first finding; an empty one stands for none.
pub(crate) fn check_outcome(
    capture: &str,
    required: &str,
    code: i32,
    counts: [u64; 3],
    first: &str,
) {
    let output = crate::run(&["watch", "--json", "-r", capture, "--require", required]);
    check_code(&output, code);
    let found = records(&output).into_iter().find(|it| it["type"] == "requirement").unwrap();
    let found_counts = ["passed", "failed", "undecided"].map(|name| found[name].as_u64().unwrap());
    assert_eq!(found_counts, counts, "{required}");
    let finding = found["findings"].get(0).map_or("", |it| it["of"].as_str().unwrap());
    assert_eq!(finding, first, "{required}");
}

#[test]
fn requirements_end_watch_as_they_end_predict() {
    let check = |requirement: &str, code| {
        check_code(&watch(&[0, 1, 2, 2], &["--require", requirement]), code);
    };
    check("dt_retransmissions == 1", 0);
    check("dt_retransmissions == 0", 3);
    check("dt_tpdus(02:00:00:00:00:01) >= 4", 0);
    check("dt_tpdus(02:00:00:00:00:02) >= 4", 3);
    // One of four: 0.6 % to 81 %, by 1 - 0.975^(1/4) and what mirrors it.
    check("R_RD(host) < 10 %", 4);
    check("R_RD(connection) < 85 %", 0);
    check("dt_tpdus(02:00:00:00:00:09) >= 1", 4);
    // 4 frames of 128 octets in 10 s: 409.6 bit/s of 10 Mbit/s.
    check("U_C < 1e-4", 0);
    check("U_C > 1e-4", 3);
    check("no_such_thing == 0", 2);
}

#[test]
fn each_interval_is_judged_and_those_that_fail_are_told() {
    // Nine and eleven DTs in intervals of 10 s: the second has the last of them.
    let numbers: Vec<u8> = (0..15).collect();
    let output = watch(&numbers, &["--require", "dt_tpdus(interval) >= 6", "--json"]);
    check_code(&output, 3);
    let records = records(&output);
    let found = records.iter().find(|record| record["type"] == "requirement").unwrap();
    let counts = json!([1, 1, 0]);
    assert_eq!(json!([found["passed"], found["failed"], found["undecided"]]), counts);
    let finding = &found["findings"][0];
    assert_eq!((&finding["of"], &finding["found"]), (&json!("interval 1"), &json!(5.0)));
    assert_eq!(records.last().unwrap()["type"], "end");
    let text = stdout(&watch(&numbers, &["--require", "dt_tpdus(interval) >= 6"]));
    assert!(text.contains("dt_tpdus(interval) >= 6  interval 1"), "{text}");
    // The verdict ends it.
    assert!(text.trim_end().ends_with("verdict  FAIL (1 of 1)"), "{text}");
}

#[test]
fn of_a_capture_that_breaks_off_little_is_decided() {
    let octets = capture(&[(0, data(0)), (SECOND, data(1)), (2 * SECOND, data(2))]);
    let broken = |requirement: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.pcap"), &octets[..octets.len() - 1]).unwrap();
        let arguments = ["watch", "-r", "a.pcap", "--json", "--require", requirement];
        let output = run_in(folder.path(), &arguments);
        // The broken file is what it ends with.
        check_code(&output, 1);
        let found = records(&output).into_iter().find(|it| it["type"] == "requirement").unwrap();
        found["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(broken("dt_tpdus <= 1"), "fail");
    assert_eq!(broken("dt_tpdus <= 2"), "undecided");
    assert_eq!(broken("dt_tpdus >= 2"), "pass");
    assert_eq!(broken("dt_retransmissions == 0"), "undecided");
}

#[test]
fn what_is_no_requirement_is_told_with_what_would_be_one() {
    let output = watch(&[0], &["--require", "dt_retransmision < 1"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("did you mean `dt_retransmissions`?"), "{}", stderr(&output));
}

#[test]
fn events_are_written_as_they_happen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.ndjson");
    let mut child = command(&["watch", "-r", "-", "--json", "--events", path.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut bad = data(3);
    // The length indicator, behind MAC, LLC and the inactive network layer.
    bad[17 + 1] = 255;
    let mut foreign = data(0);
    foreign[14] = 0x42;
    let frames = [(0, data(0)), (1, data(0)), (2, foreign), (3, bad), (30 * SECOND, data(1))];
    let stdin = child.stdin.as_mut().unwrap();
    stdin.write_all(&capture(&frames)).unwrap();
    stdin.flush().unwrap();
    // The pipe is still open when the record and the events of a complete interval come.
    let lines = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(lines).map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with(r#"{"type":"interval","index":0,"#)));
    let text = fs::read_to_string(&path).unwrap();
    drop(child.stdin.take());
    // A pipe without a reader would block it.
    lines.for_each(drop);
    assert!(child.wait().unwrap().success());
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<Value> = events
        .iter()
        .map(|it| json!([it["frame"], it["event"], it["tpdu"], it["oddity"], it["offset"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!([1, "oddity", null, "transport: TSDU not wholly seen", null]),
            json!([1, "oddity", null, "transport: connection found under way", null]),
            json!([2, "retransmission", "DT", null, null]),
            json!([4, "oddity", null, "malformed: length indicator", 18]),
        ]
    );
    assert_eq!((&events[2]["from"], &events[2]["at_ns"]), (&json!("02:00:00:00:00:01"), &json!(1)));
}

#[test]
fn a_requirement_that_fails_for_good_is_reported_before_the_end() {
    let frames: Vec<(u64, Vec<u8>)> =
        [0, 1, 1, 2].into_iter().zip(0..).map(|(number, at)| (at * SECOND, data(number))).collect();
    let later = (25 * SECOND, data(3));
    let requirements =
        ["dt_retransmissions == 0", "dt_tpdus(host) <= 3", "dt_tpdus(interval) >= 2"];
    let unmet = ["dt_retransmissions < 2", "R_RD < 1e-6", "dt_tpdus >= 9"];
    let mut arguments = vec!["watch", "-r", "-", "--json", "-q"];
    arguments.extend(requirements.iter().chain(&unmet).flat_map(|it| ["--require", it]));
    let mut child = command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.as_mut().unwrap();
    stdin.write_all(&capture(&[&frames[..], std::slice::from_ref(&later)].concat())).unwrap();
    stdin.flush().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let interval = r#"{"type":"interval","index":0,"#;
    assert!(lines.by_ref().any(|line| line.unwrap().starts_with(interval)));
    // The pipe is still open.
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let text = stderr(&output);
    let reported: Vec<&str> =
        text.lines().filter(|line| line.starts_with("requirement failed by ")).collect();
    let first = "requirement failed by 1970-01-01T00:00:10Z";
    let end = "; more frames cannot change that";
    // Hosts are judged as they are when the frame behind the interval has come.
    let later = first.replace("00:10Z", "00:25Z");
    assert_eq!(
        reported[..2],
        [
            format!("{first}: dt_retransmissions == 0: found 1{end}"),
            format!("{later}: dt_tpdus(host) <= 3: 02:00:00:00:00:01: found 5{end}"),
        ]
    );
    // The second interval has no DT; the others wait for the end.
    assert_eq!(reported.len(), 3, "{text}");
    let third = "1970-01-01T00:00:20Z: dt_tpdus(interval) >= 2: interval 1: found 0";
    assert!(reported[2].contains(third), "{text}");
    // A capture that is there already needs no early word.
    let output = watch(&[0, 1, 1, 2], &["--require", "dt_retransmissions == 0"]);
    assert!(!stderr(&output).contains("requirement failed by"), "{}", stderr(&output));
}

#[test]
fn the_first_interval_that_fails_ends_the_run_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let seconds = [(0, 0), (1, 1), (2, 1), (12, 2), (25, 3), (35, 4)];
    let frames = seconds.map(|(second, number)| (second * SECOND, data(number)));
    fs::write(folder.path().join("a.pcap"), capture(&frames)).unwrap();
    let watch = |requirement: &str, more: &[&str]| {
        let words = ["watch", "-r", "a.pcap", "--json", "--require", requirement];
        run_in(folder.path(), &[&words[..], more].concat())
    };
    let dts_of = |output: &Output| {
        let records = records(output);
        assert_eq!(records.last().unwrap()["complete"], json!(true));
        records.iter().find(|it| it["type"] == "total").unwrap()["measures"]["dt_tpdus"].clone()
    };
    // DT 1 is retransmitted in the first 10 s; the frame at 12 s shows that they are over.
    let fast = ["--fail-fast", "--events", "e.ndjson"];
    let output = watch("dt_retransmissions == 0", &fast);
    check_code(&output, 3);
    assert_eq!(dts_of(&output), json!(4));
    assert!(stderr(&output).contains("ended by --fail-fast"), "{}", stderr(&output));
    let events = fs::read_to_string(folder.path().join("e.ndjson")).unwrap();
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    let failed = json!({
        "type": "event", "frame": 4, "at_ns": 10 * SECOND, "event": "requirement-failed",
        "requirement": "dt_retransmissions == 0", "of": null, "found": 1.0,
    });
    assert_eq!(last, failed);
    // Without the option, and with a requirement that holds, all frames are metered.
    let whole = watch("dt_retransmissions == 0", &[]);
    check_code(&whole, 3);
    assert_eq!(dts_of(&whole), json!(6));
    let held = watch("dt_retransmissions < 2", &fast);
    check_code(&held, 0);
    assert_eq!(dts_of(&held), json!(6));
}
