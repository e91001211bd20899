//! Gatherer: turns frames and their times into samples, and samples into snapshots for a screen.
//!
//! It receives frames with the remarks of the meter, uses only their times, and draws nothing. Counts
//! are kept in ticks of 10 ms and can be shown in any sampling interval. The screen copies a
//! [`Snapshot`], which is plain data.

use super::notices::{Notice, Notices};
use super::sample::{Count, Interval, Rates, Ring, Statistics};
use crate::quantity::agreed;
use crate::tui::passed::Newest;
use core::time::Duration;
use meter::measure::{Distribution, Summary as Delays};
use meter::observation::{DelayKind, Observation};
use meter::{Remarks, Report};
use records::Stamps;
use records::families::Health;
use std::collections::VecDeque;
use wire::capture::Record as Frame;
use wire::dissect::levels;
use wire::filter::Filter;
use wire::time::{Instant, nanos};

/// Number of ticks kept, from which samples are rebuilt when the sampling interval changes: 10
/// minutes.
const KEPT_TICKS: usize = 60_000;
/// Number of samples kept for scrolling: 5 hours of 500 ms, 6 minutes of 10 ms.
pub(crate) const KEPT_SAMPLES: usize = 36_000;
/// Number of acknowledgement delays kept.
const KEPT_DELAYS: usize = 65_536;
/// Maximum number of notices in a snapshot.
const SHOWN_NOTICES: usize = 64;
/// Notice at the end of the frames.
const NOTHING_MORE: &str = "nothing more comes";

/// Kind of the records that samples are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::tui) enum Kept {
    /// Samples.
    Samples,
    /// Measurement intervals.
    Intervals,
}

/// Requested part of the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::tui) struct Window {
    /// Number of samples.
    pub(in crate::tui) samples: usize,
    /// End of the last sample, since the start; the newest sample if none.
    pub(in crate::tui) until: Option<Duration>,
}

/// Gathered data of the requested window, as plain data.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::tui) struct Snapshot {
    /// Name of the interface or capture.
    pub(in crate::tui) name: String,
    /// State of the source in a word.
    pub(in crate::tui) state: &'static str,
    /// Origin of time: the first frame, or the start of listening.
    pub(in crate::tui) origin: Option<Instant>,
    /// Time since the origin.
    pub(in crate::tui) elapsed: Duration,
    /// The sampling interval.
    pub(in crate::tui) interval: Interval,
    /// The filter.
    pub(in crate::tui) filter: Filter,
    /// The number of the first sample of the window.
    pub(in crate::tui) first: u64,
    /// The samples of the window, oldest first; fewer than asked for where there are no more.
    pub(in crate::tui) samples: Vec<Count>,
    /// Number of samples so far.
    pub(in crate::tui) end: u64,
    /// Number of the oldest sample kept.
    pub(in crate::tui) oldest: u64,
    /// Rates of the newest sample.
    pub(in crate::tui) current: Rates,
    /// Average rates over all samples since the last restart.
    pub(in crate::tui) average: Rates,
    /// Maximum rates of these samples.
    pub(in crate::tui) peak: Rates,
    /// Acknowledgement delays that ended within the window, as the meter sums them up.
    pub(in crate::tui) delays: Delays,
    /// Notices up to the end of the window, oldest first.
    pub(in crate::tui) notices: Vec<Notice>,
    /// Frames received, including those that the filter left out.
    pub(in crate::tui) frames: u64,
    /// Frames dropped, which are in no sample; none if it is unknown.
    pub(in crate::tui) dropped: Option<u64>,
    /// State of the meter itself; none before it is known.
    pub(in crate::tui) health: Option<MeterState>,
    /// True if the samples are those of records: there are no frames, and no delays of a window.
    pub(in crate::tui) is_of_records: bool,
    /// True if the octets are those of LPDUs alone.
    pub(in crate::tui) has_lpdus_alone: bool,
}

/// State of the meter itself at the last look, and what it was at worst.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MeterState {
    /// State at the last look.
    pub(crate) now: Health,
    /// Share of a processor that the meter took between the last two looks, from 0 to 1; none before the second.
    pub(crate) load: Option<f64>,
    /// Greatest fill of the ring at any look, from 0 to 1.
    pub(crate) fullest: Option<f64>,
}

/// Gathers samples.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    name: String,
    /// State of the source in a word, while frames may come and afterwards.
    state: &'static str,
    is_over: bool,
    dropped: Option<u64>,
    health: Option<MeterState>,
    /// Time of the last look at the state of the meter, on the clock of this host.
    health_at: Instant,
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
    /// Tick in which each of the latest delays ended, and its length.
    delays: VecDeque<(u64, Duration)>,
    /// All delays since the filter was set.
    all_delays: Distribution,
    notices: Notices,
    frames: u64,
    /// Newest TPDUs; none if no screen lists them.
    newest: Option<Newest>,
    /// Records that the samples are made of; none of frames.
    kept: Option<Kept>,
    /// Source and resolution of the stamps of frames, once known.
    stamps: Option<Stamps>,
}

impl Gather {
    /// Creates an empty gatherer; time begins with [`Gather::begin`] or with the first frame.
    pub(crate) fn new(name: String, interval: Interval, filter: Filter) -> Self {
        Self {
            name,
            state: "playing",
            is_over: false,
            dropped: None,
            health: None,
            health_at: Instant::ZERO,
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
            delays: VecDeque::new(),
            all_delays: Distribution::default(),
            notices: Notices::default(),
            frames: 0,
            newest: None,
            kept: None,
            stamps: None,
        }
    }

    /// Makes samples of these records instead of frames.
    pub(super) fn replaying(self, kept: Kept) -> Self {
        Self { kept: Some(kept), ..self }
    }

    /// Returns the records that the samples are made of.
    pub(super) const fn kept(&self) -> Option<Kept> {
        self.kept
    }

    /// Keeps the newest TPDUs too.
    pub(crate) fn with_tpdus(self) -> Self {
        Self { newest: Some(Newest::default()), ..self }
    }

    /// Returns the newest TPDUs; none if they are not kept.
    pub(in crate::tui) const fn newest(&mut self) -> Option<&mut Newest> {
        self.newest.as_mut()
    }

    /// Sets the origin of time to `now`, unless it is set: a port is captured from then on.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.state = "live";
        self.origin.get_or_insert(now);
    }

    /// Counts a frame that the meter counted with these remarks. A late frame counts in the current
    /// tick.
    pub(crate) fn observe(&mut self, frame: &Frame<'_>, remarks: &Remarks) {
        let Frame { at, link, octets, original_octets: original, .. } = *frame;
        self.origin.get_or_insert(at);
        self.reach(at);
        self.frames += 1;
        if self.filter.matches(link, octets, original) {
            let packet = Count { packets: 1, octets: original.max(octets.len()) as u64 };
            self.in_tick = self.in_tick.plus(packet);
        }
        self.keep_delays(frame, remarks);
        if let Some(newest) = &mut self.newest {
            newest.observe(remarks);
        }
    }

    /// Adds the sample of a record that begins at `start`.
    pub(super) fn replay(&mut self, start: Instant, length: Duration, count: Count) {
        self.origin.get_or_insert(start);
        self.reach(start);
        self.frames = self.frames.saturating_add(count.packets);
        self.in_tick = self.in_tick.plus(count);
        self.reach(start + length);
    }

    /// Keeps the acknowledgement delays that a frame ended, if the filter accepts the stations of
    /// the DT. The frame holds the AK, so its receiver sent the DT.
    fn keep_delays(&mut self, frame: &Frame<'_>, remarks: &Remarks) {
        let spans = remarks.observations.iter().filter_map(|observation| match observation {
            Observation::Span(DelayKind::Acknowledgement, span) => Some(*span),
            _ => None,
        });
        let mut spans = spans.peekable();
        if spans.peek().is_none() {
            return;
        }
        let Frame { link, octets, original_octets, .. } = *frame;
        let Ok(nsdu) = levels(link, octets, original_octets).nsdu else { return };
        if !self.filter.may_match_stations(nsdu.destination, nsdu.source) {
            return;
        }
        for span in spans {
            if self.delays.len() == KEPT_DELAYS {
                self.delays.pop_front();
            }
            self.delays.push_back((self.tick, span));
            self.all_delays.record(span);
        }
    }

    /// Makes notices of a report of the meter.
    pub(crate) fn report(&mut self, report: &Report) {
        self.notices.report(self.origin.unwrap_or_default(), report);
    }

    /// Notes the number of frames dropped so far, which are in no sample.
    pub(crate) fn note_dropped(&mut self, dropped: Option<u64>) {
        let more = dropped.unwrap_or(0).saturating_sub(self.dropped.unwrap_or(0));
        if more > 0 {
            let dropped = agreed(&format!("{more} frames were dropped"));
            self.tell(format!("{dropped}, and no sample has them"));
        }
        self.dropped = dropped.or(self.dropped);
    }

    /// Notes the state of the meter itself at this time on the clock of this host.
    pub(crate) fn note_health(&mut self, now: Health, at: Instant) {
        let before = self.health;
        let load = before.and_then(|before| {
            let took = now.processor.saturating_sub(before.now.processor).as_secs_f64();
            let passed = at.since(self.health_at).as_secs_f64();
            (passed > 0.0).then(|| took / passed)
        });
        let fullest = before.and_then(|before| before.fullest);
        let fullest = fullest.into_iter().chain(now.ring_fill).reduce(f64::max);
        (self.health, self.health_at) = (Some(MeterState { now, load, fullest }), at);
    }

    /// Returns the number of dropped frames; none if it is unknown.
    pub(crate) const fn dropped(&self) -> Option<u64> {
        self.dropped
    }

    /// Notes the source and resolution of the stamps of frames.
    pub(crate) const fn note_stamps(&mut self, stamps: Option<Stamps>) {
        self.stamps = stamps;
    }

    /// Returns the source and resolution of the stamps of frames, if they are known.
    pub(crate) const fn stamps(&self) -> Option<Stamps> {
        self.stamps
    }

    /// Advances time to at least `now`. Does nothing before time has begun.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.reach(now);
    }

    /// Ends the current sample, which has its full length: no more frames come.
    pub(crate) fn finish(&mut self) {
        let interval = self.interval.ticks();
        if self.origin.is_some() {
            self.reach_tick((self.tick / interval + 1) * interval);
        }
    }

    /// Notes that no more frames come, and the failure if that was not intended.
    pub(crate) fn conclude(&mut self, failure: Option<String>) {
        self.state = if failure.is_some() { "FAILED" } else { "over" };
        self.is_over = true;
        self.tell(failure.unwrap_or_else(|| NOTHING_MORE.to_owned()));
    }

    fn reach(&mut self, at: Instant) {
        let Some(origin) = self.origin else { return };
        self.reach_tick(self.interval.tick_at(at.since(origin)));
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
    pub(crate) const fn interval(&self) -> Interval {
        self.interval
    }

    /// Sets the sampling interval, and rebuilds the samples from the ticks kept.
    pub(in crate::tui) fn set_interval(&mut self, interval: Interval) {
        if self.kept.is_some() {
            return self.tell("the sampling interval stays: it is that of the records".to_owned());
        }
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

    /// Sets the filter, and discards the samples of the previous one. Once no more frames come, the
    /// filter stays, because no samples would replace them.
    pub(in crate::tui) fn set_filter(&mut self, filter: Filter) {
        if self.kept.is_some() {
            return self.tell("the filter stays: records have no frames".to_owned());
        }
        if self.is_over {
            return self.tell(format!("the filter stays: {NOTHING_MORE}"));
        }
        let told = format!("filter: {filter}");
        self.filter = filter;
        self.in_tick = Count::default();
        self.in_sample = Count::default();
        self.ticks.restart(self.tick);
        self.samples.restart(self.tick / self.interval.ticks());
        self.latest = None;
        self.delays.clear();
        self.all_delays = Distribution::default();
        self.restart();
        self.tell(told);
    }

    /// Restarts average and peak with the next whole sample.
    pub(in crate::tui) fn restart(&mut self) {
        self.since_tick = if self.tick == 0 { 0 } else { self.tick + 1 };
        self.statistics = Statistics::default();
    }

    /// Adds a notice for the operator.
    pub(super) fn tell(&mut self, text: String) {
        self.notices.tell(self.elapsed(), text);
    }

    /// Returns the time since the origin, to the tick.
    pub(super) fn elapsed(&self) -> Duration {
        self.interval.begin_of(self.tick)
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

    /// Returns the name of the interface or capture.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the filter.
    pub(super) const fn filter(&self) -> &Filter {
        &self.filter
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
        let mut within = Distribution::default();
        self.delays.range(first..end.max(first)).for_each(|(_, span)| within.record(*span));
        within.summary()
    }

    /// Returns all delays since the filter was set.
    pub(super) fn all_delays(&self) -> Delays {
        self.all_delays.summary()
    }

    /// Returns the snapshot of a window.
    pub(in crate::tui) fn snapshot(&self, window: Window) -> Snapshot {
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
            name: self.name.clone(),
            state: self.state,
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
            dropped: self.dropped,
            health: self.health,
            is_of_records: self.kept.is_some(),
            has_lpdus_alone: self.kept == Some(Kept::Intervals),
        }
    }
}

#[cfg(test)]
mod tests;
