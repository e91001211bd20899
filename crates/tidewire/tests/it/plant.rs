//! `watch --write-scenario`: what was watched, simulated.

use crate::{check_code, records, run_in, stderr};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wire::capture::Capture;

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name)
}

fn write_scenario(folder: &Path, capture: &Path) -> String {
    let watch = ["watch", "-q", "-r", capture.to_str().unwrap(), "--write-scenario", "plant.toml"];
    check_code(&run_in(folder, &watch), 0);
    fs::read_to_string(folder.join("plant.toml")).unwrap()
}

/// Stream by its identity: frames that were sent, with those that were lost, length, tag, and period.
type Streams = BTreeMap<String, (u64, u64, String, Option<u64>)>;

/// The streams of a capture, by what `watch` tells of them.
fn streams(folder: &Path, capture: &Path) -> Streams {
    let output = run_in(folder, &["watch", "-r", capture.to_str().unwrap(), "--json"]);
    check_code(&output, 0);
    let all = records(&output).into_iter().filter(|record| record["type"] == "cyclic-stream");
    let stream = |of: Value| {
        let number = |name: &str| of[name].as_u64().unwrap();
        let identity = ["protocol", "source", "destination", "identifier", "name"];
        let identity: Vec<_> = identity.iter().map(|name| of[*name].to_string()).collect();
        let tag = format!("{} {}", of["priority"], of["vlan"]);
        let sent = number("frames") + number("missing");
        (identity.join(" "), (sent, number("longest_octets"), tag, of["period_ns"].as_u64()))
    };
    all.map(stream).collect()
}

/// Streams that are not the same: identity, frames, length and tag exactly, the period within 1 %. A
/// period is a median of gaps that jitter, and its writer may take their mean.
fn differences(one: &Streams, other: &Streams) -> Vec<String> {
    let near = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => one.abs_diff(other) <= one / 100,
        (one, other) => one == other,
    };
    let differs = |(name, found): &(&String, &(u64, u64, String, Option<u64>))| {
        other.get(*name).is_none_or(|it| {
            (found.0, found.1, &found.2) != (it.0, it.1, &it.2) || !near(found.3, it.3)
        })
    };
    let all = one.iter().filter(differs);
    let mut all: Vec<_> = all.map(|(name, found)| format!("{name} {found:?}")).collect();
    all.extend(other.keys().filter(|name| !one.contains_key(*name)).cloned());
    all
}

/// Frames of the scenario, as a capture.
fn predicted(folder: &Path, scenario: &str) -> PathBuf {
    fs::write(folder.join("written.toml"), scenario).unwrap();
    let capture = ["predict", "written.toml", "-n", "1", "--no-save", "--capture", "again.pcapng"];
    check_code(&run_in(folder, &capture), 0);
    folder.join("again.pcapng")
}

/// Goes from a capture over its scenario to a capture, and back to a scenario; returns the first
/// scenario, the streams, and how those of the second capture differ.
fn trip(capture: &Path) -> (String, Streams, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let text = write_scenario(folder.path(), capture);
    let seen = streams(folder.path(), capture);
    let again = predicted(folder.path(), &text);
    let found = differences(&seen, &streams(folder.path(), &again));
    fs::remove_file(folder.path().join("plant.toml")).unwrap();
    let second = write_scenario(folder.path(), &again);
    // Times of the run differ by the transit to the tap. A table of jitter is drawn from, so that the next
    // one is similar, and with it the period.
    let drawn: &[&str] = match text.contains("\njitter = ") {
        true => &["jitter", "pattern = { kind = \"cyclic\"", "deadline"],
        false => &[],
    };
    let is_time = |line: &&str| {
        let mut all = ["#", "start", "changes", "stop"].iter().chain(drawn);
        all.any(|it| line.starts_with(it))
    };
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !is_time(line)).map(str::to_owned).collect()
    };
    assert_eq!(lines(&second), lines(&text), "written again");
    (text, seen, found)
}

const MADE: &str = r#"
version = 1
title = "streams"
stop = { after = "1.5 s" }
replications = 1
medium = { kind = "switched", rate = "100 Mbit/s", length = "100 m" }
[[station]]
name = "mu"
address = "02:5e:00:00:00:01"
[[station]]
name = "relay"
[[station]]
name = "breaker"
[[flow]]
name = "samples"
from = "mu"
to = "relay"
service = "sampled-values"
appid = 0x4001
vlan = 5
priority = 4
pattern = { kind = "cyclic", period = "208.333 us" }
start = "0 s"
messages = 7200
[[flow]]
name = "two"
from = "mu"
to = "relay"
service = "sampled-values"
appid = 0x4002
samples = 2
pattern = { kind = "cyclic", period = "416.667 us" }
start = "1 ms"
messages = 3000
[[flow]]
name = "trip"
from = "relay"
to = "breaker"
service = "goose"
appid = 0x8001
priority = 6
pattern = { kind = "retransmission", min-time = "4 ms", max-time = "300 ms" }
changes = ["512 ms", "1.1 s"]
size = "140 B"
start = "2 ms"
messages = 17
[[flow]]
name = "io"
from = "relay"
to = "breaker"
service = "cyclic"
frame-id = 0x8001
pattern = { kind = "cyclic", period = "2 ms" }
size = "60 B"
start = "3 ms"
messages = 700
"#;

#[test]
fn streams_made_here_come_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let made = predicted(folder.path(), MADE);
    let (text, seen, found) = trip(&made);
    assert_eq!(found, [""; 0], "{text}");
    let frames: Vec<_> = seen.values().map(|it| it.0).collect();
    assert_eq!(frames, [17, 700, 7_200, 3_000], "{seen:?}");
    // Each thing that is changed is found.
    for (written, changed) in [
        ("period = \"2 ms\"", "period = \"2.1 ms\""),
        ("size = \"60 B\"", "size = \"61 B\""),
        ("messages = 700", "messages = 699"),
        ("priority = 6", "priority = 5"),
        ("vlan = 5", "vlan = 6"),
        ("appid = 0x4002", "appid = 0x4003"),
        ("sv-id = \"samples\"", "sv-id = \"other\""),
        ("frame-id = 0x8001", "frame-id = 0x8002"),
        ("address = \"02:5e:00:00:00:01\"", "address = \"02:5e:00:00:00:02\""),
        ("destination = \"01:0c:cd:01:00:01\"", "destination = \"01:0c:cd:01:00:02\""),
    ] {
        assert!(text.contains(written), "{written}\n{text}");
        let again = predicted(folder.path(), &text.replacen(written, changed, 1));
        let found = differences(&seen, &streams(folder.path(), &again));
        assert!(!found.is_empty(), "{changed}");
    }
}

#[test]
fn streams_of_captures_come_back_the_same() {
    let (text, seen, found) = trip(&shipped("cycles.pcap"));
    assert_eq!((found, seen.len()), (Vec::new(), 2), "{text}");
    // README has the periods of the two, and their frames have the least length.
    for line in [
        "pattern = { kind = \"cyclic\", period = \"1 ms\" }",
        "pattern = { kind = \"cyclic\", period = \"2 ms\" }",
        "deadline = \"3 ms\"",
        "deadline = \"6 ms\"",
        "size = \"46 B\"",
        "messages = 500",
        "# 499 frames in 499 ms, 1 missing; at most 700 us late, 700 us early",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures/cyclic");
    if !shared.exists() {
        println!("skipped: no ../shared");
        return;
    }
    let public = ["goose/gooseind1_7.pcap", "goose/GOOSE.pcap", "goose/goose_trace.pcap"];
    let more =
        ["sv/SV_Normal_Traffic.pcap", "sv/IEC61850_SV.pcap", "profinet/plc4x-recording.pcapng"];
    let own = ["sv/own-sv-4000.pcapng", "profinet/own-rt-cyclic.pcapng"];
    for name in public.into_iter().chain(more).chain(own) {
        let (text, _, found) = trip(&shared.join(name));
        assert_eq!(found, [""; 0], "{name}\n{text}");
    }
}

/// Source of numbers at random below a limit, the same each time.
fn draws() -> impl FnMut(u64) -> u64 {
    let mut draw = 1_u64;
    move |n| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (draw >> 33) % n
    }
}

/// Deviations of the only stream of a capture: late p50 and p99, early p50 and p99, with its period.
fn deviations(folder: &Path, capture: &Path) -> ([u64; 4], u64) {
    let output = run_in(folder, &["watch", "-r", capture.to_str().unwrap(), "--json"]);
    check_code(&output, 0);
    let all = records(&output);
    let stream = all.iter().find(|record| record["type"] == "cyclic-stream").unwrap();
    let number = |name: &str| stream[name].as_u64().unwrap();
    let names = ["late_p50_ns", "late_p99_ns", "early_p50_ns", "early_p99_ns"];
    (names.map(number), number("period_ns"))
}

#[test]
fn the_jitter_of_a_sender_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // A frame every millisecond, each by up to 20 us off its place on the grid, one of 50 by up to 80 us
    // more: skewed to late, so that late and early ones differ.
    let mut below = draws();
    let frames = (0..900).map(|n: u32| {
        let far = if n % 50 == 7 { below(80) } else { 0 };
        let at_us = n * 1_000 + (below(20) + far) as u32;
        (at_us, crate::compare_watched::frame(n))
    });
    let seen = folder.join("seen.pcap");
    crate::cyclic::write(&seen, frames);
    let text = write_scenario(folder, &seen);
    assert_eq!(text.matches("\njitter = [\"0 % -").count(), 1, "{text}");
    let (watched, period_ns) = deviations(folder, &seen);
    let near = |text: &str| {
        let again = predicted(folder, text);
        let (found, again_ns) = deviations(folder, &again);
        // Both are measured from the learnt period, a median of 64 gaps. Between two of its points, of
        // which those around p99 are 95 and 99.9 %, the table is linear.
        let shift_ns = period_ns.abs_diff(again_ns);
        let is_near =
            |(found, watched): (&u64, &u64)| found.abs_diff(*watched) <= shift_ns + watched / 10;
        (found.iter().zip(&watched).all(is_near) && shift_ns < 5_000, found)
    };
    let (is_near, found) = near(&text);
    assert!(is_near, "{found:?}, not {watched:?} around {period_ns}\n{text}");
    let without: Vec<_> = text.lines().filter(|line| !line.starts_with("jitter")).collect();
    assert!(!near(&without.join("\n")).0, "the table has no effect");
    // The same seed makes the same frames, another one makes others.
    let first = fs::read(predicted(folder, &text)).unwrap();
    assert!(first == fs::read(predicted(folder, &text)).unwrap());
    assert!(first != fs::read(predicted(folder, &text.replace("seed = 1", "seed = 2"))).unwrap());
}

/// Frames of this EtherType below a tag: of each its length, the tag, and its time in nanoseconds.
fn tagged(capture: &Path, ethertype: u16) -> Vec<(usize, [u8; 2], u64)> {
    let mut capture = Capture::open(fs::File::open(capture).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = capture.next().unwrap() {
        if record.octets[12..14] == [0x81, 0] && record.octets[16..18] == ethertype.to_be_bytes() {
            let tag = [record.octets[14], record.octets[15]];
            frames.push((record.octets.len(), tag, record.at.as_nanos()));
        }
    }
    frames
}

#[test]
fn streams_of_other_protocols_keep_length_tag_and_jitter() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Two writer groups of UADP in one VLAN; frames of the first are up to 300 us behind their place.
    let frame = |group: u8, n: u32| {
        let head = [1, 0, 0x5E, 0, 0, 9, 2, 0, 0, 0, 0, 2, 0x81, 0, 0xE0, 5, 0xB6, 0x2C];
        let [high, low] = (n as u16).to_be_bytes();
        let message = [0xB1, 0x21, 7, 0, 0x09, group, 0, low, high];
        [&head[..], &message, &[0; 60]].concat()
    };
    let mut draw = 1_u64;
    let frames = (0..800_u32).flat_map(|n| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let late_us = ((draw >> 33) % 300) as u32;
        [(n * 1_000 + late_us, frame(1, n)), (n * 1_000 + 500, frame(2, n))]
    });
    let seen = folder.join("seen.pcap");
    crate::cyclic::write(&seen, frames);
    let text = write_scenario(folder, &seen);
    for line in ["ethertype = 0x88b5", "vlan = 5", "priority = 7", "messages = 800"] {
        assert_eq!(text.lines().filter(|found| *found == line).count(), 2, "{line}\n{text}");
    }
    assert_eq!(text.matches("\njitter = [").count(), 1, "{text}");
    let [before, after] =
        [(seen, 0xB62C), (predicted(folder, &text), 0x88B5)].map(|(of, kind)| tagged(&of, kind));
    let shapes = |of: &[(usize, [u8; 2], u64)]| -> Vec<_> {
        of.iter().map(|(octets, tag, _)| (*octets, *tag)).collect()
    };
    assert_eq!(shapes(&before), shapes(&after));
    // As for streams that come back, the period is within 1 %.
    let lasted = |of: &[(usize, [u8; 2], u64)]| of.last().unwrap().2 - of[0].2;
    assert!(lasted(&before).abs_diff(lasted(&after)) < lasted(&before) / 100);
    let far = |of: &[(usize, [u8; 2], u64)]| {
        // The streams alternate.
        let gaps = of.windows(3).map(|three| three[2].2 - three[0].2);
        gaps.filter(|gap| gap.abs_diff(1_000_000) > 100_000).count()
    };
    let without: Vec<_> = text.lines().filter(|line| !line.starts_with("jitter")).collect();
    let steady = tagged(&predicted(folder, &without.join("\n")), 0x88B5);
    println!("seen: {} gaps far from the period, {} again", far(&before), far(&after));
    assert!(far(&after).abs_diff(far(&before)) < far(&before) / 4, "the table is drawn from");
    assert_eq!(far(&steady), 0);
    // What stands for them is followed, and comes back as itself.
    let (_, seen, differences) = trip(&predicted(folder, &text));
    assert_eq!(differences, Vec::<String>::new());
    let sent: Vec<_> = seen.iter().map(|(name, it)| (name[..6].to_owned(), it.0)).collect();
    assert_eq!(sent, [("\"LOAD\"".to_owned(), 800), ("\"LOAD\"".to_owned(), 800)]);
}

#[test]
fn a_stream_that_a_station_sends_to_itself_has_no_flow() {
    let folder = tempfile::tempdir().unwrap();
    let frame = |to: u8, n: u32| {
        let head = [2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, 2, 0xB6, 0x2C];
        let [high, low] = (n as u16).to_be_bytes();
        [&head[..], &[0xB1, 0x21, 7, 0, 0x09, 1, 0, low, high], &[0; 60]].concat()
    };
    let seen = folder.path().join("seen.pcap");
    crate::cyclic::write(&seen, (0..900).map(|n| (n * 1_000, frame(1 + (n % 2) as u8, n / 2))));
    let text = write_scenario(folder.path(), &seen);
    assert!(text.contains("# Without flows: 1 stream that a station sends to itself.\n"), "{text}");
    assert_eq!(text.matches("[[flow]]").count(), 1, "{text}");
}

#[test]
fn a_scenario_is_not_written_over_one() {
    let folder = tempfile::tempdir().unwrap();
    write_scenario(folder.path(), &shipped("cycles.pcap"));
    // It may have been edited since.
    let again = ["watch", "-r", "x", "--write-scenario", "plant.toml"];
    let output = run_in(folder.path(), &again);
    check_code(&output, 1);
    assert!(stderr(&output).contains("may have been edited"), "{}", stderr(&output));
}

#[test]
fn pollers_come_back_too() {
    let folder = tempfile::tempdir().unwrap();
    let text = write_scenario(folder.path(), &shipped("mms.pcapng"));
    let polls = text.matches("kind = \"constant-rate-request\"").count();
    assert_eq!(polls, 3, "{text}");
    check_code(&run_in(folder.path(), &["predict", "plant.toml", "-n", "1", "--no-save"]), 0);
}

#[test]
fn polls_of_functions_come_back_with_their_requests() {
    let folder = tempfile::tempdir().unwrap();
    let text = write_scenario(folder.path(), &shipped("gateway.pcap"));
    // tests/it/transactions.rs makes the capture: device 1 answers after 4 ms, device 2 is slow.
    for (unit, start, response) in [(1, "0 s", "4.00 ms"), (2, "300 ms", "180 ms")] {
        let mean = format!("{response} on average, {response} to {response}");
        let flow = format!(
            "# Modbus/TCP unit {unit}, function 3 (read holding registers): 30 requests in 29.0 s, \
             period 1.00 s on average, 1.00 s to 1.00 s\n\
             # Over class 4 here. Response times, not simulated: {mean}\n\
             [[flow]]\nname = \"modbus-10.0.0.20-unit-{unit}-function-3\"\n\
             from = \"10.0.0.5\"\nto = \"10.0.0.20\"\nservice = \"class-4\"\n\
             pattern = {{ kind = \"constant-rate-request\", period = \"1 s\", reply = \"16 B\" }}\n\
             size = \"16 B\"\ndeadline = \"1 s\" # its poll period\nstart = \"{start}\"\n\
             messages = 30\n"
        );
        assert!(text.contains(&flow), "{flow}\n{text}");
    }
    let predict = ["predict", "plant.toml", "-n", "1", "--no-save", "--json"];
    let output = run_in(folder.path(), &predict);
    check_code(&output, 0);
    let all = records(&output);
    let sample = all.iter().find(|record| record["type"] == "sample").unwrap();
    let flows = sample["flows"].as_array().unwrap();
    let sent: Vec<_> = flows.iter().map(|flow| flow["sent"].as_u64().unwrap()).collect();
    assert_eq!(sent, [30; 3], "{sample}");
}

#[test]
fn the_jitter_of_a_poller_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Each 50 ms, up to 3 ms late; each twentieth another 15 ms.
    let mut below = draws();
    let mut late_us = |n: u64| below(3_000) + u64::from(n % 20 == 9) * 15_000;
    let times: Vec<u64> = (0..600).map(|n| 1_000 + n * 50_000 + late_us(n)).collect();
    let seen = folder.join("polls.pcap");
    crate::transactions::write(&seen, crate::transactions::polls(&times));
    let text = write_scenario(folder, &seen);
    assert_eq!(text.matches("\njitter = [\"0 % -").count(), 1, "{text}");
    // Deviations of the intervals between requests from the mean, at some percentiles, and the number of
    // those that are more than 10 ms.
    let deviations = |times_ns: &[i64]| {
        let mut gaps: Vec<i64> = times_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<i64>() / gaps.len() as i64;
        gaps.sort_unstable();
        let late = gaps.iter().filter(|gap| **gap - mean > 10_000_000).count();
        ([10, 25, 50, 75, 90].map(|percent| gaps[gaps.len() * percent / 100] - mean), late)
    };
    let watched: Vec<i64> = times.iter().map(|at_us| *at_us as i64 * 1_000).collect();
    let watched = deviations(&watched);
    let sent = |text: &str| {
        fs::write(folder.join("plant.toml"), text).unwrap();
        let line = ["predict", "plant.toml", "-n", "1", "--no-save", "--each-message", "m.csv"];
        check_code(&run_in(folder, &line), 0);
        let rows = fs::read_to_string(folder.join("m.csv")).unwrap();
        fs::remove_file(folder.join("m.csv")).unwrap();
        let place = rows.lines().next().unwrap().split(',').position(|name| name == "due_ns");
        let due = rows.lines().skip(1).map(|row| row.split(',').nth(place.unwrap()).unwrap());
        due.map(|cell| cell.parse().unwrap()).collect::<Vec<i64>>()
    };
    let found = sent(&text);
    assert_eq!(found.len(), 600);
    // Between two points of the table it is linear.
    let found = deviations(&found);
    let is_near = |(found, late): ([i64; 5], usize)| {
        let is_near = |(a, b): (&i64, &i64)| (a - b).abs() < 500_000;
        found.iter().zip(&watched.0).all(is_near) && late.abs_diff(watched.1) <= 5
    };
    assert!(is_near(found), "{found:?}, not {watched:?}\n{text}");
    let without: Vec<_> = text.lines().filter(|line| !line.starts_with("jitter")).collect();
    assert!(!is_near(deviations(&sent(&without.join("\n")))), "the table has no effect");
}

#[test]
fn polls_of_public_captures_make_scenarios_that_run() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    if !shared.exists() {
        println!("skipped: no ../shared");
        return;
    }
    // Flows by the protocol that they name; S7 is a transport connection that polls.
    let s7: &[(&str, usize)] = &[("poll", 14), ("modbus", 46), ("enip", 2)];
    for (name, expected) in [
        ("s7/mb2_modbus_plus_s7.pcap", s7),
        ("cyclic/modbus/modbus_test.pcap", &[("modbus", 9)]),
        ("cyclic/dnp3/DNP3Value.pcap", &[("dnp3", 1)]),
        ("cyclic/enip/ControlLogix_FactoryTalk_HMI.pcap", &[("enip", 1)]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let text = write_scenario(folder.path(), &shared.join(name));
        let named = |word: &str| text.matches(&format!("[[flow]]\nname = \"{word}-")).count();
        let found: Vec<_> = expected.iter().map(|(word, _)| (*word, named(word))).collect();
        assert_eq!(found, expected, "{name}\n{text}");
        let all: usize = found.iter().map(|(_, flows)| flows).sum();
        assert_eq!(text.matches("[[flow]]").count(), all, "{name}\n{text}");
        check_code(&run_in(folder.path(), &["predict", "plant.toml", "-n", "1", "--no-save"]), 0);
    }
}

#[test]
fn where_nothing_is_periodic_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let predict = ["predict", "bulk", "-n", "1", "--no-save", "--capture", "bulk.pcapng"];
    check_code(&run_in(folder.path(), &predict), 0);
    let watch = ["watch", "-r", "bulk.pcapng", "--write-scenario", "plant.toml"];
    let output = run_in(folder.path(), &watch);
    check_code(&output, 1);
    assert!(stderr(&output).contains("no stream of cyclic data"), "{}", stderr(&output));
    assert!(!folder.path().join("plant.toml").exists());
}
