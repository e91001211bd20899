//! Course of a measurement that is under way.

use stack::load::{Event, Record};
use stats::histogram::Histogram;

/// Counts and times of a measurement so far, warm-up included.
#[derive(Debug, Default)]
pub struct SoFar {
    /// Messages handed over.
    pub sent: u64,
    /// Times from the due time of a request to its reply; empty where nothing is answered.
    pub responses: Histogram,
}

impl SoFar {
    /// Takes a record of this side's load.
    pub(super) fn take(&mut self, record: &Record) {
        match record.event {
            Event::Sent { .. } => self.sent += 1,
            Event::Answered { planned, .. } => self.responses.record(record.at.since(planned)),
            Event::Opened { .. }
            | Event::Unresolved { .. }
            | Event::NotTaken { .. }
            | Event::NotOffered { .. }
            | Event::Delivered { .. }
            | Event::Acknowledged { .. }
            | Event::Failed { .. }
            | Event::Damaged { .. }
            | Event::Ended { .. }
            | Event::Done => {}
        }
    }
}
