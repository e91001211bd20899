//! Counts of values by class: three significant digits, in little memory while there are few
//! classes.
//!
//! The classes are those of `hdrhistogram` with three significant digits: exact below 2,048, then
//! 1,024 classes for each doubling. A flow with a message now and then has a short sorted list; a
//! busy one has an array of counters.

use hdrhistogram::Histogram;

/// Number of classes in a list; with more, counters take their place.
const MOST_LISTED: usize = 64;
/// Significant bits of a value.
const DIGITS: u32 = 11;

/// Class of values that count as equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Class {
    /// Smallest value.
    pub(crate) lowest: u64,
    /// Greatest value.
    pub(crate) highest: u64,
}

impl Class {
    /// Class of a value.
    pub(crate) const fn of(value: u64) -> Self {
        let shift = (u64::BITS - value.leading_zeros()).saturating_sub(DIGITS);
        let lowest = value >> shift << shift;
        Self { lowest, highest: lowest | ((1 << shift) - 1) }
    }
}

/// Counts by class.
#[derive(Clone, Debug)]
pub(crate) enum Counts {
    /// Smallest value and count of each class, in rising order.
    Listed(Vec<(u64, u64)>),
    /// A counter for each class, used or not.
    Counted(Box<Histogram<u64>>),
}

impl Counts {
    pub(crate) const fn new() -> Self {
        Self::Listed(Vec::new())
    }

    /// Counts a value `times` times.
    pub(crate) fn record(&mut self, value: u64, times: u64) {
        let listed = match self {
            Self::Counted(counters) => return add(counters, value, times),
            Self::Listed(listed) => listed,
        };
        let class = Class::of(value).lowest;
        match listed.binary_search_by_key(&class, |(class, _)| *class) {
            Ok(place) => listed[place].1 = listed[place].1.saturating_add(times),
            Err(place) if listed.len() < MOST_LISTED => listed.insert(place, (class, times)),
            Err(_) => {
                let mut counters = counters();
                listed.iter().for_each(|(class, times)| add(&mut counters, *class, *times));
                add(&mut counters, value, times);
                *self = Self::Counted(Box::new(counters));
            }
        }
    }

    /// Adds the counts of another.
    pub(crate) fn merge(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Counted(counters), Self::Counted(others)) => {
                counters.add(&**others).expect("the histogram resizes itself");
            }
            _ => other.for_each(|class, times| self.record(class, times)),
        }
    }

    /// Sum of the counts.
    pub(crate) fn total(&self) -> u64 {
        match self {
            Self::Listed(listed) => listed.iter().map(|(_, times)| times).sum(),
            Self::Counted(counters) => counters.len(),
        }
    }

    /// Sum of the counts of the classes up to that of a value.
    pub(crate) fn total_up_to(&self, value: u64) -> u64 {
        match self {
            Self::Listed(listed) => {
                let up_to = Class::of(value).lowest;
                let below = listed.iter().take_while(|(class, _)| *class <= up_to);
                below.map(|(_, times)| times).sum()
            }
            Self::Counted(counters) => counters.count_between(0, value).min(counters.len()),
        }
    }

    /// Smallest value and count of each class that has one, in rising order.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (listed, counters) = match self {
            Self::Listed(listed) => (listed.as_slice(), None),
            Self::Counted(counters) => (&[][..], Some(counters)),
        };
        let counted = counters.into_iter().flat_map(|counters| counters.iter_recorded());
        let counted =
            counted.map(|step| (Class::of(step.value_iterated_to()).lowest, step.count_at_value()));
        listed.iter().copied().chain(counted)
    }

    fn for_each(&self, visit: impl FnMut(u64, u64)) {
        let mut visit = visit;
        self.classes().for_each(|(class, times)| visit(class, times));
    }
}

fn counters() -> Histogram<u64> {
    Histogram::new(3).expect("hdrhistogram accepts three significant digits")
}

fn add(counters: &mut Histogram<u64>, value: u64, times: u64) {
    counters.record_n(value, times).expect("the histogram resizes itself up to the longest span");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around every power of two up to 2^46, the longest span.
    fn values() -> impl Iterator<Item = u64> {
        (0..46).flat_map(|bit| {
            let near = (1_u64 << bit).saturating_sub(3)..(1 << bit) + 3;
            near.chain([(1 << bit) * 3 / 2, (1 << bit) * 1_999 / 1_024])
        })
    }

    #[test]
    fn classes_are_those_of_hdrhistogram() {
        let mut counters = counters();
        counters.record(1 << 47).unwrap();
        for value in values() {
            let Class { lowest, highest } = Class::of(value);
            assert_eq!(lowest, counters.lowest_equivalent(value), "{value}");
            assert_eq!(highest, counters.highest_equivalent(value), "{value}");
        }
    }

    #[test]
    fn a_list_and_counters_hold_the_same_counts() {
        let mut listed = Counts::new();
        let mut counted = Counts::Counted(Box::new(counters()));
        for (place, value) in values().enumerate() {
            let times = place as u64 % 3 + 1;
            listed.record(value, times);
            counted.record(value, times);
            assert!(listed.classes().eq(counted.classes()), "{place} values");
            assert_eq!(listed.total(), counted.total());
            for limit in values().step_by(7) {
                assert_eq!(listed.total_up_to(limit), counted.total_up_to(limit), "{limit}");
            }
        }
        assert!(matches!(listed, Counts::Counted(_)), "more classes than fit a list");
    }

    #[test]
    fn each_form_merges_with_each() {
        let few = || {
            let mut few = Counts::new();
            (1..10).for_each(|value| few.record(value * 1_000, value));
            few
        };
        let many = || {
            let mut many = Counts::new();
            values().for_each(|value| many.record(value, 2));
            many
        };
        let mut expected = Counts::Counted(Box::new(counters()));
        few().for_each(|class, times| expected.record(class, times));
        many().for_each(|class, times| expected.record(class, times));
        for (mut into, from) in [(few(), many()), (many(), few())] {
            into.merge(&from);
            assert!(into.classes().eq(expected.classes()));
        }
    }
}
