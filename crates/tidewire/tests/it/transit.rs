//! `watch --far`: one-way transits between two captures of the same traffic.

use crate::watch::shared;
use crate::{check_code, records, run, run_in, stderr, stdout};
use core::time::Duration;
use papers::nbsir_85_3104::{Passage, origin, trace};
use serde_json::json;
use std::fs::{self, File};
use std::path::Path;
use wire::addr::Socket;
use wire::capture::{Capture, Record};
use wire::dissect::{Link, NoNsdu, levels};
use wire::pcapng::Writer;
use wire::time::Instant;

/// From tap to tap.
const TRANSIT: Duration = Duration::from_micros(250);
/// By how much the far clock is ahead.
const AHEAD: Duration = Duration::from_millis(3);

/// Returns true if a host is at the near tap: A, B, C, E and I, who call the others.
const fn is_near(host: u32) -> bool {
    matches!(host, 1 | 2 | 3 | 5 | 9)
}

fn write(path: &Path, mut seen: Vec<(Instant, &Passage)>) {
    seen.sort_by_key(|(at, _)| *at);
    let mut writer = Writer::new(File::create(path).unwrap()).unwrap();
    let interface = writer.interface(Link::Ethernet, "tap").unwrap();
    for (at, passage) in seen {
        let frame = passage.frame();
        writer.write(interface, at, &frame, frame.len(), "").unwrap();
    }
}

const BRIDGE: &str = r#"
version = 1
title = "a bridge with a slow link"
stop = { after = "1 s" }
replications = 1
medium = { kind = "switched", rate = "100 Mbit/s", length = "1 m", switches = 2, trunk-rate = "10 Mbit/s", latency = "1 us" }
stations = { count = 2, prefix = "s" }
[[flow]]
name = "first"
from = "s-1"
to = "s-2"
service = "cyclic"
frame-id = 0x8001
pattern = { kind = "cyclic", period = "2 ms" }
size = "482 B"
start = "0 s"
messages = 300
[[flow]]
name = "second"
from = "s-1"
to = "s-2"
service = "cyclic"
frame-id = 0x8002
pattern = { kind = "cyclic", period = "2 ms" }
size = "482 B"
start = "0 s"
messages = 300
"#;

#[test]
fn streams_wait_at_a_slow_bridge_as_long_as_they_must() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bridge.toml"), BRIDGE).unwrap();
    let both = ["--capture", "far.pcapng", "--capture-senders", "near.pcapng"];
    let predict = [&["predict", "bridge.toml", "-n", "1", "--no-save"], &both[..]].concat();
    check_code(&run_in(folder.path(), &predict), 0);
    let output =
        run_in(folder.path(), &["watch", "-r", "near.pcapng", "--far", "far.pcapng", "--json"]);
    check_code(&output, 0);
    let streams = records(&output);
    let streams: Vec<_> = streams.iter().filter(|it| it["type"] == "transit-stream").collect();
    // 482 octets with addresses, EtherType, FCS and preamble are 508: 406.4 us at 10 Mbit/s, and 40.64 us
    // at 100 Mbit/s. The switches take 1 us each, and two meters of cable 10 ns. The second frame leaves
    // 40.64 us and a gap of 0.96 us later, and the link is free for it 406.4 us and a gap of 9.6 us later.
    let alone_ns = 406_400 + 40_640 + 2_000 + 10;
    let behind_ns = alone_ns + (406_400 + 9_600) - (40_640 + 960);
    for (stream, expected) in streams.iter().zip([alone_ns, behind_ns]) {
        assert_eq!((&stream["frames"], &stream["alone"]), (&json!([300, 300]), &json!([0, 0])));
        for statistic in ["min_ns", "p50_ns", "p99_ns", "max_ns"] {
            assert_eq!(stream["there"][statistic], expected, "{stream}");
        }
        assert_eq!(stream["back"], serde_json::Value::Null);
    }
    assert_eq!(streams.len(), 2);
    let text =
        stdout(&run_in(folder.path(), &["watch", "-r", "near.pcapng", "--far", "far.pcapng"]));
    let row = "       0    0    300  823 us  823 us  823 us  823 us";
    assert!(text.lines().any(|line| line == row), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // On an ideal wire there is no place apart.
    let ideal = BRIDGE.replace(
        BRIDGE.lines().find(|it| it.starts_with("medium")).unwrap(),
        "medium = { kind = \"ideal\", rate = \"10 Mbit/s\" }",
    );
    fs::write(folder.path().join("ideal.toml"), ideal).unwrap();
    let predict =
        ["predict", "ideal.toml", "--no-save", "--capture", "f", "--capture-senders", "n"];
    let output = run_in(folder.path(), &predict);
    check_code(&output, 1);
    assert!(stderr(&output).contains("only switches without faults"), "{}", stderr(&output));
    assert!(!folder.path().join("f").exists());
}

/// Every message of a simulated network passes its sender first, whichever way it goes.
#[test]
fn one_clock_of_a_simulated_network_gives_transits_of_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let both = ["--capture", "far.pcapng", "--capture-senders", "near.pcapng"];
    let predict = [&["predict", "substation", "-n", "1", "--no-save"], &both[..]].concat();
    check_code(&run_in(folder.path(), &predict), 0);
    let taps = ["watch", "-r", "near.pcapng", "--far", "far.pcapng"];
    let found = |more: &[&str]| {
        let output = run_in(folder.path(), &[&taps, more, &["--json"]].concat());
        check_code(&output, 0);
        records(&output).into_iter().find(|it| it["type"] == "transit").unwrap()
    };
    let by_two = found(&[]);
    assert_eq!((&by_two["course"], &by_two["one_clock"]), (&"broken".into(), &false.into()));
    // The advice comes before what only a second clock would explain.
    let advice = "Both captures state that their network was simulated";
    let text = stdout(&run_in(folder.path(), &taps));
    assert!(text.starts_with(advice) && text.contains("add --one-clock"), "{text}");
    let with = stdout(&run_in(folder.path(), &[&taps[..], &["--one-clock"]].concat()));
    assert!(!with.contains(advice), "{with}");
    let by_one = found(&["--one-clock"]);
    assert_eq!((&by_one["one_clock"], &by_one["clock_was_set"]), (&true.into(), &json!(null)));
    let counts = |name: &str| by_one["tpdus"][usize::from(name == "far")].as_u64().unwrap();
    assert!(counts("near") > 1_000 && counts("near") == counts("far"), "{by_one}");
    assert_eq!((&by_one["there"]["count"], &by_one["back"]), (&by_one["tpdus"][0], &json!(null)));
    assert!(by_one["there"]["min_ns"].as_u64().is_some_and(|least| least > 10_000), "{by_one}");
    // A capture with the frames of the first one once more behind them goes back in time.
    let file = |name: &str| folder.path().join(name);
    let mut twice = fs::read(file("near.pcapng")).unwrap();
    twice.extend_from_within(..);
    fs::write(file("twice.pcapng"), twice).unwrap();
    let back = ["watch", "-r", "twice.pcapng", "--far", "far.pcapng", "--one-clock"];
    let said = stderr(&run_in(folder.path(), &back));
    assert!(said.contains("with an earlier time than one before"), "{said}");
    let filtered = found(&["--one-clock", "--filter", "tpdu dt"]);
    assert!(filtered["there"]["count"].as_u64() < by_one["there"]["count"].as_u64());
    assert_eq!(filtered["tpdus"][0], filtered["tpdus"][1]);
}

#[test]
fn two_captures_give_clock_offset_and_transits_each_way() {
    let folder = tempfile::tempdir().unwrap();
    let [near, far] = ["near.pcapng", "far.pcapng"].map(|name| folder.path().join(name));
    let trace: Vec<Passage> = trace(origin()).into_iter().take(4_000).collect();
    let seen = |is_far: bool| {
        let at = |passage: &Passage| {
            let passes_last = is_near(passage.from) == is_far;
            let later = if passes_last { TRANSIT } else { Duration::ZERO };
            passage.at + later + if is_far { AHEAD } else { Duration::ZERO }
        };
        trace.iter().map(|passage| (at(passage), passage)).collect::<Vec<_>>()
    };
    write(&near, seen(false));
    // Of the far tap every hundredth frame is missing.
    let far_seen = seen(true).into_iter().enumerate().filter(|(place, _)| place % 100 != 50);
    write(&far, far_seen.map(|(_, seen)| seen).collect());
    let [near, far] = [&near, &far].map(|path| path.to_str().unwrap());

    let output = run(&["watch", "-r", near, "--far", far, "--json"]);
    check_code(&output, 0);
    let lines = records(&output);
    let [found, end] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&found["type"], &end["type"]), (&"transit".into(), &"end".into()));
    assert_eq!(found["tpdus"], serde_json::json!([4_000, 3_960]));
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    assert_eq!((&found["course"], &found["one_clock"]), (&"steady".into(), &false.into()));
    assert_eq!(number(&found["offset_ns"]["value"]), 3e6);
    assert_eq!(number(&found["skew"]["value"]), 0.0);
    // Half of the least round trip, and what a skew could add that cannot be ruled out.
    let error = number(&found["error_ns"]);
    assert!((250_000.0..1_500_000.0).contains(&error), "{error}");
    for way in ["there", "back"] {
        let times = ["min_ns", "mean_ns", "p50_ns", "p99_ns", "max_ns"].map(|n| &found[way][n]);
        // No retransmission was taken for its original, which is a second off.
        assert_eq!(times, [250_000; 5].map(serde_json::Value::from).each_ref(), "{way}");
    }
    // What is missing is counted: alone at the near tap, or a copy of which the other is there.
    let pair = |name: &str, tap: usize| found[name][tap].as_u64().unwrap();
    let lost = pair("unmatched", 0) + pair("ambiguous", 0) - pair("ambiguous", 1);
    assert_eq!((lost, pair("unmatched", 1)), (40, 0));
    assert!(pair("unmatched", 0) > 0 && found["matched"].as_u64().unwrap() > 3_000);

    let text = stdout(&run(&["watch", "-r", near, "--far", far]));
    assert!(text.contains("near to far") && text.contains("The far clock is 3"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_clock_step_is_reported_and_leaves_no_transits() {
    let folder = tempfile::tempdir().unwrap();
    let [near, far] = ["near.pcapng", "far.pcapng"].map(|name| folder.path().join(name));
    let trace: Vec<Passage> = trace(origin()).into_iter().take(1_000).collect();
    let set = trace[500].at;
    write(&near, trace.iter().map(|passage| (passage.at, passage)).collect());
    let ahead = |at| if at < set { AHEAD } else { AHEAD + Duration::from_secs(100) };
    write(&far, trace.iter().map(|passage| (passage.at + ahead(passage.at), passage)).collect());
    let [near, far] = [&near, &far].map(|path| path.to_str().unwrap());
    let output = run(&["watch", "-r", near, "--far", far, "--json"]);
    let found = &records(&output)[0];
    assert_eq!((&found["course"], found["there"].is_null()), (&"broken".into(), true), "{found}");
    let (at, set) = (found["broken_at_ns"].as_u64().unwrap(), set.as_nanos());
    assert!((set..set + 10_000_000_000).contains(&at), "{at} {set}");
    let text = stdout(&run(&["watch", "-r", near, "--far", far]));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("a clock was set") && !words.contains("one-way transit"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn captures_with_clocks_and_begins_apart_are_matched() {
    let folder = tempfile::tempdir().unwrap();
    let [near, far] = ["near.pcapng", "far.pcapng"].map(|name| folder.path().join(name));
    let trace: Vec<Passage> = trace(origin()).into_iter().take(3_000).collect();
    let hours = Duration::from_secs(2 * 3_600);
    let at = |passage: &Passage, is_far: bool| {
        let later = if is_near(passage.from) == is_far { TRANSIT } else { Duration::ZERO };
        passage.at + later + if is_far { hours } else { Duration::ZERO }
    };
    // By their stamps all of the near tap was over before the far one began, which heard a third more.
    let near_seen = trace.iter().skip(1_000).map(|passage| (at(passage, false), passage));
    write(&near, near_seen.collect());
    write(&far, trace.iter().map(|passage| (at(passage, true), passage)).collect());
    let [near, far] = [&near, &far].map(|path| path.to_str().unwrap());
    let output = run(&["watch", "-r", near, "--far", far, "--json"]);
    let found = &records(&output)[0];
    let pair = |name: &str, tap: usize| found[name][tap].as_u64().unwrap();
    assert_eq!([pair("tpdus", 0), pair("tpdus", 1)], [2_000, 3_000]);
    // Copies of which one passed before the near tap was opened cannot be told apart.
    let single = 1_000 - pair("unmatched", 1);
    assert!(single < 30 && found["matched"].as_u64().unwrap() > 1_940, "{found}");
    assert_eq!(found["offset_ns"]["value"].as_f64().unwrap(), 7_200e9);
    let times = ["min_ns", "p50_ns", "max_ns"].map(|name| &found["there"][name]);
    assert_eq!(times, [250_000; 3].map(serde_json::Value::from).each_ref(), "{found}");
}

#[test]
fn captures_that_share_nothing_are_said_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.pcapng");
    let trace = trace(origin());
    write(&path, trace.iter().take(9).map(|passage| (passage.at, passage)).collect());
    let other = folder.path().join("none.pcapng");
    write(&other, Vec::new());
    let [path, other] = [&path, &other].map(|path| path.to_str().unwrap());
    let output = run(&["watch", "-r", path, "--far", other]);
    check_code(&output, 0);
    assert!(stdout(&output).contains("no TPDU was seen at both taps"), "{}", stdout(&output));
    check_code(&run(&["watch", "-r", path, "--far", "no-such.pcapng"]), 1);
    check_code(&run(&["watch", "--far", path, "-i", "lo"]), 2);
    // The error of half a file follows the results of its frames.
    let octets = fs::read(path).unwrap();
    fs::write(other, &octets[..octets.len() - 5]).unwrap();
    check_code(&run(&["watch", "-r", path, "--far", other]), 1);
}

/// Returns true if a host of the plant lies behind the near tap: half of them do.
fn is_near_host(socket: Socket) -> bool {
    socket.address.octets()[15] & 1 == 1
}

/// Captures of two taps, made of the TCP segments of a capture between hosts of either side, a frame
/// in fifty being missing at the far one.
fn taps(capture: &Path, folder: &Path) -> [String; 2] {
    let mut capture = Capture::open(File::open(capture).unwrap()).unwrap();
    let mut seen: [Vec<(Instant, Vec<u8>)>; 2] = Default::default();
    let mut frames = 0_u64;
    while let Some(Record { at, link, octets, original_octets, .. }) = capture.next().unwrap() {
        let Err(NoNsdu::Stream(piece)) = levels(link, octets, original_octets).nsdu else {
            continue;
        };
        let goes_there = is_near_host(piece.source);
        if goes_there == is_near_host(piece.destination) {
            continue;
        }
        frames += 1;
        let later = |is_last: bool| at + if is_last { TRANSIT } else { Duration::ZERO };
        seen[0].push((later(!goes_there), octets.to_vec()));
        if frames % 50 != 7 {
            seen[1].push((later(goes_there) + AHEAD, octets.to_vec()));
        }
    }
    let mut names = ["near.pcapng", "far.pcapng"].map(|name| folder.join(name)).into_iter();
    seen.map(|mut seen| {
        let path = names.next().unwrap();
        seen.sort_by_key(|(at, _)| *at);
        let mut writer = Writer::new(File::create(&path).unwrap()).unwrap();
        let interface = writer.interface(Link::Ethernet, "tap").unwrap();
        for (at, octets) in seen {
            writer.write(interface, at, &octets, octets.len(), "").unwrap();
        }
        path.display().to_string()
    })
}

#[test]
fn tpdus_of_a_plant_in_tcp_take_as_long_as_they_were_made_to() {
    // S7 as captured in a plant, of which two taps are made.
    let Some(plant) = shared("captures", "s7/Plant1_S7comm.pcap") else { return };
    let folder = tempfile::tempdir().unwrap();
    let [near, far] = taps(&plant, folder.path());
    let output = run(&["watch", "-r", &near, "--far", &far, "--json"]);
    check_code(&output, 0);
    let found = &records(&output)[0];
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    for way in ["there", "back"] {
        assert!(number(&found[way]["count"]) > 100.0, "{found}");
        let times = ["min_ns", "p50_ns", "max_ns"].map(|name| &found[way][name]);
        assert_eq!(times, [250_000; 3].map(serde_json::Value::from).each_ref(), "{way}");
    }
    assert_eq!(number(&found["offset_ns"]["value"]), 3e6, "{found}");
    let pair = |name: &str, tap: usize| found[name][tap].as_u64().unwrap();
    let missing = pair("tpdus", 0) - pair("tpdus", 1);
    assert_eq!(missing, pair("unmatched", 0) + pair("ambiguous", 0) - pair("ambiguous", 1));
    assert_eq!((pair("unmatched", 1), pair("recut", 0)), (0, 0), "{found}");
    // The meter counts each once, however often TCP sent it.
    let metered = &records(&run(&["watch", "-r", &near, "--json"]));
    let total = metered.iter().find(|record| record["type"] == "total").unwrap();
    assert_eq!(total["measures"]["tpdus"], found["tpdus"][0]);
    println!("seen: {} TPDUs in TCP, {} matched", found["tpdus"], found["matched"]);
}

/// Two taps of a capture: 10 us to 15 us lie between them, by the number of the frame, and the far one
/// misses each 97th frame. Returns their files, and the number of the frames that it misses.
fn apart(capture: &Path, folder: &Path) -> ([String; 2], u64) {
    let mut capture = Capture::open(File::open(capture).unwrap()).unwrap();
    let files = ["near.pcapng", "far.pcapng"].map(|name| folder.join(name));
    let mut writers = files.each_ref().map(|it| Writer::new(File::create(it).unwrap()).unwrap());
    let mut interfaces = [None; 2];
    let (mut number, mut missed) = (0_u64, 0);
    while let Some(Record { at, link, octets, original_octets, .. }) = capture.next().unwrap() {
        number += 1;
        let transit = Duration::from_nanos(10_000 + number % 5_001);
        for (tap, at) in [(0, at), (1, at + transit)] {
            if tap == 1 && number.is_multiple_of(97) {
                missed += 1;
                continue;
            }
            let writer = &mut writers[tap];
            let interface =
                *interfaces[tap].get_or_insert_with(|| writer.interface(link, "tap").unwrap());
            writer.write(interface, at, octets, original_octets, "").unwrap();
        }
    }
    (files.map(|it| it.display().to_string()), missed)
}

#[test]
fn streams_of_each_protocol_have_the_transits_they_were_given() {
    for (name, protocol) in [
        ("goose/gooseind1_7.pcap", "GOOSE"),
        ("sv/SV_Normal_Traffic.pcap", "SV"),
        ("profinet/own-rt-cyclic.pcapng", "PROFINET RT"),
        ("ethercat/twincat-run-ek1100-el1004.pcapng", "EtherCAT"),
        ("enip/own-class1.pcapng", "CIP I/O"),
        ("ptp/own-ptp4l-veth.pcapng", "PTP"),
        ("opcua-pubsub/own-uadp.pcapng", "UADP"),
        ("avtp/own-aaf-crf.pcapng", "AVTP"),
        ("cclink/cclink_ief_basic_only.pcap", "CC-Link"),
        ("powerlink/eplexample.pcap", "POWERLINK"),
        ("prp-hsr/own-prp.pcapng", "GOOSE"),
    ] {
        let Some(capture) = shared("captures", &format!("cyclic/{name}")) else { return };
        let folder = tempfile::tempdir().unwrap();
        let ([near, far], missed) = apart(&capture, folder.path());
        let output = run(&["watch", "-r", &near, "--far", &far, "--one-clock", "--json"]);
        check_code(&output, 0);
        let all = records(&output);
        let streams = all.iter().filter(|it| it["type"] == "transit-stream");
        let (mut matched, mut absent) = (0, 0);
        for stream in streams {
            assert_eq!(stream["protocol"], protocol, "{name}");
            let pair = |key: &str| [0, 1].map(|tap| stream[key][tap].as_u64().unwrap());
            let [near, far] = pair("frames");
            absent += near - far;
            let there = &stream["there"];
            let count = there["count"].as_u64().unwrap_or(0);
            for tap in [0, 1] {
                let apart = ["alone", "repeated", "unnumbered"].map(|key| pair(key)[tap]);
                let rest = pair("frames")[tap] - apart.iter().sum::<u64>();
                assert_eq!(rest, count, "{name}: {stream}");
            }
            assert_eq!(pair("alone")[1], 0, "{name}: {stream}");
            if count > 0 {
                let [least, most] = ["min_ns", "max_ns"].map(|key| there[key].as_u64().unwrap());
                assert!(10_000 <= least && most <= 15_000, "{name}: {stream}");
            }
            matched += count;
        }
        assert!(matched > 20 && absent == missed, "{name}: {matched}, {absent} of {missed}");
        println!("seen: {name}, {matched} transits, {absent} frames absent of {missed}");
    }
}

#[test]
fn a_tcp_capture_against_itself_matches_every_tpdu_at_zero() {
    let mut seen = [0_u64; 2];
    for family in ["s7", "mms", "iccp", "rdp-tpkt"] {
        let Some(captures) = shared("captures", family) else { return };
        for entry in fs::read_dir(captures).unwrap() {
            let path = entry.unwrap().path().display().to_string();
            let output = run(&["watch", "-r", &path, "--far", &path, "--json"]);
            let metered = run(&["watch", "-r", &path, "--json"]);
            let metered = records(&metered);
            let Some(total) = metered.iter().find(|record| record["type"] == "total") else {
                continue;
            };
            let found = &records(&output)[0];
            let (tpdus, once) = (&found["tpdus"][0], &total["measures"]["tpdus"]);
            // Every segment that is sent again is another copy here, and none for the meter.
            assert!(tpdus.as_u64() >= once.as_u64(), "{path}: {tpdus} of {once}");
            assert_eq!((&found["matched"], &found["tpdus"][1]), (tpdus, tpdus), "{path}");
            let there = &found["there"]["max_ns"];
            assert!(there.is_null() || there == 0, "{path}: {there}");
            seen[0] += tpdus.as_u64().unwrap();
            seen[1] += once.as_u64().unwrap();
        }
    }
    assert!(seen[1] > 40_000, "{seen:?}");
    println!("seen: {} TPDUs, {} of them sent for the first time", seen[0], seen[1]);
}
