//! State of the stream so far: all that screens show, as plain data.
//!
//! Bounded in connections, hosts and events. The quietest connections are evicted first, and
//! evictions are counted.

use super::connection_row::Known;
use super::event::{Event, Events};
use super::history::History;
use super::trend::{Course, Moment};
use crate::{
    Collection, ConnectionInterval, ControlBlocks, Counts, CyclicStream, CyclicStreams,
    CyclicTotals, End, Head, HostInterval, Interval, Named, Publishers, Record, Sample, Services,
    ServicesInterval, Stamps, Text, Total, TransactionTotals, Transactions, TransactionsInterval,
};
use meter::registry::Measure;
use std::collections::BTreeMap;

/// Number of connections kept by an eviction, which starts at twice as many.
const CONNECTIONS: usize = 1_000;
/// Number of streams of cyclic data kept, the worst.
const STREAMS: usize = 64;
/// Number of functions of units kept, the slowest.
const FUNCTIONS: usize = 500;
/// Hosts kept.
const HOSTS: usize = 1_000;

/// Counts sent and received by a host.
pub type Both = [Counts; 2];

/// Counts of a host so far.
#[derive(Clone, Debug, Default)]
struct KnownHost {
    /// Sum of complete intervals; none before the first.
    complete: Option<Both>,
    /// That sum, with the last report of the interval under way.
    so_far: Both,
}

impl KnownHost {
    /// Removes the report of the interval under way.
    fn begin(&mut self) {
        if let Some(complete) = &self.complete {
            self.so_far.clone_from(complete);
        }
    }

    /// Adds an interval, or the report of the interval under way, behind [`Self::begin`].
    fn take(&mut self, told: &Both, is_complete: bool) {
        let add = |sum: &mut Both| sum.iter_mut().zip(told).for_each(|(sum, more)| sum.add(more));
        add(&mut self.so_far);
        if is_complete {
            add(self.complete.get_or_insert_default());
        }
    }
}

/// State of the stream so far.
#[derive(Clone, Debug)]
pub struct Model {
    /// First record of the stream.
    pub head: Head,
    /// The last interval, or the last report of one.
    pub latest: Option<Interval>,
    /// Sum of all complete intervals.
    sum: Counts,
    oddities: Named<u64>,
    frames: u64,
    /// Number of complete intervals.
    intervals: u64,
    start_ns: Option<u64>,
    /// All intervals, once reported.
    pub total: Option<Total>,
    /// Last record, once reported.
    pub end: Option<End>,
    /// Connections by number.
    pub connections: BTreeMap<u32, Known>,
    /// Associations of these connections by number.
    pub associations: BTreeMap<u32, Services>,
    /// Control blocks of these connections by number.
    pub control_blocks: BTreeMap<u32, ControlBlocks>,
    /// The worst streams of cyclic data so far.
    pub streams: Vec<CyclicStream>,
    /// Sums over all of them, also those that are not kept.
    pub of_streams: CyclicTotals,
    /// The worst of those reported as a whole, and sums over them; at the end they are all.
    whole_streams: (Vec<CyclicStream>, CyclicTotals),
    /// Publishers that a file declares, so far; none without a file.
    pub publishers: Option<Publishers>,
    /// The slowest functions of units so far.
    pub transactions: Vec<Transactions>,
    /// Sums over all of them, also those that are not kept.
    pub of_transactions: TransactionTotals,
    /// The slowest of those reported as a whole, and sums over them; at the end they are all.
    whole_transactions: (Vec<Transactions>, TransactionTotals),
    /// Number of evicted connections.
    pub gone: u64,
    hosts: BTreeMap<Option<Text>, KnownHost>,
    /// Rates from interval to interval.
    pub course: Course,
    /// Values of the last report within an interval, so that the course counts nothing twice.
    accumulated: (u64, u64, u64),
    /// Part of the course that the last report added.
    latest_part: Part,
    /// Events, the latest last.
    pub events: Events,
    /// The latest intervals that are over.
    pub history: History,
    /// Number of the connection whose record of the whole came last.
    whole: Option<u32>,
}

/// Part that a report added: its time since the first interval began, and its counts.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    from_ns: u64,
    until_ns: u64,
    tpdus: u64,
    again: u64,
}

impl Part {
    /// Rates of a part that ends at `until_ns`. A tenth of its length is the least time that they are over: a frame just
    /// behind the begin makes no rate.
    fn moment(self, until_ns: u64) -> Moment {
        let least_ns = self.until_ns.saturating_sub(self.from_ns) / 10;
        let length_ns = until_ns.saturating_sub(self.from_ns).max(least_ns).max(1);
        let rate = |count: u64| count as f64 * 1e9 / length_ns as f64;
        Moment { until_ns, tpdus_per_second: rate(self.tpdus), again_per_second: rate(self.again) }
    }
}

impl Model {
    /// Returns a model of one kept interval alone; place 0 is the oldest.
    pub fn past(&self, place: usize) -> Option<Self> {
        let records = self.history.interval(place)?;
        let mut model = Self::new(self.head.clone());
        for record in records {
            match &**record {
                Record::ServicesInterval(of) => model.services_of_interval(of),
                Record::TransactionsInterval(of) => {
                    model.transactions.clone_from(&of.in_interval);
                    model.of_transactions = TransactionTotals::default();
                    of.in_interval.iter().for_each(|it| model.of_transactions.add(&it.into()));
                }
                record => model.take(record.clone()),
            }
        }
        Some(model)
    }

    /// Creates a model without records.
    pub fn new(head: Head) -> Self {
        Self {
            head,
            latest: None,
            sum: Counts::default(),
            oddities: Named::default(),
            frames: 0,
            intervals: 0,
            start_ns: None,
            total: None,
            end: None,
            connections: BTreeMap::new(),
            associations: BTreeMap::new(),
            control_blocks: BTreeMap::new(),
            streams: Vec::new(),
            of_streams: CyclicTotals::default(),
            whole_streams: (Vec::new(), CyclicTotals::default()),
            publishers: None,
            transactions: Vec::new(),
            of_transactions: TransactionTotals::default(),
            whole_transactions: (Vec::new(), TransactionTotals::default()),
            gone: 0,
            hosts: BTreeMap::new(),
            course: Course::new(),
            accumulated: (0, 0, 0),
            latest_part: Part::default(),
            events: Events::default(),
            history: History::default(),
            whole: None,
        }
    }

    /// Applies a record.
    pub fn take(&mut self, mut record: Record) {
        // The history of intervals has no use for histograms, which may be long.
        if let Record::Interval(interval) = &mut record {
            interval.histograms = None;
        }
        self.remember(&record);
        match record {
            Record::Stream(_)
            | Record::ConnectionsRest(_)
            | Record::ServicesInterval(_)
            | Record::Finding(_)
            | Record::Publisher(_)
            | Record::Unknown => {}
            Record::Sample(sample) => self.sample(&sample),
            Record::Interval(interval) => self.interval(interval),
            Record::HostInterval(host) => self.host(host),
            Record::ConnectionInterval(told) => self.connection(&told),
            Record::Services(services) => {
                if self.connections.contains_key(&services.id) {
                    self.associations.insert(services.id, *services);
                }
            }
            Record::ControlBlocks(blocks) => {
                if self.connections.contains_key(&blocks.id) {
                    self.control_blocks.insert(blocks.id, *blocks);
                }
            }
            Record::CyclicStream(stream) => {
                let (worst, totals) = &mut self.whole_streams;
                totals.add(&stream);
                worst.push(*stream);
                if worst.len() >= 2 * STREAMS {
                    worst.sort_by(CyclicStream::worse);
                    worst.truncate(STREAMS);
                }
            }
            Record::CyclicStreams(so_far) => {
                let CyclicStreams { totals, worst, .. } = *so_far;
                (self.streams, self.of_streams) = (worst, totals);
            }
            Record::Publishers(so_far) => self.publishers = Some(*so_far),
            Record::Transactions(of) => self.whole_transactions(*of),
            Record::TransactionsInterval(so_far) => {
                let TransactionsInterval { totals, slowest, .. } = *so_far;
                (self.transactions, self.of_transactions) = (slowest, totals);
            }
            Record::Total(total) => self.total = Some(total),
            Record::Host(host) => {
                // The record of the whole replaces the sum of its parts.
                if self.hosts.len() < HOSTS || self.hosts.contains_key(&host.host) {
                    let mut whole = [host.sent, host.received];
                    whole.iter_mut().for_each(Counts::shrink);
                    let known = KnownHost { complete: Some(whole.clone()), so_far: whole };
                    self.hosts.insert(host.host, known);
                }
            }
            Record::Connection(whole) => {
                let known = self.connections.get(&whole.connection.id);
                self.events.connection(known, &whole.connection);
                self.conclude_connection(*whole);
            }
            Record::End(end) => {
                if !self.whole_streams.0.is_empty() {
                    (self.streams, self.of_streams) = self.whole_streams.clone();
                    self.streams.sort_by(CyclicStream::worse);
                }
                self.conclude_transactions();
                self.end_course(&end);
                self.events.end(&end, self.until_ns());
                self.end = Some(end);
            }
        }
    }

    /// Applies the final record of a connection, without an event.
    pub(crate) fn conclude_connection(&mut self, whole: crate::Connection) {
        let crate::Connection { connection, directions, .. } = whole;
        let known = self.connections.entry(connection.id).or_default();
        known.conclude(connection, directions);
        self.make_room();
    }

    /// Adds the transactions of a function as a whole.
    fn whole_transactions(&mut self, of: Transactions) {
        let (slowest, totals) = &mut self.whole_transactions;
        totals.add(&(&of).into());
        slowest.push(of);
        if slowest.len() >= 2 * FUNCTIONS {
            slowest.sort_by(Transactions::slower);
            slowest.truncate(FUNCTIONS);
        }
    }

    /// Replaces the transactions so far with those as a whole, if there were any.
    fn conclude_transactions(&mut self) {
        if !self.whole_transactions.0.is_empty() {
            (self.transactions, self.of_transactions) = self.whole_transactions.clone();
            self.transactions.sort_by(Transactions::slower);
            self.transactions.truncate(FUNCTIONS);
        }
    }

    /// Replaces the services of an association so far with those of an interval.
    fn services_of_interval(&mut self, of: &ServicesInterval) {
        if let Some(association) = self.associations.get_mut(&of.id) {
            (association.outstanding, association.most_outstanding) =
                (of.outstanding, of.most_outstanding);
            association.services.clone_from(&of.services);
        }
    }

    /// Stores the records of complete intervals.
    fn remember(&mut self, record: &Record) {
        let is_over = self.latest.as_ref().is_some_and(|latest| latest.complete);
        match record {
            Record::ConnectionInterval(_) => self.whole = None,
            Record::Connection(whole) => self.whole = Some(whole.connection.id),
            _ => {}
        }
        match record {
            // Behind the record of a whole connection are those of its whole association.
            Record::Services(of) if self.whole == Some(of.id) => {}
            Record::Services(of) if is_over => self.history.add_services((**of).clone()),
            Record::Interval(interval) if interval.complete => self.history.begin(record.clone()),
            Record::ConnectionInterval(of) if is_over => {
                self.history.add(record.clone());
                // Its services come only if they changed, and those of the interval if there were any.
                if let Some(known) = self.associations.get(&of.connection.id) {
                    let (services, most_outstanding) = (Vec::new(), 0);
                    let without = Services { services, most_outstanding, ..known.clone() };
                    self.history.add_services(without);
                }
            }
            Record::HostInterval(_)
            | Record::ServicesInterval(_)
            | Record::CyclicStreams(_)
            | Record::Publishers(_)
            | Record::TransactionsInterval(_)
                if is_over =>
            {
                self.history.add(record.clone());
            }
            _ => {}
        }
    }

    /// Returns the start of the first interval.
    pub fn start_ns(&self) -> u64 {
        self.start_ns.unwrap_or(0)
    }

    /// Returns the end of the latest record.
    pub fn until_ns(&self) -> u64 {
        let latest = self.latest.as_ref();
        latest.map_or(0, |latest| latest.start_ns.saturating_add(latest.length_ns))
    }

    /// Returns the length measured so far.
    pub fn length_ns(&self) -> u64 {
        let total = self.total.as_ref().map(|total| total.length_ns);
        total.unwrap_or_else(|| self.until_ns().saturating_sub(self.start_ns()))
    }

    /// Returns the total number of frames.
    pub fn frames(&self) -> u64 {
        let under_way = self.latest.as_ref().filter(|latest| !latest.complete);
        let under_way = under_way.map_or(0, |latest| latest.frames);
        let frames = self.frames.saturating_add(under_way);
        self.end.as_ref().map_or(frames, |end| end.frames)
    }

    /// Returns the number of complete intervals.
    pub const fn intervals(&self) -> u64 {
        self.intervals
    }

    /// Returns true once there is an interval, or a report of one.
    pub const fn has_begun(&self) -> bool {
        self.latest.is_some()
    }

    /// Returns the number of frames dropped during collection.
    pub fn dropped(&self) -> Option<u64> {
        let latest = self.latest.as_ref().and_then(|latest| latest.dropped_by_kernel);
        self.end.as_ref().map_or(latest, |end| end.dropped_by_kernel)
    }

    /// Returns the statistics of frame collection.
    pub fn collected(&self) -> Collection {
        let latest = self.latest.as_ref().map(Interval::collected);
        self.end.as_ref().map(End::collected).or(latest).unwrap_or_default()
    }

    /// Returns the source and resolution of the time stamps; none if they are not known.
    pub fn stamps(&self) -> Option<Stamps> {
        let latest = self.latest.as_ref().and_then(|latest| latest.stamps);
        self.end.as_ref().map_or(latest, |end| end.stamps)
    }

    /// Returns all measures since the beginning: those of the total once it is reported.
    pub fn measures(&self) -> Counts {
        if let Some(total) = &self.total {
            return total.measures.clone();
        }
        let mut sum = self.sum.clone();
        if let Some(latest) = self.latest.as_ref().filter(|latest| !latest.complete) {
            sum.add(&latest.measures);
        }
        sum
    }

    /// Returns the oddities since the beginning.
    pub fn oddities(&self) -> Named<u64> {
        if let Some(end) = &self.end {
            return end.oddities.clone();
        }
        let mut sum = self.oddities.clone();
        if let Some(latest) = self.latest.as_ref().filter(|latest| !latest.complete) {
            sum.add(&latest.oddities);
        }
        sum
    }

    /// Returns each host with its sent and received counts so far, the interval under way included.
    pub fn hosts(&self) -> impl Iterator<Item = (Option<&str>, &Both)> {
        self.hosts.iter().map(|(host, known)| (host.as_deref(), &known.so_far))
    }

    fn sample(&mut self, sample: &Sample) {
        let at_ns = sample.start_ns.saturating_add(sample.length_ns);
        for place in &sample.connections {
            // The identity of the connection comes with the next report.
            self.connections.entry(place.id).or_default().sample(at_ns, place);
        }
        self.make_room();
    }

    fn interval(&mut self, interval: Interval) {
        self.start_ns.get_or_insert(interval.start_ns);
        for known in self.connections.values_mut() {
            known.begin();
        }
        // A host of the last report alone may be among the rest now.
        self.hosts.retain(|_, known| known.complete.is_some());
        self.hosts.values_mut().for_each(KnownHost::begin);
        self.note_moment(&interval);
        let until = interval.start_ns.saturating_add(interval.length_ns);
        if interval.complete {
            self.sum.add(&interval.measures);
            self.oddities.add(&interval.oddities);
            self.frames = self.frames.saturating_add(interval.frames);
            self.intervals = self.intervals.saturating_add(interval.intervals);
        }
        self.events.interval(self.latest.as_ref(), &interval, until);
        self.latest = Some(interval);
    }

    fn note_moment(&mut self, interval: &Interval) {
        let now = (
            interval.length_ns,
            interval.measures.count(Measure::Tpdus),
            interval.measures.count(Measure::DtRetransmissions),
        );
        let before = self.accumulated;
        self.accumulated = if interval.complete { (0, 0, 0) } else { now };
        if now.0 <= before.0 {
            return;
        }
        let start_ns = interval.start_ns.saturating_sub(self.start_ns());
        let part = Part {
            from_ns: start_ns.saturating_add(before.0),
            until_ns: start_ns.saturating_add(now.0),
            tpdus: now.1.saturating_sub(before.1),
            again: now.2.saturating_sub(before.2),
        };
        self.course.push(part.moment(part.until_ns));
        self.latest_part = part;
    }

    /// Ends the course where the frames end: the last interval has its full length, also where a capture ends within it.
    fn end_course(&mut self, end: &End) {
        let Some(heard) = end.heard_until_ns else { return };
        let (part, heard) = (self.latest_part, heard.saturating_sub(self.start_ns()));
        if part.from_ns < heard && heard < part.until_ns {
            self.course.shorten(part.moment(heard));
        }
    }

    fn host(&mut self, host: HostInterval) {
        let is_complete = self.latest.as_ref().is_some_and(|latest| latest.complete);
        let is_known = self.hosts.contains_key(&host.host);
        if is_known || self.hosts.len() < HOSTS {
            let told = [host.sent, host.received];
            self.hosts.entry(host.host).or_default().take(&told, is_complete);
        }
    }

    fn connection(&mut self, told: &ConnectionInterval) {
        let is_complete = self.latest.as_ref().is_some_and(|latest| latest.complete);
        let until = self.until_ns();
        let id = told.connection.id;
        self.events.connection(self.connections.get(&id), &told.connection);
        let has_samples = self.head.sample_ns.is_some();
        let known = self.connections.entry(id).or_default();
        let was_closed = known.closed_since();
        known.take(told, is_complete);
        if !has_samples {
            known.place(until);
        }
        self.events.window(was_closed, known, until);
        self.make_room();
    }

    /// Evicts the quietest connections, those without problems first.
    fn make_room(&mut self) {
        if self.connections.len() < 2 * CONNECTIONS {
            return;
        }
        let mut weights: Vec<((bool, u64), u32)> =
            self.connections.iter().map(|(id, known)| (known.weight(), *id)).collect();
        weights.sort_unstable();
        for (_, id) in weights.iter().take(weights.len() - CONNECTIONS) {
            self.connections.remove(id);
            self.associations.remove(id);
            self.control_blocks.remove(id);
            self.gone += 1;
        }
    }

    /// Returns the events, the latest last.
    pub fn told(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.each()
    }
}

#[cfg(test)]
pub(crate) mod tests;
