//! What TR-88-08 says of the ship, read off the scenario of that name.
//!
//! Not modelled: which station stands in which centre.

use crate::reproduce::NotHere;
use crate::reproduce::found::Found;
use crate::scenario::{self, Flow, LLC_OCTETS, Pattern, Scenario};
use crate::scenarios;
use core::time::Duration;

/// The scenario that comes with the program.
const NAME: &str = "ship";

pub(super) fn stations() -> Result<Found, NotHere> {
    let scenario = load()?;
    Ok(Found::exact(scenario.all_stations().len() as f64))
}

pub(super) fn types() -> Result<Found, NotHere> {
    Ok(Found::exact(load()?.flows.len() as f64))
}

/// Seconds from one report of the ship's position to the next.
pub(super) fn position_period() -> Result<Found, NotHere> {
    Ok(Found::exact(interval(&find(&load()?, "position")?)?.as_secs_f64()))
}

/// Milliseconds from one heading to the next.
pub(super) fn heading_period() -> Result<Found, NotHere> {
    Ok(Found::exact(interval(&find(&load()?, "heading")?)?.as_secs_f64() * 1e3))
}

pub(super) fn heading_size() -> Result<Found, NotHere> {
    Ok(Found::exact(find(&load()?, "heading")?.size.0 as f64))
}

/// Mbit/s that all flows together put on the medium, frames and not messages, answers left out.
pub(super) fn load_megabits() -> Result<Found, NotHere> {
    let scenario = load()?;
    let mut bits_per_second = 0.0;
    for flow in &scenario.flows {
        let bits = scenario.medium.frame_bits(flow.size.0 + LLC_OCTETS);
        bits_per_second += bits as f64 / interval(flow)?.as_secs_f64();
    }
    Ok(Found::exact(bits_per_second / 1e6))
}

fn load() -> Result<Scenario, NotHere> {
    let built_in = scenarios::get(NAME)
        .ok_or_else(|| NotHere("no scenario of a ship comes with this version".to_owned()))?;
    let study = scenario::load(built_in.text, &built_in.file())
        .map_err(|error| NotHere(format!("the scenario of the ship: {error}")))?;
    Ok(study.scenario().clone())
}

fn find(scenario: &Scenario, word: &str) -> Result<Flow, NotHere> {
    let flow = scenario.flows.iter().find(|flow| flow.name.contains(word));
    flow.cloned().ok_or_else(|| NotHere(format!("the scenario of the ship has no flow {word}")))
}

fn interval(flow: &Flow) -> Result<Duration, NotHere> {
    match flow.pattern {
        Pattern::Cyclic { period } | Pattern::ConstantRateRequest { period, .. } => Ok(period.0),
        Pattern::Poisson { mean_interval } => Ok(mean_interval.0),
        Pattern::MaximumRateRequest { .. } | Pattern::Bulk { .. } => {
            Err(NotHere(format!("the flow {} of the ship has no period", flow.name)))
        }
    }
}
