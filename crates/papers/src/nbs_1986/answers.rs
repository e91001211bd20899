//! Results for the text and figures of NBS-1986 and RFC 1008, computed from the runs.
//!
//! Times are in milliseconds, loads are shares of the bit rate.

use super::context::{Context, Means, Statistic};
use super::crossing::{self, FIGURES, FIRST_LOAD, figure_of};
use super::experiment::{Cell, Experiment, MOST_LOAD, Net, PERIOD, World, loads};
use super::sensitivity::{WINDOWS, of_window};
use crate::published::Unavailable;
use crate::published::value::Value;
use bench::layout::lay_out;
use bench::medium::{Model, Site};
use bench::profile::Layer;
use bench::scenario::MediumKind;
use sim::host::NoBuffer;
use sim::medium::Medium as _;
use sim::medium::token_bus::TokenBus;
use wire::addr::Mac;

type Result = core::result::Result<Value, Unavailable>;

/// Load up to which the paper recommends CSMA/CD, in percent.
const CSMA_CD_LIMIT: u64 = 40;
/// Load up to which delays vary little.
const QUIET_LIMIT: u64 = 50;
/// Load up to which CSMA/CD has the lower mean delay.
const CROSSING: u64 = 60;
/// Load up to which response times of both rates are compared at low load.
const LOW_LOAD: u64 = 20;

pub(super) const STATUS: Experiment = Experiment::Status;
pub(super) const CONSTANT: Experiment = Experiment::ConstantRate;
pub(super) const MAXIMUM: Experiment = Experiment::MaximumRate;

/// Cross-over of the curves of a figure.
pub(super) fn crossover(context: &Context, number: &str) -> Result {
    crossing::of(context, World::DRAWN, figure_of(number)?, FIRST_LOAD)
}

/// Least cross-over of all figures.
pub(super) fn least_crossover(context: &Context) -> Result {
    extreme(context, "least cross-over", f64::min)
}

/// Greatest cross-over of all figures.
pub(super) fn greatest_crossover(context: &Context) -> Result {
    extreme(context, "greatest cross-over", f64::max)
}

fn extreme(context: &Context, name: &str, of: fn(f64, f64) -> f64) -> Result {
    context.estimate(name, World::DRAWN, |means| {
        let mut all =
            FIGURES.into_iter().map(|figure| crossing::in_means(means, figure, FIRST_LOAD));
        all.try_fold(f64::NAN, |extreme, crossing| Ok(of(extreme, crossing?)))
    })
}

const fn cell(world: World, experiment: Experiment, net: Net, load_percent: u64) -> Cell {
    Cell { world, experiment, net, load_percent }
}

/// Statistic of one cell, for the first model.
pub(super) fn at(
    context: &Context,
    experiment: Experiment,
    net: Net,
    load: u64,
    statistic: Statistic,
) -> Result {
    context.mean_of(cell(World::DRAWN, experiment, net, load), statistic)
}

/// Mean of one cell, over all models.
pub(super) fn mean_over_models(
    context: &Context,
    experiment: Experiment,
    net: Net,
    load: u64,
) -> Result {
    context.over_models(|context, world| {
        context.mean_of(cell(world, experiment, net, load), Statistic::Mean)
    })
}

/// Shortest delay of a status report on an unloaded network.
pub(super) fn least_delay(context: &Context) -> Result {
    context.over_models(|context, world| {
        context.mean_of(cell(world, STATUS, Net::CsmaCd, 0), Statistic::Minimum)
    })
}

/// Extreme of the means of the recommended networks, each at the loads for which the paper
/// recommends it: the least, or the greatest.
fn recommended(
    context: &Context,
    name: &str,
    experiments: &[Experiment],
    of: fn(f64, f64) -> f64,
) -> Result {
    context.estimate(name, World::DRAWN, |means| {
        let mut all = f64::NAN;
        for experiment in experiments {
            for load in loads() {
                let is_low = load <= CSMA_CD_LIMIT;
                let net = if is_low { Net::CsmaCd } else { Net::TokenBus };
                all = of(all, means.of(*experiment, net, load, Statistic::Mean)?);
            }
        }
        Ok(all)
    })
}

pub(super) fn greatest_delay(context: &Context) -> Result {
    recommended(context, "greatest delay", &[STATUS], f64::max)
}

pub(super) fn least_response(context: &Context) -> Result {
    recommended(context, "least response", &[CONSTANT, MAXIMUM], f64::min)
}

pub(super) fn greatest_response(context: &Context) -> Result {
    recommended(context, "greatest response", &[CONSTANT, MAXIMUM], f64::max)
}

fn slope(
    means: &Means<'_>,
    of: (Net, Statistic),
    (from, to): (u64, u64),
) -> core::result::Result<f64, Unavailable> {
    let (net, statistic) = of;
    let grown = means.of(STATUS, net, to, statistic)? - means.of(STATUS, net, from, statistic)?;
    Ok(grown / (to - from) as f64)
}

/// Ratio of the slopes of the CSMA/CD curve after and before a load.
pub(super) fn knee(context: &Context, statistic: Statistic, load: u64) -> Result {
    let name = format!("knee of {statistic:?} at {load}");
    context.estimate(&name, World::DRAWN, |means| {
        let after = slope(means, (Net::CsmaCd, statistic), (load, MOST_LOAD))?;
        Ok(after / slope(means, (Net::CsmaCd, statistic), (0, load))?)
    })
}

pub(super) fn mean_knee(context: &Context) -> Result {
    knee(context, Statistic::Mean, CROSSING)
}

pub(super) fn deviation_knee(context: &Context) -> Result {
    knee(context, Statistic::Deviation, QUIET_LIMIT)
}

/// Greatest increase of the token bus's mean delay from one load to the next.
pub(super) fn greatest_step(context: &Context) -> Result {
    context.estimate("greatest step", World::DRAWN, |means| {
        let mut greatest = f64::NAN;
        for (before, after) in loads().zip(loads().skip(1)) {
            let at = |load| means.of(STATUS, Net::TokenBus, load, Statistic::Mean);
            greatest = greatest.max(at(after)? / at(before)?);
        }
        Ok(greatest)
    })
}

/// Statistic of one network over the other's, at the load in the range at which the ratio is
/// greatest or least.
fn ratio_over_loads(
    context: &Context,
    experiment: Experiment,
    statistic: Statistic,
    [above, below]: [Net; 2],
    (least, most): (u64, u64),
    of: fn(f64, f64) -> f64,
) -> Result {
    let name = format!("{experiment:?} {statistic:?} {above:?} {least} {most}");
    context.estimate(&name, World::DRAWN, |means| {
        let mut all = f64::NAN;
        for load in loads().filter(|load| (least..=most).contains(load)) {
            let at = |net| means.of(experiment, net, load, statistic);
            all = of(all, at(above)? / at(below)?);
        }
        Ok(all)
    })
}

const CSMA_CD_OVER: [Net; 2] = [Net::CsmaCd, Net::TokenBus];
const TOKEN_BUS_OVER: [Net; 2] = [Net::TokenBus, Net::CsmaCd];

/// Mean delay of the token bus over that of CSMA/CD, where the two are closest below the crossing.
pub(super) fn token_bus_below_crossing(context: &Context) -> Result {
    ratio_over_loads(context, STATUS, Statistic::Mean, TOKEN_BUS_OVER, (0, CROSSING - 5), f64::min)
}

/// Greatest deviation up to the load at which it is said to be small.
pub(super) fn quiet_deviation(context: &Context, net: Net) -> Result {
    context.estimate(&format!("quiet {net:?}"), World::DRAWN, |means| {
        let mut greatest = f64::NAN;
        for load in loads().filter(|load| *load <= QUIET_LIMIT) {
            greatest = greatest.max(means.of(STATUS, net, load, Statistic::Deviation)?);
        }
        Ok(greatest)
    })
}

/// Longest delay on CSMA/CD over that on the token bus, where they are closest at high load.
pub(super) fn longest_above(context: &Context) -> Result {
    let loads = (CSMA_CD_LIMIT + 5, MOST_LOAD);
    ratio_over_loads(context, STATUS, Statistic::Maximum, CSMA_CD_OVER, loads, f64::min)
}

/// Longest delay on the token bus over that on CSMA/CD, at the highest load.
pub(super) fn bounded(context: &Context) -> Result {
    let loads = (MOST_LOAD, MOST_LOAD);
    ratio_over_loads(context, STATUS, Statistic::Maximum, TOKEN_BUS_OVER, loads, f64::max)
}

/// Greatest ratio, up to 40 %, of a statistic of the maximum rate on the token bus to that on
/// CSMA/CD.
pub(super) fn no_advantage(context: &Context, statistic: Statistic) -> Result {
    let loads = (FIRST_LOAD, CSMA_CD_LIMIT);
    ratio_over_loads(context, MAXIMUM, statistic, TOKEN_BUS_OVER, loads, f64::max)
}

/// Greatest ratio, up to 40 %, of a statistic of the maximum rate on CSMA/CD to that on the token
/// bus.
pub(super) fn equal_or_better(context: &Context, statistic: Statistic) -> Result {
    let loads = (FIRST_LOAD, CSMA_CD_LIMIT);
    ratio_over_loads(context, MAXIMUM, statistic, CSMA_CD_OVER, loads, f64::max)
}

/// Statistic of the maximum rate over that of the constant rate on CSMA/CD, at the highest load.
pub(super) fn rates_at_high_load(context: &Context, statistic: Statistic) -> Result {
    context.estimate(&format!("rates {statistic:?}"), World::DRAWN, |means| {
        let at = |experiment| means.of(experiment, Net::CsmaCd, MOST_LOAD, statistic);
        Ok(at(MAXIMUM)? / at(CONSTANT)?)
    })
}

/// Greatest of these ratios over all statistics and both networks at low load.
pub(super) fn rates_at_low_load(context: &Context) -> Result {
    context.estimate("rates at low load", World::DRAWN, |means| {
        let mut greatest = f64::NAN;
        for load in loads().filter(|load| (FIRST_LOAD..=LOW_LOAD).contains(load)) {
            for net in Net::ALL {
                for statistic in [Statistic::Mean, Statistic::Deviation, Statistic::Maximum] {
                    let at = |experiment| means.of(experiment, net, load, statistic);
                    greatest = greatest.max(at(MAXIMUM)? / at(CONSTANT)?);
                }
            }
        }
        Ok(greatest)
    })
}

/// Total time of all requests of a constant rate at the highest load, over that without load: with
/// the window as drawn and with the others, which the paper leaves open.
pub(super) fn overrun(context: &Context) -> Result {
    let worlds = core::iter::once(World::DRAWN).chain(WINDOWS.map(of_window));
    let each = worlds.map(|world| {
        context.estimate(&format!("overrun {}", world.window), world, |means| {
            let at = |load| means.of(CONSTANT, Net::CsmaCd, load, Statistic::Seconds);
            Ok(at(MOST_LOAD)? / at(0)?)
        })
    });
    let each: Vec<Value> = each.collect::<core::result::Result<_, _>>()?;
    Value::hull(&each).ok_or_else(|| Unavailable("no window".to_owned()))
}

/// Average number of requests of a constant rate under way on CSMA/CD at the highest load: their
/// duration times their rate (J. D. C. Little, 1961).
pub(super) fn under_way(context: &Context) -> Result {
    let response = at(context, CONSTANT, Net::CsmaCd, MOST_LOAD, Statistic::Mean)?;
    Ok(response.scaled((PERIOD.as_secs_f64() * 1e3).recip()))
}

/// Rest of a period after a request is answered, without load.
pub(super) fn dead_time(context: &Context) -> Result {
    let response = mean_over_models(context, CONSTANT, Net::CsmaCd, 0)?;
    Ok(Value::exact(PERIOD.as_secs_f64() * 1e3).minus(response))
}

/// Extra time of a request that follows an answer at once over a later one, without load: its wait
/// behind the acknowledgement of that answer, at both ends.
pub(super) fn behind_acknowledgements(context: &Context, world: World) -> Result {
    let at = |experiment| context.mean_of(cell(world, experiment, Net::CsmaCd, 0), Statistic::Mean);
    Ok(at(MAXIMUM)?.minus(at(CONSTANT)?))
}

/// Rotation time of the token at a load: an idle rotation, and the frames of one rotation. In a
/// time of which frames take a part, the rest is rotations.
pub(super) fn rotation(context: &Context, world: World, load: u64) -> Result {
    let idle = idle_rotation(context)?;
    let carried = context.mean_of(cell(world, STATUS, Net::TokenBus, load), Statistic::Carried)?;
    let rest = Value::exact(1.0).minus(carried).reciprocal();
    rest.map(|rest| rest.scaled(idle.value))
        .ok_or_else(|| Unavailable("no time is left".to_owned()))
}

/// Time of an unused token around the simulated bus.
pub(super) fn idle_rotation(context: &Context) -> Result {
    let cell = cell(World::DRAWN, STATUS, Net::TokenBus, 0);
    let point = cell.point(context.profile(0)?, 1, 1)?;
    let layout = lay_out(&point.scenario, 1);
    let addresses: Vec<Mac> = layout.places.iter().map(|place| place.host.address).collect();
    let positions_metres = layout.places.iter().map(|place| place.metres).collect();
    let site = Site { positions_metres, ..Site::default() };
    let no_bus = || Unavailable("there is no such bus".to_owned());
    let Model::TokenBus(params) = point.scenario.medium.model(site) else { return Err(no_bus()) };
    let mut bus = TokenBus::new(params).map_err(|_| no_bus())?;
    bus.attach(&addresses).map_err(|_| no_bus())?;
    Ok(Value::exact(bus.idle_rotation().as_secs_f64() * 1e3))
}

/// Sum of inputs, over all models, in the paper's time, not the model's.
pub(super) fn inputs(context: &Context, names: &[&str]) -> Result {
    context.over_models(|context, world| {
        let values = names.iter().map(|name| context.input(world.model, name));
        Ok(Value::exact(values.sum::<core::result::Result<f64, Unavailable>>()?))
    })
}

/// Time to send an AK TPDU, over all models, in the model's own time: RFC 1008's common speed is
/// that of its typical times, and the wait behind an AK TPDU is the model's.
pub(super) fn acknowledgement(context: &Context) -> Result {
    context.over_models(|context, world| {
        let time = context.input(world.model, "acknowledgement-send")?;
        Ok(Value::exact(time / context.input(world.model, "speed")?))
    })
}

/// Processors of a station, medium access included.
pub(super) fn processors(context: &Context) -> Result {
    let host = context.profile(0)?.host(Layer::Llc, MediumKind::TokenBus, NoBuffer::Lost);
    Ok(Value::exact(host.resources.iter().filter(|resource| resource.is_processor).count() as f64))
}

/// Setting as a number.
pub(super) fn was(number: u64) -> Result {
    Ok(Value::exact(number as f64))
}
