//! The latest intervals with their hosts and connections, to step back through.
//!
//! Bounded in intervals and in records of hosts and connections; the oldest interval is evicted
//! first. A record takes 3 to 14 kB, all of them together about 20 MB.

use crate::{Record, Services};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of intervals.
pub const INTERVALS: usize = 120;
/// Maximum number of records of hosts and connections.
const RECORDS: usize = 2_000;

/// Records of the latest complete intervals.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// For each, the interval itself, then its hosts and connections. The last may be incomplete.
    intervals: VecDeque<Vec<Arc<Record>>>,
    records: usize,
}

impl History {
    /// Begins an interval with its own record.
    pub fn begin(&mut self, interval: Record) {
        if self.intervals.len() == INTERVALS {
            self.forget();
        }
        self.intervals.push_back(vec![Arc::new(interval)]);
    }

    /// Adds services to the interval begun last. They replace those that the same connection added just before.
    pub fn add_services(&mut self, services: Services) {
        let id = services.id;
        let record = Record::Services(Box::new(services));
        let last = self.intervals.back_mut().and_then(|last| last.last_mut());
        match last {
            Some(last) if matches!(&**last, Record::Services(of) if of.id == id) => {
                *last = Arc::new(record);
            }
            _ => self.add(record),
        }
    }

    /// Adds a host or connection to the interval begun last.
    pub fn add(&mut self, record: Record) {
        let Some(last) = self.intervals.back_mut() else { return };
        last.push(Arc::new(record));
        self.records += 1;
        while self.records > RECORDS && self.intervals.len() > 1 {
            self.forget();
        }
    }

    fn forget(&mut self) {
        let gone = self.intervals.pop_front();
        self.records -= gone.map_or(0, |gone| gone.len().saturating_sub(1));
    }

    /// Returns the number of intervals kept.
    pub fn intervals(&self) -> usize {
        self.intervals.len()
    }

    /// Records of one interval; place 0 is the oldest kept.
    pub fn interval(&self, place: usize) -> Option<&[Arc<Record>]> {
        self.intervals.get(place).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::fed;
    use super::*;

    #[test]
    fn too_many_intervals_or_records_evict_the_oldest_intervals() {
        let model = fed(&[("tpdus", 1)], &[], None, 1);
        let interval = Record::Interval(model.latest.clone().unwrap());
        let mut history = History::default();
        for _ in 0..INTERVALS + 7 {
            history.begin(interval.clone());
            history.add(interval.clone());
        }
        assert_eq!((history.intervals(), history.records), (INTERVALS, INTERVALS));
        // 1,881 more make 2,001 records, one too many: the oldest interval is evicted with its one
        // record.
        (0..RECORDS - INTERVALS + 1).for_each(|_| history.add(interval.clone()));
        assert_eq!((history.intervals(), history.records), (INTERVALS - 1, RECORDS));
        // An interval is never split.
        (0..RECORDS).for_each(|_| history.add(interval.clone()));
        assert_eq!(history.intervals(), 1);
        assert!(history.interval(1).is_none());
    }
}
