//! Selective acknowledgement (1995 edition): an AK names the DTs that arrived beyond a gap.
//!
//! The receiver keeps runs of such DTs and states them as blocks. The sender marks the DTs in them.
//! Each transmission has a serial number. A DT before the end of the last block that is not marked is
//! missing if one of the transmissions that began [`REORDERED`] later or more is known to have arrived.
//! That holds for copies too, so several losses are repaired in one round trip, and the loss of a copy in
//! the next one. A DT that is released counts as arrived by its latest transmission, even if an earlier
//! one arrived late: then a DT may be sent again that was not lost.
//!
//! An AK has room for some blocks, so nothing is known of the DTs behind them. A receiver may drop a DT
//! that it named, if it reduces its credit. So marks end when T1 expires.

use arrayvec::ArrayVec;
use std::collections::VecDeque;

/// Transmissions by which one may overtake another without a loss.
const REORDERED: u64 = 3;
/// Blocks in an AK: as many as its header holds in both formats.
pub(super) const MOST_BLOCKS: usize = 16;
/// Octets of that many blocks.
const BLOCKS_OCTETS: usize = MOST_BLOCKS * 8;

/// Blocks as octets.
pub(super) type Blocks = ArrayVec<u8, BLOCKS_OCTETS>;

/// Outstanding DT.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Serial number of its latest transmission.
    transmission: u64,
    has_arrived: bool,
}

/// Marks of the outstanding DTs, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    marks: VecDeque<Mark>,
    /// Serial number of the next transmission.
    next: u64,
    /// One more than the latest transmission known to have arrived.
    arrived: u64,
    /// Place from which on nothing is known: the end of the last block.
    known: usize,
}

impl Marks {
    /// Records the first transmission of the next DT.
    pub(super) fn sent(&mut self) {
        self.marks.push_back(Mark { transmission: self.next, has_arrived: false });
        self.next += 1;
    }

    /// Records another transmission of the DT at `place`.
    pub(super) fn sent_again(&mut self, place: usize) {
        if let Some(mark) = self.marks.get_mut(place) {
            mark.transmission = self.next;
            self.next += 1;
        }
    }

    /// Releases the oldest DTs, which have arrived.
    pub(super) fn release(&mut self, count: usize) {
        for mark in self.marks.drain(..count.min(self.marks.len())) {
            self.arrived = self.arrived.max(mark.transmission + 1);
        }
        self.known = self.known.saturating_sub(count);
    }

    /// Marks the DTs in blocks of places, which ascend; returns at the first block that does not, or that
    /// has a DT never sent. So an AK costs no more than the window is long.
    pub(super) fn mark(&mut self, blocks: impl Iterator<Item = [usize; 2]>) {
        let mut from = 0;
        for [lower, upper] in blocks {
            if lower < from || upper <= lower || upper > self.marks.len() {
                return;
            }
            for mark in self.marks.range_mut(lower..upper).filter(|mark| !mark.has_arrived) {
                mark.has_arrived = true;
                self.arrived = self.arrived.max(mark.transmission + 1);
            }
            (from, self.known) = (upper, upper);
        }
    }

    /// Forgets the marks, because T1 expired. When the DT that is sent next arrives, all others that were
    /// sent so far are missing.
    pub(super) fn forget(&mut self) {
        self.marks.iter_mut().for_each(|mark| mark.has_arrived = false);
        self.next += REORDERED;
        self.known = self.marks.len();
    }

    /// Place of the first DT at `from` or beyond that is missing.
    pub(super) fn missing(&self, from: usize) -> Option<usize> {
        let is_missing =
            |mark: &Mark| !mark.has_arrived && mark.transmission + REORDERED < self.arrived;
        let known = self.known.min(self.marks.len());
        let place = self.marks.range(from.min(known)..known).position(is_missing)?;
        Some(from + place)
    }

    /// Releases memory; no DT is outstanding.
    pub(super) fn rest(&mut self) {
        self.marks = VecDeque::new();
    }
}

/// Runs of DTs that arrived beyond a gap: the unwrapped number of the first, and that after the last.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs(VecDeque<[u64; 2]>);

impl Runs {
    pub(super) const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Adds a DT that is in none. Returns true if it follows the last run, which is long enough to
    /// show the sender the losses before it.
    pub(super) fn add(&mut self, number: u64) -> bool {
        if let Some([lower, upper]) = self.0.back_mut()
            && *upper == number
        {
            *upper += 1;
            return number - *lower >= REORDERED;
        }
        self.insert(number);
        false
    }

    fn insert(&mut self, number: u64) {
        let place = self.0.partition_point(|[_, upper]| *upper < number);
        let joins = |run: Option<&[u64; 2]>, edge: usize, at: u64| {
            run.is_some_and(|run| run.get(edge) == Some(&at))
        };
        let joins_lower = joins(self.0.get(place), 1, number);
        let next = place + usize::from(joins_lower);
        let joins_upper = joins(self.0.get(next), 0, number + 1);
        match (joins_lower, joins_upper) {
            (false, false) => self.0.insert(place, [number, number + 1]),
            (false, true) => self.0[next][0] = number,
            (true, false) => self.0[place][1] = number + 1,
            (true, true) => {
                let upper = self.0.remove(next).map_or(number + 1, |[_, upper]| upper);
                self.0[place][1] = upper;
            }
        }
    }

    /// Removes the DTs before `edge`, which were delivered.
    pub(super) fn release(&mut self, edge: u64) {
        while let Some([lower, upper]) = self.0.front_mut()
            && *lower < edge
        {
            *lower = edge.min(*upper);
            if lower == upper {
                self.0.pop_front();
            }
        }
    }

    /// Removes the DTs from `edge` on, which were dropped.
    pub(super) fn drop_from(&mut self, edge: u64) {
        while let Some([lower, upper]) = self.0.back_mut()
            && *upper > edge
        {
            *upper = edge.max(*lower);
            if lower == upper {
                self.0.pop_back();
            }
        }
    }

    /// The first runs, as many as an AK has room for.
    pub(super) fn first(&self) -> impl Iterator<Item = [u64; 2]> {
        self.0.iter().copied().take(MOST_BLOCKS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn all_missing(marks: &Marks) -> Vec<usize> {
        let mut all = Vec::new();
        while let Some(place) = marks.missing(all.last().map_or(0, |last| last + 1)) {
            all.push(place);
        }
        all
    }

    #[test]
    fn three_later_transmissions_show_a_loss_and_that_of_its_copy() {
        let mut marks = Marks::default();
        (0..10).for_each(|_| marks.sent());
        marks.mark([[1, 3]].into_iter());
        assert_eq!(all_missing(&marks), [0_usize; 0], "two later ones");
        marks.mark([[1, 3], [4, 7]].into_iter());
        assert_eq!(all_missing(&marks), [0, 3]);
        marks.sent_again(0);
        marks.sent_again(3);
        assert_eq!(all_missing(&marks), [0_usize; 0], "not twice for one loss");
        // Four new ones: the last of them shows that both copies were lost.
        (0..4).for_each(|_| marks.sent());
        marks.mark([[1, 3], [4, 14]].into_iter());
        assert_eq!(all_missing(&marks), [0, 3]);
        marks.release(10);
        assert_eq!(all_missing(&marks), [0_usize; 0]);
    }

    #[test]
    fn after_t1_the_arrival_of_one_shows_all_others_missing() {
        let mut marks = Marks::default();
        (0..4).for_each(|_| marks.sent());
        marks.mark([[2, 3]].into_iter());
        marks.forget();
        marks.sent_again(0);
        assert_eq!(all_missing(&marks), [0_usize; 0]);
        marks.release(1);
        assert_eq!(all_missing(&marks), [0, 1, 2]);
    }

    #[test]
    fn blocks_that_no_receiver_states_end_the_marking() {
        for bad in [[5, 5], [5, 4], [0, 2], [8, 11], [usize::MAX, usize::MAX]] {
            let mut marks = Marks::default();
            (0..10).for_each(|_| marks.sent());
            marks.mark([[1, 3], bad, [8, 9]].into_iter());
            let arrived = marks.marks.iter().filter(|mark| mark.has_arrived).count();
            assert_eq!(arrived, 2, "{bad:?}");
        }
    }

    #[test]
    fn runs_hold_what_a_set_holds() {
        const SEED: u64 = 0x8F;
        println!("seed {SEED:#x}");
        let mut draw = stats::rng::Stream::named(SEED, "runs");
        let (mut runs, mut set) = (Runs::new(), BTreeSet::new());
        let mut first = 0;
        for _ in 0..20_000 {
            match draw.below(20) {
                0 => {
                    first += draw.below(8);
                    runs.release(first);
                    set = set.split_off(&first);
                }
                1 => {
                    let edge = first + draw.below(40);
                    runs.drop_from(edge);
                    set.split_off(&edge);
                }
                _ => {
                    let number = first + draw.below(40);
                    if set.insert(number) {
                        runs.add(number);
                    }
                }
            }
            assert!(
                runs.0.iter().flat_map(|[lower, upper]| *lower..*upper).eq(set.iter().copied())
            );
            assert!(runs.0.iter().is_sorted_by(|one, other| one[1] < other[0]), "{runs:?}");
        }
    }
}
