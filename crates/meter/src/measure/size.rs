//! TPDUs and TSDUs by size, and retransmissions of DTs of each size.
//!
//! Definition: ten classes, each up to and including its bound; the last has none. TPDUs count by
//! all their octets, DTs by those of their data field, TSDUs by those of their data. The ratio of
//! retransmissions in a class shows losses that depend on size, which R_RD hides if most DTs are
//! small. Bias: as R_RD, class by class.

use super::{BatchKind, Sums};
use crate::observation::Tpdu;
use wire::tp::Kind;

/// Default upper bounds of the classes but the last, in octets.
pub const BOUNDS_OCTETS: [u64; 9] = [16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];

/// Bound beyond every size, for classes that are not used.
pub const NO_BOUND_OCTETS: u64 = u64::MAX >> 1;

counters! {
    /// Counts in one class of sizes.
    pub struct SizeClass {
        /// TPDUs of this size.
        pub tpdus,
        /// DTs with data of this size.
        pub dt_tpdus,
        /// Retransmissions among those DTs.
        pub dt_retransmissions,
        /// TSDUs of this size.
        pub tsdus,
    }
}

/// TPDUs, DTs and TSDUs by size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Upper bounds of the classes but the last, in octets, ascending.
    pub bounds_octets: [u64; 9],
    /// Classes in the order of the bounds; the last is beyond them all.
    pub classes: [SizeClass; 10],
}

/// Classes in which a TPDU counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Places {
    /// Class of the TPDU.
    pub(crate) whole: usize,
    /// Class of its data.
    pub(crate) data: usize,
    /// Class of each TSDU that it completed.
    pub(crate) finished: [usize; 3],
}

impl Default for Sizes {
    fn default() -> Self {
        Self::new(BOUNDS_OCTETS)
    }
}

impl Sizes {
    /// Empty counts, in classes with these bounds, ascending.
    #[must_use]
    pub fn new(bounds_octets: [u64; 9]) -> Self {
        // No size comes near the largest bound that is stored.
        let bounds_octets = bounds_octets.map(|bound| bound.min(NO_BOUND_OCTETS));
        Self { bounds_octets, classes: Default::default() }
    }

    /// Ends a time that began with these counts: they become those in it. `now` is their later state.
    pub(crate) fn end(&mut self, now: &Self) {
        self.bounds_octets = now.bounds_octets;
        self.classes.iter_mut().zip(&now.classes).for_each(|(class, now)| class.end(now));
    }

    /// Class of a size: the number of bounds below it. Compares all bounds, by the sign of the
    /// difference, because a search has unpredictable branches. Both operands are below 2^63.
    pub(crate) fn class(&self, octets: u64) -> usize {
        let below: u64 =
            self.bounds_octets.iter().map(|bound| bound.wrapping_sub(octets) >> 63).sum();
        below as usize
    }

    /// Counts a batch of TPDUs.
    #[inline]
    pub(super) fn batch(&mut self, batch: &Sums) {
        let Sums { kind, classes: [whole, data, finished], tpdus, .. } = *batch;
        self.classes[whole].tpdus += tpdus;
        if batch.is_data {
            self.classes[data].dt_tpdus += tpdus;
            self.classes[data].dt_retransmissions += batch.again;
        }
        if kind == BatchKind::End {
            self.classes[finished].tsdus += tpdus;
        }
    }

    /// Counts a TPDU.
    pub fn tpdu(&mut self, tpdu: &Tpdu) {
        self.count(tpdu, self.places(tpdu));
    }

    /// Classes in which a TPDU counts, here and in all counts with the same bounds.
    pub(crate) fn places(&self, tpdu: &Tpdu) -> Places {
        let mut places = Places { whole: 0, data: 0, finished: [0; 3] };
        places.whole = self.class(tpdu.header_octets + tpdu.data_octets);
        if tpdu.kind == Kind::Dt {
            places.data = self.class(tpdu.data_octets);
        }
        for (place, octets) in places.finished.iter_mut().zip(tpdu.finished()) {
            *place = self.class(*octets);
        }
        places
    }

    /// Counts a TPDU in its classes.
    pub(crate) fn count(&mut self, tpdu: &Tpdu, places: Places) {
        self.classes[places.whole].tpdus += 1;
        if tpdu.kind == Kind::Dt {
            let class = &mut self.classes[places.data];
            class.dt_tpdus += 1;
            class.dt_retransmissions += u64::from(tpdu.retransmitted);
        }
        for place in places.finished.iter().take(tpdu.finished_tsdus as usize) {
            self.classes[*place].tsdus += 1;
        }
    }
}

impl Sizes {
    /// Adds the counts of another with the same bounds.
    pub fn add(&mut self, other: &Self) {
        self.classes.iter_mut().zip(&other.classes).for_each(|(class, more)| class.add(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dt(data_octets: u64) -> Tpdu {
        let retransmitted = data_octets > 1_000;
        Tpdu { retransmitted, ..Tpdu::plain(Kind::Dt, 5, data_octets) }
    }

    #[test]
    fn a_bound_belongs_to_the_class_below_it() {
        let mut sizes = Sizes::default();
        for octets in [0, 16, 17, 1_024, 4_096, 4_097, 8_000] {
            sizes.tpdu(&dt(octets));
        }
        let counts = sizes.classes.map(|class| (class.dt_tpdus, class.dt_retransmissions));
        let zero = (0, 0);
        assert_eq!(counts, [(2, 0), (1, 0), zero, zero, zero, zero, (1, 1), zero, (1, 1), (2, 2)]);
        // With 5 octets of header: 5, then 21 and 22, then 1,029, then three beyond 4,096.
        assert_eq!(sizes.classes.map(|class| class.tpdus), [1, 2, 0, 0, 0, 0, 0, 1, 0, 3]);
    }

    #[test]
    fn a_tpdu_that_finishes_tsdus_counts_each_by_its_size() {
        let mut sizes = Sizes::new([1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let tpdu =
            Tpdu { finished_tsdus: 2, finished_octets: [3, 10, 0], ..Tpdu::plain(Kind::Dt, 5, 3) };
        sizes.tpdu(&tpdu);
        assert_eq!(sizes.classes.map(|class| class.tsdus), [0, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
    }
}
