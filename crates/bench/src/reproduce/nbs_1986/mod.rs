//! NBS-1986: K. Mills, M. Wheatley and S. Heatley, Real-Time Performance Predictions: Transport Over LANs,
//! National Bureau of Standards, 1986; and what RFC 1008 tells of the same model in section 3.4.3.
//!
//! Its stations are the profile `nbs-1986`, whose shape is RFC 1008's typical times, brought to one common
//! scale by the least delay on an unloaded LAN. The idle token bus is calibrated as well; everything under
//! load, all response times and all cross-overs are predicted. Not modelled: what the background's
//! stations are made of; see also the profile, the host model and both networks.

mod answers;
mod crossing;
mod experiment;
mod figures;
mod laboratory;
mod sensitivity;
#[cfg(test)]
mod tests;

use super::found::{Found, Spread};
use super::plot::Plot;
use super::{Impossible, NotHere, Options, Paper, Progress, Reproduction, Tell, judge, plot, row};
use answers as a;
use experiment::{
    BACKGROUND, Cell, Experiment, LONG, MOST_LOAD, Net, PERIOD, SHORT, TRIALS, World, loads,
};
use laboratory::{Laboratory, Statistic};
use sensitivity::MESSAGES;
use std::collections::{BTreeMap, BTreeSet};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "nbs-1986",
    title: "Mills, Wheatley and Heatley, Real-Time Performance Predictions: Transport Over LANs, 1986",
    repetitions: 30,
    run,
};

/// Its rows, and those of RFC 1008.
const ROWS: [&str; 2] = [
    include_str!("../../../reproduce/nbs-1986.toml"),
    include_str!("../../../reproduce/rfc-1008.toml"),
];

/// How a figure of ours is obtained.
type Source = fn(&Laboratory) -> Result<Found, NotHere>;

const CSMA_CD: Net = Net::CsmaCd;
const TOKEN_BUS: Net = Net::TokenBus;

/// How each figure of ours is obtained, by the name that rows call it.
const SOURCES: [(&str, Source); 56] = [
    ("crossover-2", |l| a::crossover(l, "2")),
    ("crossover-4", |l| a::crossover(l, "4")),
    ("crossover-6", |l| a::crossover(l, "6")),
    ("crossover-7", |l| a::crossover(l, "7")),
    ("crossover-8", |l| a::crossover(l, "8")),
    ("crossover-9", |l| a::crossover(l, "9")),
    ("least-crossover", a::least_crossover),
    ("greatest-crossover", a::greatest_crossover),
    ("greatest-delay", a::greatest_delay),
    ("least-response", a::least_response),
    ("greatest-response", a::greatest_response),
    ("period", |_| a::was(PERIOD.as_millis() as u64)),
    ("loads", |_| a::was(loads().count() as u64)),
    ("most-load", |_| Ok(Found::exact(MOST_LOAD as f64 / 100.0))),
    ("background-size", |_| a::was(BACKGROUND)),
    ("status-size", |_| a::was(LONG)),
    ("request-size", |_| a::was(SHORT)),
    ("trials", |_| a::was(TRIALS)),
    ("duration", |_| Ok(Found::exact(PERIOD.as_secs_f64() * TRIALS as f64))),
    ("cells", |_| a::was((loads().count() * Net::ALL.len() * crossing::FIGURES.len()) as u64)),
    ("connections", |_| a::was(1)),
    ("think-time", |_| a::was(0)),
    ("mean-knee", a::mean_knee),
    ("deviation-knee", a::deviation_knee),
    ("token-bus-below-crossing", a::token_bus_below_crossing),
    ("greatest-step", a::greatest_step),
    ("quiet-deviation-csma-cd", |l| a::quiet_deviation(l, CSMA_CD)),
    ("quiet-deviation-token-bus", |l| a::quiet_deviation(l, TOKEN_BUS)),
    ("longest-above", a::longest_above),
    ("bounded", a::bounded),
    ("high-load-mean", |l| a::rates_at_high_load(l, Statistic::Mean)),
    ("high-load-deviation", |l| a::rates_at_high_load(l, Statistic::Deviation)),
    ("high-load-maximum", |l| a::rates_at_high_load(l, Statistic::Maximum)),
    ("low-load-rates", a::rates_at_low_load),
    ("overrun", a::overrun),
    ("under-way", a::under_way),
    ("dead-time", a::dead_time),
    ("behind-acknowledgements", |l| l.over_models(a::behind_acknowledgements)),
    ("no-advantage-deviation", |l| a::no_advantage(l, Statistic::Deviation)),
    ("no-advantage-maximum", |l| a::no_advantage(l, Statistic::Maximum)),
    ("equal-mean", |l| a::equal_or_better(l, Statistic::Mean)),
    ("equal-deviation", |l| a::equal_or_better(l, Statistic::Deviation)),
    ("equal-maximum", |l| a::equal_or_better(l, Statistic::Maximum)),
    ("processors", a::processors),
    ("send", |l| a::inputs(l, &SEND)),
    ("receive", |l| a::inputs(l, &RECEIVE)),
    ("acknowledgement", a::acknowledgement),
    ("idle-rotation", a::idle_rotation),
    ("rotation-70", |l| a::rotation(l, World::DRAWN, MOST_LOAD)),
    ("least-delay", a::least_delay),
    ("longest-delay-70", |l| a::at(l, a::STATUS, CSMA_CD, MOST_LOAD, Statistic::Maximum)),
    ("maximum-rate-token-bus-0", |l| a::mean_over_models(l, a::MAXIMUM, TOKEN_BUS, 0)),
    ("maximum-rate-token-bus-70", |l| a::at(l, a::MAXIMUM, TOKEN_BUS, MOST_LOAD, Statistic::Mean)),
    ("maximum-rate-csma-cd-0", |l| a::mean_over_models(l, a::MAXIMUM, CSMA_CD, 0)),
    ("maximum-rate-csma-cd-70", |l| a::at(l, a::MAXIMUM, CSMA_CD, MOST_LOAD, Statistic::Mean)),
    ("response-csma-cd-0", |l| a::mean_over_models(l, a::CONSTANT, CSMA_CD, 0)),
];

/// Inputs that make up the processing of data to send.
const SEND: [&str; 4] = ["host-send", "bus-send", "front-end-send", "acknowledgement-send"];
/// Inputs that make up the processing of data received.
const RECEIVE: [&str; 4] =
    ["host-receive", "bus-receive", "front-end-receive", "acknowledgement-receive"];

/// One of its figures alone, by its number; of `options.messages` runs for each point.
///
/// # Errors
/// Where there is no such figure, or its runs cannot be made.
pub fn figure(number: &str, options: &Options) -> Result<Plot, Impossible> {
    let figure = crossing::figure_of(number)?;
    let mut laboratory = Laboratory::of_built_in(options.clone())?;
    let cells =
        all_cells(World::DRAWN).into_iter().filter(|cell| cell.experiment == figure.experiment);
    laboratory.prepare(&cells.collect::<Vec<_>>(), options.messages)?;
    Ok(figures::of(&laboratory, figure)?)
}

fn run(options: &Options, tell: &mut Tell<'_>) -> Result<Reproduction, Impossible> {
    if options.messages < FEWEST {
        return Err(Impossible::TooFew { asked: options.messages, fewest: FEWEST });
    }
    let mut laboratory = Laboratory::of_built_in(options.clone())?;
    prepare(&mut laboratory, tell)?;
    let inputs = laboratory.inputs();
    let outcomes = judge(row::parse(&ROWS.concat())?, &inputs, |source, spread| {
        obtain(&mut laboratory, source, spread)
    });
    let mut plots = figures::all(&laboratory)?;
    plot::add_published(&mut plots, &outcomes);
    let remarks = remarks(&laboratory, &inputs)?;
    Ok(Reproduction { outcomes, plots, remarks })
}

/// The fewest runs of which a mean has an interval that tells anything: Student's factor is 12.7 with two
/// and 4.3 with three.
const FEWEST: u64 = 3;

/// How many runs there are of what is asked beside the paper's own: a third as many.
fn aside(replications: u64) -> u64 {
    replications.div_ceil(3).max(FEWEST)
}

/// Makes all runs: as drawn, what rests on the reading of the profile, and, a third as often, with a load
/// that counts messages and what the cross-over rests on.
fn prepare(laboratory: &mut Laboratory, tell: &mut Tell<'_>) -> Result<(), NotHere> {
    let plan = plan(laboratory);
    let mut all = BTreeMap::new();
    for (cells, replications) in &plan {
        for cell in cells {
            let most = all.entry(*cell).or_insert(0);
            *most = (*replications).max(*most);
        }
    }
    let (mut done, of) = (0, all.values().sum());
    tell(Progress { done, of });
    for (cells, replications) in plan {
        laboratory.prepare_and_tell(&cells, replications, &mut || {
            done += 1;
            tell(Progress { done, of });
        })?;
    }
    Ok(())
}

/// Which cells are run, and how often each.
fn plan(laboratory: &Laboratory) -> Vec<(Vec<Cell>, u64)> {
    let replications = laboratory.options.messages;
    let mut plan =
        vec![(all_cells(World::DRAWN), replications), (all_cells(MESSAGES), aside(replications))];
    let readings = 1..laboratory.count();
    plan.extend(readings.map(|model| (of_reading(World { model, ..World::DRAWN }), replications)));
    let worlds = sensitivity::worlds(laboratory).into_iter();
    plan.extend(worlds.map(|(_, world)| (sensitivity::cells(world), aside(replications))));
    plan
}

/// Every cell of every figure.
fn all_cells(world: World) -> Vec<Cell> {
    let mut cells = Vec::new();
    for experiment in Experiment::ALL {
        for net in Net::ALL {
            cells.extend(loads().map(|load_percent| Cell { world, experiment, net, load_percent }));
        }
    }
    cells
}

/// The cells that are asked of every reading of the profile.
fn of_reading(world: World) -> Vec<Cell> {
    let mut cells = Vec::new();
    for net in Net::ALL {
        let cell = |experiment, load_percent| Cell { world, experiment, net, load_percent };
        cells.extend(Experiment::ALL.map(|experiment| cell(experiment, 0)));
        cells.push(cell(Experiment::ConstantRate, MOST_LOAD));
    }
    cells
}

/// Asks a source.
fn obtain(laboratory: &mut Laboratory, name: &str, spread: Spread) -> Result<Found, NotHere> {
    let source = SOURCES.iter().find(|(known, _)| *known == name);
    let (_, source) = source.ok_or_else(|| NotHere(format!("no source is called {name}")))?;
    laboratory.spread = spread;
    let found = source(laboratory);
    laboratory.spread = Spread::Mean;
    found
}

fn remarks(laboratory: &Laboratory, inputs: &BTreeSet<String>) -> Result<Vec<String>, NotHere> {
    let Options { seed, messages, .. } = laboratory.options;
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let (missing, trials) = laboratory.missing(World::DRAWN);
    let rotation = a::rotation(laboratory, MESSAGES, MOST_LOAD)?;
    let first = a::behind_acknowledgements(laboratory, World::DRAWN)?;
    Ok(vec![
        format!(
            "A pair of stations and ten that make the load, at 10 Mbit/s, n = {messages} runs of {TRIALS} \
             trials for each point, seed {seed}; ours is the mean of such runs, with its 95 % interval. \
             {missing} of {trials} trials never ended."
        ),
        "A load counts the bits of the background's frames: on CSMA/CD 218 octets from address to FCS, on \
         the token bus 222 with preamble and delimiters, of which 200 are the message."
            .to_owned(),
        format!(
            "Cross-overs in % of load, with the interval of the mean and that in which 90 % of single runs \
             fall, such as the paper's are: {}",
            sensitivity::crossings(laboratory, World::DRAWN)?
        ),
        format!(
            "Were it messages that a load counts (n = {}): {} The token would take {:.2} ms around at {MOST_LOAD} %.",
            aside(messages),
            sensitivity::crossings(laboratory, MESSAGES)?,
            rotation.value
        ),
        sensitivity::moves(laboratory)?,
        format!(
            "Response times without load, and at {MOST_LOAD} % those of a constant rate, span {} readings of \
             the profile; all else is the first. At a maximum rate a request waits behind the \
             acknowledgement of the answer before it: {:.2} ms in the first reading.",
            laboratory.count(),
            first.value
        ),
        format!("Calibrated on {}.", inputs.join(", ")),
    ])
}
