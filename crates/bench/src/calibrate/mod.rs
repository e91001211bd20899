//! Calibration of an MMS server's machine: its costs from steps of `measure mms`, and a prediction of
//! the steps that were left out.
//!
//! ```text
//!   path      TCP connect / 2                        each way, of any TSDU; at most half of identify
//!   request   identify - TCP connect - simulated     each request
//!   value     read of one variable - identify        each value that is read
//! ```
//!
//! Each is a difference of the medians of one round, and its estimate is the mean over rounds. Simulated
//! is the time of identify over the simulated network with a server that takes none. The three steps are
//! the calibration; every other one is held out, and is predicted by a simulation of the machine.
//!
//! Assumptions: the way from host to host delays a TSDU, and none behind it; the server processes requests
//! one by one; what a read of one variable takes beyond identify is the cost of its
//! value.

mod file;

pub use file::{Calibration, text};

use crate::medium::Switched;
use crate::mms::{Found, Item};
use crate::profile::{Profile, parse_file};
use crate::run::{self, RunError};
use crate::scenario::mms::MmsCall;
use crate::scenario::{
    Carriage, Flow, Length, Medium, Pattern, ProfileName, Rate, Scenario, ScenarioError, Service,
    Size, Span, Station, Stop, Study, Warmup,
};
use core::time::Duration;

use stats::interval::{self, Estimate};
use stats::summary::Summary;
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::time::nanos;
use wire::units::BitRate;

/// Confidence of the intervals.
pub const LEVEL: f64 = 0.95;
/// Calls of one simulated step.
const CALLS: u64 = 200;
/// Name of the machine in the simulated scenario.
const MACHINE: &str = "calibrated.toml";
/// Variable of the built-in model that stands for each variable of the server.
const VARIABLE: &str = "FEEDLD0/MMXU1$MX$TotW$mag$f";

/// Step whose time is compared: the calls, and the most of them without their answers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Step {
    /// Variables that one call reads; none for identify.
    pub variables: usize,
    /// Outstanding calls.
    pub outstanding: u16,
}

impl Step {
    /// Step in words.
    #[must_use]
    pub fn name(self) -> String {
        let calls = match self.variables {
            0 => "identify".to_owned(),
            1 => "read 1 variable".to_owned(),
            many => format!("read {many} variables"),
        };
        match self.outstanding {
            1 => calls,
            many => format!("{calls}, {many} outstanding"),
        }
    }
}

/// Medians of one round, in nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Round {
    /// TCP connect.
    pub connect: f64,
    /// Identify.
    pub identify: f64,
    /// Read of one variable.
    pub read: f64,
    /// Response times of the steps that are held out.
    pub held_out: BTreeMap<Step, f64>,
}

impl Round {
    /// Medians of an inquiry; `None` if a step of the calibration has no time.
    #[must_use]
    pub fn of(found: &Found) -> Option<Self> {
        let median = |name: &str| {
            let rung = found.rungs.iter().find(|rung| rung.name == name)?;
            rung.times.quantile(0.5).map(|time| nanos(time) as f64)
        };
        let step = |variables| Step { variables, outstanding: 1 };
        let mut held_out = BTreeMap::new();
        let all = step(found.items.len());
        if all.variables > 1
            && let Some(time) = median(&all.name())
        {
            held_out.insert(all, time);
        }
        for pipelining in found.pipelining.iter().filter(|it| it.outstanding > 1) {
            if let Some(time) = pipelining.times.quantile(0.5) {
                let outstanding = pipelining.outstanding;
                held_out.insert(Step { variables: 1, outstanding }, nanos(time) as f64);
            }
        }
        Some(Self {
            connect: median("TCP connect")?,
            identify: median("identify")?,
            read: median("read 1 variable")?,
            held_out,
        })
    }
}

/// Costs of the machine, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Way of a TSDU between client and server.
    pub path: Estimate,
    /// Work on a request.
    pub request: Estimate,
    /// Work on a value.
    pub value: Estimate,
}

/// Step that was held out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HeldOut {
    /// Step.
    pub step: Step,
    /// Median response time over rounds, in nanoseconds.
    pub measured: Estimate,
    /// Median response time of the simulation.
    pub predicted_ns: f64,
}

impl HeldOut {
    /// Difference of the prediction, as a share of the measured time.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.predicted_ns / self.measured.mean - 1.0
    }
}

/// Error of a calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// Too few rounds have all steps.
    #[error("{0} of the rounds have all steps, and a calibration needs two")]
    TooFew(usize),
    /// The scenario of a prediction is invalid.
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
    /// The simulation failed.
    #[error("{0}")]
    Run(#[from] RunError),
    /// The simulation made no call.
    #[error("no call of the simulation was answered")]
    Unanswered,
}

/// Derives the costs from rounds.
///
/// # Errors
/// Too few rounds, or the simulation failed.
pub fn fit(rounds: &[Round]) -> Result<Costs, CalibrateError> {
    let of = |value: &dyn Fn(&Round) -> f64| {
        let values: Summary = rounds.iter().map(value).collect();
        interval::mean(&values, LEVEL).ok_or(CalibrateError::TooFew(rounds.len()))
    };
    let step = Step { variables: 0, outstanding: 1 };
    let network = response(&profile_of([0.0; 3])?, step)?;
    // On a busy host a handshake may take longer than an answer. Then all of it is the way.
    let answer = |round: &Round| (round.identify - network).max(0.0);
    let ways = |round: &Round| round.connect.min(answer(round));
    Ok(Costs {
        path: of(&|round| ways(round) / 2.0)?,
        request: of(&|round| answer(round) - ways(round))?,
        value: of(&|round| round.read - round.identify)?,
    })
}

impl Costs {
    /// Costs of the machine in nanoseconds: path, request, value. One that the rounds cannot tell from
    /// zero, because its mean is below it, is zero.
    #[must_use]
    pub fn inputs(&self) -> [f64; 3] {
        [self.path, self.request, self.value].map(|cost| cost.mean.max(0.0))
    }
}

/// Predicts the steps that were held out.
///
/// # Errors
/// The simulation failed.
pub fn held_out(costs: &Costs, rounds: &[Round]) -> Result<Vec<HeldOut>, CalibrateError> {
    let profile = profile_of(costs.inputs())?;
    let mut measured = BTreeMap::<Step, Vec<f64>>::new();
    for (step, time) in rounds.iter().flat_map(|round| &round.held_out) {
        measured.entry(*step).or_default().push(*time);
    }
    let mut all = Vec::new();
    for (step, times) in measured {
        if let Some(measured) = interval::mean(&times.into_iter().collect(), LEVEL) {
            all.push(HeldOut { step, measured, predicted_ns: response(&profile, step)? });
        }
    }
    Ok(all)
}

/// Machine with these costs in nanoseconds: path, request, value.
fn profile_of(costs: [f64; 3]) -> Result<Profile, CalibrateError> {
    let inputs = costs.map(|nanos| (nanos, String::from("a calibration")));
    Ok(parse_file(MACHINE, MACHINE, &file::machine("a server", inputs))?)
}

/// Median response time of a simulated step, in nanoseconds.
fn response(profile: &Profile, step: Step) -> Result<f64, CalibrateError> {
    let name = |text: &str| text.to_owned();
    let read: Vec<Item> = VARIABLE.parse().into_iter().cycle().take(step.variables).collect();
    let flow = Flow {
        mms: MmsCall {
            read,
            outstanding: Some(step.outstanding.into()),
            transport: Some(Carriage::Tcp),
            ..MmsCall::default()
        },
        messages: Some(CALLS),
        ..Flow::new(
            name("calls"),
            ["client", "server"].map(name),
            Service::Mms,
            Pattern::MaximumRateRequest { reply: Size(0) },
            Size(0),
        )
    };
    let after = Span(Duration::from_secs(600));
    let stop = Stop { after, warmup: Warmup::None, messages: None };
    let scenario = Scenario {
        replications: 1,
        named_stations: ["client", "server"].map(Station::new).to_vec(),
        flows: vec![flow],
        ..Scenario::new(name("calibration"), network(), stop)
    };
    let mut study = Study::of(&scenario, "the calibration")?;
    let point = study.points.first_mut().ok_or(CalibrateError::Unanswered)?;
    let machine = ProfileName::File(MACHINE.to_owned());
    point.scenario.named_stations[1].profile = Some(machine.clone());
    point.scenario.machines = Arc::new(BTreeMap::from([(machine, profile.clone())]));
    let sample = run::run(point, "", 0)?;
    let median = sample.flows.first().and_then(|flow| flow.response.p50_ns);
    median.map(|nanos| nanos as f64).ok_or(CalibrateError::Unanswered)
}

/// Network between client and server: short, and fast enough to take next to no time.
fn network() -> Medium {
    Medium::Switched(Switched {
        rate: Rate(BitRate::mbps(10_000)),
        length: Length::of_metres(1),
        switches: 1,
        trunk_rate: None,
        latency: Span(Duration::ZERO),
        buffer: Size(1 << 16),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: f64 = 1e3;

    fn round(factor: f64) -> Round {
        let held_out = BTreeMap::from([
            (Step { variables: 5, outstanding: 1 }, 180.0 * US * factor),
            (Step { variables: 1, outstanding: 5 }, 250.0 * US * factor),
        ]);
        let us = |time: f64| time * US * factor;
        Round { connect: us(40.0), identify: us(90.0), read: us(110.0), held_out }
    }

    #[test]
    fn a_simulation_gives_back_the_steps_of_its_calibration() {
        let rounds = [round(0.98), round(1.0), round(1.02)];
        let costs = fit(&rounds).unwrap();
        assert!((costs.path.mean - 20.0 * US).abs() < 1.0 && costs.path.half_width > 0.0);
        assert!((costs.value.mean - 20.0 * US).abs() < 1.0);
        let profile = profile_of(costs.inputs()).unwrap();
        for (variables, expected) in [(0, 90.0), (1, 110.0)] {
            let found = response(&profile, Step { variables, outstanding: 1 }).unwrap();
            // Medians have three digits.
            assert!((found / US / expected - 1.0).abs() < 0.01, "{variables}: {found}");
        }
        let held_out = held_out(&costs, &rounds).unwrap();
        let predicted: Vec<f64> = held_out.iter().map(|it| it.predicted_ns / US).collect();
        // One by one in a server of 70 us each, five wait 5 x 70 us, and the way of 40 us is hidden behind
        // their work; five values take 4 x 20 us more than one.
        assert!((predicted[0] / 350.0 - 1.0).abs() < 0.02, "{predicted:?}");
        assert!((predicted[1] / 190.0 - 1.0).abs() < 0.01, "{predicted:?}");
        assert!((held_out[1].error() - (190.0 / 180.0 - 1.0)).abs() < 0.02);
    }

    #[test]
    fn costs_need_two_rounds_and_are_not_negative() {
        assert!(matches!(fit(&[round(1.0)]), Err(CalibrateError::TooFew(1))));
        let fast = Round { connect: 95.0 * US, read: 80.0 * US, ..round(1.0) };
        let costs = fit(&[fast.clone(), fast]).unwrap();
        let [path, request, value] = costs.inputs();
        assert!(costs.value.mean < 0.0 && value.abs() < 1e-9 && request.abs() < 1e-9, "{costs:?}");
        // The way is no longer than half of identify.
        assert!(path < 45.0 * US && path > 40.0 * US, "{costs:?}");
    }
}
