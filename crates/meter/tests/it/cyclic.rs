//! Streams of cyclic data: against tshark's fields, and by frames made here.
//!
//! The definition, applied to tshark's fields: a stream is a publisher, a group, an APPID and a
//! gocbRef. Of each state, the numbers up to the highest one are expected: from 0 if the state
//! before it was seen, else from the first one. Those that did not arrive are missing. A silence is
//! a gap longer than the timeAllowedtoLive of the frame before.

use crate::capture::shared;
use core::time::Duration;
use meter::{Meter, Protocol, Settings, Station, StreamReport};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use wire::addr::Mac;
use wire::capture::Capture;
use wire::dissect::Link;
use wire::goose;
use wire::time::Instant;

/// Fields of tshark, one value for each.
const FIELDS: [&str; 11] = [
    "frame.time_epoch",
    "eth.src",
    "eth.dst",
    "ip.src",
    "ip.dst",
    "goose.appid",
    "rgoose.appid",
    "goose.gocbRef",
    "goose.stNum",
    "goose.sqNum",
    "goose.timeAllowedtoLive",
];

/// Frames of a stream as tshark has them: time, stNum, sqNum, timeAllowedtoLive in milliseconds.
type Frames = Vec<[u64; 4]>;

pub(crate) fn nanos(epoch: &str) -> u64 {
    let (seconds, fraction) = epoch.split_once('.').unwrap();
    seconds.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap()
}

/// Streams of a capture by publisher, group, APPID and name; none without tshark.
fn by_tshark(path: &Path) -> Option<BTreeMap<String, Frames>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-Y", "(goose || r-goose) && goose.stNum", "-T", "fields"]);
    tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = tshark.arg("-r").arg(path).stderr(Stdio::null()).output().ok()?;
    let mut streams = BTreeMap::<String, Frames>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let values = line.split('\t').collect::<Vec<_>>();
        let [at, source, group, from, to, appid, routable, ..] = values[..] else {
            panic!("{line}");
        };
        let [name, state, sequence, allowed] = values[7..] else { panic!("{line}") };
        let [source, group, appid] =
            if from.is_empty() { [source, group, appid] } else { [from, to, routable] };
        let [state, sequence, allowed] =
            [state, sequence, allowed].map(|number| number.parse().unwrap());
        let key = format!("{source} {group} {appid} {name}");
        streams.entry(key).or_default().push([nanos(at), state, sequence, allowed]);
    }
    Some(streams)
}

/// Runs of a stream: a publisher counts anew where two frames go on below the highest before them.
fn runs(frames: &Frames) -> Vec<&[[u64; 4]]> {
    let numbers = |place: usize| frames.get(place).map(|frame| (frame[1], frame[2]));
    let (mut runs, mut from, mut highest) = (Vec::new(), 0, numbers(0));
    for place in 1..frames.len() {
        let [now, next] = [numbers(place), numbers(place + 1)];
        if now < highest && now < next && next < highest {
            runs.push(&frames[from..place]);
            (from, highest) = (place, now);
        }
        highest = highest.max(now);
    }
    runs.push(&frames[from..]);
    runs
}

/// Missing frames and changes of state of a run by the definition above.
fn missing(frames: &[[u64; 4]]) -> [u64; 2] {
    let mut states = BTreeMap::<u64, BTreeSet<u64>>::new();
    for [_, state, sequence, _] in frames {
        states.entry(*state).or_default().insert(*sequence);
    }
    let first = states.keys().next().copied();
    let of = |(state, seen): (&u64, &BTreeSet<u64>)| {
        let from = if Some(*state) == first { *seen.first().unwrap() } else { 0 };
        seen.last().unwrap() - from + 1 - seen.len() as u64
    };
    [states.iter().map(of).sum(), states.len() as u64 - 1]
}

pub(crate) fn streams(path: &Path) -> Vec<StreamReport> {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    while let Ok(Some(record)) = capture.next() {
        meter.observe(record.at, record.link, record.octets, record.original_octets);
    }
    meter.finish();
    meter.each_stream()
}

fn key(report: &StreamReport) -> String {
    let key = &report.key;
    let name = String::from_utf8_lossy(&key.name);
    format!("{} {} {:#06x} {name}", key.source, key.destination, key.identifier)
}

#[test]
fn streams_of_goose_are_those_of_tshark() {
    let Some(folder) = shared("captures", "cyclic/goose") else { return };
    let mut silences = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(mut theirs) = by_tshark(&path) else {
            println!("skipped: no tshark to compare streams of GOOSE with");
            return;
        };
        // The one frame that its capture cut has a PDU that ends beyond it.
        if name == "GOOSE_truncated.pcap" {
            theirs.clear();
        }
        let mut ours = streams(&path);
        ours.retain(|report| report.key.protocol == Protocol::Goose);
        assert_eq!(ours.len(), theirs.len(), "{name}");
        let over_udp = |report: &&StreamReport| matches!(report.key.source, Station::Internet(_));
        let routable = usize::from(name == "Routable-GOOSE.pcap");
        assert_eq!(ours.iter().filter(over_udp).count(), routable, "{name}");
        for report in &ours {
            let frames = &theirs[&key(report)];
            let gaps = || frames.windows(2).map(|pair| (pair[1][0] - pair[0][0], pair[0][3]));
            let silent = gaps().filter(|(gap, allowed)| *gap > allowed * 1_000_000).count() as u64;
            let found = [report.order.missing, report.order.state_changes];
            let each = runs(frames).into_iter().map(missing);
            let expected = each.fold([0, 0], |sum, run| [sum[0] + run[0], sum[1] + run[1]]);
            assert_eq!(found, expected, "{name} {}", key(report));
            assert_eq!(report.order.restarts, runs(frames).len() as u64 - 1, "{name}");
            assert_eq!(report.frames, frames.len() as u64, "{name}");
            assert_eq!(report.silences, silent, "{name}");
            assert_eq!(report.gaps.count, gaps().count() as u64);
            assert_eq!(report.gaps.total_ns, gaps().map(|(gap, _)| gap).sum::<u64>());
            assert_eq!(report.gaps.max_ns, gaps().map(|(gap, _)| gap).max().unwrap_or(0));
        }
        let all = ours.iter().map(|report| report.silences).sum::<u64>();
        silences.insert(name, all);
    }
    assert_eq!(silences["gooseind1_7.pcap"], 2);
    assert_eq!(silences["goose_trace.pcap"], 15);
    assert!(silences.contains_key("Routable-GOOSE.pcap"));
}

/// Frame of a publisher.
fn frame(publisher: u16, state: u32, sequence: u32) -> Vec<u8> {
    let pdu = goose::Pdu {
        appid: publisher,
        reserved: [0; 2],
        control_block: b"IED/LLN0$GO$gcb",
        time_allowed_to_live_ms: 20,
        data_set: b"IED/LLN0$trip",
        identifier: None,
        time: goose::UtcTime::default(),
        state_number: state,
        sequence_number: sequence,
        is_simulated: false,
        configuration_revision: 1,
        needs_commissioning: false,
        entries: 0,
        data: &[],
    };
    let [high, low] = publisher.to_be_bytes();
    let head = [&[1, 0x0C, 0xCD, 1, 0, 0, 2, 0, 0, 0, high, low, 0x81, 0, 0x80, 5][..]];
    [head.concat(), vec![0x88, 0xB8], pdu.encode()].concat()
}

fn observe(meter: &mut Meter, at_us: u64, octets: &[u8]) {
    meter.observe(Instant::from_nanos(at_us * 1_000), Link::Ethernet, octets, octets.len());
}

#[test]
fn the_gap_that_used_most_of_its_time_is_kept() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    // A mirror port copies the second frame; the third comes 25 ms behind it, of 20 allowed.
    for (at_us, sequence) in [(0, 0), (10_000, 1), (10_040, 1), (35_000, 2), (44_000, 3)] {
        observe(&mut meter, at_us, &frame(7, 3, sequence));
    }
    meter.finish();
    let [report] = &meter.each_stream()[..] else { panic!("one stream") };
    assert_eq!((report.frames, report.copies, report.silences), (4, 1, 1));
    assert_eq!(report.worst.gap_ns, 25_000_000);
    assert_eq!(report.worst.allowed_ns, 20_000_000);
    assert_eq!(report.worst.at, Instant::from_nanos(35_000_000));
    assert_eq!((report.gaps.count, report.gaps.min_ns), (3, 9_000_000));
    assert_eq!(report.key.source, Station::Lan(Mac([2, 0, 0, 0, 0, 7])));
    let tag = report.tag.unwrap();
    assert_eq!((tag.priority(), tag.vlan()), (4, 5));
    assert!(!report.is_silent(Instant::from_nanos(64_000_000)));
    assert!(report.is_silent(Instant::from_nanos(64_000_001)));
}

#[test]
fn invented_streams_displace_none_that_is_known() {
    let settings = Settings { silence: Duration::from_secs(10), ..Settings::every(Duration::MAX) };
    let mut meter = Meter::new(Settings { interval: Duration::from_secs(3_600), ..settings });
    let streams = 16_384;
    observe(&mut meter, 0, &frame(0, 1, 0));
    for publisher in 1..=20_000 {
        observe(&mut meter, u64::from(publisher), &frame(publisher, 1, 0));
    }
    observe(&mut meter, 50_000, &frame(0, 1, 1));
    assert_eq!(meter.each_stream().len(), streams);
    assert!(meter.take_stream().is_none());
    // After their silence, each new stream takes the place of one of them, which is reported.
    observe(&mut meter, 9_000_000, &frame(0, 1, 2));
    observe(&mut meter, 12_000_000, &frame(30_000, 1, 0));
    observe(&mut meter, 12_000_001, &frame(0, 1, 3));
    let ended = meter.take_stream().expect("a stream ended");
    assert_eq!(ended.key.identifier, 1);
    let oddities = meter.finish().oddities;
    let lost =
        oddities.iter().find(|(_, name, _)| *name == "frame of one more stream than is followed");
    assert_eq!(lost.map(|(_, _, times)| times), Some(20_001 - streams as u64));
    let known = meter.each_stream();
    let first = known.iter().find(|report| report.key.identifier == 0).unwrap();
    assert_eq!((first.frames, first.order.missing), (4, 0));
}
