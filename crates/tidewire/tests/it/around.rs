//! `watch --keep-around`: the frames around events, each event in a capture of its own.

use crate::{check_code, run_in, stderr};
use std::fs;
use std::path::{Path, PathBuf};
use wire::capture::Capture;

/// Times and octets of the frames of a capture.
fn frames(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let mut capture = Capture::open(fs::File::open(path).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = capture.next().unwrap() {
        frames.push((frame.at.as_nanos(), frame.octets.to_vec()));
    }
    frames
}

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name)
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    kept.sort_by_key(|path| frames(path).first().map(|(at, _)| *at));
    kept
}

/// Times of the events of one name.
fn events(file: &Path, name: &str) -> Vec<u64> {
    let text = fs::read_to_string(file).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    events.filter(|it| it["event"] == name).map(|it| it["at_ns"].as_u64().unwrap()).collect()
}

#[test]
fn the_frames_around_each_event_are_kept_and_no_others() {
    const BEFORE_NS: u64 = 30_000_000;
    const AFTER_NS: u64 = 20_000_000;
    let folder = tempfile::tempdir().unwrap();
    let file = capture("cell.pcapng");
    let watch = [
        "watch",
        "-r",
        file.to_str().unwrap(),
        "--events",
        "events.ndjson",
        "--keep-around",
        "retransmission",
        "--before",
        "30 ms",
        "--after",
        "20 ms",
    ];
    let output = run_in(folder.path(), &watch);
    check_code(&output, 0);
    let times = events(&folder.path().join("events.ndjson"), "retransmission");
    assert!(times.len() >= 5, "5 DTs, as the first screen says");
    // Events within `after` of each other share a capture.
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for at in times {
        match spans.last_mut() {
            Some((_, until)) if at <= *until => *until = at + AFTER_NS,
            _ => spans.push((at - BEFORE_NS, at + AFTER_NS)),
        }
    }
    let all = frames(&file);
    let kept = kept(&folder.path().join("around"));
    assert_eq!(kept.len(), spans.len());
    for (path, (from, until)) in kept.iter().zip(spans) {
        let expected: Vec<_> =
            all.iter().filter(|(at, _)| (from..=until).contains(at)).cloned().collect();
        assert!(expected.len() > 1 && expected.len() < all.len() / 2, "{}", expected.len());
        assert!(frames(path) == expected, "{}", path.display());
        let said = format!("kept: around/{}", path.file_name().unwrap().to_str().unwrap());
        assert!(stderr(&output).contains(&said), "{}", stderr(&output));
    }
}

#[test]
fn a_late_stream_is_an_event() {
    let folder = tempfile::tempdir().unwrap();
    let cycles = frames(&capture("cycles.pcap"));
    // Without the frames of 10 ms in its midst, two streams are silent for longer than three periods.
    let from = cycles[cycles.len() / 2].0;
    let left: Vec<_> =
        cycles.iter().filter(|(at, _)| !(from..from + 10_000_000).contains(at)).collect();
    let file = fs::File::create(folder.path().join("cut.pcapng")).unwrap();
    let mut writer = wire::pcapng::Writer::new(file).unwrap();
    let interface = writer.interface(wire::dissect::Link::Ethernet, "lan0").unwrap();
    for (at, octets) in left {
        let at = wire::time::Instant::ZERO + std::time::Duration::from_nanos(*at);
        writer.write(interface, at, octets, octets.len(), "").unwrap();
    }
    writer.flush().unwrap();
    let found = |file: &str| {
        let watch = ["watch", "-r", file, "--events", "e", "--keep-around", "stream-silent"];
        check_code(&run_in(folder.path(), &watch), 0);
        let events = |name| events(&folder.path().join("e"), name).len();
        (events("stream-silent"), events("stream-frames-missing"))
    };
    let whole = capture("cycles.pcap");
    assert_eq!(found(whole.to_str().unwrap()), (0, 1), "one frame is missing, as README says");
    assert!(kept(&folder.path().join("around")).is_empty());
    assert_eq!(found("cut.pcapng"), (2, 3));
    let kept = kept(&folder.path().join("around"));
    assert_eq!(kept.len(), 1, "all within the 5 s after the first");
    let name = kept[0].file_name().unwrap().to_str().unwrap();
    assert!(name.contains("-stream-"), "{name}");
}

#[test]
fn events_without_room_on_the_disk_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = capture("cell.pcapng");
    let keep = ["--keep-around", "*", "--before", "1 ms", "--after", "1 ms", "--keep-most", "3 kB"];
    let watch = [&["watch", "-r", file.to_str().unwrap()], &keep[..]].concat();
    let output = run_in(folder.path(), &watch);
    check_code(&output, 0);
    assert!(stderr(&output).contains("nothing was kept around"), "{}", stderr(&output));
    let sizes = kept(&folder.path().join("around"))
        .into_iter()
        .map(|path| fs::metadata(path).unwrap().len());
    // The head of a capture is written before its first frame.
    let octets: u64 = sizes.sum();
    assert!((1_000..4_000).contains(&octets), "{octets}");
}

#[test]
fn every_event_can_be_kept_and_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = run_in(folder.path(), &["watch", "-r", "x", "--keep-around", "stream-slient"]);
    check_code(&refused, 1);
    let file = capture("cell.pcapng");
    let watch = ["watch", "-r", file.to_str().unwrap(), "--keep-around", "stream-slient"];
    let output = run_in(folder.path(), &watch);
    check_code(&output, 2);
    let known = stderr(&output);
    assert!(known.contains("there is no such event"), "{known}");
    let captures = fs::read_dir(capture("")).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = 0;
    for path in captures {
        let words = ["watch", "-q", "-r", path.to_str().unwrap(), "--events", "e"];
        run_in(folder.path(), &words);
        let Ok(text) = fs::read_to_string(folder.path().join("e")) else { continue };
        for line in text.lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let name = record["event"].as_str().unwrap();
            assert!(known.split([',', ' ', '\n']).any(|word| word == name), "{name}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}
