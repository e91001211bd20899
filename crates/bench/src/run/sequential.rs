//! Sequential runs: as many as needed until means are precise enough and requirements are decided.
//!
//! The rule of Law and Kelton for a relative half-width, applied after blocks of replications that
//! are fixed beforehand and taken in the order of replications: the stopping point does not depend
//! on threads. Each look at growing data is another chance of error. So requirements are judged at
//! the confidence of [`level_of_look`], and err over all looks no more often than at a single one.
//! Bias: the rule for means has no such correction; its intervals cover slightly less than stated.

use super::parallel::{Made, run_these};
use super::{Plan, RunError, all_runs};
use crate::analysis::{Report, analyse, is_enough};
use crate::sample::Sample;
use crate::scenario::Study;
use crate::verdict::{Judged, Verdict, judge, level_of_look};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeSet;

/// Condition for enough runs of a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goal {
    /// Relative half-width of each flow's mean delay, or mean response.
    pub precision: Option<f64>,
    /// Every requirement must be decided.
    pub decided: bool,
    /// Maximum number of replications of a point.
    pub at_most: u64,
    /// Overall confidence level.
    pub level: f64,
}

/// One look at the data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Look {
    /// Number of the look, from 1.
    pub number: u64,
    /// Replications of the points that continue.
    pub replications: u64,
    /// Confidence level at which requirements are judged.
    pub level: f64,
    /// Number of points that need more runs.
    pub open: usize,
}

/// End of sequential runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Ended {
    /// Last look.
    pub look: Look,
    /// Requirements as judged by each point's last look.
    pub judged: Vec<Judged>,
    /// Points whose means are not precise enough within the maximum number of replications.
    pub imprecise: BTreeSet<usize>,
}

/// Quantities whose precision counts: the response of a flow that is answered, otherwise the delay.
const MEANS: [&str; 2] = ["response.mean", "delay.mean"];

/// Rounds of runs, each followed by a look at all samples so far.
///
/// The runs of a round depend only on the study, the goal and the samples before it, so that one process makes them, or
/// the shards of several machines.
#[derive(Debug)]
pub struct Rounds<'a> {
    study: &'a Study,
    goal: Goal,
    samples: Vec<Sample>,
    judged: Vec<Judged>,
    imprecise: BTreeSet<usize>,
    /// Points that get more runs.
    open: BTreeSet<usize>,
    look: Look,
    runs: Vec<(usize, u64)>,
    is_over: bool,
}

impl<'a> Rounds<'a> {
    /// Begins with the scenario's replications, or those of `replications`.
    #[must_use]
    pub fn begin(study: &'a Study, replications: Option<u64>, goal: Goal) -> Self {
        let runs = all_runs(study, Plan { replications, jobs: 1 });
        let first = runs.iter().map(|(_, replication)| replication + 1).max().unwrap_or(1);
        let open: BTreeSet<usize> = study.points.iter().map(|point| point.index).collect();
        let look = Look { number: 0, replications: first, level: goal.level, open: open.len() };
        let (samples, judged, imprecise) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { study, goal, samples, judged, imprecise, open, look, runs, is_over: false }
    }

    /// Takes samples made earlier, as far as their rounds are whole. The round that remains is the first that is not, or
    /// the last if no more runs are needed.
    #[must_use]
    pub fn after(mut self, made: &Made) -> Self {
        loop {
            let round: Option<Vec<Sample>> =
                self.runs.iter().map(|run| made.get(run).cloned()).collect();
            let Some(round) = round else { return self };
            self.look(round);
            if !self.go_on() {
                return self;
            }
        }
    }

    /// Runs of the round under way: point and replication.
    #[must_use]
    pub fn runs(&self) -> &[(usize, u64)] {
        &self.runs
    }

    /// Samples of the rounds before, in their order.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Number of the round under way, from 1.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.look.number + 1
    }

    /// True once [`Self::go_on`] found that no more runs are needed, or allowed.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Ends the round with its samples: judges the points that had more runs.
    pub fn look(&mut self, round: impl IntoIterator<Item = Sample>) -> Look {
        self.samples.extend(round);
        let Self { study, goal, samples, judged, imprecise, open, look, .. } = self;
        look.number += 1;
        look.level = level_of_look(goal.level, look.number);
        // The result of a point's last look stays.
        judged.retain(|judged| !open.contains(&judged.point));
        imprecise.retain(|point| !open.contains(point));
        let here: Vec<Sample> =
            samples.iter().filter(|sample| open.contains(&sample.point)).cloned().collect();
        let report = analyse(&here, goal.level);
        let at_look = analyse(&here, look.level).with_bounds(&study.points);
        judged.extend(judge(&at_look, &study.points));
        imprecise.extend(open.iter().filter(|point| !is_precise(&report, **point, *goal)));
        let undecided = |point: &usize| {
            let of = |judged: &&Judged| judged.point == *point;
            goal.decided && judged.iter().filter(of).any(can_be_decided)
        };
        open.retain(|point| imprecise.contains(point) || undecided(point));
        look.open = open.len();
        *look
    }

    /// Begins the next round; returns whether there is one.
    pub fn go_on(&mut self) -> bool {
        let now = self.look.replications;
        self.is_over = self.look.open == 0 || now >= self.goal.at_most;
        if self.is_over {
            return false;
        }
        self.look.replications = next_look(now, self.goal.at_most);
        let more = |point: &usize| {
            let point = *point;
            (now..self.look.replications).map(move |replication| (point, replication))
        };
        self.runs = self.open.iter().flat_map(more).collect();
        true
    }

    /// State at the last look.
    #[must_use]
    pub fn end(mut self) -> Ended {
        self.judged.sort_by_key(|judged| judged.point);
        Ended { look: self.look, judged: self.judged, imprecise: self.imprecise }
    }
}

/// Makes runs round by round until the goal is reached or the maximum number is made. Every sample
/// goes to `each` in an order that depends only on the scenario and the goal; `looked` is called
/// after each look.
///
/// # Errors
/// Errors of [`super::run_all`].
pub fn run_until(
    study: &Study,
    plan: Plan,
    goal: Goal,
    made: &Made,
    stop: &AtomicBool,
    mut each: impl FnMut(Sample) -> ControlFlow<()>,
    mut looked: impl FnMut(Look),
) -> Result<Ended, RunError> {
    let mut rounds = Rounds::begin(study, plan.replications, goal);
    loop {
        let mut broken = false;
        let mut round = Vec::new();
        run_these(study, rounds.runs(), made, plan.jobs, stop, |sample| {
            round.push(sample.clone());
            let flow = each(sample);
            broken = flow.is_break();
            flow
        })?;
        looked(rounds.look(round));
        if broken || stop.load(Ordering::Relaxed) || !rounds.go_on() {
            return Ok(rounds.end());
        }
    }
}

/// Replications of a point at the look behind one at this many: half as many more.
#[must_use]
pub fn next_look(replications: u64, at_most: u64) -> u64 {
    replications.saturating_add(replications.div_ceil(2)).min(at_most)
}

/// Number of the look at a point with this many replications, if the first look had `first`.
#[must_use]
pub fn look_at(replications: u64, first: u64) -> u64 {
    let looks = core::iter::successors(Some(first.max(1)), |now| Some(next_look(*now, u64::MAX)));
    1 + looks.take_while(|now| *now < replications).count() as u64
}

/// Returns whether more runs may decide.
fn can_be_decided(judged: &Judged) -> bool {
    let by_runs = judged.because.is_empty() || judged.more_runs.is_some();
    judged.verdict == Verdict::Undecided && by_runs
}

fn is_precise(report: &Report, point: usize, goal: Goal) -> bool {
    let Some(precision) = goal.precision else { return true };
    let found = report.points.iter().find(|found| found.point == point);
    found.is_some_and(|found| is_enough(found, &MEANS, precision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_look_follows_from_the_replications() {
        // 10, 15, 23 and 35: half as many more, rounded up.
        for (replications, look) in [(1, 1), (10, 1), (11, 2), (15, 2), (16, 3), (23, 3), (35, 4)] {
            assert_eq!(look_at(replications, 10), look, "{replications}");
        }
        assert_eq!((next_look(10, 100), next_look(10, 12), next_look(23, 100)), (15, 12, 35));
    }
}
