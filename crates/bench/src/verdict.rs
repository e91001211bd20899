//! Verdicts on requirements: pass, fail, or undecided, with the number of further runs that would
//! decide.
//!
//! A requirement passes if the whole interval of its quantity lies on the right side of its limit,
//! and fails if the whole interval lies on the wrong side. The interval of a share is that of
//! Clopper and Pearson for all messages together, widened to Student's over runs if messages of one
//! run miss together. A quantile for which single runs are too short is pooled over all messages,
//! with the interval of its order statistics; with too few messages for the upper end, the lower end
//! alone can decide. That no message ever exceeds a limit can be refuted by runs, but only shown by
//! a theoretical bound. Copies of one run have no interval: where the scenario draws nothing at random
//! ([`Scenario::draws`](crate::scenario::Scenario::draws)), their number is exact and decides; where it
//! could have drawn something else, it decides nothing. A limit that is within the noise of the host that measured
//! ([`crate::noise`]) leaves a requirement undecided, however narrow its interval is.

use crate::analysis::{
    Confidence, FlowReport, PointReport, PooledQuantile, Probability, Report, Unit, share_interval,
};
use crate::scenario::{Point, Requirement, Subject, means};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::interval::{Interval, mean, proportion};

/// Maximum number of further runs that is reported.
const MOST_RUNS: u64 = 1_000_000;

/// Verdict on a requirement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RequirementVerdict")]
pub enum Verdict {
    /// The requirement holds.
    Pass,
    /// The requirement does not hold.
    Fail,
    /// The runs made do not decide it.
    Undecided,
}

impl Verdict {
    /// Verdict as a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Undecided => "undecided",
        }
    }
}

/// Requirement at one point for one flow, with the result.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Judged {
    /// Index of the point.
    pub point: usize,
    /// Flow.
    pub flow: String,
    /// Requirement as written.
    pub requirement: String,
    /// Estimate: nanoseconds, bits per second, or a fraction of one; `None` if there is none.
    pub found: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Confidence level of the interval; 1 if theory decided, or a number that is exact.
    pub level: f64,
    /// Verdict.
    pub verdict: Verdict,
    /// Approximate number of further runs that would decide it, if the results continue as so far;
    /// `None` if no number would.
    pub more_runs: Option<u64>,
    /// Reason for the verdict in words; empty if the interval is the reason.
    pub because: &'static str,
    /// Noise of the host that measured, if it is the reason why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_noise_ns: Option<u64>,
    /// True if the flow starts at random in each run, so that the runs may not include the worst
    /// alignment.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub random_start: bool,
    /// Upper bound of the flow's delay in theory, in nanoseconds, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_ns: Option<u64>,
}

/// Judges the requirements of every point by a report that includes bounds.
#[must_use]
pub fn judge(report: &Report, points: &[Point]) -> Vec<Judged> {
    let mut judged = Vec::new();
    for found in &report.points {
        let Some(point) = points.get(found.point) else { continue };
        let is_exact = found.deterministic && !point.scenario.draws(&found.counts);
        let runs = Runs { point: found, is_exact };
        for requirement in &point.scenario.require {
            let of = |flow: &&FlowReport| {
                requirement
                    .flow
                    .as_ref()
                    .is_none_or(|name| means(name, &flow.name, flow.group.as_deref()))
            };
            for flow in found.flows.iter().filter(of) {
                let one = judge_flow(requirement, flow, runs, report.level);
                judged.extend(one.map(|mut judged| {
                    if let Some(noise_ns) = report.host_noise_ns {
                        weigh_noise(&mut judged, requirement, flow, noise_ns);
                    }
                    judged
                }));
            }
        }
    }
    judged
}

/// The worst of some verdicts: fail before undecided.
#[must_use]
pub fn worst(judged: &[Judged]) -> Verdict {
    let any = |verdict| judged.iter().any(|judged| judged.verdict == verdict);
    match (any(Verdict::Fail), any(Verdict::Undecided)) {
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Undecided,
        (false, false) => Verdict::Pass,
    }
}

/// Runs of a point.
#[derive(Clone, Copy)]
struct Runs<'a> {
    point: &'a PointReport,
    /// True if all are copies of one run because the scenario draws nothing at random.
    is_exact: bool,
}

/// Judges one flow; `None` if `*` matches a flow that has no such quantity.
fn judge_flow(
    requirement: &Requirement,
    flow: &FlowReport,
    runs: Runs<'_>,
    level: f64,
) -> Option<Judged> {
    let mut judged = Judged {
        point: runs.point.point,
        flow: flow.name.clone(),
        requirement: requirement.text.clone(),
        found: None,
        low: None,
        high: None,
        level,
        verdict: Verdict::Undecided,
        more_runs: None,
        because: "",
        host_noise_ns: None,
        random_start: flow.random_start,
        bound_ns: flow.bound_ns,
    };
    let is_told = match requirement.subject {
        Subject::Miss => miss(&mut judged, requirement, flow, runs),
        Subject::Lost => {
            share(&mut judged, requirement, &flow.lost, ShareOf { flow, name: "lost", runs });
            true
        }
        Subject::LongestDelay => longest(&mut judged, requirement, flow, flow.longest_delay_ns),
        Subject::LongestResponse => {
            longest(&mut judged, requirement, flow, flow.longest_response_ns)
        }
        Subject::Mean(name) => quantity(&mut judged, requirement, flow, name, runs),
    };
    (is_told || requirement.flow.is_some()).then_some(judged)
}

/// Judges the share of missed deadlines; returns `false` for a flow without a deadline.
fn miss(judged: &mut Judged, requirement: &Requirement, flow: &FlowReport, runs: Runs<'_>) -> bool {
    let Some(missed) = &flow.missed else {
        judged.because = "the flow has no deadline, or no clock to check it";
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
        share(judged, requirement, missed, ShareOf { flow, name: "missed", runs });
    }
    true
}

/// Judges a quantity of each run; returns `false` if the flow has none of this name.
fn quantity(
    judged: &mut Judged,
    requirement: &Requirement,
    flow: &FlowReport,
    name: &str,
    Runs { point, is_exact }: Runs<'_>,
) -> bool {
    let runs = point.replications;
    let found = flow.quantity(name);
    if point.deterministic {
        let pooled = || far_quantile(flow, name).map(|quantile| quantile.value_ns as f64);
        judged.found = found.map(|found| found.mean).or_else(pooled);
        copies(judged, requirement, is_exact);
        return judged.found.is_some();
    }
    let Some(found) = found else { return pooled(judged, requirement, flow, name, runs) };
    judged.found = Some(found.mean);
    if let Some(estimate) = mean(&found.values, judged.level) {
        let Interval { low, high } = estimate.interval();
        // No quantity is negative.
        decide(judged, requirement, (low.max(0.0), high));
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

/// Reason why copies of one run decide nothing.
const COPIES: &str =
    "all runs are copies: what the scenario draws at random did not occur in them; make more";
/// Reason for a verdict by copies of one run.
const EXACT: &str =
    "deterministic: exact, no interval; other alignments: let flows start at random";

/// Judges what copies of one run found: exactly, if no run of the scenario can differ from it.
fn copies(judged: &mut Judged, requirement: &Requirement, is_exact: bool) {
    match judged.found {
        Some(found) if is_exact => {
            (judged.level, judged.because) = (1.0, EXACT);
            judged.verdict = verdict_of(requirement, found, found);
        }
        _ => judged.because = COPIES,
    }
}

/// Quantile of this name over all messages, if there is one.
fn far_quantile<'a>(flow: &'a FlowReport, name: &str) -> Option<&'a PooledQuantile> {
    let of = if name.starts_with("response.") { &flow.response_pooled } else { &flow.delay_pooled };
    let percent = name.split_once(".p").and_then(|(_, percent)| percent.parse::<f64>().ok());
    let is_it = |share: f64| percent.is_some_and(|percent| (share * 100.0 - percent).abs() < 1e-9);
    of.iter().find(|quantile| is_it(quantile.share))
}

/// Judges a quantile pooled over all runs, for which single runs are too short; returns whether
/// there is one.
fn pooled(
    judged: &mut Judged,
    requirement: &Requirement,
    flow: &FlowReport,
    name: &str,
    runs: u64,
) -> bool {
    judged.because = "too few messages to decide it";
    let Some(quantile) = far_quantile(flow, name) else { return false };
    let value = quantile.value_ns as f64;
    judged.found = Some(value);
    let times = match quantile.interval_ns {
        Some((low, high)) => {
            let (low, high) = (low as f64, high as f64);
            judged.because = "";
            decide(judged, requirement, (low, high));
            ((high - low) / 2.0 / (requirement.limit - value).abs()).powi(2)
        }
        // The maximum of n messages bounds a quantile q from above if q^n is below the tail.
        None => {
            judged.because = "too few messages to bound it";
            if let Some(least_ns) = quantile.least_ns {
                // Any value from the lower end on may be the quantile.
                judged.low = Some(least_ns as f64);
                judged.verdict = verdict_of(requirement, least_ns as f64, f64::INFINITY);
            }
            if judged.verdict != Verdict::Undecided {
                judged.because = "";
            }
            let tail = (1.0 - judged.level) / 2.0;
            (tail.ln() / quantile.share.ln()).ceil() / quantile.count as f64
        }
    };
    if judged.verdict == Verdict::Undecided {
        judged.more_runs = further(runs, times);
    }
    true
}

/// Judges the maximum ever: refuted by observation, shown by theory, or neither. Returns `false` for
/// a flow that has neither.
fn longest(
    judged: &mut Judged,
    requirement: &Requirement,
    flow: &FlowReport,
    longest_ns: Option<u64>,
) -> bool {
    judged.found = longest_ns.map(|nanos| nanos as f64);
    judged.level = 1.0;
    if judged.found.is_none() && flow.bound_ns.is_none() {
        judged.because = "no message or answer of this kind arrived";
        return false;
    }
    if judged.found.is_some_and(|seen| !requirement.relation.holds(seen, requirement.limit)) {
        (judged.verdict, judged.because) = (Verdict::Fail, "a message took longer");
        return true;
    }
    match flow.bound_ns.map(|nanos| nanos as f64) {
        Some(bound) if requirement.relation.holds(bound, requirement.limit) => {
            judged.high = Some(bound);
            (judged.verdict, judged.because) = (Verdict::Pass, "theory: the bound is within it");
        }
        Some(_) => judged.because = "the bound is beyond, and none was seen to take so long",
        None => {
            judged.because = "runs can refute a maximum but never prove one, and theory has no bound \
                              here: require miss(FLOW) < 1e-3 or delay.p99.9(FLOW) instead"
        }
    }
    true
}

/// Share of each run.
#[derive(Clone, Copy)]
struct ShareOf<'a> {
    flow: &'a FlowReport,
    name: &'static str,
    runs: Runs<'a>,
}

/// Judges a share of all messages.
fn share(
    judged: &mut Judged,
    requirement: &Requirement,
    probability: &Probability,
    ShareOf { flow, name, runs: Runs { point, is_exact } }: ShareOf<'_>,
) {
    let (Probability { events, trials, .. }, runs) = (*probability, point.replications);
    if trials == 0 {
        judged.because = "no message was sent";
        return;
    }
    judged.found = Some(events as f64 / trials as f64);
    if point.deterministic {
        copies(judged, requirement, is_exact);
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
    // Factor on the number of runs, increased until they would decide.
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

/// Withdraws a verdict that the noise of the host could turn, and an expectation that more runs
/// would decide if the result itself is within the noise. A proof from theory stands.
fn weigh_noise(judged: &mut Judged, requirement: &Requirement, flow: &FlowReport, noise_ns: u64) {
    let Some(found) = judged.found else { return };
    let is_proven = judged.verdict == Verdict::Pass && judged.level >= 1.0;
    let is_open = judged.verdict == Verdict::Undecided;
    if is_proven || (is_open && judged.more_runs.is_none()) {
        return;
    }
    let noise = noise_ns as f64;
    let (low, high) = match is_open {
        true => (found, found),
        false => (judged.low.unwrap_or(found), judged.high.unwrap_or(found)),
    };
    let (low, high) = match (requirement.subject, flow.missed.zip(flow.near_deadline)) {
        (Subject::Miss, Some((missed, near))) => {
            let trials = missed.trials;
            let least = missed.events.saturating_sub(near.missed);
            let most = missed.events.saturating_add(near.met).min(trials);
            let of = |events| proportion(events, trials, judged.level);
            let (least, most) = (of(least), of(most));
            match is_open {
                true => (least.share().unwrap_or(found), most.share().unwrap_or(found)),
                false => (low.min(least.interval.low), high.max(most.interval.high)),
            }
        }
        (subject, _) if subject.unit() == Unit::Nanoseconds => (low - noise, high + noise),
        // Losses and throughput are no times.
        _ => return,
    };
    if verdict_of(requirement, low, high) == Verdict::Undecided {
        (judged.verdict, judged.more_runs) = (Verdict::Undecided, None);
        judged.because = "the limit is within the noise of the host that measured";
        judged.host_noise_ns = Some(noise_ns);
    }
}

/// Number of further runs, if `times` as many runs suffice in all.
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

/// Confidence level at the `look`-th analysis of growing data, chosen so that all analyses together
/// err no more often than one at `level`. The error 1 - level is spent as 1/2, 1/6, 1/12, ... = 1 /
/// (k (k + 1)), which add up to one (the union bound; Lan and DeMets 1983 spend it more
/// efficiently).
#[must_use]
pub fn level_of_look(level: f64, look: u64) -> f64 {
    let look = look.max(1) as f64;
    1.0 - (1.0 - level) / (look * (look + 1.0))
}
