//! Streams of cyclic data: the publisher that was silent or late is on the first screen, in records, and
//! a finding.

use crate::{check_code, records, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use wire::goose;

/// Frame of a publisher, with a time allowed to live of 20 ms.
fn frame(publisher: u8, sequence: u32) -> Vec<u8> {
    let name = format!("IED{publisher}/LLN0$GO$gcb");
    let pdu = goose::Pdu {
        appid: publisher.into(),
        reserved: [0; 2],
        control_block: name.as_bytes(),
        time_allowed_to_live_ms: 20,
        data_set: b"IED/LLN0$trip",
        identifier: None,
        time: goose::UtcTime::default(),
        state_number: 1,
        sequence_number: sequence,
        is_simulated: false,
        configuration_revision: 1,
        needs_commissioning: false,
        entries: 0,
        data: &[],
    };
    let mut frame = vec![1, 0x0C, 0xCD, 1, 0, publisher, 2, 0, 0, 0, 0, publisher];
    frame.extend([0x81, 0, 0x80, 0, 0x88, 0xB8]);
    frame.extend(pdu.encode());
    frame
}

/// Writes a capture of frames, each with its time in microseconds.
pub(crate) fn write(path: &Path, frames: impl IntoIterator<Item = (u32, Vec<u8>)>) {
    let mut octets = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    octets.extend([0, 0, 1, 0, 1, 0, 0, 0]);
    for (at_us, frame) in frames {
        let length = frame.len() as u32;
        for word in [7, at_us, length, length] {
            octets.extend(word.to_le_bytes());
        }
        octets.extend(frame);
    }
    fs::write(path, octets).unwrap();
}

/// Capture of two publishers, each with a frame every 10 ms. The second loses the frames 50 to 52.
fn capture(path: &Path) {
    let has_sent = |n: u32, publisher| publisher == 1 || !(50..53).contains(&n);
    let frames = (0..100).flat_map(|n| {
        let both = [1, 2].into_iter().filter(move |publisher| has_sent(n, *publisher));
        both.map(move |publisher| (n * 10_000 + u32::from(publisher), frame(publisher, n)))
    });
    write(path, frames);
}

#[test]
fn the_publisher_that_was_silent_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.pcap");
    capture(&path);
    let path = path.display().to_string();
    let output = run(&["--json", "watch", "-r", &path]);
    check_code(&output, 0);
    let records = records(&output);
    let streams: Vec<_> = records.iter().filter(|it| it["type"] == "cyclic-stream").collect();
    assert_eq!(streams.len(), 2);
    let second = streams.iter().find(|it| it["identifier"] == 2).unwrap();
    let counts = ["frames", "missing", "gaps", "silences", "worst_gap_ns", "worst_allowed_ns"];
    let found = counts.map(|name| second[name].as_u64().unwrap());
    assert_eq!(found, [97, 3, 96, 1, 40_000_000, 20_000_000]);
    assert_eq!((&second["priority"], &second["vlan"]), (&4.into(), &0.into()));
    let findings: Vec<_> = records.iter().filter(|it| it["type"] == "finding").collect();
    let text = findings[0]["text"].as_str().unwrap();
    assert_eq!(findings[0]["grade"], "wrong");
    assert!(
        findings.iter().any(|it| it["evidence"].as_str().is_some_and(|it| it.contains("IED2")))
    );
    assert!(
        text.contains("cyclic frames are missing") || text.contains("timeAllowedtoLive"),
        "{text}"
    );
    let lines = run(&["watch", "-r", &path]).stdout;
    let lines = String::from_utf8(lines).unwrap();
    let row = lines.lines().skip_while(|line| !line.contains("publisher")).nth(1).unwrap();
    assert!(row.contains("IED2/LLN0$GO$gcb"), "{lines}");
    assert!(row.ends_with("97        3       1  40.0 ms  20.0 ms"), "{row}");
    // No layer of transport: no tables of zeros.
    assert!(!lines.contains("information octets"), "{lines}");
}

/// The capture of the README: two devices that send PROFINET RT for half a second. The first sends every
/// millisecond: frame 300 is late by 700 us, and 400 is lost. The second sends every two milliseconds.
fn cycles() -> Vec<(u32, Vec<u8>)> {
    let frame = |source: u8, counter: u32| {
        let head = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, source, 0x88, 0x92, 0x80, source];
        [&head[..], &[0; 40], &(counter as u16).to_be_bytes(), &[0x35, 0]].concat()
    };
    let late_us = |n: u32| if n == 300 { 700 } else { 0 };
    let first = (0..500).filter(|n| *n != 400);
    let first = first.map(|n| (n * 1_000 + late_us(n), frame(2, n * 32)));
    let second = (0..250).map(|n| (n * 2_000 + 40, frame(3, n * 64)));
    let mut frames: Vec<_> = first.chain(second).collect();
    frames.sort_by_key(|(at_us, _)| *at_us);
    frames
}

#[test]
fn a_late_controller_is_named_with_its_period() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("cycles.pcap");
    write(&made, cycles());
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cycles.pcap");
    if std::env::var_os("BLESS").is_some() {
        fs::copy(&made, kept).unwrap();
    }
    assert!(fs::read(&made).unwrap() == fs::read(kept).unwrap(), "BLESS=1 makes {kept} anew");
    let path = made.display().to_string();
    let output = run(&["--json", "watch", "-r", &path]);
    check_code(&output, 0);
    let records = records(&output);
    let is_first = |it: &&Value| it["type"] == "cyclic-stream" && it["identifier"] == 0x8002;
    let stream = records.iter().find(is_first).unwrap();
    assert_eq!(stream["protocol"], "PROFINET RT");
    let names =
        ["frames", "missing", "silences", "period_ns", "step", "late_max_ns", "early_max_ns"];
    let found = names.map(|name| stream[name].as_u64().unwrap());
    assert_eq!(found, [499, 1, 0, 1_000_000, 32, 700_000, 700_000]);
    // The table has the same values.
    let tables = folder.path().display().to_string();
    check_code(&run(&["watch", "-q", "-r", &path, "--csv", &tables]), 0);
    let table = fs::read_to_string(folder.path().join("streams.csv")).unwrap();
    let [names_of, row, _] = table.lines().collect::<Vec<_>>()[..] else { panic!("{table}") };
    let cells: Vec<_> = names_of.split(',').zip(row.split(',')).collect();
    let cell = |name: &str| cells.iter().find(|(known, _)| *known == name).unwrap().1;
    let of_table = ["frames", "missing", "silences", "period_ns", "late_max_ns", "early_max_ns"];
    let of_table = of_table.map(|name| cell(name).parse::<u64>().unwrap());
    assert_eq!(of_table, [499, 1, 0, 1_000_000, 700_000, 700_000]);
    assert_eq!((cell("source"), cell("name"), cell("vlan")), ("02:00:00:00:00:02", "", ""));
    // All other gaps are those of the period: none of them is early.
    assert_eq!(stream["early_gaps"], 1);
    let lines = String::from_utf8(run(&["watch", "-r", &path]).stdout).unwrap();
    assert!(lines.contains("1 of 2 streams had a frame late by half a period or more"), "{lines}");
    let row = lines.lines().skip_while(|line| !line.contains("deviation of")).nth(1).unwrap();
    assert!(row.contains("FrameID 8002") && row.ends_with("70.0 %"), "{row}");
    assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
}

#[test]
fn requirements_on_streams_decide_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.pcap");
    capture(&path);
    let path = path.display().to_string();
    for (required, code, counts, of) in [
        ("missing(*) == 0", 3, [1, 1, 0], "02:00:00:00:00:02 IED2/LLN0$GO$gcb"),
        ("missing(IED1/LLN0$GO$gcb) == 0", 0, [1, 0, 0], ""),
        ("silent(02:00:00:00:00:02/0x0002) <= 1", 0, [1, 0, 0], ""),
        ("silent(goose) == 0", 3, [1, 1, 0], "02:00:00:00:00:02 IED2/LLN0$GO$gcb"),
        ("invalid < 1", 0, [2, 0, 0], ""),
        // There is none of these, and GOOSE has no period.
        ("missing(sv) == 0", 4, [0, 0, 0], ""),
        ("late.max(*) < 50 %", 4, [0, 0, 0], ""),
    ] {
        crate::watch_require::check_outcome(&path, required, code, counts, of);
    }
}
