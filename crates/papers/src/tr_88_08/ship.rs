//! Properties of the ship in TR-88-08, compared with the scenario `ship`.
//!
//! Not modelled: the wiring centre of each station.

use crate::published::Unavailable;
use crate::published::value::Value;
use bench::scenario::{self, Flow, LLC_OCTETS, MediumKind, Scenario, Study};
use bench::scenarios;
use core::time::Duration;

/// Built-in scenario of the ship.
const NAME: &str = "ship";
/// Built-in scenario of its prototype.
const PROTOTYPE: &str = "ship-prototype";

/// Stations of the prototype: PCs and one PC/AT.
pub(super) fn prototype_stations() -> Result<Value, Unavailable> {
    let scenario = study(PROTOTYPE)?.scenario().clone();
    let stations = scenario.all_stations();
    let count = |machine: &str| {
        let names = stations.iter().filter_map(|station| station.profile.as_ref());
        names.filter(|name| name.as_str() == machine).count()
    };
    let (pcs, ats) = (count("pc-pronet"), count("at-pronet"));
    if (pcs, ats) != (5, 1) {
        return Err(Unavailable(format!("the prototype has {pcs} PCs and {ats} PC/ATs")));
    }
    Ok(Value::exact(stations.len() as f64))
}

pub(super) fn stations() -> Result<Value, Unavailable> {
    let scenario = load()?;
    Ok(Value::exact(scenario.all_stations().len() as f64))
}

pub(super) fn types() -> Result<Value, Unavailable> {
    Ok(Value::exact(load()?.flows.len() as f64))
}

/// Seconds between reports of the ship's position.
pub(super) fn position_period() -> Result<Value, Unavailable> {
    Ok(Value::exact(interval(&find(&load()?, "position")?)?.as_secs_f64()))
}

/// Milliseconds between headings.
pub(super) fn heading_period() -> Result<Value, Unavailable> {
    Ok(Value::exact(interval(&find(&load()?, "heading")?)?.as_secs_f64() * 1e3))
}

pub(super) fn heading_size() -> Result<Value, Unavailable> {
    Ok(Value::exact(find(&load()?, "heading")?.size.0 as f64))
}

/// Mbit/s of frames, not messages, that all flows together put on the medium, replies not counted.
pub(super) fn load_megabits() -> Result<Value, Unavailable> {
    let scenario = load()?;
    let mut bits_per_second = 0.0;
    for flow in &scenario.flows {
        let bits = scenario.medium.frame_bits(flow.size.0 + LLC_OCTETS);
        bits_per_second += bits as f64 / interval(flow)?.as_secs_f64();
    }
    Ok(Value::exact(bits_per_second / 1e6))
}

/// Wiring centres of the ship.
const CENTRES: f64 = 4.0;

/// Metres between two consecutive wiring centres: the bus goes from the first to the last.
pub(super) fn trunk_metres() -> Result<Value, Unavailable> {
    let bus = length_metres(MediumKind::CsmaCd)?;
    Ok(Value::exact(bus / (CENTRES - 1.0)))
}

/// Metres from a station to its wiring centre: the ring goes there and back, and through a trunk
/// for each centre.
pub(super) fn lobe_metres() -> Result<Value, Unavailable> {
    let trunks = CENTRES * trunk_metres()?.value;
    let lobes = 2.0 * stations()?.value;
    Ok(Value::exact((length_metres(MediumKind::ProNet10)? - trunks) / lobes))
}

/// Length of a medium on which the scenario runs.
fn length_metres(kind: MediumKind) -> Result<f64, Unavailable> {
    let study = study(NAME)?;
    let mut media = study.points.iter().map(|point| &point.scenario.medium);
    let medium = media.find(|medium| medium.kind() == kind);
    let length = medium.and_then(|medium| medium.length());
    let (length, _) = length.ok_or_else(|| Unavailable(format!("no ship on {kind:?}")))?;
    Ok(length.metres())
}

fn load() -> Result<Scenario, Unavailable> {
    Ok(study(NAME)?.scenario().clone())
}

fn study(name: &str) -> Result<Study, Unavailable> {
    let built_in = scenarios::get(name)
        .ok_or_else(|| Unavailable("no scenario of a ship comes with this version".to_owned()))?;
    scenario::load(built_in.text, &built_in.file())
        .map_err(|error| Unavailable(format!("the scenario of the ship: {error}")))
}

fn find(scenario: &Scenario, word: &str) -> Result<Flow, Unavailable> {
    let flow = scenario.flows.iter().find(|flow| flow.name.contains(word));
    flow.cloned().ok_or_else(|| Unavailable(format!("the scenario of the ship has no flow {word}")))
}

fn interval(flow: &Flow) -> Result<Duration, Unavailable> {
    let none = || Unavailable(format!("the flow {} of the ship has no period", flow.name));
    flow.pattern.mean_interval().ok_or_else(none)
}
