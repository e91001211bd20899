//! `tidewire reproduce`: comparison of a paper's figures with ours.

mod figures;
mod lines;
mod live;
mod monitor;
mod shown;
mod text;
mod traffic;

use crate::args::reproduce::{Format, Moved, Reproduce};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, Output};
use crate::page::{PaperPage, PaperState};
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
use records::quantity::counted;
use serde_json::json;
use std::io;
use std::path::Path;
use std::sync::Arc;

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
        traffic::write(&paper, arguments.capture_at, path)?;
    }
    output::install_interrupts()?;
    let messages = arguments.runs.unwrap_or(paper.repetitions);
    let options = Options { seed: arguments.seed, messages, monitor: Some(monitor()?) };
    let state = || PaperState::new(paper.title, "run", shown::rows_sheet());
    let page = PaperPage::open(&arguments.page, state, &output)?;
    let limits = arguments.keep.limits()?;
    let folder = arguments.output.as_ref().map(|root| folder(root, &paper, &options));
    let folder = folder.transpose()?.map(|folder| folder.within(limits));
    if let Some(page) = &page {
        page.state().begin(folder.as_ref().map(RecordFolder::path));
    }
    let mut report = Report {
        paper: &paper,
        options: &options,
        format,
        output: &output,
        printed: 0,
        folder,
        page,
    };
    let Some(reproduction) = carry_out(&mut report)? else { return report.interrupted() };
    let drawn = match &arguments.figures {
        Some(folder) => {
            let drawing = Drawing {
                paper: &paper,
                seed: options.seed,
                origin: figures::Origin::Modelled,
                emit: arguments.emit,
            };
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
    /// Number of rows printed.
    printed: usize,
    folder: Option<RecordFolder>,
    page: Option<PaperPage>,
}

/// Makes the run folder, and writes the first record.
fn folder(root: &Path, paper: &Paper, options: &Options) -> Result<RecordFolder, Failure> {
    let mut folder = RecordFolder::create(root, paper.name, paper.title, "rows.ndjson", None)?;
    folder.record(&lines::paper(paper, options));
    Ok(folder)
}

impl Report<'_> {
    /// Prints rows that are final; before the first of them the heading.
    fn rows(&mut self, outcomes: &[Outcome]) -> io::Result<()> {
        let is_first = self.printed == 0;
        self.printed += outcomes.len();
        if let Some(folder) = &mut self.folder {
            outcomes.iter().for_each(|outcome| folder.record(&lines::row(outcome)));
            folder.flush();
        }
        if let Some(page) = &self.page {
            page.state().add(shown::lines(outcomes));
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

    /// Ends a reproduction that was interrupted: the rows that there are stay.
    fn interrupted(self) -> anyhow::Result<Exit> {
        let error = Some("interrupted".to_owned());
        let end = Line::End(End { complete: false, error: error.clone() });
        if let Some(mut folder) = self.folder {
            folder.record(&end);
            folder.finish(self.output)?;
        }
        self.output.record(&end)?;
        match self.printed {
            0 => self.output.remark("interrupted before the first row was final"),
            n => {
                let rows = counted(n as u64, "row");
                self.output.remark(format_args!("interrupted: {rows} final"));
            }
        }
        if let Some(page) = self.page {
            page.state().end(None, error);
            page.close();
        }
        Ok(Exit::Interrupted)
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
        if let Some(page) = self.page {
            let [closing, _] = text::closing(&summary);
            page.state().end(Some(closing), None);
            page.close();
        }
        Ok(())
    }
}

/// Makes all runs, prints rows as they become final, and shows progress: as a bar on a terminal, elsewhere in a line
/// for each tenth. None if an interrupt ended it.
fn carry_out(report: &mut Report<'_>) -> anyhow::Result<Option<Reproduction>> {
    let Report { paper, options, output, .. } = *report;
    let state = report.page.as_ref().map(|page| Arc::clone(page.state()));
    let mut shown = ProgressBar::hidden();
    let mut written = Ok(());
    let result = (paper.run)(options, &mut |event| match event {
        _ if interrupt::requested() => Err(Stopped),
        Event::Rows(rows) => {
            written = shown.suspend(|| report.rows(rows));
            if written.is_ok() { Ok(()) } else { Err(Stopped) }
        }
        Event::Progress(Progress { done, of }) => {
            if done == 0 && output.draws_progress() {
                shown = bar_of(of);
            }
            shown.set_position(done);
            state.iter().for_each(|state| state.advance(done, of));
            let step = |done: u64| done * STEPS / of.max(1);
            if !output.draws_progress() && done > 0 && step(done) > step(done - 1) {
                output.remark(format_args!("{}: {done} of {of} runs", paper.name));
            }
            Ok(())
        }
    });
    shown.finish_and_clear();
    written?;
    match result {
        Err(ReproduceError::Stopped(_)) => Ok(None),
        result => Ok(Some(result.map_err(|error| impossible(paper.name, &error))?)),
    }
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
