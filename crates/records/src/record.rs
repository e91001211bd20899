//! Records: the lines of the stream, written and read by the same types.
//!
//! Names carry their unit. A value that does not exist is null or absent. Readers skip records and
//! names that they do not recognise.

use super::ends::{end_name, ending_name};
use super::histograms::Histograms;
use super::item::{self, Item};
use super::origin::Origin;
use super::responses::{Responses, is_without_responses};
use super::{
    Collection, ControlBlocks, Counts, CyclicStream, CyclicStreams, Named, Publisher, Publishers,
    SCHEMA, Services, ServicesInterval, Stamps, Subset, Text, Transactions, TransactionsInterval,
};
use meter::measure::{Traffic, Transport};
use meter::metric::{Metric, ratios};
use meter::oddity::{self, Oddities};
use meter::registry::{self, Values};
use meter::{Report, Settings};
use serde::{Deserialize, Serialize};
use wire::time::nanos;

use super::recorder::{Details, Spans};

/// A line of the stream.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Record {
    /// Source of the stream and settings of the measurement.
    Stream(Head),
    /// A sampling interval.
    Sample(Sample),
    /// A measurement interval, or a report within one.
    Interval(Interval),
    /// A host in an interval.
    HostInterval(HostInterval),
    /// A connection in an interval.
    ConnectionInterval(Box<ConnectionInterval>),
    /// Sum of the other connections in an interval.
    ConnectionsRest(Rest),
    /// All intervals.
    Total(Total),
    /// A host over all intervals.
    Host(Host),
    /// A connection from its first TPDU to its last.
    Connection(Box<Connection>),
    /// Association of a connection, and its services so far: in an interval that changed them, and of the whole.
    Services(Box<Services>),
    /// Services on the association of a connection in an interval.
    ServicesInterval(Box<ServicesInterval>),
    /// Control blocks of a connection.
    ControlBlocks(Box<ControlBlocks>),
    /// Stream of cyclic data.
    CyclicStream(Box<CyclicStream>),
    /// Streams of cyclic data so far.
    CyclicStreams(Box<CyclicStreams>),
    /// Declared publishers so far.
    Publishers(Box<Publishers>),
    /// Publisher, as declared and as seen.
    Publisher(Box<Publisher>),
    /// Transactions of a function.
    Transactions(Box<Transactions>),
    /// Transactions so far, and in an interval.
    TransactionsInterval(Box<TransactionsInterval>),
    /// Something that is wrong or notable; the worst first.
    Finding(Finding),
    /// End of the measurement.
    End(End),
    /// A record of a later version.
    #[serde(other)]
    Unknown,
}

/// Source of the stream and settings of the measurement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Head {
    /// Name and version of the format, [`crate::SCHEMA`].
    pub schema: String,
    /// Interface or files that the frames come from.
    pub source: String,
    /// File names as given, `-` being standard input; none for a port.
    #[serde(default)]
    pub files: Option<Vec<String>>,
    /// Length of a measurement interval.
    pub measure_ns: u64,
    /// Time between reports within an interval.
    pub report_ns: u64,
    /// Length of a sampling interval; none without samples.
    pub sample_ns: Option<u64>,
    /// Rate of the channel (R), for U_C and E_C.
    pub channel_bits_per_second: u64,
    /// Upper bound of each size class but the last.
    pub bounds_octets: Vec<u64>,
    /// Number of hosts and of connections reported individually in each interval.
    pub top: u64,
    /// Measures that are reported; null if all of them are.
    pub only: Option<Vec<String>>,
    /// File whose publishers are expected; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
}

impl Head {
    /// Returns the head of a stream measured with these settings.
    pub fn of(
        origin: Origin,
        settings: &Settings,
        spans: Spans,
        details: Details,
        only: &Subset,
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
            expect: None,
        }
    }
}

/// A sampling interval.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// Start of the interval, since 1970 or the start of the simulation.
    pub start_ns: u64,
    /// Length of the interval.
    pub length_ns: u64,
    /// Frames in it.
    pub frames: u64,
    /// Octets of these frames.
    pub octets: u64,
    /// The busiest connections at its end.
    pub connections: Vec<Place>,
}

/// Sequence numbers of a connection. Each list has a value for each side.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Number of the connection.
    pub id: u32,
    /// One past the highest DT seen.
    pub sent: [Option<u64>; 2],
    /// DT that the peer expects next.
    pub acknowledged: [Option<u64>; 2],
    /// One past the last DT that the peer's credit allows.
    pub allowed: [Option<u64>; 2],
    /// True while the peer gives no credit.
    pub window_closed: [bool; 2],
}

/// A measurement interval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// Number of the interval, from 0.
    pub index: Option<u64>,
    /// Number of intervals that the record stands for: more than one in a silence.
    pub intervals: u64,
    /// Start of the interval, since 1970 or the start of the simulation.
    pub start_ns: u64,
    /// Length of the interval.
    pub length_ns: u64,
    /// True if the interval is over; false for a report within it.
    pub complete: bool,
    /// Frames in it.
    pub frames: u64,
    /// Frames dropped during collection, by the interface or the kernel.
    pub dropped_by_kernel: Option<u64>,
    /// Losses during collection, as far as they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<Collection>,
    /// Source and resolution of the time stamps; absent if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<Stamps>,
    /// Measures of the network.
    pub measures: Counts,
    /// Metrics of NBSIR 85-3104 by symbol; none for a division by zero.
    pub metrics: Named<Option<f64>>,
    /// Oddities by class and name.
    pub oddities: Named<u64>,
    /// Distributions of delays, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histograms: Option<Histograms>,
}

/// A host in an interval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostInterval {
    /// Number of the interval.
    pub index: Option<u64>,
    /// Address; none for the rest.
    pub host: Option<Text>,
    /// Number of hosts that the record stands for.
    pub hosts: u64,
    /// Measures of what they sent.
    pub sent: Counts,
    /// Measures of what they received.
    pub received: Counts,
    /// Metrics of what it sent, R_OM of both directions; empty in older streams.
    #[serde(default)]
    pub metrics: Named<Option<f64>>,
}

/// A connection in an interval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConnectionInterval {
    /// Number of the interval.
    pub index: Option<u64>,
    /// Identity and state of the connection.
    #[serde(flatten)]
    pub connection: Identity,
    /// Measures of what each side sent.
    pub directions: [Direction; 2],
    /// Metrics of what each side sent, R_OM of both directions; empty in older streams.
    #[serde(default)]
    pub metrics: [Named<Option<f64>>; 2],
    /// Response times of each side in the interval; absent if neither has any.
    #[serde(default, skip_serializing_if = "is_without_responses")]
    pub responses: [Option<Responses>; 2],
}

/// Sum of the connections that are not reported individually.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Rest {
    pub index: Option<u64>,
    pub connections: u64,
    pub directions: [Direction; 2],
}

/// All intervals.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Total {
    /// Number of intervals.
    pub intervals: u64,
    /// Start of the first interval.
    pub start_ns: u64,
    /// Length of all intervals.
    pub length_ns: u64,
    /// Measures of the network.
    pub measures: Counts,
    /// Metrics of NBSIR 85-3104 by symbol; none for a division by zero.
    pub metrics: Named<Option<f64>>,
    /// Distributions of delays, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histograms: Option<Histograms>,
}

/// A host in all intervals.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Host {
    /// Address; none for the hosts beyond the limit, which are counted together.
    pub host: Option<Text>,
    /// Measures of what it sent.
    pub sent: Counts,
    /// Measures of what it received.
    pub received: Counts,
    /// Metrics of what it sent, R_OM of both directions; empty in older streams.
    #[serde(default)]
    pub metrics: Named<Option<f64>>,
}

/// Identity and state of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// Number of the connection, from 1 in the order in which the meter found them.
    pub id: u32,
    /// Addresses of both sides, with their ports; the side that sent the CR first.
    pub ends: [Text; 2],
    /// References of both sides (SRC-REF), once known.
    pub references: [Option<u16>; 2],
    /// Transport class agreed on, once known.
    pub class: Option<u8>,
    /// Protocol above the transport, by its first octets.
    pub user: Text,
    /// Confidence of this detection.
    pub confidence: Text,
    /// State: opening, established, closing or closed.
    pub state: Text,
    /// Kind of ending: graceful, abrupt or erroneous.
    pub ending: Option<Text>,
    /// Time of the CR.
    pub opening_ns: Option<u64>,
    /// Time of the CC.
    pub established_ns: Option<u64>,
    /// Time of the DR.
    pub closing_ns: Option<u64>,
    /// Time of the DC, or of the end of the TCP connection.
    pub closed_ns: Option<u64>,
    /// Time of the last TPDU.
    pub last_ns: u64,
    /// Time up to which the state holds: a closed window counts until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<u64>,
}

impl Identity {
    /// Returns the state and its cause in a word.
    pub fn outcome(&self) -> &str {
        match &self.ending {
            Some(ending) => ending,
            None if self.state == "closed" && self.established_ns.is_none() => "refused",
            None => &self.state,
        }
    }

    /// Returns true if either side began to end the connection.
    pub const fn is_ending(&self) -> bool {
        self.closing_ns.is_some() || self.closed_ns.is_some()
    }

    /// Returns the time of its first TPDU.
    pub fn start_ns(&self) -> u64 {
        let history = [self.opening_ns, self.established_ns, self.closing_ns, self.closed_ns];
        history.into_iter().flatten().min().unwrap_or(self.last_ns)
    }
}

/// A connection from its first TPDU to its last.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Connection {
    /// Identity and final state.
    #[serde(flatten)]
    pub connection: Identity,
    /// Measures of what each side sent.
    pub directions: [Direction; 2],
    /// Metrics of what each side sent, R_OM of both directions; empty in older streams.
    #[serde(default)]
    pub metrics: [Named<Option<f64>>; 2],
}

/// Values sent by one side of a connection, by name.
pub(crate) type Direction = Counts;

/// A finding: a judgement with its evidence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// `wrong`, `look` or `note`.
    pub grade: String,
    /// Count and share that the judgement rests on.
    pub text: String,
    /// Connection or host that accounts for most of it; none where it concerns no single one.
    pub evidence: Option<String>,
    /// Number of that connection.
    pub id: Option<u32>,
    /// Command that shows more.
    pub command: String,
}

/// End of the measurement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct End {
    /// True where the input was read to its end.
    pub complete: bool,
    /// Frames that the meter received.
    pub frames: u64,
    /// Time of the last frame, or of the end of listening on a port; absent in older streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_until_ns: Option<u64>,
    /// Frames that a filter left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
    /// Oddities by class and name.
    pub oddities: Named<u64>,
    /// Frames dropped during collection, by the interface or the kernel.
    pub dropped_by_kernel: Option<u64>,
    /// Losses during collection, as far as they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<Collection>,
    /// Source and resolution of the time stamps; absent if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<Stamps>,
    /// Reason for an early end.
    pub error: Option<String>,
}

impl Record {
    /// Converts an item of a recorder, with the measures that are reported.
    pub fn of(item: &Item, only: &Subset) -> Self {
        match item {
            Item::Sample(sample) => Self::Sample(sample_record(sample)),
            Item::Interval(interval) => Self::Interval(interval_record(interval, only)),
            Item::HostInterval(host) => Self::HostInterval(host_interval_record(host, only)),
            Item::ConnectionInterval(told) => {
                let item::ConnectionInterval { index, connection, replied } = &**told;
                let (connection, directions) = (identity(connection), &connection.directions);
                let metrics = of_sides(directions);
                let directions =
                    directions.each_ref().map(|sent| direction_in_interval(sent, only));
                let (index, responses) = (*index, replied.each_ref().map(Responses::of));
                let told = ConnectionInterval { index, connection, directions, metrics, responses };
                Self::ConnectionInterval(Box::new(told))
            }
            Item::Rest(rest) => {
                let item::Rest { index, connections, directions } = &**rest;
                let directions =
                    directions.each_ref().map(|sent| direction_in_interval(sent, only));
                let (index, connections) = (*index, *connections);
                Self::ConnectionsRest(Rest { index, connections, directions })
            }
            Item::Total(total) => Self::Total(Total {
                intervals: total.intervals,
                start_ns: total.start.as_nanos(),
                length_ns: nanos(total.length),
                measures: measures(total, only),
                metrics: metrics(&total.metrics),
                histograms: None,
            }),
            Item::Connection(known) => {
                let directions = known.directions.each_ref();
                let directions =
                    directions.map(|sent| subset(registry::whole_of_direction(sent), only));
                let (connection, metrics) = (identity(known), of_sides(&known.directions));
                Self::Connection(Box::new(Connection { connection, directions, metrics }))
            }
            Item::CyclicStream(of) => {
                let stream = CyclicStream::of(&of.report, of.until, of.has_names);
                Self::CyclicStream(Box::new(stream))
            }
            Item::CyclicStreams(of) => Self::CyclicStreams(Box::new(of.record())),
            Item::Publishers(of) => Self::Publishers(of.clone()),
            Item::Publisher(of) => Self::Publisher(of.clone()),
            Item::Transactions(of) => Self::Transactions(Box::new(Transactions::of(of))),
            Item::TransactionsInterval(of) => {
                Self::TransactionsInterval(Box::new(TransactionsInterval::of(of)))
            }
            Item::Services(of) => Self::Services(Box::new(Services::of(of))),
            Item::ServicesInterval(of) => {
                Self::ServicesInterval(Box::new(ServicesInterval::of(of)))
            }
            Item::ControlBlocks(of) => Self::ControlBlocks(Box::new(ControlBlocks::of(of))),
            Item::Host(host) => Self::Host(Host {
                host: host.address.map(|address| end_name(address, 0)),
                sent: of_host_way(registry::of_host(host), only),
                received: of_host_way(registry::of_traffic(&host.received), only),
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
                stamps: end.stamps,
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
    let item::Interval { report, collected, stamps, .. } = interval;
    Interval {
        dropped_by_kernel: collected.dropped(),
        collection: Collection::of(collected),
        stamps: *stamps,
        measures: measures(report, only),
        oddities: oddities(&report.oddities),
        ..Interval::brief(interval, only, &[])
    }
}

fn host_interval_record(host: &item::HostInterval, only: &Subset) -> HostInterval {
    let item::HostInterval { index, address, hosts, traffic, replied } = host;
    let metrics = of_host(traffic.each_ref());
    let [mut sent, received] = traffic.each_ref().map(registry::interval_of_traffic);
    registry::add_so_far(replied, &mut sent);
    let [sent, received] = [sent, received].map(|values| subset(values, only));
    let host = address.map(|address| end_name(address, 0));
    HostInterval { index: *index, host, hosts: *hosts, sent, received, metrics }
}

fn subset(values: Values, only: &Subset) -> Counts {
    let mut counts = Counts(values);
    only.apply(&mut counts);
    counts
}

fn measures(report: &Report, only: &Subset) -> Counts {
    let mut values = registry::of_network(&report.measures);
    values.retain(|(measure, _)| !report.measures.is_unseen(*measure));
    subset(values, only)
}

fn of_host_way(mut values: Values, only: &Subset) -> Counts {
    values.retain(|(measure, _)| !measure.is_total_of_kinds());
    subset(values, only)
}

pub(crate) fn metrics(metrics: &[Metric]) -> Named<Option<f64>> {
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

pub(crate) fn identity(connection: &meter::Connection) -> Identity {
    let [opening_ns, established_ns, closing_ns, closed_ns] =
        connection.history.map(|at| at.map(wire::time::Instant::as_nanos));
    let is_closed = connection.directions.iter().any(|sent| sent.closed_since.is_some());
    Identity {
        id: connection.serial,
        ends: connection.ends.map(|(address, port)| end_name(address, port)),
        references: connection.references.map(|reference| reference.map(|known| known.0)),
        class: connection.class,
        user: Text::const_new(connection.user.name()),
        confidence: Text::const_new(connection.confidence.name()),
        state: Text::const_new(connection.state.name()),
        ending: connection.ending.map(|ending| Text::const_new(ending_name(ending))),
        opening_ns,
        established_ns,
        closing_ns,
        closed_ns,
        last_ns: connection.last.as_nanos(),
        until_ns: is_closed.then_some(connection.until.as_nanos()),
    }
}

/// Returns the values of what a side sent in an interval.
fn direction_in_interval(direction: &meter::Direction, only: &Subset) -> Direction {
    let mut values = registry::interval_of_direction(direction);
    registry::add_so_far(&direction.replied, &mut values);
    subset(values, only)
}
