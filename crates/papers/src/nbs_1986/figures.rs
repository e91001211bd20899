//! Figures 2 to 4 and 6 to 11 of NBS-1986: each network's curve against the load, with the band of
//! single runs.
//!
//! Left out: Figures 1 and 5, which define the measured times.

use super::context::{Context, Statistic};
use super::crossing::{FIGURES, Figure};
use super::experiment::{Cell, Experiment, Net, TRIALS, World, loads};
use crate::published::Unavailable;
use crate::published::plot::{Curve, Plot, Point, Style};
use crate::published::value::Value;

/// Draws all figures.
pub(super) fn all(context: &Context) -> Result<Vec<Plot>, Unavailable> {
    FIGURES.into_iter().map(|figure| of(context, figure)).collect()
}

/// Draws one figure.
pub(super) fn of(context: &Context, figure: Figure) -> Result<Plot, Unavailable> {
    let mut curves = Vec::new();
    for net in Net::ALL {
        curves.extend(of_net(context, figure, net)?);
    }
    let vertical = match (figure.experiment, figure.statistic) {
        (Experiment::Status, Statistic::Deviation) => "standard deviation of the delay",
        (Experiment::Status, Statistic::Maximum) => "longest delay",
        (Experiment::Status, _) => "mean delay",
        (_, Statistic::Deviation) => "standard deviation of the response time",
        (_, Statistic::Maximum) => "longest response time",
        (_, _) => "mean response time",
    };
    Ok(Plot {
        number: figure.number,
        place: format!("Figure {}", figure.number),
        title: title(figure),
        horizontal: ("background load", "% of the bit rate"),
        vertical: (vertical, "ms"),
        observed: format!(
            "Each point: the mean of n = {} runs of {TRIALS} trials, with the 95 % interval of that mean. \
             Lines without points: between them 90 % of single runs, one of which each point of the paper \
             is. The model was calibrated without load, on the least delay, the wait behind AK TPDUs and the \
             response time on the token bus.",
            context.options.messages
        ),
        curves,
        published: Vec::new(),
    })
}

const fn title(figure: Figure) -> &'static str {
    match (figure.experiment, figure.statistic) {
        (Experiment::Status, Statistic::Deviation) => {
            "Standard deviation of the delay of status reports"
        }
        (Experiment::Status, Statistic::Maximum) => "Longest delay of status reports",
        (Experiment::Status, _) => "Mean delay of status reports",
        (Experiment::ConstantRate, Statistic::Deviation) => {
            "Standard deviation of the response time at constant rate"
        }
        (Experiment::ConstantRate, Statistic::Maximum) => "Longest response time at constant rate",
        (Experiment::ConstantRate, _) => "Mean response time at constant rate",
        (Experiment::MaximumRate, Statistic::Deviation) => {
            "Standard deviation of the response time at maximum rate"
        }
        (Experiment::MaximumRate, Statistic::Maximum) => "Longest response time at maximum rate",
        (Experiment::MaximumRate, _) => "Mean response time at maximum rate",
    }
}

/// Curve of a network, then both edges of the band of single runs.
fn of_net(context: &Context, figure: Figure, net: Net) -> Result<[Curve; 3], Unavailable> {
    let (mut means, mut lower, mut upper) = (Vec::new(), Vec::new(), Vec::new());
    for load_percent in loads() {
        let cell = Cell { world: World::DRAWN, experiment: figure.experiment, net, load_percent };
        let Value { value: y, low, high, observations } =
            context.mean_of(cell, figure.statistic)?;
        let x = load_percent as f64;
        means.push(Point { x, y, low, high, observations });
        let (least, most) = context.band_of(cell, figure.statistic)?;
        let edge = |y| Point { x, y, low: y, high: y, observations };
        lower.push(edge(least));
        upper.push(edge(most));
    }
    let name = match net {
        Net::CsmaCd => "CSMA/CD",
        Net::TokenBus => "token bus",
    };
    let curve = |name: String, style, points| Curve { name, is_input: false, style, points };
    Ok([
        curve(name.to_owned(), Style::Points, means),
        curve(format!("{name}, 5 % of runs"), Style::Edge, lower),
        curve(format!("{name}, 95 % of runs"), Style::Edge, upper),
    ])
}
