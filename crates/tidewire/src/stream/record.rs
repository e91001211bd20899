//! Records: the lines of the stream, written and read by the same types.
//!
//! Names carry their unit. A value that does not exist is null or absent. Readers pass over records
//! and names that they do not know.

use super::item::{self, Item};
use super::origin::Origin;
use super::{Collection, Named, SCHEMA, Subset};
use meter::measure::{Measure as _, Summary, Traffic, Transport, Values, Waits};
use meter::metric::{Metric, ratios};
use meter::oddity::{self, Oddities};
use meter::sight::Ending;
use meter::{Address, Report, Settings};
use serde::{Deserialize, Serialize};
use wire::time::nanos;

use super::recorder::{Details, Spans};

/// A line of the stream.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Record {
    /// What stream it is and how was measured.
    Stream(Head),
    /// A sampling interval.
    Sample(Sample),
    /// A measurement interval, or a report within one.
    Interval(Interval),
    /// A host in it.
    HostInterval(HostInterval),
    /// A connection in it.
    ConnectionInterval(Box<ConnectionInterval>),
    /// The other connections in it.
    ConnectionsRest(Rest),
    /// All intervals.
    Total(Total),
    /// A host in all of them.
    Host(Host),
    /// A connection from its first TPDU to its last.
    Connection(Box<Connection>),
    /// Something that is wrong, or worth knowing; the worst first.
    Finding(Finding),
    /// How it ended.
    End(End),
    /// Something of a later version.
    #[serde(other)]
    Unknown,
}

/// What stream it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) schema: String,
    /// What was heard or read.
    pub(crate) source: String,
    /// The files as they were named, `-` being standard input; none of a port.
    #[serde(default)]
    pub(crate) files: Option<Vec<String>>,
    pub(crate) measure_ns: u64,
    pub(crate) report_ns: u64,
    pub(crate) sample_ns: Option<u64>,
    pub(crate) channel_bits_per_second: u64,
    /// The largest size of each class of sizes but the last.
    pub(crate) bounds_octets: Vec<u64>,
    /// Hosts and connections told of one by one in each interval.
    pub(crate) top: u64,
    /// The measures that are told; all of them where it is null.
    pub(crate) only: Option<Vec<String>>,
}

impl Head {
    /// Of a stream that is measured so.
    pub(crate) fn of(
        origin: Origin,
        settings: &Settings,
        (spans, details, only): (Spans, Details, &Subset),
    ) -> Self {
        let is_bound = |bound: &u64| *bound < meter::measure::NO_BOUND_OCTETS;
        let Origin { source, files } = origin;
        Self {
            schema: SCHEMA.to_owned(),
            source,
            files,
            measure_ns: nanos(settings.interval),
            report_ns: nanos(spans.report),
            sample_ns: spans.sample.map(nanos),
            channel_bits_per_second: settings.channel.bits_per_second(),
            bounds_octets: settings.bounds_octets.into_iter().filter(is_bound).collect(),
            top: details.top as u64,
            only: only.patterns().map(<[String]>::to_vec),
        }
    }
}

/// A sampling interval.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) start_ns: u64,
    pub(crate) length_ns: u64,
    pub(crate) frames: u64,
    pub(crate) octets: u64,
    /// The busiest connections at its end.
    pub(crate) connections: Vec<Place>,
}

/// Where the numbers of a connection stand. Each list has a value for each side.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) id: u32,
    pub(crate) sent: [Option<u64>; 2],
    pub(crate) acknowledged: [Option<u64>; 2],
    pub(crate) allowed: [Option<u64>; 2],
    pub(crate) window_closed: [bool; 2],
}

/// A measurement interval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Interval {
    pub(crate) index: Option<u64>,
    pub(crate) intervals: u64,
    pub(crate) start_ns: u64,
    pub(crate) length_ns: u64,
    /// Whether it is over; of a report within it, it is not.
    pub(crate) complete: bool,
    pub(crate) frames: u64,
    /// All that were dropped where they were collected, by whomever.
    pub(crate) dropped_by_kernel: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) collection: Option<Collection>,
    pub(crate) measures: Named<u64>,
    pub(crate) metrics: Named<Option<f64>>,
    pub(crate) oddities: Named<u64>,
}

/// A host in an interval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct HostInterval {
    pub(crate) index: Option<u64>,
    /// None of the rest.
    pub(crate) host: Option<String>,
    pub(crate) hosts: u64,
    pub(crate) sent: Named<u64>,
    pub(crate) received: Named<u64>,
    /// Of what it sent, R_OM of both; empty in older streams.
    #[serde(default)]
    pub(crate) metrics: Named<Option<f64>>,
}

/// A connection in an interval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ConnectionInterval {
    pub(crate) index: Option<u64>,
    /// Who it is and how far it has come.
    #[serde(flatten)]
    pub(crate) connection: Identity,
    pub(crate) directions: [Direction; 2],
    /// Of what each side sent, R_OM of both; empty in older streams.
    #[serde(default)]
    pub(crate) metrics: [Named<Option<f64>>; 2],
}

/// Connections that are not told of one by one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Rest {
    pub(crate) index: Option<u64>,
    pub(crate) connections: u64,
    pub(crate) directions: [Direction; 2],
}

/// All intervals.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Total {
    pub(crate) intervals: u64,
    pub(crate) start_ns: u64,
    pub(crate) length_ns: u64,
    pub(crate) measures: Named<u64>,
    pub(crate) metrics: Named<Option<f64>>,
}

/// A host in all intervals.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) host: Option<String>,
    pub(crate) sent: Named<u64>,
    pub(crate) received: Named<u64>,
    /// Of what it sent, R_OM of both; empty in older streams.
    #[serde(default)]
    pub(crate) metrics: Named<Option<f64>>,
}

/// Who a connection is and how far it has come.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) id: u32,
    pub(crate) ends: [String; 2],
    pub(crate) references: [Option<u16>; 2],
    pub(crate) class: Option<u8>,
    pub(crate) user: String,
    pub(crate) confidence: String,
    pub(crate) state: String,
    pub(crate) ending: Option<String>,
    pub(crate) opening_ns: Option<u64>,
    pub(crate) established_ns: Option<u64>,
    pub(crate) closing_ns: Option<u64>,
    pub(crate) closed_ns: Option<u64>,
    pub(crate) last_ns: u64,
    /// Until when this is so: a window that is closed counts until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until_ns: Option<u64>,
}

impl Identity {
    /// The state and how it came to it, in a word.
    pub(crate) fn outcome(&self) -> &str {
        match &self.ending {
            Some(ending) => ending,
            None if self.state == "closed" && self.established_ns.is_none() => "refused",
            None => &self.state,
        }
    }

    /// Whether either side began to end it.
    pub(crate) const fn is_ending(&self) -> bool {
        self.closing_ns.is_some() || self.closed_ns.is_some()
    }

    /// When it was seen first.
    pub(crate) fn start_ns(&self) -> u64 {
        let history = [self.opening_ns, self.established_ns, self.closing_ns, self.closed_ns];
        history.into_iter().flatten().min().unwrap_or(self.last_ns)
    }
}

/// A connection from its first TPDU to its last.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Connection {
    /// Who it is and how far it came.
    #[serde(flatten)]
    pub(crate) connection: Identity,
    pub(crate) directions: [Direction; 2],
    /// Of what each side sent, R_OM of both; empty in older streams.
    #[serde(default)]
    pub(crate) metrics: [Named<Option<f64>>; 2],
}

/// What a side of a connection sent, by name.
pub(crate) type Direction = Named<u64>;

/// A finding: a judgement with its evidence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// `wrong`, `look` or `note`.
    pub(crate) grade: String,
    /// Count and share that the judgement rests on.
    pub(crate) text: String,
    /// The connection or the host that has most of it; none where it is of no single one.
    pub(crate) evidence: Option<String>,
    /// Number of that connection.
    pub(crate) id: Option<u32>,
    /// Command that shows more.
    pub(crate) command: String,
}

/// How it ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) complete: bool,
    pub(crate) frames: u64,
    /// The time of the last frame, or until when a port was heard; older streams do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) heard_until_ns: Option<u64>,
    /// Frames that a filter left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left_out: Option<u64>,
    pub(crate) oddities: Named<u64>,
    /// All that were dropped where they were collected, by whomever.
    pub(crate) dropped_by_kernel: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) collection: Option<Collection>,
    pub(crate) error: Option<String>,
}

impl Interval {
    /// What was counted where frames were collected, as far as the record says it.
    pub(crate) fn collected(&self) -> Collection {
        let dropped_by_kernel = self.dropped_by_kernel;
        self.collection.unwrap_or(Collection { dropped_by_kernel, ..Collection::default() })
    }
}

impl End {
    /// What was counted where frames were collected, as far as the record says it.
    pub(crate) fn collected(&self) -> Collection {
        let dropped_by_kernel = self.dropped_by_kernel;
        self.collection.unwrap_or(Collection { dropped_by_kernel, ..Collection::default() })
    }
}

impl Record {
    /// What was found, with the measures that are reported.
    pub(crate) fn of(item: &Item, only: &Subset) -> Self {
        match item {
            Item::Sample(sample) => Self::Sample(sample_record(sample)),
            Item::Interval(interval) => Self::Interval(interval_record(interval, only)),
            Item::HostInterval(host) => {
                let item::HostInterval { index, address, hosts, traffic, replied } = &**host;
                let metrics = of_host(traffic.each_ref());
                let [mut sent, mut received] =
                    traffic.each_ref().map(|traffic| traffic_of(traffic, only));
                // A part of the whole does not say what took longest in it, nor its busiest second but
                // where that is the busiest so far.
                for values in [&mut sent, &mut received] {
                    values.0.retain(|(name, value)| {
                        let is_peak = name.starts_with("peak_");
                        !name.ends_with("_max_ns") && (*value > 0 || !is_peak)
                    });
                }
                sent.0.extend(so_far(replied));
                only.apply(&mut sent);
                let host = address.map(|address| address.to_string());
                Self::HostInterval(HostInterval {
                    index: *index,
                    host,
                    hosts: *hosts,
                    sent,
                    received,
                    metrics,
                })
            }
            Item::ConnectionInterval(told) => {
                let item::ConnectionInterval { index, connection, directions } = &**told;
                let connection = identity(connection);
                let metrics = of_sides(directions);
                let directions = directions.each_ref().map(|sent| direction(sent, false, only));
                let told = ConnectionInterval { index: *index, connection, directions, metrics };
                Self::ConnectionInterval(Box::new(told))
            }
            Item::Rest(rest) => {
                let item::Rest { index, connections, directions } = &**rest;
                let directions = directions.each_ref().map(|sent| direction(sent, false, only));
                let (index, connections) = (*index, *connections);
                Self::ConnectionsRest(Rest { index, connections, directions })
            }
            Item::Total(total) => Self::Total(Total {
                intervals: total.intervals,
                start_ns: total.start.as_nanos(),
                length_ns: nanos(total.length),
                measures: measures(total, only),
                metrics: metrics(&total.metrics),
            }),
            Item::Connection(known) => {
                let directions = known.directions.each_ref();
                let directions = directions.map(|sent| direction(sent, true, only));
                let (connection, metrics) = (identity(known), of_sides(&known.directions));
                Self::Connection(Box::new(Connection { connection, directions, metrics }))
            }
            Item::Host(host) => Self::Host(Host {
                host: host.address.map(|address| address.to_string()),
                sent: subset(sent_of(host), only),
                received: traffic_of(&host.received, only),
                metrics: of_host([&host.sent, &host.received]),
            }),
            Item::End(end) => Self::End(End {
                complete: end.error.is_none(),
                frames: end.frames,
                heard_until_ns: end.heard_until.map(wire::time::Instant::as_nanos),
                left_out: end.left_out,
                oddities: oddities(&end.oddities),
                dropped_by_kernel: end.collected.dropped(),
                collection: Collection::of(&end.collected),
                error: end.error.clone(),
            }),
        }
    }
}

fn sample_record(sample: &item::Sample) -> Sample {
    let place = |place: &item::Place| Place {
        id: place.serial,
        sent: place.numbers.map(|numbers| numbers.map(|numbers| numbers.sent)),
        acknowledged: place.numbers.map(|numbers| numbers.and_then(|n| n.acknowledged)),
        allowed: place.numbers.map(|numbers| numbers.and_then(|n| n.allowed)),
        window_closed: place.is_closed,
    };
    Sample {
        start_ns: sample.start.as_nanos(),
        length_ns: nanos(sample.end.since(sample.start)),
        frames: sample.frames,
        octets: sample.octets,
        connections: sample.places.iter().map(place).collect(),
    }
}

fn interval_record(interval: &item::Interval, only: &Subset) -> Interval {
    let item::Interval { report, is_over, frames, collected } = interval;
    Interval {
        index: report.index,
        intervals: report.intervals,
        start_ns: report.start.as_nanos(),
        length_ns: nanos(report.length),
        complete: *is_over,
        frames: *frames,
        dropped_by_kernel: collected.dropped(),
        collection: Collection::of(collected),
        measures: measures(report, only),
        metrics: metrics(&report.metrics),
        oddities: oddities(&report.oddities),
    }
}

fn subset(values: Values, only: &Subset) -> Named<u64> {
    let mut named = Named(values);
    only.apply(&mut named);
    named
}

fn measures(report: &Report, only: &Subset) -> Named<u64> {
    let mut values = report.measures.values();
    values.retain(|(name, _)| !report.measures.is_unseen(name));
    subset(values, only)
}

fn traffic_of(traffic: &Traffic, only: &Subset) -> Named<u64> {
    subset(traffic.values(), only)
}

/// Values of what a host sent, with the distribution of its replies.
pub(crate) fn sent_of(host: &meter::Host) -> Values {
    let mut values = host.sent.values();
    values.extend(replied(&host.replied.summary()));
    values
}

/// Least, median and 99th percentile of the times that replies took.
pub(crate) fn replied(of: &Summary) -> Values {
    let Summary { min_ns, p50_ns, p99_ns, .. } = *of;
    let values =
        [("response_min_ns", min_ns), ("response_p50_ns", p50_ns), ("response_p99_ns", p99_ns)];
    values.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// Count, total, median, 99th percentile and greatest of all replies up to an interval's end; nothing before the first.
fn so_far(of: &Summary) -> Values {
    let Summary { count, total_ns, p50_ns, p99_ns, max_ns, .. } = *of;
    let values = [
        ("responses_so_far", count),
        ("response_total_so_far_ns", total_ns),
        ("response_p50_so_far_ns", p50_ns),
        ("response_p99_so_far_ns", p99_ns),
        ("response_max_so_far_ns", max_ns),
    ];
    let values = values.into_iter().filter(|_| count > 0);
    values.map(|(name, value)| (name.into(), value)).collect()
}

fn metrics(metrics: &[Metric]) -> Named<Option<f64>> {
    Named(metrics.iter().map(|metric| (metric.definition.symbol.into(), metric.value)).collect())
}

fn of_host([sent, received]: [&Traffic; 2]) -> Named<Option<f64>> {
    metrics(&ratios(&sent.transport, &received.transport))
}

fn of_sides(directions: &[meter::Direction; 2]) -> [Named<Option<f64>>; 2] {
    let [this, that]: [Transport; 2] = directions.each_ref().map(meter::Direction::transport);
    [metrics(&ratios(&this, &that)), metrics(&ratios(&that, &this))]
}

fn oddities(oddities: &Oddities) -> Named<u64> {
    let name = |class: oddity::Class, name| format!("{}: {name}", class.name()).into();
    Named(oddities.iter().map(|(class, what, times)| (name(class, what), times)).collect())
}

/// An end of a connection: its address, and its port where it has one.
pub(crate) fn end_name((address, port): (Address, u16)) -> String {
    match (address, port) {
        (_, 0) => address.to_string(),
        (Address::Internet(internet), _) if internet.to_ipv4_mapped().is_none() => {
            format!("[{address}]:{port}")
        }
        _ => format!("{address}:{port}"),
    }
}

/// The two ends of a connection.
pub(crate) fn ends_name(connection: &meter::Connection) -> String {
    let [from, to] = connection.ends.map(end_name);
    format!("{from}>{to}")
}

/// How a connection ended, in a word.
pub(crate) const fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Graceful => "graceful",
        Ending::Abrupt => "abrupt",
        Ending::Erroneous => "erroneous",
    }
}

fn identity(connection: &meter::Connection) -> Identity {
    let [opening_ns, established_ns, closing_ns, closed_ns] =
        connection.history.map(|at| at.map(wire::time::Instant::as_nanos));
    let is_closed = connection.directions.iter().any(|sent| sent.closed_since.is_some());
    Identity {
        id: connection.serial,
        ends: connection.ends.map(end_name),
        references: connection.references.map(|reference| reference.map(|known| known.0)),
        class: connection.class,
        user: connection.user.name().to_owned(),
        confidence: connection.confidence.name().to_owned(),
        state: connection.state.name().to_owned(),
        ending: connection.ending.map(|ending| ending_name(ending).to_owned()),
        opening_ns,
        established_ns,
        closing_ns,
        closed_ns,
        last_ns: connection.last.as_nanos(),
        until_ns: is_closed.then_some(connection.until.as_nanos()),
    }
}

/// How long things took on a connection, each under its name.
pub(crate) fn waits(waits: &Waits) -> Values {
    let mut values = waits.values();
    for (name, _) in &mut values {
        if name == "closed_window_total_ns" {
            *name = "closed_window_ns".into();
        }
    }
    values
}

/// The longest times are told of a whole connection only, since a part of it does not say.
fn direction(direction: &meter::Direction, is_whole: bool, only: &Subset) -> Direction {
    let mut values: Values = Vec::new();
    // Five values of each kind, the number of TPDUs first.
    for of_kind in direction.transport().values().chunks(5) {
        if of_kind.first().is_some_and(|(_, tpdus)| *tpdus > 0) {
            values.extend_from_slice(of_kind);
        }
    }
    let [acknowledging, crediting, confirming, keeping_alive] = direction.roles;
    let rest = [
        ("tsdus", direction.tsdus),
        ("tsdu_octets", direction.tsdu_octets),
        ("ak_acknowledging", acknowledging),
        ("ak_crediting", crediting),
        ("ak_confirming", confirming),
        ("ak_keeping_alive", keeping_alive),
        ("dt_into_closed_window", direction.into_closed_window),
        ("dt_empty_parts", direction.empty_parts),
    ];
    values.extend(rest.map(|(name, value)| (name.into(), value)));
    let peak = direction.peak.of_tpdus().into_iter();
    values.extend(peak.filter(|(_, count)| *count > 0));
    let waits = waits(&direction.waits).into_iter();
    values.extend(waits.filter(|(name, _)| is_whole || !name.ends_with("_max_ns")));
    let replies = &direction.replied;
    values.extend(if is_whole { replied(replies) } else { so_far(replies) });
    let sizes = direction.sizes.values().into_iter();
    values.extend(sizes.filter(|(_, count)| *count > 0));
    let numbers = direction.numbers;
    let places = [
        ("window_closed_since_ns", direction.closed_since.map(wire::time::Instant::as_nanos)),
        ("sent_number", numbers.map(|numbers| numbers.sent)),
        ("acknowledged_number", numbers.and_then(|numbers| numbers.acknowledged)),
        ("allowed_number", numbers.and_then(|numbers| numbers.allowed)),
    ];
    for (name, value) in places {
        values.extend(value.map(|value| (name.into(), value)));
    }
    subset(values, only)
}
