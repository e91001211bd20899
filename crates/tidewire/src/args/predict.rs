//! Options of `predict`.

use super::{RunOptions, layers, shard::ShardOptions};
use bench::scenario::Setting;
use clap::{ArgGroup, Args, Subcommand};
use std::path::PathBuf;

/// `predict`
#[derive(Args, Debug)]
#[command(
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Experiments",
    after_help = "Examples:\n  tidewire predict status-csma                     a built-in scenario\n  tidewire predict my.toml -n 30 --seed 7           more runs, another seed\n  tidewire predict my.toml --capture first.pcapng   and the frames of the first run\n  tidewire predict t1s-zone --differences medium    the effect of each medium\n  tidewire predict ieds --vary stations.ied.count=20..40..5   the number that fits\n  tidewire predict my.toml --require \"miss(status) < 1e-3\" --until-decided"
)]
pub(crate) struct Predict {
    /// An experiment with a name of its own; write a scenario file of that name as `./NAME`.
    #[command(subcommand)]
    pub(crate) experiment: Option<PredictExperiment>,
    /// A scenario file, - for standard input, or the name of a built-in one.
    #[arg(required_unless_present = "resume")]
    pub(crate) scenario: Option<String>,
    #[command(flatten)]
    pub(crate) run: RunOptions,
    /// Go on with an interrupted run folder, with the options of its own command line. Name no scenario:
    /// the folder has it.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["scenario", "seed", "runs", "capture",
        "figure", "plot", "differences", "vary", "require", "until_decided", "precision", "at_most", "output",
        "no_save", "print_scenario", "shard", "after", "print_slurm", "print_parallel"])]
    pub(crate) resume: Option<PathBuf>,
    /// A key of the scenario and its values in turn, instead of the scenario's value: a list, as in
    /// "flow.*.size=64 B,256 B", or a range with its step, as in "stations.ied.count=4..64..4".
    #[arg(long, value_name = "KEY=VALUES")]
    pub(crate) vary: Vec<Setting>,
    /// Write the frames of the first run to this pcapng file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    /// Draw the results of a sweep into this folder: SVG, each with its numbers as CSV.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) figure: Option<PathBuf>,
    /// Draw the results of a sweep in plain characters too.
    #[arg(long)]
    pub(crate) plot: bool,
    /// Compare each value of a varied key with its first too, run by run of one seed.
    #[arg(long, value_name = "KEY")]
    pub(crate) differences: Option<String>,
    #[command(flatten)]
    pub(crate) until: UntilOptions,
    #[command(flatten)]
    pub(crate) shards: ShardOptions,
}

/// Requirements, and the number of runs that decides them.
#[derive(Args, Debug)]
#[command(
    next_help_heading = "Requirements and precision",
    group = ArgGroup::new("growing").args(["until_decided", "precision"]).multiple(true)
)]
pub(crate) struct UntilOptions {
    /// Requirement, such as "miss(status) < 1e-3"; see tidewire help requirements.
    #[arg(long, value_name = "REQUIREMENT")]
    pub(crate) require: Vec<bench::scenario::Requirement>,
    /// Make more runs until every requirement is decided.
    #[arg(long)]
    pub(crate) until_decided: bool,
    /// Make more runs until the interval of each mean delay is within this share of it, such as "5 %".
    #[arg(long, value_name = "SHARE")]
    pub(crate) precision: Option<String>,
    /// Limit of the runs of a point with --until-decided and --precision.
    #[arg(long, value_name = "N", default_value_t = 1_000, requires = "growing")]
    pub(crate) at_most: u64,
}

/// Experiments of `predict` in addition to scenarios.
#[derive(Subcommand, Debug)]
pub(crate) enum PredictExperiment {
    /// Predict the cost of each layer of a modelled station against the size of the message.
    Layers(layers::PredictLayers),
}
