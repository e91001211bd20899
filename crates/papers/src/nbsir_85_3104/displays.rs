//! Content of the paper's displays for the same traffic: connectivity, connections and data by
//! host, TPDUs by type, and the efficiencies of Table 5 over the intervals.

use super::plan::Host;
use super::readings::Readings;
use super::{Context, INTERVALS};
use crate::published::diagram::Matrix;
use crate::published::plot::{Curve, Plot, Point, Style};
use meter::metric::METRICS;
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
pub(super) fn all(context: &Context) -> Vec<Plot> {
    let interval = ("time", "intervals of 15 min");
    let plot = |number, place: &str, title, vertical, curves| Plot {
        number,
        place: place.to_owned(),
        title,
        horizontal: interval,
        vertical,
        observed: OBSERVED.to_owned(),
        curves,
        published: Vec::new(),
    };
    let readings = &context.readings;
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
            let definition = METRICS.iter().find(|metric| metric.symbol == symbol);
            let name = definition.map_or("", |metric| metric.name);
            curve(format!("{name} {symbol}"), (0..INTERVALS).map(|i| (i as f64, y(i))))
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
        plot(
            "connections",
            &display("connections per host"),
            "Connections of each host",
            ("connections", "count"),
            by_host(|h| h.connections as f64),
        ),
        plot(
            "types",
            &display("traffic by TPDU type"),
            "TPDUs by type",
            ("TPDUs", "count"),
            KINDS.iter().map(of_kind).collect(),
        ),
        plot(
            "octets",
            &display("data octets by host"),
            "Data sent by each host",
            ("user data", "octets"),
            by_host(|h| h.data_octets),
        ),
        plot(
            "efficiency",
            "Table 5",
            "Protocol efficiencies of Table 5",
            ("ratio", "1"),
            metrics(EFFICIENCIES),
        ),
        plot("ratios", "Table 5", "Message ratios of Table 5", ("ratio", "1"), metrics(RATIOS)),
    ]
}

/// Place of a display in the paper, which describes it without a picture.
fn display(name: &str) -> String {
    format!("section IV, display of {name}")
}

/// Basis of each figure.
const OBSERVED: &str = "Counted by the meter in a trace of 23,136 TPDUs that is made to have the \
                        volumes of the paper's Table 4.";

/// Connections of each pair of hosts over all intervals: the row is the caller, the column is
/// called.
pub(super) fn connectivity(readings: &Readings) -> Matrix {
    let calls = |from: &Host| HOSTS.map(|to| readings.calls(*from, to)).to_vec();
    Matrix {
        number: "connectivity",
        title: "Connections from host to host",
        place: display("basic connectivity"),
        observed: format!("{OBSERVED} A number: connections of all 8 intervals of 15 min."),
        row: "calling host",
        column: "called host",
        counted: "connections",
        is_input: true,
        names: HOSTS.map(|host| host.0.to_string()).to_vec(),
        counts: HOSTS.iter().map(calls).collect(),
    }
}

/// Curve of exact counts; all data were made from the paper's counts.
fn curve(name: String, points: impl Iterator<Item = (f64, f64)>) -> Curve {
    let point = |(x, y)| Point { x, y, low: y, high: y, observations: 1 };
    Curve { name, is_input: true, style: Style::Points, points: points.map(point).collect() }
}
