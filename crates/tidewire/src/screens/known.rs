//! A connection as the stream has told of it.

use super::sum;
use crate::stream::{self, ConnectionInterval, Identity, Named, Place, tpdus};
use std::collections::VecDeque;

/// Places kept of each connection: the latest.
const TRACE: usize = 512;

/// Where the numbers of both sides stood at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stand {
    pub(super) at_ns: u64,
    pub(super) sides: [Side; 2],
}

/// Where the numbers of a side stood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Side {
    /// One past the highest DT seen.
    pub(super) sent: Option<u64>,
    /// The DT that the peer expects next.
    pub(super) acknowledged: Option<u64>,
    /// One past the last that its credit allows.
    pub(super) allowed: Option<u64>,
    /// Whether the peer gives no credit.
    pub(super) is_closed: bool,
}

/// A connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) identity: Option<Identity>,
    /// What each side sent in intervals that are over.
    done: [Named<u64>; 2],
    /// And in the one under way.
    under_way: Option<[Named<u64>; 2]>,
    /// From its first TPDU to its last, once that is told.
    whole: Option<[Named<u64>; 2]>,
    /// Since when each side was given no credit, as was told last.
    closed_since: [Option<u64>; 2],
    pub(super) trace: VecDeque<Stand>,
    /// Whether something seems wrong with it, and its TPDUs: what decides who goes first.
    weight: (bool, u64),
}

/// Since when a side is given no credit.
fn since(sent: &Named<u64>) -> Option<u64> {
    sent.get("window_closed_since_ns")
}

impl Known {
    /// Begins another report: what was under way is told anew, or is over.
    pub(super) fn begin(&mut self) {
        self.under_way = None;
    }

    /// Takes an interval in.
    pub(super) fn take(&mut self, told: &ConnectionInterval, is_complete: bool) {
        self.identity = Some(told.connection.clone());
        self.closed_since = told.directions.each_ref().map(since);
        if is_complete {
            for (done, more) in self.done.iter_mut().zip(&told.directions) {
                sum::add(done, more);
            }
        } else {
            self.under_way = Some(told.directions.clone());
        }
        self.weigh();
    }

    /// Takes in what it was from its first TPDU to its last.
    pub(super) fn conclude(&mut self, identity: Identity, directions: [Named<u64>; 2]) {
        self.identity = Some(identity);
        self.closed_since = directions.each_ref().map(since);
        self.whole = Some(directions);
        self.weigh();
    }

    fn weigh(&mut self) {
        let directions = self.directions();
        let both = |name| stream::sum(directions.iter().map(|sent| sent.count(name)));
        let outcome = self.identity.as_ref().map_or("", Identity::outcome);
        let is_wrong = ["refused", "abrupt", "erroneous"].contains(&outcome)
            || both("dt_retransmissions") > 0
            || both("closed_windows") > 0;
        self.weight = (is_wrong, stream::sum(directions.iter().map(tpdus)));
    }

    /// Whether something seems wrong with it, and its TPDUs.
    pub(super) const fn weight(&self) -> (bool, u64) {
        self.weight
    }

    /// What each side sent, all together. A window that was closed to the end of the last interval
    /// counts until then, though the connection was silent.
    pub(super) fn directions(&self) -> [Named<u64>; 2] {
        let mut sum = self.done.clone();
        for (sum, more) in sum.iter_mut().zip(self.under_way.iter().flatten()) {
            sum::add(sum, more);
        }
        let Some(whole) = &self.whole else { return sum };
        let mut whole = whole.clone();
        for (whole, told) in whole.iter_mut().zip(&sum) {
            let closed = told.count("closed_window_ns");
            let name = "closed_window_ns";
            let found = whole.0.iter_mut().find(|(known, _)| known == name);
            if let Some((_, value)) = found {
                *value = (*value).max(closed);
            }
        }
        whole
    }

    /// TPDUs both ways.
    pub(super) const fn tpdus(&self) -> u64 {
        self.weight.1
    }

    /// What both sides have together.
    pub(super) fn both(&self, name: &str) -> u64 {
        stream::sum(self.directions().iter().map(|direction| direction.count(name)))
    }

    /// How long it has lived, as far as was told, and no less than its windows were closed.
    pub(super) fn lived_ns(&self) -> u64 {
        let lived = |of: &Identity| of.until_ns.unwrap_or(of.last_ns).saturating_sub(of.start_ns());
        self.identity.as_ref().map_or(0, lived).max(self.both("closed_window_ns"))
    }

    /// Since when each side has been given no credit, as was told last.
    pub(super) const fn closed_since(&self) -> [Option<u64>; 2] {
        self.closed_since
    }

    /// Takes a sample in.
    pub(super) fn sample(&mut self, at_ns: u64, place: &Place) {
        let sides = [0, 1].map(|side: usize| Side {
            sent: place.sent[side],
            acknowledged: place.acknowledged[side],
            allowed: place.allowed[side],
            is_closed: place.window_closed[side],
        });
        self.push(Stand { at_ns, sides });
    }

    /// Notes where it stands, where no samples tell.
    pub(super) fn place(&mut self, at_ns: u64) {
        let directions = self.directions();
        let sides = directions.each_ref().map(|sent| Side {
            sent: sent.get("sent_number"),
            acknowledged: sent.get("acknowledged_number"),
            allowed: sent.get("allowed_number"),
            is_closed: sent.get("window_closed_since_ns").is_some(),
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
