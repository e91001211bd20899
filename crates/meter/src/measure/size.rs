//! TPDUs and TSDUs by size, and how often DTs of each size are sent again.
//!
//! Definition: ten classes, each up to and including its bound; the last has none. TPDUs count by
//! all their octets, DTs by those of their data field, TSDUs by those of their data. The ratio of
//! retransmissions in a class shows losses that depend on size, which R_RD hides where DTs are
//! mostly small. Bias: as R_RD, class by class.

use super::{Alike, Measure, Sort, Values};
use crate::sight::{Sight, Tpdu};
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};
use wire::tp::Kind;

/// The largest size of each class but the last, in octets, unless others are asked for.
pub const BOUNDS_OCTETS: [u64; 9] = [16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];

/// A bound beyond every size: what stands in place of bounds where there are fewer.
pub const NO_BOUND_OCTETS: u64 = u64::MAX >> 1;

/// What is in one class of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SizeClass {
    /// TPDUs of this size.
    pub tpdus: u64,
    /// DTs with so much data.
    pub dt_tpdus: u64,
    /// How many of those had been sent before.
    pub dt_retransmissions: u64,
    /// TSDUs of this size.
    pub tsdus: u64,
}

/// TPDUs, DTs and TSDUs by size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The largest size of each class but the last, in octets, ascending.
    pub bounds_octets: [u64; 9],
    /// In the order of the bounds, then those beyond.
    pub classes: [SizeClass; 10],
}

/// The classes in which a TPDU counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Places {
    /// Of the TPDU.
    whole: usize,
    /// Of its data.
    data: usize,
    /// Of each TSDU that it finished.
    finished: [usize; 3],
}

impl Default for Sizes {
    fn default() -> Self {
        Self::new(BOUNDS_OCTETS)
    }
}

impl Sizes {
    /// Nothing yet, in classes with these bounds, ascending.
    #[must_use]
    pub fn new(bounds_octets: [u64; 9]) -> Self {
        // No size comes near the largest bound that is kept.
        let bounds_octets = bounds_octets.map(|bound| bound.min(NO_BOUND_OCTETS));
        Self { bounds_octets, classes: Default::default() }
    }

    /// What was counted since an earlier count of the same.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let classes = core::array::from_fn(|place| {
            let (now, then) = (&self.classes[place], &earlier.classes[place]);
            SizeClass {
                tpdus: now.tpdus - then.tpdus,
                dt_tpdus: now.dt_tpdus - then.dt_tpdus,
                dt_retransmissions: now.dt_retransmissions - then.dt_retransmissions,
                tsdus: now.tsdus - then.tsdus,
            }
        });
        Self { bounds_octets: self.bounds_octets, classes }
    }

    /// The class of a size: how many bounds lie below it. All are compared, by the sign of the
    /// difference, since a search would branch on what cannot be foretold. Both are below 2^63.
    pub(crate) fn class(&self, octets: u64) -> usize {
        let below: u64 =
            self.bounds_octets.iter().map(|bound| bound.wrapping_sub(octets) >> 63).sum();
        below as usize
    }

    /// Takes notice of TPDUs of one sort.
    pub(super) fn alike(&mut self, sort: Sort, alike: &Alike) {
        let ([whole, data, finished], tpdus) =
            (alike.classes().map(usize::from), u64::from(alike.tpdus));
        self.classes[whole].tpdus += tpdus;
        if matches!(sort, Sort::Part | Sort::End) {
            self.classes[data].dt_tpdus += tpdus;
        }
        if sort == Sort::End {
            self.classes[finished].tsdus += tpdus;
        }
    }

    /// Takes notice of a TPDU.
    pub fn tpdu(&mut self, tpdu: &Tpdu) {
        self.count(tpdu, self.places(tpdu));
    }

    /// The classes in which a TPDU counts, here and wherever the bounds are the same.
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

impl Measure for Sizes {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Tpdu(tpdu) = sight {
            self.tpdu(tpdu);
        }
    }

    /// Both have the same bounds.
    fn add(&mut self, other: &Self) {
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            class.tpdus += more.tpdus;
            class.dt_tpdus += more.dt_tpdus;
            class.dt_retransmissions += more.dt_retransmissions;
            class.tsdus += more.tsdus;
        }
    }

    fn values(&self) -> Values {
        let names = names(self.bounds_octets);
        let values = self.classes.iter().zip(names.iter()).flat_map(|(class, names)| {
            let SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus } = *class;
            names.iter().cloned().zip([tpdus, dt_tpdus, dt_retransmissions, tsdus])
        });
        values.collect()
    }
}

/// Names of the values of a class.
type Names = [Cow<'static, str>; 4];

/// Bounds whose names are kept for good; a process has one set of bounds as a rule.
const KEPT: usize = 16;

/// Names of the values of each class with these bounds. They are made once, and borrowed from then on.
fn names(bounds_octets: [u64; 9]) -> Cow<'static, [Names]> {
    static KNOWN: Mutex<Vec<([u64; 9], &'static [Names])>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, names)) = known.iter().find(|(bounds, _)| *bounds == bounds_octets) {
        return Cow::Borrowed(names);
    }
    let names = spelled_out(bounds_octets);
    if known.len() >= KEPT {
        return Cow::Owned(names.into_iter().map(|class| class.map(Cow::Owned)).collect());
    }
    let kept = |class: [String; 4]| class.map(|name| Cow::Borrowed(&*name.leak()));
    let names: &[Names] = names.into_iter().map(kept).collect::<Vec<Names>>().leak();
    known.push((bounds_octets, names));
    Cow::Borrowed(names)
}

fn spelled_out(bounds_octets: [u64; 9]) -> Vec<[String; 4]> {
    let mut names = Vec::new();
    for place in 0..=bounds_octets.len() {
        let below = place.checked_sub(1).and_then(|before| bounds_octets.get(before));
        let bound = bounds_octets.get(place).filter(|bound| **bound < NO_BOUND_OCTETS);
        let which = match (bound, below) {
            (Some(bound), _) => format!("to_{bound}_octets"),
            (None, Some(&NO_BOUND_OCTETS)) => break,
            (None, below) => format!("beyond_{}_octets", below.unwrap_or(&0)),
        };
        let what = ["tpdus", "dt_tpdus", "dt_retransmissions", "tsdus"];
        names.push(what.map(|what| format!("{what}_{which}")));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(data_octets: u64) -> Sight {
        let retransmitted = data_octets > 1_000;
        Sight::Tpdu(Tpdu { retransmitted, ..Tpdu::plain(Kind::Dt, 5, data_octets) })
    }

    #[test]
    fn a_bound_belongs_to_the_class_below_it() {
        let mut sizes = Sizes::default();
        for octets in [0, 16, 17, 1_024, 4_096, 4_097, 8_000] {
            sizes.observe(&sight(octets));
        }
        let counts = sizes.classes.map(|class| (class.dt_tpdus, class.dt_retransmissions));
        let zero = (0, 0);
        assert_eq!(counts, [(2, 0), (1, 0), zero, zero, zero, zero, (1, 1), zero, (1, 1), (2, 2)]);
        // With 5 octets of header: 5, then 21 and 22, then 1,029, then three beyond 4,096.
        assert_eq!(sizes.classes.map(|class| class.tpdus), [1, 2, 0, 0, 0, 0, 0, 1, 0, 3]);
    }

    #[test]
    fn fewer_bounds_make_fewer_classes() {
        let mut bounds = [NO_BOUND_OCTETS; 9];
        bounds[..2].copy_from_slice(&[64, 1_024]);
        let mut sizes = Sizes::new(bounds);
        [10, 64, 65, 9_000].iter().for_each(|octets| sizes.observe(&sight(*octets)));
        let dts: Vec<(String, u64)> = sizes
            .values()
            .into_iter()
            .filter(|(name, _)| name.starts_with("dt_tpdus_"))
            .map(|(name, value)| (name["dt_tpdus_".len()..].to_owned(), value))
            .collect();
        let expected = [("to_64_octets", 2), ("to_1024_octets", 1), ("beyond_1024_octets", 1)];
        assert_eq!(dts, expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn a_tpdu_that_finishes_tsdus_counts_each_by_its_size() {
        let mut sizes = Sizes::new([1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let tpdu =
            Tpdu { finished_tsdus: 2, finished_octets: [3, 10, 0], ..Tpdu::plain(Kind::Dt, 5, 3) };
        sizes.tpdu(&tpdu);
        assert_eq!(sizes.classes.map(|class| class.tsdus), [0, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
        let names: Vec<String> = sizes.values().into_iter().map(|(n, _)| n.into_owned()).collect();
        assert!(names.contains(&"tsdus_to_3_octets".to_owned()));
        assert!(names.contains(&"dt_retransmissions_beyond_9_octets".to_owned()));
    }
}
