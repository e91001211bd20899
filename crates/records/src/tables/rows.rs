//! Intervals, hosts and connections as rows.

use super::table::{Cell, Kind, Layout, cells};
use crate::associations::failure_name;
use crate::ending_name;
use crate::item::ServicesInterval;
use meter::measure::{Measures, Sizes, Traffic};
use meter::metric::{METRICS, Metric, RATIOS, ratios};
use meter::registry::{self, Aggregation, KindCount, Measure, Values};
use meter::service::Service;
use meter::{Address, Connection, Direction, Host, Report, ServiceReport};
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

/// Columns of a service before its measures.
const SERVICE: [(&str, Kind); 9] = [
    ("start", Kind::Time),
    ("orig_host", Kind::Text),
    ("orig_port", Kind::Port),
    ("resp_host", Kind::Text),
    ("resp_port", Kind::Port),
    ("server", Kind::Text),
    ("service", Kind::Text),
    ("outstanding", Kind::Count),
    ("failures", Kind::Text),
];

/// Columns of a service in an interval before its measures.
const SERVICE_INTERVAL: [(&str, Kind); 10] = [
    ("start", Kind::Time),
    ("index", Kind::Count),
    ("orig_host", Kind::Text),
    ("orig_port", Kind::Port),
    ("resp_host", Kind::Text),
    ("resp_port", Kind::Port),
    ("server", Kind::Text),
    ("service", Kind::Text),
    ("outstanding", Kind::Count),
    ("failures", Kind::Text),
];

/// Service of which nothing was seen.
const NO_SERVICE: ServiceReport = ServiceReport::nothing(Service::OTHER);

/// Columns of an interval before its measures.
const INTERVAL: [(&str, Kind); 5] = [
    ("start", Kind::Time),
    ("index", Kind::Count),
    ("intervals", Kind::Count),
    ("length", Kind::Span),
    ("oddities", Kind::Count),
];

/// Values sent by one side that have a column: all but sequence numbers; of the TPDU kinds only
/// those with data and AKs.
fn direction(of: &Direction) -> Values {
    let mut values = registry::of_direction(of);
    values.retain(|(measure, _)| match measure {
        Measure::OfKind(kind, count) => match kind {
            Tpdu::Dt => matches!(
                count,
                KindCount::Tpdus | KindCount::DataOctets | KindCount::Retransmissions
            ),
            Tpdu::Ed => matches!(count, KindCount::Tpdus | KindCount::DataOctets),
            Tpdu::Ak => matches!(count, KindCount::Tpdus | KindCount::Retransmissions),
            _ => false,
        },
        other => other.aggregation() != Aggregation::Latest,
    });
    values
}

/// Returns the columns of connections.
pub fn connections(bounds_octets: [u64; 9]) -> Layout {
    let mut layout = Layout::new("connections", &CONNECTION);
    let sizes = Sizes::new(bounds_octets);
    let none = direction(&Direction { sizes, ..Direction::default() });
    layout.extend("orig_", &none);
    layout.extend("resp_", &none);
    layout.extend_reals("orig_", RATIOS);
    layout.extend_reals("resp_", RATIOS);
    layout
}

/// Returns the row of a connection.
pub fn connection(of: &Connection) -> Vec<Cell> {
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

/// Returns the columns of the services of associations.
pub fn services() -> Layout {
    let mut layout = Layout::new("services", &SERVICE);
    layout.extend("", &registry::of_service_report(&NO_SERVICE));
    layout
}

/// Returns a row for each service of a connection.
pub fn service_rows(of: &Connection) -> Vec<Vec<Cell>> {
    let services = of.association.iter().flat_map(|association| &association.services);
    let start = [Cell::Time(of.start())];
    services.map(|service| service_row(&start, of.ends, service)).collect()
}

/// Returns the columns of the services of associations in intervals.
pub fn service_intervals() -> Layout {
    let mut layout = Layout::new("service_intervals", &SERVICE_INTERVAL);
    layout.extend("", &registry::of_service_report(&NO_SERVICE));
    layout
}

/// Returns a row for each service of a connection in an interval.
pub fn service_interval_rows(of: &ServicesInterval) -> Vec<Vec<Cell>> {
    let begin = [Cell::Time(of.start), Cell::of(of.index, Cell::Count)];
    of.services.iter().map(|service| service_row(&begin, of.ends, service)).collect()
}

/// Row of a service on a connection with these ends, behind the cells that begin it.
fn service_row(begin: &[Cell], ends: [(Address, u16); 2], service: &ServiceReport) -> Vec<Cell> {
    let [(orig, orig_port), (resp, resp_port)] = ends;
    let port =
        |port: u16| Cell::of(Some(port).filter(|port| *port != 0), |it| Cell::Count(it.into()));
    let server = ends.get(service.server).map(|(address, _)| address.to_string());
    let failures = service.failures.iter();
    let failures = failures.map(|it| format!("{} x {}", it.times, failure_name(it.failure)));
    let row = [
        Cell::Text(orig.to_string()),
        port(orig_port),
        Cell::Text(resp.to_string()),
        port(resp_port),
        Cell::of(server, Cell::Text),
        Cell::Text(service.service.name().to_owned()),
        Cell::Count(service.outstanding),
        Cell::Text(failures.collect::<Vec<_>>().join("; ")),
    ];
    let measures = cells(registry::of_service_report(service));
    begin.iter().cloned().chain(row).chain(measures).collect()
}

/// Returns the columns of hosts.
pub fn hosts(bounds_octets: [u64; 9]) -> Layout {
    let mut layout = Layout::new("hosts", &[("host", Kind::Text)]);
    let none = Host { sent: Traffic::new(bounds_octets), ..Host::default() };
    layout.extend("sent_", &registry::of_host(&none));
    layout.extend("received_", &registry::of_traffic(&none.sent));
    layout.extend_reals("", RATIOS);
    layout
}

/// Returns the row of a host; hosts beyond the limit are counted together and have no name.
pub fn host(of: &Host) -> Vec<Cell> {
    let name = Cell::of(of.address.map(|address| address.to_string()), Cell::Text);
    let (sent, received) =
        (cells(registry::of_host(of)), cells(registry::of_traffic(&of.received)));
    let metrics = ratios(&of.sent.transport, &of.received.transport).map(real);
    core::iter::once(name).chain(sent).chain(received).chain(metrics).collect()
}

/// Returns the columns of intervals.
pub fn intervals(bounds_octets: [u64; 9]) -> Layout {
    let mut layout = Layout::new("intervals", &INTERVAL);
    layout.extend("", &registry::of_network(&Measures::new(bounds_octets)));
    layout.extend_reals("", METRICS.iter().map(|metric| metric.symbol));
    layout
}

/// Returns the row of an interval.
pub fn interval(of: &Report) -> Vec<Cell> {
    let oddities = of.oddities.iter().map(|(_, _, times)| times).sum();
    let row = [
        Cell::Time(of.start),
        Cell::of(of.index, Cell::Count),
        Cell::Count(of.intervals),
        Cell::Nanos(nanos(of.length)),
        Cell::Count(oddities),
    ];
    let metrics = of.metrics.iter().copied().map(real);
    let values = registry::of_network(&of.measures);
    let is_unseen: Vec<bool> =
        values.iter().map(|(measure, _)| of.measures.is_unseen(*measure)).collect();
    let cells = cells(values).zip(is_unseen);
    let cells = cells.map(|(cell, is_unseen)| if is_unseen { Cell::Unset } else { cell });
    row.into_iter().chain(cells).chain(metrics).collect()
}
