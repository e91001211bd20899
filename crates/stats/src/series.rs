//! Values over time, in bounded memory: when there are too many bins, each pair is merged into one.

use core::time::Duration;

/// Largest number of bins of a series.
pub const BINS: usize = 1_024;

/// Sums of values in equal bins of time from an origin.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    width: Duration,
    sums: Vec<f64>,
}

impl Series {
    /// Creates an empty series; a width of zero counts as one nanosecond.
    #[must_use]
    pub fn new(width: Duration) -> Self {
        Self { width: width.max(Duration::from_nanos(1)), sums: Vec::new() }
    }

    /// Adds a value at `after` from the origin. If the series would exceed [`BINS`], the bins
    /// become wider.
    pub fn add(&mut self, after: Duration, value: f64) {
        while self.bin(after) >= BINS as u128 {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.width = self.width.saturating_mul(2);
        }
        let bin = self.bin(after) as usize;
        if self.sums.len() <= bin {
            self.sums.resize(bin + 1, 0.0);
        }
        if let Some(sum) = self.sums.get_mut(bin) {
            *sum += value;
        }
    }

    /// Time covered by each bin.
    #[must_use]
    pub const fn width(&self) -> Duration {
        self.width
    }

    /// Sum of each bin, from the origin on.
    #[must_use]
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    fn bin(&self, after: Duration) -> u128 {
        after.as_nanos() / self.width.as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_their_bins() {
        let mut series = Series::new(Duration::from_millis(10));
        for (at, value) in [(0, 1.0), (9, 2.0), (10, 4.0), (35, 8.0)] {
            series.add(Duration::from_millis(at), value);
        }
        assert_eq!(series.sums(), [3.0, 4.0, 0.0, 8.0]);
    }

    #[test]
    fn a_long_series_widens_its_bins_and_loses_nothing() {
        let mut series = Series::new(Duration::from_secs(1));
        (0..5_000).for_each(|second| series.add(Duration::from_secs(second), 1.0));
        // 5,000 s into at most 1,024 bins: 8 s each, 625 of them.
        assert_eq!(series.width(), Duration::from_secs(8));
        assert_eq!(series.sums().len(), 625);
        assert!(series.sums().iter().all(|sum| (sum - 8.0).abs() < f64::EPSILON));
    }
}
