//! Records of the errors that end a command, for readers of `--json`.

use crate::exit::{Failure, exit_of};
use crate::output::{self, Output};
use bench::sample::{End, Line};
use bench::scenario::{Problem, ScenarioError, Severity};
use schemars::JsonSchema;
use serde::Serialize;

/// Line of NDJSON: one problem of those that ended the command.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "error")]
#[schemars(rename = "ErrorRecord")]
pub(crate) struct Record<'a> {
    /// Exit code of the command.
    exit: u8,
    /// File that is wrong; `null` where no file is.
    file: Option<&'a str>,
    /// Line of the problem, from 1.
    line: Option<usize>,
    /// Column of the problem in characters, from 1.
    column: Option<usize>,
    message: &'a str,
    /// Advice.
    help: Option<&'a str>,
}

/// Writes the records of an error, unless an `end` record has reported it.
pub(crate) fn record(error: &anyhow::Error, output: &Output) {
    if output::has_ended() || !output.json {
        return;
    }
    let exit = exit_of(error).code();
    let failure = error.downcast_ref::<Failure>();
    let whole = format!("{error:#}");
    let message = failure.map_or(whole.as_str(), Failure::message);
    let help = failure.and_then(Failure::fix);
    match failure.and_then(Failure::scenario) {
        Some(scenario) => problems(scenario, exit, output),
        None => {
            write(&Record { exit, file: None, line: None, column: None, message, help }, output)
        }
    }
    end(message, output);
}

/// Writes the record of a failure whose `end` record follows.
pub(crate) fn before_end(failure: &Failure, output: &Output) {
    let (exit, message, help) = (failure.exit().code(), failure.message(), failure.fix());
    write(&Record { exit, file: None, line: None, column: None, message, help }, output);
}

/// Writes the `end` record of a command that an error has ended.
fn end(message: &str, output: &Output) {
    let line = message.lines().next().unwrap_or_default().trim_end_matches(':');
    let end = End { complete: false, error: Some(line.to_owned()) };
    // Standard output that takes nothing leaves the text on standard error.
    let _ = output.record(&Line::End(end));
}

/// Writes a record of each error in a file, and in the files that it names.
fn problems(error: &ScenarioError, exit: u8, output: &Output) {
    let lines = error.source.lines();
    for problem in error.problems.iter().filter(|problem| problem.severity == Severity::Error) {
        let Problem { message, help, .. } = problem;
        let place = lines.place(problem.place.start);
        let (file, line, column) = (Some(place.file), Some(place.line), Some(place.column));
        write(&Record { exit, file, line, column, message, help: help.as_deref() }, output);
        if let Some(cause) = &problem.cause {
            problems(cause, exit, output);
        }
    }
}

/// Writes the record of a command line that cannot be read.
pub(crate) fn usage(error: &clap::Error) {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let (message, help) = text.split_once("\n\n").unwrap_or((text, ""));
    let help = Some(help.trim()).filter(|help| !help.is_empty());
    let exit = crate::exit::Exit::Usage.code();
    let output = Output { json: true, quiet: false };
    let message = message.trim();
    write(&Record { exit, file: None, line: None, column: None, message, help }, &output);
    end(message, &output);
}

/// Standard output that takes nothing leaves the text on standard error.
fn write(record: &Record<'_>, output: &Output) {
    let _ = output.record(record);
}
