//! Options of `completions` and `man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// `completions`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire completions bash > ~/.local/share/bash-completion/completions/tidewire\n  tidewire completions fish > ~/.config/fish/completions/tidewire.fish"
)]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: Shell,
}

/// `man`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire man watch | man -l -                     the page of a verb\n  tidewire man --output ~/.local/share/man/man1     all pages, for man"
)]
pub(crate) struct Man {
    /// A verb and those below it, such as measure mms; without one, the page of the whole program.
    #[arg(conflicts_with = "output")]
    pub(crate) verb: Vec<String>,
    /// Write all pages into this folder instead; it is made if it does not exist.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}
