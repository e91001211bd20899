use super::*;
use crate::measure::{NO_BOUND_OCTETS, Sizes, Summary, Times, Transport, Volume, Waits};
use crate::observation::Tpdu;
use crate::track::Numbers;
use core::time::Duration;
use std::collections::BTreeSet;
use wire::time::Instant;

/// Values that are not zero, under their names.
fn named(values: &Values) -> Vec<(String, u64)> {
    let seen = values.iter().filter(|(_, value)| *value > 0);
    seen.map(|(measure, value)| (measure.to_string(), *value)).collect()
}

fn all() -> [Values; 3] {
    [
        of_network(&Measures::default()),
        of_traffic(&Traffic::default()),
        of_direction(&Direction::default()),
    ]
}

#[test]
fn each_scope_has_each_measure_once() {
    for values in all() {
        let names: BTreeSet<String> =
            values.iter().map(|(measure, _)| measure.to_string()).collect();
        assert_eq!(names.len(), values.len());
    }
    // 18 counts of Table 4 and below, 10 of connections, 4 of peak seconds, 5 roles, 2 of windows, 7 of LLC, 7 of TCP,
    // ambiguous responses, 9 of MMS; 5 of each of 10 kinds; 6 of each of 10 delays; 4 of each of 10 sizes.
    assert_eq!(all()[0].len(), 13 + 10 + 4 + 5 + 2 + 7 + 7 + 1 + 9 + 50 + 60 + 40);
}

#[test]
fn the_rows_of_table_4_come_first() {
    let [network, ..] = all();
    let first: Vec<Measure> = network.iter().take(17).map(|(measure, _)| *measure).collect();
    assert_eq!(first, TABLE_4);
}

#[test]
fn a_name_leads_back_to_its_measure() {
    let mut so_far = Values::new();
    add_so_far(&crate::measure::Summary { count: 1, ..Default::default() }, &mut so_far);
    for (measure, _) in all().into_iter().flatten().chain(so_far) {
        let name = measure.to_string();
        assert_eq!(Measure::from_name(&name), Some(measure));
        let mut pushed = String::new();
        measure.push_name(&mut pushed);
        assert_eq!(pushed, name);
        assert!(measure.static_name().is_none_or(|known| known == name), "{name}");
    }
    for unknown in ["", "tpdu", "dt_tpdus_to_octets", "responses_so_far_ns", "tsdus_to_x_octets"] {
        assert_eq!(Measure::from_name(unknown), None, "{unknown}");
    }
}

#[test]
fn measures_are_numbered_in_one_order() {
    let numbers: Vec<_> = Measure::numbered().map(Measure::number).collect();
    assert!(numbers.iter().copied().eq((0..numbers.len()).map(Some)));
    // Those of the network, and six statistics so far of each of ten delays.
    assert!(all()[0].iter().all(|(measure, _)| measure.number().is_some()));
    assert!(numbers.len() >= all()[0].len() + 60);
    for bound in [SizeBound::To(48), SizeBound::Beyond(16), SizeBound::Beyond(5_000)] {
        assert_eq!(Measure::OfSize(SizeCount::Tpdus, bound).number(), None, "{bound}");
    }
}

#[test]
fn names_of_times_and_nothing_else_end_in_ns() {
    for (measure, _) in all().into_iter().flatten() {
        let is_time = measure.unit() == Unit::Nanoseconds;
        assert_eq!(measure.to_string().ends_with(NANOSECONDS), is_time, "{measure}");
    }
}

#[test]
fn a_delay_has_one_name_in_every_scope() {
    let waits =
        Waits { round_trip: Times { count: 2, total_ns: 9, max_ns: 5 }, ..Waits::default() };
    let found = named(&of_traffic(&Traffic { waits, ..Traffic::default() }));
    let expected =
        [("tcp_round_trips", 2), ("tcp_round_trip_total_ns", 9), ("tcp_round_trip_max_ns", 5)];
    assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
    let mut measures = Measures::default();
    measures.delays.round_trip.record(Duration::from_nanos(4));
    let found: Vec<String> =
        named(&of_network(&measures)).into_iter().map(|(name, _)| name).collect();
    assert!(expected.iter().all(|(name, _)| found.iter().any(|found| found == name)), "{found:?}");
}

#[test]
fn fewer_bounds_make_fewer_classes() {
    let mut bounds = [NO_BOUND_OCTETS; 9];
    bounds[..2].copy_from_slice(&[64, 1_024]);
    let mut traffic = Traffic::new(bounds);
    for octets in [10, 64, 65, 9_000] {
        traffic.sizes.tpdu(&Tpdu::plain(Kind::Dt, 5, octets));
    }
    let values = of_traffic(&traffic);
    let dts = |(measure, value): &(Measure, u64)| match measure {
        Measure::OfSize(SizeCount::DtTpdus, bound) => Some((bound.to_string(), *value)),
        _ => None,
    };
    let dts: Vec<(String, u64)> = values.iter().filter_map(dts).collect();
    let expected = [("to_64_octets", 2), ("to_1024_octets", 1), ("beyond_1024_octets", 1)];
    assert_eq!(dts, expected.map(|(name, value)| (name.to_owned(), value)));
}

/// Directions and traffic whose values are zero or not as drawn.
fn drawn(draw: &mut crate::draw::Draw) -> (Direction, Traffic) {
    let mut value = || u64::from(draw.below(3));
    let volumes = core::array::from_fn(|_| match value() {
        0 => Volume::default(),
        tpdus => Volume {
            tpdus,
            header_octets: value(),
            data_octets: value(),
            information_octets: value(),
            retransmissions: value(),
        },
    });
    let mut times = || match value() {
        0 => Times::default(),
        count => Times { count, total_ns: value(), max_ns: value() },
    };
    let waits = Waits { round_trip: times(), response: times(), ..Waits::default() };
    let mut sizes = Sizes::default();
    for class in &mut sizes.classes {
        (class.tpdus, class.dt_retransmissions, class.tsdus) = (value(), value(), value());
    }
    let numbers = (value() > 0).then(|| Numbers {
        sent: value(),
        acknowledged: Some(value()),
        allowed: None,
    });
    let direction = Direction {
        volumes,
        numbers,
        tsdus: value(),
        roles: [value(), value(), value(), value()],
        closed_since: (value() > 0).then(|| Instant::from_nanos(value())),
        sizes,
        waits,
        replied: Summary { count: 1, p50_ns: 9, ..Summary::default() },
        ..Direction::default()
    };
    let transport = Transport::of_volumes(volumes);
    let mut traffic = Traffic { transport, sizes, waits, ..Traffic::default() };
    traffic.tsdus.octets = value();
    (direction, traffic)
}

#[test]
fn records_state_the_values_that_a_reader_cannot_infer() {
    let mut draw = crate::draw::Draw(0x2026_1128);
    for _ in 0..500 {
        let (direction, traffic) = drawn(&mut draw);
        let is_of_interval = |(measure, value): &(Measure, u64)| {
            let rule = measure.aggregation();
            let is_longest = rule == Aggregation::Maximum && measure.unit() == Unit::Nanoseconds;
            let is_quantile = matches!(rule, Aggregation::Quantile | Aggregation::Minimum);
            (*value > 0 || rule == Aggregation::Latest)
                && !is_longest
                && !is_quantile
                && !measure.is_total_of_kinds()
        };
        let chosen = |mut values: Values| {
            values.retain(is_of_interval);
            values
        };
        assert_eq!(interval_of_direction(&direction), chosen(of_direction(&direction)));
        assert_eq!(interval_of_traffic(&traffic), chosen(of_traffic(&traffic)));
        let mut whole = of_direction(&direction);
        whole.retain(|(measure, value)| match *measure {
            Measure::OfKind(kind, _) => direction.of(kind).tpdus > 0,
            Measure::OfSize(..) => *value > 0,
            measure => (*value > 0 || !measure.is_peak()) && !measure.is_total_of_kinds(),
        });
        assert_eq!(whole_of_direction(&direction), whole);
    }
}
