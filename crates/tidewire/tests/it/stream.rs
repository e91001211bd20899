//! `meter`, `show` and the stream between them: what its schema says, what adds up, and that nothing
//! is lost on the way.

use crate::json_schema::conforms;
use crate::watch::{capture, data, shared};
use crate::{check_code, command, records, run, run_in, stderr, stdout};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

const SECOND: u64 = 1_000_000_000;

fn cell() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng")).to_owned()
}

/// Runs the command on some octets as its standard input.
fn fed(arguments: &[&str], octets: Vec<u8>) -> Output {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        // A reader that has enough closes its end.
        let _ = stdin.write_all(&octets);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Captures of every kind of network, as far as they are here.
fn captures() -> Vec<PathBuf> {
    let more = ["tp4", "s7", "mms", "iccp", "rdp-tpkt", "x400"];
    let mut paths = vec![cell(), cell().with_file_name("gateway.pcap")];
    for folder in more {
        let Some(folder) = shared("captures", folder) else { continue };
        let mut found: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        let is_small = |path: &PathBuf| fs::metadata(path).is_ok_and(|about| about.len() < 2 << 20);
        let is_capture = |path: &PathBuf| path.to_string_lossy().contains(".pcap");
        paths.extend(found.into_iter().filter(is_capture).filter(is_small).take(2));
    }
    paths
}

#[test]
fn meter_and_show_print_what_watch_prints() {
    let mut compared = 0;
    for path in captures() {
        let name = path.to_str().unwrap();
        let watched = run(&["watch", "-r", name]);
        let metered = fed(&["meter"], fs::read(&path).unwrap());
        let shown = fed(&["show", "--plain"], metered.stdout.clone());
        // But for the commands of findings, which name what was read.
        let without_commands = |output: &Output| {
            let text = stdout(output);
            let is_command = |line: &&str| line.trim_start().starts_with("more: ");
            text.lines().filter(|line| !is_command(line)).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(without_commands(&shown), without_commands(&watched), "{name}");
        assert_eq!(metered.status.code(), watched.status.code(), "{name}");
        compared += 1;
    }
    println!("seen: {compared} captures shown alike");
}

#[test]
fn watch_as_records_is_the_stream_of_meter() {
    let name = cell();
    let options = ["--measure", "2 s", "--report", "500 ms", "--sample", "250 ms", "--top", "2"];
    let watched = run(&[&["watch", "--json", "-r", name.to_str().unwrap()][..], &options].concat());
    let metered = run(&[&["meter", name.to_str().unwrap()][..], &options].concat());
    check_code(&metered, 0);
    assert_eq!(stdout(&metered), stdout(&watched));
}

#[test]
fn a_file_is_printed_as_its_frames_in_a_pipe() {
    // Those of a file are printed by another thread as soon as there are more than 64.
    let mut most = 0;
    for path in captures() {
        let name = path.to_str().unwrap();
        for options in [&["--json"][..], &["--json", "--only", "dt_tpdus"], &[]] {
            let options = [options, &["--measure", "100 ms"]].concat();
            let of_file = run(&[&["watch", "-r", name], &options[..]].concat());
            let in_pipe = [&["watch", "-r", "-"], &options[..]].concat();
            let of_pipe = fed(&in_pipe, fs::read(&path).unwrap());
            assert_eq!(of_file.status, of_pipe.status, "{}", path.display());
            // Only its name differs: in the head, and in the commands of findings.
            let is_named = |line: &&str| {
                line.starts_with(r#"{"type":"stream""#) || line.starts_with("       more:")
            };
            let printed = |output: &Output| -> Vec<String> {
                let text = stdout(output).replace(name, "-");
                text.lines().filter(|line| !is_named(line)).map(str::to_owned).collect()
            };
            let (of_file, of_pipe) = (printed(&of_file), printed(&of_pipe));
            assert!(of_file == of_pipe, "{} {options:?}", path.display());
            most = most.max(of_file.len());
        }
    }
    assert!(most > 300, "{most}");
}

#[test]
fn a_truncated_stream_is_shown_up_to_its_last_whole_line() {
    let whole = fed(&["meter"], fs::read(cell()).unwrap()).stdout;
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    // In the middle of the third line.
    let cut = whole[..usize::midpoint(ends[1], ends[2])].to_vec();
    let told = fed(&["show", "--plain"], cut);
    check_code(&told, 1);
    let complaint = "standard input: line 3 of the stream has no end: cut short";
    assert!(stderr(&told).contains(complaint), "{}", stderr(&told));
    let before = fed(&["show", "--plain"], whole[..=ends[1]].to_vec());
    check_code(&before, 1);
    assert_eq!(stdout(&told), stdout(&before));
    assert!(!stdout(&told).is_empty());
}

#[test]
fn every_record_is_what_the_schema_says() {
    let schema = run(&["meter", "--schema"]);
    let schema: Value = serde_json::from_str(&stdout(&schema)).unwrap();
    let mut kinds = BTreeSet::new();
    let mut checked = 0;
    for path in captures() {
        let name = path.to_str().unwrap();
        let options = ["--measure", "2 s", "--report", "1 s", "--sample", "500 ms", "--top", "1"];
        let require = ["--require", "R_RD(connection) < 1 %", "--require", "tsdus > 1"];
        let watch = ["watch", "--json", "-r", name, "--expect", crate::publishers::SCD];
        let output = run(&[&watch[..], &options, &require].concat());
        // Hours of samples say nothing that the first do not.
        for line in stdout(&output).lines().take(20_000) {
            let record: Value = serde_json::from_str(line).unwrap();
            let kind = record["type"].as_str().unwrap().to_owned();
            let of_kind = &schema["$defs"][&kind];
            conforms(&record, of_kind, &schema)
                .unwrap_or_else(|wrong| panic!("{name}: {wrong}: {line}"));
            kinds.insert(kind);
            checked += 1;
        }
    }
    println!("seen: {checked} records checked against the schema");
    let defined: BTreeSet<String> = schema["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["$ref"].as_str().unwrap()["#/$defs/".len()..].to_owned())
        .collect();
    assert_eq!(kinds, defined, "each kind was met, and no other");
}

#[test]
fn records_against_the_schema_are_rejected() {
    let schema: Value = serde_json::from_str(&stdout(&run(&["meter", "--schema"]))).unwrap();
    let rejected = |record: Value| {
        let of = &schema["$defs"][record["type"].as_str().unwrap()];
        conforms(&record, of, &schema).unwrap_err()
    };
    let end = serde_json::json!({ "type": "end", "complete": true, "frames": 1, "oddities": {},
        "dropped_by_kernel": null, "error": null });
    assert_eq!(conforms(&end, &schema["$defs"]["end"], &schema), Ok(()));
    let mut more = end.clone();
    more["more"] = 1.into();
    assert_eq!(rejected(more), "more is not in the schema");
    let mut other = end.clone();
    other["frames"] = "1".into();
    assert!(rejected(other).starts_with("frames: \"1\" is no"));
    let mut less = end;
    less.as_object_mut().unwrap().remove("error");
    assert_eq!(rejected(less), "error is missing");
}

/// One DT in each of these seconds.
fn one_each(seconds: &[u64]) -> Vec<u8> {
    let frames: Vec<(u64, Vec<u8>)> =
        seconds.iter().zip(0..).map(|(second, number)| (second * SECOND, data(number))).collect();
    capture(&frames)
}

fn metered(octets: Vec<u8>, options: &[&str]) -> Vec<Value> {
    let output = fed(&[&["meter"], options].concat(), octets);
    check_code(&output, 0);
    records(&output)
}

pub(crate) fn of_type<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}

#[test]
fn reports_have_the_counts_since_the_interval_began() {
    let options = ["--measure", "10 s", "--report", "3 s"];
    let records = metered(one_each(&[100, 101, 104, 111]), &options);
    let told: Vec<(u64, u64, bool, u64)> = of_type(&records, "interval")
        .into_iter()
        .map(|record| {
            let length = record["length_ns"].as_u64().unwrap() / SECOND;
            let (index, tpdus) = (&record["index"], &record["measures"]["tpdus"]);
            let is_over = record["complete"].as_bool().unwrap();
            (index.as_u64().unwrap(), length, is_over, tpdus.as_u64().unwrap())
        })
        .collect();
    // DTs 0, 1, 4 and 11 s after the beginning; reports after 3, 6 and 9 s of each interval. None is
    // due in the second before the frames end.
    assert_eq!(
        told,
        [(0, 3, false, 2), (0, 6, false, 3), (0, 9, false, 3), (0, 10, true, 3), (1, 10, true, 1)]
    );
}

#[test]
fn measuring_stops_after_so_many_intervals() {
    let records = metered(one_each(&[0, 5, 10, 15, 20, 25]), &["--intervals", "2"]);
    assert_eq!(of_type(&records, "interval").len(), 2);
    let total = of_type(&records, "total")[0];
    assert_eq!((&total["intervals"], &total["length_ns"]), (&2.into(), &(20 * SECOND).into()));
    assert_eq!(total["measures"]["tpdus"], 4);
    let end = records.last().unwrap();
    assert_eq!((&end["frames"], &end["complete"]), (&4.into(), &true.into()));
}

#[test]
fn reports_obey_the_subset_of_measures_and_the_size_bounds() {
    let options = ["--only", "dt_tpdus*,tpdus", "--sizes", "64 B,100"];
    let records = metered(one_each(&[0]), &options);
    let interval = of_type(&records, "interval")[0];
    let expected = serde_json::json!({ "tpdus": 1, "dt_tpdus": 1, "dt_tpdus_to_64_octets": 0,
        "dt_tpdus_to_100_octets": 1, "dt_tpdus_beyond_100_octets": 0 });
    assert_eq!(interval["measures"], expected);
    let sent = &of_type(&records, "host-interval")[0]["sent"];
    assert_eq!((&sent["dt_tpdus"], sent.get("tsdus")), (&1.into(), None));
    assert_eq!(records[0]["bounds_octets"], serde_json::json!([64, 100]));
    assert_eq!(records[0]["only"], serde_json::json!(["dt_tpdus*", "tpdus"]));
}

#[test]
fn several_captures_are_one_measurement() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), one_each(&[0, 5])).unwrap();
    fs::write(folder.path().join("b.pcap"), one_each(&[12])).unwrap();
    let output = run_in(folder.path(), &["meter", "a.pcap", "b.pcap"]);
    check_code(&output, 0);
    let records = records(&output);
    assert_eq!(records[0]["source"], "a.pcap, b.pcap");
    let counts: Vec<&Value> =
        of_type(&records, "interval").iter().map(|record| &record["measures"]["tpdus"]).collect();
    assert_eq!(counts, [2, 1]);
}

#[test]
fn options_that_make_no_sense_say_so() {
    check_refused(&["--measure", "0 s"], "--measure \"0 s\": an interval must be longer than 0");
    check_refused(&["--report", "20 s"], "--report is longer than the measurement interval");
    check_refused(&["--sizes", "64,32"], "--sizes: up to nine sizes, each greater");
    check_refused(&["--sizes", "1,2,3,4,5,6,7,8,9,10"], "--sizes: up to nine");
    check_refused(&["--only", "dtt"], "no measure \"dtt\"");
    check_refused(&["--intervals", "0"], "invalid value '0'");
    check_refused(&["--top", "1001"], "invalid value '1001'");
}

#[track_caller]
fn check_refused(options: &[&str], complaint: &str) {
    let output = run(&[&["meter", "-"], options].concat());
    check_code(&output, 2);
    assert!(stderr(&output).contains(complaint), "{}", stderr(&output));
}

#[test]
fn show_says_what_is_no_stream_and_where_one_is_cut_short() {
    let foreign = fed(&["show", "--plain"], b"#!/bin/sh\n".to_vec());
    check_code(&foreign, 1);
    let said = stderr(&foreign);
    assert!(said.starts_with("error: standard input: not a stream of measures"), "{said}");
    let whole = fed(&["meter"], one_each(&[0, 5]));
    let text = stdout(&whole);
    let cut: String = text.lines().take(3).map(|line| format!("{line}\n")).collect();
    let cut = fed(&["show", "--plain"], cut.into_bytes());
    check_code(&cut, 1);
    assert!(stderr(&cut).contains("the stream ends without its end record"), "{}", stderr(&cut));
    assert!(stdout(&cut).contains("intervals of 10 s"), "the intervals before the cut are there");
}

#[test]
fn what_a_capture_says_was_lost_is_told_wherever_it_is_metered() {
    let mut writer = wire::pcapng::Writer::new(Vec::new()).unwrap();
    let interface = writer.interface(wire::dissect::Link::Ethernet, "eth1").unwrap();
    let counts = |received, dropped_by_interface, dropped_by_system| wire::capture::Statistics {
        received: Some(received),
        dropped_by_interface: Some(dropped_by_interface),
        dropped_by_system: Some(dropped_by_system),
        ring_full: Some(1),
        ..Default::default()
    };
    for (second, number) in [(100, 0), (111, 1), (112, 2)] {
        let (at, frame) = (wire::time::Instant::from_nanos(second * SECOND), data(number));
        writer.write(interface, at, &frame, frame.len(), "").unwrap();
        // Counts come in the second interval and at its end; the later take the place of the earlier.
        match number {
            0 => {}
            1 => writer.statistics(interface, at, &counts(4, 1, 0)).unwrap(),
            _ => writer.statistics(interface, at, &counts(9, 4, 2)).unwrap(),
        }
    }
    let octets = writer.into_inner();
    let output = fed(&["watch", "-r", "-", "--json"], octets.clone());
    // What was dropped is in no measure.
    check_code(&output, 4);
    assert!(stderr(&output).contains("6 frames were dropped"), "{}", stderr(&output));
    let records = records(&output);
    let end = records.last().unwrap();
    assert_eq!(end["dropped_by_kernel"], 6);
    let expected = serde_json::json!({ "received": 9, "dropped_by_interface": 4,
        "dropped_by_kernel": 2, "ring_full": 1 });
    assert_eq!(end["collection"], expected);
    let [first, second] = &of_type(&records, "interval")[..] else { panic!("two intervals") };
    assert_eq!((first.get("collection"), &second["collection"]), (None, &expected));
    let lines = stdout(&fed(&["watch", "-r", "-"], octets));
    // Two intervals of 10 s, from the first frame on.
    let last = "3 frames, the last after 12.0 s of 20.0 s, 2 dropped by the kernel, 4 dropped by\n\
                the interface, the ring full 1 times";
    assert!(lines.contains(last), "{lines}");
}

/// Greatest value of each class of a histogram with its count, ascending.
fn decoded(text: &str) -> Vec<(u64, u64)> {
    let octets = STANDARD.decode(text).unwrap();
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &octets[..]).unwrap();
    let steps = histogram.iter_recorded();
    steps.map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
}

#[test]
fn histograms_of_intervals_add_up_to_that_of_the_total() {
    let output = run(&["meter", "--measure", "500ms", "--hdr", cell().to_str().unwrap()]);
    check_code(&output, 0);
    let schema: Value = serde_json::from_str(&stdout(&run(&["meter", "--schema"]))).unwrap();
    let records = records(&output);
    let classes = |record: &Value| {
        let text = record["histograms"]["ack_delay"].as_str();
        text.map(decoded).unwrap_or_default()
    };
    let count = |record: &Value| classes(record).iter().map(|(_, times)| times).sum::<u64>();
    let mut sum = std::collections::BTreeMap::new();
    let intervals = of_type(&records, "interval");
    assert!(intervals.len() > 3);
    for interval in intervals {
        conforms(interval, &schema, &schema).unwrap();
        assert_eq!(count(interval), interval["measures"]["ack_delays"].as_u64().unwrap());
        for (value, times) in classes(interval) {
            *sum.entry(value).or_insert(0) += times;
        }
    }
    let total = of_type(&records, "total")[0];
    conforms(total, &schema, &schema).unwrap();
    assert_eq!(sum.into_iter().collect::<Vec<_>>(), classes(total));
    assert!(count(total) > 100);
    // Delays that were not seen, and those that are not reported, are absent.
    assert_eq!(total["histograms"].get("response"), None);
    let cell = cell();
    let only = ["meter", "--hdr", "--only", "set_up_max", cell.to_str().unwrap()];
    let records = self::records(&run(&only));
    let total = of_type(&records, "total")[0];
    assert!(total["histograms"]["set_up"].is_string() && count(total) == 0);
}
