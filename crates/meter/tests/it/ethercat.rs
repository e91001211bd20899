//! EtherCAT: against tshark's fields, and by frames made here.
//!
//! The definition, applied to tshark's fields: a frame is back if the locally administered bit of its
//! source is set. It answers the last frame with the index of its first datagram, if that is at most a
//! second old and has no answer. A frame is lost if it has none when the next one with its index goes
//! out, or after a second. The stream of a frame is its first logical datagram, else the command that
//! distributes the time.

use crate::capture::shared;
use crate::cyclic::{nanos, streams};
use core::time::Duration;
use meter::measure::Summary;
use meter::{Meter, Protocol, Settings, StreamReport};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use wire::dissect::Link;
use wire::ethercat::{Datagram, Pdu};
use wire::time::Instant;

const FIELDS: [&str; 9] = [
    "frame.time_epoch",
    "eth.src",
    "ecat.idx",
    "ecat.cmd",
    "ecat.lad",
    "ecat.ado",
    "ecat.cnt",
    "ecat.reg.dc.systime",
    "eth.dst",
];
const SECOND: u64 = 1_000_000_000;

/// Counts of a stream by the definition.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Counts {
    frames: u64,
    lost: u64,
    low: u64,
    round_trips: Vec<u64>,
    /// Times at the tap and in devices.
    stamps: Vec<[u64; 2]>,
    gaps: Vec<u64>,
}

/// Frame that is out.
struct Sent {
    at: u64,
    stream: String,
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

fn list(text: &str) -> Vec<u64> {
    text.split(',').filter(|it| !it.is_empty()).map(number).collect()
}

/// Stream of a frame: its name, and the working counters that are judged by command and address.
fn stream(
    commands: &[u64],
    logical: &[u64],
    offsets: &[u64],
    counters: &[u64],
) -> (String, Vec<[u64; 3]>) {
    let (mut logical, mut offsets) = (logical.iter(), offsets.iter());
    let (mut main, mut clock, mut judged) = (None, None, Vec::new());
    for (command, counter) in commands.iter().zip(counters) {
        let name = ["LRD", "LWR", "LRW", "ARMW", "FRMW"].get((*command as usize).wrapping_sub(10));
        if let 10..=12 = command {
            let address = *logical.next().unwrap();
            main = main.or_else(|| Some(format!("{} {address:08x}", name.unwrap())));
            judged.push([*command, address, *counter]);
            continue;
        }
        let offset = *offsets.next().unwrap();
        if matches!(command, 13 | 14) && offset == 0x0910 {
            clock = clock.or_else(|| Some(format!("{} {offset:04x}", name.unwrap())));
            judged.push([*command, offset, *counter]);
        }
    }
    (main.or(clock).unwrap_or_else(|| "acyclic".to_owned()), judged)
}

/// True if a device filled in the time that a datagram reads.
fn has_time(commands: &[u64], offsets: &[u64], counters: &[u64]) -> bool {
    let physical =
        commands.iter().zip(counters).filter(|(command, _)| !(10..=12).contains(*command));
    physical.zip(offsets).any(|((command, counter), offset)| {
        matches!(command, 1 | 4 | 13 | 14) && *offset == 0x0910 && *counter > 0
    })
}

/// Streams of a capture by master and name; none without tshark.
fn by_tshark(path: &Path) -> Option<BTreeMap<String, Counts>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-T", "fields"]);
    tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = tshark.arg("-r").arg(path).stderr(Stdio::null()).output().ok()?;
    let mut streams = BTreeMap::<String, Counts>::new();
    let mut out = BTreeMap::<(String, u64), Sent>::new();
    let mut highest = BTreeMap::<(String, u64, u64), u64>::new();
    let mut last = BTreeMap::<String, u64>::new();
    let mut at = 0;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let [time, source, indices, commands, logical, offsets, counters, clock, _] = fields[..]
        else {
            panic!("{line}");
        };
        at = nanos(time);
        if indices.is_empty() {
            continue;
        }
        let first = u8::from_str_radix(&source[..2], 16).unwrap();
        let master = format!("{:02x}{}", first & !2, &source[2..]);
        let index = list(indices)[0];
        let (name, judged) =
            stream(&list(commands), &list(logical), &list(offsets), &list(counters));
        let key = format!("{master} {name}");
        if first & 2 == 0 {
            let sent = Sent { at, stream: key.clone() };
            if let Some(before) = out.insert((master, index), sent) {
                streams.get_mut(&before.stream).unwrap().lost += 1;
            }
            let of = streams.entry(key.clone()).or_default();
            of.frames += 1;
            let before = last.insert(key, at);
            of.gaps.extend(before.map(|before| at - before));
            continue;
        }
        let Some(sent) = out.remove(&(master, index)) else { continue };
        let of = streams.get_mut(&sent.stream).unwrap();
        if at - sent.at >= SECOND {
            of.lost += 1;
            continue;
        }
        of.round_trips.push(at - sent.at);
        let mut is_low = false;
        for [command, address, counter] in judged {
            let known = highest.entry((sent.stream.clone(), command, address)).or_default();
            is_low |= counter < *known;
            *known = counter.max(*known);
        }
        of.low += u64::from(is_low);
        let time = list(clock)
            .first()
            .copied()
            .filter(|_| has_time(&list(commands), &list(offsets), &list(counters)));
        if let Some(time) = time {
            of.stamps.push([sent.at, time]);
        }
    }
    for sent in out.values().filter(|sent| at - sent.at >= SECOND) {
        streams.get_mut(&sent.stream).unwrap().lost += 1;
    }
    Some(streams)
}

fn ends(of: &[u64]) -> [u64; 4] {
    let end = |it: Option<&u64>| it.copied().unwrap_or(0);
    [of.len() as u64, of.iter().sum(), end(of.iter().min()), end(of.iter().max())]
}

fn of_summary(of: &Summary) -> [u64; 4] {
    [of.count, of.total_ns, of.min_ns, of.max_ns]
}

/// Variations of the transit: later and earlier than the frame before.
fn transits(stamps: &[[u64; 2]]) -> [Vec<u64>; 2] {
    let mut both = [Vec::new(), Vec::new()];
    for pair in stamps.windows(2) {
        let [at, by] = [0, 1].map(|it| pair[1][it] as i64 - pair[0][it] as i64);
        if (at - by).unsigned_abs() < SECOND / 2 {
            both[usize::from(at < by)].push((at - by).unsigned_abs());
        }
    }
    both
}

#[test]
fn frames_out_and_back_are_those_of_tshark() {
    let Some(folder) = shared("captures", "cyclic/ethercat") else { return };
    for (name, pairs, all_lost) in [
        ("ethercat.pcap", 493, 0),
        ("replay-dc.pcapng", 1_802, 0),
        ("soem-sdinfo-no-slaves.pcapng", 0, 19),
        ("soem-single-lan9252.pcapng", 499, 0),
        // The last frame was out when the capture ended.
        ("twincat-run-ek1100-el1004.pcapng", 276, 0),
    ] {
        let path = folder.join(name);
        let Some(theirs) = by_tshark(&path) else {
            println!("skipped: no tshark to compare frames of EtherCAT with");
            return;
        };
        let mut ours = streams(&path);
        ours.retain(|report| report.key.protocol == Protocol::EtherCat);
        assert_eq!(ours.len(), theirs.len(), "{name}");
        let (mut found_pairs, mut found_lost) = (0, 0);
        for report in &ours {
            let key =
                format!("{} {}", report.key.source, String::from_utf8_lossy(&report.key.name));
            let expected = &theirs[&key];
            let answers = report.extra.answers.unwrap_or_default();
            let found = [report.frames, answers.lost, report.extra.low_working_counters];
            assert_eq!(found, [expected.frames, expected.lost, expected.low], "{name} {key}");
            assert_eq!(report.order.missing, expected.lost, "{name} {key}");
            assert_eq!(
                of_summary(&answers.round_trips),
                ends(&expected.round_trips),
                "{name} {key}"
            );
            assert_eq!(report.gaps.total_ns, expected.gaps.iter().sum::<u64>(), "{name} {key}");
            assert_eq!(report.period_ns, period(&key, &expected.gaps), "{name} {key}");
            assert_eq!(report.extra.clock.map_or(0, |it| it.stamps), expected.stamps.len() as u64);
            if let Some(transit) = report.extra.clock.and_then(|clock| clock.transit) {
                let found = [transit.late, transit.early].map(|it| of_summary(&it));
                let expected = transits(&expected.stamps).map(|it| ends(&it));
                assert_eq!(found, expected, "{name} {key}");
            }
            found_pairs += answers.round_trips.count;
            found_lost += answers.lost;
        }
        assert_eq!([found_pairs, found_lost], [pairs, all_lost], "{name}");
    }
}

/// Median of the first 64 gaps, of streams that have a period.
fn period(key: &str, gaps: &[u64]) -> Option<u64> {
    let mut first = gaps.get(..64).filter(|_| !key.ends_with("acyclic"))?.to_vec();
    first.sort_unstable();
    Some(first[32])
}

/// Cycle `n` of a master: process data and the time, out or back.
fn frame(n: u64, is_back: bool, counter: u16, time_ns: u64) -> Vec<u8> {
    let time = time_ns.to_le_bytes();
    let zero = [0; 8];
    let data = if is_back { &time } else { &zero };
    let working_counter = if is_back { counter } else { 0 };
    let index = n as u8;
    let [clock, process] = [(14, 0x0910_1001), (12, 0x0001_0000)].map(|(command, address)| {
        Datagram { command, index, address, interrupt: 0, data, working_counter }
    });
    let source = if is_back { 0x12 } else { 0x10 };
    let head = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, source, 0, 0, 0, 0, 1, 0x88, 0xA4];
    [&head[..], &Pdu::encode(&[clock, process])].concat()
}

/// A thousand cycles of 1 ms: the devices answer after 30 us, but for those that are `lost`; `counter` is
/// the working counter of a cycle, and `late` how much later it begins by both clocks.
fn made(
    lost: impl Fn(u64) -> bool,
    counter: impl Fn(u64) -> u16,
    late: impl Fn(u64) -> u64,
) -> StreamReport {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    for n in 0..1_000 {
        let at = (n * 1_000 + late(n)) * 1_000;
        for (at, is_back) in [(at, false), (at + 30_000, true)] {
            let octets = frame(n, is_back, counter(n), at + 5_000_000_000);
            if !is_back || !lost(n) {
                meter.observe(Instant::from_nanos(at), Link::Ethernet, &octets, octets.len());
            }
        }
    }
    meter.finish();
    let [report] = &meter.each_stream()[..] else { panic!("one stream") };
    report.clone()
}

#[test]
fn lost_frames_low_counters_and_late_cycles_are_found() {
    let low = |n: u64| if (600..604).contains(&n) { 2 } else { 3 };
    let late = |n: u64| if n == 500 { 400 } else { 0 };
    let report = made(|n| matches!(n, 300 | 700 | 701), low, late);
    let answers = report.extra.answers.unwrap();
    assert_eq!((report.frames, answers.round_trips.count, answers.lost), (1_000, 997, 3));
    assert_eq!((report.order.missing, report.extra.low_working_counters), (3, 4));
    assert_eq!((report.period_ns, report.allowed_ns), (Some(1_000_000), 3_000_000));
    let deviations = report.deviations.unwrap();
    assert_eq!([deviations.late.max_ns, deviations.early.max_ns], [400_000; 2]);
    // The master itself was late: by the devices' clock, too.
    let clock = report.extra.clock.unwrap();
    let transit = clock.transit.unwrap();
    assert_eq!([transit.late.max_ns, transit.early.max_ns], [0; 2]);
    assert_eq!((clock.stamps, clock.drift_ppb, clock.steps), (997, Some(0), 0));
}

#[test]
fn a_counter_that_rises_while_devices_start_is_not_low() {
    let report = made(|_| false, |n| (n / 100).min(3) as u16, |_| 0);
    assert_eq!(report.extra.low_working_counters, 0);
    assert_eq!(report.extra.answers.unwrap().lost, 0);
}

#[test]
fn a_master_with_a_local_address_is_followed() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    for n in 0..100 {
        for (at, is_back) in [(n * 1_000, false), (n * 1_000 + 30, true)] {
            let mut octets = frame(n, is_back, 3, 0);
            octets[6] = 0x02;
            let at = Instant::from_nanos(at * 1_000);
            meter.observe(at, Link::Ethernet, &octets, octets.len());
        }
    }
    meter.finish();
    let [report] = &meter.each_stream()[..] else { panic!("one stream") };
    let answers = report.extra.answers.unwrap();
    assert_eq!((report.frames, answers.round_trips.count, answers.lost), (100, 100, 0));
}
