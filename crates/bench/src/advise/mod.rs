//! Advice on the settings of the class 4 transport for the user's own network.
//!
//! TR-88-04 concludes that every installation has to measure before it can choose: its round trips
//! are the lower bound of the retransmission timer, and its window limits throughput. [`advise`]
//! does that for a scenario. It tries settings over a grid, in runs made by its caller, simulated
//! ([`predicted`]) or live, and reports the recommended settings, the evidence, and undecided
//! questions.
//!
//! Bias: the advice is for this scenario. A parameter that makes no difference here is set to its
//! conservative side, which is not evidence for it. Simulated stations without a profile compute in
//! zero time, so a checksum costs only its octets.

mod knob;
mod objective;
mod score;
mod search;
mod trials;

pub use knob::{Grid, Knob, Setting};
pub use objective::{Criterion, Objective};
pub use score::{Score, Told};
pub use trials::{INDIFFERENCE, Run, TOLERABLE, Verdict};

use crate::run::{RunError, Watch, run_watched};
use crate::sample::Sample;
use crate::scenario::{Faults, Flow, Point, Scenario, Study, Transport};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use search::{Proof, Search};
use serde::Serialize;
use stats::interval::Estimate;
use std::sync::Arc;
use std::thread;
use trials::Trials;

/// Reason why no advice is possible.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AdviceError {
    /// No flow uses class 4.
    #[error("no flow of the scenario has service class-4, so that there is nothing to set")]
    NoConnection,
    /// No flow has a throughput of its own.
    #[error("throughput: no class-4 flow sends as fast as it can (bulk, maximum-rate-request)")]
    NothingFast,
    /// No flow has a deadline to miss.
    #[error("misses: no flow of the scenario has a deadline")]
    NoDeadline,
    /// The study has several points, and advice is for one network.
    #[error("the scenario has {0} points that differ in more than the transport: choose one")]
    ManyPoints(usize),
    /// The study has no such point.
    #[error("there is no point {asked}: the scenario has {points}")]
    NoSuchPoint {
        /// Requested number, from 1.
        asked: usize,
        /// Number of points.
        points: usize,
    },
}

/// Parameters of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Order {
    /// Objective by which settings are judged.
    pub objective: Objective,
    /// Settings to be tried.
    pub grid: Grid,
    /// Maximum number of runs in total.
    pub budget: u64,
    /// Maximum number of replications of one setting; at least two are needed for any result.
    pub replications: usize,
    /// Maximum number of replications, if larger, of settings that may still be better than the
    /// advice by more than the tolerance.
    pub in_play: usize,
    /// Confidence level of each race, and of every reported interval.
    pub level: f64,
}

/// Requested run: settings and replication.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// Point with the settings to try.
    pub point: Point,
    /// Index of the replication; it shares its random numbers with the same replication of all
    /// settings.
    pub replication: u64,
    /// Purpose of the run.
    pub part: Part,
}

/// Purpose of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// To find settings. If time is limited, some of it must be kept for the proof.
    Search,
    /// To judge the settings found.
    Proof,
}

/// Reason for the end of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// No parameter changes any more.
    Settled,
    /// The budget of runs was exhausted.
    Budget,
    /// The caller made no more runs.
    Stopped,
}

/// Recommended settings, with evidence.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// Objective by which they were judged.
    pub objective: Objective,
    /// Transport as recommended.
    pub transport: Transport,
    /// Results of the recommended settings.
    pub advised: Outcome,
    /// Results of the scenario's own settings.
    pub own: Outcome,
    /// Verdict on the scenario's own settings, compared with those recommended.
    pub own_verdict: Verdict,
    /// Evidence for each parameter, all others as recommended.
    pub evidence: Vec<Evidence>,
    /// End point of the search, if it was not shown to be better than the scenario's own settings.
    pub unproved: Option<Unproved>,
    /// True if the path changes data undetected by the FCS, so that the checksum is needed.
    pub is_damaging: bool,
    /// Confidence level.
    pub level: f64,
    /// Number of runs made.
    pub runs: u64,
    /// Number of settings tried.
    pub tried: usize,
    /// Reason for the end of the search.
    pub ended: Ended,
}

/// Settings that appeared best in the search, without being shown to be.
#[derive(Clone, PartialEq, Debug)]
pub struct Unproved {
    /// The settings.
    pub transport: Transport,
    /// Results.
    pub outcome: Outcome,
}

/// Results of some settings, over replications that the search did not use.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Value of each criterion; empty without runs.
    pub values: Vec<Told>,
    /// Number of replications.
    pub runs: u64,
    /// Number of messages with a deadline, over all replications.
    pub judged: u64,
}

/// Evidence for one parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// Parameter.
    pub knob: Knob,
    /// Recommended setting.
    pub advised: Setting,
    /// Results of each of its settings.
    pub tried: Vec<Tried>,
}

/// One setting of a parameter, with all other parameters as recommended.
#[derive(Clone, PartialEq, Debug)]
pub struct Tried {
    /// Setting.
    pub setting: Setting,
    /// Results.
    pub outcome: Outcome,
    /// Amount by which it is worse than the recommended setting in each criterion, over pairs of
    /// runs with common random numbers; `None` with fewer than two pairs.
    pub differences: Vec<Option<Estimate>>,
    /// Verdict compared with the recommended setting.
    pub verdict: Verdict,
    /// True unless it is shown that it is not better by more than the tolerance.
    pub may_gain: bool,
}

impl Evidence {
    /// Settings whose comparison with the recommended one is undecided.
    pub fn undecided(&self) -> impl Iterator<Item = &Tried> {
        self.tried.iter().filter(|tried| tried.verdict == Verdict::Undecided)
    }
}

/// Selects the point of a study for the advice. Points that differ only in the transport count as
/// one, because the transport is the subject of the advice.
///
/// # Errors
/// Fails if no flow uses class 4, if there are several points and none was chosen (by its number
/// from 1), or if the chosen one does not exist.
pub fn point_of(study: &Study, chosen: Option<usize>) -> Result<Point, AdviceError> {
    // The varied transport is the same for all.
    let lan = |point: &Point| Scenario { transport: Transport::lan(), ..point.scenario.clone() };
    let has_connection =
        |point: &Point| point.scenario.flows.iter().any(|flow| flow.service.is_connected());
    if !study.points.iter().any(has_connection) {
        return Err(AdviceError::NoConnection);
    }
    let mut networks: Vec<&Point> = Vec::new();
    for point in &study.points {
        if !networks.iter().any(|known| lan(known) == lan(point)) {
            networks.push(point);
        }
    }
    let point = match (chosen, &networks[..]) {
        (None, [only]) => *only,
        (None, many) => return Err(AdviceError::ManyPoints(many.len())),
        (Some(asked), many) => {
            let points = many.len();
            let found = asked.checked_sub(1).and_then(|index| many.get(index));
            found.copied().ok_or(AdviceError::NoSuchPoint { asked, points })?
        }
    };
    let mut point = point.clone();
    point.scenario.vary = Arc::default();
    Ok(point)
}

/// Searches for the settings to recommend. `run` makes runs and returns their samples in order; if
/// it returns fewer than requested, their part of the search ends with the results so far.
///
/// # Errors
/// Errors of `run`, and a scenario without anything to advise on.
pub fn advise<E: From<AdviceError>>(
    point: &Point,
    order: &Order,
    run: Run<'_, E>,
) -> Result<Advice, E> {
    let scenario = &point.scenario;
    order.objective.check(scenario)?;
    let criteria = order.objective.criteria();
    let trials = Trials::new(point, criteria, order.budget, run);
    let most = order.replications.max(2);
    let mut search = Search {
        grid: &order.grid,
        trials,
        level: order.level,
        most,
        in_play: order.in_play.max(most),
        has_chance: has_chance(scenario),
    };
    let found = search.explore(&scenario.transport)?;
    let Proof { advised, evidence, unproved } = search.prove(found, &scenario.transport)?;
    let own = search.trials.number(scenario.transport.clone());
    Ok(Advice {
        objective: order.objective,
        transport: search.trials.transport(advised).clone(),
        advised: search.trials.outcome(advised, order.level),
        own: search.trials.outcome(own, order.level),
        own_verdict: search.trials.verdict(own, advised, order.level),
        evidence,
        unproved: unproved.map(|which| Unproved {
            transport: search.trials.transport(which).clone(),
            outcome: search.trials.outcome(which, order.level),
        }),
        is_damaging: knob::is_damaging(scenario),
        level: order.level,
        runs: order.budget - search.trials.left(),
        tried: search.trials.tried(),
        ended: search.trials.ended.unwrap_or(Ended::Settled),
    })
}

/// Returns whether runs may differ in ways that a few of them do not show.
fn has_chance(scenario: &Scenario) -> bool {
    let is_random = |flow: &Flow| flow.pattern.is_random();
    let has_traffic = scenario.background.is_some() || scenario.flows.iter().any(is_random);
    has_traffic || scenario.faults != Faults::NONE
}

/// The scenario with the recommended settings.
#[must_use]
pub fn advised(point: &Point, advice: &Advice) -> Scenario {
    Scenario { transport: advice.transport.clone(), ..point.scenario.clone() }
}

/// Simulates trials on several threads. Samples come in the order of the trials; once `stop` is
/// set, fewer of them.
///
/// # Errors
/// The error of the first run that cannot be made.
pub fn predicted(
    trials: &[Trial],
    jobs: usize,
    stop: &AtomicBool,
) -> Result<Vec<Sample>, RunError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(trial) = trials.get(index) else { break };
            let is_interrupted = || stop.load(Ordering::Relaxed);
            let mut watch =
                Watch { tap: None, is_interrupted: &is_interrupted, messages: None, trace: None };
            made.push((index, run_watched(&trial.point, "", trial.replication, &mut watch)));
        }
        made
    };
    let mut made = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..jobs.clamp(1, trials.len().max(1))).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("runs do not panic"));
        joined.flatten().collect::<Vec<_>>()
    });
    made.sort_by_key(|(index, _)| *index);
    let whole = made.into_iter().enumerate().take_while(|(place, (index, _))| place == index);
    whole.map(|(_, (_, sample))| sample).collect()
}
