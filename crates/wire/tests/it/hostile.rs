//! Invalid input: random octets, and valid frames with a few octets changed.

use crate::upper_entry::tsdu;
use crate::{entry, seeds, upper_seeds};
use proptest::collection::vec;
use proptest::prelude::*;

/// Failing cases are printed in full, so no files are kept. `PROPTEST_CASES` raises the number of
/// cases.
fn cases(least: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { failure_persistence: None, cases: config.cases.max(least), ..config }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn random_octets_are_read_without_panic(octets in vec(any::<u8>(), 0..200)) {
        entry::frame(&octets);
        entry::round_trip(&octets);
        entry::file(&octets);
        tsdu(&octets);
    }

    /// Random octets seldom pass the first length field; mutated seeds do.
    #[test]
    fn seeds_with_octets_changed_are_read_without_panic(
        seed in any::<prop::sample::Index>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        kept in any::<prop::sample::Index>(),
    ) {
        let mut seeds = seeds::all();
        // An empty seed cannot be changed.
        seeds.retain(|seed| !seed.octets.is_empty());
        let mut octets = seed.get(&seeds).octets.clone();
        for (at, value) in changes {
            *at.get_mut(&mut octets) = value;
        }
        for octets in [&octets[..], &octets[..kept.index(octets.len())]] {
            entry::frame(octets);
            entry::round_trip(octets);
            entry::file(octets);
        }
    }

    #[test]
    fn tsdus_with_octets_changed_are_read_without_panic(
        seed in any::<prop::sample::Index>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        kept in any::<prop::sample::Index>(),
    ) {
        let mut octets = seed.get(&upper_seeds::all()).octets.clone();
        for (at, value) in changes {
            *at.get_mut(&mut octets) = value;
        }
        tsdu(&octets);
        tsdu(&octets[..kept.index(octets.len())]);
    }
}
