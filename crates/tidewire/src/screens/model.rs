//! What the stream has told so far: all that screens show, as plain data.
//!
//! Bounded: so many connections, hosts and events are kept, the quietest connections go first, and
//! what went is counted.

use super::course::{Course, Moment};
use super::event::{Event, Events};
use super::history::History;
use super::known::Known;
use super::sum;
use crate::stream::{
    Collection, ConnectionInterval, End, Head, HostInterval, Interval, Named, Record, Sample, Total,
};
use std::collections::BTreeMap;

/// Connections kept at the least, and half of those at the most.
const CONNECTIONS: usize = 1_000;
/// Hosts kept.
const HOSTS: usize = 1_000;

/// What a host sent and received.
pub(super) type Both = [Named<u64>; 2];

/// What the stream has told so far.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) head: Head,
    /// The last interval, or the last report of one.
    pub(super) latest: Option<Interval>,
    /// All complete intervals together.
    sum: Named<u64>,
    oddities: Named<u64>,
    frames: u64,
    start_ns: Option<u64>,
    pub(super) total: Option<Total>,
    pub(super) end: Option<End>,
    pub(super) connections: BTreeMap<u32, Known>,
    /// Connections that had to go for want of room.
    pub(super) gone: u64,
    hosts: BTreeMap<Option<String>, Both>,
    pub(super) course: Course,
    /// What the last report within an interval had told, so that the course has each thing once.
    accumulated: (u64, u64, u64),
    pub(super) events: Events,
    /// The latest intervals that are over.
    pub(super) history: History,
}

impl Model {
    /// Nothing has been told yet.
    pub(super) fn new(head: Head) -> Self {
        Self {
            head,
            latest: None,
            sum: Named::default(),
            oddities: Named::default(),
            frames: 0,
            start_ns: None,
            total: None,
            end: None,
            connections: BTreeMap::new(),
            gone: 0,
            hosts: BTreeMap::new(),
            course: Course::new(),
            accumulated: (0, 0, 0),
            events: Events::default(),
            history: History::default(),
        }
    }

    /// Takes a record in.
    pub(super) fn take(&mut self, record: Record) {
        self.remember(&record);
        match record {
            Record::Stream(_)
            | Record::ConnectionsRest(_)
            | Record::Finding(_)
            | Record::Unknown => {}
            Record::Sample(sample) => self.sample(&sample),
            Record::Interval(interval) => self.interval(interval),
            Record::HostInterval(host) => self.host(host),
            Record::ConnectionInterval(told) => self.connection(&told),
            Record::Total(total) => self.total = Some(total),
            Record::Host(host) => {
                // The whole takes the place of the sum of its parts.
                if self.hosts.len() < HOSTS || self.hosts.contains_key(&host.host) {
                    self.hosts.insert(host.host, [host.sent, host.received]);
                }
            }
            Record::Connection(whole) => {
                let crate::stream::Connection { connection, directions, .. } = *whole;
                self.events.connection(self.connections.get(&connection.id), &connection);
                let known = self.connections.entry(connection.id).or_default();
                known.conclude(connection, directions);
                self.make_room();
            }
            Record::End(end) => {
                self.events.end(&end, self.until_ns());
                self.end = Some(end);
            }
        }
    }

    /// Keeps what is told of intervals that are over.
    fn remember(&mut self, record: &Record) {
        let is_over = self.latest.as_ref().is_some_and(|latest| latest.complete);
        match record {
            Record::Interval(interval) if interval.complete => self.history.begin(record.clone()),
            Record::HostInterval(_) | Record::ConnectionInterval(_) if is_over => {
                self.history.add(record.clone());
            }
            _ => {}
        }
    }

    /// When the first interval begins.
    pub(super) fn start_ns(&self) -> u64 {
        self.start_ns.unwrap_or(0)
    }

    /// Up to when the stream has told.
    pub(super) fn until_ns(&self) -> u64 {
        let latest = self.latest.as_ref();
        latest.map_or(0, |latest| latest.start_ns.saturating_add(latest.length_ns))
    }

    /// How long it has measured.
    pub(super) fn length_ns(&self) -> u64 {
        let total = self.total.as_ref().map(|total| total.length_ns);
        total.unwrap_or_else(|| self.until_ns().saturating_sub(self.start_ns()))
    }

    /// Frames, all together.
    pub(super) fn frames(&self) -> u64 {
        let under_way = self.latest.as_ref().filter(|latest| !latest.complete);
        let under_way = under_way.map_or(0, |latest| latest.frames);
        let frames = self.frames.saturating_add(under_way);
        self.end.as_ref().map_or(frames, |end| end.frames)
    }

    /// Frames that were dropped where they were collected.
    pub(super) fn dropped(&self) -> Option<u64> {
        let latest = self.latest.as_ref().and_then(|latest| latest.dropped_by_kernel);
        self.end.as_ref().map_or(latest, |end| end.dropped_by_kernel)
    }

    /// What was counted where frames were collected.
    pub(super) fn collected(&self) -> Collection {
        let latest = self.latest.as_ref().map(Interval::collected);
        self.end.as_ref().map(End::collected).or(latest).unwrap_or_default()
    }

    /// All measures since the beginning: the total, once it is told.
    pub(super) fn measures(&self) -> Named<u64> {
        if let Some(total) = &self.total {
            return total.measures.clone();
        }
        let mut sum = self.sum.clone();
        if let Some(latest) = self.latest.as_ref().filter(|latest| !latest.complete) {
            sum::add(&mut sum, &latest.measures);
        }
        sum
    }

    /// What was odd since the beginning.
    pub(super) fn oddities(&self) -> Named<u64> {
        if let Some(end) = &self.end {
            return end.oddities.clone();
        }
        let mut sum = self.oddities.clone();
        if let Some(latest) = self.latest.as_ref().filter(|latest| !latest.complete) {
            sum::add(&mut sum, &latest.oddities);
        }
        sum
    }

    /// Each host with what it sent and received in intervals that are over.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (Option<&str>, &Both)> {
        self.hosts.iter().map(|(host, both)| (host.as_deref(), both))
    }

    fn sample(&mut self, sample: &Sample) {
        let at_ns = sample.start_ns.saturating_add(sample.length_ns);
        for place in &sample.connections {
            // Who it is comes with the next report.
            self.connections.entry(place.id).or_default().sample(at_ns, place);
        }
        self.make_room();
    }

    fn interval(&mut self, interval: Interval) {
        self.start_ns.get_or_insert(interval.start_ns);
        for known in self.connections.values_mut() {
            known.begin();
        }
        self.note_moment(&interval);
        let until = interval.start_ns.saturating_add(interval.length_ns);
        if interval.complete {
            sum::add(&mut self.sum, &interval.measures);
            sum::add(&mut self.oddities, &interval.oddities);
            self.frames = self.frames.saturating_add(interval.frames);
        }
        self.events.interval(self.latest.as_ref(), &interval, until);
        self.latest = Some(interval);
    }

    fn note_moment(&mut self, interval: &Interval) {
        let now = (
            interval.length_ns,
            interval.measures.count("tpdus"),
            interval.measures.count("dt_retransmissions"),
        );
        let before = self.accumulated;
        let seconds = now.0.saturating_sub(before.0) as f64 / 1e9;
        self.accumulated = if interval.complete { (0, 0, 0) } else { now };
        if seconds <= 0.0 {
            return;
        }
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        self.course.push(Moment {
            tpdus_per_second: rate(now.1, before.1),
            again_per_second: rate(now.2, before.2),
        });
    }

    fn host(&mut self, host: HostInterval) {
        let is_complete = self.latest.as_ref().is_some_and(|latest| latest.complete);
        let is_known = self.hosts.contains_key(&host.host);
        if !is_complete || (!is_known && self.hosts.len() >= HOSTS) {
            return;
        }
        let [sent, received] = self.hosts.entry(host.host).or_default();
        sum::add(sent, &host.sent);
        sum::add(received, &host.received);
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

    /// Lets the quietest connections go, those that nothing is wrong with before others.
    fn make_room(&mut self) {
        if self.connections.len() < 2 * CONNECTIONS {
            return;
        }
        let mut weights: Vec<((bool, u64), u32)> =
            self.connections.iter().map(|(id, known)| (known.weight(), *id)).collect();
        weights.sort_unstable();
        for (_, id) in weights.iter().take(weights.len() - CONNECTIONS) {
            self.connections.remove(id);
            self.gone += 1;
        }
    }

    /// What happened, the latest last.
    pub(super) fn told(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.each()
    }
}

#[cfg(test)]
pub(super) mod tests;
