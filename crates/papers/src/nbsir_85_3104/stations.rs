//! The same files sent by class 4 stations on a simulated LAN: the scenario `ncc84`.
//!
//! Nothing is fitted to the paper's counts: the machines of the stations decide on
//! acknowledgements, credit and retransmissions, and the meter counts them. Not modelled: the
//! speeds of the hosts of 1984, which the paper does not state (NBS published a model two years
//! later), and DTs of the called side, because its users only receive.

use crate::published::Unavailable;
use crate::published::value::Value;
use bench::run::{Watch, run_watched, tap};
use bench::scenario::{self, Study};
use bench::scenarios;
use meter::registry::Measure;
use meter::{Meter, Report, Settings};
use std::collections::BTreeMap;
use wire::dissect::Link;

/// Built-in scenario.
const NAME: &str = "ncc84";
/// Confidence of the intervals.
const LEVEL: f64 = 0.95;

/// Behaviour of stations: loss, credit, acknowledgement, in the terms of the scenario.
pub(super) type Behaviour = [&'static str; 3];

/// An AK for each DT.
pub(super) const PROMPT: Behaviour = ["0 %", "automatic", "each"];
/// One AK for two DTs.
pub(super) const WITHHELD: Behaviour = ["0 %", "automatic", "withhold"];
/// The window is closed with each DT and reopened when the user has accepted it.
pub(super) const TAUT: Behaviour = ["0 %", "taut", "each"];
/// As [`PROMPT`], with lost frames.
pub(super) const LOSSY: Behaviour = ["2 %", "automatic", "each"];

/// Counts of one run.
struct Run {
    total: Report,
    collisions: u64,
}

/// Stations, with the counts of the behaviours run so far.
pub(super) struct Stations {
    study: Study,
    repetitions: u64,
    runs: BTreeMap<Behaviour, Vec<Run>>,
}

impl Stations {
    pub(super) fn new(seed: u64, repetitions: u64) -> Result<Self, Unavailable> {
        let built_in = scenarios::get(NAME)
            .ok_or_else(|| Unavailable(format!("no scenario {NAME} comes with this version")))?;
        let mut study = scenario::load(built_in.text, &built_in.file())
            .map_err(|error| Unavailable(format!("the scenario {NAME}: {error}")))?;
        for point in &mut study.points {
            point.scenario.seed = seed;
        }
        Ok(Self { study, repetitions, runs: BTreeMap::new() })
    }

    /// Mean of a metric over the runs, with its interval.
    pub(super) fn metric(
        &mut self,
        behaviour: Behaviour,
        symbol: &str,
    ) -> Result<Value, Unavailable> {
        let value = |run: &Run| {
            let known = |metric: &&meter::metric::Metric| metric.definition.symbol == symbol;
            run.total.metrics.iter().find(known).and_then(|metric| metric.value)
        };
        mean(self.runs(behaviour)?.iter().filter_map(value))
    }

    /// Mean of a measure over the runs, with its interval.
    pub(super) fn measure(
        &mut self,
        behaviour: Behaviour,
        wanted: Measure,
    ) -> Result<Value, Unavailable> {
        let value = |run: &Run| {
            let table = run.total.measures.table();
            table.into_iter().find(|(known, _)| *known == wanted).map(|(_, value)| value as f64)
        };
        mean(self.runs(behaviour)?.iter().filter_map(value))
    }

    /// Mean number of collisions per run, with its interval.
    pub(super) fn collisions(&mut self, behaviour: Behaviour) -> Result<Value, Unavailable> {
        mean(self.runs(behaviour)?.iter().map(|run| run.collisions as f64))
    }

    fn runs(&mut self, behaviour: Behaviour) -> Result<&[Run], Unavailable> {
        if !self.runs.contains_key(&behaviour) {
            let runs: Vec<Run> = (0..self.repetitions)
                .map(|repetition| self.run(behaviour, repetition))
                .collect::<Result<_, _>>()?;
            self.runs.insert(behaviour, runs);
        }
        Ok(self.runs.get(&behaviour).map_or(&[], Vec::as_slice))
    }

    fn run(
        &self,
        [loss, credit, acknowledge]: Behaviour,
        repetition: u64,
    ) -> Result<Run, Unavailable> {
        let settings = [
            ("faults.loss", loss),
            ("transport.credit", credit),
            ("transport.acknowledge", acknowledge),
        ];
        // One spelling of a text has quotation marks.
        let is_set = |known: &BTreeMap<String, String>| {
            settings.iter().all(|(key, value)| {
                known.get(*key).is_some_and(|known| known.trim_matches('"') == *value)
            })
        };
        let mut points = self.study.points.iter();
        let point = points
            .find(|point| is_set(&point.settings))
            .ok_or_else(|| Unavailable(format!("the scenario {NAME} has no {loss} {credit}")))?;
        let mut meter = Meter::new(Settings::every(super::trace::INTERVAL));
        let mut tap = tap(&point.scenario.medium);
        let mut watch = Watch {
            tap: Some(&mut |passage| {
                if let Some(seen) = tap.capture(passage) {
                    meter.observe(seen.at, Link::Ethernet, seen.octets, seen.octets.len());
                }
            }),
            is_interrupted: &|| false,
            messages: None,
            trace: None,
        };
        let sample = run_watched(point, "", repetition, &mut watch)
            .map_err(|error| Unavailable(format!("the scenario {NAME}: {error}")))?;
        let collisions = sample.counts.get("medium.collisions").copied().unwrap_or(0);
        Ok(Run { total: meter.finish(), collisions })
    }
}

/// Mean of the runs with its interval by Student's t.
fn mean(values: impl Iterator<Item = f64>) -> Result<Value, Unavailable> {
    let values: Vec<f64> = values.collect();
    let runs = values.len() as f64;
    if values.len() < 2 {
        return Err(Unavailable("fewer than two runs have no interval".to_owned()));
    }
    let mean = values.iter().sum::<f64>() / runs;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (runs - 1.0)).sqrt();
    let half = stats::interval::t_quantile(LEVEL, runs - 1.0) * deviation / runs.sqrt();
    let observations = values.len() as u64;
    Ok(Value { value: mean, low: mean - half, high: mean + half, observations })
}
