//! EtherCAT and PTP on the first screen, in records, tables, findings and requirements.

use crate::cyclic::write;
use crate::{check_code, records, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use wire::ethercat::{Datagram, Pdu};
use wire::ptp::{self, Announce, Clock, Kind, Port};

/// Two hundred cycles of 2 ms of a master. Frames come back after 40 us: 50 does not, and those from 90 to
/// 93 have a working counter of 1 and not 3.
fn cycles(path: &Path) {
    let frame = |n: u32, is_back: bool| {
        let counter = if (90..94).contains(&n) { 1 } else { 3 };
        let datagram = Datagram {
            command: 12,
            index: n as u8,
            address: 0x0001_0000,
            interrupt: 0,
            data: &[0; 32],
            working_counter: if is_back { counter } else { 0 },
        };
        let source = if is_back { 0x12 } else { 0x10 };
        let head = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, source, 0, 0, 0, 0, 1, 0x88, 0xA4];
        [&head[..], &Pdu::encode(&[datagram])].concat()
    };
    let both = (0..200).flat_map(|n| {
        let out = (n * 2_000, frame(n, false));
        let back = (n != 50).then(|| (n * 2_000 + 40, frame(n, true)));
        [Some(out), back].into_iter().flatten()
    });
    // A last frame 0 ends the wait for the one that is lost: its index is 50, too.
    write(path, both.chain([(400_000, frame(306, false)), (400_040, frame(306, true))]));
}

/// Announce and Sync of two clocks, one a second each: the first stops after ten seconds.
fn clocks(path: &Path) {
    let frame = |source: u8, kind: Kind, n: u32| {
        let clock = Clock([2, 0, 0, 0xFF, 0xFE, 0, 0, source]);
        let announce = Announce {
            priority_1: 100 + source,
            class: 5 + source,
            accuracy: 0x21,
            variance: 0,
            priority_2: 128,
            grandmaster: clock,
            steps_removed: 0,
            utc_offset: 37,
            time_source: 0x20,
        };
        let pdu = ptp::Pdu {
            major_sdo: 0,
            kind,
            minor_version: 0,
            length: 0,
            domain: 0,
            minor_sdo: 0,
            flags: 0,
            correction: 0,
            port: Port { clock, number: 1 },
            sequence: n as u16,
            log_interval: 0,
            time_ns: Some(1_700_000_000_000_000_000 + u64::from(n) * 1_000_000_000),
            requesting: None,
            announce: (kind == Kind::Announce).then_some(announce),
        };
        let head = [1, 0x1B, 0x19, 0, 0, 0, 2, 0, 0, 0, 0, source, 0x88, 0xF7];
        [&head[..], &pdu.encode()].concat()
    };
    // Sync 15 of the second clock takes 30 us longer than the others.
    let late_us = |n: u32| if n == 15 { 30 } else { 0 };
    let sent = (0..30).flat_map(|n| {
        let first = (n < 10).then_some(1);
        let both = first.into_iter().chain((n >= 14).then_some(2));
        both.flat_map(move |source| {
            let at = n * 1_000_000 + u32::from(source) * 10;
            [
                (at, frame(source, Kind::Announce, n)),
                (at + 5 + late_us(n), frame(source, Kind::Sync, n)),
            ]
        })
    });
    write(path, sent);
}

fn stream<'a>(records: &'a [Value], name: &str) -> &'a Value {
    let is_it = |it: &&Value| it["type"] == "cyclic-stream" && it["name"] == name;
    records.iter().find(is_it).unwrap()
}

fn numbers<const N: usize>(of: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| of[name].as_u64().unwrap_or_else(|| panic!("{name} of {of}")))
}

#[test]
fn a_device_that_does_not_answer_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cycles.pcap");
    cycles(&path);
    let path = path.display().to_string();
    let output = run(&["--json", "watch", "-r", &path]);
    check_code(&output, 0);
    let records = records(&output);
    let of = stream(&records, "LRW 00010000");
    let found = numbers(
        of,
        ["frames", "missing", "answered", "unanswered", "low_working_counters", "stamp_step_ns"],
    );
    assert_eq!(found, [201, 1, 200, 1, 4, 10_000]);
    assert_eq!(numbers(of, ["round_trip_max_ns", "period_ns"]), [40_000, 2_000_000]);
    let findings: Vec<_> = records.iter().filter(|it| it["type"] == "finding").collect();
    let text = findings[0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("4 EtherCAT frames came back with a working counter too low"),
        "{text}"
    );
    assert_eq!(findings[0]["evidence"], "10:00:00:00:00:01 LRW 00010000: 4 of 200");
    let lines = String::from_utf8(run(&["watch", "-r", &path]).stdout).unwrap();
    assert!(lines.contains("1 frame of EtherCAT did not come back"), "{lines}");
    assert!(
        lines.contains(
            "times: stamps of the capture, resolution 1 us by its header, in steps of 10.0 us"
        ),
        "{lines}"
    );
    let row = lines.lines().skip_while(|line| !line.contains("answers to")).nth(1).unwrap();
    assert!(row.contains("LRW 00010000       200    1") && row.ends_with("  4"), "{row}");
    assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
    let tables = folder.path().display().to_string();
    check_code(&run(&["watch", "-q", "-r", &path, "--csv", &tables]), 0);
    let table = fs::read_to_string(folder.path().join("streams.csv")).unwrap();
    let [heads, row] = table.lines().collect::<Vec<_>>()[..] else { panic!("{table}") };
    let cells: Vec<_> = heads.split(',').zip(row.split(',')).collect();
    let cell = |name: &str| cells.iter().find(|(known, _)| *known == name).unwrap().1;
    let found = ["unanswered", "low_working_counters", "round_trip_max_ns"].map(cell);
    assert_eq!(found, ["1", "4", "40000"]);
    for (requirement, code) in [
        ("low-counters(ethercat) == 0", 3),
        ("low-counters(ptp) == 0", 4),
        ("round-trip.max(*) < 41 us", 0),
        ("round-trip.max(*) < 40 us", 3),
        ("no-answer(ethercat) < 2", 0),
    ] {
        let output = run(&["watch", "-q", "-r", &path, "--require", requirement]);
        println!("seen: {requirement} {:?}", output.status.code());
        check_code(&output, code);
    }
}

#[test]
fn a_grandmaster_that_stops_is_told_with_its_successor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clocks.pcap");
    clocks(&path);
    let path = path.display().to_string();
    let output = run(&["--json", "watch", "-r", &path]);
    check_code(&output, 0);
    let records = records(&output);
    let of = stream(&records, "Announce 020000.fffe.000002-1");
    assert_eq!(of["grandmaster"], "020000.fffe.000002");
    assert_eq!(numbers(of, ["clock_class", "steps_removed", "grandmaster_changes"]), [7, 0, 1]);
    let sync = stream(&records, "Sync 020000.fffe.000002-1");
    let found = numbers(sync, ["stamps", "transit_late_max_ns", "transit_early_max_ns"]);
    assert_eq!(found, [16, 30_000, 30_000]);
    let lines = String::from_utf8(run(&["watch", "-r", &path]).stdout).unwrap();
    assert!(lines.contains("the grandmaster of PTP changed 1 time"), "{lines}");
    assert!(lines.contains("announces 020000.fffe.000002, class 7"), "{lines}");
    assert!(lines.contains("02:00:00:00:00:01  Announce 0001      10        0   0+end"), "{lines}");
    assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
    for (requirement, code) in [
        ("grandmaster-changes(ptp) == 0", 3),
        ("transit.max(ptp) < 31 us", 0),
        ("transit.max(ptp) < 30 us", 3),
        ("silent(ptp) == 0", 3),
    ] {
        let output = run(&["watch", "-q", "-r", &path, "--require", requirement]);
        println!("seen: {requirement} {:?}", output.status.code());
        check_code(&output, code);
    }
}
