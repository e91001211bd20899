//! Numbers of a stream that did not arrive, so that a late one is known.
//!
//! Numbers are kept as runs, by their place: the number of steps from the first number of the stream. A
//! stream without losses keeps none. Bias: if more than 32 runs are open, the oldest is dropped, and its
//! numbers stay missing even if they arrive.

use std::collections::VecDeque;

/// Maximum number of runs kept.
const RUNS: usize = 32;

/// Neighbouring numbers that are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    /// Place of the first.
    first: u64,
    /// Place behind the last.
    end: u64,
}

/// Missing numbers of a stream, the oldest first.
#[derive(Clone, Default, Debug)]
pub(super) struct Missing {
    runs: VecDeque<Run>,
}

impl Missing {
    /// Adds `count` numbers from a place behind all others.
    pub(super) fn add(&mut self, first: u64, count: u32) {
        if self.runs.len() == RUNS {
            self.runs.pop_front();
        }
        self.runs.push_back(Run { first, end: first + u64::from(count) });
    }

    /// Takes a number that arrived. Returns false if it is not among them.
    pub(super) fn take(&mut self, place: u64) -> bool {
        let index = self.runs.partition_point(|run| run.end <= place);
        let Some(run) = self.runs.get_mut(index).filter(|run| run.first <= place) else {
            return false;
        };
        let behind = Run { first: place + 1, end: run.end };
        run.end = place;
        let is_behind = behind.first < behind.end;
        if run.first == run.end {
            if is_behind {
                *run = behind;
            } else {
                self.runs.remove(index);
            }
        } else if is_behind {
            self.runs.insert(index + 1, behind);
            // Further than this, a stream in which runs are cut up would grow without bound.
            if self.runs.len() > RUNS {
                self.runs.pop_front();
            }
        }
        true
    }

    /// Drops all numbers: the publisher counts anew.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use std::collections::BTreeSet;

    #[test]
    fn a_number_is_taken_once_from_any_end_of_a_run() {
        let mut missing = Missing::default();
        missing.add(10, 5);
        missing.add(20, 1);
        let taken = [9, 10, 10, 14, 12, 12, 15, 20, 20, 11, 13, 21].map(|at| missing.take(at));
        let expected = [0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0].map(|it| it == 1);
        assert_eq!(taken, expected);
        assert!(missing.runs.is_empty());
    }

    #[test]
    fn random_numbers_are_those_of_a_set_while_runs_are_few() {
        let mut draw = Draw(2_026);
        for _ in 0..200 {
            let (mut missing, mut set, mut place) = (Missing::default(), BTreeSet::new(), 0_u64);
            for _ in 0..RUNS {
                place += u64::from(1 + draw.below(3));
                let count = u64::from(1 + draw.below(2));
                missing.add(place, count as u32);
                set.extend(place..place + count);
                place += count;
                for _ in 0..2 {
                    let at = u64::from(draw.below(place + 2));
                    assert_eq!(missing.take(at), set.remove(&at), "{at}");
                }
            }
        }
    }

    #[test]
    fn memory_is_bounded_and_the_newest_runs_stay() {
        let mut missing = Missing::default();
        (0..1_000).for_each(|n| missing.add(n * 10, 3));
        assert_eq!(missing.runs.len(), RUNS);
        let oldest = (1_000 - RUNS as u64) * 10;
        assert!(!missing.take(oldest - 10) && missing.take(oldest) && missing.take(9_991));
        // A run that is cut in two displaces the oldest.
        assert_eq!(missing.runs.len(), RUNS);
        assert!(!missing.take(oldest + 1) && missing.take(9_990) && missing.take(9_992));
    }
}
