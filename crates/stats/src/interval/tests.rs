use super::*;
use crate::histogram::Histogram;
use core::time::Duration;
use rand_distr::{Distribution as _, StandardNormal};

fn normal(stream: &mut Stream) -> f64 {
    StandardNormal.sample(stream)
}

#[track_caller]
fn check_close(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() < relative, "{found}, not {expected}");
}

#[test]
fn t_quantiles_agree_with_the_tables() {
    // NIST/SEMATECH e-Handbook 1.3.6.7.2, two-sided 95 % and 99 %; the first is tan(0.475 pi).
    for (level, freedom, expected) in [
        (0.95, 1.0, 12.706),
        (0.95, 4.0, 2.776),
        (0.95, 9.0, 2.262),
        (0.95, 19.0, 2.093),
        (0.95, 100.0, 1.984),
        (0.99, 9.0, 3.250),
    ] {
        let found = t_quantile(level, freedom);
        assert!((found - expected).abs() < 6e-4, "t({level}, {freedom}) = {found}");
    }
    check_close(t_quantile(0.95, 1.0), (0.475 * core::f64::consts::PI).tan(), 1e-10);
    // Two degrees of freedom have a closed form: t = c sqrt(2 / (1 - c^2)) at level c.
    check_close(t_quantile(0.95, 2.0), 0.95 * (2.0_f64 / (1.0 - 0.95 * 0.95)).sqrt(), 1e-10);
}

#[test]
fn the_median_of_a_repeat_lies_in_its_interval() {
    // 1..=5: median 3, deviation sqrt(2.5), t(4) = 2.7764; 2.7764 x sqrt(2.5 pi / 5) = 3.4797.
    let found = repeated_median(&[2.0, 1.0, 5.0, 4.0, 3.0], 0.95).unwrap();
    check_close(found.low, 3.0 - 3.4797, 1e-3);
    check_close(found.high, 3.0 + 3.4797, 1e-4);
    assert_eq!(repeated_median(&[1.0], 0.95), None);
    // Of repeats of as many normal values, 95 % or somewhat more: 20,000 have an error of 0.15 %.
    let mut stream = Stream::named(1, "repeats");
    for n in [5, 9, 20] {
        let mut draw = || -> Vec<f64> { (0..n).map(|_| normal(&mut stream)).collect() };
        let inside = (0..20_000).filter(|_| {
            let interval = repeated_median(&draw(), 0.95).unwrap();
            interval.contains(median(&draw(), 0.95).unwrap().median)
        });
        let share = inside.count() as f64 / 20_000.0;
        assert!((0.945..0.975).contains(&share), "n = {n}: {share}");
    }
}

#[test]
fn a_t_interval_by_hand() {
    // 1..=5: mean 3, deviation sqrt(2.5), t(4) = 2.7764; 2.7764 x sqrt(2.5 / 5) = 1.9633.
    let estimate = mean(&(1..=5).map(f64::from).collect(), 0.95).unwrap();
    check_close(estimate.half_width, 1.9633, 1e-4);
    assert_eq!(estimate.to_string(), "3 ± 2 (95 %, n = 5)");
    assert_eq!(mean(&[1.0].into_iter().collect(), 0.95), None);
}

#[test]
fn an_estimate_prints_its_significant_digits() {
    let show = |mean, half_width| {
        Estimate { mean, half_width, level: 0.95, n: 20 }.to_string().replace(" (95 %, n = 20)", "")
    };
    assert_eq!(show(4.1234, 0.2345), "4.1 ± 0.2");
    assert_eq!(show(4.1234, 0.1345), "4.12 ± 0.13");
    assert_eq!(show(4_123.4, 234.5), "4123 ± 234");
    assert_eq!(show(0.012_341, 0.000_067), "0.01234 ± 0.00007");
    assert_eq!(show(12.5, 0.0), "12.50 ± 0.00");
    assert_eq!(show(0.0, 0.0), "0 ± 0");
    assert_eq!(show(12.5, 1e-15), "12.50 ± 0.00");
    assert_eq!(show(f64::NAN, f64::INFINITY), "NaN ± inf");
    let estimate = Estimate { mean: 4.0, half_width: 0.25, level: 0.95, n: 2 };
    assert_eq!(format!("{estimate:.3}"), "4.000 ± 0.250 (95 %, n = 2)");
}

#[test]
fn the_sequential_rule_is_that_of_law_and_kelton() {
    // At 5 % the half-width may be 0.05 / 1.05 = 4.76 % of the mean.
    let at = |half_width| Estimate { mean: -100.0, half_width, level: 0.95, n: 10 };
    assert!(at(4.76).is_within(0.05));
    assert!(!at(4.77).is_within(0.05));
}

#[test]
fn a_t_interval_covers_at_its_level() {
    // 10,000 trials of n = 5: binomial deviation 0.22 %, so 4 of them are 0.9 %. With z in place of
    // t the coverage would be 87.8 %.
    let mut stream = Stream::named(11, "coverage of t");
    let trials = 10_000;
    let covered = (0..trials)
        .filter(|_| {
            let summary: Summary = (0..5).map(|_| normal(&mut stream)).collect();
            mean(&summary, 0.95).is_some_and(|estimate| estimate.interval().contains(0.0))
        })
        .count();
    assert!((9_410..=9_590).contains(&covered), "covered {covered} of {trials}");
}

#[test]
fn batch_means_cover_an_autoregressive_run() {
    // X(i) = 0.5 X(i - 1) + N(0, 1), from its stationary law (variance 4/3). A t interval on the
    // raw values would be sqrt(3) too short and cover 74 %. 2,000 runs: deviation 0.5 %, 3 are 1.5
    // %.
    let mut stream = Stream::named(12, "coverage of batch means");
    let (mut covered, mut accepted) = (0, 0);
    for _ in 0..2_000 {
        let mut value = normal(&mut stream) * (4.0_f64 / 3.0).sqrt();
        let run: Vec<f64> = (0..2_000)
            .map(|_| {
                value = 0.5 * value + normal(&mut stream);
                value
            })
            .collect();
        if let Ok(estimate) = batch_means(&run, 0.95) {
            accepted += 1;
            covered += u32::from(estimate.interval().contains(0.0));
        }
    }
    // Batches of 50 are nearly independent, so about 1 % are rejected twice.
    assert!(accepted > 1_900, "accepted {accepted}");
    let coverage = f64::from(covered) / f64::from(accepted);
    assert!((0.935..=0.965).contains(&coverage), "coverage {coverage}");
}

#[test]
fn a_run_too_short_for_its_correlation_gives_no_interval() {
    let climbing: Vec<f64> = (0..4_000).map(f64::from).collect();
    assert_eq!(batch_means(&climbing, 0.95), Err(BatchError::Correlated));
    assert_eq!(batch_means(&climbing[..39], 0.95), Err(BatchError::TooFew));
    let constant = batch_means(&[0.1; 4_000], 0.95).unwrap();
    check_close(constant.mean, 0.1, 1e-12);
    assert!(constant.half_width < 1e-12);
}

#[test]
fn none_observed_still_bounds_the_probability() {
    // No event in n trials: (1 - p)^n = 0.025, so p = 1 - 0.025^(1 / 500).
    let none = proportion(0, 500, 0.95);
    check_close(none.interval.high, 1.0 - 0.025_f64.powf(1.0 / 500.0), 1e-9);
    assert_eq!(none.to_string(), "0 of 500 (at most 0.0074, 95 %)");
    let all = proportion(500, 500, 0.95);
    check_close(all.interval.low, 0.025_f64.powf(1.0 / 500.0), 1e-12);
    assert!((all.interval.high - 1.0).abs() < f64::EPSILON);
    let unknown = proportion(0, 0, 0.95);
    assert_eq!((unknown.interval.low, unknown.interval.high, unknown.share()), (0.0, 1.0, None));
}

#[test]
fn a_proportion_inverts_the_binomial() {
    // 4 of 10 at 95 %: the tails are sums of binomial terms, added up here term by term.
    let terms = |p: f64, range: core::ops::RangeInclusive<i32>| -> f64 {
        let choose = [1.0, 10.0, 45.0, 120.0, 210.0, 252.0, 210.0, 120.0, 45.0, 10.0, 1.0];
        range.map(|k| choose[k as usize] * p.powi(k) * (1.0 - p).powi(10 - k)).sum()
    };
    let four = proportion(4, 10, 0.95);
    check_close(terms(four.interval.low, 4..=10), 0.025, 1e-9);
    check_close(terms(four.interval.high, 0..=4), 0.025, 1e-9);
    assert_eq!(four.to_string(), "4 of 10 (0.12 to 0.74, 95 %)");
}

#[test]
fn the_bootstrap_of_a_mean_agrees_with_the_normal_interval() {
    // 400 uniform values: the standard deviation of the mean is sqrt(1/12/400) = 0.01443, its 95 %
    // half-width 0.0283. With 2,000 resamples an end is known to about 4 %, and the deviation of
    // the sample itself to about 2.5 %; 3 x 5 % covers both.
    let mut stream = Stream::named(13, "bootstrap");
    let values: Vec<f64> = (0..400).map(|_| stream.unit()).collect();
    let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let found = bootstrap(&values, average, 2_000, 0.95, &mut stream).unwrap();
    check_close((found.high - found.low) / 2.0, 0.0283, 0.15);
    assert!(found.contains(average(&values)));
    assert_eq!(bootstrap(&[], average, 10, 0.95, &mut stream), None);
    assert_eq!(bootstrap(&values, average, 0, 0.95, &mut stream), None);
}

#[test]
fn the_longest_of_n_exponential_spans_has_the_harmonic_mean() {
    // E[max of 10 Exp(1)] = H(10) = 2.9290, standard deviation sqrt(sum 1/k^2) = 1.2449.
    let mut stream = Stream::named(14, "maxima");
    let harmonic: f64 = (1..=10).map(|k| 1.0 / f64::from(k)).sum();
    let maxima: Summary = (0..4_000)
        .map(|_| {
            let spans: Histogram =
                (0..10).map(|_| stream.exponential(Duration::from_secs(1))).collect();
            spans.max().unwrap().as_secs_f64()
        })
        .collect();
    let estimate = mean(&maxima, 0.999).unwrap();
    assert!(estimate.interval().contains(harmonic), "{estimate}, not {harmonic}");
    check_close(estimate.half_width, 3.2905 * 1.2449 / 4_000_f64.sqrt(), 0.1);
}

#[test]
fn sections_of_a_mean_give_its_interval_and_bias_widens_it() {
    let values: Summary = [3.0, 5.0, 4.0, 8.0].into_iter().collect();
    let (plain, sectioned) = (mean(&values, 0.95).unwrap(), sections(5.0, &values, 0.95).unwrap());
    assert_eq!(plain.mean, 5.0);
    check_close(sectioned.half_width, plain.half_width, 1e-12);
    // About 6: squares 9 + 1 + 4 + 4 = 18, over 3 and over 4; t(0.95, 3) = 3.182.
    let biased = sections(6.0, &values, 0.95).unwrap();
    assert_eq!((biased.mean, biased.n), (6.0, 4));
    check_close(biased.half_width, 3.182 * (18.0_f64 / 3.0 / 4.0).sqrt(), 1e-3);
    assert_eq!(sections(1.0, &[1.0].into_iter().collect(), 0.95), None);
}

#[test]
fn sections_cover_an_exponential_quantile_at_their_level() {
    // 20 sections of 400 spans, 500 times. The 99th percentile of Exp(1) is ln 100. Of 500 intervals at
    // 95 % 475 cover it; the binomial deviation is 4.9, and four of them are 19.5.
    let mut stream = Stream::named(15, "sections");
    let percentile = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() * 99 / 100 - 1]
    };
    let mut covered = 0;
    for _ in 0..500 {
        let mut all = Vec::new();
        let each: Summary = (0..20)
            .map(|_| {
                let mut section: Vec<f64> = (0..400).map(|_| -(1.0 - stream.unit()).ln()).collect();
                all.extend_from_slice(&section);
                percentile(&mut section)
            })
            .collect();
        let found = sections(percentile(&mut all), &each, 0.95).unwrap();
        covered += u32::from(found.interval().contains(100_f64.ln()));
    }
    println!("seen: {covered} of 500 intervals by sectioning cover the 99th percentile");
    assert!((456..=494).contains(&covered), "{covered}");
}

#[test]
fn median_intervals_have_the_binomial_coverage() {
    // 1 - 2 sum of C(n, i) / 2^n below the rank: 2/32 of 5, 2/64 of 6, 22/1024 of 10.
    for (n, rank, coverage) in [
        (1, 1, 0.0),
        (5, 1, 0.9375),
        (6, 1, 0.96875),
        (8, 1, 0.9921875),
        (9, 2, 0.9609375),
        (10, 2, 0.978515625),
        (20, 6, 0.958610534667969),
    ] {
        let found = median_rank(n, 0.95).unwrap();
        assert!(found.0 == rank && (found.1 - coverage).abs() < 1e-9, "{n}: {found:?}");
    }
    assert_eq!(median_rank(0, 0.95), None);
    let five = median(&[4.0, 1.0, 9.0, 3.0, 2.0], 0.95).unwrap();
    assert_eq!((five.median, five.low, five.high, five.n), (3.0, 1.0, 9.0, 5));
    let ten: Vec<f64> = (1..=10).map(f64::from).collect();
    let ten = median(&ten, 0.95).unwrap();
    assert_eq!((ten.median, ten.low, ten.high), (5.5, 2.0, 9.0));
}

#[test]
fn median_intervals_cover_at_their_level() {
    let mut stream = Stream::named(1, "median");
    let trials = 4_000;
    let contains = |stream: &mut Stream| {
        let values: Vec<f64> = (0..5).map(|_| normal(stream)).collect();
        let found = median(&values, 0.95).unwrap();
        found.low <= 0.0 && 0.0 <= found.high
    };
    let share = (0..trials).filter(|_| contains(&mut stream)).count() as f64 / f64::from(trials);
    // 0.9375 within four standard deviations of 4,000 draws.
    assert!((share - 0.9375).abs() < 4.0 * (0.9375 * 0.0625 / 4_000.0_f64).sqrt(), "{share}");
}
