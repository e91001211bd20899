//! State of a connection according to the stream.

use crate::{ConnectionInterval, Counts, Identity, Place, sum, tpdus};
use meter::observation::DelayKind;
use meter::registry::Measure;
use std::collections::VecDeque;

/// Maximum number of trace points of each connection; the latest are kept.
const TRACE: usize = 512;

/// Sequence numbers of both sides at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stand {
    /// Time of the report or sample.
    pub at_ns: u64,
    /// Sequence numbers of both sides.
    pub sides: [Side; 2],
}

/// Sequence numbers of a side at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Side {
    /// One past the highest DT seen.
    pub sent: Option<u64>,
    /// DT that the peer expects next.
    pub acknowledged: Option<u64>,
    /// One past the last DT that the peer's credit allows.
    pub allowed: Option<u64>,
    /// True if the peer gives no credit.
    pub is_closed: bool,
}

/// A connection.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Ends, state and times, once reported.
    pub identity: Option<Identity>,
    /// Counts of each side in complete intervals.
    done: [Counts; 2],
    /// Counts of each side in the current interval.
    under_way: Option<[Counts; 2]>,
    /// Counts of each side from the first TPDU to the last, once reported.
    whole: Option<[Counts; 2]>,
    /// For each side, the time since which it has had no credit, according to the latest report.
    closed_since: [Option<u64>; 2],
    /// The latest numbers, oldest first.
    pub trace: VecDeque<Stand>,
    /// Eviction key: true if something seems wrong with the connection, then its number of TPDUs.
    weight: (bool, u64),
}

/// Returns the time since which a side has had no credit.
fn since(sent: &Counts) -> Option<u64> {
    sent.get(Measure::WindowClosedSince)
}

impl Known {
    /// Begins another report: the counts of the current interval are replaced or complete.
    pub fn begin(&mut self) {
        self.under_way = None;
    }

    /// Applies an interval.
    pub fn take(&mut self, told: &ConnectionInterval, is_complete: bool) {
        self.identity = Some(told.connection.clone());
        self.closed_since = told.directions.each_ref().map(since);
        if is_complete {
            for (done, more) in self.done.iter_mut().zip(&told.directions) {
                done.add(more);
            }
        } else {
            self.under_way = Some(told.directions.clone());
        }
        self.weigh();
    }

    /// Applies the final record of the connection, from its first TPDU to its last.
    pub fn conclude(&mut self, identity: Identity, mut directions: [Counts; 2]) {
        directions.iter_mut().for_each(Counts::shrink);
        self.identity = Some(identity);
        self.closed_since = directions.each_ref().map(since);
        self.whole = Some(directions);
        self.weigh();
    }

    fn weigh(&mut self) {
        let parts;
        let directions = match &self.whole {
            // Only the total time of closed windows differs from it.
            Some(whole) => whole,
            None => {
                parts = self.directions();
                &parts
            }
        };
        let both = |name| sum(directions.iter().map(|sent| sent.count(name)));
        let outcome = self.identity.as_ref().map_or("", Identity::outcome);
        let is_wrong = ["refused", "abrupt", "erroneous"].contains(&outcome)
            || both(Measure::DtRetransmissions) > 0
            || both(DelayKind::ClosedWindow.count()) > 0;
        self.weight = (is_wrong, sum(directions.iter().map(tpdus)));
    }

    /// Returns true if something seems wrong with the connection, and its number of TPDUs.
    pub const fn weight(&self) -> (bool, u64) {
        self.weight
    }

    /// Returns the total counts of each side. A window that was closed to the end of the last
    /// interval counts until then, even if the connection was silent.
    pub fn directions(&self) -> [Counts; 2] {
        let mut sum = self.done.clone();
        for (sum, more) in sum.iter_mut().zip(self.under_way.iter().flatten()) {
            sum.add(more);
        }
        let Some(whole) = &self.whole else { return sum };
        let mut whole = whole.clone();
        for (whole, told) in whole.iter_mut().zip(&sum) {
            let closed = told.count(DelayKind::ClosedWindow.total());
            let of_whole =
                |(known, _): &&mut (Measure, u64)| *known == DelayKind::ClosedWindow.total();
            if let Some((_, value)) = whole.0.iter_mut().find(of_whole) {
                *value = (*value).max(closed);
            }
        }
        whole
    }

    /// Returns the TPDUs in both directions.
    pub const fn tpdus(&self) -> u64 {
        self.weight.1
    }

    /// Sums a measure over both sides.
    pub fn both(&self, measure: Measure) -> u64 {
        // Only the total time of closed windows may differ from that of the whole.
        let has_parts = self.under_way.is_some() || !self.done.iter().all(Counts::is_empty);
        match &self.whole {
            Some(whole) if !has_parts || measure != DelayKind::ClosedWindow.total() => {
                sum(whole.iter().map(|sent| sent.count(measure)))
            }
            _ => sum(self.directions().iter().map(|sent| sent.count(measure))),
        }
    }

    /// Returns the lifetime as far as it is reported, at least as long as a window was closed.
    pub fn lived_ns(&self) -> u64 {
        let lived = |of: &Identity| of.until_ns.unwrap_or(of.last_ns).saturating_sub(of.start_ns());
        self.identity.as_ref().map_or(0, lived).max(self.both(DelayKind::ClosedWindow.total()))
    }

    /// Returns for each side the time since which it has had no credit, according to the latest
    /// report.
    pub const fn closed_since(&self) -> [Option<u64>; 2] {
        self.closed_since
    }

    /// Applies a sample.
    pub fn sample(&mut self, at_ns: u64, place: &Place) {
        let sides = [0, 1].map(|side: usize| Side {
            sent: place.sent[side],
            acknowledged: place.acknowledged[side],
            allowed: place.allowed[side],
            is_closed: place.window_closed[side],
        });
        self.push(Stand { at_ns, sides });
    }

    /// Adds a trace point from a report, where there are no samples.
    pub fn place(&mut self, at_ns: u64) {
        let directions = self.directions();
        let sides = directions.each_ref().map(|sent| Side {
            sent: sent.get(Measure::SentNumber),
            acknowledged: sent.get(Measure::AcknowledgedNumber),
            allowed: sent.get(Measure::AllowedNumber),
            is_closed: sent.get(Measure::WindowClosedSince).is_some(),
        });
        self.push(Stand { at_ns, sides });
    }

    fn push(&mut self, stand: Stand) {
        if self.trace.len() == TRACE {
            self.trace.pop_front();
        }
        self.trace.push_back(stand);
    }
}
