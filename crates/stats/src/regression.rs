//! Straight lines through points: least squares, confidence intervals, and a test for lack of fit.

use crate::interval::{Estimate, t_quantile};
use statrs::function::beta::beta_reg;

/// Line by ordinary least squares, y on x.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Line {
    /// Value of y at x = 0.
    pub intercept: f64,
    /// Growth of y per unit of x.
    pub slope: f64,
    /// Standard deviation of the points about the line, with n - 2 degrees of freedom; `None` for
    /// two points, because these always lie on it.
    pub deviation: Option<f64>,
    /// Number of points.
    pub n: u64,
    centre: f64,
    /// Sum of the squared distances of the x from their mean.
    squares: f64,
}

impl Line {
    /// Fits a line through these points; `None` for fewer than two different x.
    #[must_use]
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (centre, height) = (mean(|point| point.0), mean(|point| point.1));
        let squares: f64 = points.iter().map(|(x, _)| (x - centre).powi(2)).sum();
        if points.len() < 2 || squares <= 0.0 {
            return None;
        }
        let products: f64 = points.iter().map(|(x, y)| (x - centre) * (y - height)).sum();
        let slope = products / squares;
        let intercept = height - slope * centre;
        let left: f64 = points.iter().map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
        let deviation = (points.len() > 2).then(|| (left / (n - 2.0)).sqrt());
        let n = points.len() as u64;
        Some(Self { intercept, slope, deviation, n, centre, squares })
    }

    /// Value of the line at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// Intercept with its t interval, for points that scatter about a line independently and with
    /// equal variance; `None` for two points.
    #[must_use]
    pub fn intercept_estimate(&self, level: f64) -> Option<Estimate> {
        let error = (1.0 / self.n as f64 + self.centre.powi(2) / self.squares).sqrt();
        self.estimate(self.intercept, error, level)
    }

    /// Slope with its t interval, under the conditions of [`Line::intercept_estimate`].
    #[must_use]
    pub fn slope_estimate(&self, level: f64) -> Option<Estimate> {
        self.estimate(self.slope, self.squares.sqrt().recip(), level)
    }

    fn estimate(&self, mean: f64, error: f64, level: f64) -> Option<Estimate> {
        let deviation = self.deviation?;
        let half_width = t_quantile(level, (self.n - 2) as f64) * error * deviation;
        Some(Estimate { mean, half_width, level, n: self.n })
    }
}

/// Distance of means from their line, relative to the distance expected by chance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LackOfFit {
    /// Ratio of the two mean squares; about 1 if the points lie on a line.
    pub f: f64,
    /// Probability that a true line gives a ratio at least as great. A small value rejects the
    /// line.
    pub probability: f64,
}

/// F test for lack of fit: whether the means of repeated rounds lie on a line. Rounds are blocks,
/// so a shift of a whole round does not count as chance.
///
/// `rounds` has a row for each round, and each row a value for each x. `None` for fewer than three
/// x or two rounds, for rows of other lengths, or if the rounds show no variation.
#[must_use]
pub fn lack_of_fit(x: &[f64], rounds: &[Vec<f64>]) -> Option<LackOfFit> {
    let (sizes, repeats) = (x.len() as f64, rounds.len() as f64);
    if x.len() < 3 || rounds.len() < 2 || rounds.iter().any(|round| round.len() != x.len()) {
        return None;
    }
    let means = column_means(rounds);
    let grand = means.iter().sum::<f64>() / sizes;
    let mut pure = 0.0;
    for round in rounds {
        let own = round.iter().sum::<f64>() / sizes;
        let squares = round.iter().zip(&means).map(|(y, mean)| (y - mean - own + grand).powi(2));
        pure += squares.sum::<f64>();
    }
    let points: Vec<(f64, f64)> = x.iter().copied().zip(means).collect();
    let line = Line::through(&points)?;
    let lack: f64 = points.iter().map(|(x, y)| (y - line.at(*x)).powi(2)).sum::<f64>() * repeats;
    let (above, below) = (sizes - 2.0, (sizes - 1.0) * (repeats - 1.0));
    // The rounding residue of a constant is not variation.
    if pure <= 1e-24 * grand.powi(2) * sizes * repeats {
        return None;
    }
    let f = (lack / above) / (pure / below);
    // P(F > f) is the incomplete beta function (Abramowitz and Stegun 26.6.2).
    let probability = beta_reg(below / 2.0, above / 2.0, below / (below + above * f));
    Some(LackOfFit { f, probability })
}

/// Mean of each column; all rows have the same length.
fn column_means(rows: &[Vec<f64>]) -> Vec<f64> {
    let mut sums = vec![0.0; rows.first().map_or(0, Vec::len)];
    for row in rows {
        sums.iter_mut().zip(row).for_each(|(sum, y)| *sum += y);
    }
    sums.iter().map(|sum| sum / rows.len() as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST Statistical Reference Datasets, Norris: calibration of ozone monitors, 36 pairs (x, y).
    const NORRIS: [(f64, f64); 36] = [
        (0.2, 0.1),
        (337.4, 338.8),
        (118.2, 118.1),
        (884.6, 888.0),
        (10.1, 9.2),
        (226.5, 228.1),
        (666.3, 668.5),
        (996.3, 998.5),
        (448.6, 449.1),
        (777.0, 778.9),
        (558.2, 559.2),
        (0.4, 0.3),
        (0.6, 0.1),
        (775.5, 778.1),
        (666.9, 668.8),
        (338.0, 339.3),
        (447.5, 448.9),
        (11.6, 10.8),
        (556.0, 557.7),
        (228.1, 228.3),
        (995.8, 998.0),
        (887.6, 888.8),
        (120.2, 119.6),
        (0.3, 0.3),
        (0.3, 0.6),
        (556.8, 557.6),
        (339.1, 339.3),
        (887.2, 888.0),
        (999.0, 998.5),
        (779.0, 778.9),
        (11.1, 10.2),
        (118.3, 117.6),
        (229.2, 228.9),
        (669.1, 668.4),
        (448.9, 449.2),
        (0.5, 0.2),
    ];

    #[track_caller]
    fn check(value: f64, certified: f64) {
        assert!((value / certified - 1.0).abs() < 1e-10, "{value} is not {certified}");
    }

    #[test]
    fn norris_has_its_certified_line_and_errors() {
        let line = Line::through(&NORRIS).unwrap();
        check(line.intercept, -0.262323073774029);
        check(line.slope, 1.00211681802045);
        check(line.deviation.unwrap(), 0.884796396144373);
        // The half-widths are t with 34 degrees of freedom times the certified standard deviations.
        let t = t_quantile(0.95, 34.0);
        check(line.intercept_estimate(0.95).unwrap().half_width / t, 0.232818234301152);
        check(line.slope_estimate(0.95).unwrap().half_width / t, 0.429796848199937e-3);
    }

    #[test]
    fn two_points_have_a_line_and_no_interval_and_one_x_has_none() {
        let line = Line::through(&[(64.0, 10.0), (564.0, 20.0)]).unwrap();
        // 10 / 500 for each, and 10 - 64 / 50 at zero.
        check(line.slope, 0.02);
        check(line.intercept, 8.72);
        assert_eq!((line.deviation, line.slope_estimate(0.95)), (None, None));
        assert_eq!(Line::through(&[(64.0, 10.0), (64.0, 20.0)]), None);
        assert_eq!(Line::through(&[]), None);
    }

    #[test]
    fn lack_of_fit_by_hand() {
        // Means 0, 2, 3 of the places, 4/3 and 2 of the rounds, 5/3 of all. The residuals of the
        // rounds are 1/3, 1/3, -2/3 and the opposite: squares 4/3 over 2 degrees of freedom. The
        // line is 1/6 + 1.5 x, missed by -1/6, 1/3, -1/6: squares 1/6, twice, over 1. So F = 1/2,
        // and with 1 and 2 degrees of freedom P = 1 - t / sqrt(2 + t^2) at t = sqrt(F).
        let found =
            lack_of_fit(&[0.0, 1.0, 2.0], &[vec![0.0, 2.0, 2.0], vec![0.0, 2.0, 4.0]]).unwrap();
        check(found.f, 0.5);
        check(found.probability, 1.0 - (0.5_f64 / 2.5).sqrt());
    }

    #[test]
    fn a_step_is_no_line_however_a_round_is_shifted() {
        let x: Vec<f64> = (0..8).map(f64::from).collect();
        let jitter = |place: usize, round: usize| ((place * 7 + round * 5) % 11) as f64 / 100.0;
        let rounds = |shape: fn(usize) -> f64| -> Vec<Vec<f64>> {
            let row = |round: usize| {
                let shift = 50.0 * round as f64;
                (0..8).map(|place| shape(place) + shift + jitter(place, round)).collect()
            };
            (0..6).map(row).collect()
        };
        let step = lack_of_fit(&x, &rounds(|place| if place < 4 { 10.0 } else { 11.0 })).unwrap();
        assert!(step.probability < 1e-6, "{step:?}");
        let line = lack_of_fit(&x, &rounds(|place| 10.0 + place as f64)).unwrap();
        assert!(line.probability > 0.05, "{line:?}");
    }

    #[test]
    fn rounds_without_variation_have_no_lack_of_fit() {
        let row = vec![1.0, 2.0, 4.0];
        assert_eq!(lack_of_fit(&[0.0, 1.0, 2.0], &[row.clone(), row.clone()]), None);
        assert_eq!(lack_of_fit(&[0.0, 1.0, 2.0], std::slice::from_ref(&row)), None);
        assert_eq!(lack_of_fit(&[0.0, 1.0], &[vec![1.0, 2.0], vec![2.0, 2.0]]), None);
        assert_eq!(lack_of_fit(&[0.0, 1.0, 2.0], &[row, vec![1.0]]), None);
    }
}
