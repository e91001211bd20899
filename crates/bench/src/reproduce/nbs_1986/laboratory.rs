//! The runs of NBS-1986, each made once: replications of every cell, on as many threads as wanted.
//!
//! A run is one such as each point of the paper's figures was: 500 trials from an empty network. Its mean,
//! deviation and maximum are one observation each.

use super::experiment::{Cell, Experiment, Net, TRIALS, World};
use crate::profile::{self, Profile};
use crate::reproduce::found::{Found, Spread};
use crate::reproduce::{Impossible, NotHere, Options};
use crate::run::{in_order, run_on};
use crate::sample::Sample;
use core::ops::ControlFlow;
use stats::interval::bootstrap;
use stats::rng::Stream;
use std::collections::{BTreeMap, BTreeSet};
use std::thread;

/// The profile.
const PROFILE: &str = "nbs-1986";
/// Its input for the time of medium access.
const ACCESS: &str = "access";
/// How sure an interval is.
const LEVEL: f64 = 0.95;
/// The part of single runs that lies in their band.
const BAND: f64 = 0.9;
/// Draws with replacement behind an interval.
const RESAMPLES: usize = 2_000;

/// What is told of the trials of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Statistic {
    /// Their mean.
    Mean,
    /// Their standard deviation.
    Deviation,
    /// The longest.
    Maximum,
    /// The shortest.
    Minimum,
    /// Seconds from when the first was due to when the last was over.
    Seconds,
    /// The part of the time in which frames were on the network.
    Carried,
}

/// What came out of one run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Run {
    pub(super) mean_ms: f64,
    pub(super) deviation_ms: f64,
    pub(super) maximum_ms: f64,
    pub(super) minimum_ms: f64,
    pub(super) seconds: f64,
    pub(super) carried: f64,
    /// Trials that never ended.
    pub(super) missing: u64,
}

impl Run {
    const fn of(&self, statistic: Statistic) -> f64 {
        match statistic {
            Statistic::Mean => self.mean_ms,
            Statistic::Deviation => self.deviation_ms,
            Statistic::Maximum => self.maximum_ms,
            Statistic::Minimum => self.minimum_ms,
            Statistic::Seconds => self.seconds,
            Statistic::Carried => self.carried,
        }
    }
}

/// The models, and what is known of them.
pub(super) struct Laboratory {
    models: Vec<(Option<String>, Profile)>,
    pub(super) options: Options,
    trials: u64,
    jobs: usize,
    known: BTreeMap<Cell, Vec<Run>>,
    /// Meaning of the intervals that it gives.
    pub(super) spread: Spread,
}

impl Laboratory {
    /// With the profile that comes with the program, on all processors.
    pub(super) fn of_built_in(options: Options) -> Result<Self, Impossible> {
        let profile = profile::built_in(PROFILE).ok_or(Impossible::NoProfile(PROFILE))?;
        let jobs = thread::available_parallelism().map_or(1, core::num::NonZero::get);
        Ok(Self::new(&profile, options, TRIALS, jobs))
    }

    /// With a profile, each of whose readings is a model; runs of so many trials, so many at a time.
    pub(super) fn new(profile: &Profile, options: Options, trials: u64, jobs: usize) -> Self {
        Self {
            models: profile.readings(),
            options,
            trials,
            jobs,
            known: BTreeMap::new(),
            spread: Spread::Mean,
        }
    }

    /// How many models there are.
    pub(super) fn count(&self) -> usize {
        self.models.len()
    }

    /// What a reading of the profile is called, but for the first.
    pub(super) fn reading(&self, model: usize) -> Option<&str> {
        self.models.get(model)?.0.as_deref()
    }

    /// A model.
    pub(super) fn profile(&self, model: usize) -> Result<&Profile, NotHere> {
        let model = self.models.get(model).map(|(_, profile)| profile);
        model.ok_or_else(|| NotHere("no such model".to_owned()))
    }

    /// The rows on which the models were calibrated.
    pub(super) fn inputs(&self) -> BTreeSet<String> {
        let rows = self.models.iter().flat_map(|(_, profile)| profile.calibrated_on());
        rows.map(str::to_owned).collect()
    }

    /// A number that was put into a model; 0 if it has none of that name.
    pub(super) fn input(&self, model: usize, name: &str) -> Result<f64, NotHere> {
        Ok(self.profile(model)?.input(name).map_or(0.0, |input| input.value))
    }

    /// Makes the runs of cells, so many of each, that are not made yet.
    ///
    /// A run depends on its cell and number alone, and results are kept in this order, so that it does
    /// not matter how many are made at a time.
    pub(super) fn prepare(&mut self, cells: &[Cell], replications: u64) -> Result<(), NotHere> {
        self.prepare_and_tell(cells, replications, &mut || ControlFlow::Continue(()))
    }

    /// The same, and calls `each` for every run that it made, which may break off.
    pub(super) fn prepare_and_tell(
        &mut self,
        cells: &[Cell],
        replications: u64,
        each: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(), NotHere> {
        let mut missing = Vec::new();
        let cells: BTreeSet<Cell> = cells.iter().copied().collect();
        for cell in cells {
            let known = self.known.get(&cell).map_or(0, Vec::len) as u64;
            missing.extend((known..replications).map(|replication| (cell, replication)));
        }
        let mut made = Vec::with_capacity(missing.len());
        let mut problem = Ok(());
        let work = |index: usize, _: &_| {
            missing.get(index).map(|(cell, replication)| self.carry_out(*cell, *replication))
        };
        in_order(missing.len(), self.jobs, work, |run| match run {
            Ok(run) => {
                made.push(run);
                each()
            }
            Err(error) => {
                problem = Err(error);
                ControlFlow::Break(())
            }
        });
        for ((cell, _), run) in missing.iter().zip(made) {
            self.known.entry(*cell).or_default().push(run);
        }
        problem
    }

    fn carry_out(&self, cell: Cell, replication: u64) -> Result<Run, NotHere> {
        let profile = self.profile(cell.world.model)?;
        let without = profile.with_input(ACCESS, 0.0).filter(|_| !cell.world.has_access);
        let profile = without.as_ref().unwrap_or(profile);
        let point = cell.point(profile, self.trials, self.options.seed)?;
        let sample = run_on(&point, profile, "", replication)
            .map_err(|error| NotHere(format!("{cell:?}: {error}")))?;
        read(cell, self.trials, &sample)
    }

    /// The runs of a cell.
    fn runs(&self, cell: Cell) -> Result<&[Run], NotHere> {
        let known = self.known.get(&cell).map(Vec::as_slice).filter(|runs| !runs.is_empty());
        known.ok_or_else(|| NotHere(format!("{cell:?} was not run")))
    }

    /// Mean of a cell's runs, and its interval.
    pub(super) fn mean_of(&self, cell: Cell, statistic: Statistic) -> Result<Found, NotHere> {
        let runs = self.runs(cell)?;
        let values: stats::summary::Summary = runs.iter().map(|run| run.of(statistic)).collect();
        let value = values.mean().unwrap_or(f64::NAN);
        if self.spread == Spread::SingleRuns {
            let (low, high) = self.band_of(cell, statistic)?;
            return Ok(Found { value, low, high, observations: runs.len() as u64 });
        }
        let half = match stats::interval::mean(&values, LEVEL) {
            Some(estimate) => estimate.half_width,
            None => f64::INFINITY,
        };
        let observations = runs.len() as u64;
        Ok(Found { value, low: value - half, high: value + half, observations })
    }

    /// Where single runs of a cell fall: all but a twentieth at either end.
    pub(super) fn band_of(&self, cell: Cell, statistic: Statistic) -> Result<(f64, f64), NotHere> {
        let values = self.runs(cell)?.iter().map(|run| run.of(statistic)).collect();
        Ok(band(values))
    }

    /// Trials of all runs of a world that never ended, and how many there were.
    pub(super) fn missing(&self, world: World) -> (u64, u64) {
        let runs = self.known.iter().filter(|(cell, _)| cell.world == world);
        let runs = runs.flat_map(|(_, runs)| runs);
        runs.fold((0, 0), |(missing, all), run| (missing + run.missing, all + self.trials))
    }

    /// Quantity made of several cells' means, and its interval: of the mean a bootstrap over the
    /// replications, which all cells share the chance of.
    pub(super) fn estimate(
        &self,
        name: &str,
        world: World,
        quantity: impl Fn(&Means<'_>) -> Result<f64, NotHere>,
    ) -> Result<Found, NotHere> {
        let count = self.replications(world)?;
        let all: Vec<f64> = (0..count).map(|number| number as f64).collect();
        let value = quantity(&Means { laboratory: self, world, drawn: &all })?;
        if self.spread == Spread::SingleRuns {
            let (low, high) = self.single_runs(world, quantity)?;
            return Ok(Found { value, low, high, observations: count as u64 });
        }
        let mut stream = Stream::named(self.options.seed, &format!("bootstrap/{name}"));
        let of =
            |drawn: &[f64]| quantity(&Means { laboratory: self, world, drawn }).unwrap_or(f64::NAN);
        // One run alone says nothing of its spread.
        let interval = bootstrap(&all, of, RESAMPLES, LEVEL, &mut stream).filter(|_| count > 1);
        let (low, high) = interval
            .map_or((f64::NEG_INFINITY, f64::INFINITY), |interval| (interval.low, interval.high));
        Ok(Found { value, low, high, observations: count as u64 })
    }

    /// Where the same quantity falls when each cell is run once, as in the paper.
    pub(super) fn single_runs(
        &self,
        world: World,
        quantity: impl Fn(&Means<'_>) -> Result<f64, NotHere>,
    ) -> Result<(f64, f64), NotHere> {
        let numbers = 0..self.replications(world)?;
        let values: Vec<f64> = numbers
            .map(|number| {
                let drawn = [number as f64];
                quantity(&Means { laboratory: self, world, drawn: &drawn })
            })
            .collect::<Result<_, _>>()?;
        Ok(band(values))
    }

    /// How many runs each cell of a world has.
    fn replications(&self, world: World) -> Result<usize, NotHere> {
        let cells = self.known.iter().filter(|(cell, _)| cell.world == world);
        let least = cells.map(|(_, runs)| runs.len()).min();
        least.ok_or_else(|| NotHere(format!("{world:?} was not run")))
    }

    /// What all models allow for a quantity; its value is that of the first.
    pub(super) fn over_models(
        &self,
        quantity: impl Fn(&Self, World) -> Result<Found, NotHere>,
    ) -> Result<Found, NotHere> {
        let worlds = (0..self.count()).map(|model| World { model, ..World::DRAWN });
        let all: Vec<Found> =
            worlds.map(|world| quantity(self, world)).collect::<Result<_, _>>()?;
        Found::hull(&all).ok_or_else(|| NotHere(format!("no model of {PROFILE}")))
    }
}

/// Means over some replications, each named by its number, and as often as it is named.
pub(super) struct Means<'a> {
    laboratory: &'a Laboratory,
    world: World,
    drawn: &'a [f64],
}

impl Means<'_> {
    /// The mean of a statistic in a cell.
    pub(super) fn of(
        &self,
        experiment: Experiment,
        net: Net,
        load_percent: u64,
        statistic: Statistic,
    ) -> Result<f64, NotHere> {
        let cell = Cell { world: self.world, experiment, net, load_percent };
        let runs = self.laboratory.runs(cell)?;
        let drawn = self.drawn.iter().filter_map(|number| runs.get(*number as usize));
        let sum: f64 = drawn.map(|run| run.of(statistic)).sum();
        Ok(sum / self.drawn.len() as f64)
    }
}

/// All but a twentieth of the values at either end: from the least to the greatest where there are few.
fn band(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let cut = ((1.0 - BAND) / 2.0 * last as f64).round() as usize;
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    (at(cut), at(last - cut.min(last)))
}

/// What a run's sample says.
fn read(cell: Cell, trials: u64, sample: &Sample) -> Result<Run, NotHere> {
    let nothing = || NotHere(format!("{cell:?}: no trial ended"));
    let flow = sample.flows.first().ok_or_else(nothing)?;
    let spans = match cell.experiment {
        Experiment::Status => &flow.delay,
        Experiment::ConstantRate | Experiment::MaximumRate => &flow.response,
    };
    let carried = sample.counts.get("medium.carried-ns").copied().unwrap_or(0);
    let millis = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64 / 1e6).ok_or_else(nothing);
    let bits = flow.delivered_octets as f64 * 8.0;
    Ok(Run {
        mean_ms: spans.mean_ns.ok_or_else(nothing)? / 1e6,
        deviation_ms: spans.standard_deviation_ns.ok_or_else(nothing)? / 1e6,
        maximum_ms: millis(spans.max_ns)?,
        minimum_ms: millis(spans.min_ns)?,
        seconds: bits / flow.throughput_bits_per_second.ok_or_else(nothing)?,
        carried: carried as f64 / sample.ended_at_ns as f64,
        missing: trials.saturating_sub(spans.count),
    })
}
