//! Figures 11 and 12, which the paper does not have: associations by title, and the delay of a control
//! message on each architecture of MAP. They come from the scenarios `titles` and
//! `map-architectures`.

use crate::published::Unavailable;
use crate::published::plot::{Curve, Plot, Point, Style};
use bench::run::run;
use bench::sample::{FlowSample, Sample};
use bench::scenario::{self, Study};
use bench::scenarios;
use stats::interval;
use std::collections::BTreeMap;

/// Runs of each point.
const RUNS: u64 = 20;
/// Confidence of the intervals of means.
const LEVEL: f64 = 0.95;
/// Associations of the scenario `titles`, from left to right.
const ASSOCIATIONS: [&str; 6] =
    ["address", "cold", "cached", "unknown", "unknown-cached", "restart"];
/// Architectures, from left to right.
const ARCHITECTURES: [&str; 3] = ["full-map", "map-epa", "mini-map"];

/// Both figures, from runs with this seed.
pub(super) fn all(seed: u64) -> Result<Vec<Plot>, Unavailable> {
    Ok(vec![associations(seed)?, architectures(seed)?])
}

/// Built-in scenario, with this seed.
fn study(name: &str, seed: u64) -> Result<Study, Unavailable> {
    let missing = || Unavailable(format!("there is no scenario {name}"));
    let built_in = scenarios::get(name).ok_or_else(missing)?;
    let mut study = scenario::load(built_in.text, name)
        .map_err(|error| Unavailable(format!("{name}: {error}")))?;
    study.points.iter_mut().for_each(|point| point.scenario.seed = seed);
    Ok(study)
}

/// Result of a flow of each run, in milliseconds.
fn milliseconds(samples: &[Sample], flow: &str, of: fn(&FlowSample) -> Option<f64>) -> Vec<f64> {
    let flows = samples.iter().flat_map(|sample| &sample.flows);
    flows.filter(|it| it.name == flow).filter_map(of).map(|nanos| nanos / 1e6).collect()
}

/// Mean of the runs at a place; none without a result.
fn point(x: usize, values: &[f64]) -> Option<Point> {
    let found = interval::mean(&values.iter().copied().collect(), LEVEL)?;
    let low = (found.mean - found.half_width).max(0.0);
    let high = found.mean + found.half_width;
    Some(Point { x: x as f64, y: found.mean, low, high, observations: found.n })
}

fn plot(
    number: &'static str,
    title: &'static str,
    horizontal: (&'static str, &'static str),
    vertical: (&'static str, &'static str),
    curves: Vec<Curve>,
) -> Plot {
    Plot {
        number,
        place: "ours alone, without a published figure".to_owned(),
        title,
        horizontal,
        vertical,
        observed: format!("Means of n = {RUNS} runs; intervals: 95 % of the mean."),
        curves,
        published: Vec::new(),
    }
}

fn curve(name: String, points: Vec<Point>) -> Curve {
    Curve { name, is_input: false, style: Style::Cases, points }
}

/// Runs of a point.
fn samples(point: &scenario::Point) -> Result<Vec<Sample>, Unavailable> {
    let one =
        |replication| run(point, "", replication).map_err(|error| Unavailable(error.to_string()));
    (0..RUNS).map(one).collect()
}

/// Time to open an association by address and by title.
fn associations(seed: u64) -> Result<Plot, Unavailable> {
    let study = study("titles", seed)?;
    let found = study.points.first().map(samples).transpose()?.unwrap_or_default();
    let of = |(place, name): (usize, &&str)| {
        let values = milliseconds(&found, name, |flow| flow.setup_ns.map(|nanos| nanos as f64));
        point(place + 1, &values)
    };
    let points = ASSOCIATIONS.iter().enumerate().filter_map(of).collect();
    let horizontal = ("association: address, cold, cached, unknown, unknown again, restart", "1");
    let vertical = ("time until it is open or refused", "ms");
    let curves = vec![curve("mvme372".to_owned(), points)];
    Ok(plot("11", "Associations by address and by title", horizontal, vertical, curves))
}

/// Mean delay of a control message of 20 octets every 10 ms on each architecture.
fn architectures(seed: u64) -> Result<Plot, Unavailable> {
    let mut curves: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for at in &study("map-architectures", seed)?.points {
        let setting = |key: &str| at.settings.get(key).map(String::as_str).unwrap_or_default();
        let machine = setting("station.*.profile");
        let name = format!("{machine}, {} lost", setting("faults.loss"));
        let architecture = setting("station.*.architecture");
        let place = ARCHITECTURES.iter().position(|it| *it == architecture).unwrap_or_default();
        let values = milliseconds(&samples(at)?, "control", |flow| flow.delay.mean_ns);
        curves.entry(name).or_default().extend(point(place + 1, &values));
    }
    let horizontal = ("architecture: full MAP, MAP/EPA, Mini-MAP", "1");
    let vertical = ("delay of 20 octets every 10 ms", "ms");
    let curves = curves.into_iter().map(|(name, points)| curve(name, points)).collect();
    Ok(plot("12", "Delay of control on three architectures", horizontal, vertical, curves))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_costs_a_query_once_and_again_after_a_restart() {
        let plot = associations(1).unwrap();
        let [address, cold, cached, unknown, again, restart] =
            [0, 1, 2, 3, 4, 5].map(|place| plot.curves[0].points[place].y);
        assert!(cold > unknown + address && (cached / address - 1.0).abs() < 0.05);
        assert!((restart / cold - 1.0).abs() < 0.05, "{restart} {cold}");
        assert!(again.abs() < 1e-9, "a cache answers without a delay");
        assert!(plot.curves[0].points[1].low < cold && plot.curves[0].points[1].observations == 20);
    }
}
