//! Comparison of two sets of independent values: whether they differ, and by how much.
//!
//! Difference of means by Welch (1947), or pair by pair where the values share random numbers
//! (Student 1908; common random numbers: Law 2015, section 11.2). Ratio of means by Fieller (1954).
//! Whole distributions by Mann and Whitney (1947), with the correction for ties.

use crate::interval::{Interval, normal_quantile, t_quantile};
use crate::summary::Summary;

/// A difference or a ratio, with its interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// Estimate: `a - b`, or `a / b`.
    pub value: f64,
    /// Confidence interval of the estimate.
    pub interval: Interval,
    /// Confidence level: 0.95 for 95 %.
    pub level: f64,
    /// Degrees of freedom after Welch and Satterthwaite; for pairs, the number of pairs minus one.
    pub degrees_of_freedom: f64,
}

/// Difference of two means, `a - b`, without assuming equal variances. `None` if either set has
/// fewer than two values.
#[must_use]
pub fn difference(a: &Summary, b: &Summary, level: f64) -> Option<Comparison> {
    let (a_error, b_error) = (squared_error(a)?, squared_error(b)?);
    let value = a.mean()? - b.mean()?;
    let degrees_of_freedom = welch_satterthwaite(a, a_error, b, b_error);
    let half_width = t_quantile(level, degrees_of_freedom) * (a_error + b_error).sqrt();
    let interval = Interval { low: value - half_width, high: value + half_width };
    Some(Comparison { value, interval, level, degrees_of_freedom })
}

/// Ratio of two means, `a / b`. `None` if either set has fewer than two values, or if `b` does not
/// differ significantly from zero, because the ratio is then unbounded.
#[must_use]
pub fn ratio(a: &Summary, b: &Summary, level: f64) -> Option<Comparison> {
    let (a_error, b_error) = (squared_error(a)?, squared_error(b)?);
    let (a_mean, b_mean) = (a.mean()?, b.mean()?);
    let value = a_mean / b_mean;
    // Welch's degrees of freedom for a - value x b.
    let degrees_of_freedom = welch_satterthwaite(a, a_error, b, value * value * b_error);
    let t = t_quantile(level, degrees_of_freedom);
    let shrink = t * t * b_error / (b_mean * b_mean);
    if b_mean == 0.0 || shrink >= 1.0 {
        return None;
    }
    let spread = (a_error * (1.0 - shrink) + value * value * b_error).max(0.0).sqrt();
    let half_width = t * spread / b_mean.abs() / (1.0 - shrink);
    let centre = value / (1.0 - shrink);
    let interval = Interval { low: centre - half_width, high: centre + half_width };
    Some(Comparison { value, interval, level, degrees_of_freedom })
}

/// Interval of a difference `a - b` from the intervals of both estimates, which may be asymmetric:
/// the method of variance estimates recovery (Newcombe 1998; Zou and Donner 2008).
#[must_use]
pub fn difference_of_intervals(
    a: f64,
    interval_of_a: Interval,
    b: f64,
    interval_of_b: Interval,
) -> Interval {
    let value = a - b;
    let below = (a - interval_of_a.low).hypot(interval_of_b.high - b);
    let above = (interval_of_a.high - a).hypot(b - interval_of_b.low);
    Interval { low: value - below, high: value + above }
}

/// Mean difference of pairs, `a - b`. Any effect common to both values of a pair cancels out.
/// `None` for fewer than two pairs.
#[must_use]
pub fn paired_difference(pairs: &[(f64, f64)], level: f64) -> Option<Comparison> {
    let apart: Summary = pairs.iter().map(|(a, b)| a - b).collect();
    let (value, error) = (apart.mean()?, squared_error(&apart)?);
    let degrees_of_freedom = (apart.count() - 1) as f64;
    let half_width = t_quantile(level, degrees_of_freedom) * error.sqrt();
    let interval = Interval { low: value - half_width, high: value + half_width };
    Some(Comparison { value, interval, level, degrees_of_freedom })
}

/// Ratio of the means of pairs, `a / b`. `None` for fewer than two pairs, or if `b` does not differ
/// significantly from zero.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)], level: f64) -> Option<Comparison> {
    let [a, b]: [Summary; 2] =
        [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()];
    let (a_error, b_error) = (squared_error(&a)?, squared_error(&b)?);
    let (a_mean, b_mean) = (a.mean()?, b.mean()?);
    let degrees_of_freedom = (a.count() - 1) as f64;
    let products: f64 = pairs.iter().map(|pair| (pair.0 - a_mean) * (pair.1 - b_mean)).sum();
    let shared = products / degrees_of_freedom / a.count() as f64;
    // The ends r solve (A - r B)^2 = t^2 (Va - 2 r Vab + r^2 Vb).
    let t_squared = t_quantile(level, degrees_of_freedom).powi(2);
    let square = b_mean * b_mean - t_squared * b_error;
    if b_mean == 0.0 || square <= 0.0 {
        return None;
    }
    let half = a_mean * b_mean - t_squared * shared;
    let constant = a_mean * a_mean - t_squared * a_error;
    let spread = (half * half - square * constant).max(0.0).sqrt();
    let interval = Interval { low: (half - spread) / square, high: (half + spread) / square };
    Some(Comparison { value: a_mean / b_mean, interval, level, degrees_of_freedom })
}

/// Squared standard error of the mean.
fn squared_error(values: &Summary) -> Option<f64> {
    Some(values.variance()? / values.count() as f64)
}

fn welch_satterthwaite(a: &Summary, a_error: f64, b: &Summary, b_error: f64) -> f64 {
    let (a_freedom, b_freedom) = ((a.count() - 1) as f64, (b.count() - 1) as f64);
    let spread = a_error * a_error / a_freedom + b_error * b_error / b_freedom;
    // Two constant sets have no spread; any number of degrees gives them a width of zero.
    if spread > 0.0 { (a_error + b_error).powi(2) / spread } else { a_freedom + b_freedom }
}

/// Result of the Mann-Whitney rank test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MannWhitney {
    /// Number of pairs in which `a` is greater; ties count one half.
    pub u: f64,
    /// `u` divided by the number of pairs: the probability that a value of `a` exceeds one of `b`.
    pub superiority: f64,
    /// Standard score of `u` under equal distributions; normal from about ten values each.
    pub z: f64,
}

impl MannWhitney {
    /// Returns true if equal distributions are rejected at this level (two-sided).
    #[must_use]
    pub fn is_different(&self, level: f64) -> bool {
        self.z.abs() > normal_quantile(0.5 + level / 2.0)
    }
}

/// Compares whole distributions by ranks. `None` if either set is empty or all values are equal.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    let mut ranked: Vec<(f64, bool)> =
        a.iter().map(|v| (*v, true)).chain(b.iter().map(|v| (*v, false))).collect();
    ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut rank_sum, mut ties, mut before) = (0.0, 0.0, 0.0);
    for tied in ranked.chunk_by(|one, other| one.0 == other.0) {
        let count = tied.len() as f64;
        let of_a = tied.iter().filter(|(_, is_a)| *is_a).count() as f64;
        rank_sum += of_a * (before + (count + 1.0) / 2.0);
        ties += count * (count * count - 1.0);
        before += count;
    }
    let (n_a, n_b) = (a.len() as f64, b.len() as f64);
    let n = n_a + n_b;
    let u = rank_sum - n_a * (n_a + 1.0) / 2.0;
    let variance = n_a * n_b / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    if a.is_empty() || b.is_empty() || variance <= 0.0 {
        return None;
    }
    let from_centre = u - n_a * n_b / 2.0;
    let corrected = (from_centre.abs() - 0.5).max(0.0).copysign(from_centre);
    Some(MannWhitney { u, superiority: u / (n_a * n_b), z: corrected / variance.sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn summary(values: &[f64]) -> Summary {
        values.iter().copied().collect()
    }

    #[track_caller]
    fn check_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-4, "{found}, not {expected}");
    }

    #[test]
    fn a_difference_of_shares_has_newcombes_interval() {
        // Newcombe 1998, table II, example (a): 56/70 - 48/80 by Wilson's intervals is 0.0524 to 0.3339.
        let (a, b) =
            (Interval { low: 0.6918, high: 0.8769 }, Interval { low: 0.4904, high: 0.7003 });
        let found = difference_of_intervals(0.8, a, 0.6, b);
        assert!(
            (found.low - 0.0524).abs() < 2e-4 && (found.high - 0.3339).abs() < 2e-4,
            "{found:?}"
        );
    }

    #[test]
    fn welch_by_hand() {
        // a = 1..5: mean 3, variance 2.5; b = 2, 4, 6, 8: mean 5, variance 20/3.
        // Squared errors 0.5 and 1.66667, together 2.16667. Degrees of freedom
        // 2.16667^2 / (0.5^2 / 4 + 1.66667^2 / 3) = 4.69444 / 0.988426 = 4.74941.
        let a = summary(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let b = summary(&[2.0, 4.0, 6.0, 8.0]);
        let found = difference(&a, &b, 0.95).unwrap();
        check_close(found.value, -2.0);
        check_close(found.degrees_of_freedom, 4.749_41);
        // t between t(4) = 2.7764 and t(5) = 2.5706.
        let t = (found.interval.high - found.value) / 2.166_67_f64.sqrt();
        assert!(2.5706 < t && t < 2.7764, "t = {t}");
        assert!(
            found.interval.contains(0.0),
            "four and five values are too few to show a difference"
        );
        assert_eq!(difference(&a, &summary(&[1.0]), 0.95), None);
    }

    #[test]
    fn pairs_by_hand() {
        // Differences 1, 2, 3: mean 2, variance 1, t(2) = 4.302653, half 4.302653 / sqrt 3 = 2.484138.
        let pairs = [(11.0, 10.0), (32.0, 30.0), (23.0, 20.0)];
        let found = paired_difference(&pairs, 0.95).unwrap();
        check_close(found.value, 2.0);
        check_close(found.interval.high, 4.484_138);
        // Unpaired, the spread of 10, 20 and 30 hides the difference.
        let [a, b] = [[11.0, 32.0, 23.0], [10.0, 30.0, 20.0]].map(|values| summary(&values));
        assert!(difference(&a, &b, 0.95).unwrap().interval.high > 20.0);
        assert_eq!(paired_difference(&pairs[..1], 0.95), None);
    }

    #[test]
    fn the_ends_of_a_paired_ratio_solve_their_equation() {
        // Means 365/3 and 350/3. Sums of squares and products about them: 734/3, 1400/3 and 1010/3.
        // Half of each is a variance, and a third of that is the variance of the mean. t(2)^2 =
        // 18.51282.
        let pairs = [(110.0, 100.0), (132.0, 130.0), (123.0, 120.0)];
        let found = paired_ratio(&pairs, 0.95).unwrap();
        check_close(found.value, 365.0 / 350.0);
        for r in [found.interval.low, found.interval.high] {
            let left = ((365.0 - r * 350.0) / 3.0_f64).powi(2);
            let right = 18.512_82 * (734.0 - 2.0 * r * 1_010.0 + r * r * 1_400.0) / 18.0;
            assert!((left - right).abs() < 1e-2, "{left} {right}");
        }
        // If every `a` is twice its `b`, the ratio is exactly 2.
        let twice = paired_ratio(&[(20.0, 10.0), (60.0, 30.0)], 0.95);
        assert!(twice.is_none_or(|it| (it.interval.high - 2.0).abs() < 1e-9));
        assert_eq!(paired_ratio(&[(1.0, 0.0), (2.0, 0.0)], 0.95), None);
    }

    #[test]
    fn a_ratio_to_a_known_number_is_a_scaled_mean() {
        // b is exactly 2, so that a / b has half the interval of a: 1.9632 / 2 on either side.
        let a = summary(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let found = ratio(&a, &summary(&[2.0, 2.0, 2.0]), 0.95).unwrap();
        check_close(found.value, 1.5);
        check_close(found.degrees_of_freedom, 4.0);
        check_close(found.interval.high, 1.5 + 1.963_24 / 2.0);
    }

    #[test]
    fn fieller_ends_solve_their_equation() {
        // Both ends r satisfy (A - r B)^2 = t^2 (Va + r^2 Vb).
        let a = summary(&[10.0, 11.0, 12.0, 13.0, 14.0]);
        let b = summary(&[5.0, 5.5, 4.5, 5.0]);
        let found = ratio(&a, &b, 0.95).unwrap();
        let t = t_quantile(0.95, found.degrees_of_freedom);
        for end in [found.interval.low, found.interval.high] {
            let left = (12.0 - end * 5.0_f64).powi(2);
            let right = t * t * (2.5 / 5.0 + end * end * (1.0 / 6.0) / 4.0);
            check_close(left, right);
        }
    }

    #[test]
    fn a_ratio_to_what_may_be_zero_is_unbounded() {
        let a = summary(&[1.0, 2.0, 3.0]);
        assert_eq!(ratio(&a, &summary(&[-1.0, 0.5, 1.0]), 0.95), None);
        assert_eq!(ratio(&a, &summary(&[0.0, 0.0]), 0.95), None);
    }

    #[test]
    fn ranks_by_hand() {
        // a = 1, 3, 5 and b = 2, 4: a exceeds b in (3,2) (5,2) (5,4), 3 of 6 pairs.
        let found = mann_whitney(&[1.0, 3.0, 5.0], &[2.0, 4.0]).unwrap();
        check_close(found.u, 3.0);
        assert!(found.z.abs() < 1e-12);
        // Ties count half: (1,1) and (2,2) halves, (2,1) whole: 2 of 4.
        check_close(mann_whitney(&[1.0, 2.0], &[1.0, 2.0]).unwrap().u, 2.0);
        assert_eq!(mann_whitney(&[1.0, 1.0], &[1.0]), None);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
    }

    #[test]
    fn ranks_see_a_shift_that_is_there() {
        // Uniform on [0, 1) against [0.5, 1.5): P(a > b) = 1/8.
        let mut stream = Stream::named(5, "shift");
        let a: Vec<f64> = (0..200).map(|_| stream.unit()).collect();
        let b: Vec<f64> = (0..200).map(|_| stream.unit() + 0.5).collect();
        let found = mann_whitney(&a, &b).unwrap();
        assert!(found.is_different(0.999));
        // The deviation of u / pairs is at most sqrt(1 / (4 x 200)) = 0.035.
        assert!((found.superiority - 0.125).abs() < 0.105, "{}", found.superiority);
    }
}
