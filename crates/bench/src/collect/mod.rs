//! Collector: converts users' records of any origin to results of their flows.
//!
//! A message is judged if it was due after the warm-up and before the end of the measured time; its
//! outcome may be recorded later. Records may come in any order between flows and between the ends
//! of a flow; those of one end come in order of time. If the ends have separate clocks, only
//! answers are timed.
//!
//! A service's reports are checked against the arrivals: no message reported delivered may be lost.

use crate::sample::{Distribution, Ending, FlowSample, Within};
use core::time::Duration;
use stack::load::{Event, FlowId, Record};
use stats::batches::Batches;
use stats::histogram::Histogram;
use stats::interval::batch_means;
use stats::warmup::{self, mser5};
use std::collections::{BTreeMap, VecDeque};
use wire::time::{Instant, nanos};

/// Maximum number of records kept of a flow while the end of its warm-up is unknown. MSER-5 judges
/// these; later ones are long past any warm-up.
const HELD: usize = 1 << 18;

/// Properties of a flow required by a collector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watched {
    /// Number.
    pub id: FlowId,
    /// Name.
    pub name: String,
    /// True if each message is answered; the deadline then is the answer's.
    pub is_answered: bool,
    /// True if its receiver knows each message. MMS has no stamps: an answer counts as the arrival of
    /// its request.
    pub has_stamps: bool,
    /// True if its sender times each arrival: the receiver of a file confirms its transfer.
    pub is_timed_by_sender: bool,
    /// True if the service reports the delivery of each message.
    pub is_acknowledged: bool,
    /// True if its messages are limited in number.
    pub is_limited: bool,
    /// Maximum age of a message or answer on arrival, from its due time.
    pub deadline: Option<Duration>,
}

/// End of the warm-up of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// At this instant.
    At(Instant),
    /// At the point found by MSER-5 for each flow, from this instant on.
    Mser5(Instant),
}

/// Relation of the clocks that stamp both ends of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clocks {
    /// One clock: one-way delays can be measured.
    Shared,
    /// Separate clocks: only answers are timed.
    Separate,
}

/// Collects the records of one run.
#[derive(Clone, Debug)]
pub struct Collector {
    flows: BTreeMap<FlowId, Gathering>,
    strangers: u64,
}

impl Collector {
    /// Creates a collector for these flows, judging messages that are due from the cut until
    /// `until`.
    #[must_use]
    pub fn new(watched: Vec<Watched>, cut: Cut, until: Instant, clocks: Clocks) -> Self {
        let flows = watched
            .into_iter()
            .map(|flow| (flow.id, Gathering::new(flow, cut, until, clocks)))
            .collect();
        Self { flows, strangers: 0 }
    }

    /// Adds a record. Records of unwatched flows are only counted.
    pub fn record(&mut self, record: &Record) {
        match self.flows.get_mut(&record.flow) {
            Some(flow) => flow.record(record),
            None => self.strangers += 1,
        }
    }

    /// Returns whether every flow is limited, so that the run may end before its time.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.flows.values().all(|flow| flow.watched.is_limited)
    }

    /// Returns whether every flow is limited and done with its messages.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.flows.values().all(|flow| flow.watched.is_limited && flow.over)
    }

    /// Ends the search for the warm-up with the present data. To be called when the measured time
    /// is over.
    pub fn end_warmup(&mut self) {
        self.flows.values_mut().for_each(Gathering::end_warmup);
    }

    /// Returns whether no result can change any more: every judged message was handed over and has
    /// arrived, and so have the answers. Never before [`Collector::end_warmup`].
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.flows.values().all(Gathering::is_settled)
    }

    /// Number of records of unwatched flows: the background's.
    #[must_use]
    pub const fn strangers(&self) -> u64 {
        self.strangers
    }

    /// Results of each flow, in the order of their numbers.
    #[must_use]
    pub fn finish(self) -> Vec<FlowSample> {
        self.flows.into_values().map(Gathering::finish).collect()
    }
}

/// Data of one flow so far.
#[derive(Clone, Debug)]
struct Gathering {
    watched: Watched,
    clocks: Clocks,
    /// Range of due times that are judged; its start is unknown while records are held.
    from: Instant,
    until: Instant,
    held: Option<Vec<Record>>,
    too_short: bool,
    sent: u64,
    not_taken: u64,
    not_offered: u64,
    arrived: Arrivals,
    duplicated: u64,
    damaged: u64,
    answered: Arrivals,
    acknowledged: Arrivals,
    failed: u64,
    /// Failed messages by reason.
    failures: BTreeMap<&'static str, u64>,
    late: u64,
    delay: Histogram,
    delay_from_sent: Histogram,
    response: Histogram,
    /// Delays, or responses, in the order of arrival.
    batches: Batches,
    octets: u64,
    /// Arrivals within the measured time, whatever their due time.
    within: Throughput,
    first_due: Option<Instant>,
    setup: Option<Duration>,
    done: bool,
    over: bool,
    /// True once a message was handed over, or not accepted, that was due after the measured time.
    passed: bool,
    end: Option<Ending>,
}

impl Gathering {
    fn new(watched: Watched, cut: Cut, until: Instant, clocks: Clocks) -> Self {
        let clocks = if watched.is_timed_by_sender { Clocks::Shared } else { clocks };
        let (from, held) = match cut {
            Cut::At(from) => (from, None),
            Cut::Mser5(from) => (from, Some(Vec::new())),
        };
        Self {
            watched,
            clocks,
            from,
            until,
            held,
            too_short: false,
            sent: 0,
            not_taken: 0,
            not_offered: 0,
            arrived: Arrivals::default(),
            duplicated: 0,
            damaged: 0,
            answered: Arrivals::default(),
            acknowledged: Arrivals::default(),
            failed: 0,
            failures: BTreeMap::new(),
            late: 0,
            delay: Histogram::new(),
            delay_from_sent: Histogram::new(),
            response: Histogram::new(),
            batches: Batches::new(),
            octets: 0,
            within: Throughput::default(),
            first_due: None,
            setup: None,
            done: false,
            over: false,
            passed: false,
            end: None,
        }
    }

    fn record(&mut self, record: &Record) {
        match &record.event {
            Event::Opened { took } | Event::Unresolved { took } => {
                self.setup = self.setup.or(Some(*took))
            }
            Event::Done => {
                self.done = true;
                self.over = true;
            }
            Event::Ended { reason, orderly } => {
                self.over = true;
                // The first end counts, but an unplanned end takes precedence over a planned one.
                if self.end.as_ref().is_none_or(|end| end.orderly && !orderly) {
                    self.end = Some(Ending { reason: (*reason).to_owned(), orderly: *orderly });
                }
            }
            Event::Sent { .. }
            | Event::NotTaken { .. }
            | Event::NotOffered { .. }
            | Event::Delivered { .. }
            | Event::Answered { .. }
            | Event::Acknowledged { .. }
            | Event::Failed { .. }
            | Event::Damaged { .. } => self.hold_or_judge(record),
        }
    }

    fn hold_or_judge(&mut self, record: &Record) {
        let Some(held) = &mut self.held else { return self.judge(record) };
        held.push(record.clone());
        if held.len() >= HELD {
            self.end_warmup();
        }
    }

    /// Determines the end of the warm-up, and judges the records held.
    fn end_warmup(&mut self) {
        let Some(held) = self.held.take() else { return };
        let arrivals: Vec<(Instant, f64)> =
            held.iter().filter_map(|record| self.observation(record)).collect();
        let delays: Vec<f64> = arrivals.iter().map(|(_, delay)| *delay).collect();
        match mser5(&delays) {
            warmup::Warmup::Ends(dropped) => {
                // Messages may overtake each other; the cut is the latest due time among the
                // dropped ones.
                let dropped = arrivals.iter().take(dropped).map(|(planned, _)| *planned).max();
                let behind = |planned| planned + Duration::from_nanos(1);
                self.from = dropped.map_or(self.from, behind).max(self.from);
            }
            warmup::Warmup::TooShort => self.too_short = true,
        }
        held.iter().for_each(|record| self.judge(record));
    }

    /// Due time and duration of a message, or of the answer if the flow is answered.
    fn observation(&self, record: &Record) -> Option<(Instant, f64)> {
        let planned = match record.event {
            Event::Answered { planned, .. } if self.watched.is_answered => planned,
            Event::Delivered { planned, .. } if !self.watched.is_answered => planned,
            _ => return None,
        };
        (self.from <= planned && planned < self.until)
            .then(|| (planned, nanos(record.at.since(planned)) as f64))
    }

    fn judge(&mut self, record: &Record) {
        if let Event::Delivered { sequence, octets, .. } = record.event
            && self.from <= record.at
            && record.at < self.until
        {
            self.within.add(record.at, sequence, octets);
        }
        if let Event::Sent { planned, .. } = record.event {
            self.within.begin(planned);
        }
        let counts = |instant: Instant| self.from <= instant && instant < self.until;
        match record.event {
            // Messages are handed over in the order of their due times.
            Event::Sent { planned, .. }
            | Event::NotTaken { planned, .. }
            | Event::NotOffered { planned, .. }
                if planned >= self.until =>
            {
                self.passed = true;
            }
            Event::Sent { planned, .. } if counts(planned) => {
                self.sent += 1;
                self.first_due = Some(self.first_due.map_or(planned, |due| due.min(planned)));
            }
            Event::NotTaken { planned, .. } if counts(planned) => self.not_taken += 1,
            Event::NotOffered { planned, .. } if counts(planned) => self.not_offered += 1,
            Event::Delivered { sequence, planned, sent, octets } if counts(planned) => {
                self.delivered(record.at, sequence, planned, sent, octets);
            }
            Event::Answered { sequence, planned, .. } if counts(planned) => {
                self.answered(record.at, sequence, planned);
            }
            Event::Acknowledged { sequence, planned } if counts(planned) => {
                self.acknowledged.take(sequence);
            }
            Event::Failed { planned, reason, .. } if counts(planned) => {
                self.failed += 1;
                *self.failures.entry(reason).or_default() += 1;
            }
            Event::Damaged { .. } if record.at >= self.from => self.damaged += 1,
            _ => {}
        }
    }

    fn answered(&mut self, at: Instant, sequence: u32, planned: Instant) {
        if !self.answered.take(sequence) {
            return;
        }
        if !self.watched.has_stamps {
            self.arrived.take(sequence);
        }
        let took = at.since(planned);
        self.response.record(took);
        self.batches.add(nanos(took) as f64);
        self.late += u64::from(self.watched.deadline.is_some_and(|most| took > most));
    }

    fn delivered(
        &mut self,
        at: Instant,
        sequence: u32,
        planned: Instant,
        sent: Option<Instant>,
        octets: usize,
    ) {
        if !self.arrived.take(sequence) {
            self.duplicated += 1;
            return;
        }
        self.octets += octets as u64;
        if self.clocks == Clocks::Separate {
            return;
        }
        let delay = at.since(planned);
        self.delay.record(delay);
        if !self.watched.is_answered {
            self.batches.add(nanos(delay) as f64);
        }
        if let Some(sent) = sent {
            self.delay_from_sent.record(at.since(sent));
        }
        let is_late = self.watched.deadline.is_some_and(|most| delay > most);
        self.late += u64::from(is_late && !self.watched.is_answered);
    }

    fn is_settled(&self) -> bool {
        let answers = if self.watched.is_answered { self.answered.count } else { self.sent };
        let known =
            !self.watched.is_acknowledged || self.acknowledged.count + self.failed >= self.sent;
        let arrived = self.arrived.count == self.sent && answers == self.sent && known;
        self.held.is_none() && (self.passed || self.over) && arrived
    }

    /// User bits per second. A saturated flow has a backlog: messages that arrive in the measured
    /// time were due before it, and those due in it arrive later. So messages count by their
    /// arrival.
    fn throughput(&self) -> Option<f64> {
        if self.clocks == Clocks::Separate || !self.watched.has_stamps {
            return None;
        }
        let whole = (self.from, self.until);
        let (from, until) = match (self.within.first_due, self.within.last_arrival) {
            (Some(first), Some(last)) if self.watched.is_limited && self.over => {
                (first.max(self.from), last)
            }
            _ => whole,
        };
        let (from, until) = if from < until { (from, until) } else { whole };
        Some(self.within.octets as f64 * 8.0 / until.since(from).as_secs_f64())
    }

    fn finish(mut self) -> FlowSample {
        self.end_warmup();
        let delivered = self.arrived.count;
        let came = if self.watched.is_answered { self.answered.count } else { delivered };
        let judged = self.sent + self.not_taken;
        let timed = self.watched.is_answered || self.clocks == Clocks::Shared;
        let missed = self
            .watched
            .deadline
            .filter(|_| timed)
            .map(|_| self.late + judged.saturating_sub(came));
        let throughput = self.throughput();
        FlowSample {
            name: self.watched.name,
            measured_from_ns: self.from.as_nanos(),
            first_due_ns: self.first_due.map(Instant::as_nanos),
            warmup_too_short: self.too_short,
            sent: self.sent,
            not_taken: self.not_taken,
            not_offered: self.not_offered,
            delivered,
            lost: self.sent.saturating_sub(delivered),
            duplicated: self.duplicated,
            out_of_order: self.arrived.out_of_order,
            damaged: self.damaged,
            answered: self.answered.count,
            acknowledged: self.acknowledged.count,
            failed: self.failed,
            failures: self.failures.iter().map(|(why, n)| ((*why).to_owned(), *n)).collect(),
            acknowledged_and_lost: self.acknowledged.missing_from(&self.arrived),
            deadline_ns: self.watched.deadline.map(nanos),
            missed,
            delay: Distribution::from(&self.delay),
            within: within(&self.batches),
            delay_from_sent: Distribution::from(&self.delay_from_sent),
            response: Distribution::from(&self.response),
            delivered_octets: self.octets,
            throughput_bits_per_second: throughput,
            setup_ns: self.setup.map(nanos),
            done: self.done,
            end: self.end,
        }
    }
}

/// Confidence level of intervals from within a run.
const LEVEL: f64 = 0.95;

/// Mean of a run with its interval, if the run is long enough for its correlation.
fn within(batches: &Batches) -> Option<Within> {
    let found = batch_means(&batches.means(), LEVEL).ok()?;
    Some(Within {
        mean_ns: found.mean,
        half_width_ns: found.half_width,
        level: found.level,
        batches: found.n,
    })
}

/// Messages that arrived within the measured time, each once.
#[derive(Clone, Debug, Default)]
struct Throughput {
    arrived: Arrivals,
    octets: u64,
    /// Due time of the first message, before the measured time or in it.
    first_due: Option<Instant>,
    last_arrival: Option<Instant>,
}

impl Throughput {
    fn begin(&mut self, planned: Instant) {
        self.first_due = Some(self.first_due.map_or(planned, |first| first.min(planned)));
    }

    fn add(&mut self, at: Instant, sequence: u32, octets: usize) {
        if self.arrived.take(sequence) {
            self.octets += octets as u64;
            self.last_arrival = self.last_arrival.max(Some(at));
        }
    }
}

/// Set of arrived messages: one bit each for the latest million, so memory is bounded. Older ones
/// count as duplicates; no network keeps a frame that long.
#[derive(Clone, Debug, Default)]
struct Arrivals {
    /// Sequence number of the first bit; a multiple of 64.
    base: u64,
    bits: VecDeque<u64>,
    highest: Option<u32>,
    count: u64,
    out_of_order: u64,
}

/// Number of words of 64 messages that are kept.
const WORDS: u64 = 1 << 14;

impl Arrivals {
    /// Records an arrival; returns whether it is the first of its message.
    fn take(&mut self, sequence: u32) -> bool {
        let sequence_wide = u64::from(sequence);
        if self.bits.is_empty() {
            // The first arrival may have been overtaken by at most half the window.
            self.base = (sequence_wide & !63).saturating_sub(WORDS * 32);
        }
        let Some(place) = sequence_wide.checked_sub(self.base) else { return false };
        let mut word = place / 64;
        if word >= WORDS {
            let slid = word + 1 - WORDS;
            let gone = usize::try_from(slid).unwrap_or(usize::MAX).min(self.bits.len());
            self.bits.drain(..gone);
            self.base += slid * 64;
            word = WORDS - 1;
        }
        let word = usize::try_from(word).expect("the window is small");
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        let bit = 1 << (place % 64);
        if self.bits[word] & bit != 0 {
            return false;
        }
        self.bits[word] |= bit;
        self.count += 1;
        self.out_of_order += u64::from(self.highest.is_some_and(|highest| sequence < highest));
        self.highest = self.highest.max(Some(sequence));
        true
    }

    /// Number of these messages that have not arrived in `there`, as far back as both reach.
    fn missing_from(&self, there: &Self) -> u64 {
        let from = self.base.max(there.base);
        let words = self.bits.iter().enumerate().map(|(place, bits)| (place as u64, *bits));
        let mut missing = 0;
        for (place, bits) in words {
            let Some(word) = (self.base + 64 * place).checked_sub(from).map(|gone| gone / 64)
            else {
                continue;
            };
            let theirs = (from - there.base) / 64 + word;
            let arrived = usize::try_from(theirs).ok().and_then(|place| there.bits.get(place));
            missing += u64::from((bits & !arrived.copied().unwrap_or(0)).count_ones());
        }
        missing
    }
}

#[cfg(test)]
mod tests;
