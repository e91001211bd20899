//! Intervals of one side of a comparison, gathered from records.

use super::flows::{Flows, Place};
use super::quantity::{self, Values};
use super::subject::{Pollers, Stations, Subject};
use crate::{Interval, Record};
use bench::scenario::Scenario;
use meter::Protocol;
use std::collections::BTreeMap;

/// Maximum number of values of intervals; what is beyond is counted.
const MOST_ROWS: usize = 200_000;
/// Responses from which a connection polls.
const POLLS: u64 = 5;

/// Interval of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) start_ns: u64,
    pub(super) length_ns: u64,
    /// True for one interval that was measured to its end; false for a silence of several, too.
    is_over: bool,
}

impl Span {
    const fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.length_ns)
    }
}

/// Counts of a stream or poller from the records of the end.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Life {
    first_ns: u64,
    /// Mean time from one frame or request to the next.
    gap_ns: u64,
    stamp_step_ns: u64,
}

/// Intervals of traffic that was watched, or of a simulated run.
#[derive(Default, Debug)]
pub struct Run {
    stations: Stations,
    flows: Flows,
    pollers: Pollers,
    measure_ns: u64,
    spans: Vec<Span>,
    /// True while records of a measured interval follow.
    is_in_span: bool,
    rows: BTreeMap<Subject, BTreeMap<usize, Values>>,
    lives: BTreeMap<Subject, Life>,
    heard_until_ns: Option<u64>,
    count: usize,
    left_out: u64,
}

impl Run {
    /// Creates a run of a scenario, without intervals; `stations` names its stations.
    pub fn of_scenario(scenario: &Scenario, stations: Stations) -> Self {
        Self { stations, flows: Flows::of(scenario), ..Self::default() }
    }

    /// Takes a record; those of other kinds are ignored.
    pub fn take(&mut self, record: &Record) {
        match record {
            Record::Stream(head) => self.measure_ns = head.measure_ns,
            Record::Interval(interval) => self.begin(interval),
            Record::CyclicStreams(of) if self.is_in_span => {
                for stream in &of.in_interval {
                    self.row(Subject::of_interval(stream), quantity::of_stream(stream));
                }
            }
            Record::TransactionsInterval(of) if self.is_in_span => {
                for function in &of.in_interval {
                    self.row(Subject::of_function(function), quantity::of_function(function));
                }
            }
            Record::ConnectionInterval(of) if self.is_in_span => {
                let length_ns = self.spans.last().map_or(0, |span| span.length_ns);
                let identity = &of.connection;
                let subject = self.pollers.of(identity.id, &identity.ends, &self.stations);
                self.row(subject, quantity::of_poller(of, length_ns));
            }
            Record::CyclicStream(of) => {
                let mean_ns = of.gap_total_ns.checked_div(of.gaps);
                let life = Life {
                    first_ns: of.first_ns,
                    gap_ns: of.period_ns.or(mean_ns).unwrap_or(0),
                    stamp_step_ns: of.stamp_step_ns.unwrap_or(0),
                };
                self.lives.insert(Subject::of_stream(of), life);
            }
            Record::Transactions(of) => {
                let gap_ns = of.period_total_ns.checked_div(of.periods).unwrap_or(0);
                let life = Life { first_ns: of.first_ns, gap_ns, stamp_step_ns: 0 };
                self.lives.insert(Subject::of_function(of), life);
            }
            Record::Connection(of) => {
                let identity = &of.connection;
                let subject = self.pollers.of(identity.id, &identity.ends, &self.stations);
                let first_ns = identity.start_ns();
                let lasted_ns = identity.last_ns.saturating_sub(first_ns);
                let requests = quantity::requests(&of.directions);
                let gap_ns = lasted_ns.checked_div(requests).unwrap_or(0);
                self.lives.insert(subject, Life { first_ns, gap_ns, stamp_step_ns: 0 });
            }
            Record::End(end) => self.heard_until_ns = end.heard_until_ns,
            _ => {}
        }
    }

    fn begin(&mut self, interval: &Interval) {
        self.is_in_span = interval.complete;
        if interval.complete {
            let Interval { start_ns, length_ns, intervals, .. } = *interval;
            self.spans.push(Span { start_ns, length_ns, is_over: intervals == 1 });
        }
    }

    fn row(&mut self, subject: Subject, values: Values) {
        if self.count >= MOST_ROWS {
            self.left_out += 1;
            return;
        }
        let place = self.spans.len().saturating_sub(1);
        self.count +=
            usize::from(self.rows.entry(subject).or_default().insert(place, values).is_none());
    }

    /// Length of an interval.
    pub const fn measure_ns(&self) -> u64 {
        self.measure_ns
    }

    /// Start of the first interval; zero without one.
    pub fn origin_ns(&self) -> u64 {
        self.spans.first().map_or(0, |span| span.start_ns)
    }

    /// Values of intervals that were left out because there were too many.
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Streams, functions and connections that poll.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.rows.iter().filter(|(subject, rows)| is_followed(subject, rows)).map(|(it, _)| it)
    }

    /// The connection of the only flow that polls a function.
    pub(super) fn poller_of(&self, function: &Subject) -> Option<&Subject> {
        let Place { ends: [from, to], place, flows } = self.flows.place(function)?;
        let is_theirs = |subject: &Subject| match subject {
            Subject::Poller { client, server, .. } => client == from && server == to,
            _ => false,
        };
        let mut all: Vec<_> = self.lives.iter().filter(|(subject, _)| is_theirs(subject)).collect();
        all.sort_by_key(|(_, life)| life.first_ns);
        let is_one_each = all.len() == flows && !self.flows.are_several(function);
        let (subject, _) = all.get(place).filter(|_| is_one_each)?;
        self.rows.contains_key(*subject).then_some(*subject)
    }

    /// The stream of test load that stands for a stream of another protocol.
    pub(super) fn load_of(&self, stream: &Subject) -> Option<&Subject> {
        let number = self.flows.load_of(stream)?;
        let is_it = |subject: &&Subject| match subject {
            Subject::Stream { protocol, identifier, .. } => {
                protocol == Protocol::Load.name() && *identifier == number
            }
            _ => false,
        };
        self.rows.keys().find(is_it)
    }

    /// Values of a subject in each of its intervals.
    pub(super) fn values(&self, subject: &Subject) -> impl Iterator<Item = Row<'_>> {
        let life = self.lives.get(subject).copied().unwrap_or_default();
        let rows = self.rows.get(subject).into_iter().flatten();
        rows.filter_map(move |(place, values)| {
            let span = *self.spans.get(*place)?;
            let until_ns = self.heard_until_ns.unwrap_or(0).saturating_add(life.gap_ns);
            let has_begun = life.first_ns <= span.start_ns.saturating_add(life.gap_ns);
            let is_whole = span.is_over && has_begun && span.end_ns() <= until_ns;
            Some(Row { place: *place, span, is_whole, values })
        })
    }

    /// Step of the stamps of a stream.
    pub(super) fn stamp_step_ns(&self, subject: &Subject) -> u64 {
        self.lives.get(subject).map_or(0, |life| life.stamp_step_ns)
    }

    /// True if the other run has the same values: a copy of it.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        self.rows == other.rows
    }
}

/// True for streams and functions, and for connections with enough responses.
fn is_followed(subject: &Subject, rows: &BTreeMap<usize, Values>) -> bool {
    let responses = |values: &Values| values.get(&quantity::Quantity::Responses).copied();
    !matches!(subject, Subject::Poller { .. })
        || crate::sum(rows.values().filter_map(responses)) >= POLLS
}

/// Values in an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    /// Number of the interval in its run.
    pub(super) place: usize,
    pub(super) span: Span,
    /// True if the stream was measured throughout the interval.
    pub(super) is_whole: bool,
    pub(super) values: &'a Values,
}
