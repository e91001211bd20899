//! Entry point of the fuzz target: streams of cyclic data from octets, with invariants checked.

use core::time::Duration;
use meter::{Meter, Protocol, Settings, StreamReport};
use wire::dissect::Link;
use wire::goose;
use wire::sampled_values::{Asdu, Pdu};
use wire::time::Instant;

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
    match kind % 3 {
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
            [head(0x88B8), pdu.encode()].concat()
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
        _ => {
            let status = [high, low, state, flags & 1];
            [&head(0x8892)[..], &[0x80, publisher & 1], &[0; 40], &status].concat()
        }
    }
}

/// Meters the frames of a script, one of which in four has a changed octet, and checks the streams.
pub(crate) fn cyclic(script: &[u8]) {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    let (mut at, mut frames) = (0_u64, 0_u64);
    for step in script.chunks_exact(STEP) {
        let step: &[u8; STEP] = step.try_into().unwrap();
        let mut octets = frame(step);
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
    }
    meter.finish();
    meter.each_stream().iter().for_each(|report| check(report, frames));
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
    if let Some(both) = report.deviations {
        assert!(both.late.count + both.early.count <= gaps.count, "{report:?}");
        assert!(both.late.max_ns <= gaps.max_ns, "{report:?}");
    }
}
