//! Details of a command for `--verbose`: its words, files and runs, and the time that it took.

use crate::args::log::LogOptions;
use crate::{log, output};
use core::fmt::Display;
use core::time::Duration;
use live::clock;
use wire::time::Instant;

/// Times at which a command began.
pub(crate) struct Begun {
    at: Instant,
    processor: Duration,
}

/// Takes the options for messages, and prints the version and the command.
pub(crate) fn begin(options: &LogOptions) -> Begun {
    log::set(options);
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    detail(format_args!("tidewire {}: {}", bench::PROGRAM_VERSION, words.join(" ")));
    Begun { at: clock::now(), processor: clock::processor_of_process() }
}

/// Prints the number of the messages that were left out, and the time that the command took.
pub(crate) fn end(begun: &Begun, exit_code: u8) {
    log::left_out().into_iter().for_each(output::say);
    let took = clock::now().since(begun.at);
    let processor = clock::processor_of_process().saturating_sub(begun.processor);
    detail(format_args!("exit code {exit_code} after {took:.1?}, {processor:.1?} of a processor"));
}

/// Prints a message if details are wanted.
pub(crate) fn detail(what: impl Display) {
    if log::is_verbose() {
        output::say(format_args!("detail: {what}"));
    }
}
