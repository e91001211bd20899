//! Jitter of a sender with a period: how its intervals deviate from it.
//!
//! ```text
//!   period     |         |         |         |         |
//!   messages   |           |       |         |  |
//!   deviation        late      early   none  early
//! ```
//!
//! A table has quantiles of the deviation, as a meter found them or a user states them; it is linear in
//! between. Its mean is taken out, so that messages keep the period in the mean. A message behind its
//! place on the grid of the period is followed by an early interval, another by a late one: so
//! deviations do not accumulate, and late and early ones are as frequent as in the table. Draws are
//! stratified: of 128 late ones each is from another 1/128 of the late part of the table, and likewise
//! of early ones. A message that is unusually far from its place is followed by the interval that makes up
//! for most of it. Left out: an order of deviations, such as bursts.

use core::ops::Range;
use core::time::Duration;
use stats::rng::Stream;

/// The whole, in shares of a table.
pub const WHOLE: u64 = 1_000_000_000;
/// Parts of each side of a table, each drawn once before any is drawn again.
const STRATA: u64 = 128;
/// Extreme parts of each side, of which none is among the first draws: a meter learns the period from
/// the first 64 intervals.
const EXTREMES: u64 = 8;
/// First draws of each side.
const FIRST: usize = 40;

/// Quantile of the deviation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Quantile {
    /// Share of intervals that deviate by at most this, in parts of [`WHOLE`].
    pub share: u64,
    /// Deviation from the period in nanoseconds; below zero for an early message.
    pub deviation_ns: i64,
}

/// Table of quantiles, ascending in both, from a share of zero to the whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jitter {
    table: Vec<Quantile>,
    mean_ns: i64,
    /// Share of intervals that are earlier than the mean.
    early: u64,
}

impl Jitter {
    /// Creates a table; none unless shares and deviations ascend, from a share of zero to the whole.
    #[must_use]
    pub fn new(table: Vec<Quantile>) -> Option<Self> {
        let (first, last) = (table.first()?, table.last()?);
        let ascends = table.windows(2).all(|pair| {
            pair[0].share <= pair[1].share && pair[0].deviation_ns <= pair[1].deviation_ns
        });
        if !ascends || first.share != 0 || last.share != WHOLE {
            return None;
        }
        let part = |pair: &[Quantile]| {
            let share = i128::from(pair[1].share - pair[0].share);
            share * (i128::from(pair[0].deviation_ns) + i128::from(pair[1].deviation_ns))
        };
        let twice: i128 = table.windows(2).map(part).sum();
        let whole = i128::from(WHOLE);
        // To the nearest nanosecond.
        let mean_ns = i64::try_from((twice + whole).div_euclid(2 * whole)).ok()?;
        let mut jitter = Self { table, mean_ns, early: 0 };
        jitter.early = jitter.share_below(mean_ns);
        Some(jitter)
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &[Quantile] {
        &self.table
    }

    /// Mean deviation.
    #[must_use]
    pub const fn mean_ns(&self) -> i64 {
        self.mean_ns
    }

    /// Shortest interval of messages with this period.
    #[must_use]
    pub fn shortest(&self, period: Duration) -> Duration {
        let least_ns = self.table.first().map_or(0, |first| first.deviation_ns);
        moved(period, least_ns.saturating_sub(self.mean_ns))
    }

    /// Share of intervals with a lower deviation.
    fn share_below(&self, deviation_ns: i64) -> u64 {
        let place = self.table.partition_point(|it| it.deviation_ns < deviation_ns);
        let (Some(before), Some(next)) =
            (place.checked_sub(1).and_then(|it| self.table.get(it)), self.table.get(place))
        else {
            return 0;
        };
        let along = i128::from(deviation_ns) - i128::from(before.deviation_ns);
        let rise = (i128::from(next.deviation_ns) - i128::from(before.deviation_ns)).max(1);
        let share = i128::from(next.share - before.share) * along / rise;
        before.share + u64::try_from(share).unwrap_or(0)
    }

    /// Deviation that this share of intervals does not exceed.
    fn quantile_ns(&self, share: u64) -> i64 {
        let place = self.table.partition_point(|it| it.share <= share);
        let before = place.checked_sub(1).and_then(|it| self.table.get(it));
        let (Some(before), Some(next)) = (before.or(self.table.first()), self.table.get(place))
        else {
            return self.table.last().map_or(0, |last| last.deviation_ns);
        };
        let along = i128::from(share.saturating_sub(before.share));
        let rise = i128::from(next.deviation_ns) - i128::from(before.deviation_ns);
        let width = i128::from(next.share - before.share).max(1);
        before.deviation_ns.saturating_add(i64::try_from(rise * along / width).unwrap_or(0))
    }
}

/// Period with a deviation; zero if that is earlier than the message before.
fn moved(period: Duration, deviation_ns: i64) -> Duration {
    let by = Duration::from_nanos(deviation_ns.unsigned_abs());
    if deviation_ns < 0 { period.saturating_sub(by) } else { period.saturating_add(by) }
}

/// One side of a table: the early or the late one.
#[derive(Clone, Debug)]
struct Side {
    /// Least share of the side.
    from: u64,
    width: u64,
    /// Deviation beyond which the next one is sought that makes up for it: twice the median.
    usual_ns: u64,
    /// Its extreme parts.
    extremes: Range<u64>,
    /// Parts that were not drawn yet.
    left: Vec<u64>,
    was_filled: bool,
}

impl Side {
    fn new(jitter: &Jitter, from: u64, width: u64, extremes: Range<u64>) -> Self {
        let median_ns = i128::from(jitter.quantile_ns(from + width / 2));
        let usual = 2 * (median_ns - i128::from(jitter.mean_ns)).unsigned_abs();
        let usual_ns = u64::try_from(usual).unwrap_or(u64::MAX);
        Self { from, width, usual_ns, extremes, left: Vec::new(), was_filled: false }
    }

    /// Share in the middle of a part.
    const fn middle(&self, part: u64) -> u64 {
        self.from + self.width * (2 * part + 1) / (2 * STRATA)
    }

    /// A share of the side; that of the part whose deviation makes up best for `behind_ns`, if that is
    /// unusual.
    fn draw(&mut self, chance: &mut Stream, jitter: &Jitter, behind_ns: i64) -> u64 {
        if self.left.is_empty() {
            self.left.extend(0..STRATA);
            chance.shuffle(&mut self.left);
            if !self.was_filled {
                self.was_filled = true;
                self.left.sort_by_key(|part| !self.extremes.contains(part));
                let behind = self.left.len().saturating_sub(FIRST);
                chance.shuffle(self.left.get_mut(..behind).unwrap_or_default());
            }
        }
        let part = match behind_ns.unsigned_abs() > self.usual_ns {
            true => self.take_nearest(jitter, behind_ns),
            false => self.left.pop(),
        };
        let part = part.unwrap_or(0);
        let begin = self.width * part / STRATA;
        let end = self.width * (part + 1) / STRATA;
        self.from + begin + chance.below((end - begin).max(1))
    }

    /// The part whose deviation takes a message nearest to the grid.
    fn take_nearest(&mut self, jitter: &Jitter, behind_ns: i64) -> Option<u64> {
        let distance = |place: &usize| {
            let deviation_ns =
                self.left.get(*place).map(|part| jitter.quantile_ns(self.middle(*part)));
            let off =
                i128::from(deviation_ns?) - i128::from(jitter.mean_ns) + i128::from(behind_ns);
            Some(off.unsigned_abs())
        };
        let place = (0..self.left.len()).min_by_key(distance)?;
        Some(self.left.swap_remove(place))
    }
}

/// Intervals of a sender.
#[derive(Clone, Debug)]
pub struct Intervals {
    jitter: Jitter,
    chance: Stream,
    /// Time by which the last message is behind its place on the grid.
    behind_ns: i64,
    late: Side,
    early: Side,
}

impl Intervals {
    /// Begins at the first message.
    #[must_use]
    pub fn new(jitter: Jitter, seed: u64) -> Self {
        let chance = Stream::named(seed, "jitter");
        let early = Side::new(&jitter, 0, jitter.early, 0..EXTREMES);
        let late = WHOLE - jitter.early;
        let late = Side::new(&jitter, jitter.early, late, STRATA - EXTREMES..STRATA);
        Self { jitter, chance, behind_ns: 0, late, early }
    }

    /// Interval to the next message.
    pub fn take(&mut self, period: Duration) -> Duration {
        let Self { jitter, chance, behind_ns, late, early } = self;
        let side = if *behind_ns > 0 { early } else { late };
        let share = side.draw(chance, jitter, *behind_ns);
        let deviation_ns = jitter.quantile_ns(share).saturating_sub(jitter.mean_ns);
        *behind_ns = behind_ns.saturating_add(deviation_ns);
        moved(period, deviation_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(points: &[(u64, i64)]) -> Jitter {
        let of = |&(percent, deviation_ns)| Quantile { share: percent * WHOLE / 100, deviation_ns };
        Jitter::new(points.iter().map(of).collect()).unwrap()
    }

    /// Deviations of `count` intervals of a millisecond, sorted, and the greatest distance from the grid.
    fn drawn(jitter: &Jitter, count: usize) -> (Vec<i64>, i64) {
        let mut intervals = Intervals::new(jitter.clone(), 7);
        let (mut at, mut furthest) = (0, 0);
        let mut deviations: Vec<i64> = (0..count)
            .map(|_| {
                let taken = intervals.take(Duration::from_millis(1)).as_nanos() as i64 - 1_000_000;
                at += taken;
                furthest = furthest.max(i64::abs(at));
                taken
            })
            .collect();
        deviations.sort_unstable();
        (deviations, furthest)
    }

    #[test]
    fn quantiles_are_those_of_the_table_and_the_grid_is_kept() {
        let jitter = table(&[(0, -40_000), (25, -10_000), (50, 0), (75, 10_000), (100, 40_000)]);
        assert_eq!((jitter.mean_ns(), jitter.early), (0, WHOLE / 2));
        let (deviations, furthest) = drawn(&jitter, 10_000);
        for (nth, expected) in [(100, -38_800), (2_500, -10_000), (5_000, 0), (7_500, 10_000)] {
            let found = deviations[nth];
            assert!((found - expected).abs() < 600, "{nth}: {found}, not {expected}");
        }
        // A step of each side, at most: without it, 10,000 draws go some hundred steps away.
        assert!(furthest <= 80_000, "{furthest}");
    }

    #[test]
    fn the_first_messages_show_the_period() {
        // 1 % is up to a millisecond off. The median of 64 intervals must be that of all, or a meter
        // learns another period: by draws without order it is up to 14 us off, of deviations of 15 us.
        let tails = [(0, -900_000), (1, -30_000), (50, 0), (99, 30_000), (100, 900_000)];
        let jitter = table(&tails);
        let off_ns = |seed: u64| {
            let mut intervals = Intervals::new(jitter.clone(), seed);
            let mut first: Vec<_> =
                (0..64).map(|_| intervals.take(Duration::from_millis(2)).as_nanos()).collect();
            first.sort_unstable();
            first[32].abs_diff(2_000_000)
        };
        let worst = (0..50).map(off_ns).max().unwrap();
        assert!(worst < 5_000, "{worst}");
    }

    #[test]
    fn a_rare_late_message_is_as_rare_as_in_the_table() {
        // 1 of 100 is 700 us later than the others: with its mean of 7 us taken out, 693 us late.
        let jitter = table(&[(0, 0), (99, 0), (99, 700_000), (100, 700_000)]);
        assert_eq!(
            (jitter.mean_ns(), jitter.shortest(Duration::from_millis(1)).as_nanos()),
            (7_000, 993_000)
        );
        let (deviations, _) = drawn(&jitter, 20_000);
        let late = deviations.iter().filter(|it| **it > 0).count();
        assert!((198..=202).contains(&late), "{late}");
        assert_eq!((deviations[0], deviations[19_999]), (-7_000, 693_000));
    }

    #[test]
    fn a_table_has_an_order_and_both_ends() {
        let of = |points: &[(u64, i64)]| {
            let of = |&(share, deviation_ns)| Quantile { share, deviation_ns };
            Jitter::new(points.iter().map(of).collect()).is_some()
        };
        assert!(of(&[(0, -1), (WHOLE, 1)]));
        for wrong in [
            &[][..],
            &[(0, 1)],
            &[(0, 1), (WHOLE, 0)],
            &[(1, 0), (WHOLE, 0)],
            &[(0, 0), (WHOLE - 1, 0)],
            &[(0, 0), (7, 1), (6, 1), (WHOLE, 1)],
        ] {
            assert!(!of(wrong), "{wrong:?}");
        }
        let none = table(&[(0, 0), (100, 0)]);
        assert_eq!(drawn(&none, 100), (vec![0; 100], 0));
        let extreme = [(0, i64::MIN), (WHOLE / 2, 0), (WHOLE, i64::MAX)];
        let extreme = extreme.map(|(share, deviation_ns)| Quantile { share, deviation_ns });
        let mut intervals = Intervals::new(Jitter::new(extreme.to_vec()).unwrap(), 7);
        (0..100).for_each(|_| _ = intervals.take(Duration::from_millis(1)));
    }
}
