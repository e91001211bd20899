//! Curves of one operation against size, and the line through each: fixed cost of a message, and
//! cost per octet.
//!
//! The experiment measures all sizes once per round. Each round has its own line, by least squares
//! through the medians of its sizes; a median is robust against the few repetitions that the host
//! disturbed. The intervals are those of the mean over rounds (Student's t), so they show the
//! difference to expect from another run on the same host in the same state. A single round, as of
//! a simulation without chance, has the intervals of its points about the line instead.

use super::{Measurement, Operation, Service};
use core::time::Duration;
use stats::histogram::Histogram;
use stats::interval::{self, Estimate};
use stats::regression::{LackOfFit, Line, lack_of_fit};
use stats::summary::Summary;

/// Confidence of the intervals.
pub const LEVEL: f64 = 0.95;
/// Probability below which chance does not explain the deviations from a line.
pub const DOUBT: f64 = 0.01;

/// Share below which a deviation is ignored: medians have three digits.
pub const RESOLUTION: f64 = 0.001;

/// Operation with a choice of services, at several sizes.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Operation.
    pub operation: Operation,
    /// Service options.
    pub service: Service,
    /// Measurements at each size, over all rounds, in rising order.
    pub measurements: Vec<Measurement>,
    /// Medians of each round in nanoseconds, in the order of the measurements.
    pub medians: Vec<Vec<f64>>,
    /// Line through them; none for fewer than two sizes.
    pub fit: Option<Fit>,
}

/// Basis of the intervals of a fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Lines of this number of rounds.
    Rounds(usize),
    /// Distances of this number of sizes from one line; two sizes have no intervals.
    Sizes(usize),
}

/// Line through the medians.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// Cost of a message of no octets, in nanoseconds.
    pub intercept: Estimate,
    /// Cost per octet, in nanoseconds.
    pub slope: Estimate,
    /// Basis of the intervals.
    pub basis: Basis,
    /// Lack-of-fit test, if possible.
    pub lack: Option<LackOfFit>,
    /// Greatest distance of the curve from the line.
    pub worst: Departure,
}

/// Distance of a curve from its line at one size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Departure {
    /// Size.
    pub octets: usize,
    /// Median minus line, in nanoseconds, averaged over rounds.
    pub nanos: f64,
    /// Distance as a share of the line.
    pub share: f64,
}

impl Fit {
    /// True if the medians are further from a line than chance explains: there are steps or knees,
    /// and the line is only a summary. `None` if there is no estimate of chance.
    #[must_use]
    pub fn is_doubtful(&self) -> Option<bool> {
        let is_seen = self.worst.share.abs() > RESOLUTION;
        self.lack.map(|lack| lack.probability < DOUBT && is_seen)
    }

    /// Value of the line at a size, in nanoseconds.
    #[must_use]
    pub fn at(&self, octets: usize) -> f64 {
        self.intercept.mean + self.slope.mean * octets as f64
    }

    /// Line of these rounds, each with a median in nanoseconds for each size.
    pub(super) fn of(sizes: &[usize], rounds: &[Vec<f64>]) -> Option<Self> {
        let x: Vec<f64> = sizes.iter().map(|octets| *octets as f64).collect();
        let points =
            |ys: &[f64]| -> Vec<(f64, f64)> { x.iter().copied().zip(ys.iter().copied()).collect() };
        let lines: Vec<Line> = rounds.iter().filter_map(|ys| Line::through(&points(ys))).collect();
        let only = *lines.first()?;
        let over = |of: fn(&Line) -> f64| interval::mean(&lines.iter().map(of).collect(), LEVEL);
        let several = over(|line| line.intercept).zip(over(|line| line.slope));
        let bare = |mean| Estimate { mean, half_width: f64::NAN, level: LEVEL, n: only.n };
        let (intercept, slope) = several.unwrap_or_else(|| {
            (
                only.intercept_estimate(LEVEL).unwrap_or(bare(only.intercept)),
                only.slope_estimate(LEVEL).unwrap_or(bare(only.slope)),
            )
        });
        let basis = match lines.len() {
            1 => Basis::Sizes(sizes.len()),
            rounds => Basis::Rounds(rounds),
        };
        let at = |octets: usize| intercept.mean + slope.mean * octets as f64;
        let departures = sizes.iter().enumerate().map(|(place, octets)| {
            let here: Summary = rounds.iter().filter_map(|ys| ys.get(place).copied()).collect();
            let nanos = here.mean().unwrap_or(f64::NAN) - at(*octets);
            Departure { octets: *octets, nanos, share: share(nanos, at(*octets)) }
        });
        let worst = departures.max_by(|a, b| a.nanos.abs().total_cmp(&b.nanos.abs()))?;
        Some(Self { intercept, slope, basis, lack: lack_of_fit(&x, rounds), worst })
    }
}

/// Distance from a line as a share of it. An operation without cost is on its line of zeros.
fn share(distance: f64, line: f64) -> f64 {
    if distance == 0.0 { 0.0 } else { distance / line }
}

impl Curve {
    /// Curve of rounds that measured one operation and service at the same sizes; none without
    /// rounds. A round that lacks a size, because it was interrupted, is not used.
    #[must_use]
    pub fn of_rounds(mut rounds: Vec<Vec<Measurement>>) -> Option<Self> {
        let octets = |round: &Vec<Measurement>| -> Vec<usize> {
            round.iter().map(|measurement| measurement.octets).collect()
        };
        rounds.iter_mut().for_each(|round| round.sort_by_key(|measurement| measurement.octets));
        let sizes = octets(rounds.first()?);
        rounds.retain(|round| octets(round) == sizes);
        let medians: Vec<Vec<f64>> = rounds
            .iter()
            .map(|round| round.iter().map(|one| median_nanos(&one.times)).collect())
            .collect();
        let fit = Fit::of(&sizes, &medians);
        let mut rounds = rounds.into_iter();
        let mut measurements = rounds.next()?;
        for round in rounds {
            measurements.iter_mut().zip(&round).for_each(|(sum, one)| add(sum, one));
        }
        let Measurement { operation, service, .. } = *measurements.first()?;
        Some(Self { operation, service, measurements, medians, fit })
    }

    /// Measurement at a size.
    #[must_use]
    pub fn at(&self, octets: usize) -> Option<&Measurement> {
        self.measurements.iter().find(|measurement| measurement.octets == octets)
    }
}

/// Median in nanoseconds, to the three digits of the histogram; exact if all times are equal.
#[must_use]
pub fn median_nanos(times: &Histogram) -> f64 {
    times.quantile(0.5).map_or(f64::NAN, |median| median.as_nanos() as f64)
}

/// Adds the measurement of another round; processor times are means, weighted by count.
fn add(sum: &mut Measurement, one: &Measurement) {
    let (before, more) = (sum.times.count() as f64, one.times.count() as f64);
    sum.processor = sum.processor.zip(one.processor).map(|(a, b)| {
        let seconds = (a.as_secs_f64() * before + b.as_secs_f64() * more) / (before + more);
        Duration::from_secs_f64(seconds)
    });
    sum.times.merge(&one.times);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 5] = [100, 200, 300, 400, 500];

    fn round(time_nanos: impl Fn(usize) -> u64) -> Vec<Measurement> {
        let one = |octets| {
            let mut times = Histogram::new();
            times.record_nanos(time_nanos(octets), 9);
            // One in ten is disturbed: the mean moves, the median does not.
            times.record_nanos(1_000_000, 1);
            Measurement {
                operation: Operation::MacTransmit,
                service: Service::default(),
                octets,
                times,
                processor: Some(Duration::from_nanos(time_nanos(octets))),
            }
        };
        SIZES.map(one).into()
    }

    #[test]
    fn rounds_give_the_mean_of_their_lines_and_its_t_interval() {
        // Lines 1000 + 2 x and 1040 + 2 x: mean 1020, deviation sqrt(800), t(1) = 12.7062 for 95 %,
        // so the half-width is 12.7062 x sqrt(800) / sqrt(2) = 254.124.
        let rounds = vec![
            round(|octets| 1_000 + 2 * octets as u64),
            round(|octets| 1_040 + 2 * octets as u64),
        ];
        let curve = Curve::of_rounds(rounds).unwrap();
        let fit = curve.fit.unwrap();
        // The histogram has three digits: 2 in 2,000.
        assert!((fit.intercept.mean - 1_020.0).abs() < 3.0, "{fit:?}");
        assert!((fit.intercept.half_width - 254.124).abs() < 30.0, "{fit:?}");
        assert!((fit.slope.mean - 2.0).abs() < 0.01, "{fit:?}");
        assert_eq!(fit.basis, Basis::Rounds(2));
        let first = curve.at(100).unwrap();
        assert_eq!(first.times.count(), 20);
        assert_eq!(first.processor, Some(Duration::from_nanos(1_220)));
        assert!((fit.at(250) - 1_520.0).abs() < 3.0);
    }

    #[test]
    fn a_knee_is_detected_at_its_size() {
        // Flat up to 300, then 10 for each octet: no line. Rounds differ by a few nanoseconds.
        let knee = |octets: usize| 1_000 + 10 * octets.saturating_sub(300) as u64;
        let with =
            |noise: u64| round(move |octets| knee(octets) + noise * (octets as u64 / 100 % 3));
        let fit = Curve::of_rounds(vec![with(0), with(1), with(2)]).unwrap().fit.unwrap();
        assert_eq!(fit.is_doubtful(), Some(true), "{fit:?}");
        // Least squares through 1000, 1000, 1000, 2000, 3000: 100 + 5 x, so 1600 at 300.
        assert_eq!(fit.worst.octets, 300);
        assert!((fit.worst.nanos + 600.0).abs() < 6.0, "{fit:?}");
        assert!((fit.worst.share + 0.375).abs() < 0.005, "{fit:?}");
    }

    #[test]
    fn a_deviation_below_the_resolution_is_no_lack_of_fit() {
        // A step of 800 ns in 1 ms is less than a thousandth, and ignored however small the noise.
        let step = |octets: usize| 1_000_000 + if octets < 300 { 0 } else { 800 };
        let of = |noise: u64| -> Vec<f64> {
            SIZES
                .iter()
                .map(|octets| (step(*octets) + noise * (*octets as u64 / 100 % 2)) as f64)
                .collect()
        };
        let fit = Fit::of(&SIZES, &[of(0), of(1), of(2)]).unwrap();
        assert!(fit.lack.unwrap().probability < DOUBT, "{fit:?}");
        assert_eq!(fit.is_doubtful(), Some(false));
    }

    #[test]
    fn one_round_has_intervals_of_its_points_and_no_test_of_fit() {
        let fit = Curve::of_rounds(vec![round(|octets| 500 + octets as u64)]).unwrap().fit.unwrap();
        assert_eq!((fit.basis, fit.is_doubtful()), (Basis::Sizes(5), None));
        assert!((fit.slope.mean - 1.0).abs() < 0.01);
        assert!(fit.slope.half_width < 0.02, "{fit:?}");
    }

    #[test]
    fn an_operation_without_cost_is_on_its_line() {
        let free = || round(|_| 0);
        let fit = Curve::of_rounds(vec![free(), free()]).unwrap().fit.unwrap();
        assert_eq!((fit.worst.nanos, fit.worst.share), (0.0, 0.0), "0 of 0 is no deviation");
    }

    #[test]
    fn an_interrupted_round_is_not_used_and_no_rounds_give_no_curve() {
        let mut short = round(|_| 7);
        short.pop();
        let whole = || round(|octets| octets as u64);
        let curve = Curve::of_rounds(vec![whole(), short, whole()]).unwrap();
        assert_eq!(curve.fit.unwrap().basis, Basis::Rounds(2));
        assert!(Curve::of_rounds(Vec::new()).is_none());
        assert!(Curve::of_rounds(vec![Vec::new()]).is_none());
    }
}
