//! Period of a stream or of a poller, and deviations from it.
//!
//! Definition: the period is the median of the first 64 gaps between frames that follow each other
//! by their numbers, or between the requests of a poller. Behind them, the deviation of such a gap is its difference from the period; late
//! and early ones are kept apart. A gap over missing frames has no deviation: it is a silence.
//! Bias: the clock of the tap measures the gaps, and the path to the tap is part of them.

use crate::measure::{Distribution, Summary};

/// Gaps from which the period is learnt.
const LEARNT_FROM: usize = 64;

/// Deviations of gaps from the period, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Deviations {
    /// Gaps longer than the period, by this much.
    pub late: Summary,
    /// Gaps shorter than the period, by this much.
    pub early: Summary,
}

/// Period in the making, then the deviations from it.
#[derive(Clone, Debug)]
pub(in crate::follow) enum Period {
    /// Gaps so far.
    Learning(Vec<u64>),
    /// Learnt period and deviations; without room for distributions only the period.
    Learnt { period_ns: u64, late_and_early: Option<Box<[Distribution; 2]>> },
}

impl Period {
    /// Begins to learn.
    pub(in crate::follow) const fn new() -> Self {
        Self::Learning(Vec::new())
    }

    /// Learnt period.
    pub(in crate::follow) const fn nominal_ns(&self) -> Option<u64> {
        match self {
            Self::Learning(_) => None,
            Self::Learnt { period_ns, .. } => Some(*period_ns),
        }
    }

    /// Adds a gap between frames that follow each other; `has_room` for distributions.
    pub(in crate::follow) fn add(&mut self, gap_ns: u64, has_room: bool) {
        match self {
            Self::Learning(gaps) => {
                gaps.push(gap_ns);
                if gaps.len() == LEARNT_FROM {
                    gaps.sort_unstable();
                    let period_ns = gaps.get(LEARNT_FROM / 2).copied().unwrap_or_default();
                    let late_and_early = has_room.then(Box::default);
                    *self = Self::Learnt { period_ns, late_and_early };
                }
            }
            Self::Learnt { period_ns, late_and_early: Some(both) } => {
                let [late, early] = &mut **both;
                match gap_ns.checked_sub(*period_ns) {
                    Some(more) => late.record_nanos(more),
                    None => early.record_nanos(*period_ns - gap_ns),
                }
            }
            Self::Learnt { late_and_early: None, .. } => {}
        }
    }

    /// Distributions of the late and the early deviations, if it has them.
    pub(in crate::follow) const fn distributions(&self) -> Option<&[Distribution; 2]> {
        match self {
            Self::Learnt { late_and_early: Some(both), .. } => Some(both),
            Self::Learnt { late_and_early: None, .. } | Self::Learning(_) => None,
        }
    }

    /// Deviations so far; none without room for them, or before the period is learnt.
    pub(in crate::follow) fn deviations(&self) -> Option<Deviations> {
        match self {
            Self::Learnt { late_and_early: Some(both), .. } => {
                let [late, early] = both.each_ref().map(Distribution::summary);
                Some(Deviations { late, early })
            }
            Self::Learnt { late_and_early: None, .. } | Self::Learning(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_begin_when_the_period_is_learnt() {
        let mut period = Period::new();
        (0..64).for_each(|n| period.add(250_000 + n % 3, true));
        assert_eq!(period.nominal_ns(), Some(250_001));
        assert_eq!(period.deviations(), Some(Deviations::default()));
        [250_001, 251_001, 249_901].into_iter().for_each(|gap| period.add(gap, true));
        let found = period.deviations().unwrap();
        assert_eq!([found.late.count, found.late.max_ns, found.early.max_ns], [2, 1_000, 100]);
    }
}
