//! What the paper's displays showed, for the same traffic: who is connected, connections and data by
//! host, TPDUs by type, and the efficiencies of Table 5 over the intervals.

use super::plan::{Host, connections};
use super::{INTERVALS, Laboratory};
use crate::reproduce::plot::{Curve, Plot, Point, Style};
use std::collections::BTreeSet;
use wire::tp::Kind;

const HOSTS: [Host; 9] = [
    Host('A'),
    Host('B'),
    Host('C'),
    Host('D'),
    Host('E'),
    Host('F'),
    Host('G'),
    Host('H'),
    Host('I'),
];
const KINDS: [Kind; 6] = [Kind::Dt, Kind::Ak, Kind::Cr, Kind::Cc, Kind::Dr, Kind::Dc];
const EFFICIENCIES: [&str; 4] = ["E_L", "E_N", "E_T", "C_E"];
const RATIOS: [&str; 4] = ["R_OM", "R_OA", "R_RD", "R_RA"];

/// All displays.
pub(super) fn all(laboratory: &Laboratory) -> Vec<Plot> {
    let interval = ("interval", "15 min");
    let plot = |number, title, vertical, curves| Plot {
        number,
        title,
        horizontal: interval,
        vertical,
        observed: OBSERVED.to_owned(),
        curves,
        published: Vec::new(),
    };
    let readings = &laboratory.readings;
    let by_host = |value: fn(super::readings::HostRatios) -> f64| {
        let curve = |host: &Host| {
            let y = |interval| readings.host(*host, interval).map_or(0.0, value);
            curve(host.0.to_string(), (0..INTERVALS).map(|i| (i as f64, y(i))))
        };
        HOSTS.iter().map(curve).collect()
    };
    let metrics = |symbols: [&str; 4]| {
        let curve = |symbol: &str| {
            let y = |interval| readings.metric(symbol, interval).unwrap_or(f64::NAN);
            curve(symbol.to_owned(), (0..INTERVALS).map(|i| (i as f64, y(i))))
        };
        symbols.iter().map(|symbol| curve(symbol)).collect()
    };
    let of_kind = |kind: &Kind| {
        let count = |interval: usize| {
            let report = readings.intervals.get(interval);
            report.map_or(0.0, |report| report.measures.traffic.transport.of(*kind).tpdus as f64)
        };
        curve(kind.name().to_owned(), (0..INTERVALS).map(|i| (i as f64, count(i))))
    };
    vec![
        Plot { horizontal: ("host that calls", "A = 1"), ..connectivity(plot) },
        plot(
            "connections",
            "Connections of each host",
            ("connections", "count"),
            by_host(|h| h.connections as f64),
        ),
        plot("types", "TPDUs by type", ("TPDUs", "count"), KINDS.iter().map(of_kind).collect()),
        plot(
            "octets",
            "Data sent by each host",
            ("user data", "octets"),
            by_host(|h| h.data_octets),
        ),
        plot(
            "efficiency",
            "Protocol efficiencies of Table 5",
            ("ratio", "1"),
            metrics(EFFICIENCIES),
        ),
        plot("ratios", "Message ratios of Table 5", ("ratio", "1"), metrics(RATIOS)),
    ]
}

/// What each figure rests on.
const OBSERVED: &str = "Counted by the meter in a trace of 23,136 TPDUs that is made to have the \
                        volumes of the paper's Table 4.";

/// A point for each pair of hosts of which the first called the second.
fn connectivity(
    plot: impl Fn(&'static str, &'static str, (&'static str, &'static str), Vec<Curve>) -> Plot,
) -> Plot {
    let all = (0..INTERVALS).flat_map(connections);
    let pairs: BTreeSet<(Host, Host)> = all.map(|t| (t.from, t.to)).collect();
    let curves = pairs.into_iter().map(|(from, to)| {
        let at = (f64::from(from.number()), f64::from(to.number()));
        curve(format!("{} to {}", from.0, to.0), core::iter::once(at))
    });
    plot("connectivity", "Who called whom", ("host that is called", "A = 1"), curves.collect())
}

/// A curve of exact counts; all that is drawn was made from the paper's counts.
fn curve(name: String, points: impl Iterator<Item = (f64, f64)>) -> Curve {
    let point = |(x, y)| Point { x, y, low: y, high: y, observations: 1 };
    Curve { name, is_input: true, style: Style::Points, points: points.map(point).collect() }
}
