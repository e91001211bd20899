//! Measuring time divided into intervals, by frame time only.
//!
//! Interval `n` lasts from `origin + n x length` to just before the next. It has its full length
//! even if the frames end earlier, and it exists even if it has no frames, so rates come out right.

use crate::fast::Frames;
use crate::follow::Follower as _;
use crate::follow::transactions::Transactions;
use crate::measure::{Measures, Traffic};
use crate::metric::{Basis, Metric, metrics};
use crate::observation::Observation;
use crate::oddity::{Class, Oddities};
use crate::track::{Results, Sink};
use crate::tsdu::Tsdus;
use core::time::Duration;
use std::collections::VecDeque;
use wire::time::{Instant, nanos};
use wire::units::BitRate;

/// Reports kept until they are taken; beyond this number the oldest is dropped.
const MAXIMUM_WAITING: usize = 1 << 17;

/// Counts and metrics of an interval or of the whole measurement.
#[derive(Clone, Debug)]
pub struct Report {
    /// Index of the interval, counted from 0; none for the total.
    pub index: Option<u64>,
    /// Number of intervals covered: one, except for the total and for a silence.
    pub intervals: u64,
    /// Start.
    pub start: Instant,
    /// Length (M): whole intervals, except for the interval under way.
    pub length: Duration,
    /// Counts.
    pub measures: Measures,
    /// Metrics computed from the counts.
    pub metrics: [Metric; 13],
    /// Anomalies met.
    pub oddities: Oddities,
}

/// Counts up to now.
#[derive(Clone, Debug)]
struct Sum {
    measures: Measures,
    oddities: Oddities,
}

impl Sum {
    fn new(bounds_octets: [u64; 9]) -> Self {
        Self { measures: Measures::new(bounds_octets), oddities: Oddities::default() }
    }

    /// Counts frames in the second of `at`.
    fn frames(&mut self, at: Instant, frames: &Frames) {
        self.measures.frames(at, frames);
        self.oddities.add(Class::Truncated, "user data", frames.cut);
    }

    /// True if nothing was counted.
    fn is_nothing(&self) -> bool {
        let Measures { link, network, traffic, .. } = &self.measures;
        [link.lpdus, link.unseen, network.npdus, network.unseen] == [0; 4]
            && traffic.transport.all().tpdus == 0
            && self.oddities.is_empty()
    }

    fn report(self, index: Option<u64>, span: Span, channel: BitRate) -> Report {
        let Self { measures, oddities } = self;
        let Span { start, length, intervals } = span;
        let metrics = metrics(&Basis { measures: &measures, length, channel });
        Report { index, intervals, start, length, measures, metrics, oddities }
    }
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: Instant,
    length: Duration,
    intervals: u64,
}

/// Interval that is over and has not been taken.
#[derive(Clone, Debug)]
struct Over {
    is_silent: bool,
    /// Boxed, because it is thousands of octets and is handed on.
    report: Box<Report>,
}

/// Interval under way.
#[derive(Clone, Copy, Debug)]
struct Current {
    index: u64,
    start: Instant,
    end: Instant,
    /// Earlier of the ends of this interval and of the second under way.
    until: Instant,
    /// Latest time known.
    last: Instant,
    /// True if a frame or a clock reached this interval.
    is_begun: bool,
}

/// Start of the next whole second.
fn next_second(at: Instant) -> Instant {
    const SECOND: u64 = 1_000_000_000;
    Instant::from_nanos((at.as_nanos() / SECOND + 1).saturating_mul(SECOND))
}

/// Counters of each interval and of the total.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    length_nanos: u64,
    origin: Option<Instant>,
    channel: BitRate,
    bounds_octets: [u64; 9],
    current: Option<Current>,
    sum: Sum,
    /// Frames of the second under way that are not in the sum yet.
    frames: Frames,
    /// Number of earlier frames that were batched.
    common: u64,
    total: Sum,
    over: VecDeque<Over>,
    /// Observations of the frame, where the caller asked for them.
    witness: Option<Vec<Observation>>,
    /// TSDUs, where the caller asked for them.
    tsdus: Option<Box<Tsdus>>,
    /// Requests and replies.
    transactions: Transactions,
    /// True if frames hold user data.
    has_data: bool,
}

impl Intervals {
    pub(crate) fn new(
        length: Duration,
        origin: Option<Instant>,
        channel: BitRate,
        bounds_octets: [u64; 9],
        transactions: Transactions,
    ) -> Self {
        Self {
            length_nanos: nanos(length).max(1),
            origin,
            channel,
            bounds_octets,
            current: None,
            sum: Sum::new(bounds_octets),
            frames: Frames::default(),
            common: 0,
            total: Sum::new(bounds_octets),
            over: VecDeque::new(),
            witness: None,
            tsdus: None,
            transactions,
            has_data: true,
        }
    }

    /// True if frames hold user data.
    pub(crate) const fn has_data(&self) -> bool {
        self.has_data
    }

    /// Sets whether the following frames hold user data.
    pub(crate) const fn expect_data(&mut self, has_data: bool) {
        self.has_data = has_data;
    }

    pub(crate) fn observe(&mut self, observation: &Observation) {
        self.sum.measures.observe(observation);
    }

    pub(crate) const fn oddities(&mut self) -> &mut Oddities {
        &mut self.sum.oddities
    }

    /// Sink for observations of the interval under way.
    pub(crate) fn sink(&mut self) -> Sink<'_> {
        let Sum { measures, oddities } = &mut self.sum;
        Sink {
            measures,
            oddities,
            witness: self.witness.as_mut(),
            tsdus: self.tsdus.as_deref_mut(),
            transactions: &mut self.transactions,
            has_data: self.has_data,
            interval: self.current.map_or(Instant::ZERO, |current| current.start),
        }
    }

    /// Collects TSDUs from now on.
    pub(crate) fn pass_tsdus(&mut self, tsdus: Tsdus) {
        self.tsdus = Some(Box::new(tsdus));
    }

    /// TSDUs that are collected, if any are wanted.
    pub(crate) fn tsdus(&mut self) -> Option<&mut Tsdus> {
        self.tsdus.as_deref_mut()
    }

    /// Requests and replies.
    pub(crate) const fn transactions(&mut self) -> &mut Transactions {
        &mut self.transactions
    }

    /// Requests and replies, as they are now.
    pub(crate) const fn known_transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// Batch of common frames of the second under way.
    pub(crate) const fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }

    /// Number of frames that were batched.
    pub(crate) const fn common_frames(&self) -> u64 {
        self.common + self.frames.count()
    }

    /// True if the observations of each frame are recorded.
    pub(crate) const fn is_witnessed(&self) -> bool {
        self.witness.is_some()
    }

    /// Records observations in `list` from now on, or stops if there is none; returns the previous
    /// list.
    pub(crate) const fn witness(
        &mut self,
        list: Option<Vec<Observation>>,
    ) -> Option<Vec<Observation>> {
        core::mem::replace(&mut self.witness, list)
    }

    /// Index of the interval under way.
    pub(crate) fn index(&self) -> Option<u64> {
        self.current.map(|current| current.index)
    }

    /// True if the interval or the second under way is over at this time.
    pub(crate) fn turns_by(&self, at: Instant) -> bool {
        self.current.is_some_and(|current| at >= current.until)
    }

    /// True if the interval under way is over at this time.
    pub(crate) fn ends_by(&self, at: Instant) -> bool {
        self.current.is_some_and(|current| at >= current.end)
    }

    /// Advances to `at` if that lies in the second and the interval under way and time does not run
    /// backwards. Returns false, without effect, otherwise.
    #[inline]
    pub(crate) fn goes_on(&mut self, at: Instant) -> bool {
        let Some(current) = &mut self.current else { return false };
        let goes_on = (current.last..current.until).contains(&at);
        if goes_on {
            (current.last, current.is_begun) = (at, true);
        }
        goes_on
    }

    /// Advances to the time of a frame and returns the time as it counts: never earlier than
    /// before. None if it lies before the origin.
    pub(crate) fn tick(&mut self, at: Instant) -> Option<Instant> {
        let origin = *self.origin.get_or_insert(at);
        if at < origin {
            self.sum.oddities.count(Class::Time, "frame before the origin");
            return None;
        }
        self.count_frames();
        let length = Duration::from_nanos(self.length_nanos);
        let current = self.current.get_or_insert(Current {
            index: 0,
            start: origin,
            end: origin + length,
            until: origin,
            last: origin,
            is_begun: false,
        });
        if at < current.last {
            self.sum.oddities.count(Class::Time, "time ran backwards");
        }
        let at = at.max(current.last);
        current.last = at;
        current.is_begun = true;
        self.transactions.expire(at, &mut self.sum.oddities);
        if at >= current.end {
            self.pass(at);
        }
        if let Some(current) = &mut self.current {
            current.until = current.end.min(next_second(at));
            self.transactions.begin(current.start);
        }
        Some(at)
    }

    /// Adds the batched frames to the sum.
    pub(crate) fn count_frames(&mut self) {
        if let Some(current) = &self.current {
            let frames = core::mem::take(&mut self.frames);
            self.common += frames.count();
            self.sum.frames(current.last, &frames);
        }
    }

    /// Advances the time to at least `now`, once measuring has begun.
    pub(crate) fn advance(&mut self, now: Instant) {
        let last = self.current.map(|current| current.last).or(self.origin);
        if last.is_none_or(|last| now < last) {
            return;
        }
        let before = self.current.map(|current| current.index);
        self.tick(now);
        // An interval that begins at `now` is not begun yet.
        if let Some(current) = &mut self.current
            && before.is_some_and(|before| before != current.index)
        {
            current.is_begun = now > current.start;
        }
    }

    /// Closes the interval under way and the silent ones after it, up to the one that holds `at`.
    fn pass(&mut self, at: Instant) {
        let Some(current) = &mut self.current else { return };
        let passed = nanos(at.since(current.start)) / self.length_nanos;
        if passed == 0 {
            return;
        }
        let length = Duration::from_nanos(self.length_nanos);
        let (index, start) = (current.index, current.start);
        current.index += passed;
        current.start = start + Duration::from_nanos(self.length_nanos.saturating_mul(passed));
        current.end = current.start + length;
        current.last = current.last.max(current.start);
        self.total.measures.add(&self.sum.measures);
        self.total.oddities.merge(&self.sum.oddities);
        let is_silent = self.sum.is_nothing();
        let sum = core::mem::replace(&mut self.sum, Sum::new(self.bounds_octets));
        let span = Span { start, length, intervals: 1 };
        let report = Box::new(sum.report(Some(index), span, self.channel));
        self.push(Over { is_silent, report });
        if passed > 1 {
            let (start, intervals) = (start + length, passed - 1);
            let length = Duration::from_nanos(self.length_nanos.saturating_mul(intervals));
            let span = Span { start, length, intervals };
            let sum = Sum::new(self.bounds_octets);
            let report = Box::new(sum.report(Some(index + 1), span, self.channel));
            self.push(Over { is_silent: true, report });
        }
    }

    /// Queues an interval that is over; a silence extends the silence before it.
    fn push(&mut self, over: Over) {
        if let Some(last) = self.over.back_mut().filter(|last| last.is_silent && over.is_silent) {
            let Report { intervals, length, measures, metrics, .. } = &mut *last.report;
            *intervals += over.report.intervals;
            *length = Duration::from_nanos(self.length_nanos.saturating_mul(*intervals));
            *metrics = self::metrics(&Basis { measures, length: *length, channel: self.channel });
            return;
        }
        if self.over.len() >= MAXIMUM_WAITING {
            self.over.pop_front();
            self.total.oddities.count(Class::Meter, "report never taken");
        }
        self.over.push_back(over);
    }

    /// Takes the oldest interval that is over.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Box<Report>> {
        self.over.pop_front().map(|over| over.report)
    }

    /// Latest time known.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.current.map(|current| current.last)
    }

    /// Start of the first interval, once known.
    pub(crate) const fn began(&self) -> Option<Instant> {
        self.origin
    }

    /// Interval under way, up to the latest time known; `more` adds the batches that are not
    /// counted yet.
    pub(crate) fn under_way(&self, more: impl FnOnce(&mut Traffic)) -> Option<Report> {
        let Current { index, start, last, .. } = self.current.filter(|current| current.is_begun)?;
        let span = Span { start, length: last.since(start), intervals: 1 };
        let mut sum = self.sum.clone();
        sum.frames(last, &self.frames);
        more(&mut sum.measures.traffic);
        Some(sum.report(Some(index), span, self.channel))
    }

    /// Closes the interval under way, and returns the total.
    pub(crate) fn finish(&mut self) -> Report {
        self.count_frames();
        if let Some(current) = self.current.filter(|current| current.is_begun) {
            self.pass(current.end);
            if let Some(current) = &mut self.current {
                current.is_begun = false;
            }
        }
        let mut total = self.total.clone();
        // Oddities outside every interval: frames before the origin.
        total.oddities.merge(&self.sum.oddities);
        let intervals = self.current.map_or(0, |current| current.index);
        let length = Duration::from_nanos(self.length_nanos.saturating_mul(intervals));
        let start = self.origin.unwrap_or_default();
        total.report(None, Span { start, length, intervals }, self.channel)
    }
}

/// Destination of the fast path, which takes no frame whose observations are recorded.
impl Results for Intervals {
    #[inline(always)]
    fn measures(&mut self) -> &mut Measures {
        &mut self.sum.measures
    }

    #[inline(always)]
    fn witness(&mut self, _: impl FnOnce() -> Observation) {}

    fn sink(&mut self) -> Sink<'_> {
        self.sink()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::BOUNDS_OCTETS;

    const SECOND: u64 = 1_000_000_000;

    fn intervals(origin: Option<u64>) -> Intervals {
        let origin = origin.map(|seconds| Instant::from_nanos(seconds * SECOND));
        let transactions = Transactions::new(1, 1, 0);
        let length = Duration::from_secs(10);
        Intervals::new(length, origin, BitRate::mbps(10), BOUNDS_OCTETS, transactions)
    }

    fn frame(intervals: &mut Intervals, seconds: u64) {
        if let Some(at) = intervals.tick(Instant::from_nanos(seconds * SECOND)) {
            intervals.observe(&Observation::Lpdu { at, octets: 100, llc: None });
        }
    }

    fn taken(intervals: &mut Intervals) -> Vec<(Option<u64>, u64, u64)> {
        let seconds = |report: &Report| report.start.as_nanos() / SECOND;
        core::iter::from_fn(|| intervals.take())
            .map(|report| (report.index, seconds(&report), report.measures.link.lpdus))
            .collect()
    }

    #[test]
    fn intervals_are_whole_and_a_silence_is_one_report() {
        let mut intervals = intervals(Some(100));
        [100, 109, 110, 145].iter().for_each(|at| frame(&mut intervals, *at));
        let total = intervals.finish();
        assert_eq!(
            taken(&mut intervals),
            [
                (Some(0), 100, 2),
                (Some(1), 110, 1),
                // Two intervals of silence.
                (Some(2), 120, 0),
                (Some(4), 140, 1),
            ]
        );
        assert_eq!((total.intervals, total.length), (5, Duration::from_secs(50)));
        assert_eq!(total.measures.link.lpdus, 4);
    }

    #[test]
    fn without_an_origin_the_first_frame_is_it() {
        let mut intervals = intervals(None);
        [7, 16, 17].iter().for_each(|at| frame(&mut intervals, *at));
        intervals.finish();
        assert_eq!(taken(&mut intervals), [(Some(0), 7, 2), (Some(1), 17, 1)]);
    }

    #[test]
    fn time_that_runs_backwards_stands_still_and_is_counted() {
        let mut intervals = intervals(Some(100));
        [99, 112, 105].iter().for_each(|at| frame(&mut intervals, *at));
        let total = intervals.finish();
        assert_eq!(taken(&mut intervals), [(Some(0), 100, 0), (Some(1), 110, 2)]);
        assert_eq!(total.oddities.get(Class::Time, "frame before the origin"), 1);
        assert_eq!(total.oddities.get(Class::Time, "time ran backwards"), 1);
    }

    #[test]
    fn a_silence_of_an_age_is_one_report() {
        let mut intervals = intervals(Some(0));
        frame(&mut intervals, 5);
        frame(&mut intervals, 10_000_000_005);
        intervals.finish();
        let reports: Vec<Box<Report>> = core::iter::from_fn(|| intervals.take()).collect();
        let covered: Vec<u64> = reports.iter().map(|report| report.intervals).collect();
        assert_eq!(covered, [1, 999_999_999, 1]);
        assert_eq!(reports[1].length, Duration::from_secs(9_999_999_990));
        assert_eq!(reports[2].index, Some(1_000_000_000));
    }

    #[test]
    fn no_frames_give_no_interval() {
        let mut intervals = intervals(None);
        assert_eq!(intervals.finish().length, Duration::ZERO);
        assert!(intervals.take().is_none() && intervals.under_way(|_| {}).is_none());
    }

    #[test]
    fn finishing_twice_adds_no_interval() {
        let mut intervals = intervals(Some(0));
        frame(&mut intervals, 5);
        let first = intervals.finish();
        let second = intervals.finish();
        assert_eq!((first.intervals, second.intervals), (1, 1));
    }

    #[test]
    fn the_interval_under_way_ends_with_the_latest_time() {
        let mut intervals = intervals(Some(0));
        frame(&mut intervals, 14);
        let report = intervals.under_way(|_| {}).unwrap();
        assert_eq!((report.index, report.length), (Some(1), Duration::from_secs(4)));
    }

    #[test]
    fn a_clock_ends_intervals_but_never_begins_measuring() {
        let at = |seconds: u64| Instant::from_nanos(seconds * SECOND);
        let mut intervals = intervals(None);
        intervals.advance(at(1));
        frame(&mut intervals, 7);
        intervals.advance(at(6));
        intervals.advance(at(28));
        assert_eq!(taken(&mut intervals), [(Some(0), 7, 1), (Some(1), 17, 0)]);
        assert!(intervals.finish().oddities.is_empty());
    }

    #[test]
    fn an_interval_that_a_clock_ends_to_the_nanosecond_is_the_last() {
        let mut intervals = intervals(Some(100));
        frame(&mut intervals, 105);
        intervals.advance(Instant::from_nanos(110 * SECOND));
        assert!(intervals.under_way(|_| {}).is_none());
        assert_eq!(intervals.finish().intervals, 1);
        assert_eq!(taken(&mut intervals), [(Some(0), 100, 1)]);
    }

    #[test]
    fn the_end_of_time_is_no_trap() {
        let mut intervals = intervals(None);
        intervals.tick(Instant::from_nanos(u64::MAX - 5));
        intervals.tick(Instant::MAX);
        intervals.finish();
        assert!(taken(&mut intervals).len() <= 1);
    }
}
