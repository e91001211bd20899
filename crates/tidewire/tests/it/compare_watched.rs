//! `compare` of a prediction with watched traffic: each change of the traffic is found in its interval.

use crate::cyclic::write;
use crate::schemas::{check, schema};
use crate::{check_code, records, run_in, stderr, stdout};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// PROFINET every millisecond, for a second: the time of frame `n`, or none if it is lost.
fn frames(at_us: impl Fn(u32) -> Option<u32>) -> Vec<(u32, Vec<u8>)> {
    (0..1_000).filter_map(|n| Some((at_us(n)?, frame(n)))).collect()
}

/// Frame `n` of a stream of PROFINET with a period of a millisecond.
pub(crate) fn frame(n: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x92];
    frame.extend([0x80, 1]);
    frame.extend([0; 40]);
    // The counter has units of 31.25 us; then come DataStatus and TransferStatus.
    frame.extend(((n * 32) as u16).to_be_bytes());
    frame.extend([0x35, 0]);
    frame
}

fn watched(folder: &Path, at_us: impl Fn(u32) -> Option<u32>) {
    write(&folder.join("seen.pcap"), frames(at_us));
}

/// Compares, and returns the record of the only stream and those of its intervals.
fn compare(folder: &Path, words: &[&str]) -> (Value, Vec<Value>) {
    let output = run_in(folder, &[&["compare"], words, &["--json"]].concat());
    check_code(&output, 0);
    let all = records(&output);
    assert_eq!(all[0]["type"], "interval-comparison", "{}", all[0]);
    assert_eq!(all.last().unwrap()["complete"], true);
    check(&all[..all.len() - 1], &schema("compare"));
    let of = |kind: &str| -> Vec<Value> {
        all.iter().filter(|record| record["type"] == kind).cloned().collect()
    };
    let [stream] = &of("compared-stream")[..] else { panic!("{}", stdout(&output)) };
    (stream.clone(), of("compared-interval"))
}

fn of<'a>(interval: &'a Value, quantity: &str) -> &'a Value {
    let values = interval["values"].as_array().unwrap();
    values.iter().find(|value| value["quantity"] == quantity).unwrap_or(&Value::Null)
}

/// A scenario of the regular traffic, in `plant.toml`.
fn plant() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    watched(folder.path(), |n| Some(n * 1_000));
    let watch = ["watch", "-q", "-r", "seen.pcap", "--write-scenario", "plant.toml"];
    check_code(&run_in(folder.path(), &watch), 0);
    folder
}

#[test]
fn traffic_as_predicted_is_within_in_each_interval() {
    let folder = plant();
    let (stream, intervals) = compare(folder.path(), &["plant.toml", "seen.pcap"]);
    assert_eq!((&stream["judged"], &stream["within"]), (&10.into(), &10.into()), "{stream}");
    assert_eq!((&stream["worst"], intervals.len()), (&Value::Null, 10));
    for interval in &intervals {
        assert_eq!(of(interval, "frames")["difference"], 0, "{interval}");
        assert_eq!(of(interval, "period")["watched"], 1_000_000, "{interval}");
    }
    let words = ["plant.toml", "seen.pcap", "--measure", "250 ms"];
    assert_eq!(compare(folder.path(), &words).1.len(), 4);
}

#[test]
fn a_lost_and_a_late_frame_are_found_in_their_intervals() {
    let folder = plant();
    // Frame 420 is lost, and frame 777 late by 400 us.
    watched(folder.path(), |n| (n != 420).then(|| n * 1_000 + if n == 777 { 400 } else { 0 }));
    let (stream, intervals) = compare(folder.path(), &["plant.toml", "seen.pcap"]);
    assert_eq!((&stream["judged"], &stream["within"]), (&10.into(), &8.into()), "{stream}");
    let lost = of(&intervals[4], "missing");
    assert_eq!(
        (&lost["watched"], &lost["difference"], &lost["within"]),
        (&1.into(), &1.into(), &false.into())
    );
    assert_eq!(of(&intervals[4], "frames")["difference"], -1);
    let late = of(&intervals[7], "late-max");
    assert_eq!((&late["predicted"], &late["watched"]), (&0.into(), &400_000.into()));
    assert_eq!(of(&intervals[6], "late-max")["watched"], 0, "the greatest of its own interval");
    assert_eq!(of(&intervals[8], "late-max")["watched"], 0, "not of an earlier one");
    // The share of a lost frame is one of the most predicted, which is none.
    assert_eq!(stream["worst"]["quantity"], "missing");
    assert_eq!(stream["worst"]["start_ns"], 7_400_000_000_u64);
    let text = run_in(folder.path(), &["compare", "plant.toml", "seen.pcap", "--each-interval"]);
    check_code(&text, 0);
    let text = stdout(&text);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for words in [
        "PROFINET RT 02:00:00:00:00:02 8001: 8 of 10 intervals within",
        "one run: all 10 are copies of it",
        "400 us at 700 ms",
        "furthest outside first",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn captures_records_and_run_folders_compare_alike() {
    let folder = plant();
    let folder = folder.path();
    let measure = ["--measure", "100 ms"];
    let predict =
        ["predict", "plant.toml", "-n", "1", "-o", "predicted", "--capture", "made.pcapng"];
    check_code(&run_in(folder, &predict), 0);
    watched(folder, |n| (n % 250 != 30).then_some(n * 1_000));
    check_code(
        &run_in(folder, &[&["watch", "-r", "seen.pcap", "-o", "watched"], &measure[..]].concat()),
        0,
    );
    let meter = run_in(folder, &[&["meter", "seen.pcap"], &measure[..]].concat());
    fs::write(folder.join("seen.ndjson"), stdout(&meter)).unwrap();
    let expected = compare(folder, &["plant.toml", "seen.pcap"]);
    assert_eq!(expected.0["within"], 6, "four frames are lost: {}", expected.0);
    for predicted in ["plant.toml", "predicted", "made.pcapng"] {
        for seen in ["seen.pcap", "watched", "seen.ndjson"] {
            assert_eq!(compare(folder, &[predicted, seen]), expected, "{predicted} {seen}");
        }
    }
    let other = ["compare", "plant.toml", "seen.ndjson", "--measure", "50 ms"];
    let output = run_in(folder, &other);
    check_code(&output, 2);
    assert!(
        stderr(&output).contains("has intervals of 100 ms, not of 50.0 ms"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_poller_is_found_by_its_stations() {
    let folder = tempfile::tempdir().unwrap();
    let captures = crate::examples::root().join("captures");
    let capture = captures.join("mms.pcapng").display().to_string();
    let watch = ["watch", "-q", "-r", &capture, "--write-scenario", "plant.toml"];
    check_code(&run_in(folder.path(), &watch), 0);
    let words = ["compare", "plant.toml", &capture, "-n", "2", "--json"];
    let output = run_in(folder.path(), &words);
    check_code(&output, 0);
    let all = records(&output);
    check(&all[..all.len() - 1], &schema("compare"));
    let streams: Vec<_> = all.iter().filter(|it| it["type"] == "compared-stream").collect();
    assert_eq!(streams.len(), 3, "{}", stdout(&output));
    // README: the device .13 is the slowest, with 146 ms; it comes first.
    assert_eq!(streams[0]["subject"]["server"], "10.0.0.13");
    assert_eq!(streams[0]["worst"]["quantity"], "response-max");
    assert!(streams[0]["worst"]["watched"].as_u64().unwrap() > 145_000_000, "{}", streams[0]);
    // The p99 of an interval is that of its own 20 responses: the first has none that is slow.
    let first = all.iter().find(|it| it["type"] == "compared-interval").unwrap();
    assert!(of(first, "response-p99")["watched"].as_u64().unwrap() < 10_000_000, "{first}");
}

#[test]
fn functions_are_matched_with_the_flows_that_poll_them() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = crate::examples::root().join("captures/gateway.pcap").display().to_string();
    let watch = ["watch", "-q", "-r", &gateway, "--write-scenario", "plant.toml"];
    check_code(&run_in(folder.path(), &watch), 0);
    let compared = |scenario: &str| {
        let output = run_in(folder.path(), &["compare", scenario, &gateway, "-n", "1", "--json"]);
        check_code(&output, 0);
        records(&output)
    };
    let all = compared("plant.toml");
    let head = &all[0];
    assert_eq!(
        (&head["only_predicted"], &head["only_watched"]),
        (&json!([]), &json!([])),
        "{head}"
    );
    let of_function = |unit: u32| {
        let mut of_all = all.iter().filter(|it| it["type"] == "compared-stream");
        of_all.find(|it| it["subject"]["unit"] == unit).unwrap().clone()
    };
    // Five requests in each interval of 5 s; unit 2 leaves two of them without a reply.
    for (unit, within) in [(1, 6), (2, 4), (3, 6)] {
        let compared = of_function(unit);
        let quantity = |name: &str| {
            let mut of_all = compared["quantities"].as_array().unwrap().iter();
            of_all.find(|it| it["quantity"] == name).cloned()
        };
        assert_eq!(quantity("requests").unwrap()["within"], 6, "{compared}");
        assert_eq!(quantity("responses").unwrap()["within"], within, "{compared}");
        // Of a function it is that of the same data, of a connection that of all requests.
        assert_eq!(quantity("period"), None);
    }
    assert_eq!(
        all[1..].iter().find(|it| it["type"] == "compared-stream").unwrap()["subject"]["unit"],
        2
    );
    let text = fs::read_to_string(folder.path().join("plant.toml")).unwrap();
    let (fewer, _) = text.rsplit_once("# Modbus").unwrap();
    fs::write(folder.path().join("fewer.toml"), fewer).unwrap();
    let head = &compared("fewer.toml")[0];
    let third = json!({"kind": "function", "protocol": "Modbus/TCP", "server": "10.0.0.20",
        "unit": 3, "function": 3});
    assert_eq!((&head["only_predicted"], &head["only_watched"]), (&json!([]), &json!([third])));
    // The connections of flows that start at one time are not told apart.
    let together = text.replace("start = \"300 ms\"", "start = \"0 s\"");
    fs::write(folder.path().join("together.toml"), together).unwrap();
    let output = run_in(folder.path(), &["compare", "together.toml", &gateway, "-n", "1"]);
    check_code(&output, 1);
    let error = stderr(&output);
    for words in ["10.0.0.5 polls 10.0.0.20", "Modbus/TCP 10.0.0.20 unit 1 function 3"] {
        assert!(error.contains(words), "{words}\n{error}");
    }
}

/// Message `n` of a writer group of UADP.
fn uadp(group: u8, n: u32) -> Vec<u8> {
    let head = [1, 0, 0x5E, 0, 0, 9, 2, 0, 0, 0, 0, 2, 0xB6, 0x2C];
    let [high, low] = (n as u16).to_be_bytes();
    let message = [0xB1, 0x21, 7, 0, 0x09, group, 0, low, high];
    [&head[..], &message, &[0; 60]].concat()
}

#[test]
fn streams_are_matched_with_the_test_load_in_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let frames = |lost: Option<(u8, u32)>| {
        let all = (0..1_000).flat_map(|n| [(1, n), (2, n)]);
        let all = all.filter(move |it| Some(*it) != lost);
        all.map(|(group, n)| (n * 1_000 + u32::from(group) * 300, uadp(group, n)))
    };
    let seen = folder.join("seen.pcap");
    write(&seen, frames(None));
    let watch = ["watch", "-q", "-r", "seen.pcap", "--write-scenario", "plant.toml"];
    check_code(&run_in(folder, &watch), 0);
    // Both have one publisher, one group of receivers, and the test load of one station.
    write(&seen, frames(Some((2, 420))));
    let compared = |predicted: &str| {
        let output = run_in(folder, &["compare", predicted, "seen.pcap", "-n", "1", "--json"]);
        check_code(&output, 0);
        records(&output)
    };
    let all = compared("plant.toml");
    let only = json!([all[0]["only_predicted"], all[0]["only_watched"]]);
    assert_eq!(only, json!([[], []]), "{}", all[0]);
    let streams: Vec<_> = all.iter().filter(|it| it["type"] == "compared-stream").collect();
    let outcome = |of: &&Value| {
        let name = of["subject"]["name"].as_str().unwrap().to_owned();
        (name, of["judged"].as_u64().unwrap(), of["within"].as_u64().unwrap())
    };
    let outcomes: Vec<_> = streams.iter().map(outcome).collect();
    assert_eq!(outcomes, [("7/2/0".to_owned(), 10, 9), ("7/1/0".to_owned(), 10, 10)]);
    // A flow of another name stands for nothing.
    let text = fs::read_to_string(folder.join("plant.toml")).unwrap();
    fs::write(folder.join("other.toml"), text.replace("7/1/0", "7/3/0")).unwrap();
    let head = &compared("other.toml")[0];
    assert_eq!(head["only_watched"][0]["name"], "7/1/0", "{head}");
    assert_eq!(head["only_predicted"][0]["protocol"], "LOAD", "{head}");
}

#[test]
fn two_sides_without_a_stream_in_common_are_refused() {
    let folder = plant();
    let mms = crate::examples::root().join("captures/mms.pcapng").display().to_string();
    let output = run_in(folder.path(), &["compare", "plant.toml", &mms]);
    check_code(&output, 1);
    let error = stderr(&output);
    for words in
        ["no stream and no poller in common", "02:00:00:00:00:02 8001", "10.0.0.1 polls 10.0.0.11"]
    {
        assert!(error.contains(words), "{words}\n{error}");
    }
    let output = run_in(folder.path(), &["compare", "seen.pcap", "plant.toml"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("name the prediction first"), "{}", stderr(&output));
}
