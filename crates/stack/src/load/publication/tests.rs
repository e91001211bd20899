use super::*;
use crate::load::{FlowId, Outcome, Sink, StampKind};
use stats::rng::Stream;

fn stamp(sequence: u32) -> Stamp {
    let planned = Instant::from_nanos(1_500_000_000);
    let lag = Some(Duration::ZERO);
    Stamp { flow: FlowId(3), kind: StampKind::Message, sequence, planned, lag }
}

fn goose(allowed: Option<Duration>) -> Content {
    Content::Goose(Goose {
        appid: 0x3001,
        control_block: "RELAY1LD/LLN0$GO$trips".to_owned(),
        revision: 7,
        allowed,
        plan: Retransmissions {
            curve: [4, 8].map(Duration::from_millis).to_vec(),
            maximum: Duration::from_secs(1),
            changes: vec![Instant::from_nanos(1_500_000_000)],
            mean_interval: None,
        },
    })
}

fn sampled(samples: u16) -> Content {
    Content::SampledValues(SampledValues {
        appid: 0x4001,
        identifier: "MU1".to_owned(),
        revision: 1,
        samples,
        per_second: 4_000,
    })
}

fn cyclic(ethertype: u16) -> Content {
    let period = Duration::from_millis(2);
    Content::Cyclic(Cyclic { ethertype, frame_id: 0x8001, period })
}

const TURN: Turn = Turn {
    due: Instant::ZERO,
    state: 300,
    sequence: 0,
    changed: Instant::from_nanos(1_500_000_000),
    interval: Duration::from_millis(4),
};

/// Checks that data of each length from the least on have this length, and hold the message.
#[track_caller]
fn check(content: &Content) {
    let least = content.least_octets();
    for octets in (least..least + 300).chain([1_000, 1_500]) {
        let data = content.data(&stamp(9), &TURN, octets);
        assert_eq!(data.len(), octets);
        let message = message(content.ethertype(), &data).unwrap();
        let outcome = Sink::default().take(message, true);
        let Some(Outcome::Whole { stamp: found, octets: message }) = outcome else {
            panic!("{outcome:?} of {octets}")
        };
        assert_eq!((found.flow, found.sequence), (FlowId(3), 9));
        assert!(message >= LEAST_OCTETS && message <= octets);
    }
}

#[test]
fn frames_of_each_length_hold_a_message() {
    check(&goose(None));
    check(&sampled(1));
    check(&sampled(2));
    check(&cyclic(PROFINET));
    check(&cyclic(0x88B5));
}

#[test]
fn test_load_has_its_stamp_behind_a_mark() {
    let data = cyclic(wire::load::ETHERTYPE).data(&stamp(9), &TURN, 60);
    let Stamp { flow, sequence, planned, .. } = stamp(9);
    let pdu = wire::load::Pdu { flow: flow.0, sequence, planned_ns: planned.as_nanos() };
    assert_eq!(wire::load::Pdu::decode(&data), Ok(Some(pdu)));
}

#[test]
fn goose_states_its_numbers_and_allows_two_intervals() {
    let Content::Goose(params) = goose(None) else { unreachable!() };
    let publication = Publication { group: None, tag: None, content: goose(None) };
    let mut publisher = Publisher::new(publication, 1, Instant::ZERO);
    let octets = goose(None).least_octets();
    // At 0 and 1 s; a change at 1.5 s, 4 ms, 8 ms and 1 s later its retransmissions.
    let mut numbers = Vec::new();
    for sequence in 0..6 {
        let data = publisher.data(&stamp(sequence), octets);
        let pdu = goose::Pdu::decode(&data).unwrap();
        assert_eq!((pdu.appid, pdu.configuration_revision), (0x3001, 7));
        assert_eq!(pdu.control_block, params.control_block.as_bytes());
        assert!(pdu.is_test() && pdu.time.is_unsynchronised());
        if pdu.state_number == 2 {
            assert_eq!((pdu.time.seconds(), pdu.time.nanoseconds()), (1, 500_000_000));
        }
        numbers.push((pdu.state_number, pdu.sequence_number, pdu.time_allowed_to_live_ms));
    }
    let expected =
        [(1, 1, 2_000), (1, 2, 2_000), (2, 0, 8), (2, 1, 16), (2, 2, 2_000), (2, 3, 2_000)];
    assert_eq!(numbers, expected);
    let data = goose(Some(Duration::from_secs(9))).data(&stamp(0), &TURN, 200);
    assert_eq!(goose::Pdu::decode(&data).unwrap().time_allowed_to_live_ms, 9_000);
}

#[test]
fn samples_are_numbered_within_a_second() {
    let counts = |samples: u16, sequence| {
        let content = sampled(samples);
        let data = content.data(&stamp(sequence), &TURN, content.octets_of(SAMPLE_OCTETS));
        let pdu = sampled_values::Pdu::decode(&data).unwrap();
        let asdus: Vec<_> = pdu.asdus().map(Result::unwrap).collect();
        assert!(asdus.iter().all(|it| it.sample.len() == SAMPLE_OCTETS && it.identifier == b"MU1"));
        asdus.iter().map(|asdu| asdu.sample_count).collect::<Vec<_>>()
    };
    assert_eq!([counts(1, 3_999), counts(1, 4_000)], [[3_999], [0]]);
    assert_eq!([counts(2, 1_999), counts(2, 2_000)], [[3_998, 3_999], [0, 1]]);
}

#[test]
fn the_counter_of_cycles_counts_31_25_us() {
    let status = |sequence| {
        let data = cyclic(PROFINET).data(&stamp(sequence), &TURN, 60);
        let profinet::Kind::Cyclic(status) = profinet::Pdu::decode(&data).unwrap().kind else {
            panic!("no cyclic data")
        };
        assert!(status.is_valid());
        status.cycle_counter
    };
    // 2 ms are 64 units, and 1,024 periods all 65,536.
    assert_eq!([0, 1, 1_023, 1_024].map(status), [0, 64, 65_472, 0]);
}

#[test]
fn any_octets_of_a_frame_are_read_or_left() {
    let mut draw = Stream::named(3, "octets");
    for content in [goose(None), sampled(2), cyclic(PROFINET), cyclic(0x88B5)] {
        let whole = content.data(&stamp(9), &TURN, content.least_octets() + 40);
        for _ in 0..5_000 {
            let mut octets = whole.clone();
            for _ in 0..=draw.below(4) {
                let place = draw.below(octets.len() as u64) as usize;
                octets[place] = draw.below(256) as u8;
            }
            octets.truncate(draw.below(whole.len() as u64 + 1) as usize);
            // A message that is found is one that a sink takes, whole or damaged.
            if let Some(message) = message(content.ethertype(), &octets) {
                assert!(Sink::default().take(message, true).is_some());
            }
        }
    }
}
