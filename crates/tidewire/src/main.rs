//! `tidewire`: the command. It reads arguments, calls the crates below, and prints.
#![forbid(unsafe_code)]

mod anonymize;
mod args;
mod calendar;
mod canvas;
mod command;
mod differences;
mod exit;
mod figure;
mod host;
mod interrupt;
mod listener;
mod metrics;
mod output;
mod output_file;
mod paragraph;
mod patient;
mod permission;
mod pipe;
mod plot;
mod quantity;
mod report;
mod runs;
mod screens;
mod stream;
mod study;
mod sweep;
mod table;
mod tui;
mod verdicts;
mod way;

use clap::Parser;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Where it fails the signal ends the process, as it would have.
    let _ = interrupt::report_size_limit();
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            let code = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            return ExitCode::from(code.code());
        }
    };
    let exit = command::run(cli).unwrap_or_else(|error| {
        let exit = exit::exit_of(&error);
        if exit != Exit::Ok {
            output::say(format_args!("error: {error:#}"));
        }
        exit
    });
    if let Some(unread) = output::unread() {
        output::say(format_args!("warning: standard output: {unread}"));
    }
    ExitCode::from(exit.code())
}
