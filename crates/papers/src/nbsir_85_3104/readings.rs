//! Meter's readings of the trace: each interval, the total, and hosts within an interval.

use super::plan::Host;
use super::trace::{INTERVAL, Passage};
use meter::measure::Traffic;
use meter::metric::Metric;
use meter::registry::{Measure, Values, of_network, of_traffic};
use meter::{Meter, Report, Settings};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::dissect::Link;
use wire::time::Instant;

/// Start of the trace, in seconds since 1970: 13 June 1984, 5:16 p.m. in Maryland, which is 21:16
/// UTC. These are 5,277 days (14 years of 365 days, 3 leap days, and the 164 days before 13 June of
/// a leap year) and 76,560 seconds.
const ORIGIN_SECONDS: u64 = 5_277 * 86_400 + 76_560;

/// Start of the first interval.
#[must_use]
pub fn origin() -> Instant {
    Instant::from_nanos(ORIGIN_SECONDS * 1_000_000_000)
}

/// Ratios of a host in an interval, as in the paper.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct HostRatios {
    /// Original DTs to all TPDUs, of what it sent and received.
    pub(super) r_om: f64,
    /// Original DTs to original AKs, of what it sent.
    pub(super) r_oa: f64,
    /// Retransmitted AKs to all AKs, of what it sent.
    pub(super) r_ra: f64,
    /// Octets of user data that it sent.
    pub(super) data_octets: f64,
    /// Connections in which it took part.
    pub(super) connections: u64,
}

/// Readings of the meter.
pub(super) struct Readings {
    /// The intervals.
    pub(super) intervals: Vec<Report>,
    /// The total.
    pub(super) total: Report,
    /// Meters that each processed one interval alone.
    alone: Vec<Meter>,
}

impl Readings {
    /// Meters the trace.
    pub(super) fn take(trace: &[Passage]) -> Self {
        let settings = Settings { origin: Some(origin()), ..Settings::every(INTERVAL) };
        let mut meter = Meter::new(settings.clone());
        // Connections must be reported at the end of their interval, even long after their end.
        let settings = Settings { silence: INTERVAL, ..settings };
        let mut alone = Vec::new();
        let mut ends = origin();
        for passage in trace {
            if passage.at >= ends {
                ends += INTERVAL;
                alone.push(Meter::new(settings.clone()));
            }
            let frame = passage.frame();
            meter.observe(passage.at, Link::Ethernet, &frame, frame.len());
            if let Some(alone) = alone.last_mut() {
                alone.observe(passage.at, Link::Ethernet, &frame, frame.len());
            }
        }
        let total = meter.finish();
        let intervals =
            core::iter::from_fn(|| meter.take_interval()).map(|report| *report).collect();
        Self { intervals, total, alone }
    }

    /// Interval, counted from 0; the total is number 8.
    pub(super) fn report(&self, interval: usize) -> Option<&Report> {
        if interval == self.intervals.len() {
            return Some(&self.total);
        }
        self.intervals.get(interval)
    }

    /// Row of Table 4.
    pub(super) fn measure(&self, wanted: Measure, interval: usize) -> Option<f64> {
        let table = self.report(interval)?.measures.table();
        let cell = table.into_iter().find(|(known, _)| *known == wanted);
        cell.map(|(_, value)| value as f64)
    }

    /// Row of Table 5.
    pub(super) fn metric(&self, symbol: &str, interval: usize) -> Option<f64> {
        let metrics: &[Metric; 13] = &self.report(interval)?.metrics;
        metrics.iter().find(|metric| metric.definition.symbol == symbol)?.value
    }

    /// Ratios of a host in an interval; none if it was silent.
    pub(super) fn host(&self, host: Host, interval: usize) -> Option<HostRatios> {
        let meter = self.alone.get(interval)?;
        let mac = Some(Mac::local(host.number()));
        let station = |host: &meter::Host| host.address.is_some_and(|known| known.mac() == mac);
        let meter::Host { sent, received, .. } = meter.each_host().find(station)?;
        let [dts, aks] = sent.transport.data_and_acknowledgements();
        let both = [&sent.transport, &received.transport];
        let original: u64 = both.map(|t| t.data_and_acknowledgements()[0].originals()).iter().sum();
        let all: u64 = both.map(|transport| transport.all().tpdus).iter().sum();
        let ends = |known: &meter::Connection| known.ends.iter().any(|(a, _)| a.mac() == mac);
        Some(HostRatios {
            r_om: original as f64 / all as f64,
            r_oa: dts.originals() as f64 / aks.originals() as f64,
            r_ra: aks.retransmissions as f64 / aks.tpdus as f64,
            data_octets: sent.transport.all().data_octets as f64,
            connections: meter.each_connection().filter(ends).count() as u64,
        })
    }

    /// Connections that one host opened to another, in all intervals.
    pub(super) fn calls(&self, from: Host, to: Host) -> u64 {
        let wanted = [from, to].map(|host| Some(Mac::local(host.number())));
        let all = self.alone.iter().flat_map(Meter::each_connection);
        let is_wanted = |known: &meter::Connection| known.ends.map(|(end, _)| end.mac()) == wanted;
        all.filter(is_wanted).count() as u64
    }

    /// Octets of all measures of an interval in NDJSON: of the network and of each host.
    pub(super) fn stream_octets(&self, interval: usize) -> Option<usize> {
        let octets = |values: Values| {
            let record: BTreeMap<_, _> =
                values.into_iter().map(|(measure, value)| (measure.to_string(), value)).collect();
            serde_json::to_string(&record).map_or(0, |record| record.len())
        };
        let network = octets(of_network(&self.report(interval)?.measures));
        let hosts = self.alone.get(interval)?.each_host();
        // Records of hosts leave out totals over all kinds.
        let of_kinds = |traffic: &Traffic| {
            let mut values = of_traffic(traffic);
            values.retain(|(measure, _)| !measure.is_total_of_kinds());
            octets(values)
        };
        let of_hosts = hosts.map(|host| of_kinds(&host.sent) + of_kinds(&host.received));
        Some(network + of_hosts.sum::<usize>())
    }

    /// Largest volume of user data in one direction of a connection.
    pub(super) fn longest_file(&self) -> u64 {
        let connections = self.alone.iter().flat_map(Meter::each_connection);
        let ways = connections.flat_map(|connection| *connection.directions);
        ways.map(|way| way.all().information_octets).max().unwrap_or(0)
    }
}
