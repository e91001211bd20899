//! Whether requirements hold: yes, no, or not decided by these runs, and how many more would decide.
//!
//! A requirement holds if the whole interval of what it is about lies on the right side of its limit,
//! and fails if the whole interval lies on the wrong one. The interval of a share is that of Clopper
//! and Pearson for all messages together, widened to Student's over runs where messages of one run
//! miss together. A quantile that single runs are too short to tell is that of all messages together,
//! with the interval of its order statistics. That no message ever takes longer than a limit, runs alone can only refute; the
//! bound of theory can show it.

use crate::analysis::{Confidence, FlowReport, PointReport, Probability, Report, share_interval};
use crate::scenario::{Point, Requirement, Subject, means};
use serde::Serialize;
use stats::interval::{Interval, mean};

/// The most further runs that are worth naming.
const MOST_RUNS: u64 = 1_000_000;

/// What became of a requirement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// The runs made do not decide it.
    Undecided,
}

impl Verdict {
    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Undecided => "undecided",
        }
    }
}

/// A requirement at one point for one flow, and what was found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Judged {
    /// The place of the point.
    pub point: usize,
    /// The flow.
    pub flow: String,
    /// The requirement as it was written.
    pub requirement: String,
    /// What was found: nanoseconds, bits per second, or a fraction of one; none if there is nothing.
    pub found: Option<f64>,
    /// Its interval.
    pub low: Option<f64>,
    /// Its interval.
    pub high: Option<f64>,
    /// The confidence of the interval; one where theory decided.
    pub level: f64,
    /// What became of it.
    pub verdict: Verdict,
    /// About how many more runs would decide it, if this many runs go on as they did; none if no
    /// number would.
    pub more_runs: Option<u64>,
    /// What decided, or why nothing does, in words; empty where the interval says it all.
    pub because: &'static str,
    /// Whether the flow starts at random in each run, so that runs may not have met the worst
    /// alignment.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub random_start: bool,
    /// The longest that a message of the flow can take in theory, in nanoseconds, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_ns: Option<u64>,
}

/// Judges the requirements of every point by a report with bounds in it.
#[must_use]
pub fn judge(report: &Report, points: &[Point]) -> Vec<Judged> {
    let mut judged = Vec::new();
    for found in &report.points {
        let Some(point) = points.get(found.point) else { continue };
        for requirement in &point.scenario.require {
            let of = |flow: &&FlowReport| {
                requirement
                    .flow
                    .as_ref()
                    .is_none_or(|name| means(name, &flow.name, flow.group.as_deref()))
            };
            for flow in found.flows.iter().filter(of) {
                judged.extend(judge_flow(requirement, flow, found, report.level));
            }
        }
    }
    judged
}

/// The worst of some verdicts: a failure before what is not decided.
#[must_use]
pub fn worst(judged: &[Judged]) -> Verdict {
    let any = |verdict| judged.iter().any(|judged| judged.verdict == verdict);
    match (any(Verdict::Fail), any(Verdict::Undecided)) {
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Undecided,
        (false, false) => Verdict::Pass,
    }
}

/// Judges one flow; none where `*` stands for flows that have no such quantity.
fn judge_flow(
    requirement: &Requirement,
    flow: &FlowReport,
    point: &PointReport,
    level: f64,
) -> Option<Judged> {
    let mut judged = Judged {
        point: point.point,
        flow: flow.name.clone(),
        requirement: requirement.text.clone(),
        found: None,
        low: None,
        high: None,
        level,
        verdict: Verdict::Undecided,
        more_runs: None,
        because: "",
        random_start: flow.random_start,
        bound_ns: flow.bound_ns,
    };
    let is_told = match requirement.subject {
        Subject::Miss => miss(&mut judged, requirement, flow, point),
        Subject::Lost => {
            share(&mut judged, requirement, &flow.lost, ShareOf { flow, name: "lost", point });
            true
        }
        Subject::Longest => {
            longest(&mut judged, requirement, flow);
            true
        }
        Subject::Mean(name) => quantity(&mut judged, requirement, flow, name, point),
    };
    (is_told || requirement.flow.is_some()).then_some(judged)
}

/// The share of missed deadlines; `false` for a flow without deadline.
fn miss(
    judged: &mut Judged,
    requirement: &Requirement,
    flow: &FlowReport,
    point: &PointReport,
) -> bool {
    let Some(missed) = &flow.missed else {
        judged.because = "the flow has no deadline, or no clock to tell it by";
        return false;
    };
    let is_shown = flow.bound_ns.zip(flow.deadline_ns).is_some_and(|(b, d)| b <= d);
    let holds =
        requirement.relation.is_upper() && requirement.relation.holds(0.0, requirement.limit);
    if is_shown && missed.events == 0 && holds {
        judged.found = Some(0.0);
        (judged.level, judged.because) = (1.0, "theory: the bound is within the deadline");
        judged.verdict = Verdict::Pass;
    } else {
        share(judged, requirement, missed, ShareOf { flow, name: "missed", point });
    }
    true
}

/// A quantity of each run; `false` where the flow has none of this name.
fn quantity(
    judged: &mut Judged,
    requirement: &Requirement,
    flow: &FlowReport,
    name: &str,
    point: &PointReport,
) -> bool {
    let runs = point.replications;
    let found = flow.quantity(name);
    if point.deterministic {
        judged.found = found.map(|found| found.mean);
        judged.because = COPIES;
        return found.is_some();
    }
    let Some(found) = found else { return pooled(judged, requirement, flow, name, runs) };
    judged.found = Some(found.mean);
    if let Some(estimate) = mean(&found.values, judged.level) {
        let Interval { low, high } = estimate.interval();
        decide(judged, requirement, (low, high));
        if judged.verdict == Verdict::Undecided {
            let apart = (requirement.limit - estimate.mean).abs();
            let times = (estimate.half_width / apart).powi(2);
            judged.more_runs = further(runs, times);
        }
    } else {
        judged.because = "a single run has no interval";
        judged.more_runs = Some(1);
    }
    true
}

/// Why copies of one run decide nothing.
const COPIES: &str = "deterministic: one run, which samples nothing; let flows start at random";

/// A quantile that single runs are too short to tell, of all runs together; whether there is one.
fn pooled(
    judged: &mut Judged,
    requirement: &Requirement,
    flow: &FlowReport,
    name: &str,
    runs: u64,
) -> bool {
    judged.because = "too few messages to tell it";
    let of = if name.starts_with("response.") { &flow.response_pooled } else { &flow.delay_pooled };
    let percent = name.split_once(".p").and_then(|(_, percent)| percent.parse::<f64>().ok());
    let is_it = |share: f64| percent.is_some_and(|percent| (share * 100.0 - percent).abs() < 1e-9);
    let Some(quantile) = of.iter().find(|quantile| is_it(quantile.share)) else { return false };
    let value = quantile.value_ns as f64;
    judged.found = Some(value);
    let times = match quantile.interval_ns {
        Some((low, high)) => {
            let (low, high) = (low as f64, high as f64);
            judged.because = "";
            decide(judged, requirement, (low, high));
            ((high - low) / 2.0 / (requirement.limit - value).abs()).powi(2)
        }
        // The longest of n messages bounds a quantile q from above if q^n is below the tail.
        None => {
            judged.because = "too few messages to bound it";
            let tail = (1.0 - judged.level) / 2.0;
            (tail.ln() / quantile.share.ln()).ceil() / quantile.count as f64
        }
    };
    if judged.verdict == Verdict::Undecided {
        judged.more_runs = further(runs, times);
    }
    true
}

/// The longest ever: refuted by what was seen, shown by theory, or neither.
fn longest(judged: &mut Judged, requirement: &Requirement, flow: &FlowReport) {
    judged.found = flow.longest_ns.map(|nanos| nanos as f64);
    judged.level = 1.0;
    if judged.found.is_some_and(|seen| !requirement.relation.holds(seen, requirement.limit)) {
        (judged.verdict, judged.because) = (Verdict::Fail, "a message took longer");
        return;
    }
    match flow.bound_ns.map(|nanos| nanos as f64) {
        Some(bound) if requirement.relation.holds(bound, requirement.limit) => {
            judged.high = Some(bound);
            (judged.verdict, judged.because) = (Verdict::Pass, "theory: the bound is within it");
        }
        Some(_) => judged.because = "the bound is beyond, and none was seen to take so long",
        None => {
            judged.because = "no number of runs shows it, and there is no bound: ask for a miss"
        }
    }
}

/// The quantity that tells a share of each run.
#[derive(Clone, Copy)]
struct ShareOf<'a> {
    flow: &'a FlowReport,
    name: &'static str,
    point: &'a PointReport,
}

/// A share of all messages.
fn share(
    judged: &mut Judged,
    requirement: &Requirement,
    probability: &Probability,
    ShareOf { flow, name, point }: ShareOf<'_>,
) {
    let (Probability { events, trials, .. }, runs) = (*probability, point.replications);
    if trials == 0 {
        judged.because = "no message was sent";
        return;
    }
    judged.found = Some(events as f64 / trials as f64);
    if point.deterministic {
        judged.because = COPIES;
        return;
    }
    let level = judged.level;
    let widened = |events: u64, trials: u64, times: f64| {
        share_interval(events, trials, flow.quantity(name), Confidence { level, times })
    };
    decide(judged, requirement, widened(events, trials, 1.0));
    if judged.verdict != Verdict::Undecided {
        return;
    }
    // How much longer it must go on as it did: doubled until that would decide.
    let mut times = 1.0_f64;
    while times * runs as f64 <= MOST_RUNS as f64 {
        times *= 1.1;
        let scaled = |count: u64| (count as f64 * times).round() as u64;
        let (low, high) = widened(scaled(events), scaled(trials), times);
        if verdict_of(requirement, low, high) != Verdict::Undecided {
            judged.more_runs = further(runs, times);
            return;
        }
    }
}

/// How many runs more, if so many times as many would do.
fn further(runs: u64, times: f64) -> Option<u64> {
    let all = runs as f64 * times;
    let is_finite = all.is_finite() && all <= MOST_RUNS as f64;
    is_finite.then(|| (all.ceil() as u64).saturating_sub(runs).max(1))
}

fn decide(judged: &mut Judged, requirement: &Requirement, (low, high): (f64, f64)) {
    (judged.low, judged.high) = (Some(low), Some(high));
    judged.verdict = verdict_of(requirement, low, high);
}

fn verdict_of(requirement: &Requirement, low: f64, high: f64) -> Verdict {
    let holds = |value| requirement.relation.holds(value, requirement.limit);
    match (holds(low), holds(high)) {
        (true, true) => Verdict::Pass,
        (false, false) => Verdict::Fail,
        (true, false) | (false, true) => Verdict::Undecided,
    }
}

/// The confidence of an interval at the k-th look at growing data, so that all looks together err no
/// more often than one at `level` does: 1 - level is spent as 1/2, 1/6, 1/12, ... = 1 / (k (k + 1)),
/// which add up to one (the union bound; Lan and DeMets 1983 spend it more cleverly).
#[must_use]
pub fn level_of_look(level: f64, look: u64) -> f64 {
    let look = look.max(1) as f64;
    1.0 - (1.0 - level) / (look * (look + 1.0))
}
