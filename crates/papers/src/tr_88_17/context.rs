//! Two modelled SYSTEM V/68s with MVME372 front ends on a modelled token bus, with the run of each
//! trial cached.
//!
//! The models are the readings of the profile `mvme372` at each of its tiers.

use crate::published::value::Value;
use crate::published::{Options, Unavailable};
use crate::transfer::TOKEN_BUS;
use bench::profile::{Profile, Tier};
use bench::run::run_on;
use bench::sample::Sample;
use bench::scenario::{
    Acknowledge, Eot, Flow, Group, Pattern, Point, Scenario, Service, Size, Span, Start, Stop,
    Study, Transport, Warmup,
};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::thread;

/// Sizes of messages: the text names 16, 512, 1,000 and 1,024; the others are an assumption.
pub(super) const SIZES: [usize; 9] = [16, 32, 64, 128, 256, 512, 768, 1_000, 1_024];
/// Smallest message.
pub(super) const LEAST: usize = 16;
/// Longest message of one TPDU that the paper names.
pub(super) const LONG: usize = 1_000;
/// Longest message.
pub(super) const MOST: usize = 1_024;
/// Largest TPDU.
pub(super) const TPDU: usize = 1_024;
/// Messages of a throughput trial.
pub(super) const MESSAGES: u64 = 1_000;
/// T1: longer than any wait without a loss.
const T1: Duration = Duration::from_secs(1);
/// Window by default: the paper does not state it, and from two TPDUs on it has no effect.
pub(super) const WINDOW: u64 = 15;
/// Names of the stations.
pub(super) const STATIONS: [&str; 2] = ["station-1", "station-2"];

/// Data transfer service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Carrier {
    /// CASE with EOT on each message.
    CaseEach,
    /// CASE with EOT on the last message alone.
    CaseLast,
    /// Class 4 transport.
    Transport,
    /// Datagrams.
    Datalink,
}

/// Question of a trial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Question {
    /// Messages per second, without pauses.
    Rate,
    /// Half of a round trip: messages to and fro, one at a time.
    Delay,
}

/// One question with one setting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Trial {
    pub(super) carrier: Carrier,
    pub(super) question: Question,
    pub(super) octets: usize,
    pub(super) window: u64,
}

impl Trial {
    pub(super) const fn rate(carrier: Carrier, octets: usize) -> Self {
        Self { carrier, question: Question::Rate, octets, window: WINDOW }
    }

    pub(super) const fn delay(octets: usize) -> Self {
        Self { carrier: Carrier::CaseLast, question: Question::Delay, octets, window: WINDOW }
    }
}

/// Results of a run.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Outcome {
    /// Messages per second, or milliseconds.
    pub(super) found: Value,
    /// Share of the time in which each resource was busy: host and front end of the sender, the bus,
    /// front end and host of the receiver.
    pub(super) busy: [f64; 5],
    /// Frames on the bus.
    pub(super) frames: u64,
    /// Milliseconds of bus time of each frame.
    pub(super) frame_ms: f64,
    /// Messages that did not arrive.
    pub(super) lost: u64,
    /// Messages of both directions for each message of the initiator.
    pub(super) per_round: f64,
}

/// Models that fit the figures up to a tier.
#[derive(Clone, Debug)]
pub(super) struct Models {
    /// Name and title.
    pub(super) tier: Tier,
    /// Rows on which they were calibrated.
    pub(super) inputs: BTreeSet<String>,
    /// Indices of the models.
    members: Vec<usize>,
}

/// Machines, with the results of their runs.
pub(super) struct Context {
    models: Vec<Profile>,
    /// Tiers of the calibration.
    pub(super) tiers: Vec<Models>,
    /// Index of the tier whose models are used.
    pub(super) tier: usize,
    pub(super) options: Options,
    known: BTreeMap<(usize, Trial), Result<Outcome, Unavailable>>,
}

impl Context {
    /// Context with a profile. Each of its readings at each of its tiers is a model.
    pub(super) fn new(profile: &Profile, options: Options) -> Self {
        let mut models: Vec<Profile> = Vec::new();
        let mut tiers = Vec::new();
        for tier in &profile.tiers {
            let Some(here) = profile.at_tier(&tier.name) else { continue };
            let mut members = Vec::new();
            for (_, reading) in here.readings() {
                let is_same = |known: &Profile| {
                    let values =
                        |it: &Profile| it.inputs.iter().map(|i| i.value).collect::<Vec<_>>();
                    values(known) == values(&reading)
                };
                let place = models.iter().position(is_same).unwrap_or(models.len());
                if place == models.len() {
                    models.push(reading);
                }
                members.push(place);
            }
            let inputs = here.calibrated_on().into_iter().map(str::to_owned).collect();
            tiers.push(Models { tier: tier.clone(), inputs, members });
        }
        Self { models, tiers, tier: 0, options, known: BTreeMap::new() }
    }

    /// Models of the present tier.
    pub(super) fn members(&self) -> Vec<usize> {
        self.tiers.get(self.tier).map(|tier| tier.members.clone()).unwrap_or_default()
    }

    /// Rows on which the models of the present tier were calibrated.
    pub(super) fn inputs(&self) -> BTreeSet<String> {
        self.tiers.get(self.tier).map(|tier| tier.inputs.clone()).unwrap_or_default()
    }

    /// Profile of a model.
    pub(super) fn profile(&self, model: usize) -> Result<&Profile, Unavailable> {
        self.models.get(model).ok_or_else(|| Unavailable("no such model".to_owned()))
    }

    /// Makes the runs of trials for all models of the present tier, on all processors.
    pub(super) fn prepare(&mut self, trials: &[Trial]) {
        let all =
            self.members().into_iter().flat_map(|model| trials.iter().map(move |t| (model, *t)));
        let missing: Vec<(usize, Trial)> =
            all.filter(|key| !self.known.contains_key(key)).collect();
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(Vec::with_capacity(missing.len()));
        let work = || {
            while let Some(key) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                let answer = self.carry_out(key.0, &key.1);
                answers.lock().expect("no thread panics with the lock").push((*key, answer));
            }
        };
        let jobs = thread::available_parallelism().map_or(1, core::num::NonZero::get);
        thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
        self.known.extend(answers.into_inner().expect("no thread panics with the lock"));
    }

    fn carry_out(&self, model: usize, trial: &Trial) -> Result<Outcome, Unavailable> {
        let point = point(trial, &self.options)?;
        let sample = run_on(&point, self.profile(model)?, "", 0)
            .map_err(|error| Unavailable(format!("{trial:?}: {error}")))?;
        read(trial, &sample).ok_or_else(|| Unavailable(format!("{trial:?}: no message arrived")))
    }

    /// Results of a trial on one model.
    pub(super) fn outcome(&mut self, model: usize, trial: Trial) -> Result<Outcome, Unavailable> {
        if let Some(known) = self.known.get(&(model, trial)) {
            return known.clone();
        }
        let outcome = self.carry_out(model, &trial);
        self.known.insert((model, trial), outcome.clone());
        outcome
    }

    /// Main result of a trial on one model.
    pub(super) fn of(&mut self, model: usize, trial: Trial) -> Result<Value, Unavailable> {
        self.outcome(model, trial).map(|outcome| outcome.found)
    }

    /// Range of a quantity over all models of the present tier; its value is that of the first.
    pub(super) fn over_models(
        &mut self,
        mut quantity: impl FnMut(&mut Self, usize) -> Result<Value, Unavailable>,
    ) -> Result<Value, Unavailable> {
        let members = self.members();
        let all: Vec<Value> =
            members.into_iter().map(|model| quantity(self, model)).collect::<Result<_, _>>()?;
        Value::hull(&all).ok_or_else(|| Unavailable("no model of mvme372".to_owned()))
    }

    /// Number of messages lost in all runs made so far, and of all messages of datagram trials.
    pub(super) fn datagrams(&self) -> (u64, u64) {
        let of = |((_, trial), outcome): (&(usize, Trial), &Result<Outcome, Unavailable>)| {
            let is_datagram = trial.carrier == Carrier::Datalink;
            outcome.as_ref().ok().filter(|_| is_datagram).map(|outcome| (outcome.lost, MESSAGES))
        };
        self.known.iter().filter_map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

/// Run of a trial.
pub(super) fn point(trial: &Trial, options: &Options) -> Result<Point, Unavailable> {
    let study = Study::of(&scenario(trial, options), "the experiment")
        .map_err(|error| Unavailable(format!("{trial:?}: {error}")))?;
    study.points.into_iter().next().ok_or_else(|| Unavailable("no run".to_owned()))
}

fn scenario(trial: &Trial, options: &Options) -> Scenario {
    let (messages, pattern) = match trial.question {
        Question::Rate => (MESSAGES, Pattern::Bulk { total: None }),
        Question::Delay => {
            (options.messages, Pattern::MaximumRateRequest { reply: Size(trial.octets as u64) })
        }
    };
    let (service, eot) = match trial.carrier {
        Carrier::CaseEach => (Service::Case, Some(Eot::Each)),
        Carrier::CaseLast => (Service::Case, Some(Eot::Last)),
        Carrier::Transport => (Service::Class4, None),
        Carrier::Datalink => (Service::Datagram, None),
    };
    let ends = STATIONS.map(str::to_owned);
    let stop = Stop { after: Span(Duration::from_secs(600)), warmup: Warmup::None, messages: None };
    let size = Size(trial.octets as u64);
    let flow = Flow {
        messages: Some(messages),
        start: Start::Together,
        eot,
        ..Flow::new("messages".to_owned(), ends, service, pattern, size)
    };
    Scenario {
        seed: options.seed,
        replications: 1,
        stations: Some(Group {
            count: 2,
            prefix: "station".to_owned(),
            profile: None,
            architecture: None,
            model: None,
            ied: None,
        }),
        transport: transport(trial.window),
        flows: vec![flow],
        ..Scenario::new("data transfer".to_owned(), TOKEN_BUS, stop)
    }
}

/// Class 4 as the paper describes it: TPDUs of 1,024 octets, each acknowledged.
fn transport(window: u64) -> Transport {
    Transport {
        tpdu: Size(TPDU as u64),
        extended: false,
        checksum: false,
        window,
        acknowledge: Acknowledge::Each,
        t1: Span(T1),
        ..Transport::lan()
    }
}

/// Results of a trial's run.
fn read(trial: &Trial, sample: &Sample) -> Option<Outcome> {
    let flow = sample.flows.first()?;
    let (found, seconds) = match trial.question {
        Question::Rate => {
            let bits = flow.throughput_bits_per_second?;
            let seconds = flow.delivered_octets as f64 * 8.0 / bits;
            // From the first arrival to the last: the time in which the pipeline fills does not count.
            let first = flow.delay.min_ns? as f64 / 1e9;
            let value = flow.delivered.saturating_sub(1) as f64 / (seconds - first);
            (Value { observations: flow.delivered, ..Value::exact(value) }, seconds)
        }
        Question::Delay => {
            let value = flow.response.mean_ns? / 2e6;
            let observations = flow.response.count * 2;
            let seconds = flow.response.mean_ns? / 1e9 * flow.response.count as f64;
            (Value { observations, ..Value::exact(value) }, seconds)
        }
    };
    let busy = |station: &str, resource: &str| {
        let is_it =
            |it: &&bench::sample::Occupied| it.station == station && it.resource == resource;
        let found = sample.machines.iter().find(is_it);
        found.map_or(f64::NAN, |it| it.busy_ns as f64 / 1e9 / seconds)
    };
    let count = |name: &str| sample.counts.get(name).copied().unwrap_or(0);
    let (carried, frames) = (count("medium.carried-ns") as f64, count("medium.sent"));
    let [first, second] = STATIONS;
    Some(Outcome {
        found,
        busy: [
            busy(first, "host"),
            busy(first, "front end"),
            carried / 1e9 / seconds,
            busy(second, "front end"),
            busy(second, "host"),
        ],
        frames,
        frame_ms: carried / 1e6 / frames.max(1) as f64,
        lost: flow.lost,
        per_round: (flow.delivered + flow.answered) as f64 / flow.delivered.max(1) as f64,
    })
}
