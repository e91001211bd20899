//! Two modelled machines on a modelled ring, timed as in the paper: each operation repeated at one
//! size, with its times cached.

use crate::layers::{Operation, Service, simulated};
use crate::published::value::Value;
use crate::published::{Monitor, Options, ReproduceError, Unavailable};
use bench::profile::{self, Profile};
use std::collections::{BTreeMap, BTreeSet};

/// Smallest message that is timed: a few octets that every operation accepts.
pub(super) const LEAST: usize = 16;
/// Size that the paper calls short.
pub(super) const SHORT: usize = 100;
/// Longest frame data of ProNET-10.
pub(super) const LONGEST_FRAME: usize = 2_046;
/// Longest message in such a frame: LLC's header is 3 octets, the CRC 2.
pub(super) const LONGEST_MESSAGE: usize = LONGEST_FRAME - 5;

/// Confidence of an interval of observed times.
const LEVEL: f64 = 0.95;

/// Machine of the paper.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Machine {
    /// PC.
    Pc,
    /// PC/AT.
    At,
}

impl Machine {
    /// Name of its station profile.
    pub(super) const fn profile(self) -> &'static str {
        match self {
            Self::Pc => "pc-pronet",
            Self::At => "at-pronet",
        }
    }
}

/// Model of a machine: a reading of its profile, by name and machine.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Model {
    machine: Machine,
    reading: Option<String>,
    profile: Profile,
}

/// Machine and index of the model.
pub(super) type Which = (Machine, usize);

/// Key of a timed operation.
type Key = (Which, Operation, Service, usize);

/// Machines, with their times.
pub(super) struct Context {
    models: Vec<Model>,
    pub(super) options: Options,
    times: BTreeMap<Key, Value>,
}

impl Context {
    /// Context with the profiles of both machines; each of their readings is a model.
    pub(super) fn new(pc: &Profile, at: &Profile, options: Options) -> Self {
        let mut models = Vec::new();
        for (machine, profile) in [(Machine::Pc, pc), (Machine::At, at)] {
            for (reading, profile) in profile.readings() {
                models.push(Model { machine, reading, profile });
            }
        }
        Self { models, options, times: BTreeMap::new() }
    }

    /// Context with the built-in profiles.
    pub(super) fn of_built_in(options: Options) -> Result<Self, ReproduceError> {
        let profile = |machine: Machine| {
            let name = machine.profile();
            profile::built_in(name).ok_or(ReproduceError::NoProfile(name))
        };
        Ok(Self::new(&profile(Machine::Pc)?, &profile(Machine::At)?, options))
    }

    /// Rows on which the models were calibrated.
    pub(super) fn inputs(&self) -> BTreeSet<String> {
        let rows = self.models.iter().flat_map(|model| model.profile.calibrated_on());
        rows.map(str::to_owned).collect()
    }

    /// Number of models of a machine.
    pub(super) fn count(&self, machine: Machine) -> usize {
        self.of(machine).count()
    }

    fn of(&self, machine: Machine) -> impl Iterator<Item = &Model> {
        self.models.iter().filter(move |model| model.machine == machine)
    }

    /// Profile of a model.
    pub(super) fn profile(&self, (machine, place): Which) -> Result<&Profile, Unavailable> {
        let model = self.of(machine).nth(place);
        model.map(|model| &model.profile).ok_or_else(|| no_model(machine))
    }

    /// Name of the reading of a model; none for the first.
    pub(super) fn reading(&self, (machine, place): Which) -> Option<&str> {
        self.of(machine).nth(place)?.reading.as_deref()
    }

    /// Model of another machine with the same reading of the paper: the one of the same name, or
    /// else the first.
    pub(super) fn like(&self, (machine, place): Which, other: Machine) -> Which {
        let reading = self.of(machine).nth(place).and_then(|model| model.reading.as_ref());
        let same = self.of(other).position(|model| model.reading.as_ref() == reading);
        (other, same.unwrap_or(0))
    }

    /// Properties of the monitor.
    pub(super) const fn monitor(&self) -> Option<Monitor> {
        self.options.monitor
    }

    /// Mean time of an operation on one model, in milliseconds, with its interval.
    pub(super) fn time_of(
        &mut self,
        which: Which,
        operation: Operation,
        service: Service,
        octets: usize,
    ) -> Result<Value, Unavailable> {
        let key = (which, operation, service, octets);
        if let Some(known) = self.times.get(&key) {
            return Ok(*known);
        }
        let (messages, seed) = (self.options.messages, self.options.seed);
        let measured =
            simulated::measure(self.profile(which)?, operation, service, octets, messages, seed)
                .map_err(|error| Unavailable(format!("{operation} of {octets} octets: {error}")))?;
        let found = mean(&measured.times)
            .ok_or_else(|| Unavailable(format!("{operation} of {octets} octets never ended")))?;
        self.times.insert(key, found);
        Ok(found)
    }

    /// Range of a quantity over all models of a machine; its value is that of the first.
    pub(super) fn over_models(
        &mut self,
        machine: Machine,
        mut quantity: impl FnMut(&mut Self, Which) -> Result<Value, Unavailable>,
    ) -> Result<Value, Unavailable> {
        let models = 0..self.count(machine);
        let all: Vec<Value> =
            models.map(|place| quantity(self, (machine, place))).collect::<Result<_, _>>()?;
        Value::hull(&all).ok_or_else(|| no_model(machine))
    }

    /// Range of the mean time of an operation over all models of a machine, in milliseconds.
    pub(super) fn time(
        &mut self,
        machine: Machine,
        operation: Operation,
        service: Service,
        octets: usize,
    ) -> Result<Value, Unavailable> {
        self.over_models(machine, |context, model| {
            context.time_of(model, operation, service, octets)
        })
    }
}

fn no_model(machine: Machine) -> Unavailable {
    Unavailable(format!("no model of {}", machine.profile()))
}

/// Mean in milliseconds with its interval by Student's t.
fn mean(times: &stats::histogram::Histogram) -> Option<Value> {
    let value = times.mean_nanos()? / 1e6;
    let observations = times.count();
    let half = times.standard_deviation_nanos().filter(|_| observations > 1).map_or(0.0, |sd| {
        let freedom = (observations - 1) as f64;
        stats::interval::t_quantile(LEVEL, freedom) * sd / 1e6 / (observations as f64).sqrt()
    });
    Some(Value { value, low: value - half, high: value + half, observations })
}
