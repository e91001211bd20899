//! Damaged, truncated and invalid frames: the meter counts them and stays consistent.

use crate::Draws;
use core::time::Duration;
use meter::{Meter, Report, Settings};
use wire::addr::Mac;
use wire::dissect::Link;
use wire::time::Instant;

/// Frame between few stations and references, mostly well formed.
fn frame(draws: &mut Draws) -> Vec<u8> {
    let codes = [0xE1, 0xD1, 0x80, 0xC0, 0xF0, 0xF0, 0xF0, 0x10, 0x64, 0x64, 0x20, 0x54, 0x70];
    let (reference, source) = (draws.below(4) as u8, draws.below(4) as u8);
    let mut tpdus = Vec::new();
    for _ in 0..=draws.below(3) {
        let code = codes[draws.below(codes.len())];
        let mut header = vec![0, code, 0, reference, 0, source, 0x40];
        header.truncate(if matches!(code, 0xE1 | 0xD1 | 0x80) { 7 } else { 5 + draws.below(3) });
        header[4] = draws.octet();
        header[0] = header.len() as u8 - 1;
        tpdus.extend(header);
    }
    tpdus.resize(tpdus.len() + draws.below(40), 0xAA);
    let length = u16::try_from(tpdus.len() + 4).unwrap();
    let stations = [draws.below(3) as u32, draws.below(3) as u32];
    let mut octets = [Mac::local(stations[0]).0, Mac::local(stations[1]).0].concat();
    octets.extend(length.to_be_bytes());
    octets.extend([0xFE, 0xFE, 0x03, 0x00]);
    octets.extend(tpdus);
    for _ in 0..draws.below(3) {
        let place = draws.below(octets.len());
        octets[place] = draws.octet();
    }
    octets
}

fn measure(draws_seed: u64, table_seed: u64) -> Vec<Report> {
    let mut draws = Draws(draws_seed);
    let settings = Settings {
        maximum_connections: 12,
        seed: table_seed,
        ..Settings::every(Duration::from_secs(10))
    };
    let mut meter = Meter::new(settings);
    let (mut nanos, mut reports) = (0_u64, Vec::new());
    for _ in 0..2_000 {
        // Sometimes a silence, sometimes a step back in time.
        let longest = if draws.below(100) == 0 { 400_000_000_000 } else { 20_000_000 };
        nanos += draws.below(longest) as u64;
        let at = nanos.saturating_sub(draws.below(30_000_000) as u64);
        let octets = frame(&mut draws);
        let captured = &octets[..octets.len() - draws.below(3) * draws.below(octets.len()) / 2];
        meter.observe(Instant::from_nanos(at), Link::Ethernet, captured, octets.len());
        assert!(meter.connections() <= 12, "the table is full");
        reports.extend(core::iter::from_fn(|| meter.take_interval()).map(|report| *report));
    }
    let total = meter.finish();
    reports.extend(core::iter::from_fn(|| meter.take_interval()).map(|report| *report));
    reports.push(total);
    reports
}

#[test]
fn measures_are_consistent_for_any_frames() {
    for seed in 0..100 {
        let reports = measure(seed, 0);
        for report in &reports {
            let measures = &report.measures;
            let all = measures.traffic.transport.all();
            assert!(measures.link.lpdus >= measures.network.npdus, "seed {seed}");
            assert!(measures.link.octets >= measures.network.octets, "seed {seed}");
            assert!(all.information_octets <= all.data_octets, "seed {seed}");
            assert!(all.retransmissions <= all.tpdus, "seed {seed}");
            for metric in report.metrics {
                let value = metric.value.unwrap_or(0.0);
                assert!(value.is_finite() && value >= 0.0, "seed {seed}");
                let is_share = ["E_L", "E_T", "C_E", "R_OM", "R_RD", "R_RA"];
                if is_share.contains(&metric.definition.symbol) {
                    assert!(value <= 1.0, "seed {seed}: {} {value}", metric.definition.symbol);
                }
            }
        }
        let (total, intervals) = reports.split_last().unwrap();
        for (row, (name, value)) in total.measures.table().iter().enumerate() {
            let sum: u64 = intervals.iter().map(|report| report.measures.table()[row].1).sum();
            assert_eq!(sum, *value, "seed {seed}: {name}");
        }
        assert!(total.measures.traffic.tsdus.tsdus <= total.measures.table()[12].1, "seed {seed}");
    }
}

#[test]
fn results_do_not_depend_on_the_seed_of_the_table() {
    for seed in 0..10 {
        let measured = |table_seed| {
            let reports = measure(seed, table_seed);
            reports.into_iter().map(|r| (r.index, r.measures, r.oddities)).collect::<Vec<_>>()
        };
        assert_eq!(measured(1), measured(2), "seed {seed}");
    }
}
