//! PRP and HSR: duplicates, lone frames and the skew between LANs, found to the frame.

use crate::cyclic::write;
use crate::{check_code, records, run, stdout};
use serde_json::Value;
use wire::goose;

/// Frame of GOOSE number `n` without marks.
fn plain(n: u32) -> Vec<u8> {
    let pdu = goose::Pdu {
        appid: 1,
        reserved: [0; 2],
        control_block: b"LD/LLN0$GO$gcb",
        time_allowed_to_live_ms: 100,
        data_set: b"LD/LLN0$set",
        identifier: None,
        time: goose::UtcTime::default(),
        state_number: 1,
        sequence_number: n,
        is_simulated: false,
        configuration_revision: 1,
        needs_commissioning: false,
        entries: 1,
        data: &[0x83, 1, 1],
    };
    let mut frame = vec![1, 0x0C, 0xCD, 1, 0, 1, 2, 0, 0, 0, 0, 7];
    frame.extend([0x81, 0, 0x80, 5, 0x88, 0xB8]);
    frame.extend(pdu.encode());
    frame
}

/// Trailer of PRP of LAN A (10) or B (11).
fn trailed(n: u32, lan: u16) -> Vec<u8> {
    let mut frame = plain(n);
    let size = (frame.len() - 18 + 6) as u16;
    frame.extend((65_500_u32.wrapping_add(n) as u16).to_be_bytes());
    frame.extend((lan << 12 | size).to_be_bytes());
    frame.extend([0x88, 0xFB]);
    frame
}

/// Tag of HSR of one direction (0) or the other (1), behind the VLAN tag.
fn tagged(n: u32, path: u16) -> Vec<u8> {
    let mut frame = plain(n);
    let [high, low] = (path << 12 | 100).to_be_bytes();
    let [first, second] = (65_500_u32.wrapping_add(n) as u16).to_be_bytes();
    frame.splice(16..16, [0x89, 0x2F, high, low, first, second]);
    frame
}

/// 200 frames, one each 10 ms, on both LANs. LAN B is 3 ms later, and lacks 50 to 54; LAN A lacks 100;
/// both lack 120. A mirror port copies frame 130 of LAN A.
fn capture(mark: impl Fn(u32, u16) -> Vec<u8>, lans: [u16; 2]) -> Vec<(u32, Vec<u8>)> {
    let mut frames = Vec::new();
    for n in (0..200).filter(|n| *n != 120) {
        if n != 100 {
            frames.push((n * 10_000, mark(n, lans[0])));
        }
        if n == 130 {
            frames.push((n * 10_000 + 1, mark(n, lans[0])));
        }
        if !(50..55).contains(&n) {
            frames.push((n * 10_000 + 3_000, mark(n, lans[1])));
        }
    }
    frames
}

/// Numbers of a record.
fn numbers<const N: usize>(record: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| record[name].as_u64().unwrap())
}

#[track_caller]
fn check(frames: Vec<(u32, Vec<u8>)>, protocol: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.pcap");
    write(&path, frames);
    let path = path.display().to_string();
    let output = run(&["--json", "watch", "-r", &path]);
    check_code(&output, 0);
    let all = records(&output);
    let of = |protocol: &str| {
        all.iter().find(|it| it["type"] == "cyclic-stream" && it["protocol"] == protocol).unwrap()
    };
    let pairs = of(protocol);
    // 198 and one copy on A, 194 on B. The numbers cross 65,535.
    let names = ["frames", "missing", "copies", "on_a", "on_b", "lone_a", "lone_b", "a_first"];
    assert_eq!(numbers(pairs, names), [199, 0, 194, 199, 194, 5, 1, 193]);
    let skews = numbers(pairs, ["skew_p50_ns", "skew_max_ns"]);
    assert!(skews[0].abs_diff(3_000_000) < 3_000_000 / 128 && skews[1] == 3_000_000, "{skews:?}");
    // GOOSE is followed as if there was no redundancy: only frame 120 is missing.
    let goose = of("GOOSE");
    let counts = numbers(goose, ["frames", "missing", "copies", "repeated", "backwards", "vlan"]);
    assert_eq!(counts, [199, 1, 0, 0, 0, 5]);
    // Without the mark the frame is as long as it was sent.
    assert_eq!(goose["longest_octets"], plain(199).len());
    let text = stdout(&run(&["watch", "-r", &path]));
    assert!(text.contains("6 frames of PRP or HSR without a duplicate"), "{text}");
    assert!(text.contains("02:00:00:00:00:07: 5 on A only, 1 on B only, of 199"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let require = format!("lone({}) == 0", protocol.to_lowercase());
    check_code(&run(&["watch", "-r", &path, "--require", &require]), 3);
}

#[test]
fn lone_frames_of_prp_are_found_to_the_frame() {
    check(capture(trailed, [10, 11]), "PRP");
}

#[test]
fn lone_frames_of_hsr_are_found_to_the_frame() {
    check(capture(tagged, [0, 1]), "HSR");
}

#[test]
fn captures_with_known_losses_have_their_lone_frames() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures/cyclic/prp-hsr/");
    // Numbers of INDEX.md there: on A, on B, A only, B only. Two frames of LAN B carry the mark of A.
    for (name, expected) in
        [("own-prp.pcapng", [1_001, 993, 9, 3]), ("own-hsr.pcapng", [599, 551, 50, 2])]
    {
        let path = format!("{folder}{name}");
        if !std::path::Path::new(&path).exists() {
            println!("skipped: no ../shared");
            return;
        }
        let all = records(&run(&["--json", "watch", "-r", &path]));
        let is_it = |it: &&Value| it["type"] == "cyclic-stream" && it["on_a"].is_u64();
        let stream = all.iter().find(is_it).unwrap();
        let names = ["on_a", "on_b", "lone_a", "lone_b"];
        assert_eq!(numbers(stream, names), expected, "{name}");
    }
}

#[test]
fn a_tap_on_one_lan_has_no_lone_frames() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.pcap");
    write(&path, (0..200).map(|n| (n * 10_000, trailed(n, 11))));
    let path = path.display().to_string();
    let output = run(&["watch", "-r", &path, "--require", "lone(prp) == 0"]);
    // It cannot be decided there.
    check_code(&output, 4);
    let text = stdout(&output);
    assert!(text.contains("1 node of PRP or HSR on one path: does the tap see both?"), "{text}");
    assert!(!text.contains("without a duplicate"), "{text}");
}

#[test]
fn other_data_that_end_like_a_trailer_are_no_duplicates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.pcap");
    // The size is that of another frame.
    let frame = |n| [plain(n), vec![0, 1, 0xA0, 1, 0x88, 0xFB]].concat();
    write(&path, (0..10).map(|n| (n * 10_000, frame(n))));
    let all = records(&run(&["--json", "watch", "-r", &path.display().to_string()]));
    let streams: Vec<_> = all.iter().filter(|it| it["type"] == "cyclic-stream").collect();
    assert_eq!(streams.len(), 1);
    assert_eq!((&streams[0]["frames"], &streams[0]["protocol"]), (&10.into(), &"GOOSE".into()));
}

#[test]
fn supervision_of_redundancy_has_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("supervision.pcap");
    let frame = [
        &[1, 0x15, 0x4E, 0, 1, 0, 2, 0, 0, 0, 0, 7, 0x88, 0xFB, 0, 1, 0, 5, 20, 6][..],
        &[2, 0, 0, 0, 0, 7],
        &[0; 34],
    ]
    .concat();
    write(&path, [(0, frame)]);
    let path = path.display().to_string();
    let all = records(&run(&["--json", "watch", "-r", &path]));
    let end = all.iter().find(|it| it["type"] == "end").unwrap();
    assert_eq!(end["oddities"]["foreign: PRP supervision"], 1);
    let text = stdout(&run(&["dissect", "-r", &path]));
    assert!(text.contains("PRP supervision node=02:00:00:00:00:07 sequence=5"), "{text}");
}
