//! `predict --timeline`: a window of one run as a chart of events, and the events as CSV.
//!
//! A run is a function of its scenario and seed, so making it once more makes the same events.

use crate::args::Predict;
use crate::exit::Failure;
use crate::figure::{self, Picture};
use crate::oldest_runs;
use crate::output::Output;
use crate::scenario_choice::Chosen;
use bench::paragraph::wrapped;
use bench::scenario::Span;
use bench::timeline::{self, NoTimeline, Window};
use reports::timeline::{Run, picture, summary};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use wire::time::Instant;

/// Name of the figure in its folder.
const NAME: &str = "timeline.svg";
/// Events of a figure from which most bars are narrower than a pixel.
const MOST_LEGIBLE: usize = 1_000;

/// Timeline that is not written yet.
pub(super) struct Made {
    picture: Picture,
    source: String,
    /// Window, run and contents in words.
    summary: String,
    events: usize,
    /// Window with bars that can be told apart; none if they can.
    shorter: Option<Window>,
}

/// Path of the figure, if one is requested: in the folder of figures, or else in the run folder.
pub(super) fn path(options: &Predict, run_folder: Option<&Path>) -> Option<PathBuf> {
    options.timeline?;
    let folder = options.figure.as_deref().or(run_folder)?;
    Some(folder.join(NAME))
}

/// Checks that there is a folder for the timeline, if one is requested.
///
/// # Errors
/// Neither a run folder nor a folder of figures is written.
pub(super) fn check(options: &Predict) -> Result<(), Failure> {
    if options.timeline.is_some() && options.run.no_save && options.figure.is_none() {
        let message = "--timeline: no run folder to write to with --no-save";
        let fix = "leave out --no-save, or name a folder with --figure";
        return Err(Failure::usage(message).with_fix(fix));
    }
    Ok(())
}

/// Makes the timeline, if one is requested; none if the run was interrupted.
///
/// # Errors
/// The run cannot be made, or it ends before the window begins.
pub(super) fn make(
    chosen: &Chosen,
    options: &Predict,
    stop: &AtomicBool,
) -> anyhow::Result<Option<Made>> {
    let Some(window) = options.timeline else { return Ok(None) };
    let Some(point) = chosen.study.points.first() else { return Ok(None) };
    let repetition = options.repetition.unwrap_or(0);
    let is_interrupted = || stop.load(Ordering::Relaxed);
    let made = timeline::timeline(point, repetition, window, &is_interrupted)
        .map_err(|error| refusal(window, &error))?;
    if is_interrupted() {
        return Ok(None);
    }
    let run = Run { scenario: &chosen.name, settings: &point.settings, repetition };
    let seed = chosen.study.scenario().seed;
    let of = run.point();
    Ok(Some(Made {
        source: format!(
            "scenario {}, hash {}, seed {seed}, point {}{of}, repetition {repetition}, {window}",
            chosen.name,
            chosen.hash(),
            point.index,
        ),
        summary: format!("timeline of repetition {repetition}{of}, {window}: {}", summary(&made)),
        picture: picture(&made, run),
        events: made.events.len(),
        shorter: made.shorter_window(MOST_LEGIBLE),
    }))
}

fn refusal(window: Window, error: &NoTimeline) -> Failure {
    match error {
        NoTimeline::Run(error) => Failure::failed(format!("a run cannot be made: {error}")),
        NoTimeline::AfterEnd { ended_at } => {
            let from = Span(window.from.since(Instant::ZERO));
            let message = format!("--timeline: the window begins at {from}, but {error}");
            let end = Span(ended_at.since(Instant::ZERO)).to_string().replace(' ', "");
            Failure::usage(message).with_fix(format!("a window before that, such as 0s..{end}"))
        }
    }
}

/// Writes the figure and its table, and prints what the window holds.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write(
    made: Option<Made>,
    options: &Predict,
    run_folder: Option<&Path>,
    output: &Output,
) -> anyhow::Result<()> {
    let (Some(made), Some(path)) = (made, path(options, run_folder)) else { return Ok(()) };
    figure::write(&made.picture, &made.source, &path, options.emit)?;
    if output.json {
        output.remark(&made.summary);
    } else {
        output.line(wrapped("", &made.summary))?;
    }
    output.remark(format_args!("timeline: {}", path.display()));
    if let Some(Window { from, until, .. }) = made.shorter {
        let size = path.metadata().map_or(0, |file| file.len());
        let time = |at: Instant| Span(at.since(Instant::ZERO)).to_string().replace(' ', "");
        let size = oldest_runs::size_of(size);
        let fix = format!("a shorter window: --timeline {}..{}", time(from), time(until));
        output.remark(format_args!(
            "timeline.svg has {} bars in {size}, too narrow to tell apart\n  fix: {fix}",
            made.events
        ));
    }
    Ok(())
}
