//! Search: parameter by parameter, each a race of its settings; then a proof on separate runs.
//!
//! A race gives every setting a few replications, keeps the better half with twice as many, and so
//! on until nothing is open or each has the maximum number of replications (successive halving:
//! Karnin, Koren and Somekh, 2013). The search starts three times: at the scenario's settings, at
//! aggressive ones, and at the far end of every parameter, because one parameter may have no effect
//! before another is changed. It uses half of the runs.
//!
//! The best of many noisy means is partly the luckiest. So the settings found are then run with
//! fresh random numbers and compared with the scenario's own settings; the proof continues from the
//! latter unless the former are shown to be better. Then every setting of every parameter is
//! compared with the current ones. Those that may still be better by more than the tolerance stay
//! in play, each time with twice the replications, until one of them is shown to be better and
//! becomes current, or none is left. A setting is dropped only when it is shown to be worse, or to
//! be better by so little that it does not matter (an indifference zone: Kim and Nelson, 2001).
//! Repeated looks cost confidence: look k gets 1 / (k (k + 1)) of the allowed error, which adds up
//! to 1 over all looks. If the runs do not suffice, the settings still in play are reported.
//! Finally each parameter goes to its most conservative setting that costs little. The reported
//! numbers come from these runs alone.
//!
//! Not found: settings that are good only together and lie on no path from these starts.

use super::knob::{Grid, Knob, Setting};
use super::trials::{INDIFFERENCE, TOLERABLE, Trials, Verdict};
use super::{Evidence, Tried};
use crate::scenario::Transport;

/// Initial number of replications of every setting.
const FIRST: usize = 3;
/// Initial number with randomness: an effect in one run of three shows up in nine runs with 97 % (1
/// - (2/3)^9), and in three with 70 %. With fewer runs, neither equal nor worse means much.
const FIRST_BY_CHANCE: usize = 9;
/// Growth factor of the replications while a comparison is open.
const GROWTH: usize = 2;
/// Maximum number of passes over all parameters.
const MOST_PASSES: usize = 5;
/// Maximum number of moves of the proof; each is to a setting shown to be better, or to the
/// conservative side.
const MOST_MOVES: usize = 12;

/// Search in progress.
pub(super) struct Search<'a, 't, E> {
    pub(super) grid: &'a Grid,
    pub(super) trials: Trials<'t, E>,
    /// Confidence level of a race as a whole.
    pub(super) level: f64,
    /// Maximum number of replications of one setting.
    pub(super) most: usize,
    /// Maximum number of replications of settings in play.
    pub(super) in_play: usize,
    /// True if there is randomness that may not show in the first replications: faults, other
    /// traffic.
    pub(super) has_chance: bool,
}

/// Result of the separate runs.
pub(super) struct Proof {
    /// Number of the settings to recommend.
    pub(super) advised: usize,
    /// Evidence for each parameter.
    pub(super) evidence: Vec<Evidence>,
    /// Number of the settings at which the search ended, if they are not shown to be better than
    /// the scenario's own.
    pub(super) unproved: Option<usize>,
}

/// Settings that differ from the best known ones in one parameter.
struct Challenger {
    which: usize,
    /// Number of settings of the parameter.
    among: usize,
    /// Relative improvement required for a move to it.
    beyond: f64,
}

impl<E> Search<'_, '_, E> {
    /// Number of the settings that no change of a single parameter improves, as far as the search
    /// saw.
    pub(super) fn explore(&mut self, own: &Transport) -> Result<usize, E> {
        let starts = [self.grid.own(own), self.grid.aggressive(own), self.grid.last(own)];
        let share = self.trials.left() / (2 * starts.len() as u64);
        let own = self.trials.number(starts[0].clone());
        let mut ends = vec![own];
        for start in starts {
            let start = self.trials.number(start);
            self.trials.reserve(self.trials.left().saturating_sub(share));
            ends.push(self.descend(start)?);
        }
        self.trials.reserve(self.trials.left() / 2);
        let best = self.race(&ends)?;
        self.trials.reserve(0);
        Ok(if self.trials.gains(best, own) { best } else { own })
    }

    /// Sets one parameter after the other to its best setting.
    fn descend(&mut self, start: usize) -> Result<usize, E> {
        let mut at = start;
        for _ in 0..MOST_PASSES {
            let before = at;
            for place in 0..self.grid.knobs.len() {
                let rivals = self.rivals(at, place);
                let leader = self.race(&rivals)?;
                // A move without gain could be undone by the next pass.
                if self.trials.gains(leader, at) {
                    at = leader;
                }
                if self.trials.is_over() {
                    return Ok(at);
                }
            }
            if at == before {
                break;
            }
        }
        Ok(at)
    }

    /// Settings that differ from the current ones in at most one parameter.
    fn rivals(&mut self, at: usize, place: usize) -> Vec<usize> {
        let Some((_, settings)) = self.grid.knobs.get(place) else { return vec![at] };
        let transport = self.trials.transport(at).clone();
        settings.iter().map(|setting| self.trials.number(setting.put(&transport))).collect()
    }

    /// Best of some settings; the first if no runs were made.
    fn race(&mut self, rivals: &[usize]) -> Result<usize, E> {
        let mut alive = rivals.to_vec();
        let mut replications = self.first();
        loop {
            self.trials.replicate(&alive, replications)?;
            let Some(leader) = self.trials.leader(&alive) else {
                return Ok(rivals.first().copied().unwrap_or_default());
            };
            let level = self.each(alive.len());
            alive.retain(|one| self.trials.verdict(*one, leader, level) != Verdict::Worse);
            alive = self.trials.foremost(&alive, alive.len().div_ceil(2));
            let is_open =
                |one: &usize| self.trials.verdict(*one, leader, level) == Verdict::Undecided;
            let is_done = !alive.iter().any(is_open) || replications >= self.most;
            if is_done || self.trials.is_over() {
                return Ok(leader);
            }
            replications = (replications * GROWTH).min(self.most);
        }
    }

    /// Initial number of replications of every setting.
    fn first(&self) -> usize {
        if self.has_chance { FIRST_BY_CHANCE.min(self.most) } else { FIRST.min(self.most) }
    }

    /// Confidence level of one comparison among `rivals` settings (Bonferroni).
    fn each(&self, rivals: usize) -> f64 {
        1.0 - (1.0 - self.level) / rivals.saturating_sub(1).max(1) as f64
    }

    /// Confidence level of one of `rivals` comparisons at this look, from 1, of an unlimited number
    /// of looks.
    fn at_look(&self, look: usize, rivals: usize) -> f64 {
        1.0 - (1.0 - self.each(rivals)) / (look * (look + 1)) as f64
    }

    /// Judges the settings found on separate runs.
    pub(super) fn prove(&mut self, found: usize, own: &Transport) -> Result<Proof, E> {
        let on_grid = self.trials.number(self.grid.own(own));
        let own = self.trials.number(own.clone());
        self.trials.prove();
        // The scenario's own settings are kept unless they are shown to be worse.
        let is_proved = self.is_worse(own, found)?;
        // A quarter is reserved to compare every setting with the advice.
        self.trials.reserve(self.trials.left() / 4);
        let advised = self.improve(if is_proved { found } else { on_grid })?;
        self.trials.reserve(0);
        self.gather(advised, own)?;
        let unproved = (!is_proved && found != advised).then_some(found);
        Ok(Proof { advised, evidence: self.evidence(advised), unproved })
    }

    /// Returns whether one setting is shown to be worse than another, with as many runs as needed
    /// or allowed.
    fn is_worse(&mut self, one: usize, other: usize) -> Result<bool, E> {
        let mut replications = self.first();
        for look in 1.. {
            self.trials.replicate(&[one, other], replications)?;
            let verdict = self.trials.verdict(one, other, self.at_look(look, 2));
            let is_open = verdict == Verdict::Undecided && replications < self.in_play;
            if !is_open || self.trials.is_over() {
                return Ok(verdict == Verdict::Worse);
            }
            replications = (replications * GROWTH).min(self.in_play);
        }
        Ok(false)
    }

    /// Moves to settings shown to be better in one parameter, and then to the conservative side,
    /// until no move is left.
    fn improve(&mut self, start: usize) -> Result<usize, E> {
        let (mut reference, mut at) = (start, start);
        for _ in 0..MOST_MOVES {
            let next = match self.challenge(at)? {
                Some(better) => {
                    reference = better;
                    better
                }
                None => self.settle(at, reference)?,
            };
            let is_done = next == at || self.trials.is_over();
            at = next;
            if is_done {
                break;
            }
        }
        Ok(at)
    }

    /// Every setting of every parameter as a challenger, each with the confidence of its comparison
    /// and the improvement required for a move.
    fn challengers(&mut self, at: usize) -> Vec<Challenger> {
        let mut challengers = Vec::new();
        for (place, (knob, _)) in self.grid.knobs.iter().enumerate() {
            let rivals = self.rivals(at, place);
            let beyond = if *knob == Knob::Checksum { TOLERABLE } else { INDIFFERENCE };
            let among = rivals.len();
            let others = rivals.into_iter().filter(|rival| *rival != at);
            challengers.extend(others.map(|which| Challenger { which, among, beyond }));
        }
        challengers
    }

    /// Best of the settings shown to be better in one parameter. `None` if nothing is in play any
    /// more, or the runs do not suffice.
    fn challenge(&mut self, at: usize) -> Result<Option<usize>, E> {
        let mut open = self.challengers(at);
        let mut replications = self.first();
        for look in 1.. {
            let mut which = vec![at];
            which.extend(open.iter().map(|rival| rival.which));
            self.trials.replicate(&which, replications)?;
            let verdict = |rival: &Challenger| {
                let level = self.at_look(look, rival.among);
                self.trials.verdict_beyond(rival.beyond, rival.which, at, level)
            };
            let better: Vec<usize> = open
                .iter()
                .filter(|rival| verdict(rival) == Verdict::Better)
                .map(|rival| rival.which)
                .collect();
            if !better.is_empty() {
                return Ok(self.trials.leader(&better));
            }
            open.retain(|rival| {
                self.trials.may_gain(rival.which, at, self.at_look(look, rival.among))
            });
            if replications >= self.in_play || self.trials.is_over() {
                break;
            }
            replications = (replications * GROWTH).min(self.in_play);
            self.afford(&mut open, at, replications);
            if open.is_empty() {
                break;
            }
        }
        Ok(None)
    }

    /// Keeps the best settings in play that half of the remaining runs suffice for; the other half
    /// is for later steps.
    fn afford(&self, open: &mut Vec<Challenger>, at: usize, replications: usize) {
        let missing = |one: usize| replications.saturating_sub(self.trials.count(one)) as u64;
        let mut affordable = (self.trials.spendable() / 2).saturating_sub(missing(at));
        let numbers: Vec<usize> = open.iter().map(|rival| rival.which).collect();
        let mut kept = Vec::new();
        for one in self.trials.foremost(&numbers, numbers.len()) {
            let Some(rest) = affordable.checked_sub(missing(one)) else { break };
            affordable = rest;
            kept.push(one);
        }
        open.retain(|rival| kept.contains(&rival.which));
    }

    /// Runs every setting of every parameter in comparison with the recommended ones, until each
    /// comparison is decided or the setting has the maximum number of replications.
    fn gather(&mut self, advised: usize, own: usize) -> Result<(), E> {
        let mut replications = self.first();
        let mut open = self.challengers(advised);
        open.push(Challenger { which: own, among: 2, beyond: INDIFFERENCE });
        for look in 1.. {
            let mut which = vec![advised];
            which.extend(open.iter().map(|rival| rival.which));
            which.sort_unstable();
            which.dedup();
            self.trials.replicate(&which, replications)?;
            if replications >= self.most || self.trials.is_over() {
                break;
            }
            replications = (replications * GROWTH).min(self.most);
            open.retain(|rival| {
                let level = self.at_look(look, rival.among);
                self.trials.verdict(rival.which, advised, level) == Verdict::Undecided
            });
            if open.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Moves each parameter to its most conservative setting that costs little compared with
    /// `reference`; with the checksum, unless it is shown to cost more than the tolerance.
    fn settle(&mut self, at: usize, reference: usize) -> Result<usize, E> {
        let mut at = at;
        for (knob, settings) in &self.grid.knobs {
            let transport = self.trials.transport(at).clone();
            let own = Setting::of(*knob, &transport);
            for setting in settings.iter().take_while(|setting| **setting != own) {
                let rival = self.trials.number(setting.put(&transport));
                // Rare differences look equal in few runs, and equality is the criterion here.
                let replications = if self.has_chance { self.most } else { self.first() };
                self.trials.replicate(&[rival, reference], self.first())?;
                let is_worse = self.trials.verdict(rival, reference, self.level) == Verdict::Worse;
                if is_worse && *knob != Knob::Checksum {
                    continue;
                }
                self.trials.replicate(&[rival, reference], replications)?;
                let is_whole = self.trials.count(rival) >= replications;
                let is_free = match knob {
                    Knob::Checksum => {
                        self.trials.verdict_beyond(TOLERABLE, rival, reference, self.level)
                            != Verdict::Worse
                    }
                    _ => is_whole && self.trials.costs_little(rival, reference, self.level),
                };
                if is_free {
                    at = rival;
                    break;
                }
            }
        }
        Ok(at)
    }

    /// Every setting of every parameter, with all other parameters as recommended.
    fn evidence(&mut self, advised: usize) -> Vec<Evidence> {
        let mut evidence = Vec::new();
        for (place, (knob, settings)) in self.grid.knobs.iter().enumerate() {
            let rivals = self.rivals(advised, place);
            let level = self.each(rivals.len());
            let tried = settings.iter().zip(rivals).map(|(setting, rival)| Tried {
                setting: *setting,
                outcome: self.trials.outcome(rival, self.level),
                differences: self.trials.differences(rival, advised, level),
                verdict: self.trials.verdict(rival, advised, level),
                may_gain: self.trials.may_gain(rival, advised, level),
            });
            let tried = tried.collect();
            let advised = Setting::of(*knob, self.trials.transport(advised));
            evidence.push(Evidence { knob: *knob, advised, tried });
        }
        evidence
    }
}
