//! Reports of samples, and comparisons of reports, agree with hand calculation.

use crate::{QUIET, study};
use bench::analysis::{Report, analyse, is_enough};
use bench::compare::{Compared, Verdict, compare};
use bench::run::run;
use bench::sample::{FlowSample, Sample};
use bench::scenarios;

/// Returns samples of one flow with these mean delays, everything else from a real run.
fn samples(means: &[f64]) -> Vec<Sample> {
    let study = study(QUIET, &[]);
    let template = run(&study.points[0], "hash", 0).unwrap();
    let sample = |(replication, mean): (usize, &f64)| {
        let mut sample = template.clone();
        sample.replication = replication as u64;
        sample.flows[0].delay.mean_ns = Some(*mean);
        // Independent runs: each drew its start.
        sample.flows[0].first_due_ns = Some(replication as u64);
        sample
    };
    means.iter().enumerate().map(sample).collect()
}

fn report(means: &[f64]) -> Report {
    analyse(&samples(means), 0.95)
}

#[test]
fn a_mean_over_replications_has_a_t_interval() {
    // 1..=5: mean 3, t(4) sqrt(2.5 / 5) = 2.7764 x 0.7071 = 1.9633.
    let report = report(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let found = report.points[0].flows[0].quantity("delay.mean").unwrap();
    assert_eq!((found.mean, found.n), (3.0, 5));
    assert!((found.half_width.unwrap() - 1.9632).abs() < 1e-3);
    assert_eq!(found.estimate().unwrap().to_string(), "3 ± 2 (95 %, n = 5)");
    // 65 % of the mean is not enough for 10 %.
    assert!(!is_enough(&report.points[0], &["delay.mean"], 0.1));
    assert!(is_enough(&report.points[0], &["delay.mean"], 2.0));
}

#[test]
fn an_interrupted_run_is_in_no_mean() {
    let mut interrupted = samples(&[1.0, 3.0, 100.0]);
    interrupted[2].complete = false;
    let point = &analyse(&interrupted, 0.95).points[0];
    let found = point.flows[0].quantity("delay.mean").unwrap();
    assert_eq!((found.mean, found.n), (2.0, 2));
    assert_eq!((point.replications, point.incomplete, point.left_out), (2, 0, 1));
    // Without another run it is all that there is.
    let point = &analyse(&interrupted[2..], 0.95).points[0];
    assert_eq!(point.flows[0].quantity("delay.mean").unwrap().mean, 100.0);
    assert_eq!((point.replications, point.incomplete, point.left_out), (1, 1, 0));
}

#[test]
fn the_order_of_samples_does_not_matter() {
    let mut shuffled = samples(&[0.1, 0.2, 0.3, 0.7]);
    let sorted = analyse(&shuffled, 0.95);
    shuffled.rotate_left(1);
    shuffled.swap(0, 2);
    assert_eq!(analyse(&shuffled, 0.95), sorted);
}

#[test]
fn one_replication_has_no_interval_and_decides_nothing() {
    let report = report(&[1.0]);
    let found = report.points[0].flows[0].quantity("delay.mean").unwrap();
    assert_eq!((found.half_width, found.estimate()), (None, None));
    let comparison = compare(&report, &report, 0.95);
    assert!(comparison.points[0].differences.iter().all(|d| d.verdict == Verdict::Undecided));
}

#[test]
fn no_miss_still_leaves_an_upper_bound() {
    // 4 x 50 messages, none missed: 1 - 0.025^(1/200) = 0.01827.
    let report = report(&[1.0; 4]);
    let missed = report.points[0].flows[0].missed.unwrap();
    assert_eq!((missed.events, missed.trials, missed.low), (0, 200, 0.0));
    assert!((missed.high - 0.018_27).abs() < 1e-5, "{}", missed.high);
}

#[test]
fn far_quantiles_are_pooled_and_bounded_where_they_can_be() {
    let report = report(&[1.0; 4]);
    let flow = &report.points[0].flows[0];
    // 50 messages a run: five lie beyond the 90 % quantile, too few for one run to estimate it.
    assert!(flow.quantity("delay.p50").is_some() && flow.quantity("delay.p90").is_none());
    let pooled: Vec<(f64, u64, bool)> =
        flow.delay_pooled.iter().map(|q| (q.share, q.count, q.interval_ns.is_some())).collect();
    // 0.99^200 = 0.13 and 0.999^200 = 0.82 exceed 2.5 %: the longest bounds neither from above.
    assert_eq!(
        pooled,
        [(0.5, 200, true), (0.9, 200, true), (0.99, 200, false), (0.999, 200, false)]
    );
}

#[test]
fn a_quantity_that_one_replication_lacks_is_left_out() {
    let mut samples = samples(&[1.0, 2.0]);
    samples[1].flows[0].throughput_bits_per_second = None;
    let report = analyse(&samples, 0.95);
    assert!(report.points[0].flows[0].quantity("throughput").is_none());
}

#[test]
fn a_study_does_not_differ_from_itself() {
    let report = report(&[1.0, 2.0, 3.0]);
    let comparison = compare(&report, &report, 0.95);
    let all = &comparison.points[0].differences;
    assert!(all.len() > 3 && all.iter().all(|d| d.verdict == Verdict::NoDifferenceShown));
    assert_eq!(Verdict::NoDifferenceShown.to_string(), "no difference shown");
}

#[test]
fn a_difference_is_the_second_less_the_first() {
    let comparison = compare(&report(&[1.0, 2.0, 3.0]), &report(&[11.0, 12.0, 13.0]), 0.95);
    let found =
        comparison.points[0].differences.iter().find(|d| d.quantity == "delay.mean").unwrap();
    // The first, 2 +- 2.5, is not significantly different from zero, so there is no ratio to it.
    assert_eq!((found.difference, found.ratio), (10.0, None));
    // Welch: 10 +- t(4) sqrt(1/3 + 1/3) = 2.7764 x 0.8165 = 2.267.
    let (low, high) = found.interval.unwrap();
    assert!((low - 7.733).abs() < 1e-3 && (high - 12.267).abs() < 1e-3, "{low} {high}");
    assert_eq!(found.verdict, Verdict::Higher);
    let back = compare(&report(&[11.0, 12.0, 13.0]), &report(&[1.0, 2.0, 3.0]), 0.95);
    let found = back.points[0].differences.iter().find(|d| d.quantity == "delay.mean").unwrap();
    assert_eq!((found.verdict, found.ratio), (Verdict::Lower, Some(2.0 / 12.0)));
    let (low, high) = found.ratio_interval.unwrap();
    assert!(low < 2.0 / 12.0 && 2.0 / 12.0 < high && high < 1.0, "{low} {high}");
}

#[test]
fn times_within_the_noise_of_the_host_do_not_differ() {
    let (first, second) = (report(&[1.0, 2.0, 3.0]), report(&[11.0, 12.0, 13.0]));
    let verdict = |noise_ns: Option<u64>, noise_of_second: Option<u64>| {
        let with = |report: &Report, noise_ns| Report { host_noise_ns: noise_ns, ..report.clone() };
        let (first, second) = (with(&first, noise_ns), with(&second, noise_of_second));
        let comparison = compare(&first, &second, 0.95);
        let all = &comparison.points[0].differences;
        all.iter().find(|d| d.quantity == "delay.mean").unwrap().verdict
    };
    // They differ by 10 ns.
    assert_eq!(verdict(Some(9), Some(9)), Verdict::Higher);
    assert_eq!(verdict(Some(9), Some(10)), Verdict::WithinHostNoise);
    assert_eq!(verdict(Some(10), None), Verdict::WithinHostNoise);
    assert_eq!(Verdict::WithinHostNoise.to_string(), "undecided: within host noise");
}

#[test]
fn replications_of_one_seed_are_compared_pair_by_pair() {
    // Differences 10, 11 and 12: 11 +- t(2) sqrt(1/3) = 4.3027 x 0.57735 = 2.484. The second has
    // the pairs in another order.
    let seeded = |means: &[f64], seeds: &[u64]| {
        let mut samples = samples(means);
        samples.iter_mut().zip(seeds).for_each(|(sample, seed)| sample.seed = *seed);
        analyse(&samples, 0.95)
    };
    let first = seeded(&[100.0, 200.0, 300.0], &[7, 8, 9]);
    let comparison = compare(&first, &seeded(&[211.0, 312.0, 110.0], &[8, 9, 7]), 0.95);
    let delay = |comparison: &bench::compare::Comparison| {
        let mut all = comparison.points[0].differences.iter();
        all.find(|it| it.quantity == "delay.mean").unwrap().clone()
    };
    let (low, high) = delay(&comparison).interval.unwrap();
    assert_eq!(comparison.points[0].pairs, Some(3));
    assert!((low - 8.516).abs() < 1e-3 && (high - 13.484).abs() < 1e-3, "{low} {high}");
    assert_eq!(delay(&comparison).verdict, Verdict::Higher);
    // With other seeds nothing pairs, and the spread of 100 to 300 hides the difference.
    let comparison = compare(&first, &seeded(&[211.0, 312.0, 110.0], &[8, 9, 10]), 0.95);
    assert_eq!(comparison.points[0].pairs, None);
    assert_eq!(delay(&comparison).verdict, Verdict::NoDifferenceShown);
}

#[test]
fn unpaired_runs_pool_shares_and_quantiles_over_all_messages() {
    // 10 of 1,000 and 5 of 10 missed: 15 of 1,010, where the mean of both runs would be 25.5 %.
    let of = |seed: u64| {
        let mut samples = samples(&[1.0, 2.0]);
        for (sample, (missed, sent)) in samples.iter_mut().zip([(10, 1_000), (5, 10)]) {
            sample.seed = seed + sample.replication;
            sample.flows[0].missed = Some(missed);
            (sample.flows[0].sent, sample.flows[0].delivered) = (sent, sent);
        }
        analyse(&samples, 0.95)
    };
    let comparison = compare(&of(100), &of(200), 0.95);
    let all = &comparison.points[0].differences;
    let find = |name: &str| all.iter().find(|found| found.quantity == name).unwrap();
    let missed = find("missed");
    assert_eq!((missed.of, missed.first), (Compared::AllMessages, 15.0 / 1_010.0));
    assert_eq!(
        (find("delay.p50").of, find("delay.mean").of),
        (Compared::AllMessages, Compared::MeanOfRuns)
    );
    // Outcomes within a run are correlated: the interval is Student's over runs, far wider than
    // that of 15 of 1,010.
    let (low, high) = missed.interval.unwrap();
    assert!(low < -0.9 && high > 0.9, "{low} {high}");
    // Runs of one seed are pairs, in which each run counts the same.
    let paired = compare(&of(100), &of(100), 0.95);
    assert!(paired.points[0].differences.iter().all(|found| found.of == Compared::MeanOfRuns));
}

#[test]
fn points_without_a_twin_are_named() {
    let mut others = samples(&[1.0, 2.0]);
    for sample in &mut others {
        sample.settings.insert("background.load".to_owned(), "30 %".to_owned());
    }
    let comparison = compare(&report(&[1.0, 2.0]), &analyse(&others, 0.95), 0.95);
    assert!(comparison.points.is_empty());
    assert_eq!((comparison.only_first.len(), comparison.only_second.len()), (1, 1));
    assert_eq!(comparison.only_second[0]["background.load"], "30 %");
}

#[test]
fn background_load_makes_reports_late() {
    let toml = scenarios::get("status-csma").unwrap().text;
    let delays = |load: &str| -> Vec<FlowSample> {
        let settings = [
            ("background.load", load),
            ("flow.status.messages", "100"),
            ("transport.extended", "false"),
        ];
        let study = study(toml, &settings);
        (0..4).map(|r| run(&study.points[0], "hash", r).unwrap().flows.remove(0)).collect()
    };
    let mean = |flows: &[FlowSample]| {
        flows.iter().filter_map(|f| f.delay.mean_ns).sum::<f64>() / flows.len() as f64
    };
    let (quiet, busy) = (delays("0 %"), delays("50 %"));
    assert!(quiet.iter().chain(&busy).all(|flow| flow.delivered == 100));
    // Alone on the bus: 239 octets are 191.2 us; the stations lie 45.5 m apart, 197 ns.
    assert!(quiet.iter().all(|flow| flow.delay.min_ns == Some(191_397)), "{quiet:?}");
    // At 50 % a report meets a frame of 180.8 us every other time and waits half of it: +45 us at
    // the very least, collisions aside.
    assert!(mean(&busy) > mean(&quiet) + 45_000.0, "{} {}", mean(&quiet), mean(&busy));
}
