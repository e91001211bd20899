//! The slow device: the first host of records, the finding, the table, and an exit code on request.

use crate::{check_code, records, run};
use std::fs;
use std::path::Path;

/// S7 over class 0: an Ethernet frame with one TPKT of a PDU with this reference.
fn frame(from: u8, to: u8, ports: [u16; 2], numbers: [u32; 2], kind: u8, reference: u8) -> Vec<u8> {
    let pdu = [0x32, kind, 0, 0, 0, reference, 0, 2, 0, 0, 4, 1];
    let tpkt = [&[3, 0, 0, 19, 2, 0xF0, 0x80][..], &pdu].concat();
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0];
    let length = 40 + tpkt.len() as u16;
    frame.extend([0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, reference, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    ports.iter().for_each(|port| frame.extend(port.to_be_bytes()));
    numbers.iter().for_each(|number| frame.extend(number.to_be_bytes()));
    frame.extend([0x50, 0x18, 0x20, 0, 0, 0, 0, 0]);
    frame.extend(tpkt);
    frame
}

/// A capture of 25 exchanges with each of two controllers, two requests outstanding at a time: 3 answers after
/// 40 ms, and sends more; 2 after 9 ms.
fn capture(path: &Path) {
    let mut frames: Vec<(u64, Vec<u8>)> = Vec::new();
    for (controller, takes) in [(2_u8, 9), (3, 40)] {
        let ports = [49_000 + u16::from(controller), 102];
        let back = [ports[1], ports[0]];
        for n in 0..25_u32 {
            let (there, replied) = (19 * n, 19 * n);
            let at = 1_000 + 30 * u64::from(n);
            let numbers = [1_000 + there, 5_000 + replied.saturating_sub(38)];
            frames.push((at, frame(1, controller, ports, numbers, 1, n as u8)));
            let numbers = [5_000 + replied, 1_000 + there + 19];
            frames.push((at + takes, frame(controller, 1, back, numbers, 3, n as u8)));
        }
    }
    frames.sort();
    let mut octets = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    octets.extend([0, 0, 1, 0, 1, 0, 0, 0]);
    for (millis, frame) in frames {
        let length = frame.len() as u32;
        for word in [(millis / 1_000) as u32, (millis % 1_000 * 1_000) as u32, length, length] {
            octets.extend(word.to_le_bytes());
        }
        octets.extend(frame);
    }
    fs::write(path, octets).unwrap();
}

#[test]
fn the_slowest_device_comes_first_in_records_and_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.pcap");
    capture(&path);
    let path = path.display().to_string();
    let output = run(&["--json", "watch", "-r", &path, "--measure", "10 s"]);
    check_code(&output, 0);
    let records = records(&output);
    let hosts: Vec<_> = records.iter().filter(|record| record["type"] == "host").collect();
    assert_eq!(hosts[0]["host"], "10.0.0.3");
    let sent = &hosts[0]["sent"];
    for name in ["response_min_ns", "response_p99_ns", "response_max_ns"] {
        assert_eq!(sent[name], 40_000_000, "{name}");
    }
    assert_eq!((&sent["responses"], &sent["responses_ambiguous"]), (&25.into(), &0.into()));
    let total = records.iter().find(|record| record["type"] == "total").unwrap();
    assert_eq!(total["measures"]["connections_adopted"], 2);
    let finding = records.iter().find(|record| record["type"] == "finding").unwrap();
    assert_eq!(finding["text"], "10.0.0.3 replies slowest: max 40.0 ms");
    assert_eq!(finding["evidence"], "10.0.0.3: mean 40.0 ms, p50 40.0 ms, n 25");
    assert!(finding["command"].as_str().unwrap().starts_with("tidewire watch -r "));

    let output = run(&["watch", "-r", &path, "--screen", "measures", "--plain"]);
    check_code(&output, 0);
    let lines = String::from_utf8(output.stdout).unwrap();
    let table = lines.lines().skip_while(|line| !line.contains("slowest replies"));
    let first = table.skip(1).map(|line| line.split_whitespace().next().unwrap()).next();
    assert_eq!(first, Some("10.0.0.3"));

    // On a terminal the last lines are those that are seen.
    let lines = String::from_utf8(run(&["watch", "-r", &path]).stdout).unwrap();
    let place = |text: &str| lines.find(text).unwrap_or_else(|| panic!("no {text:?}: {lines}"));
    let places = ["\n  connection ", "100 frames", "slowest replies", "10.0.0.3 replies slowest"];
    assert!(places.map(place).is_sorted(), "{lines}");
    assert!(!lines.contains("fewer than 20"), "{lines}");
}

#[test]
fn a_finding_is_an_exit_code_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.pcap");
    capture(&path);
    let path = path.display().to_string();
    check_code(&run(&["watch", "-r", &path, "--fail-on", "note"]), 3);
    check_code(&run(&["watch", "-r", &path, "--fail-on", "wrong"]), 0);
}

#[test]
fn a_silence_is_one_record_whatever_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rare.pcap");
    let mut octets = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    octets.extend([0, 0, 1, 0, 1, 0, 0, 0]);
    for n in 0..4_u32 {
        let frame = frame(1, 2, [49_000, 102], [1_000 + 19 * n, 1], 1, n as u8);
        for word in [n * 1_000_000, 0, frame.len() as u32, frame.len() as u32] {
            octets.extend(word.to_le_bytes());
        }
        octets.extend(frame);
    }
    fs::write(&path, octets).unwrap();
    let path = path.display().to_string();
    let output = run(&["--json", "watch", "-r", &path, "--measure", "10 s", "--report", "1 s"]);
    check_code(&output, 0);
    let records = records(&output);
    let complete =
        |record: &&serde_json::Value| record["type"] == "interval" && record["complete"] == true;
    let intervals: Vec<u64> = records
        .iter()
        .filter(complete)
        .map(|record| record["intervals"].as_u64().unwrap())
        .collect();
    // Frames 1,000,000 s apart: the interval of each, and 99,999 between two.
    assert_eq!(intervals, [1, 99_999, 1, 99_999, 1, 99_999, 1]);
    // Of the four intervals that were heard ten reports of at most six records each, and a few of each silence.
    assert!(records.len() < 4 * 10 * 6 + 60, "{} records", records.len());
}

#[test]
fn a_layer_that_the_tap_cannot_see_is_undecided() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("centre.pcapng").display().to_string();
    check_code(
        &run(&["reproduce", "nbsir-85-3104", "--capture-at", "test-centre", "--capture", &path]),
        0,
    );
    let watch = ["watch", "-r", &path, "--measure", "15 min"];
    check_code(&run(&[&watch[..], &["--require", "U_C < 1 %"]].concat()), 4);
    check_code(&run(&[&watch[..], &["--require", "T_T < 10 kbit/s"]].concat()), 0);
    let output = run(&watch);
    let lines = String::from_utf8(output.stdout).unwrap();
    let row = lines.lines().find(|line| line.starts_with("   0 ")).unwrap();
    assert_eq!(row.split_whitespace().skip(2).take(2).collect::<Vec<_>>(), ["n/a", "n/a"]);
    assert!(row.ends_with("n/a") && lines.contains("192.0.2.3>192.0.2.4"), "{row}");
}
