//! `tidewire`: the command. It reads arguments, calls the crates below, and prints.
#![forbid(unsafe_code)]

mod anonymize;
mod args;
mod busy;
mod command;
mod details;
mod exit;
mod failure;
mod figure;
mod host;
mod interrupt;
mod interruptible_writer;
mod listener;
mod log;
mod metrics;
mod oldest_runs;
mod output;
mod output_file;
mod page;
mod paired_differences;
mod percentiles;
mod permission;
mod plot;
mod pointer;
mod port_options;
mod quantity;
mod record_folder;
mod report;
mod running_delay;
mod runs;
mod scenario_choice;
mod scl_file;
mod secret;
mod steps;
mod store;
mod stream;
mod table;
mod threaded_reader;
mod tui;
mod utilisation;
mod verdicts;

use exit::Exit;
use std::process::ExitCode;

/// Counters of connections, delays and records are allocated and freed by the thousand at each interval. Version 2 keeps
/// sizes closer together than version 3, so that a short run touches less memory.
#[cfg(not(any(test, all(target_env = "musl", not(feature = "allocator")))))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Where it fails the signal ends the process, as it would have.
    let _ = interrupt::report_size_limit();
    let exit = match args::read(std::env::args_os()) {
        Ok((cli, allowed)) => {
            let begun = details::begin(&cli.log);
            let exit = begin(cli, allowed);
            details::end(&begun, exit.code());
            exit
        }
        Err(error) => {
            let code = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            let has_json = std::env::args_os().any(|word| word == "--json");
            if has_json && error.use_stderr() {
                failure::usage(&error);
            }
            match pointer::of_value(&error) {
                Some(text) => output::say(text),
                None => {
                    drop(error.print());
                    let verb = std::env::args().nth(1);
                    let fix = pointer::of_capture(&error, verb.clone());
                    if let Some(fix) = fix.or_else(|| pointer::of_other_name(&error, verb)) {
                        output::say(fix);
                    }
                }
            }
            code
        }
    };
    if let Some(unread) = output::unread() {
        output::say(format_args!("warning: standard output: {unread}"));
    }
    ExitCode::from(exit.code())
}

/// Does what the command line asks for, unless it has an option without effect, and reports the error.
fn begin(cli: args::Cli, allowed: Result<(), exit::Failure>) -> Exit {
    let output = output::Output { json: cli.json, quiet: cli.quiet };
    let ended = allowed.map_err(anyhow::Error::from).and_then(|()| command::run(cli));
    ended.unwrap_or_else(|error| {
        let exit = exit::exit_of(&error);
        if exit != Exit::Ok {
            failure::record(&error, &output);
            output::say(format_args!("error: {error:#}"));
        }
        exit
    })
}
