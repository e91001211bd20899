//! NBS-1986: K. Mills, M. Wheatley and S. Heatley, Real-Time Performance Predictions: Transport Over LANs,
//! National Bureau of Standards, 1986; and the description of the same model in RFC 1008, section 3.4.3.
//!
//! Its stations are the profile `nbs-1986`, whose shape is RFC 1008's typical times, scaled by a
//! common factor to the least delay on an unloaded LAN. The idle token bus is calibrated as well;
//! everything under load, all response times and all cross-overs are predicted. Not modelled: the
//! machines of the background stations; see also the profile, the host model and both networks.

mod answers;
mod context;
mod crossing;
mod experiment;
mod figures;
mod sensitivity;
#[cfg(test)]
mod tests;

use crate::published::plot::Plot;
use crate::published::row::Row;
use crate::published::value::{Spread, Value};
use crate::published::{
    Event, Options, Outcome, Paper, Progress, Report, ReproduceError, Reproduction, Unavailable,
    judge, plot, row,
};
use Needs::{ConstantRate, MaximumRate, Nothing, Readings, Status, Windows};
use answers as a;
use context::{Context, Statistic};
use core::ops::ControlFlow;
use experiment::{
    BACKGROUND, Cell, Experiment, LONG, MOST_LOAD, Net, PERIOD, SHORT, TRIALS, World, loads,
};
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
const ROWS: [&str; 2] =
    [include_str!("../../reproduce/nbs-1986.toml"), include_str!("../../reproduce/rfc-1008.toml")];

/// Function that obtains one of our figures.
type Source = fn(&Context) -> Result<Value, Unavailable>;

const CSMA_CD: Net = Net::CsmaCd;
const TOKEN_BUS: Net = Net::TokenBus;

/// Source of each of our figures, by the name in the rows, and the runs that it needs.
const SOURCES: [(&str, Needs, Source); 56] = [
    ("crossover-2", Status, |l| a::crossover(l, "2")),
    ("crossover-4", Status, |l| a::crossover(l, "4")),
    ("crossover-6", ConstantRate, |l| a::crossover(l, "6")),
    ("crossover-7", ConstantRate, |l| a::crossover(l, "7")),
    ("crossover-8", ConstantRate, |l| a::crossover(l, "8")),
    ("crossover-9", MaximumRate, |l| a::crossover(l, "9")),
    ("least-crossover", MaximumRate, a::least_crossover),
    ("greatest-crossover", MaximumRate, a::greatest_crossover),
    ("greatest-delay", Status, a::greatest_delay),
    ("least-response", MaximumRate, a::least_response),
    ("greatest-response", MaximumRate, a::greatest_response),
    ("period", Nothing, |_| a::was(PERIOD.as_millis() as u64)),
    ("loads", Nothing, |_| a::was(loads().count() as u64)),
    ("most-load", Nothing, |_| Ok(Value::exact(MOST_LOAD as f64 / 100.0))),
    ("background-size", Nothing, |_| a::was(BACKGROUND)),
    ("status-size", Nothing, |_| a::was(LONG)),
    ("request-size", Nothing, |_| a::was(SHORT)),
    ("trials", Nothing, |_| a::was(TRIALS)),
    ("duration", Nothing, |_| Ok(Value::exact(PERIOD.as_secs_f64() * TRIALS as f64))),
    ("cells", Nothing, |_| {
        a::was((loads().count() * Net::ALL.len() * crossing::FIGURES.len()) as u64)
    }),
    ("connections", Nothing, |_| a::was(1)),
    ("think-time", Nothing, |_| a::was(0)),
    ("mean-knee", Status, a::mean_knee),
    ("deviation-knee", Status, a::deviation_knee),
    ("token-bus-below-crossing", Status, a::token_bus_below_crossing),
    ("greatest-step", Status, a::greatest_step),
    ("quiet-deviation-csma-cd", Status, |l| a::quiet_deviation(l, CSMA_CD)),
    ("quiet-deviation-token-bus", Status, |l| a::quiet_deviation(l, TOKEN_BUS)),
    ("longest-above", Status, a::longest_above),
    ("bounded", Status, a::bounded),
    ("high-load-mean", MaximumRate, |l| a::rates_at_high_load(l, Statistic::Mean)),
    ("high-load-deviation", MaximumRate, |l| a::rates_at_high_load(l, Statistic::Deviation)),
    ("high-load-maximum", MaximumRate, |l| a::rates_at_high_load(l, Statistic::Maximum)),
    ("low-load-rates", MaximumRate, a::rates_at_low_load),
    ("overrun", Windows, a::overrun),
    ("under-way", ConstantRate, a::under_way),
    ("dead-time", Readings, a::dead_time),
    ("behind-acknowledgements", Readings, |l| l.over_models(a::behind_acknowledgements)),
    ("no-advantage-deviation", MaximumRate, |l| a::no_advantage(l, Statistic::Deviation)),
    ("no-advantage-maximum", MaximumRate, |l| a::no_advantage(l, Statistic::Maximum)),
    ("equal-mean", MaximumRate, |l| a::equal_or_better(l, Statistic::Mean)),
    ("equal-deviation", MaximumRate, |l| a::equal_or_better(l, Statistic::Deviation)),
    ("equal-maximum", MaximumRate, |l| a::equal_or_better(l, Statistic::Maximum)),
    ("processors", Nothing, a::processors),
    ("send", Nothing, |l| a::inputs(l, &SEND)),
    ("receive", Nothing, |l| a::inputs(l, &RECEIVE)),
    ("acknowledgement", Nothing, a::acknowledgement),
    ("idle-rotation", Nothing, a::idle_rotation),
    ("rotation-70", Status, |l| a::rotation(l, World::DRAWN, MOST_LOAD)),
    ("least-delay", Readings, a::least_delay),
    ("longest-delay-70", Status, |l| a::at(l, a::STATUS, CSMA_CD, MOST_LOAD, Statistic::Maximum)),
    ("maximum-rate-token-bus-0", Readings, |l| a::mean_over_models(l, a::MAXIMUM, TOKEN_BUS, 0)),
    ("maximum-rate-token-bus-70", MaximumRate, |l| {
        a::at(l, a::MAXIMUM, TOKEN_BUS, MOST_LOAD, Statistic::Mean)
    }),
    ("maximum-rate-csma-cd-0", Readings, |l| a::mean_over_models(l, a::MAXIMUM, CSMA_CD, 0)),
    ("maximum-rate-csma-cd-70", MaximumRate, |l| {
        a::at(l, a::MAXIMUM, CSMA_CD, MOST_LOAD, Statistic::Mean)
    }),
    ("response-csma-cd-0", Readings, |l| a::mean_over_models(l, a::CONSTANT, CSMA_CD, 0)),
];

/// Inputs that make up the processing of data to send.
const SEND: [&str; 4] = ["host-send", "bus-send", "front-end-send", "acknowledgement-send"];
/// Inputs that make up the processing of data received.
const RECEIVE: [&str; 4] =
    ["host-receive", "bus-receive", "front-end-receive", "acknowledgement-receive"];

/// One figure of the paper, by its number, with `options.messages` runs for each point.
///
/// # Errors
/// Returns an error if there is no such figure, or its runs cannot be made.
pub fn figure(number: &str, options: &Options) -> Result<Plot, ReproduceError> {
    let figure = crossing::figure_of(number)?;
    let mut context = Context::of_built_in(options.clone())?;
    let cells =
        all_cells(World::DRAWN).into_iter().filter(|cell| cell.experiment == figure.experiment);
    context.prepare(&cells.collect::<Vec<_>>(), options.messages)?;
    Ok(figures::of(&context, figure)?)
}

fn run(options: &Options, report: &mut Report<'_>) -> Result<Reproduction, ReproduceError> {
    if options.messages < FEWEST {
        return Err(ReproduceError::TooFew { asked: options.messages, fewest: FEWEST });
    }
    let mut context = Context::of_built_in(options.clone())?;
    let outcomes = rows_by_stages(&mut context, report)?;
    let mut plots = figures::all(&context)?;
    plot::add_published(&mut plots, &outcomes);
    let remarks = remarks(&context, &context.inputs())?;
    let (time_diagrams, matrices) = (Vec::new(), Vec::new());
    Ok(Reproduction { outcomes, plots, time_diagrams, matrices, tiers: Vec::new(), remarks })
}

/// Makes all runs, stage by stage, and reports the rows of a stage once its runs are made; returns
/// all rows, in the order of the list.
fn rows_by_stages(
    context: &mut Context,
    report: &mut Report<'_>,
) -> Result<Vec<Outcome>, ReproduceError> {
    let inputs = context.inputs();
    let rows = row::parse(&ROWS.concat())?;
    let places: BTreeMap<String, usize> =
        rows.iter().enumerate().map(|(place, row)| (row.id.clone(), place)).collect();
    let mut waiting = rows;
    let mut outcomes = Vec::new();
    let stages = stages(context);
    let mut progress = Progress { done: 0, of: total(&stages) };
    for Stage { needs, runs } in stages {
        for (cells, replications) in runs {
            prepare(context, &cells, replications, &mut progress, report)?;
        }
        let ready = |row: &mut Row| needs_of(row) <= needs;
        let rows = waiting.extract_if(.., ready).collect();
        let judged = judge(rows, &inputs, |source, spread| obtain(context, source, spread));
        report(Event::Rows(&judged))?;
        outcomes.extend(judged);
    }
    outcomes.sort_by_key(|outcome: &Outcome| places.get(&outcome.row.id).copied());
    Ok(outcomes)
}

/// Runs that rows need, in the order in which they are made: the rows of a stage are final after
/// it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Needs {
    /// None.
    Nothing,
    /// Every reading of the profile, without load.
    Readings,
    /// Status reports, as drawn.
    Status,
    /// Requests at a constant rate, as drawn.
    ConstantRate,
    /// Requests at a maximum rate, as drawn, and all runs before it.
    MaximumRate,
    /// Other windows.
    Windows,
    /// Runs that only remarks need.
    Remarks,
}

/// Stage: cells with their number of runs.
struct Stage {
    needs: Needs,
    runs: Vec<(Vec<Cell>, u64)>,
}

/// Latest stage that a row needs.
fn needs_of(row: &Row) -> Needs {
    let sources = row.claims.iter().filter_map(|claim| claim.ours.as_deref());
    let known = sources.filter_map(|name| SOURCES.iter().find(|(known, ..)| *known == name));
    known.map(|(_, needs, _)| *needs).max().unwrap_or(Nothing)
}

/// Least number of runs whose mean has a useful interval: Student's factor is 12.7 with two and 4.3
/// with three.
const FEWEST: u64 = 3;

/// Number of runs for questions outside the paper's own: a third.
fn aside(replications: u64) -> u64 {
    replications.div_ceil(3).max(FEWEST)
}

/// Makes the runs of cells, and reports each.
fn prepare(
    context: &mut Context,
    cells: &[Cell],
    replications: u64,
    progress: &mut Progress,
    report: &mut Report<'_>,
) -> Result<(), ReproduceError> {
    if progress.done == 0 {
        report(Event::Progress(*progress))?;
    }
    let mut stopped = Ok(());
    context.prepare_with(cells, replications, &mut || {
        progress.done += 1;
        stopped = report(Event::Progress(*progress));
        if stopped.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(stopped?)
}

/// Number of runs of all stages: a cell of several stages is run as often as the stage with the
/// most runs needs.
fn total(stages: &[Stage]) -> u64 {
    let mut all = BTreeMap::new();
    for (cells, replications) in stages.iter().flat_map(|stage| &stage.runs) {
        for cell in cells {
            let most = all.entry(*cell).or_insert(0);
            *most = (*replications).max(*most);
        }
    }
    all.values().sum()
}

/// All runs: for the reading of the profile, as drawn, and, a third as often, with a load that
/// counts messages and for the sensitivity of the cross-over. The runs that most rows need come
/// first.
fn stages(context: &Context) -> Vec<Stage> {
    let all = context.options.messages;
    let third = aside(all);
    let drawn = |needs, wanted| {
        let cells = all_cells(World::DRAWN).into_iter();
        let cells = cells.filter(|cell| cell.experiment == wanted).collect();
        Stage { needs, runs: vec![(cells, all)] }
    };
    let readings = (0..context.count()).map(|model| World { model, ..World::DRAWN });
    let windows = sensitivity::WINDOWS.map(sensitivity::of_window);
    let (of_windows, others): (Vec<World>, Vec<World>) = sensitivity::worlds(context)
        .into_iter()
        .map(|(_, world)| world)
        .partition(|world| windows.contains(world));
    let a_third = |worlds: Vec<World>| {
        worlds.into_iter().map(|world| (sensitivity::cells(world), third)).collect::<Vec<_>>()
    };
    let mut rest = a_third(others);
    rest.push((all_cells(MESSAGES), third));
    vec![
        Stage { needs: Nothing, runs: Vec::new() },
        Stage { needs: Readings, runs: readings.map(|world| (of_reading(world), all)).collect() },
        drawn(Status, Experiment::Status),
        drawn(ConstantRate, Experiment::ConstantRate),
        drawn(MaximumRate, Experiment::MaximumRate),
        Stage { needs: Windows, runs: a_third(of_windows) },
        Stage { needs: Needs::Remarks, runs: rest },
    ]
}

/// All cells of all figures.
fn all_cells(world: World) -> Vec<Cell> {
    let mut cells = Vec::new();
    for experiment in Experiment::ALL {
        for net in Net::ALL {
            cells.extend(loads().map(|load_percent| Cell { world, experiment, net, load_percent }));
        }
    }
    cells
}

/// Cells that are run for every reading of the profile.
fn of_reading(world: World) -> Vec<Cell> {
    let mut cells = Vec::new();
    for net in Net::ALL {
        let cell = |experiment, load_percent| Cell { world, experiment, net, load_percent };
        cells.extend(Experiment::ALL.map(|experiment| cell(experiment, 0)));
    }
    cells
}

/// Obtains the result of a source.
fn obtain(context: &mut Context, name: &str, spread: Spread) -> Result<Value, Unavailable> {
    let source = SOURCES.iter().find(|(known, ..)| *known == name);
    let (.., source) = source.ok_or_else(|| Unavailable(format!("no source is called {name}")))?;
    context.spread = spread;
    let found = source(context);
    context.spread = Spread::Mean;
    found
}

fn remarks(context: &Context, inputs: &BTreeSet<String>) -> Result<Vec<String>, Unavailable> {
    let Options { seed, messages, .. } = context.options;
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let (missing, trials) = context.missing(World::DRAWN);
    let rotation = a::rotation(context, MESSAGES, MOST_LOAD)?;
    let first = a::behind_acknowledgements(context, World::DRAWN)?;
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
            sensitivity::crossings(context, World::DRAWN)?
        ),
        format!(
            "Were it messages that a load counts (n = {}): {} The token would take {:.2} ms around at {MOST_LOAD} %.",
            aside(messages),
            sensitivity::crossings(context, MESSAGES)?,
            rotation.value
        ),
        sensitivity::moves(context)?,
        format!(
            "Delays and response times without load span {} readings of the profile; all else is the first. At a \
             maximum rate a request waits behind the acknowledgement of the answer before it: {:.2} ms in the \
             first reading.",
            context.count(),
            first.value
        ),
        format!("Calibrated on {}.", inputs.join(", ")),
    ])
}
