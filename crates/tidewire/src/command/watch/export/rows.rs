//! Intervals, hosts and connections as rows.

use super::table::{Cell, Kind, Layout, cells};
use crate::stream::{ending_name, replied, sent_of, waits};
use meter::measure::{Measure as _, Measures, Sizes, Summary, Traffic, Values};
use meter::metric::{METRICS, Metric, RATIOS, ratios};
use meter::{Connection, Direction, Host, Report};
use wire::time::{Instant, nanos};
use wire::tp::Kind as Tpdu;

/// Columns of a connection before those of its two directions.
const CONNECTION: [(&str, Kind); 18] = [
    ("start", Kind::Time),
    ("orig_host", Kind::Text),
    ("orig_port", Kind::Port),
    ("resp_host", Kind::Text),
    ("resp_port", Kind::Port),
    ("orig_reference", Kind::Count),
    ("resp_reference", Kind::Count),
    ("duration", Kind::Span),
    ("last", Kind::Time),
    ("class", Kind::Count),
    ("user", Kind::Text),
    ("confidence", Kind::Text),
    ("state", Kind::Text),
    ("ending", Kind::Text),
    ("opening", Kind::Time),
    ("established", Kind::Time),
    ("closing", Kind::Time),
    ("closed", Kind::Time),
];

/// Columns of an interval before its measures.
const INTERVAL: [(&str, Kind); 5] = [
    ("start", Kind::Time),
    ("index", Kind::Count),
    ("intervals", Kind::Count),
    ("length", Kind::Span),
    ("oddities", Kind::Count),
];

/// The values of what one side sent: totals, then DTs, AKs and EDs, then the rest.
pub(in crate::command::watch) fn direction(of: &Direction) -> Values {
    let (all, dt, ak, ed) = (of.all(), of.of(Tpdu::Dt), of.of(Tpdu::Ak), of.of(Tpdu::Ed));
    let [acknowledging, crediting, confirming, keeping_alive] = of.roles;
    let values = [
        ("tpdus", all.tpdus),
        ("tpdu_header_octets", all.header_octets),
        ("tpdu_data_octets", all.data_octets),
        ("tpdu_information_octets", all.information_octets),
        ("tpdu_retransmissions", all.retransmissions),
        ("dt_tpdus", dt.tpdus),
        ("dt_data_octets", dt.data_octets),
        ("dt_retransmissions", dt.retransmissions),
        ("dt_into_closed_window", of.into_closed_window),
        ("dt_empty_parts", of.empty_parts),
        ("ed_tpdus", ed.tpdus),
        ("ed_data_octets", ed.data_octets),
        ("ak_tpdus", ak.tpdus),
        ("ak_retransmissions", ak.retransmissions),
        ("ak_acknowledging", acknowledging),
        ("ak_crediting", crediting),
        ("ak_confirming", confirming),
        ("ak_keeping_alive", keeping_alive),
        ("tsdus", of.tsdus),
        ("tsdu_octets", of.tsdu_octets),
    ];
    let mut values: Values = values.into_iter().map(|(name, value)| (name.into(), value)).collect();
    values.extend(of.peak.of_tpdus());
    values.extend(waits(&of.waits));
    values.extend(replied(&of.replied));
    values.extend(of.sizes.values());
    values
}

/// The columns of connections.
pub(super) fn connections(bounds_octets: [u64; 9]) -> Layout {
    let mut layout = Layout::new("connections", &CONNECTION);
    let sizes = Sizes::new(bounds_octets);
    let none = direction(&Direction { sizes, ..Direction::default() });
    layout.extend("orig_", &none);
    layout.extend("resp_", &none);
    layout.extend_reals("orig_", RATIOS);
    layout.extend_reals("resp_", RATIOS);
    layout
}

/// The row of a connection.
pub(super) fn connection(of: &Connection) -> Vec<Cell> {
    let text = |text: &str| Cell::Text(text.to_owned());
    let time = |at: Option<Instant>| Cell::of(at, Cell::Time);
    let count = |count: Option<u16>| Cell::of(count.map(u64::from), Cell::Count);
    let [(orig, orig_port), (resp, resp_port)] = of.ends;
    let port = |port: u16| count(Some(port).filter(|port| *port != 0));
    let reference = |side: usize| count(of.references[side].map(|reference| reference.0));
    let [opening, established, closing, closed] = of.history;
    let row = [
        Cell::Time(of.start()),
        Cell::Text(orig.to_string()),
        port(orig_port),
        Cell::Text(resp.to_string()),
        port(resp_port),
        reference(0),
        reference(1),
        Cell::Nanos(nanos(of.last.since(of.start()))),
        Cell::Time(of.last),
        count(of.class.map(u16::from)),
        text(of.user.name()),
        text(of.confidence.name()),
        text(of.state.name()),
        of.ending.map_or(Cell::Unset, |ending| text(ending_name(ending))),
        time(opening),
        time(established),
        time(closing),
        time(closed),
    ];
    let directions = of.directions.iter().flat_map(|way| cells(direction(way)));
    let [this, that] = of.directions.each_ref().map(Direction::transport);
    let metrics = [ratios(&this, &that), ratios(&that, &this)].into_iter().flatten().map(real);
    row.into_iter().chain(directions).chain(metrics).collect()
}

fn real(metric: Metric) -> Cell {
    Cell::of(metric.value, Cell::Real)
}

/// The columns of hosts.
pub(super) fn hosts(bounds_octets: [u64; 9]) -> Layout {
    let mut layout = Layout::new("hosts", &[("host", Kind::Text)]);
    let none = Traffic::new(bounds_octets).values();
    layout.extend("sent_", &none);
    layout.extend("sent_", &replied(&Summary::default()));
    layout.extend("received_", &none);
    layout.extend_reals("", RATIOS);
    layout
}

/// The row of a host; those beyond the limit, which count together, have no name.
pub(super) fn host(of: &Host) -> Vec<Cell> {
    let name = Cell::of(of.address.map(|address| address.to_string()), Cell::Text);
    let (sent, received) = (cells(sent_of(of)), cells(of.received.values()));
    let metrics = ratios(&of.sent.transport, &of.received.transport).map(real);
    core::iter::once(name).chain(sent).chain(received).chain(metrics).collect()
}

/// The columns of intervals.
pub(super) fn intervals(bounds_octets: [u64; 9]) -> Layout {
    let mut layout = Layout::new("intervals", &INTERVAL);
    layout.extend("", &Measures::new(bounds_octets).values());
    layout.extend_reals("", METRICS.iter().map(|metric| metric.symbol));
    layout
}

/// The row of an interval.
pub(super) fn interval(of: &Report) -> Vec<Cell> {
    let oddities = of.oddities.iter().map(|(_, _, times)| times).sum();
    let row = [
        Cell::Time(of.start),
        Cell::of(of.index, Cell::Count),
        Cell::Count(of.intervals),
        Cell::Nanos(nanos(of.length)),
        Cell::Count(oddities),
    ];
    let metrics = of.metrics.iter().copied().map(real);
    let values = of.measures.values();
    let is_unseen: Vec<bool> = values.iter().map(|(name, _)| of.measures.is_unseen(name)).collect();
    let cells = cells(values).zip(is_unseen);
    let cells = cells.map(|(cell, is_unseen)| if is_unseen { Cell::Unset } else { cell });
    row.into_iter().chain(cells).chain(metrics).collect()
}
