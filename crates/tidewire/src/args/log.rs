//! Options for the messages on standard error.

use super::LAST;
use clap::{Args, ValueEnum};

/// Form of the messages on standard error.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFormat {
    /// Lines of text.
    Text,
    /// NDJSON: a record with level and message for each.
    Json,
}

/// Options for the messages on standard error.
#[derive(Args, Debug)]
pub(crate) struct LogOptions {
    /// Print details too: the command, files, folders, each run, and the time that all took.
    #[arg(short, long, global = true, display_order = LAST, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Form of the messages on standard error: text or json, a record for each message.
    #[arg(long, global = true, value_name = "FORM", display_order = LAST, default_value = "text",
        hide_possible_values = true)]
    pub(crate) log_format: LogFormat,
    /// Print at most this many messages that differ by their numbers alone; further ones are counted.
    #[arg(long, global = true, value_name = "N", display_order = LAST, default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) log_limit: u64,
}
