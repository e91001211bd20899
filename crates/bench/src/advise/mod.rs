//! Settings of the class 4 transport for a network of one's own.
//!
//! TR-88-04 ends with every installation having to measure before it can choose: its round trips are
//! the lower bound of the retransmission timer, and its window a throttle. [`advise`] does that
//! for a scenario: it tries settings over a grid, in runs that its caller makes, simulated
//! ([`predicted`]) or live, and tells which to take, on what evidence, and what it could not decide.
//!
//! Bias: the advice is for this scenario. A knob that makes no difference here is put to its
//! conservative side, not shown to be right. Simulated stations without a profile compute in no time,
//! so that a checksum costs its octets alone.

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
use crate::scenario::{Faults, Flow, Pattern, Point, Scenario, Service, Study, Transport};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use search::{Proof, Search};
use serde::Serialize;
use stats::interval::Estimate;
use std::sync::Arc;
use std::thread;
use trials::Trials;

/// Why nothing can be advised.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AdviceError {
    /// Nothing goes over class 4.
    #[error("no flow of the scenario has service class-4, so that there is nothing to set")]
    NoConnection,
    /// Nothing can have a throughput of its own.
    #[error("throughput: no class-4 flow sends as fast as it can (bulk, maximum-rate-request)")]
    NothingFast,
    /// Nothing can be missed.
    #[error("misses: no flow of the scenario has a deadline")]
    NoDeadline,
    /// Advice is for one network.
    #[error("the scenario has {0} points that differ in more than the transport: choose one")]
    ManyPoints(usize),
    /// There is no such point.
    #[error("there is no point {asked}: the scenario has {points}")]
    NoSuchPoint {
        /// Which was asked for, from 1.
        asked: usize,
        /// How many there are.
        points: usize,
    },
}

/// What to search, and how far.
#[derive(Clone, PartialEq, Debug)]
pub struct Order {
    /// What settings are judged by.
    pub objective: Objective,
    /// What is tried.
    pub grid: Grid,
    /// The most runs in all.
    pub budget: u64,
    /// The most replications of one setting; at least two show anything.
    pub replications: usize,
    /// The same, if more, of settings that may still be better than the advice by more than is
    /// tolerable.
    pub in_play: usize,
    /// The confidence of each race, and of every interval that is told.
    pub level: f64,
}

/// A run to be made: these settings in this replication.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// The point, with the settings to try.
    pub point: Point,
    /// Which replication; its chance is that of the same replication of all settings.
    pub replication: u64,
    /// What it is for.
    pub part: Part,
}

/// What a run is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// To find settings. Where time is short, some of it has to be kept for the proof.
    Search,
    /// To judge what was found.
    Proof,
}

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// No knob moves any more.
    Settled,
    /// All runs of the budget were made before.
    Budget,
    /// Whoever makes the runs made no more.
    Stopped,
}

/// What to set, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// What it was judged by.
    pub objective: Objective,
    /// The transport as advised.
    pub transport: Transport,
    /// What came of it.
    pub advised: Outcome,
    /// What came of the scenario's own settings.
    pub own: Outcome,
    /// What the scenario's own settings are against those advised.
    pub own_verdict: Verdict,
    /// Knob by knob, all others as advised.
    pub evidence: Vec<Evidence>,
    /// Where the search ended, if that was not shown to be better than the scenario's own settings.
    pub unproved: Option<Unproved>,
    /// Whether the path changes data that the FCS passes, so that the checksum is needed.
    pub is_damaging: bool,
    /// The confidence.
    pub level: f64,
    /// Runs that were made.
    pub runs: u64,
    /// Settings that were tried.
    pub tried: usize,
    /// How the search ended.
    pub ended: Ended,
}

/// Settings that the search took for the best, and that were not shown to be.
#[derive(Clone, PartialEq, Debug)]
pub struct Unproved {
    /// The settings.
    pub transport: Transport,
    /// What came of them.
    pub outcome: Outcome,
}

/// What came of some settings, over replications that the search has not seen.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// What each criterion came to; without any where none was run.
    pub values: Vec<Told>,
    /// Replications.
    pub runs: u64,
    /// Messages with a deadline, over all replications.
    pub judged: u64,
}

/// What was found of one knob.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// The knob.
    pub knob: Knob,
    /// Its setting as advised.
    pub advised: Setting,
    /// Each of its settings.
    pub tried: Vec<Tried>,
}

/// One setting of a knob, all other knobs as advised.
#[derive(Clone, PartialEq, Debug)]
pub struct Tried {
    /// The setting.
    pub setting: Setting,
    /// What came of it.
    pub outcome: Outcome,
    /// By how much it is worse than the advised one in each criterion, over pairs of runs with the
    /// same chance; none of fewer than two.
    pub differences: Vec<Option<Estimate>>,
    /// What it is against the advised one.
    pub verdict: Verdict,
    /// Whether it is not shown not to be better by more than is tolerable.
    pub may_gain: bool,
}

impl Evidence {
    /// The settings of which it was not shown what they are against the advised one.
    pub fn undecided(&self) -> impl Iterator<Item = &Tried> {
        self.tried.iter().filter(|tried| tried.verdict == Verdict::Undecided)
    }
}

/// The one point of a study that advice is for. Points that differ in the transport alone are one,
/// since that is what is advised on.
///
/// # Errors
/// Where nothing goes over class 4, where there are several and none was chosen, by its number from 1,
/// and where there is no such one.
pub fn point_of(study: &Study, chosen: Option<usize>) -> Result<Point, AdviceError> {
    // What varies is the same for all.
    let lan = |point: &Point| Scenario { transport: Transport::lan(), ..point.scenario.clone() };
    let has_connection =
        |point: &Point| point.scenario.flows.iter().any(|flow| flow.service == Service::Class4);
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

/// Searches for the settings to advise. `run` makes runs and hands their samples back in order; with
/// fewer than it was asked for the part that they are for ends with what there is.
///
/// # Errors
/// Those of `run`, and where the scenario has nothing to advise on.
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

/// Whether runs may differ in more than what a few of them show.
fn has_chance(scenario: &Scenario) -> bool {
    let is_random = |flow: &Flow| matches!(flow.pattern, Pattern::Poisson { .. });
    let has_traffic = scenario.background.is_some() || scenario.flows.iter().any(is_random);
    has_traffic || scenario.faults != Faults::NONE
}

/// The scenario with the advice filled in.
#[must_use]
pub fn advised(point: &Point, advice: &Advice) -> Scenario {
    Scenario { transport: advice.transport.clone(), ..point.scenario.clone() }
}

/// Simulates trials on several threads. Samples come in the order of the trials; once `stop` is set,
/// fewer of them.
///
/// # Errors
/// That of the first run that cannot be made.
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
            let mut watch = Watch { tap: None, is_interrupted: &is_interrupted };
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
