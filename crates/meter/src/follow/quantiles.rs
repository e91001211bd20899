//! Quantiles of the deviations of a stream, early and late together, for a sender that repeats them.
//!
//! Definition: of the early and of the late deviations each the quantiles at 0, 10, 25, 50, 75, 90, 95,
//! 99, 99.9 and 99.99 %, the greatest but one and the greatest, by nearest rank. Two of them that are
//! further apart than an eighth of the greatest have a step between them, where the values pass their
//! middle. The share is that of all deviations that are at most as late. Bias: all but the extremes are upper edges of their classes,
//! so that they are high by at most 0.8 %.

use crate::measure::Distribution;

/// The whole, in shares.
const WHOLE: u128 = 1_000_000_000;
/// Quantiles of each side, in parts of ten thousand.
const OF_EACH: [u128; 10] = [0, 1_000, 2_500, 5_000, 7_500, 9_000, 9_500, 9_900, 9_990, 9_999];

/// Quantile of the deviations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviationQuantile {
    /// Share of deviations that are at most as late, in parts of 10⁹.
    pub share: u64,
    /// Deviation in nanoseconds; below zero if it is early.
    pub deviation_ns: i64,
}

/// Quantile of one side: its share of that side, and its size.
#[derive(Clone, Copy)]
struct OfSide {
    part: u128,
    of: u128,
    nanos: u64,
}

/// Table of a stream with these late and early deviations; empty without any.
pub(in crate::follow) fn table([late, early]: &[Distribution; 2]) -> Vec<DeviationQuantile> {
    let [late_count, early_count] = [late, early].map(|it| u128::from(it.count));
    let all = late_count + early_count;
    let mut table: Vec<DeviationQuantile> = Vec::new();
    let share = |count: u128, of: OfSide, begin: u128| {
        let numerator = begin * of.of * WHOLE + count * of.part * WHOLE;
        u64::try_from(numerator / (all * of.of).max(1)).unwrap_or(u64::MAX)
    };
    let signed = |nanos: u64| i64::try_from(nanos).unwrap_or(i64::MAX);
    for of in side(early).into_iter().rev() {
        // The latest of the early ones deviate least.
        let from_end = OfSide { part: of.of - of.part, ..of };
        table.push(DeviationQuantile {
            share: share(early_count, from_end, 0),
            deviation_ns: -signed(of.nanos),
        });
    }
    for of in side(late) {
        let share = share(late_count, of, early_count);
        table.push(DeviationQuantile { share, deviation_ns: signed(of.nanos) });
    }
    without_flat_middles(table)
}

/// Quantiles of one side, ascending; none without values.
fn side(distribution: &Distribution) -> Vec<OfSide> {
    let count = u128::from(distribution.count);
    if count == 0 {
        return Vec::new();
    }
    let rank = |part: u128| u64::try_from((part * count).div_ceil(10_000)).unwrap_or(u64::MAX);
    let values = distribution.at_ranks(OF_EACH.map(|part| rank(part).max(1)));
    let mut found = vec![OfSide { part: 0, of: 1, nanos: distribution.min_ns }];
    let nodes = OF_EACH.into_iter().zip(values).skip(1);
    // Behind the greatest but one there is the greatest alone.
    let nodes = nodes.filter(|(part, _)| part * count <= 10_000 * (count - 1));
    found.extend(nodes.map(|(part, nanos)| OfSide { part, of: 10_000, nanos }));
    let [next] = distribution.at_ranks([distribution.count.saturating_sub(1).max(1)]);
    if count > 1 {
        found.push(OfSide { part: count - 1, of: count, nanos: next });
    }
    let nanos = distribution.max_ns;
    found.push(OfSide { part: count - 1, of: count, nanos });
    found.push(OfSide { part: 1, of: 1, nanos });
    with_steps(&found, distribution)
}

/// The same quantiles, with a step between two that are far apart: deviations in groups stay apart.
fn with_steps(found: &[OfSide], distribution: &Distribution) -> Vec<OfSide> {
    let of = u128::from(distribution.count);
    let rank = |it: &OfSide| u64::try_from((it.part * of).div_ceil(it.of)).unwrap_or(u64::MAX);
    let mut all: Vec<OfSide> = Vec::with_capacity(found.len());
    for pair in found.windows(2) {
        let [before, next] = [pair[0], pair[1]];
        all.push(before);
        let apart_ns = next.nanos - before.nanos.min(next.nanos);
        let ranks = [rank(&before), rank(&next)];
        if apart_ns <= distribution.max_ns / 8 || ranks[1].saturating_sub(ranks[0]) < 2 {
            continue;
        }
        let [passed] = distribution.up_to([before.nanos + apart_ns / 2]);
        let passed = passed.clamp(ranks[0] + 1, ranks[1] - 1);
        for nanos in distribution.at_ranks([passed, passed + 1]) {
            all.push(OfSide { part: passed.into(), of, nanos });
        }
    }
    all.extend(found.last());
    all
}

/// The same table without points between two of the same deviation.
fn without_flat_middles(table: Vec<DeviationQuantile>) -> Vec<DeviationQuantile> {
    let mut kept: Vec<DeviationQuantile> = Vec::new();
    for point in table {
        if let [.., before, last] = kept[..]
            && before.deviation_ns == point.deviation_ns
            && last.deviation_ns == point.deviation_ns
        {
            kept.pop();
        }
        if kept.last() != Some(&point) {
            kept.push(point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut distribution = Distribution::default();
        values.into_iter().for_each(|nanos| distribution.record_nanos(nanos));
        distribution
    }

    #[test]
    fn a_single_late_frame_is_a_step_of_its_share() {
        // 498 of 500 are on time, one is 700 us late and the next one early.
        let late = distribution(core::iter::repeat_n(0, 498).chain([700_000]));
        let table = table(&[late, distribution([700_000])]);
        let found: Vec<_> = table.iter().map(|it| (it.share, it.deviation_ns)).collect();
        let expected = [
            (0, -700_000),
            (2_000_000, -700_000),
            (2_000_000, 0),
            (998_000_000, 0),
            (998_000_000, 700_000),
            (1_000_000_000, 700_000),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn deviations_in_two_groups_have_a_step_between_them() {
        // 830 of up to 100 ns, and 170 of 5,000 to 5,169 ns: between the quantiles at 75 and 90 %.
        let late = (0..830).map(|n| n % 101).chain((0..170).map(|n| 5_000 + n));
        let table = table(&[distribution(late), Distribution::default()]);
        let step = table.windows(2).find(|pair| pair[1].deviation_ns > 4_000).unwrap();
        assert_eq!([step[0].share, step[1].share], [830_000_000; 2]);
        assert_eq!(step[0].deviation_ns, 100);
        assert!((5_000..5_040).contains(&step[1].deviation_ns), "{table:?}");
    }

    #[test]
    fn quantiles_of_each_side_are_at_their_share_of_all() {
        // 100 late ones of 1 to 100, and 300 early ones of 1 to 300: all exact, or edges.
        let table = table(&[distribution(1..=100), distribution(1..=300)]);
        let at = |share: u64| {
            let found = table.iter().find(|it| it.share == share);
            found.unwrap_or_else(|| panic!("{share}: {table:?}")).deviation_ns
        };
        assert_eq!((table[0].deviation_ns, at(375_000_000)), (-300, -150));
        assert_eq!((at(75_000_000), at(875_000_000), at(997_500_000)), (-271, 50, 99));
        let ascends = |pair: &[DeviationQuantile]| {
            pair[0].share <= pair[1].share && pair[0].deviation_ns <= pair[1].deviation_ns
        };
        assert!(table.windows(2).all(ascends), "{table:?}");
        assert_eq!(table.last().map(|it| (it.share, it.deviation_ns)), Some((1_000_000_000, 100)));
        assert_eq!(super::table(&[Distribution::default(), Distribution::default()]), []);
    }
}
