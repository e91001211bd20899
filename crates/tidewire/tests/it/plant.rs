//! `watch --write-scenario`: what was watched, simulated.

use crate::{check_code, run_in, stderr, stdout};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::capture::Capture;

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name)
}

fn write_scenario(folder: &Path, capture: &Path) -> String {
    let watch = ["watch", "-q", "-r", capture.to_str().unwrap(), "--write-scenario", "plant.toml"];
    check_code(&run_in(folder, &watch), 0);
    fs::read_to_string(folder.join("plant.toml")).unwrap()
}

/// Frames within a second of the first, by their length and the priority of their tag.
fn frames(path: &Path) -> BTreeMap<(usize, Option<u8>), u64> {
    let mut capture = Capture::open(fs::File::open(path).unwrap()).unwrap();
    let (mut frames, mut first) = (BTreeMap::new(), None);
    while let Some(frame) = capture.next().unwrap() {
        if frame.at.since(*first.get_or_insert(frame.at)) >= Duration::from_secs(1) {
            break;
        }
        let tag = frame.octets.get(12..15).filter(|tag| tag[..2] == [0x81, 0]);
        let priority = tag.map(|tag| tag[2] >> 5);
        *frames.entry((frame.original_octets, priority)).or_default() += 1;
    }
    frames
}

#[test]
fn streams_come_back_with_their_periods_lengths_and_deadlines() {
    let folder = tempfile::tempdir().unwrap();
    let text = write_scenario(folder.path(), &shipped("cycles.pcap"));
    // README has the periods of the two, and their frames have the least length.
    for line in [
        "pattern = { kind = \"cyclic\", period = \"1 ms\" }",
        "pattern = { kind = \"cyclic\", period = \"2 ms\" }",
        "deadline = \"3 ms\"",
        "deadline = \"6 ms\"",
        "# 499 frames in 499 ms, 1 missing; at most 700 us late, 700 us early",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let predict =
        ["predict", "plant.toml", "-n", "1", "--no-save", "--capture", "predicted.pcapng"];
    let output = run_in(folder.path(), &predict);
    check_code(&output, 0);
    assert!(stdout(&output).contains("always met"), "{}", stdout(&output));
    let predicted = frames(&folder.path().join("predicted.pcapng"));
    let lengths: Vec<_> = predicted.keys().copied().collect();
    assert_eq!(lengths, [(60, Some(0))], "of the length in the capture, with the tag of switches");
    // In a second, 1,000 frames of the one and 500 of the other, as their starts fall.
    let count = predicted[&(60, Some(0))];
    assert!((1_498..=1_502).contains(&count), "{count}");
    // It may have been edited since.
    let again = ["watch", "-r", "x", "--write-scenario", "plant.toml"];
    let output = run_in(folder.path(), &again);
    check_code(&output, 1);
    assert!(stderr(&output).contains("may have been edited"), "{}", stderr(&output));
}

#[test]
fn tags_and_pollers_come_back_too() {
    let folder = tempfile::tempdir().unwrap();
    let text = write_scenario(folder.path(), &shipped("mms.pcapng"));
    let polls = text.matches("kind = \"constant-rate-request\"").count();
    assert_eq!(polls, 3, "{text}");
    check_code(&run_in(folder.path(), &["predict", "plant.toml", "-n", "1", "--no-save"]), 0);
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures/cyclic/sv");
    let sampled = shared.join("own-sv-4000.pcapng");
    if !sampled.exists() {
        println!("skipped: no ../shared");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write_scenario(folder.path(), &sampled);
    let predict =
        ["predict", "plant.toml", "-n", "1", "--no-save", "--capture", "predicted.pcapng"];
    check_code(&run_in(folder.path(), &predict), 0);
    let seen = frames(&sampled);
    let predicted = frames(&folder.path().join("predicted.pcapng"));
    let tagged = |of: &BTreeMap<(usize, Option<u8>), u64>| {
        of.keys().filter(|(_, priority)| priority.is_some()).copied().collect::<Vec<_>>()
    };
    assert_eq!(tagged(&predicted), tagged(&seen), "lengths and priorities");
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
