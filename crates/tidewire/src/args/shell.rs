//! Options of `completions` and `man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// `completions`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire completions bash > tidewire.bash\n  tidewire completions fish > ~/.config/fish/completions/tidewire.fish\n  tidewire completions zsh > ~/.zfunc/_tidewire"
)]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: Shell,
}

/// `man`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire man watch | man -l -                     the page of a verb\n  tidewire man --output ~/.local/share/man/man1     all pages, for man\n  tidewire man measure mms                          the page of an experiment"
)]
pub(crate) struct Man {
    /// A verb and those below it, such as measure mms; without one, the page of the whole program.
    #[arg(conflicts_with = "output")]
    pub(crate) verb: Vec<String>,
    /// Write all pages into this folder instead; it is made if it does not exist.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

/// Subject of a JSON Schema.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// Records of predict, measure and merge with --json: sample, report, end, error.
    Result,
    /// Lines of samples.ndjson in a run folder: sample, end.
    Samples,
    /// The record of predict, measure and merge that follows the samples.
    Report,
    /// The records of compare: of two studies, and of files of percentiles.
    Compare,
    /// The record of merge for runs of watch --hdr.
    Histograms,
    /// Records of watch and meter.
    Measures,
    /// Scenario files, in the form that editors read.
    Scenario,
}

/// `schema`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire schema result                            what predict --json prints\n  tidewire schema scenario > scenario.json          for completion in an editor\n  tidewire schema measures                          what watch --json prints\n\nThe name in $id ends with a version: fields may be added to it, and are never\nremoved or changed."
)]
pub(crate) struct Schema {
    /// The output, or the scenario files.
    #[arg(value_enum)]
    pub(crate) of: Subject,
}
