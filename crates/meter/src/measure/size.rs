//! DTs by the size of their data field, and how often each size is sent again.
//!
//! Definition: ten classes, each up to and including its bound; the last has none. The ratio of
//! retransmissions in a class shows losses that depend on size, which R_RD hides where DTs are
//! mostly small. Bias: as R_RD, class by class.

use super::Measure;
use crate::sight::Sight;
use wire::tp::Kind;

/// The largest data field of each class but the last, in octets.
pub const BOUNDS_OCTETS: [u64; 9] = [16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];

/// DTs of one class of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SizeClass {
    /// How many.
    pub dt_tpdus: u64,
    /// How many of them had been sent before.
    pub dt_retransmissions: u64,
}

/// DTs by size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// In the order of [`BOUNDS_OCTETS`], then those beyond.
    pub classes: [SizeClass; BOUNDS_OCTETS.len() + 1],
}

impl Measure for Sizes {
    fn observe(&mut self, sight: &Sight) {
        let Sight::Tpdu(tpdu) = sight else { return };
        if tpdu.kind != Kind::Dt {
            return;
        }
        let class = BOUNDS_OCTETS.partition_point(|bound| *bound < tpdu.data_octets);
        let class = &mut self.classes[class];
        class.dt_tpdus += 1;
        class.dt_retransmissions += u64::from(tpdu.retransmitted);
    }

    fn add(&mut self, other: &Self) {
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            class.dt_tpdus += more.dt_tpdus;
            class.dt_retransmissions += more.dt_retransmissions;
        }
    }

    fn values(&self) -> Vec<(&'static str, u64)> {
        let counts = self.classes.iter().map(|c| [c.dt_tpdus, c.dt_retransmissions]);
        NAMES.iter().zip(counts).flat_map(|([n, m], [a, b])| [(*n, a), (*m, b)]).collect()
    }
}

const NAMES: [[&str; 2]; BOUNDS_OCTETS.len() + 1] = [
    ["dt_tpdus_to_16_octets", "dt_retransmissions_to_16_octets"],
    ["dt_tpdus_to_32_octets", "dt_retransmissions_to_32_octets"],
    ["dt_tpdus_to_64_octets", "dt_retransmissions_to_64_octets"],
    ["dt_tpdus_to_128_octets", "dt_retransmissions_to_128_octets"],
    ["dt_tpdus_to_256_octets", "dt_retransmissions_to_256_octets"],
    ["dt_tpdus_to_512_octets", "dt_retransmissions_to_512_octets"],
    ["dt_tpdus_to_1024_octets", "dt_retransmissions_to_1024_octets"],
    ["dt_tpdus_to_2048_octets", "dt_retransmissions_to_2048_octets"],
    ["dt_tpdus_to_4096_octets", "dt_retransmissions_to_4096_octets"],
    ["dt_tpdus_beyond_4096_octets", "dt_retransmissions_beyond_4096_octets"],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sight::Tpdu;

    fn sight(data_octets: u64) -> Sight {
        Sight::Tpdu(Tpdu {
            kind: Kind::Dt,
            header_octets: 5,
            data_octets,
            retransmitted: data_octets > 1_000,
            finished_tsdus: 0,
            finished_tsdu_octets: 0,
            step: None,
        })
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
    }

    #[test]
    fn names_tell_the_bounds() {
        for (names, bound) in NAMES.iter().zip(BOUNDS_OCTETS) {
            assert!(names.iter().all(|name| name.ends_with(&format!("_to_{bound}_octets"))));
        }
    }
}
