//! `tidewire predict`: simulates a scenario.

use crate::args::Predict;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::runs::Recording;
use crate::study::{self, Chosen};
use crate::{host, interrupt};
use anyhow::Context;
use bench::run::{self, Plan, Watch};
use bench::scenario::Study;
use core::ops::ControlFlow;
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::dissect::Link;
use wire::pcapng::Writer;

pub(crate) fn run(options: &Predict, output: &Output) -> anyhow::Result<Exit> {
    let scenario = options.scenario.as_ref().expect("demanded where no experiment is named");
    let chosen = study::choose(scenario, &options.run, output)?;
    if options.run.print_scenario {
        return study::print(&chosen, output);
    }
    let stop = interrupt::install()?;
    if let Some(path) = &options.capture {
        capture(&chosen.study, path, stop)?;
    }
    let mut recording = Recording::begin(&chosen, &options.run, output)?;
    let error = predict(&chosen, &mut recording, stop, output);
    let interrupted = stop.load(Ordering::Relaxed);
    let reason = match &error {
        Some(error) => Some(format!("{error:#}")),
        None => interrupted.then(|| "interrupted".to_owned()),
    };
    recording.end(reason)?;
    match (error, interrupted) {
        (Some(error), _) => Err(error),
        (None, true) => Ok(Exit::Interrupted),
        (None, false) => Ok(Exit::Ok),
    }
}

/// Makes every run; what went wrong, if something did.
fn predict(
    chosen: &Chosen,
    recording: &mut Recording<'_>,
    stop: &AtomicBool,
    output: &Output,
) -> Option<anyhow::Error> {
    let study = &chosen.study;
    let runs = study.points.iter().map(|point| point.scenario.replications).sum();
    // Records on a terminal show how far it is, and a bar would run into them.
    let has_records = output.json && io::stdout().is_terminal();
    let bar =
        if output.draws_progress() && !has_records { bar(runs) } else { ProgressBar::hidden() };
    let plan = Plan { replications: None, jobs: host::cores() };
    let mut written = Ok(());
    let made = run::run_all(study, plan, stop, |sample| {
        bar.inc(1);
        written = recording.sample(sample);
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    bar.finish_and_clear();
    made.err().map(anyhow::Error::from).or_else(|| written.err().map(anyhow::Error::from))
}

fn bar(runs: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {eta} to go")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(runs).with_style(style)
}

/// Writes the frames of the first run. A run is a function of its scenario and seed, so making it
/// twice makes the same frames.
fn capture(study: &Study, path: &Path, stop: &AtomicBool) -> anyhow::Result<()> {
    let Some(point) = study.points.first() else { return Ok(()) };
    let cannot = || format!("cannot write {}", path.display());
    let mut writer = Writer::new(BufWriter::new(File::create(path).with_context(cannot)?))
        .with_context(cannot)?;
    let interface = writer.interface(Link::Ethernet, "simulated").with_context(cannot)?;
    let mut written: io::Result<()> = Ok(());
    let mut tap = run::tap(&point.scenario.medium);
    let mut watch = Watch {
        tap: &mut |passage| {
            if let (Ok(()), Some(frame)) = (&written, tap.capture(passage)) {
                written = writer.write(interface, frame.at, frame.octets, frame.octets.len(), "");
            }
        },
        is_interrupted: &|| stop.load(Ordering::Relaxed),
    };
    run::run_watched(point, "", 0, &mut watch)
        .map_err(|error| Failure::failed(format!("the first run cannot be made: {error}")))?;
    written.and_then(|()| writer.flush()).with_context(cannot)
}
