//! Options of `merge`.

use super::keep::KeepOptions;
use super::top::TopOptions;
use crate::figure::Emit;
use clap::Args;
use std::path::PathBuf;

/// `merge`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire predict my.toml --shard 1/2 -o parts     on one machine\n  tidewire predict my.toml --shard 2/2 -o parts     on another\n  tidewire merge parts                              the whole study\n  tidewire merge monday tuesday                     two runs of watch --hdr -o, as one\n\nThe samples of the merged folder are those of a run of the whole study, octet for\noctet. Parts of another scenario, seed or version are refused, and missing ones named."
)]
pub(crate) struct Merge {
    /// Folders of shards, or folders that hold them; or runs of watch --hdr, as folders or as files of records,
    /// whose histograms are added.
    #[arg(required = true, value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
    /// Folder for run folders.
    #[arg(short, long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) output: PathBuf,
    /// Write no run folder.
    #[arg(long, conflicts_with = "output")]
    pub(crate) no_save: bool,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    #[command(flatten)]
    pub(crate) top: TopOptions,
    /// Draw the results of a sweep into this folder: SVG, each with its numbers as CSV.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) figure: Option<PathBuf>,
    /// Write each figure in this form too: NAME.vl.json, a specification of Vega-Lite 5 with the numbers.
    #[arg(long, value_name = "FORM", requires = "figure")]
    pub(crate) emit: Option<Emit>,
    /// Draw the results of a sweep in plain characters too.
    #[arg(long)]
    pub(crate) plot: bool,
    /// Compare each value of a varied key with its first too, run by run of one seed.
    #[arg(long, value_name = "KEY")]
    pub(crate) differences: Option<String>,
}
