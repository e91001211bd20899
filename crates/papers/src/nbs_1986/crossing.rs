//! Cross-over: the load at which the delay curves of CSMA/CD and token bus cross.

use super::context::{Context, Means, Statistic};
use super::experiment::{Experiment, Net, World, loads};
use crate::published::Unavailable;
use crate::published::value::Value;

/// Figure of the paper: its number, its experiment and statistic, and the cross-over in the text as
/// a share of the load, if there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) number: &'static str,
    pub(super) experiment: Experiment,
    pub(super) statistic: Statistic,
    pub(super) published: Option<f64>,
}

const fn figure(
    number: &'static str,
    experiment: Experiment,
    statistic: Statistic,
    published: Option<f64>,
) -> Figure {
    Figure { number, experiment, statistic, published }
}

/// All figures that show results.
pub(super) const FIGURES: [Figure; 9] = [
    figure("2", Experiment::Status, Statistic::Mean, Some(0.60)),
    figure("3", Experiment::Status, Statistic::Deviation, None),
    figure("4", Experiment::Status, Statistic::Maximum, Some(0.50)),
    figure("6", Experiment::ConstantRate, Statistic::Mean, Some(0.55)),
    figure("7", Experiment::ConstantRate, Statistic::Deviation, Some(0.45)),
    figure("8", Experiment::ConstantRate, Statistic::Maximum, Some(0.40)),
    figure("9", Experiment::MaximumRate, Statistic::Mean, Some(0.60)),
    figure("10", Experiment::MaximumRate, Statistic::Deviation, None),
    figure("11", Experiment::MaximumRate, Statistic::Maximum, None),
];

/// Least load at which curves may cross, in percent: without load there is no randomness, and the
/// networks differ only by the phase of the pair relative to itself or to the token.
pub(super) const FIRST_LOAD: u64 = 5;

/// Figure with this number.
pub(super) fn figure_of(number: &str) -> Result<Figure, Unavailable> {
    let figure = FIGURES.into_iter().find(|figure| figure.number == number);
    figure.ok_or_else(|| Unavailable(format!("no figure {number}")))
}

/// Load, as a share, at which the curves of a figure cross.
pub(super) fn of(
    context: &Context,
    world: World,
    figure: Figure,
    from_percent: u64,
) -> Result<Value, Unavailable> {
    let name = format!("crossing of figure {}", figure.number);
    context.estimate(&name, world, |means| in_means(means, figure, from_percent))
}

/// Band of the cross-overs of single runs: all but a twentieth at either end.
pub(super) fn of_single_runs(
    context: &Context,
    world: World,
    figure: Figure,
) -> Result<(f64, f64), Unavailable> {
    context.single_runs(world, |means| in_means(means, figure, FIRST_LOAD))
}

/// Cross-over in the means of some of the runs.
pub(super) fn in_means(
    means: &Means<'_>,
    figure: Figure,
    from_percent: u64,
) -> Result<f64, Unavailable> {
    let Figure { experiment, statistic, .. } = figure;
    let mut points = Vec::new();
    for load in loads().skip_while(|load| *load < from_percent) {
        let at = |net| means.of(experiment, net, load, statistic);
        points.push((load as f64 / 100.0, at(Net::CsmaCd)? - at(Net::TokenBus)?));
    }
    Ok(crossing(&points))
}

/// First position at which a difference exceeds zero, on straight lines between its points: the
/// first point if it does so there, and infinity if it never does.
fn crossing(points: &[(f64, f64)]) -> f64 {
    let Some(place) = points.iter().position(|(_, difference)| *difference > 0.0) else {
        return f64::INFINITY;
    };
    let (x1, y1) = points[place];
    match points.get(place.wrapping_sub(1)) {
        Some((x0, y0)) => x0 - y0 * (x1 - x0) / (y1 - y0),
        None => x1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_cross_on_the_line_between_two_loads() {
        // From -2 to 1 in a step of 0.05: two thirds of the step.
        let found = crossing(&[(0.0, -3.0), (0.05, -2.0), (0.1, 1.0), (0.15, -1.0), (0.2, 4.0)]);
        assert!((found - (0.05 + 0.05 * 2.0 / 3.0)).abs() < 1e-12, "{found}");
        assert_eq!(crossing(&[(0.4, 0.5), (0.45, 1.0)]), 0.4);
        assert_eq!(crossing(&[(0.0, -1.0), (0.05, -2.0)]), f64::INFINITY);
        assert_eq!(crossing(&[]), f64::INFINITY);
    }
}
