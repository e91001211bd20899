//! PTP: against tshark's fields, and by messages made here.
//!
//! The definition, applied to tshark's fields: a stream is a sender, a domain, a type of message and a
//! port. The time of a Sync is the origin in its Follow_Up with the corrections of both; its transit
//! varies by the gap to the Sync before at the tap less that of the times. A request is answered by the
//! first response to its port with its number, and has none if the port sends the next one before.

use crate::capture::shared;
use crate::cyclic::{nanos, streams};
use core::time::Duration;
use meter::measure::Summary;
use meter::{Meter, Protocol, Settings, StreamReport};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use wire::dissect::Link;
use wire::ptp::{Announce, Clock, Kind, Pdu, Port};
use wire::time::Instant;

const FIELDS: [&str; 22] = [
    "frame.time_epoch",
    "eth.src",
    "ip.src",
    "ptp.v2.domainnumber",
    "ptp.v2.messagetype",
    "ptp.v2.clockidentity",
    "ptp.v2.sourceportid",
    "ptp.v2.sequenceid",
    "ptp.v2.correction.ns",
    "ptp.v2.flags.twostep",
    "ptp.v2.sdr.origintimestamp.seconds",
    "ptp.v2.sdr.origintimestamp.nanoseconds",
    "ptp.v2.fu.preciseorigintimestamp.seconds",
    "ptp.v2.fu.preciseorigintimestamp.nanoseconds",
    "ptp.v2.pdrs.requestreceipttimestamp.seconds",
    "ptp.v2.pdrs.requestreceipttimestamp.nanoseconds",
    "ptp.v2.pdrs.requestingportidentity",
    "ptp.v2.pdrs.requestingsourceportid",
    "ptp.v2.pdfu.responseorigintimestamp.seconds",
    "ptp.v2.pdfu.responseorigintimestamp.nanoseconds",
    "ptp.v2.pdfu.requestingportidentity",
    "ptp.v2.pdfu.requestingsourceportid",
];
const SECOND: u64 = 1_000_000_000;
const NAMES: [(u64, &str); 8] = [
    (0, "Sync"),
    (1, "Delay_Req"),
    (2, "Pdelay_Req"),
    (3, "Pdelay_Resp"),
    (8, "Follow_Up"),
    (9, "Delay_Resp"),
    (10, "Pdelay_Resp_Follow_Up"),
    (11, "Announce"),
];

/// Counts of a stream by the definition.
#[derive(Default, Debug)]
struct Counts {
    frames: u64,
    gaps: Vec<u64>,
    last: Option<u64>,
    /// Times at the tap and by the sender.
    stamps: Vec<[u64; 2]>,
    corrections: Vec<u64>,
    round_trips: Vec<u64>,
    unanswered: u64,
    peer_delays: Vec<u64>,
}

/// Request without an answer yet, or half of one.
#[derive(Debug)]
struct Open {
    at: u64,
    sequence: u64,
    stream: String,
    /// Of half an answer: the round trip, the time of receipt, the correction and the peer.
    half: Option<(u64, u64, i64, String)>,
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => text.parse().unwrap_or(0),
    }
}

fn time(seconds: &str, nanoseconds: &str) -> u64 {
    number(seconds) * SECOND + number(nanoseconds)
}

fn port(identity: &str, number: &str) -> String {
    let digits = identity.trim_start_matches("0x");
    format!("{}.{}.{}-{number}", &digits[..6], &digits[6..10], &digits[10..])
}

/// Sync that waits for its Follow_Up.
struct Waiting {
    sequence: u64,
    at: u64,
    stream: String,
    correction: i64,
}

/// The definition, applied to frames.
#[derive(Default)]
struct Expected {
    streams: BTreeMap<String, Counts>,
    /// By port.
    syncs: BTreeMap<String, Waiting>,
    requests: BTreeMap<String, Open>,
    halves: BTreeMap<String, Open>,
}

impl Expected {
    fn of(&mut self, stream: &str) -> &mut Counts {
        self.streams.get_mut(stream).unwrap()
    }

    fn frame(&mut self, of: &[&str]) {
        let at = nanos(of[0]);
        let source = if of[2].is_empty() { of[1] } else { of[2] };
        let Some((_, name)) = NAMES.iter().find(|(code, _)| *code == number(of[4])) else { return };
        let own = port(of[5], of[6]);
        let stream = format!("{source} {name} {own}");
        let (sequence, correction) = (number(of[7]), of[8].parse::<i64>().unwrap());
        let counts = self.streams.entry(stream.clone()).or_default();
        counts.frames += 1;
        let before = counts.last.replace(at);
        counts.gaps.extend(before.map(|before| at - before));
        match *name {
            "Sync" if of[9] == "1" || of[9] == "True" => {
                self.syncs.insert(own, Waiting { sequence, at, stream, correction });
            }
            "Sync" => self.sync(&stream, at, time(of[10], of[11]), correction),
            "Follow_Up" if self.syncs.get(&own).is_some_and(|it| it.sequence == sequence) => {
                let sync = self.syncs.remove(&own).unwrap();
                let correction = correction + sync.correction;
                self.sync(&sync.stream, sync.at, time(of[12], of[13]), correction);
            }
            "Pdelay_Req" => {
                let open = Open { at, sequence, stream, half: None };
                if let Some(before) = self.requests.insert(own, open) {
                    self.of(&before.stream).unanswered += 1;
                }
            }
            "Pdelay_Resp" => {
                let to = port(of[16], of[17]);
                if self.requests.get(&to).is_some_and(|it| it.sequence == sequence) {
                    let mut open = self.requests.remove(&to).unwrap();
                    let round_trip = at - open.at;
                    self.of(&open.stream).round_trips.push(round_trip);
                    open.half = Some((round_trip, time(of[14], of[15]), correction, own));
                    self.halves.insert(to, open);
                }
            }
            "Pdelay_Resp_Follow_Up" => {
                let sent = time(of[18], of[19]);
                self.second_half(&port(of[20], of[21]), &own, sequence, sent as i64 + correction);
            }
            _ => {}
        }
    }

    fn sync(&mut self, stream: &str, at: u64, origin: u64, correction: i64) {
        let counts = self.of(stream);
        counts.stamps.push([at, origin.saturating_add_signed(correction)]);
        counts.corrections.push(correction.try_into().unwrap_or(0));
    }

    /// Adds a Pdelay_Resp_Follow_Up, with the time of its response and its correction.
    fn second_half(&mut self, to: &str, from: &str, sequence: u64, sent: i64) {
        let Some(open) = self.halves.get(to) else { return };
        let (round_trip, received, before, peer) = open.half.clone().unwrap();
        if open.sequence == sequence && peer == from {
            let stream = self.halves.remove(to).unwrap().stream;
            let delay = (round_trip as i64 - (sent - received as i64) - before) / 2;
            self.of(&stream).peer_delays.push(delay.try_into().unwrap_or(0));
        }
    }
}

/// Streams of a capture by sender, message and port; none without tshark.
fn by_tshark(path: &Path) -> Option<BTreeMap<String, Counts>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-Y", "ptp.v2.messagetype", "-T", "fields"]);
    tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = tshark.arg("-r").arg(path).stderr(Stdio::null()).output().ok()?;
    let mut expected = Expected::default();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        expected.frame(&line.split('\t').collect::<Vec<_>>());
    }
    Some(expected.streams)
}

fn ends(of: &[u64]) -> [u64; 4] {
    let end = |it: Option<&u64>| it.copied().unwrap_or(0);
    [of.len() as u64, of.iter().sum(), end(of.iter().min()), end(of.iter().max())]
}

fn of_summary(of: &Summary) -> [u64; 4] {
    [of.count, of.total_ns, of.min_ns, of.max_ns]
}

/// Variations of the transit: later and earlier than the frame before.
fn transits(stamps: &[[u64; 2]]) -> [[u64; 4]; 2] {
    let mut both = [Vec::new(), Vec::new()];
    for pair in stamps.windows(2) {
        let [at, by] = [0, 1].map(|it| pair[1][it] as i64 - pair[0][it] as i64);
        if (at - by).unsigned_abs() < SECOND / 2 {
            both[usize::from(at < by)].push((at - by).unsigned_abs());
        }
    }
    both.map(|of| ends(&of))
}

fn of_ptp(path: &Path) -> Vec<StreamReport> {
    let mut all = streams(path);
    all.retain(|report| report.key.protocol == Protocol::Ptp);
    all
}

#[test]
fn messages_and_their_times_are_those_of_tshark() {
    let Some(folder) = shared("captures", "cyclic/ptp") else { return };
    for name in [
        "own-gptp-veth.pcapng",
        "own-ptp4l-veth.pcapng",
        "ptp_example.pcapng",
        "ptp_v2_1.pcap",
        "../../mms/GOOSE_and_MMS.pcapng",
    ] {
        let path = folder.join(name);
        let Some(theirs) = by_tshark(&path) else {
            println!("skipped: no tshark to compare messages of PTP with");
            return;
        };
        let ours = of_ptp(&path);
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for report in &ours {
            let key =
                format!("{} {}", report.key.source, String::from_utf8_lossy(&report.key.name));
            let expected = &theirs[&key];
            let extra = &report.extra;
            assert_eq!(report.frames, expected.frames, "{name} {key}");
            assert_eq!(report.gaps.total_ns, expected.gaps.iter().sum::<u64>(), "{name} {key}");
            let answers = extra.answers.unwrap_or_default();
            assert_eq!(
                of_summary(&answers.round_trips),
                ends(&expected.round_trips),
                "{name} {key}"
            );
            assert_eq!(answers.lost, expected.unanswered, "{name} {key}");
            let summary = |of: Option<Summary>| of_summary(&of.unwrap_or_default());
            assert_eq!(summary(extra.peer_delays), ends(&expected.peer_delays), "{name} {key}");
            assert_eq!(summary(extra.corrections), ends(&expected.corrections), "{name} {key}");
            let transit = extra.clock.and_then(|clock| clock.transit).unwrap_or_default();
            let found = [transit.late, transit.early].map(|it| of_summary(&it));
            assert_eq!(found, transits(&expected.stamps), "{name} {key}");
        }
    }
}

/// Stream of this message and port.
fn of<'a>(all: &'a [StreamReport], name: &str) -> &'a StreamReport {
    all.iter().find(|report| &*report.key.name == name.as_bytes()).unwrap()
}

#[test]
fn a_grandmaster_that_stops_is_replaced() {
    let Some(folder) = shared("captures", "cyclic/ptp") else { return };
    let all = of_ptp(&folder.join("own-ptp4l-veth.pcapng"));
    let announce = |name| of(&all, name).extra.announce.unwrap();
    let changes = |name| of(&all, name).extra.grandmaster_changes;
    let [one, other] = ["Announce 020000.fffe.000a01-1", "Announce 020000.fffe.000a02-1"];
    assert_eq!([announce(one).class, announce(other).class], [6, 7]);
    assert_eq!([changes(one), changes(other)], [0, 1]);
    let requests = of(&all, "Pdelay_Req 020000.fffe.000b01-1").extra.answers.unwrap();
    assert_eq!((requests.round_trips.count, requests.lost), (69, 6));
    // A better one takes over while the first still announces itself.
    let all = of_ptp(&folder.join("own-gptp-veth.pcapng"));
    let changes = |name| of(&all, name).extra.grandmaster_changes;
    let [one, other] = ["Announce 020000.fffe.000b01-1", "Announce 020000.fffe.000a01-1"];
    assert_eq!([changes(one), changes(other)], [0, 1]);
}

const CLOCK: Clock = Clock([2, 0, 0, 0xFF, 0xFE, 0, 0, 1]);
const MESSAGE: Pdu = Pdu {
    major_sdo: 0,
    kind: Kind::Sync,
    minor_version: 0,
    length: 44,
    domain: 3,
    minor_sdo: 0,
    flags: 0x0200,
    correction: 0,
    port: Port { clock: CLOCK, number: 1 },
    sequence: 0,
    log_interval: -3,
    time_ns: Some(0),
    requesting: None,
    announce: None,
};

fn observe(meter: &mut Meter, at_us: u64, pdu: &Pdu) {
    let head = [1, 0x1B, 0x19, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0x88, 0xF7];
    let octets = [&head[..], &pdu.encode()].concat();
    let at = Instant::from_nanos(at_us * 1_000);
    meter.observe(at, Link::Ethernet, &octets, octets.len());
}

/// Two hundred Syncs of 125 ms with their Follow_Ups: `late` is how much later a Sync passes the tap than
/// it was sent, and its correction in a bridge.
fn syncs(late: impl Fn(u64) -> [u64; 2], is_lost: impl Fn(u64) -> bool) -> Vec<StreamReport> {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    for n in (0..200).filter(|n| !is_lost(*n)) {
        let sent_us = n * 125_000;
        let [late_us, bridge_us] = late(n);
        let sequence = (65_500 + n) as u16;
        observe(&mut meter, sent_us + late_us + bridge_us, &Pdu { sequence, ..MESSAGE });
        let follow_up = Pdu {
            kind: Kind::FollowUp,
            sequence,
            flags: 0,
            correction: (bridge_us as i64 * 1_000) << 16,
            time_ns: Some(1_700_000_000 * SECOND + sent_us * 1_000),
            ..MESSAGE
        };
        observe(&mut meter, sent_us + 10_000, &follow_up);
    }
    meter.finish();
    meter.each_stream()
}

#[test]
fn delay_variation_is_told_from_time_in_bridges() {
    let late = |n| [if n == 90 { 70 } else { 20 }, if n == 150 { 900 } else { 100 }];
    let all = syncs(late, |n| (120..123).contains(&n));
    let sync = of(&all, "Sync 020000.fffe.000001-1");
    // Three Syncs are missing: four intervals, of three allowed.
    assert_eq!((sync.order.missing, sync.silences, sync.allowed_ns), (3, 1, 375_000_000));
    assert_eq!((sync.key.identifier, sync.extra.clock.unwrap().stamps), (3, 197));
    let transit = sync.extra.clock.unwrap().transit.unwrap();
    // The one that waited 900 us in a bridge is none: its correction says so.
    assert_eq!([transit.late.max_ns, transit.early.max_ns], [50_000; 2]);
    assert_eq!(sync.extra.corrections.unwrap().max_ns, 900_000);
    assert_eq!(sync.deviations.unwrap().late.max_ns, 800_000);
}

#[test]
fn grandmasters_change_for_a_better_one_or_after_silence() {
    let announce = |priority_1, last| Announce {
        priority_1,
        class: 6,
        accuracy: 0x21,
        variance: 0,
        priority_2: 128,
        grandmaster: Clock([0, 0, 0, 0xFF, 0xFE, 0, 0, last]),
        steps_removed: 1,
        utc_offset: 37,
        time_source: 0x20,
    };
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    let mut send = |at_s: u64, clock: u8, priority| {
        let port = Port { clock: Clock([0, 0, 0, 0xFF, 0xFE, 0, 0, clock]), number: 1 };
        let announce = Some(announce(priority, clock));
        let (kind, sequence) = (Kind::Announce, at_s as u16);
        let pdu = Pdu { kind, sequence, port, log_interval: 0, announce, ..MESSAGE };
        observe(&mut meter, at_s * 1_000_000 + u64::from(clock), &pdu);
    };
    // Both announce themselves; the second is worse, and takes over four seconds after the first stops.
    for n in 0..20 {
        if n < 10 {
            send(n, 1, 100);
        }
        if n >= 5 {
            send(n, 2, 200);
        }
    }
    meter.finish();
    let changes = |all: &[StreamReport]| -> Vec<u64> {
        all.iter().map(|report| report.extra.grandmaster_changes).collect()
    };
    assert_eq!(changes(&meter.each_stream()), [0, 1]);
}

#[test]
fn an_interval_beyond_belief_sets_no_watchdog() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    for (n, log_interval) in [i8::MIN, -9, 7, 126, i8::MAX].into_iter().enumerate() {
        observe(&mut meter, n as u64 * 1_000, &Pdu { sequence: n as u16, log_interval, ..MESSAGE });
        assert_eq!(meter.each_stream()[0].allowed_ns, 0, "{log_interval}");
    }
    observe(&mut meter, 9_000, &Pdu { sequence: 9, log_interval: 6, ..MESSAGE });
    assert_eq!(meter.each_stream()[0].allowed_ns, 192 * SECOND);
}
