//! Requests and replies of Modbus: the slow device is on the first screen, in records, in tables, a
//! finding, and fails a requirement.

use crate::{check_code, records, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use wire::modbus;
use wire::tcp::{self, Flags};

/// Segment between the client 10.0.0.5 and the gateway 10.0.0.20, sent by one of them.
struct Wire {
    next: [u32; 2],
    frames: Vec<(u64, Vec<u8>)>,
}

impl Wire {
    fn segment(&mut self, at_us: u64, is_reply: bool, flags: u8, octets: &[u8]) {
        let way = usize::from(is_reply);
        let mut ports = [40_123, modbus::PORT];
        let mut ends = [[10, 0, 0, 5], [10, 0, 0, 20]];
        if is_reply {
            ports.reverse();
            ends.reverse();
        }
        let numbers = [self.next[way], self.next[1 - way]];
        let mut segment = Vec::new();
        tcp::Pdu::between(ports, Flags(flags), numbers, octets).encode(&mut segment);
        let packet = wire::ipv4::Pdu::carrying(tcp::PROTOCOL, ends.map(Into::into), &segment);
        let mut frame = vec![2, 0, 0, 0, 0, ends[1][3], 2, 0, 0, 0, 0, ends[0][3], 8, 0];
        packet.encode(&mut frame);
        frame.resize(frame.len().max(60), 0);
        let length = octets.len() as u32 + u32::from(flags & 3 != 0);
        self.next[way] = self.next[way].wrapping_add(length);
        self.frames.push((at_us, frame));
    }

    fn request(&mut self, at_us: u64, pdu: &modbus::Pdu<'_>) {
        self.segment(at_us, false, 0x18, &pdu.encode());
    }

    fn reply(&mut self, at_us: u64, pdu: &modbus::Pdu<'_>) {
        self.segment(at_us, true, 0x18, &pdu.encode());
    }
}

/// The capture of the README: a controller polls three devices behind a gateway once a second, one
/// after the other. Device 1 answers in 4 ms and device 3 in 6 ms, once with an exception. Device 2
/// takes 180 ms, and leaves the requests 5 and 15 without a reply.
fn gateway() -> Vec<(u64, Vec<u8>)> {
    let mut wire = Wire { next: [1_000, 9_000], frames: Vec::new() };
    wire.segment(0, false, 0x02, &[]);
    wire.segment(300, true, 0x12, &[]);
    let mut transaction = 0;
    for n in 0..30_u64 {
        for unit in 1..=3_u8 {
            let at_us = 1_000 + n * 1_000_000 + u64::from(unit - 1) * 300_000;
            let pdu = |data: &'static [u8]| modbus::Pdu {
                transaction,
                unit,
                function: 3,
                is_exception: false,
                data,
            };
            wire.request(at_us, &pdu(&[0, 16, 0, 2]));
            let behind_us = [4_000, 180_000, 6_000][usize::from(unit - 1)];
            let values = pdu(&[4, 0, 1, 0, 2]);
            match (unit, n) {
                (2, 5 | 15) => {}
                (3, 15) => wire.reply(
                    at_us + behind_us,
                    &modbus::Pdu { is_exception: true, data: &[4], ..values },
                ),
                _ => wire.reply(at_us + behind_us, &values),
            }
            transaction += 1;
        }
    }
    wire.frames
}

/// Polls of device 1 at these times, in microseconds, each answered after 4 ms.
pub(crate) fn polls(times_us: &[u64]) -> Vec<(u64, Vec<u8>)> {
    let mut wire = Wire { next: [1_000, 9_000], frames: Vec::new() };
    wire.segment(0, false, 0x02, &[]);
    wire.segment(300, true, 0x12, &[]);
    for (transaction, at_us) in (0..).zip(times_us) {
        let pdu = |data: &'static [u8]| modbus::Pdu {
            transaction,
            unit: 1,
            function: 3,
            is_exception: false,
            data,
        };
        wire.request(*at_us, &pdu(&[0, 16, 0, 2]));
        wire.reply(at_us + 4_000, &pdu(&[4, 0, 1, 0, 2]));
    }
    wire.frames
}

/// Writes a capture of frames, each with its time in microseconds.
pub(crate) fn write(path: &Path, frames: impl IntoIterator<Item = (u64, Vec<u8>)>) {
    let mut octets = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    octets.extend([0, 0, 1, 0, 1, 0, 0, 0]);
    for (at_us, frame) in frames {
        let length = frame.len() as u32;
        for word in [7 + (at_us / 1_000_000) as u32, (at_us % 1_000_000) as u32, length, length] {
            octets.extend(word.to_le_bytes());
        }
        octets.extend(frame);
    }
    fs::write(path, octets).unwrap();
}

fn capture(folder: &Path) -> String {
    let path = folder.join("gateway.pcap");
    write(&path, gateway());
    path.display().to_string()
}

#[test]
fn the_slow_device_behind_a_gateway_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = capture(folder.path());
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/gateway.pcap");
    if std::env::var_os("BLESS").is_some() {
        fs::copy(&path, kept).unwrap();
    }
    assert!(fs::read(&path).unwrap() == fs::read(kept).unwrap(), "BLESS=1 makes {kept} anew");
    let output = run(&["--json", "watch", "--measure", "10s", "-r", &path]);
    check_code(&output, 0);
    let records = records(&output);
    let is_second = |it: &&Value| it["type"] == "transactions" && it["unit"] == 2;
    let second = records.iter().find(is_second).unwrap();
    assert_eq!(
        (&second["protocol"], &second["server"]),
        (&"Modbus/TCP".into(), &"10.0.0.20".into())
    );
    assert_eq!(second["function_name"], "read holding registers");
    let names = ["requests", "replies", "unanswered", "responses", "response_max_ns", "periods"];
    let found = names.map(|name| second[name].as_u64().unwrap());
    assert_eq!(found, [30, 28, 2, 28, 180_000_000, 29]);
    assert_eq!(second["period_max_ns"], 1_000_000_000);
    // Each interval has its own counts: ten polls, of which one has no reply in the first two.
    let intervals: Vec<_> =
        records.iter().filter(|it| it["type"] == "transactions-interval").collect();
    assert_eq!(intervals.len(), 3);
    for (interval, replies) in intervals.iter().zip([9, 9, 10]) {
        assert_eq!(interval["in_interval"][0]["unit"], 2);
        assert_eq!(interval["in_interval"][0]["replies"], replies);
    }
    assert_eq!(intervals[1]["totals"]["requests"], 60);
    let so_far = intervals[1]["slowest"].as_array().unwrap();
    assert_eq!(so_far.iter().find(|it| it["unit"] == 2).unwrap()["replies"], 18);
    let findings: Vec<_> = records.iter().filter(|it| it["type"] == "finding").collect();
    let finding = |text: &str| {
        let found = findings.iter().find(|it| it["text"].as_str().unwrap().contains(text));
        found.unwrap_or_else(|| panic!("{text}: {findings:?}"))
    };
    let unanswered = finding("2 of 90 requests had no reply");
    assert_eq!(unanswered["grade"], "wrong");
    assert_eq!(unanswered["evidence"], "10.0.0.20 unit 2 function 3: 2 of them");
    finding("1 of 88 requests was answered by an exception");
    finding("10.0.0.20 unit 2 is the slowest Modbus/TCP device: max 180 ms");
}

#[test]
fn tables_and_lines_have_the_same_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = capture(folder.path());
    let tables = folder.path().display().to_string();
    check_code(&run(&["watch", "-q", "-r", &path, "--csv", &tables]), 0);
    let table = fs::read_to_string(folder.path().join("transactions.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 4, "{table}");
    let cell = |name: &str| {
        let place = rows[0].iter().position(|known| *known == name).unwrap();
        rows[2][place]
    };
    assert_eq!([cell("unit"), cell("requests"), cell("unanswered")], ["2", "30", "2"]);
    assert_eq!(cell("response_mean_ns"), "180000000");
    assert_eq!(cell("function_name"), "read holding registers");
    let lines = String::from_utf8(run(&["watch", "-r", &path]).stdout).unwrap();
    let row = lines.lines().skip_while(|line| !line.contains("slowest server")).nth(1).unwrap();
    assert!(row.starts_with("  10.0.0.20          2  3 read"), "{row}");
    assert!(row.ends_with("  28     2   180ms    -   180ms"), "{row}");
    assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
    assert!(lines.contains("180 frames, 3 functions of servers, no TPDU"), "{lines}");
}

#[test]
fn requirements_on_devices_decide_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = capture(folder.path());
    for (required, code, counts, of) in [
        ("response.p99(modbus) < 20 ms", 3, [2, 1, 0], "10.0.0.20/2/3"),
        ("response.p99(10.0.0.20/1) < 20 ms", 0, [1, 0, 0], ""),
        ("response.max(10.0.0.20/2/3) < 200 ms", 0, [1, 0, 0], ""),
        ("unanswered(modbus) == 0", 3, [2, 1, 0], "10.0.0.20/2/3"),
        ("exceptions(10.0.0.20/3) == 0", 3, [0, 1, 0], "10.0.0.20/3/3"),
        ("period.max(modbus) < 1100 ms", 0, [3, 0, 0], ""),
        // There is no such unit.
        ("retries(10.0.0.20/9) == 0", 4, [0, 0, 0], ""),
    ] {
        crate::watch_require::check_outcome(&path, required, code, counts, of);
    }
    let wrong = run(&["watch", "-r", &path, "--require", "late.max(modbus/1) < 1 ms"]);
    assert_ne!(wrong.status.code(), Some(0));
}
