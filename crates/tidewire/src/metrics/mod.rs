//! What the meter counts, for Prometheus: OpenMetrics 1.0 over HTTP, or the older text format.
//!
//! The meter never waits for whoever asks. Its counters are published when an interval ends, at
//! the most once a second, and when somebody asks. Not exported: sizes, connections one by one, and
//! hosts beyond the busiest, so that labels stay bounded.

mod family;
mod server;

use crate::stream::Slowness;
use core::time::Duration;
use live::clock;
use meter::measure::Measures;
use meter::metric::Metric;
use meter::oddity::Oddities;
use meter::{Host, Meter, Report, Settings};
use server::Shared;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use wire::time::Instant;

/// Hosts that have counters of their own.
const HOSTS: usize = 20;
/// How long it takes at the least from one publication that nobody asked for to the next.
const PAUSE: Duration = Duration::from_secs(1);

/// How well frames come in.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Health {
    /// Frames the meter was given.
    pub(crate) frames: u64,
    /// Frames dropped on their way to the meter; none where nobody can tell.
    pub(crate) dropped_by_kernel: Option<u64>,
}

/// Everything at one moment.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    measures: Measures,
    oddities: Oddities,
    /// Of the last interval that is over.
    metrics: Vec<Metric>,
    /// The time of the last frame, or until which silence was heard.
    until: Option<Instant>,
    connections: usize,
    /// Windows that are closed now.
    closed_windows: usize,
    hosts: Vec<Host>,
    health: Health,
}

/// Publishes what a meter counts.
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
    /// Listens at an address, and where it does: port 0 stands for any that is free.
    ///
    /// # Errors
    /// What the system said.
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

    /// Takes notice of an interval that is over.
    pub(crate) fn add(&mut self, report: &Report) {
        self.measures.add(&report.measures);
        self.oddities.merge(&report.oddities);
        self.metrics = report.metrics.to_vec();
        self.until = Some(report.start + report.length);
        self.is_due = true;
    }

    /// Whether it is time to publish.
    pub(crate) fn wants(&self) -> bool {
        self.shared.is_asked() || (self.is_due && clock::now() >= self.next)
    }

    /// Publishes what there is now, the interval under way included.
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
        // The slowest host is among them, however little it sends.
        if let Some(slowest) = slowest.filter(|slowest| hosts.iter().all(|host| host != slowest)) {
            hosts.push(slowest);
        }
        let metrics = self.metrics.clone();
        let connections = meter.connections();
        let closed = |sent: &meter::Direction| sent.closed_since.is_some();
        let of_each =
            |known: meter::Connection| known.directions.iter().filter(|s| closed(s)).count();
        let closed_windows = meter.each_connection().map(of_each).sum();
        self.shared.publish(Snapshot {
            measures,
            oddities,
            metrics,
            until,
            connections,
            closed_windows,
            hosts,
            health,
        });
        self.is_due = false;
        self.next = clock::now() + PAUSE;
    }
}

fn tpdus(host: &Host) -> u64 {
    host.sent.transport.all().tpdus + host.received.transport.all().tpdus
}
