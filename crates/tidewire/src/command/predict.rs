//! `tidewire predict`: simulates a scenario.

mod again;
mod job;
pub(crate) mod merge;
mod messages;
pub(crate) mod rerun;
mod shard;
mod timeline;

use super::dry_run::{self, Planned};
use crate::args::Predict;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::output_file::{self, Created, Placing};
use crate::page::{self, StudyPage, StudyState};
use crate::quantity::{self, counted};
use crate::runs::{self, Findings, LEVEL, Making, Outcome, Recording};
use crate::scenario_choice::{self, Chosen, Purpose};
use crate::steps::RunBar;
use crate::{figure, host, paired_differences, plot};
use anyhow::Context;
use bench::run::{self, Ended, Goal, Look, Made, Plan, RunError, Watch};
use bench::sample::{Origin, Sample};
use bench::scenario::{Point, Share};
use core::ops::ControlFlow;
use reports::study::over_points;
use reports::sweep;
use std::io::{self, BufWriter, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use wire::dissect::Link;
use wire::pcapng::Writer;

pub(crate) fn run(options: &Predict, output: &Output) -> anyhow::Result<Exit> {
    if let Some(folder) = &options.resume {
        return again::resume(folder, &options.page, output);
    }
    timeline::check(options)?;
    let scenario = options.scenario.as_ref().expect("demanded where no experiment is named");
    let chosen = choose(scenario, &Purpose::Simulate, options, output)?;
    if options.run.print_scenario {
        return scenario_choice::print(&chosen, output);
    }
    messages::check(&chosen, options)?;
    if options.run.dry_run {
        return plan(&chosen, options, output);
    }
    if shard::print_script(&chosen, options, output)? {
        return Ok(Exit::Ok);
    }
    if let Some(shard) = shard::wanted(options)? {
        return shard::begin(shard, &chosen, options, output);
    }
    let stop = output::install_interrupts()?;
    if let Some(key) = &options.differences {
        paired_differences::check(&chosen.study, key)?;
    }
    goal(options)?;
    prepare(options)?;
    captures(&chosen, options, stop)?;
    messages::write(&chosen, options, stop)?;
    let timeline = timeline::make(&chosen, options, stop)?;
    let page = open(&chosen, options, output)?;
    let making = Making::here(host::facts());
    let recording = Recording::begin(&chosen, &options.run, making, output)?.on(page);
    timeline::write(timeline, options, recording.folder(), output)?;
    carry_out(&chosen, options, &Made::new(), recording, stop, output)
}

/// The scenario of a run folder of `predict`, with the options of its command line.
///
/// # Errors
/// The folder was not written by `predict`, is of another version, or its scenario was changed.
pub(in crate::command) fn scenario_of_folder(
    folder: &Path,
    output: &Output,
) -> anyhow::Result<Chosen> {
    let provenance = bench::folder::provenance(folder)?;
    let options = again::options(folder, &provenance)?;
    again::scenario_of(folder, &provenance, &options, output)
}

/// Prints what would run.
fn plan(chosen: &Chosen, options: &Predict, output: &Output) -> anyhow::Result<Exit> {
    let is_growing = goal(options)?.is_some();
    let all = shard::all_of_round(chosen, options)?;
    let shard = shard::wanted(options)?;
    let seed = chosen.study.scenario().seed;
    let runs = shard.map_or(all.len(), |shard| shard.runs(&all, seed).len()) as u64;
    let at_most = options.until.at_most.saturating_mul(chosen.study.points.len() as u64);
    let folder = (!options.run.no_save)
        .then(|| dry_run::folder(&options.run.output, &runs::folder_name(chosen, shard)));
    let planned = Planned {
        verb: "predict",
        chosen,
        runs,
        at_most: (is_growing && shard.is_none()).then_some(at_most),
        is_real_time: false,
        link: None,
        limit: None,
        writes: folder
            .iter()
            .cloned()
            .chain(options.capture.clone())
            .chain(options.capture_senders.clone())
            .chain(options.each_message.clone())
            .chain(options.figure.clone())
            .chain(timeline::path(options, folder.as_deref()).into_iter().flat_map(with_table))
            .collect(),
    };
    dry_run::print(&planned, output)
}

/// A figure and the table next to it.
fn with_table(figure: PathBuf) -> [PathBuf; 2] {
    let table = figure::table_path(&figure);
    [figure, table]
}

/// The page of a study, if one is requested.
fn open(chosen: &Chosen, options: &Predict, output: &Output) -> Result<Option<StudyPage>, Failure> {
    let may_grow = options.until.until_decided || options.until.precision.is_some();
    let state = || {
        let runs = shard::all_of(&chosen.study, options).len() as u64;
        let plan =
            page::Plan { verb: "predict", runs, may_grow, is_predicted: true, host_noise_ns: None };
        StudyState::new(&chosen.study, plan)
    };
    StudyPage::open(&options.page, state, output)
}

/// The scenario, with what the command line requires of it.
fn choose(
    scenario: &str,
    purpose: &Purpose,
    options: &Predict,
    output: &Output,
) -> anyhow::Result<Chosen> {
    let settings = options.settings();
    let mut chosen =
        scenario_choice::choose_with(scenario, purpose, &options.run, &settings, output)?;
    scenario_choice::require(&mut chosen, &options.until.require)?;
    let required = !chosen.study.scenario().require.is_empty();
    if options.until.until_decided && !required {
        let fix = "--require \"miss(FLOW) < 1e-3\", or a key `require` in the scenario";
        return Err(Failure::usage("--until-decided: no requirement is given")
            .with_fix(fix)
            .into());
    }
    Ok(chosen)
}

/// Makes sure before a long run that its figures can be drawn.
fn prepare(options: &Predict) -> anyhow::Result<()> {
    let Some(folder) = &options.figure else { return Ok(()) };
    Ok(figure::make_folder(folder)?)
}

/// Makes every missing run, and prints the report of all.
fn carry_out(
    chosen: &Chosen,
    options: &Predict,
    made: &Made,
    mut recording: Recording<'_>,
    stop: &AtomicBool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let result = predict(chosen, options, made, &mut recording, stop, output);
    let interrupted = stop.load(Ordering::Relaxed);
    let reason = match &result {
        Err(error) => Some(format!("{error:#}")),
        Ok(_) => interrupted.then(|| "interrupted".to_owned()),
    };
    let (error, ended) = match result {
        Ok(ended) => (None, ended),
        Err(error) => (Some(error), None),
    };
    let judged = ended.as_ref().map(|ended| ended.judged.clone());
    let points = &chosen.study.points;
    let (differences, top) = (options.differences.as_deref(), options.run.top.rows());
    let findings =
        Findings { points, is_predicted: true, host_noise_ns: None, judged, differences, top };
    let outcome = recording.end(reason, findings)?;
    if let Some(ended) = &ended {
        remark(ended, options, output);
    }
    show(chosen, options, &outcome, output)?;
    match (error, interrupted) {
        (Some(error), _) => Err(error),
        (None, true) => {
            interrupted_at(chosen, options, &outcome, output);
            Ok(Exit::Interrupted)
        }
        (None, false) => Ok(match (outcome.exit(), ended) {
            (Exit::Ok, Some(ended)) if !ended.imprecise.is_empty() => Exit::Undecided,
            (exit, _) => exit,
        }),
    }
}

/// Progress of an interrupted study, and the way to go on.
fn interrupted_at(chosen: &Chosen, options: &Predict, outcome: &Outcome, output: &Output) {
    let points = &outcome.report.points;
    let finished: u64 = points.iter().map(|point| point.replications - point.incomplete).sum();
    let planned = shard::all_of(&chosen.study, options).len();
    // With more runs until they are enough, their number is not known beforehand.
    let is_counted = !options.until.until_decided && options.until.precision.is_none();
    let of = if is_counted { format!(" of {planned}") } else { String::new() };
    let begun = format!("interrupted: {finished}{of} runs are finished");
    match &outcome.folder {
        Some(folder) => output.remark(format_args!(
            "{begun} and kept: tidewire predict --resume {}",
            folder.display()
        )),
        None => output.remark(format_args!("{begun}, and nothing was saved (--no-save)")),
    }
}

/// Number of looks, and the goals that were not reached.
fn remark(ended: &Ended, options: &Predict, output: &Output) {
    let Look { number, replications, level, .. } = ended.look;
    let looks = if number == 1 { "look" } else { "looks" };
    output.remark(format_args!(
        "{number} {looks}, the last at {replications} runs of a point{}",
        if options.until.until_decided || !options.until.require.is_empty() {
            format!(
                "; it judged at {}, so that all looks together err no more than 5 %",
                quantity::level(level)
            )
        } else {
            String::new()
        }
    ));
    if !ended.imprecise.is_empty() {
        let points = ended.imprecise.len() as u64;
        let are = if points == 1 { "is" } else { "are" };
        // An interrupt ends the runs before the most that were permitted.
        let is_most = replications >= options.until.at_most;
        output.remark(format_args!(
            "{} {are} less precise than --precision after {}{}",
            counted(points, "point"),
            counted(replications, "run"),
            if is_most { " (--at-most)" } else { "" },
        ));
    }
}

/// The figures of a sweep.
fn show(
    chosen: &Chosen,
    options: &Predict,
    outcome: &Outcome,
    output: &Output,
) -> anyhow::Result<()> {
    if options.figure.is_none() && !options.plot {
        return Ok(());
    }
    let seed = chosen.study.scenario().seed;
    let study = sweep::Study { seed, origin: Origin::Predicted };
    let top = options.run.top.rows();
    let drawn = sweep::figures(&outcome.report, study, top);
    let flows = over_points(&outcome.report).len();
    if flows > top && !drawn.is_empty() {
        output.remark(format_args!(
            "figures: the {top} worst of {}; --top N draws more",
            counted(flows as u64, "flow")
        ));
    }
    if drawn.is_empty() && (options.plot || options.timeline.is_none()) {
        output.remark("no figure: no key varies");
    }
    let source = format!("scenario {}, hash {}, seed {seed}", chosen.name, chosen.hash());
    for sweep::Drawn { name, figure: drawn } in &drawn {
        if options.plot && !output.json {
            output.line(format_args!("\n{}", plot::draw(drawn)))?;
        }
        if let Some(folder) = &options.figure {
            let path = folder.join(format!("{name}.svg"));
            let picture = figure::Picture::Curves(drawn.clone());
            figure::write(&picture, &source, &path, options.emit)?;
            output.remark(format_args!("figure: {}", path.display()));
        }
    }
    Ok(())
}

/// Makes every run; how its looks ended, where it looked.
fn predict(
    chosen: &Chosen,
    options: &Predict,
    made: &Made,
    recording: &mut Recording<'_>,
    stop: &AtomicBool,
    output: &Output,
) -> anyhow::Result<Option<Ended>> {
    let study = &chosen.study;
    let goal = goal(options)?;
    let plan = Plan { replications: None, jobs: host::cores() };
    let runs = shard::all_of(study, options);
    // Records on a terminal show how far it is, and a bar would run into them.
    let has_records = output.json && io::stdout().is_terminal();
    let draws = output.draws_progress() && !has_records;
    let mut bar = RunBar::new(runs.len() as u64, draws);
    let (longer, page) = (bar.handle(), recording.page());
    let mut written = Ok(());
    let each = |sample: Sample| {
        bar.run(&sample);
        written = recording.sample(sample);
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let ended = match goal {
        None => run::run_these(study, &runs, made, plan.jobs, stop, each).map(|()| None),
        Some(goal) => run::run_until(study, plan, goal, made, stop, each, |look| {
            let more = run::next_look(look.replications, goal.at_most) - look.replications;
            let more = look.open as u64 * more;
            longer.inc_length(more);
            page.iter().for_each(|page| page.plan_more(more));
        })
        .map(Some),
    };
    bar.end();
    let ended = ended?;
    written?;
    Ok(ended)
}

/// Goal of the runs, if their number is not fixed.
fn goal(options: &Predict) -> Result<Option<Goal>, Failure> {
    let until = &options.until;
    let precision = until
        .precision
        .as_ref()
        .map(|text| quantity::option::<Share>("--precision", text))
        .transpose()?;
    if precision.is_some_and(|share| share == Share(0)) {
        return Err(Failure::usage("--precision 0 %: no number of runs is enough"));
    }
    let is_wanted = precision.is_some() || until.until_decided;
    Ok(is_wanted.then_some(Goal {
        precision: precision.map(Share::fraction),
        decided: until.until_decided,
        at_most: until.at_most,
        level: LEVEL,
    }))
}

/// Writes the captures of the first run: refused ones first, before any is written.
fn captures(chosen: &Chosen, options: &Predict, stop: &AtomicBool) -> anyhow::Result<()> {
    let kinds: [(&str, &Option<PathBuf>, RunWatched); 2] = [
        ("--capture-senders", &options.capture_senders, run::run_watched_at_senders),
        ("--capture", &options.capture, run::run_watched),
    ];
    output_file::refuse_same(kinds.map(|(option, path, _)| (option, path.as_deref())))?;
    for (option, path, run_watched) in kinds {
        let Some(path) = path else { continue };
        chosen.inputs.refuse(option, path)?;
        let repetition = options.repetition.unwrap_or(0);
        capture(chosen.study.points.first(), repetition, path, run_watched, stop)?;
    }
    Ok(())
}

/// Name of the interface in a capture of a simulated network.
pub(in crate::command) const SIMULATED: &str = "simulated";

/// One run with an observer.
type RunWatched = fn(&Point, &str, u64, &mut Watch<'_>) -> Result<Sample, RunError>;

/// Writes the frames of the first run. A run is a function of its scenario and seed, so making it
/// twice makes the same frames.
fn capture(
    point: Option<&Point>,
    repetition: u64,
    path: &Path,
    run_watched: RunWatched,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let Some(point) = point else { return Ok(()) };
    let cannot = || format!("cannot write {}", path.display());
    let Created { file, pending: _pending } =
        output_file::create(path, Placing::AtTheEnd).with_context(cannot)?;
    let mut writer = Writer::new(BufWriter::new(file)).with_context(cannot)?;
    let interface = writer.interface(Link::Ethernet, SIMULATED).with_context(cannot)?;
    let mut written: io::Result<()> = Ok(());
    let mut tap = run::tap(&point.scenario.medium);
    let mut watch = Watch {
        tap: Some(&mut |passage| {
            if let (Ok(()), Some(frame)) = (&written, tap.capture(passage)) {
                written = writer.write(interface, frame.at, frame.octets, frame.octets.len(), "");
            }
        }),
        is_interrupted: &|| stop.load(Ordering::Relaxed),
        messages: None,
        trace: None,
    };
    run_watched(point, "", repetition, &mut watch)
        .map_err(|error| Failure::failed(format!("the first run cannot be made: {error}")))?;
    written.and_then(|()| writer.flush()).with_context(cannot)
}
