//! `tidewire reproduce`: comparison of a paper's figures with ours.

mod figures;
mod lines;
mod live;
mod monitor;
mod text;
mod traffic;

use crate::args::reproduce::{Format, Moved, Reproduce};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::record_folder::RecordFolder;
use crate::steps::bar as bar_of;
use bench::paragraph::wrapped;
use bench::sample::{End, Line};
use figures::Drawing;
use indicatif::ProgressBar;
use monitor::monitor;
use papers::PAPERS;
use papers::published::summary::summarise;
use papers::published::{
    Event, Options, Outcome, Paper, Progress, ReproduceError, Reproduction, Stopped,
};
use serde_json::json;
use std::io;
use std::path::Path;

pub(crate) fn run(arguments: &Reproduce, output: &Output) -> anyhow::Result<Exit> {
    let format = format(arguments, output)?;
    let output = Output { json: format == Format::Ndjson, quiet: output.quiet };
    let Some(name) = &arguments.paper else {
        list(&output)?;
        return Ok(Exit::Ok);
    };
    let paper = find(name)?;
    if arguments.live {
        return live::run(arguments, &paper, format, &output);
    }
    if let Some(folder) = &arguments.figures {
        figures::prepare(folder)?;
    }
    if let Some(path) = &arguments.port.capture {
        traffic::write(&paper, arguments.tap, path)?;
    }
    let messages = arguments.runs.unwrap_or(paper.repetitions);
    let options = Options { seed: arguments.seed, messages, monitor: Some(monitor()?) };
    let folder = arguments.output.as_ref().map(|root| folder(root, &paper, &options));
    let folder = folder.transpose()?;
    let mut report = Report {
        paper: &paper,
        options: &options,
        format,
        output: &output,
        has_begun: false,
        folder,
    };
    let reproduction = carry_out(&mut report)?;
    let drawn = match &arguments.figures {
        Some(folder) => {
            let drawing =
                Drawing { paper: &paper, seed: options.seed, origin: figures::Origin::Modelled };
            figures::draw_all(&drawing, &reproduction, folder)?
        }
        None => Vec::new(),
    };
    report.end(&reproduction)?;
    for path in drawn.iter().chain(&arguments.port.capture) {
        output.remark(format_args!("{} written", path.display()));
    }
    Ok(Exit::Ok)
}

/// Error of the former `measure tr-88-04`, with the command line of today.
pub(super) fn moved(moved: &Moved) -> Failure {
    let words = moved.words.iter().map(|word| match word.to_string_lossy().as_ref() {
        "--bytes" => "--volume".to_owned(),
        "--messages" => "--runs".to_owned(),
        word if word.contains(' ') => format!("{word:?}"),
        word => word.to_owned(),
    });
    let line = ["tidewire reproduce tr-88-04 --live".to_owned()].into_iter().chain(words);
    Failure::usage("measure tr-88-04 is now reproduce tr-88-04 --live")
        .with_fix(line.collect::<Vec<_>>().join(" "))
}

/// Steps in which progress is reported where no bar is drawn.
const STEPS: u64 = 10;

/// Report of a reproduction in one of its forms.
struct Report<'a> {
    paper: &'a Paper,
    options: &'a Options,
    format: Format,
    output: &'a Output,
    has_begun: bool,
    folder: Option<RecordFolder>,
}

/// Makes the run folder, and writes the first record.
fn folder(root: &Path, paper: &Paper, options: &Options) -> Result<RecordFolder, Failure> {
    let mut folder = RecordFolder::create(root, paper.name, paper.title, "rows.ndjson")?;
    folder.record(&lines::paper(paper, options));
    Ok(folder)
}

impl Report<'_> {
    /// Prints rows that are final; before the first of them the heading.
    fn rows(&mut self, outcomes: &[Outcome]) -> io::Result<()> {
        let is_first = !core::mem::replace(&mut self.has_begun, true);
        if let Some(folder) = &mut self.folder {
            outcomes.iter().for_each(|outcome| folder.record(&lines::row(outcome)));
            folder.flush();
        }
        match self.format {
            Format::Text => {
                if is_first {
                    self.output.line(text::heading(self.paper))?;
                }
                text::rows(outcomes, self.output)
            }
            Format::Ndjson => {
                if is_first {
                    self.output.record(&lines::paper(self.paper, self.options))?;
                }
                outcomes.iter().try_for_each(|outcome| self.output.record(&lines::row(outcome)))
            }
            Format::Csv => lines::csv(outcomes, is_first, io::stdout().lock()),
        }
    }

    /// Prints what concerns all rows.
    fn end(self, reproduction: &Reproduction) -> anyhow::Result<()> {
        let summary = summarise(&reproduction.outcomes);
        if let Some(mut folder) = self.folder {
            lines::each_before_end(reproduction, &summary, &mut |record| {
                folder.record(record);
                Ok(())
            })?;
            folder.record(&Line::End(End { complete: true, error: None }));
            folder.finish(self.output)?;
        }
        match self.format {
            Format::Text => text::end(reproduction, &summary, self.output),
            Format::Ndjson => lines::end(reproduction, &summary, self.output),
            Format::Csv => Ok(()),
        }?;
        Ok(())
    }
}

/// Makes all runs, prints rows as they become final, and shows progress: as a bar on a terminal, elsewhere in a line
/// for each tenth.
fn carry_out(report: &mut Report<'_>) -> anyhow::Result<Reproduction> {
    let Report { paper, options, output, .. } = *report;
    let mut shown = ProgressBar::hidden();
    let mut written = Ok(());
    let result = (paper.run)(options, &mut |event| match event {
        Event::Rows(rows) => {
            written = shown.suspend(|| report.rows(rows));
            if written.is_ok() { Ok(()) } else { Err(Stopped) }
        }
        Event::Progress(Progress { done, of }) => {
            if done == 0 && output.draws_progress() {
                shown = bar_of(of);
            }
            shown.set_position(done);
            let step = |done: u64| done * STEPS / of.max(1);
            if !output.draws_progress() && done > 0 && step(done) > step(done - 1) {
                output.remark(format_args!("{}: {done} of {of} runs", paper.name));
            }
            Ok(())
        }
    });
    shown.finish_and_clear();
    written?;
    Ok(result.map_err(|error| impossible(paper.name, &error))?)
}

fn impossible(name: &str, error: &ReproduceError) -> Failure {
    let message = format!("{name}: {error}");
    match error {
        ReproduceError::TooFew { fewest, .. } => {
            Failure::usage(message).with_fix(format!("-n {fewest}, or more"))
        }
        ReproduceError::Rows(_)
        | ReproduceError::NoProfile(_)
        | ReproduceError::Figures(_)
        | ReproduceError::Stopped(_) => Failure::failed(message),
    }
}

/// Format of the result, from `--format` or `--json`.
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
        output.line(wrapped(&format!("{name:16} "), title))?;
    }
    Ok(())
}

fn find(name: &str) -> Result<Paper, Failure> {
    papers::paper(name).ok_or_else(|| {
        let names = PAPERS.map(|paper| paper.name).join(", ");
        Failure::usage(format!("no paper {name:?}")).with_fix(format!("one of {names}"))
    })
}
