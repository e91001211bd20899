//! Means of successive batches of a run, in bounded memory.
//!
//! Pairs of batches are merged into one when there are too many: the doubling of Heidelberger and
//! Welch (1981).

/// Largest number of batches kept.
pub const MOST: usize = 1_024;

/// Sums of successive values in batches of equal size.
#[derive(Clone, PartialEq, Debug)]
pub struct Batches {
    /// Values in each whole batch.
    size: u64,
    sums: Vec<f64>,
    /// Batch still being filled: number of values and their sum.
    begun: (u64, f64),
}

impl Batches {
    /// Creates an empty series of batches with one value per batch.
    #[must_use]
    pub const fn new() -> Self {
        Self { size: 1, sums: Vec::new(), begun: (0, 0.0) }
    }

    /// Adds the next value.
    pub fn add(&mut self, value: f64) {
        let (count, sum) = self.begun;
        self.begun = (count + 1, sum + value);
        if self.begun.0 < self.size {
            return;
        }
        self.sums.push(self.begun.1);
        self.begun = (0, 0.0);
        if self.sums.len() >= MOST {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.size *= 2;
        }
    }

    /// Number of values in each whole batch.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the means of the whole batches, in order. An unfinished batch is left out.
    #[must_use]
    pub fn means(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| sum / self.size as f64).collect()
    }
}

impl Default for Batches {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::batch_means;
    use crate::rng::Stream;

    #[test]
    fn batches_double_when_there_are_too_many() {
        let mut batches = Batches::new();
        (0..1_023).for_each(|value| batches.add(f64::from(value)));
        assert_eq!((batches.size(), batches.means().len()), (1, 1_023));
        // The 1,024th makes 512 of two: 0.5, 2.5, ...; 3 further values make one more.
        (1_023..1_027).for_each(|value| batches.add(f64::from(value)));
        assert_eq!((batches.size(), batches.means().len()), (2, 513));
        assert_eq!(batches.means()[..2], [0.5, 2.5]);
        assert_eq!(batches.means()[512], 1_024.5);
    }

    #[test]
    fn batch_mean_intervals_of_a_correlated_run_cover_at_95_percent() {
        // AR(1) with coefficient 0.8 about 10: 400 runs of 20,000 values, in batches of 32. With 40
        // batches, a tenth of the runs is taken to be correlated by chance; with 20, at most half
        // of those. Of n intervals at 95 %, 0.95 n contain the mean, give or take three times
        // sqrt(0.0475 n).
        let (mut held, mut given) = (0_u32, 0_u32);
        for run in 0..400 {
            let mut stream = Stream::named(0x5EED_0A21, &format!("run/{run}"));
            let (mut batches, mut value) = (Batches::new(), 0.0);
            for _ in 0..20_000 {
                value = 0.8 * value + stream.unit() - 0.5;
                batches.add(10.0 + value);
            }
            assert_eq!(batches.size(), 32);
            let Ok(estimate) = batch_means(&batches.means(), 0.95) else { continue };
            given += 1;
            held += u32::from(estimate.interval().contains(10.0));
        }
        println!("seen: {held} of {given} intervals by batch means hold the mean");
        assert!(given >= 380, "{given} of 400 runs have an interval");
        let (expected, deviation) = (0.95 * f64::from(given), (0.0475 * f64::from(given)).sqrt());
        assert!((f64::from(held) - expected).abs() < 3.0 * deviation, "{held} of {given}");
    }
}
