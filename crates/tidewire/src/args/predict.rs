//! Options of `predict`.

use super::{RunOptions, layers, page::PageOptions, shard::ShardOptions};
use crate::figure::Emit;
use bench::scenario::{MOST_REPLICATIONS, Setting, Values};
use bench::timeline::Window;
use clap::{ArgGroup, Args, Subcommand};
use std::path::PathBuf;

/// `predict`
#[derive(Args, Debug)]
#[command(
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Experiments",
    after_help = "Examples:\n  tidewire predict status-csma                     a built-in scenario\n  tidewire predict my.toml -n 30 --seed 7           more runs, another seed\n  tidewire predict my.toml --capture first.pcapng   and frames of its first run\n  tidewire predict t1s-zone --differences medium    the effect of each medium\n  tidewire predict ieds --vary stations.ied.count=20..40..5   the number that fits\n  tidewire predict my.toml --require \"miss(status) < 1e-3\" --until-decided"
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
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["scenario", "seed", "runs", "repetition", "capture",
        "capture_senders", "each_message", "timeline", "figure", "plot", "differences", "vary", "constraint", "require", "until_decided", "precision",
        "at_most", "output", "no_save", "keep_runs", "keep_size", "top", "print_scenario", "dry_run", "shard", "after_runs", "print_slurm",
        "print_parallel"])]
    pub(crate) resume: Option<PathBuf>,
    /// A key of the scenario and its values in turn, instead of the scenario's value: a list, as in
    /// "flow.*.size=64 B,256 B", or a range with its step, as in "stations.ied.count=4..64..4".
    #[arg(short = 'P', visible_short_alias = 'L', long, value_name = "KEY=VALUES")]
    pub(crate) vary: Vec<Setting>,
    /// Condition on varied keys, instead of the scenario's: points that do not meet it are left out, as with
    /// "background.load <= 40 % and flow.status.size < 512 B".
    #[arg(long, value_name = "CONDITION")]
    pub(crate) constraint: Option<String>,
    /// Make only the repetition with this number at each point, counted from 0 as in the samples; its octets
    /// are those that it has among all runs.
    #[arg(long = "run", value_name = "K", value_parser = clap::value_parser!(u64).range(..MOST_REPLICATIONS),
        conflicts_with_all = ["runs", "until_decided", "precision", "shard", "after_runs", "print_slurm", "print_parallel",
            "print_scenario"])]
    pub(crate) repetition: Option<u64>,
    /// Write the frames of the first run to this pcapng file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    /// With --capture: write the frames of the same run as they leave their stations to this file, to
    /// compare the two (tidewire help metrics). On switches, and without faults.
    #[arg(long, value_name = "FILE", requires = "capture")]
    pub(crate) capture_senders: Option<PathBuf>,
    /// Write a row for each message of each run to this file: .csv, or .arrow and .parquet in builds with the
    /// features of these names; see tidewire help output.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["until_decided", "precision", "shard", "print_slurm",
        "print_parallel"])]
    pub(crate) each_message: Option<PathBuf>,
    /// Draw who sends, collides or holds the token in this window of the first run, such as 100ms..105ms, into
    /// the run folder or the folder of --figure: timeline.svg, and each event in timeline.csv.
    #[arg(long, value_name = "FROM..UNTIL", conflicts_with_all = ["shard", "print_slurm", "print_parallel"])]
    pub(crate) timeline: Option<Window>,
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
    #[command(flatten)]
    pub(crate) page: PageOptions,
    #[command(flatten)]
    pub(crate) until: UntilOptions,
    #[command(flatten)]
    pub(crate) shards: ShardOptions,
}

impl Predict {
    /// Keys of the scenario that the options set.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let condition = self.constraint.iter().map(|text| Setting {
            path: "constraint".to_owned(),
            values: Values::List(vec![text.clone()]),
        });
        self.vary.iter().cloned().chain(condition).collect()
    }
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
