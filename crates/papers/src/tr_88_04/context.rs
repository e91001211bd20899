//! Two modelled Intel 310s on a modelled token bus, with the run of each trial cached.
//!
//! The models are the readings of the profile `intel-310`, each with one AK per DT and with one per
//! two DTs, because the paper does not state which its transport sent.

use crate::published::value::Value;
use crate::published::{Options, Unavailable};
use crate::transfer::{Setup, Trial};
use bench::profile::Profile;
use bench::run::run_on;
use bench::sample::Sample;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::thread;

/// The profile.
pub(super) const PROFILE: &str = "intel-310";
/// Octets of a throughput trial of long messages: a twentieth of the paper's 10 Mbyte for each model.
pub(super) const VOLUME_OCTETS: usize = 500_000;

/// Model of both machines: a reading of the profile, and the number of DTs per AK.
struct Model {
    profile: Profile,
    acknowledge_every: u64,
}

/// Results of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Outcome {
    /// Result of the trial.
    pub(super) found: Value,
    /// Share of the time in which frames were on the bus.
    pub(super) load: f64,
    /// Milliseconds of both host processors per message, and of all processors.
    pub(super) processor_ms: (f64, f64),
}

/// Machines, with the results of their runs.
pub(super) struct Context {
    models: Vec<Model>,
    pub(super) options: Options,
    setup: Setup,
    known: BTreeMap<(usize, Trial), Result<Outcome, Unavailable>>,
}

impl Context {
    /// Context with a profile; each of its readings makes two models.
    pub(super) fn new(profile: &Profile, options: Options, octets: usize) -> Self {
        let mut models = Vec::new();
        for (_, profile) in profile.readings() {
            for acknowledge_every in [2, 1] {
                models.push(Model { profile: profile.clone(), acknowledge_every });
            }
        }
        let setup = Setup::simulated(options.messages, octets, options.seed);
        Self { models, options, setup, known: BTreeMap::new() }
    }

    /// A_L of both stations.
    pub(super) const fn acknowledgement_delay(&self) -> Duration {
        self.setup.acknowledgement_delay
    }

    /// Sets A_L of both stations, before any trial.
    #[cfg(test)]
    pub(super) fn set_acknowledgement_delay(&mut self, delay: Duration) {
        self.setup.acknowledgement_delay = delay;
    }

    /// Rows on which the models were calibrated.
    pub(super) fn inputs(&self) -> BTreeSet<String> {
        let rows = self.models.iter().flat_map(|model| model.profile.calibrated_on());
        rows.map(str::to_owned).collect()
    }

    /// Number of models.
    pub(super) fn count(&self) -> usize {
        self.models.len()
    }

    /// Input of a model.
    pub(super) fn input(&self, model: usize, name: &str) -> f64 {
        let input = self.models.get(model).and_then(|model| model.profile.input(name));
        input.map_or(f64::NAN, |input| input.value)
    }

    /// Makes the runs of trials for all models, on all processors.
    pub(super) fn prepare(&mut self, trials: &[Trial]) {
        let all = (0..self.models.len()).flat_map(|model| trials.iter().map(move |t| (model, *t)));
        let missing: Vec<(usize, Trial)> =
            all.filter(|key| !self.known.contains_key(key)).collect();
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(Vec::with_capacity(missing.len()));
        let work = || {
            while let Some(key) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                let answer = self.carry_out(key.0, key.1);
                answers.lock().expect("no thread panics with the lock").push((*key, answer));
            }
        };
        let jobs = thread::available_parallelism().map_or(1, core::num::NonZero::get);
        thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
        self.known.extend(answers.into_inner().expect("no thread panics with the lock"));
    }

    fn carry_out(&self, model: usize, trial: Trial) -> Result<Outcome, Unavailable> {
        let model =
            self.models.get(model).ok_or_else(|| Unavailable("no such model".to_owned()))?;
        let trial = Trial { acknowledge_every: model.acknowledge_every, ..trial };
        let point = self.setup.point(&trial)?;
        let sample = run_on(&point, &model.profile, "", 0)
            .map_err(|error| Unavailable(format!("{trial:?}: {error}")))?;
        let found = self.setup.read(&trial, &sample)?;
        Ok(Outcome { found, load: load(&sample), processor_ms: processor_ms(&sample) })
    }

    /// Results of a trial on one model.
    pub(super) fn outcome(&mut self, model: usize, trial: Trial) -> Result<Outcome, Unavailable> {
        if let Some(known) = self.known.get(&(model, trial)) {
            return known.clone();
        }
        let outcome = self.carry_out(model, trial);
        self.known.insert((model, trial), outcome.clone());
        outcome
    }

    /// Main result of a trial on one model.
    pub(super) fn of(&mut self, model: usize, trial: Trial) -> Result<Value, Unavailable> {
        self.outcome(model, trial).map(|outcome| outcome.found)
    }

    /// Range of a quantity over all models; its value is that of the first.
    pub(super) fn over_models(
        &mut self,
        mut quantity: impl FnMut(&mut Self, usize) -> Result<Value, Unavailable>,
    ) -> Result<Value, Unavailable> {
        let all: Vec<Value> =
            (0..self.count()).map(|model| quantity(self, model)).collect::<Result<_, _>>()?;
        Value::hull(&all).ok_or_else(|| Unavailable(format!("no model of {PROFILE}")))
    }
}

/// Share of the time in which frames were on the bus.
fn load(sample: &Sample) -> f64 {
    let carried = sample.counts.get("medium.carried-ns").copied().unwrap_or(0);
    // A run continues for a while after the last message; only the time of the messages counts.
    let seconds = sample.flows.iter().filter_map(|flow| {
        Some(flow.delivered_octets as f64 * 8.0 / flow.throughput_bits_per_second?)
    });
    carried as f64 / 1e9 / seconds.fold(f64::NAN, f64::max)
}

/// Milliseconds of the host processors per message, and of all processors.
fn processor_ms(sample: &Sample) -> (f64, f64) {
    let messages: u64 = sample.flows.iter().map(|flow| flow.delivered).sum();
    let of = |name: &str| {
        sample.counts.get(name).copied().unwrap_or(0) as f64 / 1e6 / messages.max(1) as f64
    };
    (of("machines.busy-ns.host"), of("machines.processor-ns"))
}
