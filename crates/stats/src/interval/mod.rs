//! Confidence intervals of estimates.
//!
//! Means of independent values by Student's t; means of one correlated run by batch means, accepted
//! by von Neumann's ratio (Fishman 1978); shares by Clopper and Pearson (1934); any other statistic
//! by the percentile bootstrap (Efron 1979).

use crate::memo::Memo;
use crate::rng::Stream;
use crate::summary::Summary;
use core::fmt;
use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};
use statrs::function::beta::beta_reg;
use std::cell::RefCell;

thread_local! {
    /// Quantiles of Student's t by level and degrees of freedom.
    static T_QUANTILES: RefCell<Memo<2, f64>> = const { RefCell::new(Memo::new()) };
    /// Intervals of proportions by events, trials and level.
    static PROPORTIONS: RefCell<Memo<3, Interval>> = const { RefCell::new(Memo::new()) };
}

/// A mean and the half-width of its confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Estimated mean.
    pub mean: f64,
    /// Half of the interval, which reaches from `mean - half_width` to `mean + half_width`.
    pub half_width: f64,
    /// Confidence level: 0.95 for 95 %.
    pub level: f64,
    /// Number of independent values behind the estimate: replications, or batches.
    pub n: u64,
}

impl Estimate {
    /// Returns the confidence interval.
    #[must_use]
    pub fn interval(&self) -> Interval {
        Interval { low: self.mean - self.half_width, high: self.mean + self.half_width }
    }

    /// Converts to another unit: nanoseconds times 10^-6 are milliseconds.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { mean: self.mean * factor, half_width: self.half_width * factor.abs(), ..self }
    }

    /// Returns true if the relative error is at most `error` with this confidence. This is the
    /// sequential rule of Law and Kelton, t s / sqrt(n) <= e / (1 + e) |mean|.
    #[must_use]
    pub fn is_within(&self, error: f64) -> bool {
        self.half_width <= error / (1.0 + error) * self.mean.abs()
    }
}

impl fmt::Display for Estimate {
    /// Prints `4.1 ± 0.2 (95 %, n = 20)`, with as many decimals as the half-width supports unless
    /// the precision is given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or_else(|| decimals(self.mean, self.half_width));
        let Self { mean, half_width, level, n } = self;
        let percent = level * 100.0;
        write!(f, "{mean:.decimals$} ± {half_width:.decimals$} ({percent} %, n = {n})")
    }
}

/// Number of decimals that show the leading digit of the half-width, and the next digit if the
/// first is a 1. A half-width of less than a millionth of the mean is rounding error, not chance.
fn decimals(mean: f64, half_width: f64) -> usize {
    let significant = half_width.is_finite() && half_width > mean.abs() * 1e-6;
    let (size, more) = match (significant, mean == 0.0) {
        (true, _) => (half_width, usize::from(leads_with_one(half_width))),
        (false, true) => return 0,
        (false, false) => (mean.abs(), 3),
    };
    let place = size.log10().floor();
    if place >= 0.0 { more.saturating_sub(place as usize) } else { (-place) as usize + more }
}

fn leads_with_one(value: f64) -> bool {
    value / 10_f64.powf(value.log10().floor()) < 1.95
}

/// Closed interval: both ends are included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Returns true if the interval includes the value.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Two-sided quantile of Student's t: a variable with `degrees_of_freedom` degrees of freedom
/// exceeds it in absolute value with probability 1 - level.
#[must_use]
pub fn t_quantile(level: f64, degrees_of_freedom: f64) -> f64 {
    T_QUANTILES.with_borrow_mut(|known| {
        known.value([level.to_bits(), degrees_of_freedom.to_bits()], || {
            let t = StudentsT::new(0.0, 1.0, degrees_of_freedom);
            let t = t.expect("degrees of freedom are positive");
            upper_quantile(0.5 + level / 2.0, |x| t.cdf(x))
        })
    })
}

/// Quantile of the standard normal distribution: a variable stays below it with this probability.
#[must_use]
pub fn normal_quantile(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(probability)
}

/// Returns the point where a distribution function on [0, infinity) reaches a probability, to
/// within the last few bits.
fn upper_quantile(probability: f64, cdf: impl Fn(f64) -> f64) -> f64 {
    let mut high = 1.0;
    while cdf(high) < probability && high < 1e300 {
        high *= 2.0;
    }
    bisect(0.0, high, |x| cdf(x) >= probability)
}

/// Returns the point between `low` and `high` from which on a condition holds.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// Mean of independent values with its t interval; `None` for fewer than two values.
#[must_use]
pub fn mean(values: &Summary, level: f64) -> Option<Estimate> {
    let n = values.count();
    let deviation = values.standard_deviation()?;
    let half_width = t_quantile(level, (n - 1) as f64) * deviation / (n as f64).sqrt();
    Some(Estimate { mean: values.mean()?, half_width, level, n })
}

/// Estimates a statistic of all observations together, such as a quantile, with a t interval by
/// sectioning. The spread is that of the same statistic over sections, independent and identically
/// distributed, about its value for the whole (Asmussen and Glynn, Stochastic Simulation, 2007,
/// III.5). `None` for fewer than two sections. If the sections are so small that the statistic is
/// biased in them, the interval widens.
#[must_use]
pub fn sections(whole: f64, sections: &Summary, level: f64) -> Option<Estimate> {
    let n = sections.count();
    let (mean, variance) = (sections.mean()?, sections.variance()?);
    let (count, freedom) = (n as f64, (n - 1) as f64);
    let about_whole = variance + count / freedom * (mean - whole).powi(2);
    let half_width = t_quantile(level, freedom) * (about_whole / count).sqrt();
    Some(Estimate { mean: whole, half_width, level, n })
}

/// Reason why a single run gives no interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchError {
    /// Fewer than 40 observations.
    TooFew,
    /// Twenty batches are still correlated: the run is too short for its correlation.
    Correlated,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooFew => "fewer than 40 observations",
            Self::Correlated => "the run is too short for its correlation",
        })
    }
}

impl core::error::Error for BatchError {}

/// Mean of one stationary run of correlated observations, from 40 batches, or from 20 if von
/// Neumann's ratio rejects 40 at 10 %. Observations that do not fill a batch are cut from the
/// start.
///
/// # Errors
/// [`BatchError::TooFew`] below 40 observations; [`BatchError::Correlated`] if 20 batches are
/// rejected too.
pub fn batch_means(observations: &[f64], level: f64) -> Result<Estimate, BatchError> {
    if observations.len() < 40 {
        return Err(BatchError::TooFew);
    }
    for batches in [40, 20] {
        let size = observations.len() / batches;
        let kept = observations.get(observations.len() - size * batches..).unwrap_or_default();
        let means: Vec<f64> =
            kept.chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64).collect();
        if !is_correlated(&means) {
            let summary: Summary = means.into_iter().collect();
            return mean(&summary, level).ok_or(BatchError::TooFew);
        }
    }
    Err(BatchError::Correlated)
}

/// Tests the batch means for positive correlation at 10 %, by von Neumann's ratio of successive
/// differences.
fn is_correlated(means: &[f64]) -> bool {
    let summary: Summary = means.iter().copied().collect();
    let (Some(centre), Some(variance)) = (summary.mean(), summary.variance()) else { return false };
    // Rounding alone makes the batches of a constant run differ in the last bits.
    if variance.sqrt() <= centre.abs() * 1e-12 {
        return false;
    }
    let k = means.len() as f64;
    let differences: f64 =
        means.iter().zip(means.iter().skip(1)).map(|(a, b)| (a - b).powi(2)).sum();
    let ratio = differences / (variance * (k - 1.0));
    // 1 - ratio / 2 is about normal with variance (k - 2) / (k^2 - 1) if there is no correlation.
    let score = (1.0 - ratio / 2.0) * ((k * k - 1.0) / (k - 2.0)).sqrt();
    score > normal_quantile(0.90)
}

/// Number of events in a number of trials, with the interval of the event's probability.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Proportion {
    /// Number of events.
    pub events: u64,
    /// Number of trials.
    pub trials: u64,
    /// Exact interval of Clopper and Pearson.
    pub interval: Interval,
    /// Confidence level of the interval.
    pub level: f64,
}

/// Estimates the probability of an event from its count in independent trials. If no event was
/// observed, the interval still has an upper bound; without trials it is 0 to 1.
#[must_use]
pub fn proportion(events: u64, trials: u64, level: f64) -> Proportion {
    let events = events.min(trials);
    let interval = PROPORTIONS.with_borrow_mut(|known| {
        known
            .value([events, trials, level.to_bits()], || proportion_interval(events, trials, level))
    });
    Proportion { events, trials, interval, level }
}

/// Interval of Clopper and Pearson.
fn proportion_interval(events: u64, trials: u64, level: f64) -> Interval {
    let tail = (1.0 - level) / 2.0;
    // At the lower end P(B >= events) = tail, at the upper end P(B <= events) = tail.
    let low = if events == 0 {
        0.0
    } else {
        bisect(0.0, 1.0, |p| 1.0 - binomial_below(events, trials, p) >= tail)
    };
    let high = if events == trials {
        1.0
    } else {
        bisect(0.0, 1.0, |p| binomial_below(events + 1, trials, p) <= tail)
    };
    Interval { low, high }
}

impl Proportion {
    /// Observed share of events; `None` without trials.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.events as f64 / self.trials as f64)
    }
}

impl fmt::Display for Proportion {
    /// Prints `3 of 500 (0.0012 to 0.017, 95 %)`, or `0 of 500 (at most 0.0074, 95 %)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { events, trials, interval: Interval { low, high }, level } = self;
        let two_digits = |value: f64| {
            let place = if value > 0.0 { value.log10().floor() } else { 0.0 };
            let decimals = if place < 1.0 { (1.0 - place) as usize } else { 0 };
            format!("{value:.decimals$}")
        };
        write!(f, "{events} of {trials} (")?;
        if *events == 0 {
            write!(f, "at most {}", two_digits(*high))?;
        } else {
            write!(f, "{} to {}", two_digits(*low), two_digits(*high))?;
        }
        write!(f, ", {} %)", level * 100.0)
    }
}

/// Probability that fewer than `events` of `trials` independent trials succeed.
#[must_use]
pub fn binomial_below(events: u64, trials: u64, probability: f64) -> f64 {
    if events == 0 {
        return 0.0;
    }
    if events > trials || probability <= 0.0 {
        return 1.0;
    }
    if probability >= 1.0 {
        return 0.0;
    }
    beta_reg((trials - events + 1) as f64, events as f64, 1.0 - probability)
}

/// Median of independent values with a distribution-free interval: two order statistics.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Median {
    /// Median of the values.
    pub median: f64,
    /// Lower end of the interval, a value itself.
    pub low: f64,
    /// Upper end of the interval, a value itself.
    pub high: f64,
    /// Rank of both ends: `low` is the value of this rank from below, `high` from above.
    pub rank: usize,
    /// Probability that the interval contains the median of the distribution.
    pub coverage: f64,
    /// Number of values.
    pub n: usize,
}

/// Returns the rank of the ends of a median's interval, counted from either end of `n` values, and
/// its coverage. It is the narrowest symmetric interval that covers at least `level`, or else the
/// range of all values (W. J. Conover, Practical Nonparametric Statistics, 1999, section 3.2). Five
/// values cover at most 1 - 2 / 2^5 = 93.75 %. `None` without values.
#[must_use]
pub fn median_rank(n: usize, level: f64) -> Option<(usize, f64)> {
    // The interval misses if fewer than `rank` values lie on one side of the median.
    let coverage = |rank: usize| 1.0 - 2.0 * binomial_below(rank as u64, n as u64, 0.5);
    let ranks = (1..=n.div_ceil(2)).map(|rank| (rank, coverage(rank)));
    ranks.take_while(|(rank, coverage)| *rank == 1 || *coverage >= level).last()
}

/// Median of values with its interval, after [`median_rank`]. `None` without values.
#[must_use]
pub fn median(values: &[f64], level: f64) -> Option<Median> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let (rank, coverage) = median_rank(n, level)?;
    let at = |place: usize| values.get(place).copied();
    Some(Median {
        median: at((n - 1) / 2)?.midpoint(at(n / 2)?),
        low: at(rank - 1)?,
        high: at(n - rank)?,
        rank,
        coverage,
        n,
    })
}

/// Interval in which the median of as many further values lies with probability `level`, if all
/// values are independent, normal and of one mean and variance: the median of `values`, more or less
///
/// ```text
/// t(n - 1) s sqrt(2 v / n),  v = pi / 2
/// ```
///
/// The variance of a median is v s^2 / n, with v below pi / 2 = 1.571 and close to it for many
/// values (1.434 for five), and two medians differ by the sum of their variances. With v = 1 it is
/// the prediction interval of a mean (G. J. Hahn and W. Q. Meeker, Statistical Intervals, 1991,
/// section 4.8). `None` for fewer than two values.
#[must_use]
pub fn repeated_median(values: &[f64], level: f64) -> Option<Interval> {
    let n = values.len();
    let summary: Summary = values.iter().copied().collect();
    let deviation = summary.standard_deviation()?;
    let Median { median, .. } = median(values, level)?;
    let quantile = t_quantile(level, (n - 1) as f64);
    let half_width = quantile * deviation * (core::f64::consts::PI / n as f64).sqrt();
    Some(Interval { low: median - half_width, high: median + half_width })
}

/// Percentile bootstrap: the middle `level` of the values of a statistic over `resamples` draws
/// with replacement. `None` without values or resamples.
#[must_use]
pub fn bootstrap(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    resamples: usize,
    level: f64,
    stream: &mut Stream,
) -> Option<Interval> {
    let n = u64::try_from(values.len()).ok()?;
    let mut resample = values.to_vec();
    let mut found: Vec<f64> = (0..resamples)
        .map(|_| {
            for slot in &mut resample {
                *slot = values.get(stream.below(n) as usize).copied().unwrap_or(f64::NAN);
            }
            statistic(&resample)
        })
        .collect();
    found.sort_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    let at =
        |share: f64| found.get((share * (found.len().checked_sub(1)?) as f64).round() as usize);
    if values.is_empty() {
        return None;
    }
    Some(Interval { low: *at(tail)?, high: *at(1.0 - tail)? })
}

#[cfg(test)]
mod tests;
