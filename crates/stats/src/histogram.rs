//! Histogram of time spans: quantiles to three digits, in bounded memory, mergeable in any order.
//!
//! Counts by class, with exact sums. Count, sum, sum of squares, minimum and maximum are integers,
//! so merging in any order gives the same bits.

use crate::counts::{Class, Counts};
use crate::interval::binomial_below;
use core::time::Duration;

/// Histogram of time spans.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Counts,
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
}

/// 24 hours. In the quantiles, longer spans count as this length; the maximum stays exact.
const LONGEST_NANOS: u64 = 86_400_000_000_000;

impl Histogram {
    /// Creates an empty histogram.
    #[must_use]
    pub const fn new() -> Self {
        Self { counts: Counts::new(), sum: 0, squares: 0, min: u64::MAX, max: 0 }
    }

    /// Counts a span.
    pub fn record(&mut self, span: Duration) {
        self.record_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX), 1);
    }

    /// Counts `times` spans of `nanos` nanoseconds each.
    pub fn record_nanos(&mut self, nanos: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.counts.record(nanos.min(LONGEST_NANOS), times);
        let (wide, times) = (u128::from(nanos), u128::from(times));
        self.sum = self.sum.saturating_add(wide * times);
        self.squares = self.squares.saturating_add((wide * wide).saturating_mul(times));
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
    }

    /// Adds all spans of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of spans.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.total()
    }

    /// Returns true if no span was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.max < self.min
    }

    /// Shortest span, exact.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_nanos(self.min))
    }

    /// Longest span, exact.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_nanos(self.max))
    }

    /// Mean in nanoseconds, from the exact sum.
    #[must_use]
    pub fn mean_nanos(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count() as f64)
    }

    /// Sample standard deviation in nanoseconds, from the exact sums; `None` for fewer than two
    /// spans.
    #[must_use]
    pub fn standard_deviation_nanos(&self) -> Option<f64> {
        let n = u128::from(self.count());
        if n < 2 {
            return None;
        }
        // n Q - S^2 is exact while it fits in 128 bits; with very long or very many spans it may
        // not fit.
        let exact = n.checked_mul(self.squares).zip(self.sum.checked_mul(self.sum));
        let scaled = match exact {
            Some((first, second)) => first.saturating_sub(second) as f64,
            None => n as f64 * self.squares as f64 - (self.sum as f64).powi(2),
        };
        Some((scaled.max(0.0) / (n as f64 * (n - 1) as f64)).sqrt())
    }

    /// Returns the quantile for this share of the spans, for example `quantile(0.99)`: to three
    /// digits, and never beyond the longest span.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        if self.is_empty() {
            return None;
        }
        let rank = (share.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64;
        self.at_rank(rank)
    }

    /// Lower end of [`Histogram::quantile_interval`], which is above the true quantile with probability
    /// `(1 - level) / 2` at most. It exists with fewer spans than the upper end of a high quantile.
    #[must_use]
    pub fn quantile_least(&self, share: f64, level: f64) -> Option<Duration> {
        self.at_rank(self.rank_of_least(share, level).filter(|rank| *rank > 0)?)
    }

    /// Rank of the lower end, from 1; zero if even the least span may be above the quantile.
    fn rank_of_least(&self, share: f64, level: f64) -> Option<u64> {
        let n = self.count();
        let tail = (1.0 - level) / 2.0;
        // Ranks count from 1. X(l) > q has probability P(B <= l - 1).
        first_rank(n, |rank| binomial_below(rank + 1, n, share) > tail)
    }

    /// Confidence interval of the quantile, from the order statistics: for independent spans, the
    /// number below the true quantile is binomial. `None` if there are too few spans to bound it on
    /// both sides.
    #[must_use]
    pub fn quantile_interval(&self, share: f64, level: f64) -> Option<(Duration, Duration)> {
        let n = self.count();
        let tail = (1.0 - level) / 2.0;
        let low = self.rank_of_least(share, level)?;
        // X(u) < q has probability P(B >= u).
        let high = first_rank(n, |rank| binomial_below(rank, n, share) >= 1.0 - tail)?;
        if low == 0 || high > n {
            return None;
        }
        Some((self.at_rank(low)?, self.at_rank(high)?))
    }

    /// Number of spans longer than `span`, to three digits.
    #[must_use]
    pub fn count_above(&self, span: Duration) -> u64 {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX).min(LONGEST_NANOS);
        self.count() - self.counts.total_up_to(nanos)
    }

    /// Iterates over the classes in rising order, as pairs of the shortest span of the class in
    /// nanoseconds and its count. [`Histogram::record_nanos`] of each pair rebuilds the quantiles,
    /// but not the sums.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.classes()
    }

    fn at_rank(&self, rank: u64) -> Option<Duration> {
        let mut seen = 0;
        for (class, count) in self.classes() {
            seen += count;
            if seen >= rank.max(1) {
                let highest = match Class::of(class).highest {
                    beyond if beyond >= LONGEST_NANOS => self.max,
                    highest => highest,
                };
                return Some(Duration::from_nanos(highest.clamp(self.min, self.max)));
            }
        }
        None
    }
}

/// Returns true if at least one of `count` values may be above the quantile of this share: 100 for
/// 99 %, 1,000 for 99.9 %. With fewer the quantile is the maximum, and no estimate of a tail.
#[must_use]
pub fn has_quantile(count: u64, share: f64) -> bool {
    (1.0 - share) * count as f64 >= 1.0 - 1e-9
}

/// Returns the smallest rank from 0 to n + 1 at which a monotonic condition becomes true.
fn first_rank(n: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (0, n.checked_add(1)?);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.sum, self.squares, self.min, self.max)
            == (other.sum, other.squares, other.min, other.max)
            && self.classes().eq(other.classes())
    }
}

impl FromIterator<Duration> for Histogram {
    fn from_iter<I: IntoIterator<Item = Duration>>(spans: I) -> Self {
        let mut histogram = Self::new();
        spans.into_iter().for_each(|span| histogram.record(span));
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_needs_a_value_above_it() {
        for (share, least) in [(0.5, 2), (0.9, 10), (0.99, 100), (0.999, 1_000)] {
            assert_eq!(
                [least - 1, least].map(|n| has_quantile(n, share)),
                [false, true],
                "{share}"
            );
        }
    }

    fn micros(from: u64, to: u64) -> Histogram {
        (from..=to).map(Duration::from_micros).collect()
    }

    #[test]
    fn quantiles_are_right_to_three_digits() {
        let histogram = micros(1, 10_000);
        for (share, exact) in [(0.5, 5_000.0), (0.9, 9_000.0), (0.99, 9_900.0), (0.999, 9_990.0)] {
            let found = histogram.quantile(share).unwrap().as_secs_f64() * 1e6;
            assert!((found / exact - 1.0).abs() < 1e-3, "{share}: {found}, not {exact}");
        }
        assert_eq!(histogram.quantile(0.0), Some(Duration::from_micros(1)));
        assert_eq!(histogram.quantile(1.0), Some(Duration::from_micros(10_000)));
    }

    #[test]
    fn mean_and_deviation_are_exact() {
        let histogram = micros(1, 10_000);
        // (n + 1) / 2 = 5,000.5 us; variance n (n + 1) / 12.
        assert_eq!(histogram.mean_nanos(), Some(5_000_500.0));
        let expected = (10_000.0 * 10_001.0 / 12.0_f64).sqrt() * 1e3;
        assert!((histogram.standard_deviation_nanos().unwrap() / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn merging_is_the_same_in_any_order() {
        let (a, b, c) = (micros(1, 10), micros(500, 2_000), Histogram::new());
        let mut one = a.clone();
        one.merge(&b);
        one.merge(&c);
        let mut other = c;
        other.merge(&b);
        other.merge(&a);
        assert_eq!(one, other);
        assert_eq!(one.count(), 10 + 1_501);
        assert_eq!((one.min(), one.max()), (a.min(), b.max()));
    }

    #[test]
    fn classes_rebuild_the_quantiles() {
        let histogram = micros(3, 77_777);
        let mut rebuilt = Histogram::new();
        histogram.classes().for_each(|(nanos, times)| rebuilt.record_nanos(nanos, times));
        assert!(histogram.classes().eq(rebuilt.classes()));
    }

    #[test]
    fn the_median_of_ten_lies_between_the_second_and_the_ninth() {
        // Tables of the sign test: X(2)..X(9) has 97.9 % for n = 10 (1 - 2 x 11 / 1,024), and
        // X(3)..X(8) only 89.1 % (1 - 2 x 56 / 1,024).
        let histogram: Histogram = (1..=10).map(Duration::from_nanos).collect();
        let interval = |level| histogram.quantile_interval(0.5, level);
        assert_eq!(interval(0.95), Some((Duration::from_nanos(2), Duration::from_nanos(9))));
        assert_eq!(interval(0.89), Some((Duration::from_nanos(3), Duration::from_nanos(8))));
    }

    #[test]
    fn too_few_spans_do_not_bound_a_far_quantile() {
        // P(all 500 below the 99.9 % quantile) = 0.999^500 = 0.61: the maximum bounds nothing.
        assert_eq!(micros(1, 500).quantile_interval(0.999, 0.95), None);
        assert!(micros(1, 500).quantile_interval(0.9, 0.95).is_some());
        assert_eq!(Histogram::new().quantile_interval(0.5, 0.95), None);
        // Three or more of 500 lie beyond 99.9 % with 1.4 %, two or more with 9 %: X(498) is the lower end.
        let least = micros(1, 500).quantile_least(0.999, 0.95).unwrap();
        assert!((498_000..498_500).contains(&least.as_nanos()), "{least:?}");
        assert_eq!(micros(1, 1).quantile_least(0.5, 0.95), None);
        let (low, _) = micros(1, 500).quantile_interval(0.9, 0.95).unwrap();
        assert_eq!(micros(1, 500).quantile_least(0.9, 0.95), Some(low));
    }

    #[test]
    fn a_span_beyond_the_classes_keeps_its_length_as_maximum() {
        let mut histogram = micros(1, 2);
        let ages = Duration::from_secs(1_000_000);
        histogram.record(ages);
        assert_eq!(histogram.max(), Some(ages));
        assert_eq!(histogram.quantile(1.0), Some(ages));
        assert_eq!(histogram.count_above(Duration::from_secs(1)), 1);
    }
}
