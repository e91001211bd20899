//! A meter with a schedule for its results: samples, reports, measurement intervals, and the hosts
//! and connections active in them.
//!
//! Times are those of frames. Measures accumulate over a measurement interval and then restart; a
//! report is due periodically within it, with the values accumulated so far (NBSIR 85-3104, II.D).
//! Samples of connections' sequence numbers are independent of both.

mod ending;

use self::ending::{Ending, SlowestFirst};
use super::associations;
use super::baseline::Baseline;
use super::followed_streams::FollowedStreams;
use super::item::{
    CyclicStream, CyclicStreams, End, Interval, Item, Place, Sample, TransactionsInterval,
};
use super::publishers::{Expectation, Watched};
use super::ranking::Ranking;
use super::{CyclicStream as StreamRecord, CyclicTotals, Stamps, TransactionTotals};
use core::time::Duration;
use meter::metric::{Basis, metrics};
use meter::oddity::Oddities;
use meter::{Content, Meter, Remarks, Settings, StreamReport, TransactionReport};
use std::collections::VecDeque;
use wire::capture::Statistics;
use wire::dissect::Link;
use wire::time::Instant;

/// Samples and reports within an interval that are recorded individually; a longer silence is
/// skipped.
const LONGEST_SILENCE: u64 = 1_000;

/// The intervals other than the measurement interval, which the meter holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spans {
    /// Time from one report to the next, at most the length of the measurement interval.
    pub report: Duration,
    /// Time from one sample to the next; without it no samples are taken.
    pub sample: Option<Duration>,
    /// Number of measurement intervals to measure; unlimited without it.
    pub intervals: Option<u64>,
}

/// Hosts and connections that are reported in each interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Details {
    /// Number of hosts and of connections reported individually, the busiest first; the rest are
    /// summed. Zero reports none at all.
    pub top: usize,
}

/// Times at which samples, reports and intervals are due.
#[derive(Clone, Copy, Debug)]
struct Due {
    sample: Option<Instant>,
    report: Instant,
    interval: Instant,
}

impl Due {
    fn next(&self) -> Instant {
        let soonest = self.report.min(self.interval);
        self.sample.map_or(soonest, |sample| sample.min(soonest))
    }
}

/// A meter that queues its results as items.
#[derive(Debug)]
pub struct Recorder {
    meter: Meter,
    settings: Settings,
    spans: Spans,
    details: Details,
    /// None before the first frame.
    due: Option<Due>,
    /// Earliest of the due times.
    next: Instant,
    baseline: Baseline,
    items: VecDeque<Item>,
    frames: u64,
    frames_before: u64,
    /// Time of the latest frame.
    heard: Instant,
    sampled: Sample,
    collected: Statistics,
    stamps: Option<Stamps>,
    left_out: Option<u64>,
    intervals: u64,
    /// Streams of cyclic data that are followed.
    followed_streams: FollowedStreams,
    /// Sums over streams of cyclic data that ended.
    ended_streams: CyclicTotals,
    /// Sums over functions of units that ended.
    ended_transactions: TransactionTotals,
    /// True if names of control blocks are reported.
    has_names: bool,
    /// Publishers that a file declares.
    expectation: Option<Expectation>,
    /// Items of the end that are not made yet.
    ending: Option<Ending>,
}

impl Recorder {
    /// Creates a recorder that measures with `settings` and reports as `spans` and `details`
    /// specify.
    pub fn new(settings: Settings, spans: Spans, details: Details) -> Self {
        let nothing = Instant::ZERO;
        Self {
            meter: Meter::new(settings.clone()),
            settings,
            spans,
            details,
            due: None,
            next: nothing,
            baseline: Baseline::new(details.top, nothing),
            items: VecDeque::new(),
            frames: 0,
            frames_before: 0,
            heard: nothing,
            sampled: Sample { start: nothing, end: nothing, frames: 0, octets: 0, places: vec![] },
            collected: Statistics::default(),
            stamps: None,
            left_out: None,
            intervals: 0,
            followed_streams: FollowedStreams::default(),
            ended_streams: CyclicTotals::default(),
            ended_transactions: TransactionTotals::default(),
            has_names: true,
            expectation: None,
            ending: None,
        }
    }

    /// Compares the publishers that are seen with those of a file.
    pub fn expect_publishers(&mut self, expectation: Expectation) {
        self.expectation = Some(expectation);
    }

    /// Keeps what a scenario of the traffic has in addition to the records: the times between requests.
    pub const fn prepare_scenario(&mut self) {
        self.meter.keep_request_gaps();
    }

    /// Returns the meter.
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Returns the settings of the meter.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the number of frames received.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the latest noted statistics of frame collection.
    pub const fn collected(&self) -> &Statistics {
        &self.collected
    }

    /// Returns true if an item is due at this time.
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Returns true if the requested number of intervals has been measured.
    pub fn is_done(&self) -> bool {
        self.spans.intervals.is_some_and(|most| self.intervals >= most)
    }

    /// Sets the content of frames from now on.
    pub const fn expect(&mut self, content: Content) {
        self.meter.expect(content);
    }

    /// Leaves out the names of control blocks, which are user data, from now on.
    pub const fn leave_out_names(&mut self) {
        self.has_names = false;
    }

    /// Notes the statistics of frame collection since measuring began.
    pub const fn note_collected(&mut self, collected: Statistics) {
        self.collected = collected;
    }

    /// Notes the source and resolution of the time stamps so far; none if they are not known.
    pub const fn note_stamps(&mut self, stamps: Option<Stamps>) {
        self.stamps = stamps;
    }

    /// Returns the source and resolution of the time stamps so far, if they are known.
    pub const fn stamps(&self) -> Option<Stamps> {
        self.stamps
    }

    /// Notes the number of frames that a filter left out; none where there is no filter.
    pub const fn note_left_out(&mut self, left_out: Option<u64>) {
        self.left_out = left_out;
    }

    /// Counts a frame, unless the recorder is done.
    #[inline]
    pub fn observe(&mut self, at: Instant, link: Link, octets: &[u8], original: usize) {
        if self.admit(at, original) {
            self.meter.observe(at, link, octets, original);
            self.take_forgotten();
        }
    }

    /// Like [`Recorder::observe`], and replaces the content of `remarks` with a description of the
    /// frame. Returns true if the frame was counted.
    pub fn observe_remarking(
        &mut self,
        at: Instant,
        link: Link,
        octets: &[u8],
        original: usize,
        remarks: &mut Remarks,
    ) -> bool {
        let is_admitted = self.admit(at, original);
        if is_admitted {
            self.meter.observe_remarking(at, link, octets, original, remarks);
            self.take_forgotten();
        }
        is_admitted
    }

    /// Queues the items due before a frame, and counts the frame unless the recorder is then done.
    #[inline]
    fn admit(&mut self, at: Instant, original: usize) -> bool {
        if at >= self.next {
            self.pass(at, true);
            if self.is_done() {
                return false;
            }
        }
        self.frames += 1;
        self.heard = self.heard.max(at);
        self.sampled.frames += 1;
        self.sampled.octets += original as u64;
        true
    }

    /// Queues all items due by `now`.
    pub fn advance(&mut self, now: Instant) {
        if self.due.is_some() && now >= self.next {
            self.pass(now, false);
        }
        if !self.is_done() {
            self.meter.advance(now);
        }
    }

    /// Returns the frames counted so far, by the path on which the meter counted them.
    pub fn paths(&self) -> meter::FramePaths {
        self.meter.paths()
    }

    /// Returns true if an item is queued.
    #[inline]
    pub fn has_found(&self) -> bool {
        !self.items.is_empty() || self.ending.is_some()
    }

    /// Returns the next queued item.
    pub fn take(&mut self) -> Option<Item> {
        if self.items.is_empty() {
            self.continue_ending();
        }
        self.items.pop_front()
    }

    #[inline]
    fn take_forgotten(&mut self) {
        while let Some(connection) = self.meter.take_connection() {
            self.tell_forgotten(connection);
        }
    }

    #[cold]
    fn tell_stream(&mut self, report: StreamReport) {
        let stream = self.stream(report);
        let record = StreamRecord::of(&stream.report, stream.until, stream.has_names);
        self.ended_streams.add(&record);
        if let Some(expectation) = &mut self.expectation {
            expectation.take(&stream.report);
        }
        self.items.push_back(Item::CyclicStream(Box::new(stream)));
    }

    fn stream(&self, report: StreamReport) -> CyclicStream {
        let until = self.meter.last().unwrap_or(report.last);
        CyclicStream { report, until, has_names: self.has_names }
    }

    /// Queues the streams of cyclic data so far, if there are any.
    fn tell_streams(&mut self, index: Option<u64>) {
        let changed = self.meter.take_changed_streams();
        self.followed_streams.update(changed, self.meter.last());
        if self.followed_streams.is_empty()
            && self.ended_streams == CyclicTotals::default()
            && self.expectation.is_none()
        {
            return;
        }
        let (ended, top) = (self.ended_streams, self.details.top);
        if let Some(expectation) = &self.expectation {
            let followed = self.followed_streams.reports();
            let publishers = expectation.so_far(followed, self.watched(), index, top);
            self.items.push_back(Item::Publishers(Box::new(publishers)));
        }
        self.items.push_back(Item::CyclicStreams(Box::new(CyclicStreams {
            index,
            totals: self.followed_streams.totals(ended),
            worst: self.followed_streams.worst(top),
            has_names: self.has_names,
        })));
    }

    /// Times of the watch so far.
    fn watched(&self) -> Watched {
        Watched { began: self.meter.began(), until: self.meter.last().unwrap_or(self.heard) }
    }

    /// Queues the publishers as declared and as seen, if a file declares them.
    fn tell_publishers(&mut self, watched: Watched) {
        let Some(expectation) = self.expectation.take() else { return };
        let (all, each) = expectation.conclude(watched);
        self.items.push_back(Item::Publishers(Box::new(all)));
        self.items.extend(each.into_iter().map(|it| Item::Publisher(Box::new(it))));
    }

    #[cold]
    fn tell_transactions(&mut self, report: TransactionReport) {
        self.ended_transactions.add(&(&report).into());
        self.items.push_back(Item::Transactions(Box::new(report)));
    }

    /// Queues what ended of streams of cyclic data and of functions.
    fn tell_ended(&mut self) {
        while let Some(report) = self.meter.take_stream() {
            self.tell_stream(report);
        }
        while let Some(report) = self.meter.take_transaction() {
            self.tell_transactions(report);
        }
    }

    /// Queues the streams of cyclic data and the transactions so far, and those in the interval that
    /// began at `start`.
    fn tell_so_far(&mut self, index: Option<u64>, start: Instant) {
        self.tell_streams(index);
        let mut followed = self.meter.transactions().peekable();
        let (ended, top) = (self.ended_transactions, self.details.top);
        if followed.peek().is_none() && ended == TransactionTotals::default() {
            return;
        }
        let of = TransactionsInterval::of(index, start, followed, ended, top);
        self.items.push_back(Item::TransactionsInterval(Box::new(of)));
    }

    #[cold]
    fn tell_forgotten(&mut self, connection: meter::Connection) {
        if self.details.top > 0 {
            self.baseline.forget(&connection);
        }
        let associated = associations::items(&connection, self.has_names);
        self.items.push_back(Item::Connection(Box::new(connection)));
        self.items.extend(associated);
    }

    /// Begins measuring with this frame, or at the requested origin.
    fn begin(&mut self, at: Instant) -> Due {
        let origin = self.settings.origin.unwrap_or(at);
        self.baseline = Baseline::new(self.details.top, origin);
        (self.sampled.start, self.sampled.end) = (origin, origin);
        self.next = origin;
        Due {
            sample: self.spans.sample.map(|sample| origin + sample),
            report: origin + self.spans.report,
            interval: origin + self.settings.interval,
        }
    }

    /// Queues all items due by `at`.
    fn pass(&mut self, at: Instant, is_frame: bool) {
        if self.due.is_none() && is_frame {
            self.due = Some(self.begin(at));
        }
        let Some(mut due) = self.due else { return };
        let mut told = 0;
        while due.next() <= at && !self.is_done() {
            let now = due.next();
            told += 1;
            // An interval that ends before the first frame begins a silence, which is one record.
            let begun = self.baseline.start();
            let is_silent = self.heard < begun && due.interval <= at;
            if told > LONGEST_SILENCE || is_silent && self.spans.intervals.is_none() {
                due = self.pass_over(at);
                break;
            }
            self.meter.advance(now);
            if due.sample == Some(now) {
                due.sample = self.spans.sample.map(|sample| now + sample);
                self.sample(now);
            }
            if due.interval == now {
                self.end_intervals(now);
                due.interval = now + self.settings.interval;
                due.report = now + self.spans.report;
            } else if due.report == now {
                due.report = now + self.spans.report;
                self.report(now);
            }
        }
        self.due = Some(due);
        self.next = due.next();
    }

    /// Skips a silence with too many samples and reports: only measurement intervals are recorded.
    fn pass_over(&mut self, at: Instant) -> Due {
        let interval = self.settings.interval.as_nanos().max(1);
        let since = at.since(self.baseline.start()).as_nanos() / interval * interval;
        let begun =
            self.baseline.start() + Duration::from_nanos(u64::try_from(since).unwrap_or(u64::MAX));
        self.meter.advance(begun);
        self.end_intervals(begun);
        self.baseline.begin(&mut self.meter, begun);
        (self.sampled.start, self.sampled.end) = (at, at);
        let report = core::cmp::max(begun + self.spans.report, at);
        let sample = self.spans.sample.map(|sample| at + sample);
        Due { sample, report, interval: begun + self.settings.interval }
    }

    /// Queues the intervals that are over, the first of which ends at `now`.
    fn end_intervals(&mut self, now: Instant) {
        self.tell_ended();
        while let Some(report) = self.meter.take_interval() {
            if self.is_done() {
                return;
            }
            let (index, start) = (report.index, report.start);
            self.intervals += report.intervals;
            self.push_interval(report, true);
            if self.details.top > 0 {
                self.items.extend(self.baseline.turn(index, &mut self.meter, self.has_names, now));
                self.tell_so_far(index, start);
                self.meter.begin_stream_interval();
            }
        }
        if self.details.top == 0 {
            self.baseline = Baseline::new(0, now);
        }
    }

    fn report(&mut self, now: Instant) {
        let Some(report) = self.meter.under_way() else { return };
        let (index, start) = (report.index, report.start);
        self.push_interval(Box::new(report), false);
        if self.details.top > 0 {
            self.items.extend(self.baseline.tell(index, &mut self.meter, self.has_names, now));
            self.tell_so_far(index, start);
        }
    }

    fn push_interval(&mut self, report: Box<meter::Report>, is_over: bool) {
        let frames = self.frames - self.frames_before;
        if is_over {
            self.frames_before = self.frames;
        }
        let (collected, stamps) = (self.collected, self.stamps);
        let told = Interval { report, is_over, frames, collected, stamps };
        self.items.push_back(Item::Interval(Box::new(told)));
    }

    fn sample(&mut self, now: Instant) {
        let mut busiest = Ranking::new(self.details.top);
        for connection in self.meter.each_active_connection(self.sampled.end, now) {
            let [first, second] = &*connection.directions;
            let place = Place {
                serial: connection.serial,
                numbers: [first.numbers, second.numbers],
                is_closed: [first.closed_since.is_some(), second.closed_since.is_some()],
            };
            busiest.put(connection.tpdus(), place, |_| ());
        }
        self.sampled.start = self.sampled.end;
        self.sampled.end = now;
        self.sampled.places = busiest.finish(|_| ());
        let next = Sample { start: now, frames: 0, octets: 0, places: vec![], ..self.sampled };
        let sample = core::mem::replace(&mut self.sampled, next);
        self.items.push_back(Item::Sample(sample));
    }

    /// Ends measuring: queues the interval under way, the total, every connection and host, and the
    /// end. An interval that `is_cut` ends with the last frame; otherwise it has its full length.
    /// Returns the oddities of the whole measurement.
    pub fn finish(&mut self, is_cut: bool, error: Option<String>) -> Oddities {
        let cut = if is_cut { self.meter.under_way() } else { None };
        let last = self.meter.last();
        let watched = self.watched();
        let mut total = self.meter.finish();
        self.take_forgotten();
        if let Some(last) = cut {
            let now = last.start + last.length;
            total.length = now.since(total.start);
            let (measures, channel) = (&total.measures, self.settings.channel);
            total.metrics = metrics(&Basis { measures, length: total.length, channel });
            let index = last.index;
            self.push_interval(Box::new(last), true);
            if self.details.top > 0 {
                self.items.extend(self.baseline.tell(index, &mut self.meter, self.has_names, now));
            }
        } else {
            // A window's state after the last frame is unknown.
            self.end_intervals(last.unwrap_or_default());
        }
        let oddities = total.oddities.clone();
        self.items.push_back(Item::Total(Box::new(total)));
        // They have thousands of items, which are made when they are taken.
        let hosts = SlowestFirst::of(self.meter.hosts());
        let before = core::mem::take(&mut self.items);
        self.tell_ended();
        for report in self.meter.each_stream() {
            self.tell_stream(report);
        }
        self.tell_publishers(watched);
        let (frames, collected) = (self.frames, self.collected);
        let end = End {
            frames,
            heard_until: last,
            left_out: self.left_out,
            collected,
            stamps: self.stamps,
            oddities: oddities.clone(),
            error,
        };
        self.ending = Some(Ending {
            places: self.meter.connection_places(),
            hosts,
            streams: core::mem::replace(&mut self.items, before),
            transactions: self.meter.transaction_keys().into_iter(),
            end,
        });
        oddities
    }
}

#[cfg(test)]
mod tests;
