//! `profiles`: the machines that simulated stations can be on.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `profiles`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire profiles list\n  tidewire profiles show nbs-1986                   its costs, with unit and source\n  tidewire profiles copy pc-pronet mine.toml        something to start from\n  tidewire profiles show mine.toml                  checks a file of your own\n\n`tidewire help profiles` explains the format of the files."
)]
pub(crate) struct Profiles {
    /// The action.
    #[command(subcommand)]
    pub(crate) action: ProfileAction,
}

/// Actions on profiles.
#[derive(Subcommand, Debug)]
pub(crate) enum ProfileAction {
    /// List those that come with tidewire.
    List,
    /// Print the costs of one, with their units and sources.
    Show {
        /// Its name, or a profile file.
        name: String,
    },
    /// Copy one to a file, to be edited.
    Copy {
        /// Its name, or a profile file.
        name: String,
        /// The file; must not exist yet.
        file: PathBuf,
    },
}
