//! Runs of settings, each made once, and pairwise comparisons of settings.
//!
//! All settings use common random numbers: replication k of each has the same seed, so differences
//! are taken run by run. Bias: a connection that sends other frames draws other losses, so the
//! pairs are less similar than their seeds.

use super::objective::Criterion;
use super::score::Score;
use super::{Ended, Outcome, Part, Trial};
use crate::sample::Sample;
use crate::scenario::{Point, Transport};
use stats::interval::Estimate;

/// Relative difference that does not matter.
pub const INDIFFERENCE: f64 = 0.01;
/// Maximum relative cost of the conservative side, at the requested confidence.
pub const TOLERABLE: f64 = 0.05;

/// Result of comparing two settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The first is shown to be better.
    Better,
    /// The first is shown to be worse.
    Worse,
    /// The difference is shown not to matter.
    Equal,
    /// More runs would be needed.
    Undecided,
}

/// Function that makes runs and returns the sample of each trial, in order; fewer if it has to
/// stop.
pub type Run<'a, E> = &'a mut dyn FnMut(&[Trial]) -> Result<Vec<Sample>, E>;

/// Settings and the runs made with them.
pub(super) struct Trials<'a, E> {
    point: Point,
    criteria: &'static [Criterion],
    run: Run<'a, E>,
    left: u64,
    /// Current purpose of runs.
    part: Part,
    /// Number of runs reserved for later.
    reserved: u64,
    /// True if the caller makes no more runs for the search.
    is_searched: bool,
    candidates: Vec<Candidate>,
    /// First replication; earlier ones were for another purpose.
    begin: u64,
    /// Reason why no more runs are made.
    pub(super) ended: Option<Ended>,
}

/// Settings with their results.
struct Candidate {
    transport: Transport,
    was_run: bool,
    /// Scores by replication.
    scores: Vec<Score>,
}

/// Amount by which some settings are worse than others.
struct Excess {
    /// `None` with fewer than two pairs of runs.
    estimate: Option<Estimate>,
    /// Value of the other settings.
    of_other: f64,
}

impl<'a, E> Trials<'a, E> {
    /// Creates an empty set of trials with a maximum number of runs.
    pub(super) fn new(
        point: &Point,
        criteria: &'static [Criterion],
        budget: u64,
        run: Run<'a, E>,
    ) -> Self {
        let (point, candidates) = (point.clone(), Vec::new());
        let (part, is_searched) = (Part::Search, false);
        let (left, reserved, begin, ended) = (budget, 0, 0, None);
        Self { point, criteria, run, left, part, reserved, is_searched, candidates, begin, ended }
    }

    /// Number of these settings.
    pub(super) fn number(&mut self, transport: Transport) -> usize {
        let known = self.candidates.iter().position(|known| known.transport == transport);
        known.unwrap_or_else(|| {
            let candidate = Candidate { transport, was_run: false, scores: Vec::new() };
            self.candidates.push(candidate);
            self.candidates.len() - 1
        })
    }

    /// Settings of this number.
    pub(super) fn transport(&self, which: usize) -> &Transport {
        &self.of(which).transport
    }

    fn of(&self, which: usize) -> &Candidate {
        self.candidates.get(which).expect("numbers come from `number`")
    }

    /// Number of settings tried.
    pub(super) fn tried(&self) -> usize {
        self.candidates.iter().filter(|candidate| candidate.was_run).count()
    }

    /// Number of runs that may still be made.
    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    /// Number of runs that may be made without the reserved ones.
    pub(super) const fn spendable(&self) -> u64 {
        self.left.saturating_sub(self.reserved)
    }

    /// Reserves `runs` runs for later.
    pub(super) const fn reserve(&mut self, runs: u64) {
        self.reserved = runs;
    }

    /// Returns whether no run may be made now.
    pub(super) const fn is_over(&self) -> bool {
        self.is_stopped() || self.left <= self.reserved
    }

    const fn is_stopped(&self) -> bool {
        let is_searched = matches!(self.part, Part::Search) && self.is_searched;
        is_searched || self.ended.is_some()
    }

    /// Number of replications of these settings.
    pub(super) fn count(&self, which: usize) -> usize {
        self.of(which).scores.len()
    }

    /// Begins the proof, with fresh random numbers.
    pub(super) fn prove(&mut self) {
        self.part = Part::Proof;
        let counts = self.candidates.iter().map(|candidate| candidate.scores.len());
        self.begin += counts.max().unwrap_or(0) as u64;
        for candidate in &mut self.candidates {
            candidate.scores.clear();
        }
    }

    /// Makes runs until each of these settings has `replications`, or no runs are left. Settings
    /// that are named twice are run once.
    pub(super) fn replicate(&mut self, which: &[usize], replications: usize) -> Result<(), E> {
        let mut missing = Vec::new();
        // By replication first, so that all have about equally many if the budget ends.
        for replication in 0..replications {
            for one in which.iter().filter(|one| self.count(**one) <= replication) {
                if !missing.contains(&(*one, replication)) {
                    missing.push((*one, replication));
                }
            }
        }
        if self.is_stopped() || missing.is_empty() {
            return Ok(());
        }
        let affordable = usize::try_from(self.spendable()).unwrap_or(usize::MAX);
        if missing.len() > affordable {
            missing.truncate(affordable);
            self.ended = (self.reserved == 0).then_some(Ended::Budget);
        }
        let trials: Vec<Trial> = missing
            .iter()
            .map(|(which, replication)| self.trial(*which, self.begin + *replication as u64))
            .collect();
        let samples = (self.run)(&trials)?;
        let complete = samples.iter().take_while(|sample| sample.complete).count();
        match self.part {
            Part::Search => self.is_searched |= complete < trials.len(),
            Part::Proof if complete < trials.len() => self.ended = Some(Ended::Stopped),
            Part::Proof => {}
        }
        self.left = self.left.saturating_sub(samples.len() as u64);
        for ((which, _), sample) in missing.into_iter().zip(samples.iter().take(complete)) {
            let score = Score::of(&self.point.scenario, sample);
            let candidate = self.candidates.get_mut(which).expect("numbers come from `number`");
            candidate.was_run = true;
            candidate.scores.push(score);
        }
        Ok(())
    }

    fn trial(&self, which: usize, replication: u64) -> Trial {
        let mut point = self.point.clone();
        point.scenario.transport = self.transport(which).clone();
        Trial { point, replication, part: self.part }
    }

    /// Value of a criterion over the replications of these settings.
    fn value(&self, which: usize, criterion: Criterion) -> Option<f64> {
        criterion.together(&self.scores(which, usize::MAX))
    }

    fn scores(&self, which: usize, most: usize) -> Vec<&Score> {
        self.of(which).scores.iter().take(most).collect()
    }

    /// Results of these settings.
    pub(super) fn outcome(&self, which: usize, level: f64) -> Outcome {
        let scores = self.scores(which, usize::MAX);
        let told = self.criteria.iter().filter_map(|criterion| criterion.told(&scores, level));
        let judged = scores.iter().map(|score| score.judged).sum();
        Outcome { values: told.collect(), runs: scores.len() as u64, judged }
    }

    /// Amount by which one setting is worse than another over their common replications, and the
    /// other's value in these.
    fn excess(&self, one: usize, other: usize, criterion: Criterion, level: f64) -> Excess {
        let (one, other) = self.pairs(one, other);
        let of_other = criterion.together(&other).unwrap_or(0.0);
        Excess { estimate: criterion.difference(&one, &other, level), of_other }
    }

    /// Replications that both have.
    fn pairs(&self, one: usize, other: usize) -> (Vec<&Score>, Vec<&Score>) {
        let most = self.count(one).min(self.count(other));
        (self.scores(one, most), self.scores(other, most))
    }

    /// Amount by which one setting is worse than another in each criterion, over pairs of runs;
    /// `None` with fewer than two pairs.
    pub(super) fn differences(
        &self,
        one: usize,
        other: usize,
        level: f64,
    ) -> Vec<Option<Estimate>> {
        let of = |criterion: &Criterion| self.excess(one, other, *criterion, level).estimate;
        self.criteria.iter().map(of).collect()
    }

    /// Verdict on one setting compared with another, from their common replications.
    pub(super) fn verdict(&self, one: usize, other: usize, level: f64) -> Verdict {
        self.verdict_beyond(INDIFFERENCE, one, other, level)
    }

    /// Like [`Self::verdict`], with another relative difference that does not matter.
    pub(super) fn verdict_beyond(
        &self,
        indifference: f64,
        one: usize,
        other: usize,
        level: f64,
    ) -> Verdict {
        if one == other {
            return Verdict::Equal;
        }
        for criterion in self.criteria {
            let Excess { estimate, of_other } = self.excess(one, other, *criterion, level);
            let Some(found) = estimate else { return Verdict::Undecided };
            let interval = found.interval();
            let allowed = indifference * of_other.abs();
            if interval.low > allowed {
                return Verdict::Worse;
            }
            if interval.high < -allowed {
                return Verdict::Better;
            }
            if interval.low < -allowed || interval.high > allowed {
                return Verdict::Undecided;
            }
        }
        Verdict::Equal
    }

    /// Returns whether one setting may still be better than another by more than the tolerance, in
    /// the first criterion in which they are not shown to be equal.
    pub(super) fn may_gain(&self, one: usize, other: usize, level: f64) -> bool {
        if one == other {
            return false;
        }
        for criterion in self.criteria {
            let Excess { estimate, of_other } = self.excess(one, other, *criterion, level);
            let Some(found) = estimate else { return true };
            let (interval, scale) = (found.interval(), of_other.abs());
            // Zero cannot be improved.
            let is_best = *criterion != Criterion::Throughput && of_other == 0.0;
            if !is_best && interval.low < -TOLERABLE * scale {
                return true;
            }
            let is_as_good =
                interval.low >= -INDIFFERENCE * scale && interval.high <= INDIFFERENCE * scale;
            if !is_as_good {
                return false;
            }
        }
        false
    }

    /// Returns whether one setting is better than another in the mean by more than the
    /// indifference, in the first criterion in which they differ by that much.
    pub(super) fn gains(&self, one: usize, other: usize) -> bool {
        for criterion in self.criteria {
            let (one, other) = self.pairs(one, other);
            let (value, than) = (criterion.together(&one), criterion.together(&other));
            let (Some(value), Some(than)) = (value, than) else { return false };
            let excess = criterion.excess(value, than);
            if excess.abs() > INDIFFERENCE * than.abs() {
                return excess < 0.0;
            }
        }
        false
    }

    /// Returns whether one setting costs little compared with another in every criterion: in the
    /// mean at most the indifference, and shown to be at most the tolerance.
    pub(super) fn costs_little(&self, one: usize, other: usize, level: f64) -> bool {
        self.criteria.iter().all(|criterion| {
            let Excess { estimate, of_other } = self.excess(one, other, *criterion, level);
            estimate.is_some_and(|found| {
                found.mean <= INDIFFERENCE * of_other.abs()
                    && found.interval().high <= TOLERABLE * of_other.abs()
            })
        })
    }

    /// Setting with the best means: of those within the indifference of the best in one criterion,
    /// the best in the next; the first if several are left. `None` if no runs were made.
    pub(super) fn leader(&self, which: &[usize]) -> Option<usize> {
        let run = which.iter().copied().filter(|one| self.count(*one) > 0);
        let mut left: Vec<usize> = run.collect();
        for (place, criterion) in self.criteria.iter().enumerate() {
            let value = |one: usize| self.value(one, *criterion).unwrap_or(f64::INFINITY);
            let values: Vec<(usize, f64)> = left.iter().map(|one| (*one, value(*one))).collect();
            let (_, best) = values.iter().copied().reduce(|best, one| {
                if criterion.excess(one.1, best.1) < 0.0 { one } else { best }
            })?;
            let is_last = place + 1 == self.criteria.len();
            let allowed = if is_last { 0.0 } else { INDIFFERENCE * best.abs() };
            let near = values.iter().filter(|(_, value)| criterion.excess(*value, best) <= allowed);
            left = near.map(|(one, _)| *one).collect();
        }
        left.first().copied()
    }

    /// Better half of these, best first.
    pub(super) fn foremost(&self, which: &[usize], most: usize) -> Vec<usize> {
        let mut left = which.to_vec();
        let mut foremost = Vec::new();
        while let (true, Some(leader)) = (foremost.len() < most, self.leader(&left)) {
            foremost.push(leader);
            left.retain(|one| *one != leader);
        }
        foremost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::{Objective, predicted};
    use crate::run::RunError;
    use crate::scenario::load;
    use crate::scenarios;
    use core::sync::atomic::AtomicBool;

    #[test]
    fn settings_that_are_held_against_themselves_are_run_once() {
        let study = load(scenarios::get("status-short").unwrap().text, "test").unwrap();
        let point = &study.points[0];
        let mut run = |trials: &[Trial]| -> Result<Vec<Sample>, RunError> {
            predicted(trials, 1, &AtomicBool::new(false))
        };
        let mut trials = Trials::new(point, Objective::P99.criteria(), 100, &mut run);
        let own = trials.number(point.scenario.transport.clone());
        trials.replicate(&[own, own], 3).unwrap();
        assert_eq!((trials.count(own), trials.left()), (3, 97));
    }
}
