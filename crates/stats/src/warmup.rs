//! End of a run's warm-up by MSER-5 (White 1997; recommended by Hoad, Robinson and Davies 2008).
//!
//! Observations are averaged in fives. The warm-up ends where cutting more would widen the standard
//! error of the mean of the remaining averages.

/// Number of observations in each average.
const AVERAGED: usize = 5;

/// Result of MSER-5 for a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Warmup {
    /// Number of observations at the start that belong to the warm-up.
    Ends(usize),
    /// The best cut lies in the second half, so the run is too short to find the end.
    TooShort,
}

/// Finds the end of the warm-up. A run of fewer than ten observations is too short.
#[must_use]
pub fn mser5(observations: &[f64]) -> Warmup {
    let averages: Vec<f64> = observations
        .chunks_exact(AVERAGED)
        .map(|chunk| chunk.iter().sum::<f64>() / AVERAGED as f64)
        .collect();
    let batches = averages.len();
    if batches < 2 {
        return Warmup::TooShort;
    }
    // Welford from the end: after each step, the squares of everything from `cut` on.
    let (mut mean, mut squares) = (0.0, 0.0);
    let (mut best, mut least) = (batches, f64::INFINITY);
    for (cut, average) in averages.iter().enumerate().rev() {
        let kept = (batches - cut) as f64;
        let from_old_mean = average - mean;
        mean += from_old_mean / kept;
        squares += from_old_mean * (average - mean);
        let error = squares / (kept * kept);
        // On a tie the shorter cut wins, because it keeps more observations.
        if cut <= batches / 2 && error <= least {
            (best, least) = (cut, error);
        }
    }
    if best >= batches / 2 { Warmup::TooShort } else { Warmup::Ends(best * AVERAGED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_step_is_cut_where_it_ends() {
        // 40 observations at 9, then 400 alternating 1 and 2. Cutting the 8 averages of the step
        // leaves only the small alternation; one average fewer leaves a 9.
        let run: Vec<f64> =
            (0..440).map(|i| if i < 40 { 9.0 } else { 1.0 + f64::from(i % 2) }).collect();
        assert_eq!(mser5(&run), Warmup::Ends(40));
    }

    #[test]
    fn a_constant_run_has_no_warm_up() {
        assert_eq!(mser5(&[3.0; 100]), Warmup::Ends(0));
    }

    #[test]
    fn the_statistic_agrees_with_its_definition() {
        // Five averages 8, 0, 1, 0, 1 (each five times over), m = 5:
        // d = 0: mean 2, squares 36 + 4 + 1 + 4 + 1 = 46, / 25 = 1.84
        // d = 1: mean 1/2, squares 4 x 1/4 = 1, / 16 = 0.0625
        // d = 2: mean 2/3, squares 1/9 + 4/9 + 1/9 = 2/3, / 9 = 0.0741
        let run: Vec<f64> = [8.0, 0.0, 1.0, 0.0, 1.0].iter().flat_map(|z| [*z; 5]).collect();
        assert_eq!(mser5(&run), Warmup::Ends(5));
    }

    #[test]
    fn a_run_that_still_climbs_is_too_short() {
        let run: Vec<f64> = (0..200).map(f64::from).collect();
        assert_eq!(mser5(&run), Warmup::TooShort);
        assert_eq!(mser5(&[1.0; 9]), Warmup::TooShort);
    }
}
