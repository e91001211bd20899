//! Entry point of the fuzz target: streams of cyclic data from octets, with invariants checked.

use core::time::Duration;
use meter::{Meter, Protocol, Settings, StreamKey, StreamReport};
use std::collections::BTreeMap;
use wire::dissect::Link;
use wire::ethercat::{self, Datagram};
use wire::sampled_values::{Asdu, Pdu};
use wire::time::Instant;
use wire::{cip_io, goose, ptp, routable};

/// Octets of a step of the script: kind, publisher, time since the last frame, number, state, octet
/// that is changed.
const STEP: usize = 10;

/// Frame of a step: of a protocol that follows streams.
fn frame(step: &[u8; STEP]) -> Vec<u8> {
    let [kind, publisher, _, _, high, low, state, flags, ..] = *step;
    let number = u16::from_be_bytes([high, low]);
    let head = |kind: u16| {
        let head = [1, 0x0C, 0xCD, 1, 0, publisher & 3, 2, 0, 0, 0, 0, publisher & 7];
        [&head[..], &kind.to_be_bytes()].concat()
    };
    match kind % 10 {
        0 => {
            let pdu = goose::Pdu {
                appid: u16::from(publisher & 1),
                reserved: [u16::from(flags) << 8, 0],
                control_block: b"IED/LLN0$GO$gcb",
                time_allowed_to_live_ms: u32::from(flags),
                data_set: b"set",
                identifier: None,
                time: goose::UtcTime([0, 0, 0, 0, 0, 0, 0, flags]),
                state_number: state.into(),
                sequence_number: number.into(),
                is_simulated: flags & 1 != 0,
                configuration_revision: u32::from(flags & 2),
                needs_commissioning: flags & 4 != 0,
                entries: 0,
                data: &[],
            };
            let octets = pdu.encode();
            let is_routed = publisher & 8 != 0;
            if is_routed { routed(&octets) } else { [head(0x88B8), octets].concat() }
        }
        1 => {
            let asdu = |n: u16| Asdu {
                identifier: if flags & 1 == 0 || n & 1 == 0 { b"MU01" } else { b"MU02" },
                data_set: None,
                sample_count: number.wrapping_add(n),
                configuration_revision: u32::from(flags & 2),
                synchronisation: state,
                rate: None,
                sample: &[],
            };
            let asdus: Vec<Asdu<'_>> = (0..u16::from(flags >> 4) + 1).map(asdu).collect();
            [head(0x88BA), Pdu::encode(u16::from(publisher), [0; 2], &asdus)].concat()
        }
        2 => {
            let status = [high, low, state, flags & 1];
            [&head(0x8892)[..], &[0x80, publisher & 1], &[0; 40], &status].concat()
        }
        3 => {
            let time = [high, low, state, flags, 0, 0, 0, 0];
            let command = [12, 14, 7, 10][usize::from(flags & 3)];
            let datagram = |command| Datagram {
                command,
                index: low,
                address: [0, 0x0910_1001, 0x0130_0000][usize::from(state) % 3],
                interrupt: 0,
                data: &time[..usize::from(flags >> 4).min(8)],
                working_counter: (state & 7).into(),
            };
            let mut head = head(0x88A4);
            // Half of the frames are on their way back.
            head[6] = if kind & 0x20 == 0 { 0x10 } else { 0x12 };
            [head, ethercat::Pdu::encode(&[datagram(command), datagram(command ^ 2)])].concat()
        }
        4 => {
            let data = [low, state, flags & 1, 0, 0, 0];
            let connection = u32::from(publisher & 3);
            let sequence = (flags & 2 == 0).then_some(number.into());
            let pdu = cip_io::Pdu { connection, sequence, data: &data[..usize::from(state) % 7] };
            datagram(2_222, &pdu.encode())
        }
        9 => [head(0x88F7), message(step).encode()].concat(),
        _ => later_frame(step, &head),
    }
}

/// Datagram of routable GOOSE.
fn routed(pdu: &[u8]) -> Vec<u8> {
    datagram(routable::PORT, &routable::encode(2, &[pdu]))
}

/// The frame of a step, or one of the two that a node of PRP or HSR makes of it.
fn marked(step: &[u8; STEP]) -> Vec<u8> {
    let [kind, _, _, short, high, low, ..] = *step;
    let mut octets = frame(step);
    match kind >> 4 & 3 {
        1 => {
            let lan = [0xA000, 0xB000][usize::from(short & 1)];
            let [first, second] = (lan | (octets.len() - 14 + 6) as u16).to_be_bytes();
            octets.extend([high, low, first, second, 0x88, 0xFB]);
        }
        2 => drop(octets.splice(12..12, [0x89, 0x2F, short << 4, 0, high, low])),
        _ => {}
    }
    octets
}

/// Frame of AVTP, UADP, CC-Link or POWERLINK; `head` makes its front.
fn later_frame(step: &[u8; STEP], head: &dyn Fn(u16) -> Vec<u8>) -> Vec<u8> {
    let [kind, publisher, _, _, high, low, state, flags, ..] = *step;
    let number = u16::from_be_bytes([high, low]);
    match kind % 10 {
        5 => {
            let stream = [2, 0, 0, 0, 0, 0, 0, publisher & 1];
            let first = [flags & 7, 0x80 | state & 9, low, flags >> 7];
            [&head(0x22F0)[..], &first, &stream, &[0, high, low, 0], &[0; 16]].concat()
        }
        6 => {
            let message = [0xB1, 0x21, publisher & 3, 0, 0x09, 7, 0, high, low];
            [&head(0xB62C)[..], &message, &u64::from(number).to_le_bytes()].concat()
        }
        7 => {
            let is_response = state & 1 != 0;
            let first = if is_response { 0xD0 } else { 0x50 };
            let route = [first, 0, 0, 0xFF, 0xFF, 3, 0, 0, 0, 0, 0];
            let body =
                if is_response { vec![0; 40] } else { [&[0x70, 0x0E][..], &[0; 34]].concat() };
            let tail = [0, 0, 0, 0, publisher & 1, 0, low, high & 1, flags, 1, 3, 0];
            datagram(61_450, &[&route[..], &body, &tail].concat())
        }
        _ => {
            let kind = [1, 3, 4, 5][usize::from(state & 3)];
            [&head(0x88AB)[..], &[kind, publisher & 3, flags & 3], &[0; 43]].concat()
        }
    }
}

/// Datagram of UDP to this port.
fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16 + 8).to_be_bytes();
    let [of, port] = port.to_be_bytes();
    let udp = [&[of, port, of, port, high, low, 0, 0][..], payload].concat();
    let [high, low] = (udp.len() as u16 + 20).to_be_bytes();
    let head = [0x45, 0, high, low, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&[2; 12][..], &[8, 0], &head, &udp].concat()
}

/// Message of PTP of a step.
fn message(step: &[u8; STEP]) -> ptp::Pdu {
    let [kind, publisher, _, _, high, low, state, flags, ..] = *step;
    use ptp::Kind;
    let kinds = [
        Kind::Sync,
        Kind::FollowUp,
        Kind::PeerDelayRequest,
        Kind::PeerDelayResponse,
        Kind::PeerDelayFollowUp,
        Kind::Announce,
        Kind::DelayRequest,
        Kind::DelayResponse,
    ];
    let kind = kinds[usize::from(kind >> 3 & 7)];
    let clock = |n: u8| ptp::Clock([2, 0, 0, 0xFF, 0xFE, 0, 0, n & 3]);
    let answers =
        matches!(kind, Kind::PeerDelayResponse | Kind::DelayResponse | Kind::PeerDelayFollowUp);
    let announce = ptp::Announce {
        priority_1: state,
        class: flags,
        accuracy: 0,
        variance: 0,
        priority_2: 0,
        grandmaster: clock(state),
        steps_removed: state.into(),
        utc_offset: 37,
        time_source: 0,
    };
    ptp::Pdu {
        major_sdo: flags & 1,
        kind,
        minor_version: 1,
        length: 0,
        domain: flags & 2,
        minor_sdo: 0,
        flags: u16::from(flags & 4) << 7,
        correction: i64::from(state as i8) << (flags >> 2),
        port: ptp::Port { clock: clock(publisher), number: 1 },
        sequence: u16::from_be_bytes([high, low & 7]),
        log_interval: flags as i8,
        time_ns: Some(u64::from(state) << (flags & 0x3F)),
        requesting: answers.then_some(ptp::Port { clock: clock(publisher >> 2), number: 1 }),
        announce: (kind == Kind::Announce).then_some(announce),
    }
}

/// Meters the frames of a script, one of which in four has a changed octet, and checks the streams.
pub(crate) fn cyclic(script: &[u8]) {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    let (mut at, mut frames) = (0_u64, 0_u64);
    let mut known = BTreeMap::new();
    for step in script.chunks_exact(STEP) {
        let step: &[u8; STEP] = step.try_into().unwrap();
        let mut octets = marked(step);
        let [kind, _, long, short, .., place, value] = *step;
        if kind & 0xC0 == 0xC0 {
            let place = usize::from(place) % octets.len();
            octets[place] = value;
        }
        // Up to a minute, and down to a microsecond.
        at += u64::from(short) * 1_000 + u64::from(long & 0xF) * 250_000;
        at += if long == 0xFF { 60_000_000_000 } else { 0 };
        meter.observe(Instant::from_nanos(at), Link::Ethernet, &octets, octets.len());
        frames += 1;
        while meter.take_stream().is_some() {}
        if frames.is_multiple_of(8) {
            follow_changes(&mut meter, &mut known);
        }
        if frames.is_multiple_of(24) {
            meter.begin_stream_interval();
        }
    }
    follow_changes(&mut meter, &mut known);
    meter.finish();
    meter.each_stream().iter().for_each(|report| check(report, frames));
}

/// Checks that all reports follow from those that changed.
fn follow_changes(meter: &mut Meter, known: &mut BTreeMap<StreamKey, StreamReport>) {
    let changed = meter.take_changed_streams();
    if changed.are_all {
        known.clear();
    }
    changed.removed.iter().for_each(|key| drop(known.remove(key)));
    known.extend(changed.reports.into_iter().map(|report| (report.key.clone(), report)));
    assert!(known.values().eq(&meter.each_stream()), "a stream changed and has no mark");
}

fn check(report: &StreamReport, frames: u64) {
    let StreamReport { gaps, order, silences, worst, .. } = report;
    // Streams of samples may be twice in a frame, with another between.
    let most = frames * if report.key.protocol == Protocol::SampledValues { 16 } else { 1 };
    assert!(report.frames + report.copies <= most && report.frames > 0, "{report:?}");
    assert!(report.samples >= report.frames, "{report:?}");
    assert_eq!(gaps.count, report.frames - 1, "{report:?}");
    assert!(gaps.min_ns <= gaps.max_ns && gaps.max_ns <= gaps.total_ns, "{report:?}");
    assert!(*silences <= gaps.count && worst.gap_ns <= gaps.max_ns, "{report:?}");
    let apart = order.out_of_order + order.repeated + order.backwards + order.restarts;
    assert!(apart < report.samples, "{report:?}");
    // Each number may skip all others that there are.
    assert!(order.missing <= report.samples << 32, "{report:?}");
    let answers = report.extra.answers.unwrap_or_default();
    assert!(answers.round_trips.count + answers.lost <= report.frames, "{report:?}");
    assert!(report.extra.low_working_counters <= answers.round_trips.count, "{report:?}");
    assert!(report.extra.stalled < report.frames, "{report:?}");
    let stamps = report.extra.clock.map_or(0, |clock| clock.stamps);
    assert!(stamps <= report.frames, "{report:?}");
    if let Some(both) = report.deviations {
        assert!(both.late.count + both.early.count <= gaps.count, "{report:?}");
        assert!(both.late.max_ns <= gaps.max_ns, "{report:?}");
    }
}
