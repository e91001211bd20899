//! The meter's counts for Prometheus: OpenMetrics 1.0 over HTTP, or the older text format.
//!
//! The meter never waits for a client. Its counters are published when an interval ends, at most
//! once a second, and on request. Not exported: sizes, individual connections, hosts beyond the busiest, and
//! streams and functions beyond the worst 20, so that the number of labels stays bounded.

mod server;

use core::time::Duration;
use live::clock;
use meter::measure::Measures;
use meter::metric::Metric;
use meter::oddity::Oddities;
use meter::{Host, Meter, Report, Settings};
use records::Slowness;
use records::families::{Followed, Health, Snapshot};
use server::Shared;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use wire::time::Instant;

/// Number of hosts with counters of their own.
const HOSTS: usize = 20;
/// Minimum time between two publications without a request.
const PAUSE: Duration = Duration::from_secs(1);

/// Publishes the counts of a meter.
pub(crate) struct Exporter {
    shared: Arc<Shared>,
    measures: Measures,
    oddities: Oddities,
    metrics: Vec<Metric>,
    until: Option<Instant>,
    is_due: bool,
    next: Instant,
}

impl Exporter {
    /// Listens at an address, and returns the actual address: port 0 selects a free port.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub(crate) fn listen(at: SocketAddr, settings: &Settings) -> io::Result<(Self, SocketAddr)> {
        let (shared, at) = server::start(at)?;
        let exporter = Self {
            shared,
            measures: Measures::new(settings.bounds_octets),
            oddities: Oddities::default(),
            metrics: Vec::new(),
            until: None,
            is_due: false,
            next: clock::now(),
        };
        Ok((exporter, at))
    }

    /// Adds a complete interval.
    pub(crate) fn add(&mut self, report: &Report) {
        self.measures.add(&report.measures);
        self.oddities.merge(&report.oddities);
        self.metrics = report.metrics.to_vec();
        self.until = Some(report.start + report.length);
        self.is_due = true;
    }

    /// Returns true if a publication is due.
    pub(crate) fn wants(&self) -> bool {
        self.shared.is_asked() || (self.is_due && clock::now() >= self.next)
    }

    /// Publishes the current counts, including the interval under way.
    pub(crate) fn publish(&mut self, meter: &Meter, health: Health) {
        let mut measures = self.measures.clone();
        let mut oddities = self.oddities.clone();
        let mut until = self.until;
        if let Some(current) = meter.under_way() {
            measures.add(&current.measures);
            oddities.merge(&current.oddities);
            until = Some(current.start + current.length);
        }
        let mut hosts: Vec<Host> =
            meter.each_host().filter(|host| host.address.is_some()).collect();
        hosts.sort_by_cached_key(|host| (u64::MAX - tpdus(host), host.address));
        let slowest = hosts.iter().max_by_key(|host| Slowness::of(&host.replied.summary()));
        let slowest = slowest.cloned();
        hosts.truncate(HOSTS);
        // The slowest host is always included, however little it sends.
        if let Some(slowest) = slowest.filter(|slowest| hosts.iter().all(|host| host != slowest)) {
            hosts.push(slowest);
        }
        let metrics = self.metrics.clone();
        let connections = meter.connections();
        let closed = |sent: &meter::Direction| sent.closed_since.is_some();
        let of_each =
            |known: meter::Connection| known.directions.iter().filter(|s| closed(s)).count();
        let closed_windows = meter.each_connection().map(of_each).sum();
        let measured = meter.last().unwrap_or_default();
        let followed = Followed::of(&meter.each_stream(), &meter.each_transaction(), measured);
        self.shared.publish(Snapshot {
            measures,
            oddities,
            metrics,
            until,
            connections,
            closed_windows,
            hosts,
            followed,
            health,
        });
        self.is_due = false;
        self.next = clock::now() + PAUSE;
    }
}

fn tpdus(host: &Host) -> u64 {
    host.sent.transport.all().tpdus + host.received.transport.all().tpdus
}
