//! Options of `watch` for captures of the frames around events.

use clap::Args;
use std::path::PathBuf;

/// Captures of the frames around events.
#[derive(Args, Debug)]
#[command(next_help_heading = "Frames around events")]
pub(crate) struct AroundOptions {
    /// Write the frames around each of these events into a capture of its own; the names are those of
    /// --events, such as "stream-silent,window-closed" or "connection-ended-*". Of a live port only the
    /// headers.
    #[arg(long, value_name = "EVENTS", value_delimiter = ',', conflicts_with = "screen")]
    pub(crate) keep_around: Vec<String>,
    /// Folder for these captures.
    #[arg(
        long,
        value_name = "FOLDER",
        requires = "keep_around",
        conflicts_with = "screen",
        default_value = "around"
    )]
    pub(crate) keep_in: PathBuf,
    /// Time before an event from which frames are kept.
    #[arg(
        long,
        value_name = "TIME",
        requires = "keep_around",
        conflicts_with = "screen",
        default_value = "10 s"
    )]
    pub(crate) before: String,
    /// Time after the last event until which frames are kept.
    #[arg(
        long,
        value_name = "TIME",
        requires = "keep_around",
        conflicts_with = "screen",
        default_value = "5 s"
    )]
    pub(crate) after: String,
    /// Limit of all these captures together; further events are counted.
    #[arg(
        long,
        value_name = "SIZE",
        requires = "keep_around",
        conflicts_with = "screen",
        default_value = "1000 MB"
    )]
    pub(crate) keep_most: String,
}
