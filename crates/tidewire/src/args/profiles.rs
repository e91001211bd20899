//! Options of `profiles`: machines of simulated stations.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `profiles`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire profiles list\n  tidewire profiles show nbs-1986                   its costs and their sources\n  tidewire profiles copy pc-pronet mine.toml        a file to start from\n  tidewire profiles show mine.toml                  checks a file of your own\n\n`tidewire help profiles` explains the format of the files."
)]
pub(crate) struct Profiles {
    /// The action.
    #[command(subcommand)]
    pub(crate) action: ProfileAction,
}

/// Actions on profiles.
#[derive(Subcommand, Debug)]
pub(crate) enum ProfileAction {
    /// List the built-in profiles.
    List,
    /// Print the costs of a profile, with their units and sources.
    Show {
        /// Name of a built-in profile, or a profile file.
        name: String,
    },
    /// Copy a profile to a file, to be edited.
    Copy {
        /// Name of a built-in profile, or a profile file.
        name: String,
        /// File to write; must not exist yet.
        file: PathBuf,
    },
}
