//! Requirements: judged by intervals and by theory, with as many runs as needed.

use crate::{QUIET, study};
use bench::analysis::analyse;
use bench::run::{Ended, Goal, Made, Plan, run_all, run_until};
use bench::sample::{Origin, Sample};
use bench::scenario::{Share, Start, Study, load};
use bench::verdict::{Judged, Verdict, judge, level_of_look, worst};
use core::ops::ControlFlow;
use core::sync::atomic::AtomicBool;
use stats::interval::proportion;

/// Fifty messages a run; on a bus of two stations no message is late and no delay is bounded.
const BUS: (&str, &str) =
    ("csma-cd", "{ kind = \"csma-cd\", rate = \"10 Mbit/s\", length = \"100 m\" }");

fn on_bus(require: &str) -> Study {
    let old = "medium = { kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }";
    let text = QUIET.replace(old, &format!("require = [\"{require}\"]\nmedium = {}", BUS.1));
    load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn samples(study: &Study, jobs: usize) -> Vec<Sample> {
    let mut samples = Vec::new();
    run_all(study, Plan { replications: None, jobs }, &AtomicBool::new(false), |sample| {
        samples.push(sample);
        ControlFlow::Continue(())
    })
    .unwrap();
    samples
}

fn judged(study: &Study) -> Judged {
    let report = analyse(&samples(study, 2), 0.95).with_bounds(&study.points);
    let [judged] = &judge(&report, &study.points)[..] else { panic!("one requirement") };
    judged.clone()
}

#[test]
fn no_misses_pass_above_the_upper_limit_and_else_give_more_runs() {
    // None of 500: at most 1 - 0.025^(1/500) = 0.00735.
    let passed = judged(&on_bus("miss(status) < 0.0074"));
    assert_eq!((passed.verdict, passed.found, passed.low), (Verdict::Pass, Some(0.0), Some(0.0)));
    let open = judged(&on_bus("miss(status) < 0.005"));
    // Below 0.005 it takes ln 0.025 / ln 0.995 = 736 messages, 1.47 times as many; steps of a tenth
    // reach 1.1^5 = 1.61 times: 17 runs.
    assert_eq!((open.verdict, open.more_runs), (Verdict::Undecided, Some(7)));
    let failed = judged(&on_bus("lost(*) > 10 %"));
    assert_eq!((failed.verdict, failed.flow.as_str()), (Verdict::Fail, "status"));
    assert_eq!(worst(&[passed.clone(), open.clone(), failed]), Verdict::Fail);
    assert_eq!(worst(&[passed.clone(), open]), Verdict::Undecided);
    assert_eq!(worst(&[passed]), Verdict::Pass);
}

#[test]
fn one_message_refutes_a_maximum_and_only_theory_proves_it() {
    // 183.2 us and 433 ns of cable.
    assert_eq!(judged(&on_bus("delay.max(status) < 183 us")).verdict, Verdict::Fail);
    let open = judged(&on_bus("delay.max(status) < 184 us"));
    assert_eq!((open.verdict, open.more_runs), (Verdict::Undecided, None));
    // On a dedicated wire its bound is 197.8 us.
    let on_wire = |require: &str| {
        let text = format!("require = [\"{require}\"]\n{QUIET}");
        judged(&load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}")))
    };
    assert_eq!(on_wire("delay.max(status) < 198 us").verdict, Verdict::Pass);
    assert_eq!(on_wire("delay.max(status) < 197 us").verdict, Verdict::Undecided);
    // So no message of it misses 1 ms, which 500 messages alone would not show.
    let shown = on_wire("miss(status) < 1e-9");
    assert_eq!((shown.verdict, shown.level), (Verdict::Pass, 1.0));
}

#[test]
fn means_are_judged_by_their_intervals() {
    // The same delay in every run, 183.2 us and 433 ns of cable: no spread.
    assert_eq!(judged(&on_bus("delay.mean(status) <= 183633 ns")).verdict, Verdict::Pass);
    assert_eq!(judged(&on_bus("delay.mean(status) < 183633 ns")).verdict, Verdict::Fail);
}

#[test]
fn far_quantiles_are_pooled_over_runs_if_one_is_too_short() {
    // Of 50 messages a run fewer than ten lie beyond 99 %; of 500 messages the longest bounds it,
    // because 0.99^500 = 0.0066.
    let far = judged(&on_bus("delay.p99(status) < 1 ms"));
    assert_eq!((far.verdict, far.because), (Verdict::Pass, ""));
    assert!(far.found.is_some_and(|found| (found / 183_633.0 - 1.0).abs() < 2e-3), "{far:?}");
    // 0.999^n falls below 0.025 at 3,688 messages: 74 runs.
    let farther = judged(&on_bus("delay.p99.9(status) < 1 ms"));
    assert_eq!((farther.verdict, farther.more_runs), (Verdict::Undecided, Some(64)));
    // The lower end of its interval exists before, the third longest of 500, and refutes less.
    let refuted = judged(&on_bus("delay.p99.9(status) < 180 us"));
    assert_eq!((refuted.verdict, refuted.because, refuted.high), (Verdict::Fail, "", None));
    assert!(refuted.low.is_some_and(|low| (low / 183_633.0 - 1.0).abs() < 2e-3), "{refuted:?}");
    let no_answers = judged(&on_bus("response.p99(status) < 1 ms"));
    assert_eq!((no_answers.verdict, no_answers.found), (Verdict::Undecided, None));
}

#[test]
fn what_is_required_must_be_of_flows_that_there_are() {
    let check = |require: &str, expected: &str| {
        let old = "stop = ";
        let text = QUIET.replace(old, &format!("require = [\"{require}\"]\nstop = "));
        let said = load(&text, "a.toml").unwrap_err().to_string();
        assert!(said.contains(expected) && said.contains("a.toml:3"), "{said}");
    };
    check("miss(statu) < 1e-3", "there is no flow \"statu\"");
    check("miss(status) < 1 ms", "`1 ms` is no limit");
    let text =
        format!("require = [\"miss(status) < 0.1\"]\n{QUIET}").replace("deadline = \"1 ms\"", "");
    assert!(load(&text, "a.toml").unwrap_err().to_string().contains("no deadline to miss"));
}

#[test]
fn the_confidence_of_all_looks_together_is_that_of_one() {
    // 1/2 + 1/6 + 1/12 + ... = 1 - 1 / (k + 1).
    let spent: f64 = (1..=999).map(|look| 1.0 - level_of_look(0.95, look)).sum();
    assert!((spent - 0.05 * (1.0 - 1e-3)).abs() < 1e-12, "{spent}");
    assert!((level_of_look(0.95, 1) - 0.975).abs() < 1e-12);
}

fn until(study: &Study, goal: Goal, jobs: usize, made: &Made) -> (Vec<Sample>, Ended) {
    let mut samples = Vec::new();
    let plan = Plan { replications: None, jobs };
    let each = |sample| {
        samples.push(sample);
        ControlFlow::Continue(())
    };
    let ended = run_until(study, plan, goal, made, &AtomicBool::new(false), each, |_| {}).unwrap();
    (samples, ended)
}

#[test]
fn sequential_runs_end_when_the_upper_limit_is_low_enough() {
    let mut study = on_bus("miss(status) < 0.005");
    study.points[0].scenario.replications = 4;
    let goal = Goal { precision: None, decided: true, at_most: 1_000, level: 0.95 };
    let (samples, ended) = until(&study, goal, 2, &Made::new());
    // Looks at 4, 6, 9, 14, 21 and 32 runs of 50. None of N missed is at most 1 - (a/2)^(1/N), with a
    // = 0.05 / (k (k + 1)): 0.0067 at the fifth look, 0.0046 at the sixth.
    assert_eq!((ended.look.number, ended.look.replications, ended.look.open), (6, 32, 0));
    assert_eq!(samples.len(), 32);
    assert_eq!(ended.judged[0].verdict, Verdict::Pass);
    let high = proportion(0, 1_600, level_of_look(0.95, 6)).interval.high;
    assert_eq!(ended.judged[0].high, Some(high));
    assert!(high < 0.005 && proportion(0, 1_050, level_of_look(0.95, 5)).interval.high > 0.005);
    // Neither threads nor earlier runs change the result.
    assert_eq!(until(&study, goal, 1, &Made::new()), (samples.clone(), ended.clone()));
    let made: Made =
        samples[..9].iter().map(|it| ((it.point, it.replication), it.clone())).collect();
    assert_eq!(until(&study, goal, 2, &made), (samples, ended));
    let (samples, ended) = until(&study, Goal { at_most: 10, ..goal }, 2, &Made::new());
    assert_eq!((samples.len(), ended.judged[0].verdict), (10, Verdict::Undecided));
}

#[test]
fn points_go_on_one_by_one_until_their_means_are_precise() {
    let load = "\n[background]\nload = \"40 %\"\nstations = 6\nsize = \"200 B\"\n";
    let old = "medium = { kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }";
    let text = format!("{}{load}", QUIET.replace(old, &format!("medium = {}", BUS.1)));
    let study = study(&text, &[("replications", "4")]);
    let study = {
        let vary = "\n[vary]\n\"background.load\" = [\"0 %\", \"40 %\"]\n";
        let text = format!("{text}{vary}").replace("stop =", "replications = 4\nstop =");
        assert_eq!(study.points.len(), 1);
        bench::scenario::load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"))
    };
    let goal = Goal { precision: Some(0.1), decided: false, at_most: 500, level: 0.95 };
    let (samples, ended) = until(&study, goal, 2, &Made::new());
    let count = |point| samples.iter().filter(|sample| sample.point == point).count();
    println!("seen: {} runs without and {} with a load until 10 %", count(0), count(1));
    assert_eq!(count(0), 4, "without a load all runs are alike");
    assert!(count(1) > 4 && ended.imprecise.is_empty());
    let report = analyse(&samples, 0.95);
    let found = report.points[1].flows[0].quantity("delay.mean").unwrap();
    assert!(found.half_width.unwrap() <= 0.1 / 1.1 * found.mean);
    let goal = Goal { precision: Some(1e-6), at_most: 7, ..goal };
    assert_eq!(
        until(&study, goal, 2, &Made::new()).1.imprecise.into_iter().collect::<Vec<_>>(),
        [1]
    );
}

/// Ten copies of one run have no interval. Where no seed could give another run their number is exact; where
/// one could, and did not in these ten, it decides nothing.
#[test]
fn copies_of_one_run_decide_only_where_nothing_is_drawn() {
    let judge_with = |require: &str, start, loss| {
        let mut study = on_bus(require);
        let scenario = &mut study.points[0].scenario;
        scenario.flows[0].start = start;
        scenario.faults.loss = loss;
        let report = analyse(&samples(&study, 2), 0.95).with_bounds(&study.points);
        let judged = judge(&report, &study.points);
        let Judged { verdict, more_runs, low, level, .. } = judged[0];
        (report.points[0].deterministic, verdict, more_runs, low.is_some(), level >= 1.0)
    };
    let exact = |verdict| (true, verdict, None, false, true);
    let none = Share(0);
    assert_eq!(judge_with("miss(status) < 1 %", Start::Together, none), exact(Verdict::Pass));
    // Every message takes 183,633 ns, and 50 of them in a run have no 99th percentile of their own.
    for (require, verdict) in [
        ("delay.p99(status) < 190 us", Verdict::Pass),
        ("delay.p99(status) < 180 us", Verdict::Fail),
        ("lost(status) > 1 %", Verdict::Fail),
    ] {
        assert_eq!(judge_with(require, Start::Together, none), exact(verdict), "{require}");
    }
    // A loss of 1 in 10^9 did not occur in 500 messages, and may occur in others.
    let rare = Share(1);
    let open = (true, Verdict::Undecided, None, false, false);
    assert_eq!(judge_with("lost(status) < 1e-12", Start::Together, rare), open);
    // With random starts they are ten separate runs: none of 500 is at most 0.0074.
    let random = (false, Verdict::Pass, None, true, false);
    assert_eq!(judge_with("miss(status) < 1 %", Start::Random, none), random);
}

/// Verdict on a measurement of 500 messages by a host with this noise, its number of further runs, and
/// the noise if it is the reason. Every message takes 183,633 ns.
fn measured(require: &str, runs: u64, noise_ns: u64) -> (Verdict, Option<u64>, Option<u64>) {
    let mut study = on_bus(require);
    study.points[0].scenario.replications = runs;
    let mut samples = samples(&study, 2);
    samples.iter_mut().for_each(|sample| sample.source = Origin::Measured);
    // Runs on a real host differ, so they are no copies of one run.
    samples.iter_mut().zip(0..).for_each(|(sample, n)| sample.ended_at_ns += n);
    let report = analyse(&samples, 0.95).with_host_noise(&samples, Some(noise_ns));
    let [judged] = &judge(&report, &study.points)[..] else { panic!("one requirement") };
    (judged.verdict, judged.more_runs, judged.host_noise_ns)
}

#[test]
fn a_limit_within_the_noise_of_the_host_decides_nothing() {
    let open = |noise| (Verdict::Undecided, None, Some(noise));
    // The limit is 6,367 ns above the mean, the median and the longest.
    for quantity in ["delay.mean", "delay.p50", "delay.p99"] {
        let require = format!("{quantity}(status) < 190 us");
        assert_eq!(measured(&require, 10, 6_000), (Verdict::Pass, None, None), "{require}");
        assert_eq!(measured(&require, 10, 7_000), open(7_000), "{require}");
    }
    // And 3,633 ns below it.
    for quantity in ["delay.mean", "delay.max"] {
        let require = format!("{quantity}(status) < 180 us");
        assert_eq!(measured(&require, 10, 3_000), (Verdict::Fail, None, None), "{require}");
        assert_eq!(measured(&require, 10, 4_000), open(4_000), "{require}");
    }
    // One run has no interval. More runs would decide only if the limit is beyond the noise.
    let mean = "delay.mean(status) < 190 us";
    assert_eq!(measured(mean, 1, 6_000), (Verdict::Undecided, Some(1), None));
    assert_eq!(measured(mean, 1, 7_000), open(7_000));
    // A share of losses is no time.
    let lost = "lost(status) < 1 %";
    assert_eq!(measured(lost, 10, 1_000_000), (Verdict::Pass, None, None));
}

#[test]
fn messages_within_the_noise_of_their_deadline_decide_nothing() {
    // The deadline is 1 ms, which is 816 us from every delay.
    let miss = "miss(status) < 1 %";
    assert_eq!(measured(miss, 10, 815_000), (Verdict::Pass, None, None));
    assert_eq!(measured(miss, 10, 818_000), (Verdict::Undecided, None, Some(818_000)));
}

#[test]
fn simulated_runs_have_no_noise() {
    let study = on_bus("delay.mean(status) < 190 us");
    let samples = samples(&study, 2);
    let report = analyse(&samples, 0.95).with_host_noise(&samples, Some(1_000_000));
    assert_eq!(report, analyse(&samples, 0.95));
}
