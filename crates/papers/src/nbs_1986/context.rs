//! Runs of NBS-1986, each made once: replications of every cell, on the requested number of
//! threads.
//!
//! A run corresponds to one point of the paper's figures: 500 trials from an empty network. Its
//! mean, deviation and maximum are one observation each.

use super::experiment::{Cell, Experiment, Net, TRIALS, World};
use crate::published::value::{Spread, Value};
use crate::published::{Options, ReproduceError, Unavailable};
use bench::profile::{self, Profile};
use bench::run::{in_order, run_on};
use bench::sample::Sample;
use core::ops::ControlFlow;
use stats::interval::bootstrap;
use stats::rng::Stream;
use std::collections::{BTreeMap, BTreeSet};
use std::thread;

/// The profile.
const PROFILE: &str = "nbs-1986";
/// Its input for the time of medium access.
const ACCESS: &str = "access";
/// Confidence of an interval.
const LEVEL: f64 = 0.95;
/// Share of single runs that lies in their band.
const BAND: f64 = 0.9;
/// Draws with replacement for an interval.
const RESAMPLES: usize = 2_000;

/// Statistic of the trials of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Statistic {
    /// Mean.
    Mean,
    /// Standard deviation.
    Deviation,
    /// Longest time.
    Maximum,
    /// Shortest time.
    Minimum,
    /// Seconds from the due time of the first trial to the end of the last.
    Seconds,
    /// Share of the time in which frames were on the network.
    Carried,
}

/// Results of one run.
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

/// Models, with the results of their runs.
pub(super) struct Context {
    models: Vec<(Option<String>, Profile)>,
    pub(super) options: Options,
    trials: u64,
    jobs: usize,
    known: BTreeMap<Cell, Vec<Run>>,
    /// Meaning of the intervals in its results.
    pub(super) spread: Spread,
}

impl Context {
    /// Context with the built-in profile, on all processors.
    pub(super) fn of_built_in(options: Options) -> Result<Self, ReproduceError> {
        let profile = profile::built_in(PROFILE).ok_or(ReproduceError::NoProfile(PROFILE))?;
        let jobs = thread::available_parallelism().map_or(1, core::num::NonZero::get);
        Ok(Self::new(&profile, options, TRIALS, jobs))
    }

    /// Context with a profile, each of whose readings is a model; runs have `trials` trials, and
    /// `jobs` run at the same time.
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

    /// Number of models.
    pub(super) fn count(&self) -> usize {
        self.models.len()
    }

    /// Name of a reading of the profile; none for the first.
    pub(super) fn reading(&self, model: usize) -> Option<&str> {
        self.models.get(model)?.0.as_deref()
    }

    /// Profile of a model.
    pub(super) fn profile(&self, model: usize) -> Result<&Profile, Unavailable> {
        let model = self.models.get(model).map(|(_, profile)| profile);
        model.ok_or_else(|| Unavailable("no such model".to_owned()))
    }

    /// Rows on which the models were calibrated.
    pub(super) fn inputs(&self) -> BTreeSet<String> {
        let rows = self.models.iter().flat_map(|(_, profile)| profile.calibrated_on());
        rows.map(str::to_owned).collect()
    }

    /// Input of a model; 0 if it has none of that name.
    pub(super) fn input(&self, model: usize, name: &str) -> Result<f64, Unavailable> {
        Ok(self.profile(model)?.input(name).map_or(0.0, |input| input.value))
    }

    /// Makes the missing runs of cells, up to `replications` for each.
    ///
    /// A run depends on its cell and number only, and results are stored in this order, so the
    /// number of parallel runs has no effect.
    pub(super) fn prepare(&mut self, cells: &[Cell], replications: u64) -> Result<(), Unavailable> {
        self.prepare_with(cells, replications, &mut || ControlFlow::Continue(()))
    }

    /// Makes runs likewise, and calls `each` after every new run, which may stop.
    pub(super) fn prepare_with(
        &mut self,
        cells: &[Cell],
        replications: u64,
        each: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(), Unavailable> {
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

    fn carry_out(&self, cell: Cell, replication: u64) -> Result<Run, Unavailable> {
        let profile = self.profile(cell.world.model)?;
        let without = profile.with_input(ACCESS, 0.0).filter(|_| !cell.world.has_access);
        let profile = without.as_ref().unwrap_or(profile);
        let point = cell.point(profile, self.trials, self.options.seed)?;
        let sample = run_on(&point, profile, "", replication)
            .map_err(|error| Unavailable(format!("{cell:?}: {error}")))?;
        read(cell, self.trials, &sample)
    }

    /// Runs of a cell.
    fn runs(&self, cell: Cell) -> Result<&[Run], Unavailable> {
        let known = self.known.get(&cell).map(Vec::as_slice).filter(|runs| !runs.is_empty());
        known.ok_or_else(|| Unavailable(format!("{cell:?} was not run")))
    }

    /// Mean of a cell's runs, and its interval.
    pub(super) fn mean_of(&self, cell: Cell, statistic: Statistic) -> Result<Value, Unavailable> {
        let runs = self.runs(cell)?;
        let values: stats::summary::Summary = runs.iter().map(|run| run.of(statistic)).collect();
        let value = values.mean().unwrap_or(f64::NAN);
        if self.spread == Spread::SingleRuns {
            let (low, high) = self.band_of(cell, statistic)?;
            return Ok(Value { value, low, high, observations: runs.len() as u64 });
        }
        let half = match stats::interval::mean(&values, LEVEL) {
            Some(estimate) => estimate.half_width,
            None => f64::INFINITY,
        };
        let observations = runs.len() as u64;
        Ok(Value { value, low: value - half, high: value + half, observations })
    }

    /// Band of single runs of a cell: all but a twentieth at either end.
    pub(super) fn band_of(
        &self,
        cell: Cell,
        statistic: Statistic,
    ) -> Result<(f64, f64), Unavailable> {
        let values = self.runs(cell)?.iter().map(|run| run.of(statistic)).collect();
        Ok(band(values))
    }

    /// Unfinished trials in all runs of a world, and the number of all trials.
    pub(super) fn missing(&self, world: World) -> (u64, u64) {
        let runs = self.known.iter().filter(|(cell, _)| cell.world == world);
        let runs = runs.flat_map(|(_, runs)| runs);
        runs.fold((0, 0), |(missing, all), run| (missing + run.missing, all + self.trials))
    }

    /// Quantity computed from several cells' means, and its interval: for the mean a bootstrap over
    /// the replications, whose random numbers all cells share.
    pub(super) fn estimate(
        &self,
        name: &str,
        world: World,
        quantity: impl Fn(&Means<'_>) -> Result<f64, Unavailable>,
    ) -> Result<Value, Unavailable> {
        let count = self.replications(world)?;
        let all: Vec<f64> = (0..count).map(|number| number as f64).collect();
        let value = quantity(&Means { context: self, world, drawn: &all })?;
        if self.spread == Spread::SingleRuns {
            let (low, high) = self.single_runs(world, quantity)?;
            return Ok(Value { value, low, high, observations: count as u64 });
        }
        let mut stream = Stream::named(self.options.seed, &format!("bootstrap/{name}"));
        let of =
            |drawn: &[f64]| quantity(&Means { context: self, world, drawn }).unwrap_or(f64::NAN);
        // The spread of a single run is unknown.
        let interval = bootstrap(&all, of, RESAMPLES, LEVEL, &mut stream).filter(|_| count > 1);
        let (low, high) = interval
            .map_or((f64::NEG_INFINITY, f64::INFINITY), |interval| (interval.low, interval.high));
        Ok(Value { value, low, high, observations: count as u64 })
    }

    /// Band of the same quantity if each cell is run once, as in the paper.
    pub(super) fn single_runs(
        &self,
        world: World,
        quantity: impl Fn(&Means<'_>) -> Result<f64, Unavailable>,
    ) -> Result<(f64, f64), Unavailable> {
        let numbers = 0..self.replications(world)?;
        let values: Vec<f64> = numbers
            .map(|number| {
                let drawn = [number as f64];
                quantity(&Means { context: self, world, drawn: &drawn })
            })
            .collect::<Result<_, _>>()?;
        Ok(band(values))
    }

    /// Least number of runs of a cell of a world.
    fn replications(&self, world: World) -> Result<usize, Unavailable> {
        let cells = self.known.iter().filter(|(cell, _)| cell.world == world);
        let least = cells.map(|(_, runs)| runs.len()).min();
        least.ok_or_else(|| Unavailable(format!("{world:?} was not run")))
    }

    /// Range of a quantity over all models; its value is that of the first.
    pub(super) fn over_models(
        &self,
        quantity: impl Fn(&Self, World) -> Result<Value, Unavailable>,
    ) -> Result<Value, Unavailable> {
        let worlds = (0..self.count()).map(|model| World { model, ..World::DRAWN });
        let all: Vec<Value> =
            worlds.map(|world| quantity(self, world)).collect::<Result<_, _>>()?;
        Value::hull(&all).ok_or_else(|| Unavailable(format!("no model of {PROFILE}")))
    }
}

/// Means over selected replications, which may repeat.
pub(super) struct Means<'a> {
    context: &'a Context,
    world: World,
    drawn: &'a [f64],
}

impl Means<'_> {
    /// Mean of a statistic in a cell.
    pub(super) fn of(
        &self,
        experiment: Experiment,
        net: Net,
        load_percent: u64,
        statistic: Statistic,
    ) -> Result<f64, Unavailable> {
        let cell = Cell { world: self.world, experiment, net, load_percent };
        let runs = self.context.runs(cell)?;
        let drawn = self.drawn.iter().filter_map(|number| runs.get(*number as usize));
        let sum: f64 = drawn.map(|run| run.of(statistic)).sum();
        Ok(sum / self.drawn.len() as f64)
    }
}

/// All but a twentieth of the values at either end: from the least to the greatest if there are
/// few.
fn band(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let cut = ((1.0 - BAND) / 2.0 * last as f64).round() as usize;
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    (at(cut), at(last - cut.min(last)))
}

/// Statistics of a run's sample.
fn read(cell: Cell, trials: u64, sample: &Sample) -> Result<Run, Unavailable> {
    let nothing = || Unavailable(format!("{cell:?}: no trial ended"));
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
