//! Streams of Sampled Values and PROFINET: against tshark's fields, and frame by frame on captures with
//! known losses.
//!
//! The definition, applied to tshark's fields: a stream is a publisher, a receiver, an identifier and a
//! name. A frame with the number of the last one, at most an eighth of the period behind it, is a
//! copy. The numbers are unrolled by their modulus: each is the one that is nearest to the last,
//! and the numbers from the lowest to the highest by the step that did not arrive are missing.

use crate::capture::shared;
use crate::cyclic::{nanos, streams};
use meter::{Protocol, StreamReport};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

/// Time and number of each frame, or sample, of the streams of a capture.
type Streams = BTreeMap<String, Vec<(u64, i64)>>;

/// Streams by publisher, receiver, identifier and name; none without tshark.
fn by_tshark(path: &Path, fields: [&str; 3]) -> Option<Streams> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-Y", fields[2], "-T", "fields"]);
    let all = ["frame.time_epoch", "eth.src", "eth.dst"].into_iter().chain(fields);
    tshark.args(all.flat_map(|field| ["-e", field]));
    let output = tshark.arg("-r").arg(path).stderr(Stdio::null()).output().ok()?;
    let mut streams = Streams::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let [at, source, destination, identifier, names, numbers] =
            line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        let identifier = match identifier.strip_prefix("0x") {
            Some(hex) => u16::from_str_radix(hex, 16).unwrap(),
            None => identifier.parse().unwrap(),
        };
        // PROFINET has no names: the field is its number once more.
        let has_names = fields[1] != fields[2];
        for (name, number) in names.split(',').zip(numbers.split(',')) {
            let name = if has_names { name } else { "" };
            let key = format!("{source} {destination} {identifier:#06x} {name}");
            streams.entry(key).or_default().push((nanos(at), number.parse().unwrap()));
        }
    }
    Some(streams)
}

/// Most frequent of some numbers, the least of equals.
fn mode(of: &[i64]) -> i64 {
    let count = |it: i64| of.iter().filter(|other| **other == it).count();
    of.iter().copied().max_by_key(|it| (count(*it), -it)).unwrap_or(1)
}

/// Copies and missing numbers by the definition above.
fn expected(frames: &[(u64, i64)], modulus: i64, is_sampled: bool) -> [u64; 2] {
    let mut gaps: Vec<u64> = frames.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    gaps.sort_unstable();
    let period = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
    let mut kept = vec![frames[0]];
    for frame in &frames[1..] {
        let last = kept.last().unwrap();
        if frame.1 != last.1 || frame.0 - last.0 > period / 8 {
            kept.push(*frame);
        }
    }
    let mut at = kept[0].1;
    let mut all = BTreeSet::from([at]);
    let mut advances = Vec::new();
    for (_, number) in &kept[1..] {
        let ahead = (number - at).rem_euclid(modulus);
        let ahead = if ahead > modulus / 2 { ahead - modulus } else { ahead };
        advances.push(ahead);
        at = if ahead > 0 { at + ahead } else { at };
        all.insert(at + ahead.min(0));
    }
    let step = if is_sampled { 1 } else { mode(&advances) };
    let span = (all.last().unwrap() - all.first().unwrap()) / step + 1;
    [(frames.len() - kept.len()) as u64, span as u64 - all.len() as u64]
}

/// Reports of a protocol, each with its key as [`by_tshark`] has it.
fn reports(path: &Path, protocol: Protocol) -> BTreeMap<String, StreamReport> {
    let of_protocol = streams(path).into_iter().filter(|it| it.key.protocol == protocol);
    of_protocol
        .map(|report| {
            let key = &report.key;
            let name = String::from_utf8_lossy(&key.name);
            let text = format!("{} {} {:#06x} {name}", key.source, key.destination, key.identifier);
            (text, report)
        })
        .collect()
}

#[test]
fn streams_of_counters_are_those_of_tshark() {
    let Some(folder) = shared("captures", "cyclic") else { return };
    let samples = ["sv.appid", "sv.svID", "sv.smpCnt"];
    let cycles = ["pn_rt.frame_id", "pn_rt.cycle_counter", "pn_rt.cycle_counter"];
    for (name, protocol, fields, modulus) in [
        ("sv/9-2-sv.pcap", Protocol::SampledValues, samples, 65_536),
        ("sv/IEC61850_SV.pcap", Protocol::SampledValues, samples, 65_536),
        ("sv/SV_Normal_Traffic.pcap", Protocol::SampledValues, samples, 4_800),
        ("sv/own-sv-4000.pcapng", Protocol::SampledValues, samples, 4_000),
        ("profinet/own-rt-cyclic.pcapng", Protocol::ProfinetRt, cycles, 65_536),
        ("profinet/plc4x-recording.pcapng", Protocol::ProfinetRt, cycles, 65_536),
        ("profinet/PROFINET-RT.pcap", Protocol::ProfinetRt, cycles, 65_536),
    ] {
        let path = folder.join(name);
        let Some(theirs) = by_tshark(&path, fields) else {
            println!("skipped: no tshark to compare streams of SV and PROFINET with");
            return;
        };
        let ours = reports(&path, protocol);
        assert!(ours.keys().eq(theirs.keys()), "{name}: {ours:?}");
        for (key, frames) in &theirs {
            let report = &ours[key];
            let is_sampled = protocol == Protocol::SampledValues;
            let found = [report.copies, report.order.missing];
            assert_eq!(found, expected(frames, modulus, is_sampled), "{name} {key}");
            assert_eq!(report.samples + report.copies, frames.len() as u64, "{name} {key}");
        }
    }
}

fn of(reports: &BTreeMap<String, StreamReport>, identifier: u32) -> &StreamReport {
    reports.values().find(|report| report.key.identifier == identifier).unwrap()
}

#[test]
fn what_is_wrong_in_made_samples_is_found() {
    let Some(folder) = shared("captures", "cyclic/sv") else { return };
    let reports = reports(&folder.join("own-sv-4000.pcapng"), Protocol::SampledValues);
    // Lost: smpCnt 3500 and 500 to 504. 3800 is behind 3801, and 3900 there twice, 40 us apart.
    let first = of(&reports, 0x4001);
    let order = first.order;
    assert_eq!([order.missing, order.out_of_order, order.repeated, order.backwards], [6, 1, 1, 0]);
    assert_eq!(first.rate, Some(4_000));
    let period = first.period_ns.unwrap();
    assert!((249_000..251_000).contains(&period), "{period}");
    // Five lost samples leave a gap of 1.5 ms; three periods are allowed.
    assert_eq!((first.silences, first.worst.allowed_ns), (1, 3 * period));
    let second = of(&reports, 0x4002);
    assert_eq!((second.order.missing, second.order.state_changes), (0, 2));
    assert_eq!(second.unsynchronised, 800);
    let deviations = second.deviations.unwrap();
    assert!(
        deviations.late.max_ns <= 11_000 && deviations.early.max_ns <= 12_000,
        "{deviations:?}"
    );
}

#[test]
fn what_is_wrong_in_made_cycles_is_found() {
    let Some(folder) = shared("captures", "cyclic/profinet") else { return };
    let reports = reports(&folder.join("own-rt-cyclic.pcapng"), Protocol::ProfinetRt);
    // Of 2 ms: 200 and 700 to 702 are lost, 900 to 909 are there twice, 400 is late by 1.1 ms.
    let first = of(&reports, 0x8001);
    assert_eq!((first.frames, first.copies, first.order.missing), (1_496, 10, 4));
    assert_eq!((first.step, first.silences), (Some(64), 1));
    assert!((7_990_000..8_010_000).contains(&first.worst.gap_ns), "{:?}", first.worst);
    let late = first.deviations.unwrap().late.max_ns;
    assert!((1_090_000..1_120_000).contains(&late), "{late}");
    // The counter of 299 stands in 300, and the provider is stopped in 200 frames.
    let back = of(&reports, 0x8000);
    assert_eq!((back.order.repeated, back.order.missing, back.invalid), (1, 1, 200));
    assert_eq!(back.order.state_changes, 2);
    // Of 4 ms: frame 10 is lost here, and 500 late by 2.4 ms there.
    assert_eq!(of(&reports, 0xC001).order.missing, 1);
    let late = of(&reports, 0xC000).deviations.unwrap().late.max_ns;
    assert!((2_390_000..2_420_000).contains(&late), "{late}");
}
