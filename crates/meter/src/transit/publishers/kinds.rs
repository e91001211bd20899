//! Each kind of stream between two taps, with known delays and known losses.

use crate::transit::{Found, Limits, Stamps, StreamTransit, Tap, Transit};
use core::time::Duration;
use wire::dissect::Link;
use wire::ethercat::{self, Datagram};
use wire::goose;
use wire::ptp::{self, Kind};
use wire::routable;
use wire::sampled_values::{self, Asdu};
use wire::time::Instant;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Stream of one kind.
struct Case {
    name: &'static str,
    period_ns: u64,
    frames: u64,
    /// Frame of this place as it passes a tap.
    frame: fn(u64, Tap) -> Vec<u8>,
}

/// All kinds with a number; each counter rolls over, those of 16 bits once.
const CASES: [Case; 18] = [
    Case { name: "PROFINET RT", period_ns: MS, frames: 5_000, frame: profinet },
    Case { name: "routable GOOSE", period_ns: 100 * MS, frames: 400, frame: routable_goose },
    Case { name: "routable SV", period_ns: 250 * US, frames: 9_000, frame: routable_samples },
    Case { name: "Sync", period_ns: 31 * MS, frames: 400, frame: |n, tap| sync(n, tap, false) },
    Case { name: "Sync/UDP", period_ns: 31 * MS, frames: 400, frame: |n, tap| sync(n, tap, true) },
    Case { name: "Follow_Up", period_ns: 31 * MS, frames: 400, frame: follow_up },
    Case { name: "Announce", period_ns: 125 * MS, frames: 400, frame: announce },
    Case { name: "Delay_Resp", period_ns: 10 * MS, frames: 400, frame: delay_response },
    Case { name: "CIP I/O", period_ns: 2 * MS, frames: 3_000, frame: cip_io },
    Case { name: "UADP", period_ns: MS, frames: 3_000, frame: |n, _| uadp(n, false) },
    Case { name: "UADP/UDP", period_ns: MS, frames: 3_000, frame: |n, _| uadp(n, true) },
    Case { name: "AVTP", period_ns: 125 * US, frames: 9_000, frame: |n, _| avtp(n, true) },
    Case { name: "AVTP, no time", period_ns: 4 * MS, frames: 900, frame: |n, _| avtp(n, false) },
    Case {
        name: "CC-Link request",
        period_ns: 2 * MS,
        frames: 900,
        frame: |n, _| cc_link(n, false),
    },
    Case {
        name: "CC-Link response",
        period_ns: 2 * MS,
        frames: 900,
        frame: |n, _| cc_link(n, true),
    },
    Case { name: "SOME/IP", period_ns: 5 * MS, frames: 900, frame: |n, _| event(n) },
    Case { name: "POWERLINK SoC", period_ns: MS, frames: 900, frame: |n, _| start_of_cycle(n) },
    Case { name: "EtherCAT", period_ns: MS, frames: 3_000, frame: |n, _| ethercat_of(n, 0) },
];

fn ethernet(kind: u16, octets: &[u8]) -> Vec<u8> {
    [&[1, 0, 0x5E, 0, 0, 7, 0x10, 0, 0, 0, 0, 2], &kind.to_be_bytes()[..], octets].concat()
}

/// Datagram of UDP to this port.
fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16 + 8).to_be_bytes();
    let [of, port] = port.to_be_bytes();
    let udp = [&[of, port, of, port, high, low, 0, 0][..], payload].concat();
    let [high, low] = (udp.len() as u16 + 20).to_be_bytes();
    let head = [0x45, 0, high, low, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ethernet(0x0800, &[&head, &udp[..]].concat())
}

fn profinet(n: u64, _: Tap) -> Vec<u8> {
    let [high, low] = ((n * 32) as u16).to_be_bytes();
    ethernet(0x8892, &[&[0x80, 1], &[0; 40][..], &[high, low, 0x35, 0]].concat())
}

fn routable_goose(n: u64, _: Tap) -> Vec<u8> {
    let pdu = goose::Pdu {
        appid: 1,
        reserved: [0; 2],
        control_block: b"IED/LLN0$RG$gcb",
        time_allowed_to_live_ms: 2_000,
        data_set: b"set",
        identifier: None,
        time: goose::UtcTime([0; 8]),
        state_number: (n / 10) as u32,
        sequence_number: (n % 10) as u32,
        is_simulated: false,
        configuration_revision: 1,
        needs_commissioning: false,
        entries: 0,
        data: &[],
    };
    udp(routable::PORT, &routable::encode(n as u32, &[&pdu.encode()]))
}

fn routable_samples(n: u64, _: Tap) -> Vec<u8> {
    let asdu = Asdu {
        identifier: b"MU01",
        data_set: None,
        sample_count: (n % 4_000) as u16,
        configuration_revision: 1,
        synchronisation: 2,
        rate: None,
        sample: &[0; 8],
    };
    let pdu = sampled_values::Pdu::encode(0x4000, [0; 2], &[asdu]);
    udp(routable::PORT, &routable::encode(n as u32, &[&pdu]))
}

/// Message of PTP. At the far tap it has the correction of a transparent clock.
fn message(kind: Kind, sequence: u16, tap: Tap, requesting: Option<u8>) -> ptp::Pdu {
    let clock = |n: u8| ptp::Clock([2, 0, 0, 0xFF, 0xFE, 0, 0, n]);
    let announce = ptp::Announce {
        priority_1: 128,
        class: 6,
        accuracy: 0x21,
        variance: 0,
        priority_2: 128,
        grandmaster: clock(1),
        steps_removed: 0,
        utc_offset: 37,
        time_source: 0x20,
    };
    ptp::Pdu {
        major_sdo: 0,
        kind,
        minor_version: 1,
        length: 0,
        domain: 0,
        minor_sdo: 0,
        flags: 0,
        correction: if tap == Tap::Far { 9_000 << 16 } else { 0 },
        port: ptp::Port { clock: clock(1), number: 1 },
        sequence,
        log_interval: -5,
        time_ns: Some(0),
        requesting: requesting.map(|n| ptp::Port { clock: clock(n), number: 1 }),
        announce: (kind == Kind::Announce).then_some(announce),
    }
}

/// A number of 16 bits that soon rolls over.
fn rolling(n: u64) -> u16 {
    65_400_u16.wrapping_add(n as u16)
}

fn sync(n: u64, tap: Tap, is_over_udp: bool) -> Vec<u8> {
    let octets = message(Kind::Sync, rolling(n), tap, None).encode();
    if is_over_udp { udp(319, &octets) } else { ethernet(0x88F7, &octets) }
}

fn follow_up(n: u64, tap: Tap) -> Vec<u8> {
    ethernet(0x88F7, &message(Kind::FollowUp, rolling(n), tap, None).encode())
}

fn announce(n: u64, tap: Tap) -> Vec<u8> {
    ethernet(0x88F7, &message(Kind::Announce, rolling(n), tap, None).encode())
}

/// Answers to two ports that count alike.
fn delay_response(n: u64, tap: Tap) -> Vec<u8> {
    let asked = Some(2 + (n % 2) as u8);
    ethernet(0x88F7, &message(Kind::DelayResponse, rolling(n / 2), tap, asked).encode())
}

fn cip_io(n: u64, _: Tap) -> Vec<u8> {
    let sequence = Some(u32::MAX.wrapping_add(n as u32).wrapping_sub(1_000));
    let pdu = wire::cip_io::Pdu { connection: 0x0102_0304, sequence, data: &[1, 0, 7] };
    udp(2_222, &pdu.encode())
}

fn uadp(n: u64, is_over_udp: bool) -> Vec<u8> {
    let [high, low] = rolling(n).to_be_bytes();
    let octets = [&[0xB1, 0x21, 1, 0, 0x09, 7, 0, low, high][..], &[0; 20]].concat();
    if is_over_udp { udp(4_840, &octets) } else { ethernet(0xB62C, &octets) }
}

fn avtp(n: u64, has_time: bool) -> Vec<u8> {
    let time = if has_time { (n * 125_000) as u32 } else { 0 };
    let first = [2, 0x80 | u8::from(has_time), n as u8, 0];
    let rest = [&time.to_be_bytes()[..], &[0; 16]].concat();
    ethernet(0x22F0, &[&first[..], &[2, 0, 0, 0, 0, 0, 0, 1], &rest].concat())
}

fn cc_link(n: u64, is_response: bool) -> Vec<u8> {
    let [high, low] = rolling(n).to_be_bytes();
    let tail = [0, 0, 0, 0, 1, 0, low, high, 0, 1, 3, 0];
    let (first, body) = if is_response {
        (0xD0, vec![0; 40])
    } else {
        (0x50, [&[0x70, 0x0E][..], &[0; 34]].concat())
    };
    let route = [first, 0, 0, 0xFF, 0xFF, 3, 0, 0, 0, 0, 0];
    udp(61_450, &[&route[..], &body, &tail].concat())
}

fn someip(method: u16, client: u16, session: u16, kind: u8) -> Vec<u8> {
    let words = [0x1234, method, 0, 8, client, session].map(u16::to_be_bytes).concat();
    udp(30_500, &[&words[..], &[1, 1, kind, 0]].concat())
}

/// Notification; behind session 65,535 comes 1.
fn event(n: u64) -> Vec<u8> {
    someip(0x8001, 0, 1 + ((n + 65_200) % 65_535) as u16, 2)
}

fn start_of_cycle(n: u64) -> Vec<u8> {
    let time = [1 + (n / 1_000) as u32, (n % 1_000) as u32 * 1_000_000].map(u32::to_le_bytes);
    ethernet(0x88AB, &[&[1, 0xFF, 0xF0, 0, 0, 0], &time.concat()[..], &[0; 32]].concat())
}

/// Process data with a count, from a master that sends all frames with one index.
fn ethercat_of(n: u64, working_counter: u16) -> Vec<u8> {
    let data = (n as u32).to_le_bytes();
    let datagram = Datagram {
        command: 12,
        index: 0,
        address: 0x10000,
        interrupt: 0,
        data: &data,
        working_counter,
    };
    ethernet(0x88A4, &ethercat::Pdu::encode(&[datagram]))
}

/// True if the far tap does not see the frame of this place.
const fn is_lost(n: u64) -> bool {
    n % 97 == 13
}

/// Time that a frame takes.
const fn took_ns(n: u64) -> u64 {
    10_000 + n * 7_919 % 5_003
}

/// Streams between the taps, of which the far one may see other frames.
fn found(case: &Case, far: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<StreamTransit> {
    let mut all = Vec::new();
    for n in 0..case.frames {
        let sent_ns = 1_000 * MS + n * case.period_ns;
        all.push((sent_ns, Tap::Near, (case.frame)(n, Tap::Near)));
        if !is_lost(n) {
            all.push((sent_ns + took_ns(n), Tap::Far, far((case.frame)(n, Tap::Far))));
        }
    }
    all.sort_by_key(|(at_ns, ..)| *at_ns);
    let mut transit =
        Transit::new(Stamps::OneClock { longest: Duration::from_secs(10) }, Limits::USUAL);
    for (at_ns, tap, octets) in all {
        transit.observe(tap, Instant::from_nanos(at_ns), Link::Ethernet, &octets, octets.len());
    }
    let Found { streams, beyond_streams, .. } = transit.finish();
    assert_eq!(beyond_streams, 0);
    streams
}

#[test]
fn each_kind_takes_as_long_as_it_was_made_to_and_losses_count() {
    for case in &CASES {
        let streams = found(case, |octets| octets);
        let [stream] = &streams[..] else { panic!("{}: {streams:?}", case.name) };
        let lost = (0..case.frames).filter(|n| is_lost(*n)).count() as u64;
        let name = case.name;
        assert_eq!(stream.frames, [case.frames, case.frames - lost], "{name}");
        assert_eq!(stream.alone, [lost, 0], "{name}");
        assert_eq!((stream.repeated, stream.unnumbered), ([0; 2], [0; 2]), "{name}");
        let times = || (0..case.frames).filter(|n| !is_lost(*n)).map(took_ns);
        let there = stream.ways[0];
        assert_eq!(there.count, case.frames - lost, "{name}");
        assert_eq!(there.total_ns, times().sum::<u64>(), "{name}");
        assert_eq!(Some(there.min_ns), times().min(), "{name}");
        assert_eq!(Some(there.max_ns), times().max(), "{name}");
        assert_eq!(stream.ways[1].count, 0, "{name}");
    }
}

#[test]
fn frames_of_another_network_are_alone_at_their_tap() {
    for case in &CASES {
        let other = |mut octets: Vec<u8>| {
            let is_over_ip = octets[12..14] == [8, 0];
            octets[if is_over_ip { 29 } else { 11 }] ^= 0x40;
            octets
        };
        let streams = found(case, other);
        assert_eq!(streams.len(), 2, "{}", case.name);
        for stream in streams {
            assert_eq!(stream.frames, stream.alone, "{}", case.name);
            assert_eq!(stream.ways.map(|way| way.count), [0; 2], "{}", case.name);
        }
    }
}

/// Counts of the only stream: matched, and of each tap alone, repeated and without a number.
fn counts(case: &Case) -> (u64, [[u64; 2]; 3]) {
    let streams = found(case, |octets| octets);
    let [stream] = &streams[..] else { panic!("{}: {streams:?}", case.name) };
    let StreamTransit { frames, alone, repeated, unnumbered, ways, .. } = stream;
    let matched = ways[0].count + ways[1].count;
    for tap in [0, 1] {
        assert_eq!(frames[tap], matched + alone[tap] + repeated[tap] + unnumbered[tap]);
    }
    (matched, [*alone, *repeated, *unnumbered])
}

#[test]
fn a_number_that_stands_still_is_matched_in_no_kind() {
    for case in &CASES {
        let name = case.name;
        let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
        for n in 0..200 {
            let sent_ns = n * case.period_ns;
            let arrives = (!is_lost(n)).then_some((Tap::Far, sent_ns + took_ns(n)));
            for (tap, at_ns) in [Some((Tap::Near, sent_ns)), arrives].into_iter().flatten() {
                let octets = (case.frame)(0, tap);
                let at = Instant::from_nanos(at_ns);
                transit.observe(tap, at, Link::Ethernet, &octets, octets.len());
            }
        }
        let streams = transit.finish().streams;
        assert_eq!(streams[0].repeated, [200, 198], "{name}");
        assert_eq!((streams[0].alone, streams[0].ways[0].count), ([0; 2], 0), "{name}");
    }
}

#[test]
fn frames_without_a_number_and_numbers_too_short_are_counted() {
    let case = |frame, period_ns| Case { name: "case", period_ns, frames: 2_000, frame };
    // 256 numbers in 32 ms.
    let (matched, rest) = counts(&case(|n, _| avtp(n, false), 125 * US));
    assert_eq!((matched, rest), (0, [[0; 2], [2_000, 1_979], [0; 2]]));
    let (matched, rest) = counts(&case(|_, _| someip(0x8001, 0, 0, 2), MS));
    assert_eq!((matched, rest), (0, [[0; 2], [0; 2], [2_000, 1_979]]));
    let request = |_, _| ethernet(0x88AB, &[&[3, 5, 0xF0][..], &[0; 43]].concat());
    assert_eq!(counts(&case(request, MS)).1[2], [2_000, 1_979]);
    let without = |_, _| {
        let pdu = wire::cip_io::Pdu { connection: 7, sequence: None, data: &[1, 0] };
        udp(2_222, &pdu.encode())
    };
    assert_eq!(counts(&case(without, MS)).1[2], [2_000, 1_979]);
    // Two clients of a host, whose sessions are the same.
    let requests = |n: u64, _| someip(1, 1 + (n % 2) as u16, 1 + (n / 2) as u16, 0);
    assert_eq!(counts(&case(requests, MS)), (1_979, [[21, 0], [0; 2], [0; 2]]));
}

#[test]
fn a_frame_of_ethercat_that_a_device_changed_is_not_matched() {
    // The device sets a bit of the source address and counts.
    let changed = |n: u64, tap: Tap| {
        let is_far = tap == Tap::Far;
        let mut octets = ethercat_of(n, u16::from(is_far) * 3);
        octets[6] |= u8::from(is_far) << 1;
        octets
    };
    let case = Case { name: "changed", period_ns: MS, frames: 970, frame: changed };
    let streams = found(&case, |octets| octets);
    let [a, b] = &streams[..] else { panic!("{streams:?}") };
    assert_eq!([a.alone, b.alone], [[970, 0], [0, 960]]);
    assert_eq!(a.ways[0].count + b.ways[0].count + a.ways[1].count + b.ways[1].count, 0);
    // Also if it leaves the address alone.
    let counted = |n: u64, tap: Tap| ethercat_of(n, u16::from(tap == Tap::Far));
    let case = Case { name: "counted", period_ns: MS, frames: 970, frame: counted };
    assert_eq!(counts(&case), (0, [[970, 960], [0; 2], [0; 2]]));
    // Process data that stand still, from a master that counts its index.
    let still = |n: u64, _| {
        let datagram = Datagram {
            command: 12,
            index: n as u8,
            address: 0,
            interrupt: 0,
            data: &[0; 4],
            working_counter: 0,
        };
        ethernet(0x88A4, &ethercat::Pdu::encode(&[datagram]))
    };
    let case = Case { name: "still", period_ns: MS, frames: 970, frame: still };
    assert_eq!(counts(&case), (0, [[0; 2], [970, 960], [0; 2]]));
}
