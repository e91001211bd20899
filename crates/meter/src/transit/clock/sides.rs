//! Assignment of hosts to taps.

use super::Reading;
use core::hash::BuildHasher;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::collections::BTreeMap;

/// Limit of pairs of hosts whose traffic decides their sides.
const PAIRS: usize = 1 << 16;

/// Two hosts with traffic between them.
#[derive(Clone, Copy, Debug)]
struct HostPair {
    /// Hosts, the lower number first.
    ends: [u32; 2],
    /// Latest reading from the first, and from the second.
    latest: [Option<i64>; 2],
    /// Above zero if the first host is at the near tap.
    vote: i64,
}

/// Effect of new evidence on earlier assignments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Placed {
    /// They are right, as far as known.
    Right,
    /// All are reversed.
    Wrong,
    /// The sides are unknown for all of them.
    Untold,
}

/// Assignment of hosts to taps.
#[derive(Clone, Debug, Default)]
pub(super) struct Sides {
    /// True if a host is at the far tap. An assigned host keeps its side.
    is_far: BTreeMap<u32, bool>,
    /// Hosts of the guess while no reply was seen: sender and receiver of the first TPDU.
    guess: Option<[u32; 2]>,
    /// For lookups only, never iterated, so its order cannot show.
    index: HashTable<usize>,
    between: Vec<HostPair>,
}

impl Sides {
    /// Learns from readings in the order of the near clock; returns the effect on earlier
    /// assignments.
    ///
    /// Two hosts with TPDUs in both directions reveal their sides: of consecutive TPDUs, the one
    /// that passes the near tap first has the greater reading, independent of the clocks in the
    /// long run.
    pub(super) fn learn(&mut self, readings: &[Reading]) -> Placed {
        for reading in readings {
            self.vote(reading);
        }
        let mut votes: Vec<_> = self.between.iter().map(|of| (of.ends, of.vote)).collect();
        votes.sort_unstable();
        for ([a, b], vote) in votes {
            if vote != 0 {
                self.is_far.entry(a).or_insert(vote < 0);
                self.is_far.entry(b).or_insert(vote > 0);
            }
        }
        if self.is_far.is_empty() {
            self.guess = self.guess.or(readings.first().map(|reading| reading.ends));
            return Placed::Right;
        }
        // A guess has no other assignments.
        match self.guess.take().map(|ends| self.known(ends)) {
            None | Some(Some(false)) => Placed::Right,
            Some(Some(true)) => Placed::Wrong,
            Some(None) => Placed::Untold,
        }
    }

    fn vote(&mut self, reading: &Reading) {
        let Reading { ends: [from, to], difference_ns, .. } = *reading;
        let (ends, way) = if from <= to { ([from, to], 0) } else { ([to, from], 1) };
        let state = FixedState::with_seed(0);
        let hash = state.hash_one(ends);
        let between = &self.between;
        let is_it = |place: &usize| between.get(*place).is_some_and(|of| of.ends == ends);
        let place = match self.index.find(hash, is_it) {
            Some(place) => *place,
            None if between.len() >= PAIRS => return,
            None => {
                let place = between.len();
                self.between.push(HostPair { ends, latest: [None; 2], vote: 0 });
                let between = &self.between;
                self.index.insert_unique(hash, place, |place| {
                    between.get(*place).map_or(0, |of| state.hash_one(of.ends))
                });
                place
            }
        };
        let of = &mut self.between[place];
        if let Some(other) = of.latest[1 - way] {
            let vote = (difference_ns - other).signum();
            of.vote += if way == 1 { -vote } else { vote };
        }
        of.latest[way] = Some(difference_ns);
    }

    /// True if TPDUs between these hosts pass the far tap first; none if that is unknown.
    pub(super) fn is_back(&self, ends: [u32; 2]) -> Option<bool> {
        self.known(ends).or((self.guess == Some(ends)).then_some(false))
    }

    fn known(&self, [from, to]: [u32; 2]) -> Option<bool> {
        let of_sender = self.is_far.get(&from).copied();
        of_sender.or(self.is_far.get(&to).map(|is_far| !is_far))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(ends: [u32; 2], difference_ns: i64) -> Reading {
        Reading { near_ns: 0, difference_ns, ends }
    }

    #[test]
    fn a_guess_holds_until_a_reply_contradicts_it() {
        let mut sides = Sides::default();
        assert_eq!(sides.learn(&[reading([7, 3], -100)]), Placed::Right);
        assert_eq!((sides.is_back([7, 3]), sides.is_back([3, 7])), (Some(false), None));
        assert_eq!(sides.learn(&[reading([7, 3], -100)]), Placed::Right, "one way still");
        // The reading from 3 is greater, so that 3 is near.
        assert_eq!(sides.learn(&[reading([3, 7], 100)]), Placed::Wrong);
        assert_eq!((sides.is_back([7, 3]), sides.is_back([3, 7])), (Some(true), Some(false)));
        assert_eq!(sides.learn(&[]), Placed::Right, "it is said once");
        let mut right = Sides::default();
        right.learn(&[reading([7, 3], 100)]);
        assert_eq!(right.learn(&[reading([3, 7], -100)]), Placed::Right);
        assert_eq!(right.is_back([7, 3]), Some(false));
        let mut others = Sides::default();
        others.learn(&[reading([7, 3], 100)]);
        assert_eq!(others.learn(&[reading([1, 2], 9), reading([2, 1], 8)]), Placed::Untold);
        assert_eq!((others.is_back([7, 3]), others.is_back([1, 2])), (None, Some(false)));
    }

    #[test]
    fn an_assigned_host_stays_and_memory_is_bounded() {
        let mut sides = Sides::default();
        sides.learn(&[reading([0, 1], 100), reading([1, 0], -100)]);
        let others = (1..100_000).flat_map(|n| [reading([0, n], -9), reading([n, 0], 9)]);
        sides.learn(&others.collect::<Vec<_>>());
        assert_eq!((sides.is_back([0, 1]), sides.between.len()), (Some(false), PAIRS));
        assert_eq!(sides.is_back([99_999, 0]), Some(true), "by whom it is sent to");
    }

    #[test]
    fn a_host_that_sends_to_itself_has_no_side() {
        let mut sides = Sides::default();
        sides.learn(&[reading([1, 2], 5), reading([2, 1], 0), reading([4, 4], 5)]);
        sides.learn(&[reading([4, 4], 9)]);
        assert_eq!((sides.is_back([4, 4]), sides.is_back([1, 2])), (None, Some(false)));
    }
}
