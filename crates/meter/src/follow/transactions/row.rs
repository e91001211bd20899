//! Counts and times of a function of a unit.

use super::report::{TransactionCounts, TransactionFigures, TransactionKey, TransactionReport};
use crate::measure::Distribution;
use core::cell::OnceCell;
use wire::time::Instant;

/// Polls kept of a function: each is of one client and of the same data.
const MOST_POLLS: usize = 32;

/// Counts and times over some time.
#[derive(Clone, Debug, Default)]
struct Sums {
    counts: TransactionCounts,
    responses: Distribution,
    periods: Distribution,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.responses.add(&other.responses);
        self.periods.add(&other.periods);
    }

    fn figures(&self) -> TransactionFigures {
        let Self { counts, responses, periods } = self;
        let (responses, periods) = (responses.summary(), periods.summary());
        TransactionFigures { counts: *counts, responses, periods }
    }
}

/// Poll, by the hash of its client and its data.
#[derive(Clone, Copy, Debug)]
struct Poll {
    print: u64,
    last: Instant,
}

/// Function of a unit of a server.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: TransactionKey,
    first: Instant,
    last: Instant,
    pub(super) outstanding: u64,
    /// Before the interval in which it counted last.
    before: Sums,
    /// Start of that interval.
    latest: Instant,
    in_latest: Sums,
    polls: Vec<Poll>,
    /// Report, from when it is asked for until the function changes.
    reported: OnceCell<Box<TransactionReport>>,
}

impl Row {
    pub(super) fn new(key: TransactionKey, at: Instant) -> Self {
        let [before, in_latest] = [(); 2].map(|()| Sums::default());
        let (outstanding, polls, reported) = (0, Vec::new(), OnceCell::new());
        Self {
            key,
            first: at,
            last: at,
            outstanding,
            before,
            latest: at,
            in_latest,
            polls,
            reported,
        }
    }

    /// Forgets the report, because the function changes.
    pub(super) fn change(&mut self) {
        self.reported = OnceCell::new();
    }

    /// Notes the time of a PDU. What was held beyond gaps at the end comes stream by stream.
    pub(super) fn note(&mut self, at: Instant) {
        (self.first, self.last) = (self.first.min(at), self.last.max(at));
    }

    /// Sums of the interval that began at this time.
    fn sums(&mut self, interval: Instant) -> &mut Sums {
        if self.latest != interval {
            let over = core::mem::take(&mut self.in_latest);
            self.before.add(&over);
            self.latest = interval;
        }
        &mut self.in_latest
    }

    pub(super) fn counts(&mut self, interval: Instant) -> &mut TransactionCounts {
        &mut self.sums(interval).counts
    }

    pub(super) fn response(&mut self, interval: Instant, nanos: u64) {
        self.sums(interval).responses.record_nanos(nanos);
    }

    /// Counts a request of this client and for these data.
    pub(super) fn poll(&mut self, interval: Instant, at: Instant, print: u64) {
        if let Some(known) = self.polls.iter_mut().find(|known| known.print == print) {
            let period = at.nanos_since(known.last);
            known.last = at;
            return self.sums(interval).periods.record_nanos(period);
        }
        if self.polls.len() >= MOST_POLLS {
            let oldest = (0..MOST_POLLS).min_by_key(|place| self.polls[*place].last);
            oldest.map(|place| self.polls.swap_remove(place));
            self.counts(interval).polls_dropped += 1;
        }
        self.polls.push(Poll { print, last: at });
    }

    /// Counts and times so far.
    pub(super) fn report(&self) -> &TransactionReport {
        self.reported.get_or_init(|| Box::new(self.make_report()))
    }

    fn make_report(&self) -> TransactionReport {
        let mut all = self.before.clone();
        all.add(&self.in_latest);
        TransactionReport {
            key: self.key,
            first: self.first,
            last: self.last,
            outstanding: self.outstanding,
            all: all.figures(),
            latest: self.latest,
            in_latest: self.in_latest.figures(),
        }
    }
}
