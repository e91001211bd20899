//! `tidewire reproduce`: a paper's figures beside ours.

mod figures;
mod lines;
mod monitor;
mod text;
mod traffic;

pub(super) use lines::figure;

use crate::args::{Format, Reproduce};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::steps::bar as bar_of;
use bench::reproduce::summary::summarise;
use bench::reproduce::{self, Impossible, Options, PAPERS, Paper, Progress, Reproduction};
use indicatif::ProgressBar;
use monitor::monitor;
use serde_json::json;
use std::io;

pub(crate) fn run(arguments: &Reproduce, output: &Output) -> anyhow::Result<Exit> {
    let format = format(arguments, output)?;
    let output = Output { json: format == Format::Ndjson, quiet: output.quiet };
    let Some(name) = &arguments.paper else {
        list(&output)?;
        return Ok(Exit::Ok);
    };
    let paper = find(name)?;
    if let Some(folder) = &arguments.figures {
        figures::prepare(folder)?;
    }
    if let Some(path) = &arguments.capture {
        traffic::write(&paper, arguments.tap, path)?;
    }
    let messages = arguments.runs.unwrap_or(paper.repetitions);
    let options = Options { seed: arguments.seed, messages, monitor: Some(monitor()?) };
    let reproduction = carry_out(&paper, &options, &output);
    let reproduction = reproduction.map_err(|error| impossible(name, &error))?;
    let drawn = match &arguments.figures {
        Some(folder) => figures::draw(&paper, &options, &reproduction, folder)?,
        None => Vec::new(),
    };
    let summary = summarise(&reproduction.outcomes);
    match format {
        Format::Text => text::tell(&paper, &reproduction, &summary, &output)?,
        Format::Ndjson => lines::ndjson(&paper, &options, &reproduction, &summary, &output)?,
        Format::Csv => lines::csv(&reproduction, io::stdout().lock())?,
    }
    for path in drawn.iter().chain(&arguments.capture) {
        output.remark(format_args!("{} written", path.display()));
    }
    Ok(Exit::Ok)
}

/// Steps in which progress is reported where no bar is drawn.
const STEPS: u64 = 10;

/// Makes all runs, and shows their progress: as a bar on a terminal, elsewhere in a line for each tenth.
fn carry_out(
    paper: &Paper,
    options: &Options,
    output: &Output,
) -> Result<Reproduction, Impossible> {
    let mut shown = ProgressBar::hidden();
    let result = (paper.run)(options, &mut |Progress { done, of }| {
        if done == 0 && output.draws_progress() {
            shown = bar_of(of);
        }
        shown.set_position(done);
        let step = |done: u64| done * STEPS / of.max(1);
        if !output.draws_progress() && done > 0 && step(done) > step(done - 1) {
            output.remark(format_args!("{}: {done} of {of} runs", paper.name));
        }
    });
    shown.finish_and_clear();
    result
}

fn impossible(name: &str, error: &Impossible) -> Failure {
    let message = format!("{name}: {error}");
    match error {
        Impossible::TooFew { fewest, .. } => {
            Failure::usage(message).with_fix(format!("-n {fewest}, or more"))
        }
        Impossible::Rows(_) | Impossible::NoProfile(_) | Impossible::Figures(_) => {
            Failure::failed(message)
        }
    }
}

/// The form of the result, said by `--format` or by `--json`.
fn format(arguments: &Reproduce, output: &Output) -> Result<Format, Failure> {
    match (arguments.format, output.json) {
        (None, false) => Ok(Format::Text),
        (None | Some(Format::Ndjson), true) => Ok(Format::Ndjson),
        (Some(format), false) => Ok(format),
        (Some(Format::Text | Format::Csv), true) => {
            let fix = "leave out one of the two";
            Err(Failure::usage("--json asks for NDJSON, --format for another form").with_fix(fix))
        }
    }
}

fn list(output: &Output) -> io::Result<()> {
    for Paper { name, title, .. } in PAPERS {
        output.record(&json!({ "type": "paper", "paper": name, "title": title }))?;
        output.line(format_args!("{name:16} {title}"))?;
    }
    Ok(())
}

fn find(name: &str) -> Result<Paper, Failure> {
    reproduce::paper(name).ok_or_else(|| {
        let names = PAPERS.map(|paper| paper.name).join(", ");
        Failure::usage(format!("no paper {name:?}")).with_fix(format!("one of {names}"))
    })
}
