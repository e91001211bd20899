//! `tidewire advise`: settings of class 4 for a network of one's own.

mod print;
mod source;

use crate::args::RunOptions;
use crate::args::advise::Advise;
use crate::args::keep::KeepOptions;
use crate::args::top::TopOptions;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, Output};
use crate::runs::LEVEL;
use crate::scenario_choice::{self, Chosen, Purpose};
use bench::advise::{AdviceError, Ended, Grid, Objective, Order, advise, advised, point_of};
use bench::sample::{End, Line};
use bench::scenario::{self, Point, Study};
use source::Source;
use std::path::Path;

/// Default total of runs.
const RUNS: u64 = 2_000;
/// The same of live ones, which take their time.
const LIVE_RUNS: u64 = 600;
/// Default repetitions of one setting.
const REPETITIONS: usize = 12;
/// The same of one that may still be better than the advice by more than is tolerable: four times
/// twice as many. Live ones take too long for that.
const REPETITIONS_IN_PLAY: usize = 16 * REPETITIONS;

pub(crate) fn run(options: &Advise, output: &Output) -> anyhow::Result<Exit> {
    // What cannot be written is better known before the work than after it.
    if let Some(path) = options.write.as_ref().filter(|path| path.exists()) {
        let why = format!("{} exists and is not overwritten", path.display());
        let fix = "--write another file, or remove this one";
        return Err(Failure::failed(why).with_fix(fix).into());
    }
    let purpose = if options.live { Purpose::Measure } else { Purpose::Simulate };
    let chosen =
        scenario_choice::choose(&options.scenario, &purpose, &run_options(options), output)?;
    if let Some(path) = &options.write {
        keeps_profiles(&chosen, path)?;
    }
    let point = network(&chosen.study, options.point)?;
    let goal = options.objective.map(|goal| goal.objective());
    let objective = goal.unwrap_or_else(|| Objective::of(&point.scenario));
    let stop = output::install_interrupts()?;
    let mut source = Source::open(options, &point, objective, stop, output)?;
    let mut grid = Grid::of(&point.scenario);
    if source.has_peer() {
        // The other end follows the scenario's own, and an older one its own alone.
        grid.knobs.retain(|(knob, _)| !knob.is_of_receiver());
    }
    let budget = options.budget.unwrap_or(if options.live { LIVE_RUNS } else { RUNS });
    let (replications, in_play) = repetitions(options);
    let order = Order { objective, grid, budget, replications, in_play, level: LEVEL };
    let searched: anyhow::Result<_> = advise(&point, &order, &mut |trials| source.run(trials));
    let closed = source.close();
    let advice = searched.map_err(unfit)?;
    closed?;
    print::tell(&advice, &point, options, output)?;
    if let Some(path) = &options.write {
        scenario_choice::write_new(&scenario::to_toml(&advised(&point, &advice)), path)?;
        output.remark(format_args!("{} written", path.display()));
    }
    let interrupted = interrupt::requested();
    let error = interrupted.then(|| "interrupted".to_owned());
    output.record(&Line::End(End { complete: advice.ended == Ended::Settled, error }))?;
    Ok(match advice.ended {
        _ if interrupted => Exit::Interrupted,
        Ended::Settled => Exit::Ok,
        Ended::Budget | Ended::Stopped => Exit::Undecided,
    })
}

/// Refuses to write a scenario where it would not find the files that it names.
fn keeps_profiles(chosen: &Chosen, path: &Path) -> Result<(), Failure> {
    let folder = |path: &Path| match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => std::fs::canonicalize("."),
        Some(folder) => std::fs::canonicalize(folder),
        None => std::fs::canonicalize(path),
    };
    let here = folder(Path::new(&chosen.study.source.file)).ok();
    let mut names = chosen.study.files().map(|file| file.name);
    let relative = names.find(|name| Path::new(name).is_relative());
    let Some(name) = relative.filter(|_| folder(path).ok() != here) else { return Ok(()) };
    let message = format!("{} would not find the file {name} from its folder", path.display());
    let fix = "--write a file in the folder of the scenario";
    Err(Failure::usage(message).with_fix(fix))
}

/// The most repetitions of one setting, and of one that is in play.
fn repetitions(options: &Advise) -> (usize, usize) {
    match options.runs {
        Some(runs) => {
            let runs = usize::try_from(runs).unwrap_or(usize::MAX);
            (runs, runs)
        }
        None if options.live => (REPETITIONS, REPETITIONS),
        None => (REPETITIONS, REPETITIONS_IN_PLAY),
    }
}

/// Equivalent options of `predict`.
fn run_options(options: &Advise) -> RunOptions {
    RunOptions {
        seed: options.seed,
        runs: None,
        output: "runs".into(),
        no_save: true,
        keep: KeepOptions::default(),
        top: TopOptions::default(),
        print_scenario: false,
        dry_run: false,
    }
}

/// The one network to advise for.
fn network(study: &Study, chosen: Option<usize>) -> Result<Point, Failure> {
    point_of(study, chosen).map_err(|error| {
        let failure = Failure::usage(error.to_string());
        match error {
            AdviceError::ManyPoints(points) | AdviceError::NoSuchPoint { points, .. } => {
                failure.with_fix(format!("--point N, from 1 to {points}"))
            }
            AdviceError::NoConnection | AdviceError::NothingFast | AdviceError::NoDeadline => {
                failure
            }
        }
    })
}

/// Turns a request that the scenario cannot fulfil into a usage error.
fn unfit(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<AdviceError>() {
        Ok(error) => Failure::usage(error.to_string()).into(),
        Err(error) => error,
    }
}
