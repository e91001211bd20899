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

/// Makes runs block by block until the goal is reached or the maximum number is made. Every sample
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
    let mut samples: Vec<Sample> = Vec::new();
    let mut runs = all_runs(study, plan);
    let mut judged: Vec<Judged> = Vec::new();
    let mut imprecise = BTreeSet::new();
    let mut open: BTreeSet<usize> = study.points.iter().map(|point| point.index).collect();
    let first = runs.iter().map(|(_, replication)| replication + 1).max().unwrap_or(1);
    let (mut number, mut replications) = (1, first);
    loop {
        let mut broken = false;
        run_these(study, &runs, made, plan.jobs, stop, |sample| {
            samples.push(sample.clone());
            let flow = each(sample);
            broken = flow.is_break();
            flow
        })?;
        let level = level_of_look(goal.level, number);
        // The result of a point's last look stays.
        judged.retain(|judged| !open.contains(&judged.point));
        imprecise.retain(|point| !open.contains(point));
        let here: Vec<Sample> =
            samples.iter().filter(|sample| open.contains(&sample.point)).cloned().collect();
        let report = analyse(&here, goal.level);
        let at_look = analyse(&here, level).with_bounds(&study.points);
        judged.extend(judge(&at_look, &study.points));
        imprecise.extend(open.iter().filter(|point| !is_precise(&report, **point, goal)));
        let undecided = |point: &usize| {
            let of = |judged: &&Judged| judged.point == *point;
            goal.decided && judged.iter().filter(of).any(can_be_decided)
        };
        let going: BTreeSet<usize> =
            open.iter().copied().filter(|it| imprecise.contains(it) || undecided(it)).collect();
        let look = Look { number, replications, level, open: going.len() };
        looked(look);
        let is_over = broken || stop.load(Ordering::Relaxed);
        if going.is_empty() || replications >= goal.at_most || is_over {
            judged.sort_by_key(|judged| judged.point);
            return Ok(Ended { look, judged, imprecise });
        }
        open = going;
        let next = next_look(replications, goal.at_most);
        runs = open
            .iter()
            .flat_map(|point| (replications..next).map(|replication| (*point, replication)))
            .collect();
        (number, replications) = (number + 1, next);
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
