//! Shards of a study: the runs that each of several machines makes.
//!
//! Runs differ in cost by point, and points follow each other in the order of their keys. So the runs are shuffled by the
//! seed of the study before they are dealt out: no shard gets all runs of one value.

use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};
use stats::rng::Stream;

/// One of several parts of the runs of a study, whose sizes differ by at most one run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// Part `number`, from 1, of `of`; `None` if there is no such part.
    #[must_use]
    pub const fn new(number: u64, of: u64) -> Option<Self> {
        if number == 0 || number > of { None } else { Some(Self { number, of }) }
    }

    /// Number of the part, from 1.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.number
    }

    /// Number of parts.
    #[must_use]
    pub const fn of(self) -> u64 {
        self.of
    }

    /// The runs of this shard, in the order of all runs.
    #[must_use]
    pub fn runs(self, all: &[(usize, u64)], seed: u64) -> Vec<(usize, u64)> {
        let shards = numbers(all.len(), self.of, seed);
        let here = all.iter().zip(shards).filter(|(_, number)| *number == self.number);
        here.map(|(run, _)| *run).collect()
    }
}

/// Number of the shard that makes each of `runs` runs, dealt out to `of` shards.
#[must_use]
pub fn numbers(runs: usize, of: u64, seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (1..=of).cycle().take(runs).collect();
    Stream::named(seed, "shards").shuffle(&mut numbers);
    numbers
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

/// Text that names no shard.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is no shard; the third of forty is 3/40")]
pub struct NoShard(String);

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let shard = numbers.and_then(|(number, of)| Self::new(number, of));
        shard.ok_or_else(|| NoShard(text.to_owned()))
    }
}

impl TryFrom<String> for Shard {
    type Error = NoShard;

    fn try_from(text: String) -> Result<Self, NoShard> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn runs() -> Vec<(usize, u64)> {
        (0..40).flat_map(|point| (0..3).map(move |replication| (point, replication))).collect()
    }

    #[test]
    fn shards_have_every_run_once_in_its_order() {
        for of in [1, 3, 8, 40, 120, 500] {
            let all = runs();
            let shards = (1..=of).map(|number| Shard::new(number, of).unwrap().runs(&all, 7));
            let mut dealt = Vec::new();
            for shard in shards {
                assert!(shard.is_sorted());
                // 120 runs: as many as the quotient, or one more.
                let least = 120 / usize::try_from(of).unwrap();
                assert!((least..=least + 1).contains(&shard.len()), "{of}: {}", shard.len());
                dealt.extend(shard);
            }
            dealt.sort_unstable();
            assert_eq!(dealt, all, "{of}");
        }
    }

    #[test]
    fn a_shard_has_runs_of_many_points() {
        // In order, the third of three would have the last repetition of each point, and the first of eight
        // every eighth point.
        let shard = Shard::new(3, 3).unwrap().runs(&runs(), 7);
        let repetitions: BTreeSet<u64> =
            shard.iter().map(|(_, replication)| *replication).collect();
        assert_eq!(repetitions.len(), 3);
        let shard = Shard::new(1, 8).unwrap().runs(&runs(), 7);
        let places: BTreeSet<usize> = shard.iter().map(|(point, _)| point % 8).collect();
        assert!(places.len() > 4, "{places:?}");
    }

    #[test]
    fn text_without_two_numbers_in_order_names_no_shard() {
        assert_eq!("3/40".parse(), Ok(Shard { number: 3, of: 40 }));
        for text in ["", "3", "/", "0/3", "4/3", "-1/3", "1/0", "a/b", "1/2/3", " 1/2"] {
            assert_eq!(text.parse::<Shard>(), Err(NoShard(text.to_owned())), "{text}");
        }
    }
}
