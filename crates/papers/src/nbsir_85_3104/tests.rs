//! Rows against the list of targets, sources against the rows, and the trace against the tables.

use super::*;
use crate::published::listed;
use crate::published::verdict::{Role, Verdict};
use volumes::VOLUMES;

#[test]
fn all_rows_of_the_list_of_targets_have_its_kind_and_value() {
    listed::check_rows("NBSIR 85-3104", ROWS);
}

#[test]
fn the_sources_are_exactly_those_that_rows_use() {
    let readings = Readings::take(&[]);
    let mut names: Vec<String> = SOURCES.map(|(name, _)| name.to_owned()).to_vec();
    names.extend(answers::RATIOS.map(|(name, _)| name.to_owned()));
    let intervals: Vec<String> =
        (0..INTERVALS).map(|interval| interval.to_string()).chain(["total".to_owned()]).collect();
    for interval in &intervals {
        let measures = readings.total.measures.table().map(|(name, _)| name.to_string());
        names.extend(measures.map(|name| format!("measure {name} {interval}")));
        let symbols = readings.total.metrics.map(|metric| metric.definition.symbol);
        names.extend(symbols.map(|symbol| format!("metric {symbol} {interval}")));
    }
    for (hosts, interval) in [("AEFGI", 2), ("CD", 4)] {
        for host in hosts.chars() {
            let symbols = ["R_OM", "R_OA", "R_RA"];
            names.extend(symbols.map(|symbol| format!("host {host} {symbol} {interval}")));
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    listed::check_sources(ROWS, &names);
}

#[test]
fn claims_fit_their_column() {
    listed::check_widths(ROWS);
}

#[test]
fn the_meter_reads_the_possible_volumes_of_table_4() {
    let readings = Readings::take(&trace(origin()));
    assert_eq!(readings.intervals.len(), INTERVALS);
    for (interval, volumes) in VOLUMES.iter().enumerate() {
        let is = |name: Measure, value: u64| {
            assert_eq!(readings.measure(name, interval), Some(value as f64), "{name} {interval}");
        };
        is(Measure::Lpdus, volumes.tpdus);
        is(Measure::Npdus, volumes.tpdus);
        is(Measure::TpduHeaderOctets, volumes.header_octets);
        is(Measure::TpduDataOctets, volumes.data_octets);
        is(Measure::TpduInformationOctets, volumes.information_octets);
        is(Measure::Tsdus, volumes.possible_tsdus());
        is(Measure::TsduOctets, volumes.tsdu_octets);
        is(Measure::DtTpdus, volumes.dts);
        is(Measure::DtRetransmissions, volumes.repeated_dts);
        is(Measure::AkTpdus, volumes.aks);
        is(Measure::AkRetransmissions, volumes.repeated_aks);
        is(Measure::TransportConnections, volumes.connections);
    }
    // There are no oddities: every checksum is correct, every TPDU belongs to a connection, and no
    // DT is beyond the credit.
    assert!(readings.total.oddities.is_empty(), "{:?}", readings.total.oddities);
    let windows = readings.total.measures.traffic.windows;
    assert_eq!((windows.into_closed, windows.unassigned), (0, 0));
    assert_eq!(readings.total.measures.traffic.connections.ended, 225);
}

#[test]
fn displays_count_every_connection_at_both_of_its_hosts() {
    let readings = Readings::take(&trace(origin()));
    for (interval, volumes) in VOLUMES.iter().enumerate() {
        let hosts = ('A'..='I').filter_map(|host| readings.host(Host(host), interval));
        let connections: u64 = hosts.map(|ratios| ratios.connections).sum();
        assert_eq!(connections, 2 * volumes.connections, "interval {interval}");
    }
    // Maximum of one connection: half of interval 4, about a quarter of its total.
    let most = readings.longest_file();
    assert!((10_000..65_536).contains(&most), "{most}");
}

#[test]
fn only_contradictory_cells_differ() {
    let options = Options { seed: 1, messages: 2, monitor: None };
    let reproduction = run(&options, &mut |_| Ok(())).unwrap();
    let differ: Vec<&str> = reproduction
        .outcomes
        .iter()
        .filter(|outcome| outcome.role == Role::Table && !outcome.verdict.agrees())
        .map(|outcome| outcome.row.id.as_str())
        .collect();
    // TSDUs in interval 3 and in total; then, of Table 5, T_T in total, U_C 0, E_N
    // 2 and 4, C_E 2 and 4, R_OM 4, R_OA 4 and 6, S_D 0 and 2; and R_OM of C and D.
    let contradictions = [
        "S004-159", "S004-164", "S004-236", "S004-237", "S004-266", "S004-268", "S004-284",
        "S004-286", "S004-295", "S004-304", "S004-306", "S004-327", "S004-329", "S004-351",
        "S004-354",
    ];
    assert_eq!(differ, contradictions);
    for outcome in &reproduction.outcomes {
        let differs = outcome.verdict == Verdict::Differs;
        let explained = outcome.answers.iter().any(|answer| answer.why.is_some());
        assert!(!differs || explained, "{} is not explained", outcome.row.id);
    }
    let formulas = reproduction.outcomes.iter().filter(|outcome| outcome.role == Role::Formula);
    assert!(formulas.clone().all(|outcome| outcome.verdict == Verdict::Reproduced));
    println!("seen: {} formulas, {} cells that differ", formulas.count(), differ.len());
}

#[test]
fn the_r_om_of_table_7_is_impossible() {
    // A host that sends D original DTs sends D / R_OA original AKs, and with an R_RA of r that many
    // over 1 - r in all. So R_OM of what it sends is at most D / (D + D / (R_OA (1 - r))), with the
    // most favourable rounding: R_OA .515 and .495, R_RA .025 and .035.
    let most = |r_oa: f64, r_ra: f64| 1.0 / (1.0 + 1.0 / (r_oa * (1.0 - r_ra)));
    let (c, d) = (most(0.515, 0.025), most(0.495, 0.035));
    assert!(c < 0.335 && d < 0.324, "{c} {d}");
    // R_OM of both together lies between the two, and .39 is beyond them in either case.
    assert!(c.max(d) < 0.385);
}

#[test]
fn connectivity_is_a_matrix_of_the_calls_that_the_meter_saw() {
    let matrix = displays::connectivity(&Readings::take(&trace(origin())));
    let planned: Vec<plan::Transfers> = (0..INTERVALS).flat_map(plan::connections).collect();
    let places = || matrix.names.iter().zip("ABCDEFGHI".chars());
    assert!(places().all(|(name, letter)| *name == letter.to_string()), "{:?}", matrix.names);
    for ((_, from), counts) in places().zip(&matrix.counts) {
        for ((_, to), count) in places().zip(counts) {
            let of_pair = |it: &&plan::Transfers| it.from == Host(from) && it.to == Host(to);
            assert_eq!(*count, planned.iter().filter(of_pair).count() as u64, "{from} to {to}");
        }
    }
    // Table 4 has 225 connections.
    assert_eq!(matrix.counts.iter().flatten().sum::<u64>(), 225);
}
