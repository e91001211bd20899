//! The latest intervals one by one: what was told of each, to step back through.
//!
//! Bounded: so many intervals, and of them all so many records of hosts and connections, the oldest
//! interval going first. A record takes 3 to 14 kB, so that all of them take about 20 MB.

use super::model::Model;
use crate::stream::{Head, Record};
use std::collections::VecDeque;
use std::sync::Arc;

/// Intervals kept.
pub(super) const INTERVALS: usize = 120;
/// Records of their hosts and connections kept.
const RECORDS: usize = 2_000;

/// What was told of the latest intervals that are over.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Of each the interval itself, then who took part. The last may not be whole yet.
    intervals: VecDeque<Vec<Arc<Record>>>,
    records: usize,
}

impl History {
    /// Begins an interval with the record of itself.
    pub(super) fn begin(&mut self, interval: Record) {
        if self.intervals.len() == INTERVALS {
            self.forget();
        }
        self.intervals.push_back(vec![Arc::new(interval)]);
    }

    /// Adds who took part in the interval that was begun last.
    pub(super) fn add(&mut self, record: Record) {
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

    /// How many intervals are kept.
    pub(super) fn intervals(&self) -> usize {
        self.intervals.len()
    }

    /// An interval by itself, the oldest that is kept having the place 0.
    pub(super) fn model(&self, head: &Head, place: usize) -> Option<Model> {
        let records = self.intervals.get(place)?;
        let mut model = Model::new(head.clone());
        records.iter().for_each(|record| model.take(Record::clone(record)));
        Some(model)
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::fed;
    use super::*;

    #[test]
    fn the_oldest_intervals_go_when_there_are_too_many_or_too_much_was_told_of_them() {
        let model = fed(&[("tpdus", 1)], &[], None, 1);
        let interval = Record::Interval(model.latest.clone().unwrap());
        let mut history = History::default();
        for _ in 0..INTERVALS + 7 {
            history.begin(interval.clone());
            history.add(interval.clone());
        }
        assert_eq!((history.intervals(), history.records), (INTERVALS, INTERVALS));
        // 1,881 more make 2,001 records: one too many, so that the oldest interval goes with its one.
        (0..RECORDS - INTERVALS + 1).for_each(|_| history.add(interval.clone()));
        assert_eq!((history.intervals(), history.records), (INTERVALS - 1, RECORDS));
        // An interval is never cut.
        (0..RECORDS).for_each(|_| history.add(interval.clone()));
        assert_eq!(history.intervals(), 1);
        assert!(history.model(&model.head, 1).is_none());
    }
}
