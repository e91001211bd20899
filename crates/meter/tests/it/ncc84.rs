//! Table 4 and Table 5 of NBSIR 85-3104, from a trace that was made to have the volumes of Table 4.

use crate::capture::{frames, shared};
use core::time::Duration;
use meter::oddity::Class;
use meter::{Meter, Report, Settings};
use std::fs;
use wire::dissect::Link;
use wire::time::Instant;

/// 1984-06-13T21:16:00Z, in seconds since the epoch: 5,277 days (14 years of 365 days, 3 leap days
/// and the 164 days before 13 June 1984, a leap year) and 76,560 seconds.
const ORIGIN_SECONDS: u64 = 5_277 * 86_400 + 76_560;

/// The paper's intervals, then the total; none if the capture is missing.
fn reports() -> Option<Vec<Report>> {
    reports_of(Settings::every(Duration::from_secs(900)), usize::MAX)
}

/// Intervals and total of the trace, each frame cut to `snapshot_octets`.
fn reports_of(settings: Settings, snapshot_octets: usize) -> Option<Vec<Report>> {
    let trace = frames(&fs::read(shared("captures", "ncc84-exact.pcap")?).unwrap());
    let origin = Some(Instant::from_nanos(ORIGIN_SECONDS * 1_000_000_000));
    let mut meter = Meter::new(Settings { origin, ..settings });
    let mut reports = Vec::new();
    for frame in trace {
        let captured = &frame.octets[..frame.octets.len().min(snapshot_octets)];
        meter.observe(frame.at, Link::Ethernet, captured, frame.original_octets);
        reports.extend(core::iter::from_fn(|| meter.take_interval()).map(|report| *report));
    }
    let total = meter.finish();
    reports.extend(core::iter::from_fn(|| meter.take_interval()).map(|report| *report));
    reports.push(total);
    Some(reports)
}

#[test]
fn the_origin_is_the_epoch_of_the_paper() {
    // 14 x 365 + 3 (1972, 1976, 1980) + 31 + 29 + 31 + 30 + 31 + 12 days; 21:16.
    assert_eq!(14 * 365 + 3 + 31 + 29 + 31 + 30 + 31 + 12, 5_277);
    assert_eq!((21 * 60 + 16) * 60, 76_560);
    assert_eq!(ORIGIN_SECONDS, 456_009_360);
}

#[test]
fn table_4_is_reproduced_except_for_two_impossible_cells() {
    // Interval 3 has 1,783 TSDUs in 1,769 original DTs, and fewer TSDU octets than information
    // octets though no TSDU lasts into another interval: one DT ends at most one TSDU, so neither
    // can be.
    let impossible = [("tsdus", 1_783, 1_769), ("tsdu_octets", 203_133, 204_145)];
    let (Some(reports), Some(csv)) = (reports(), shared("papers", "nbs_table4.csv")) else {
        return;
    };
    let csv = fs::read_to_string(csv).unwrap();
    assert_eq!(reports.len(), 9, "eight intervals and the total");
    let (mut compared, mut equal) = (0, 0);
    for (row, line) in csv.lines().skip(1).enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        for (interval, report) in reports.iter().take(8).enumerate() {
            let printed: u64 = cells[1 + interval].parse().unwrap();
            let (name, measured) = report.measures.table()[row];
            compared += 1;
            if measured == printed {
                equal += 1;
                continue;
            }
            assert_eq!(interval, 3, "{name}: printed {printed}, measured {measured}");
            assert!(
                impossible.contains(&(name.to_string().as_str(), printed, measured)),
                "{name}: {measured}"
            );
        }
    }
    assert_eq!((compared, equal), (136, 134));
}

#[test]
fn the_total_is_the_sum_of_the_intervals_over_two_hours() {
    let Some(reports) = reports() else { return };
    let (total, intervals) = reports.split_last().unwrap();
    assert_eq!(total.length, Duration::from_secs(7_200));
    for (row, (name, value)) in total.measures.table().iter().enumerate() {
        let sum: u64 = intervals.iter().map(|report| report.measures.table()[row].1).sum();
        assert_eq!(sum, *value, "{name}");
    }
    // Counted separately by another dissector: 8,650 DT, 13,447 AK, 225 CC, DR and DC, 364 CR of
    // which 139 repeat one of 225.
    let kinds: Vec<(u64, u64)> = total
        .measures
        .traffic
        .transport
        .by_kind()
        .map(|(_, v)| (v.tpdus, v.retransmissions))
        .collect();
    let (none, once) = ((0, 0), (225, 0));
    assert_eq!(
        kinds,
        [(364, 139), once, once, once, (8_650, 249), none, (13_447, 886), none, none, none]
    );
    assert_eq!(total.measures.traffic.connections.ended, 225);
    assert!(total.oddities.is_empty(), "{:?}", total.oddities);
}

#[test]
fn table_5_is_the_arithmetic_of_its_formulas() {
    let (Some(reports), Some(csv)) = (reports(), shared("papers", "nbs_table5.csv")) else {
        return;
    };
    let csv = fs::read_to_string(csv).unwrap();
    let mut compared = 0;
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        // One reading holds a comma between quotes.
        let shift = usize::from(line.contains('"') && cells[3].starts_with('"'));
        let (symbol, equation) = (cells[0], cells[1]);
        let interval = if cells[2] == "total" { 8 } else { cells[2][1..].parse().unwrap() };
        let arithmetic = cells[5 + shift];
        let report: &Report = &reports[interval];
        let metric = report.metrics.iter().find(|m| m.definition.symbol == symbol).unwrap();
        assert_eq!(metric.definition.equation.to_string(), equation, "{symbol}");
        let expected: f64 = arithmetic.parse().unwrap();
        let value = metric.value.unwrap();
        // The column has eight significant digits.
        let half_a_unit = expected.abs().max(1e-12) * 5e-8;
        assert!((value - expected).abs() <= half_a_unit, "{symbol} {interval}: {value} {expected}");
        compared += 1;
    }
    assert_eq!(compared, 13 * 9);
}

#[test]
fn a_capture_of_headers_gives_the_same_measures() {
    // The longest TPDU header is the 50 octets of a CR; 18 octets precede it.
    let (Some(whole), Some(headers)) =
        (reports(), reports_of(Settings::every(Duration::from_secs(900)), 68))
    else {
        return;
    };
    for (whole, headers) in whole.iter().zip(&headers) {
        assert_eq!(whole.measures, headers.measures);
    }
    let total = &headers.last().unwrap().oddities;
    assert_eq!(total.get(Class::Truncated, "TPDU header"), 0);
    assert!(total.get(Class::Truncated, "user data") > 0);
}

#[test]
fn the_total_does_not_depend_on_interval_seed_or_limits() {
    let Some(expected) = reports() else { return };
    let expected = expected.last().unwrap();
    let second = Settings::every(Duration::from_secs(1));
    for settings in [
        Settings { seed: 0x5EED, ..second.clone() },
        // Room for the connections open at once, not for those that ended as well.
        Settings { maximum_connections: 64, seed: 1, ..second },
    ] {
        let reports = reports_of(settings, usize::MAX).unwrap();
        let total = reports.last().unwrap();
        assert_eq!(total.measures, expected.measures);
        assert!(total.oddities.is_empty(), "{:?}", total.oddities);
        // The total, and the intervals: a silence is one report.
        let intervals: u64 = reports.iter().map(|report| report.intervals).sum();
        assert_eq!(intervals, 2 * total.intervals);
    }
}
