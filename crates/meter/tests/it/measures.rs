//! Measures alone and together: each observation counts as often as it was made, under its name.

use core::time::Duration;
use meter::measure::{
    Distribution, Measures, Peak, SizeClass, Sizes, Summary, Times, Traffic, Volume, Waits,
};
use meter::observation::{DelayKind, Ending, Observation, Order, Role, Segment, Step, Tpdu};
use meter::registry;
use meter::{Direction, Numbers};
use wire::llc::Control;
use wire::time::Instant;
use wire::tp::Kind;

fn lpdu(llc: Option<Control>) -> Observation {
    Observation::Lpdu { at: Instant::ZERO, octets: 100, llc }
}

/// DT with 5 octets of header and 10 of data.
fn dt() -> Tpdu {
    Tpdu::plain(Kind::Dt, 5, 10)
}

/// AK of 5 octets with a role, original or retransmitted.
fn ak(role: Role, retransmitted: bool) -> Observation {
    Observation::Tpdu(Tpdu { role: Some(role), retransmitted, ..Tpdu::plain(Kind::Ak, 5, 0) })
}

fn span(between: DelayKind, nanos: u64) -> Observation {
    Observation::Span(between, Duration::from_nanos(nanos))
}

/// One observation of each kind, with the number of times it is made.
fn observations() -> Vec<(usize, Observation)> {
    let segment = |order| Observation::Segment(Segment { octets: 7, order });
    let dr = |step| Observation::Tpdu(Tpdu { step: Some(step), ..Tpdu::plain(Kind::Dr, 7, 0) });
    vec![
        (2, lpdu(Some(Control::Ui))),
        (3, lpdu(Some(Control::Xid))),
        (4, lpdu(Some(Control::Ac0))),
        (5, lpdu(Some(Control::Sabme))),
        (6, lpdu(Some(Control::Unknown(0x0B)))),
        (7, lpdu(None)),
        (8, lpdu(Some(Control::Information { send: 1, receive: 2 }))),
        (9, lpdu(Some(Control::Supervisory { function: 1, receive: 2 }))),
        (8, Observation::Npdu { octets: 50 }),
        (2, segment(Order::Next)),
        (3, segment(Order::Ahead)),
        (4, segment(Order::Late)),
        (5, segment(Order::Again)),
        (6, segment(Order::KeepAlive)),
        (7, segment(Order::Copy)),
        (2, ak(Role::Acknowledging, false)),
        (3, ak(Role::Crediting, false)),
        (4, ak(Role::Confirming, true)),
        (5, ak(Role::KeepingAlive, true)),
        (2, Observation::Tpdu(Tpdu { empty_part: true, ..Tpdu::plain(Kind::Dt, 5, 0) })),
        (3, Observation::Tpdu(Tpdu { unassigned: true, ..dt() })),
        (4, Observation::Tpdu(Tpdu { into_closed_window: true, ..dt() })),
        (5, Observation::Tpdu(Tpdu { retransmitted: true, ..dt() })),
        (6, Observation::Tpdu(Tpdu { finished_tsdus: 2, finished_octets: [10, 30, 0], ..dt() })),
        (2, dr(Step::Refused)),
        (3, dr(Step::NotAgreed)),
        (4, dr(Step::Ended(Ending::Erroneous))),
        (5, Observation::Step(Step::Requested)),
        (6, Observation::Step(Step::Established)),
        (7, Observation::Step(Step::Silent)),
        (8, Observation::Step(Step::Ended(Ending::Graceful))),
        (9, Observation::Step(Step::Ended(Ending::Abrupt))),
        (2, span(DelayKind::Acknowledgement, 11)),
        (3, span(DelayKind::Response, 12)),
        (4, span(DelayKind::SetUp, 13)),
        (5, span(DelayKind::CalleeHandshake, 14)),
        (6, span(DelayKind::CallerHandshake, 15)),
        (7, span(DelayKind::RoundTrip, 16)),
        (8, span(DelayKind::ClosedWindow, 17)),
    ]
}

/// Measures of all observations, this many times.
fn measured(times: usize) -> Measures {
    let mut measures = Measures::default();
    for (count, observation) in observations() {
        (0..count * times).for_each(|_| measures.observe(&observation));
    }
    measures
}

/// Expected values, under their names.
const EXPECTED: [(&str, u64); 68] = [
    // 2 to 9 link PDUs of 100 octets, 44 together; 8 network PDUs of 50.
    ("lpdus", 44),
    ("lpdu_octets", 4_400),
    ("npdus", 8),
    ("npdu_octets", 400),
    ("peak_second_lpdus", 44),
    ("peak_second_lpdu_octets", 4_400),
    // All at time zero: 43 TPDUs, 233 octets of headers and 180 of data.
    ("peak_second_tpdus", 43),
    ("peak_second_tpdu_octets", 413),
    ("llc_datagrams", 2),
    ("llc_exchanges", 3),
    ("llc_acknowledged", 4),
    ("llc_modes", 5),
    ("llc_unknown", 6),
    ("llc_information", 8),
    ("llc_supervisory", 9),
    // 2 to 7 segments of 7 octets.
    ("tcp_segments", 27),
    ("tcp_octets", 189),
    ("tcp_segments_ahead", 3),
    ("tcp_segments_late", 4),
    ("tcp_segments_again", 5),
    ("tcp_keep_alives", 6),
    ("tcp_copies", 7),
    ("ak_acknowledging", 2),
    ("ak_crediting", 3),
    ("ak_confirming", 4),
    ("ak_keeping_alive", 5),
    ("ak_tpdus", 14),
    ("ak_retransmissions", 9),
    // 2 DTs without data; 3, 4, 5 and 6 of 10 octets.
    ("dt_tpdus", 20),
    ("dt_header_octets", 100),
    ("dt_data_octets", 180),
    ("dt_information_octets", 130),
    ("dt_retransmissions", 5),
    ("dt_empty_parts", 2),
    ("unassigned_tpdus", 3),
    ("dt_into_closed_window", 4),
    // Six times one TSDU of 10 octets and one of 30.
    ("tsdus", 12),
    ("tsdu_octets", 240),
    ("tsdus_to_16_octets", 6),
    ("tsdus_to_32_octets", 6),
    ("dt_retransmissions_to_16_octets", 5),
    ("dr_tpdus", 9),
    // 20 DTs, 14 AKs and 9 DRs: 5, 5 and 7 octets of header.
    ("tpdus", 43),
    ("tpdu_header_octets", 100 + 70 + 63),
    ("tpdus_to_16_octets", 43),
    ("connection_refusals", 2),
    ("connection_negotiation_failures", 3),
    ("connection_erroneous_ends", 4),
    ("connection_attempts", 5),
    ("transport_connections", 6),
    ("connection_silent_ends", 7),
    ("connection_graceful_ends", 8),
    ("connection_abrupt_ends", 9),
    ("connection_ends", 4 + 8 + 9),
    ("ack_delays", 2),
    ("ack_delay_total_ns", 22),
    ("responses", 3),
    ("response_max_ns", 12),
    ("set_ups", 4),
    ("set_up_min_ns", 13),
    ("tcp_callee_handshakes", 5),
    ("tcp_callee_handshake_p50_ns", 14),
    ("tcp_caller_handshakes", 6),
    ("tcp_caller_handshake_p99_ns", 15),
    ("tcp_round_trips", 7),
    ("tcp_round_trip_total_ns", 112),
    ("closed_windows", 8),
    ("closed_window_total_ns", 136),
];

#[test]
fn each_observation_counts_under_its_name() {
    let values = registry::of_network(&measured(1));
    for (name, expected) in EXPECTED {
        let value = values.iter().find(|(found, _)| found.to_string() == name).unwrap().1;
        assert_eq!(value, expected, "{name}");
    }
}

#[test]
fn measures_of_two_times_add_up_and_subtract() {
    let (two, three, five) = (measured(2), measured(3), measured(5));
    let mut sum = two.clone();
    sum.add(&three);
    // A second that two intervals share counts in each by its part.
    assert_eq!((sum.peak.pdus(), sum.peak.octets()), (132, 13_200));
    assert_eq!(sum.traffic.peak.pdus(), 3 * 43);
    let all = Traffic { peak: five.traffic.peak, ..sum.traffic.clone() };
    assert_eq!(Measures { peak: five.peak, traffic: all, ..sum.clone() }, five);
    // The busiest second is the busiest of all.
    let peak = Peak::of(3 * 43, 3 * 413);
    let mut after = two.traffic;
    after.end(&sum.traffic);
    assert_eq!(after, Traffic { peak, ..three.traffic });
    let mut all = Traffic::default();
    all.end(&sum.traffic);
    assert_eq!(all, Traffic { peak, ..sum.traffic });
}

/// Delays: `times` of `nanos` nanoseconds each.
fn spans(nanos: u64, times: u64) -> Times {
    Times { count: times, total_ns: nanos * times, max_ns: nanos + times }
}

/// Direction with different values in all fields.
fn direction(times: u64) -> Direction {
    let mut volume = Volume::default();
    (0..times).for_each(|_| volume.observe(&dt()));
    Direction {
        volumes: [volume; 10],
        tsdus: 2 * times,
        tsdu_octets: 3 * times,
        roles: [4 * times, 5 * times, 6 * times, 7 * times],
        into_closed_window: 8 * times,
        empty_parts: 9 * times,
        closed_since: Some(Instant::from_nanos(times)),
        peak: Peak::of(18 + times, 19 + times),
        numbers: Some(Numbers { sent: times, acknowledged: Some(times), allowed: None }),
        sizes: Sizes {
            classes: [SizeClass {
                tpdus: 14 * times,
                dt_tpdus: 15 * times,
                dt_retransmissions: 16 * times,
                tsdus: 17 * times,
            }; 10],
            ..Sizes::new([1, 2, 3, 4, 5, 6, 7, 8, 9])
        },
        waits: Waits {
            acknowledgement: spans(10, times),
            response: spans(11, times),
            set_up: spans(12, times),
            callee_handshake: spans(14, times),
            caller_handshake: spans(15, times),
            round_trip: spans(16, times),
            delayed_ack: spans(17, times),
            closed_window: spans(13, times),
            ambiguous_responses: 20 * times,
        },
        replied: Summary { count: times, ..Summary::default() },
    }
}

#[test]
fn directions_add_up_and_subtract() {
    let (two, five) = (direction(2), direction(5));
    // Numbers, an open end, the busiest second, maxima and percentiles are those of the whole.
    let longest = |waits: Waits, nanos: u64| {
        let with = |times: Times, kind: u64| Times { max_ns: kind + nanos, ..times };
        Waits {
            acknowledgement: with(waits.acknowledgement, 10),
            response: with(waits.response, 11),
            set_up: with(waits.set_up, 12),
            callee_handshake: with(waits.callee_handshake, 14),
            caller_handshake: with(waits.caller_handshake, 15),
            round_trip: with(waits.round_trip, 16),
            delayed_ack: with(waits.delayed_ack, 17),
            closed_window: with(waits.closed_window, 13),
            ..waits
        }
    };
    let three = direction(3);
    let three_peak = three.peak;
    let now = Direction {
        closed_since: five.closed_since,
        numbers: five.numbers,
        peak: five.peak,
        replied: five.replied,
        waits: longest(three.waits, 5),
        ..three
    };
    let mut after = two.clone();
    after.end(&five);
    assert_eq!(after, now);
    let mut sum = two;
    sum.add(&direction(3));
    let both = Direction {
        closed_since: None,
        numbers: None,
        peak: three_peak,
        replied: Summary::default(),
        waits: longest(five.waits, 3),
        ..five
    };
    assert_eq!(sum, both);
    assert_eq!((sum.all().tpdus, sum.of(Kind::Dt).header_octets), (50, 25));
    let mut alone = Direction::default();
    alone.add(&direction(3));
    assert_eq!(alone.sizes, direction(3).sizes, "an empty direction has no bounds of its own");
}

#[test]
fn a_distribution_has_a_mean_and_accepts_the_longest_time() {
    let mut distribution = Distribution::default();
    assert_eq!(distribution.mean_ns(), None);
    for nanos in [10, 30, 80] {
        distribution.record(Duration::from_nanos(nanos));
    }
    assert_eq!(distribution.mean_ns(), Some(40));
    distribution.record(Duration::MAX);
    assert_eq!(distribution.max_ns, i64::MAX as u64);
    assert_eq!(distribution.quantile_ns(1_000), i64::MAX as u64);
}
