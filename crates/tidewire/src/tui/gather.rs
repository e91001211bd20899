//! Gatherer: turns frames and their times into samples, and samples into snapshots for a screen.
//!
//! It receives frames from a source, uses only their times, and draws nothing. Counts are kept in
//! ticks of 10 ms and can be shown in any sampling interval. The screen requests a [`Snapshot`] and
//! receives plain data.

use super::notices::{Notice, Notices};
use super::sample::{Count, Interval, Rates, Ring, Statistics, TICK};
use core::time::Duration;
use meter::observation::{DelayKind, Observation};
use meter::{Meter, Remarks, Settings};
use std::collections::VecDeque;
use wire::dissect::{Link, levels};
use wire::filter::Filter;
use wire::time::{Instant, nanos};

/// Number of ticks kept, from which samples are rebuilt when the sampling interval changes: 10
/// minutes.
const KEPT_TICKS: usize = 60_000;
/// Number of samples kept for scrolling: 5 hours of 500 ms, 6 minutes of 10 ms.
pub(crate) const KEPT_SAMPLES: usize = 36_000;
/// Number of acknowledgement delays kept.
const KEPT_DELAYS: usize = 65_536;
/// Time between two reports of the meter, from which notices are made.
const REPORT: Duration = Duration::from_secs(1);
/// Maximum number of notices in a snapshot.
const SHOWN_NOTICES: usize = 64;
/// Minimum number of delays for a 99th percentile.
const LEAST_FOR_P99: usize = 100;

/// Requested part of the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    /// Number of samples.
    pub(super) samples: usize,
    /// End of the last sample, since the start; the newest sample if none.
    pub(super) until: Option<Duration>,
}

/// Percentiles of a number of delays, each an order statistic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Delays {
    /// Number of delays.
    pub(crate) count: usize,
    /// Median: the least value that half of them do not exceed.
    pub(crate) median: Option<Duration>,
    /// 99th percentile: the least value that 99 % of them do not exceed; none for fewer than 100.
    pub(crate) p99: Option<Duration>,
    /// Maximum.
    pub(crate) longest: Option<Duration>,
}

/// Gathered data of the requested window, as plain data.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Snapshot {
    /// Origin of time: the first frame, or the start of listening.
    pub(super) origin: Option<Instant>,
    /// Time since the origin.
    pub(super) elapsed: Duration,
    /// The sampling interval.
    pub(super) interval: Interval,
    /// The filter.
    pub(super) filter: Filter,
    /// The number of the first sample of the window.
    pub(super) first: u64,
    /// The samples of the window, oldest first; fewer than asked for where there are no more.
    pub(super) samples: Vec<Count>,
    /// Number of samples so far.
    pub(super) end: u64,
    /// Number of the oldest sample kept.
    pub(super) oldest: u64,
    /// Rates of the newest sample.
    pub(super) current: Rates,
    /// Average rates over all samples since the last restart.
    pub(super) average: Rates,
    /// Maximum rates of these samples.
    pub(super) peak: Rates,
    /// Acknowledgement delays of class 4 that ended within the window.
    pub(super) delays: Delays,
    /// Notices up to the end of the window, oldest first.
    pub(super) notices: Vec<Notice>,
    /// Frames received, including those that the filter left out.
    pub(super) frames: u64,
}

/// Gathers samples.
#[derive(Clone, Debug)]
pub(super) struct Gather {
    origin: Option<Instant>,
    filter: Filter,
    interval: Interval,
    /// Current tick, counted from the origin.
    tick: u64,
    in_tick: Count,
    ticks: Ring,
    in_sample: Count,
    samples: Ring,
    /// Number and counts of the last sample with frames: a long silence may evict it from the
    /// history before it is shown.
    latest: Option<(u64, Count)>,
    /// First tick of the statistics: samples that begin earlier are left out.
    since_tick: u64,
    statistics: Statistics,
    meter: Meter,
    remarks: Remarks,
    /// Tick in which each delay ended, and its length.
    delays: VecDeque<(u64, Duration)>,
    notices: Notices,
    frames: u64,
}

impl Gather {
    /// Creates an empty gatherer; time begins with [`Gather::begin`] or with the first frame.
    pub(super) fn new(interval: Interval, filter: Filter) -> Self {
        Self {
            origin: None,
            filter,
            interval,
            tick: 0,
            in_tick: Count::default(),
            ticks: Ring::new(KEPT_TICKS),
            in_sample: Count::default(),
            samples: Ring::new(KEPT_SAMPLES),
            latest: None,
            since_tick: 0,
            statistics: Statistics::default(),
            meter: metering(Instant::ZERO),
            remarks: Remarks::default(),
            delays: VecDeque::new(),
            notices: Notices::default(),
            frames: 0,
        }
    }

    /// Sets the origin of time to `now`, unless it is set.
    pub(super) fn begin(&mut self, now: Instant) {
        if self.origin.is_none() {
            self.origin = Some(now);
            self.meter = metering(now);
        }
    }

    /// Counts a frame. A late frame counts in the current tick.
    pub(super) fn observe(&mut self, at: Instant, link: Link, octets: &[u8], original: usize) {
        self.begin(at);
        self.reach(at);
        self.frames += 1;
        if self.filter.matches(link, octets, original) {
            let packet = Count { packets: 1, octets: original.max(octets.len()) as u64 };
            self.in_tick = self.in_tick.plus(packet);
        }
        self.meter.observe_remarking(at, link, octets, original, &mut self.remarks);
        self.keep_delays(link, octets, original);
        self.take_reports();
    }

    /// Keeps the acknowledgement delays that a frame ended, if the filter accepts the stations of
    /// the DT. The frame holds the AK, so its receiver sent the DT.
    fn keep_delays(&mut self, link: Link, octets: &[u8], original: usize) {
        let spans = self.remarks.observations.iter().filter_map(|observation| match observation {
            Observation::Span(DelayKind::Acknowledgement, span) => Some(*span),
            _ => None,
        });
        let mut spans = spans.peekable();
        if spans.peek().is_none() {
            return;
        }
        let Ok(nsdu) = levels(link, octets, original).nsdu else { return };
        if !self.filter.may_match_stations(nsdu.destination, nsdu.source) {
            return;
        }
        for span in spans {
            if self.delays.len() == KEPT_DELAYS {
                self.delays.pop_front();
            }
            self.delays.push_back((self.tick, span));
        }
    }

    /// Makes notices of the meter's reports.
    fn take_reports(&mut self) {
        while let Some(report) = self.meter.take_interval() {
            let at = report.start.since(self.origin.unwrap_or_default());
            self.notices.report(at, &report);
        }
    }

    /// Advances time to at least `now`. Does nothing before time has begun.
    pub(super) fn advance(&mut self, now: Instant) {
        if self.origin.is_some() {
            self.reach(now);
            self.meter.advance(now);
            self.take_reports();
        }
    }

    /// Ends the current sample, which has its full length: no more frames come.
    pub(super) fn finish(&mut self) {
        let interval = self.interval.ticks();
        if self.origin.is_some() {
            self.reach_tick((self.tick / interval + 1) * interval);
            self.meter.finish();
            self.take_reports();
        }
    }

    fn reach(&mut self, at: Instant) {
        let Some(origin) = self.origin else { return };
        self.reach_tick(nanos(at.since(origin)) / nanos(TICK));
    }

    fn reach_tick(&mut self, tick: u64) {
        if tick <= self.tick {
            return;
        }
        let over = core::mem::take(&mut self.in_tick);
        self.ticks.push(over);
        self.ticks.push_silent(tick - self.tick - 1);
        self.in_sample = self.in_sample.plus(over);
        self.tick = tick;
        let whole = tick / self.interval.ticks();
        let Some(finished) = whole.checked_sub(self.samples.end()).filter(|count| *count > 0)
        else {
            return;
        };
        let first = self.samples.end();
        let sample = core::mem::take(&mut self.in_sample);
        self.latest = Some((first, sample));
        self.samples.push(sample);
        self.samples.push_silent(finished - 1);
        let since = self.since_sample();
        if first >= since {
            self.statistics.add(sample);
        }
        self.statistics.add_silent(whole.saturating_sub(since.max(first + 1)));
    }

    /// Returns the first sample of average and peak.
    const fn since_sample(&self) -> u64 {
        self.since_tick.div_ceil(self.interval.ticks())
    }

    /// Returns the sampling interval.
    pub(super) const fn interval(&self) -> Interval {
        self.interval
    }

    /// Sets the sampling interval, and rebuilds the samples from the ticks kept.
    pub(super) fn set_interval(&mut self, interval: Interval) {
        let length = interval.ticks();
        self.interval = interval;
        let (first, end) = (self.ticks.first().div_ceil(length), self.tick / length);
        self.samples.restart(first.min(end));
        self.latest = None;
        self.statistics = Statistics::default();
        let since = self.since_sample();
        for number in first..end {
            let sample = self.ticks.sum(number * length, (number + 1) * length);
            self.samples.push(sample);
            if number >= since {
                self.statistics.add(sample);
            }
        }
        self.in_sample = self.ticks.sum(end * length, self.tick);
    }

    /// Sets the filter, and discards the samples of the previous one.
    pub(super) fn set_filter(&mut self, filter: Filter) {
        let told = format!("filter: {filter}");
        self.filter = filter;
        self.in_tick = Count::default();
        self.in_sample = Count::default();
        self.ticks.restart(self.tick);
        self.samples.restart(self.tick / self.interval.ticks());
        self.latest = None;
        self.delays.clear();
        self.restart();
        self.tell(told);
    }

    /// Restarts average and peak with the next whole sample.
    pub(super) fn restart(&mut self) {
        self.since_tick = if self.tick == 0 { 0 } else { self.tick + 1 };
        self.statistics = Statistics::default();
    }

    /// Adds a notice for the operator.
    pub(super) fn tell(&mut self, text: String) {
        self.notices.tell(self.elapsed(), text);
    }

    /// Returns the time since the origin, to the tick.
    pub(super) fn elapsed(&self) -> Duration {
        Duration::from_nanos(nanos(TICK).saturating_mul(self.tick))
    }

    /// Returns the number of samples so far.
    pub(super) fn end(&self) -> u64 {
        self.samples.end()
    }

    /// Returns a sample, if it is kept or was the last with frames.
    pub(super) fn sample(&self, number: u64) -> Option<Count> {
        let latest = self.latest.filter(|(latest, _)| *latest == number).map(|(_, count)| count);
        latest.or_else(|| self.samples.get(number))
    }

    /// Returns the origin of time.
    pub(super) const fn origin(&self) -> Option<Instant> {
        self.origin
    }

    /// Returns the number of frames received.
    pub(super) const fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the notices from this number on, and the number of the next notice.
    pub(super) fn notices(&self, since: u64) -> (impl Iterator<Item = &Notice>, u64) {
        (self.notices.since(since), self.notices.end())
    }

    /// Returns the delays that ended within these samples.
    pub(super) fn delays(&self, from: u64, to: u64) -> Delays {
        let length = self.interval.ticks();
        let ticks = from * length..to * length;
        // Ticks never decrease, so those of a window are contiguous.
        let first = self.delays.partition_point(|(tick, _)| *tick < ticks.start);
        let end = self.delays.partition_point(|(tick, _)| *tick < ticks.end);
        let mut spans: Vec<Duration> =
            self.delays.range(first..end.max(first)).map(|(_, span)| *span).collect();
        spans.sort_unstable();
        let count = spans.len();
        let percentile =
            |percent: usize| spans.get((count * percent).div_ceil(100).saturating_sub(1)).copied();
        Delays {
            count,
            median: percentile(50),
            p99: percentile(99).filter(|_| count >= LEAST_FOR_P99),
            longest: spans.last().copied(),
        }
    }

    /// Returns the snapshot of a window.
    pub(super) fn snapshot(&self, window: Window) -> Snapshot {
        let newest = self.samples.end();
        let wanted = window.until.map(|until| nanos(until) / nanos(self.interval.span()));
        let end = wanted.map_or(newest, |end| end.min(newest));
        let oldest = self.samples.first();
        let first = end.saturating_sub(window.samples as u64).max(oldest).min(end);
        let (average, peak) = self.statistics.rates(self.interval);
        let current = newest.checked_sub(1).and_then(|number| self.samples.get(number));
        let horizon = window.until.unwrap_or(Duration::MAX);
        let mut notices: Vec<Notice> = self
            .notices
            .since(0)
            .rev()
            .filter(|notice| notice.at <= horizon)
            .take(SHOWN_NOTICES)
            .cloned()
            .collect();
        notices.reverse();
        Snapshot {
            origin: self.origin,
            elapsed: self.elapsed(),
            interval: self.interval,
            filter: self.filter.clone(),
            first,
            samples: (first..end).filter_map(|number| self.samples.get(number)).collect(),
            end: newest,
            oldest,
            current: self.interval.rates(current.unwrap_or_default(), 1),
            average,
            peak,
            delays: self.delays(first, end),
            notices,
            frames: self.frames,
        }
    }
}

/// Returns a meter whose reports begin at `origin`.
fn metering(origin: Instant) -> Meter {
    Meter::new(Settings { origin: Some(origin), ..Settings::every(REPORT) })
}

#[cfg(test)]
mod tests;
