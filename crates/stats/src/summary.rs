//! Count, mean, variance and extremes of values in one pass (Welford 1962; merging after Chan,
//! Golub and LeVeque 1983).

/// Running statistics of values added one at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    count: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Summary {
    /// Creates a summary without values.
    #[must_use]
    pub const fn new() -> Self {
        Self { count: 0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }

    /// Adds one value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let from_old_mean = value - self.mean;
        self.mean += from_old_mean / self.count as f64;
        self.squares += from_old_mean * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of another summary. The last bits depend on the order of merging.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (ours, theirs) = (self.count as f64, other.count as f64);
        let apart = other.mean - self.mean;
        self.count += other.count;
        self.mean += apart * theirs / (ours + theirs);
        self.squares += other.squares + apart * apart * ours * theirs / (ours + theirs);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Mean; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Sample variance (divisor n - 1); `None` for fewer than two values.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }

    /// Square root of the sample variance.
    #[must_use]
    pub fn standard_deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// Smallest value.
    #[must_use]
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest value.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }
}

impl Default for Summary {
    fn default() -> Self {
        Self::new()
    }
}

impl FromIterator<f64> for Summary {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut summary = Self::new();
        values.into_iter().for_each(|value| summary.add(value));
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_values_by_hand() {
        // Sum 40, mean 5; squared distances 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32, over 7.
        let summary: Summary = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().collect();
        assert_eq!(summary.count(), 8);
        assert_eq!(summary.mean(), Some(5.0));
        assert!((summary.variance().unwrap() - 32.0 / 7.0).abs() < 1e-14);
        assert_eq!((summary.min(), summary.max()), (Some(2.0), Some(9.0)));
    }

    #[test]
    fn a_large_offset_does_not_spoil_the_variance() {
        // 2,000 values, each 1/8 from their mean of 10^9: squares sum to 2,000 / 64, over 1,999.
        let summary: Summary =
            (0..2_000).map(|i| 1e9 + if i % 2 == 0 { -0.125 } else { 0.125 }).collect();
        let expected = 2_000.0 * 0.015_625 / 1_999.0;
        assert!((summary.variance().unwrap() / expected - 1.0).abs() < 1e-9);
    }

    #[test]
    fn merging_parts_gives_the_whole() {
        let whole: Summary = (0..100).map(f64::from).collect();
        let mut parts: Summary = (0..37).map(f64::from).collect();
        parts.merge(&(37..100).map(f64::from).collect());
        parts.merge(&Summary::new());
        // Mean of 0..=99 is 49.5, variance 100 x 101 / 12.
        assert_eq!((parts.count(), parts.min(), parts.max()), (100, Some(0.0), Some(99.0)));
        for summary in [whole, parts] {
            assert!((summary.mean().unwrap() - 49.5).abs() < 1e-12);
            assert!((summary.variance().unwrap() - 100.0 * 101.0 / 12.0).abs() < 1e-9);
        }
    }

    #[test]
    fn too_few_values_have_no_mean_or_variance() {
        assert_eq!(Summary::new().mean(), None);
        let one: Summary = [3.0].into_iter().collect();
        assert_eq!((one.mean(), one.variance()), (Some(3.0), None));
    }
}
