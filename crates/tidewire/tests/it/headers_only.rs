//! Captures without user data: what `watch` makes of them is what it makes of whole frames.

use crate::watch::{capture, data, shared};
use crate::{check_code, records, run_in};
use serde_json::Value;
use std::fs;
use std::path::Path;

const MILLISECOND: u64 = 1_000_000;

/// A segment from port 102 of host 2 or to it, with TPKTs of class 0 in it.
fn segment(is_reply: bool, sequence: u32, tpdus: &[Vec<u8>]) -> Vec<u8> {
    let data: Vec<u8> = tpdus
        .iter()
        .flat_map(|user| {
            let length = (7 + user.len()) as u16;
            [&[3, 0][..], &length.to_be_bytes(), &[2, 0xF0, 0x80], user].concat()
        })
        .collect();
    let (from, to) = if is_reply { (2, 1) } else { (1, 2) };
    let ports = if is_reply { [102_u16, 40_000] } else { [40_000, 102] };
    let mut octets = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0, 0x45, 0];
    octets.extend((40 + data.len() as u16).to_be_bytes());
    octets.extend([0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    ports.iter().for_each(|port| octets.extend(port.to_be_bytes()));
    octets.extend(sequence.to_be_bytes());
    octets.extend([0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
    octets.extend(data);
    octets
}

/// An S7 PDU: a job, its acknowledgement with data, or user data that asks (type 4) or answers (8).
fn pdu(kind: u8, reference: u8, type_of_user_data: u8) -> Vec<u8> {
    let mut octets = vec![0x32, kind, 0, 0, 0, reference];
    match kind {
        1 => octets.extend([0, 14, 0, 0, 4, 1, 0x12, 10, 16, 2, 0, 8, 0, 1, 0x84, 0, 0, 0]),
        3 => octets.extend([0, 2, 0, 12, 0, 0, 4, 1, 0xFF, 4, 0, 64, 1, 2, 3, 4, 5, 6, 7, 8]),
        _ => octets.extend([
            0,
            8,
            0,
            4,
            0,
            1,
            0x12,
            4,
            0x11,
            type_of_user_data << 4,
            1,
            0,
            10,
            0,
            0,
            0,
        ]),
    }
    octets
}

/// Polls with two jobs and a request of user data outstanding, answered in another order; the two jobs in one
/// segment.
fn polls() -> Vec<u8> {
    let (mut frames, mut next) = (Vec::new(), [1_u32, 1]);
    let mut send = |at: u64, is_reply: bool, pdus: &[Vec<u8>]| {
        let octets = segment(is_reply, next[usize::from(is_reply)], pdus);
        next[usize::from(is_reply)] += octets.len() as u32 - 54;
        frames.push((at, octets));
    };
    for round in 0..50_u8 {
        let at = u64::from(round) * 100 * MILLISECOND;
        let reference = round.wrapping_mul(3);
        send(at, false, &[pdu(1, reference, 0), pdu(1, reference + 1, 0)]);
        send(at + MILLISECOND, false, &[pdu(7, reference + 2, 4)]);
        send(at + 5 * MILLISECOND, true, &[pdu(7, reference + 2, 8)]);
        send(at + 9 * MILLISECOND, true, &[pdu(3, reference + 1, 0)]);
        send(at + 20 * MILLISECOND, true, &[pdu(3, reference, 0)]);
    }
    capture(&frames)
}

/// Records of a capture, without what names it.
fn metered(folder: &Path, name: &str) -> Vec<Value> {
    let output = run_in(folder, &["watch", "-r", name, "--json"]);
    check_code(&output, 0);
    let mut records = records(&output);
    records.retain(|record| record["type"] != "stream");
    for finding in records.iter_mut().filter(|record| record["type"] == "finding") {
        finding["command"].take();
    }
    records
}

/// Writes the headers of a capture, and gives what is metered of either.
fn both(octets: &[u8]) -> [Vec<Value>; 2] {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), octets).unwrap();
    let arguments = ["capture", "-r", "a.pcap", "-w", "headers.pcapng"];
    check_code(&run_in(folder.path(), &arguments), 0);
    ["a.pcap", "headers.pcapng"].map(|name| metered(folder.path(), name))
}

#[test]
fn headers_alone_give_the_same_response_times_of_s7() {
    let [whole, headers] = both(&polls());
    assert_eq!(headers, whole);
    let total = whole.iter().find(|record| record["type"] == "total").unwrap();
    // 20 ms, 9 ms and 4 ms in each of 50 rounds.
    let measures = &total["measures"];
    assert_eq!(measures["responses"], 150);
    assert_eq!(measures["response_total_ns"], 50 * 33 * MILLISECOND);
    assert_eq!(measures["responses_ambiguous"], 0);
    let connection = whole.iter().find(|record| record["type"] == "connection").unwrap();
    assert_eq!(connection["user"], "S7");
}

#[test]
fn headers_alone_are_no_oddity_and_frames_that_were_cut_are() {
    let frames: Vec<_> = (0..9_u8).map(|n| (u64::from(n) * MILLISECOND, data(n))).collect();
    let [whole, headers] = both(&capture(&frames));
    assert_eq!(headers, whole);
    assert_eq!(whole.last().unwrap()["oddities"]["truncated: user data"], Value::Null);

    // The same octets by a writer that does not say why user data is missing.
    let folder = tempfile::tempdir().unwrap();
    let mut writer = wire::pcap::Writer::new(Vec::new(), wire::dissect::Link::Ethernet).unwrap();
    for (at, octets) in &frames {
        let at = wire::time::Instant::from_nanos(*at);
        writer.write(at, &octets[..28], octets.len()).unwrap();
    }
    fs::write(folder.path().join("cut.pcap"), writer.into_inner()).unwrap();
    let cut = metered(folder.path(), "cut.pcap");
    assert_eq!(cut.last().unwrap()["oddities"]["truncated: user data"], 9);
}

#[test]
fn annotating_a_capture_without_user_data_adds_no_oddity() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), polls()).unwrap();
    let run = |arguments: &[&str]| check_code(&run_in(folder.path(), arguments), 0);
    run(&["capture", "-r", "a.pcap", "-w", "headers.pcapng"]);
    run(&["watch", "-r", "headers.pcapng", "--annotate", "seen.pcapng"]);
    assert_eq!(metered(folder.path(), "seen.pcapng"), metered(folder.path(), "a.pcap"));
}

#[test]
fn headers_with_rdp_cookies_are_read_without_a_fault() {
    let Some(path) = shared("captures", "rdp-tpkt/rdp-x509.pcap") else { return };
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["dissect", "-r", path.to_str().unwrap(), "--json"]);
    check_code(&output, 0);
    let text = records(&output).iter().map(Value::to_string).collect::<String>();
    assert!(text.contains("Cookie: mstshash=") && !text.contains("not understood"), "{text}");
}

#[test]
fn an_anonymised_copy_gives_the_same_response_times_of_s7() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), polls()).unwrap();
    fs::write(folder.path().join("key"), "15f2".repeat(16)).unwrap();
    let masked = ["watch", "-r", "a.pcap", "--json", "--anonymize", "--anonymize-key", "key"];
    let output = run_in(folder.path(), &[&masked[..], &["--annotate", "b.pcapng"]].concat());
    check_code(&output, 0);
    let mut expected = records(&output);
    expected.retain(|record| record["type"] != "stream");
    for finding in expected.iter_mut().filter(|record| record["type"] == "finding") {
        finding["command"].take();
    }
    let copy = metered(folder.path(), "b.pcapng");
    let total = copy.iter().find(|record| record["type"] == "total").unwrap();
    assert_eq!(total["measures"]["responses"], 150);
    assert_eq!(copy, expected);
}
