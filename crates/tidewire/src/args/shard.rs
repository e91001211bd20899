//! Options for studies that several machines share.

use bench::run::{NoShard, Shard};
use clap::Args;
use core::str::FromStr;
use std::path::PathBuf;

/// Options of `predict` for one of several machines.
#[derive(Args, Default, Debug)]
#[command(next_help_heading = "Several machines")]
pub(crate) struct ShardOptions {
    /// Make only this part of the runs, such as 3/40. "auto" takes both numbers from Slurm, Grid Engine, LSF, GitLab,
    /// CircleCI or Buildkite; "auto/40" takes the first from PBS.
    #[arg(long, value_name = "K/N", conflicts_with_all = ["capture", "figure", "plot", "differences", "no_save", "keep_runs", "keep_size", "top", "web"])]
    pub(crate) shard: Option<Wanted>,
    /// With --until-decided or --precision: make the round of runs that follows those in this merged folder.
    #[arg(long, value_name = "FOLDER", requires_all = ["shard", "growing"])]
    pub(crate) after_runs: Option<PathBuf>,
    /// Print a script that makes this many shards as a Slurm array and merges them, and stop.
    #[arg(long, value_name = "N", conflicts_with_all = NOT_OF_SCRIPTS, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) print_slurm: Option<u64>,
    /// Print a script that makes this many shards with GNU parallel and merges them, and stop.
    #[arg(long, value_name = "N", conflicts_with_all = NOT_OF_SCRIPTS, conflicts_with = "print_slurm",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) print_parallel: Option<u64>,
}

/// Options that a script of shards cannot pass on.
const NOT_OF_SCRIPTS: [&str; 14] = [
    "shard",
    "until_decided",
    "precision",
    "capture",
    "figure",
    "plot",
    "differences",
    "no_save",
    "keep_runs",
    "keep_size",
    "top",
    "print_scenario",
    "dry_run",
    "web",
];

/// A shard as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// By its number.
    This(Shard),
    /// By the environment of a job; their number too, unless it is given here.
    OfJob(Option<u64>),
}

impl FromStr for Wanted {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        if text == "auto" {
            return Ok(Self::OfJob(None));
        }
        if let Some(of) = text.strip_prefix("auto/")
            && let Ok(shard) = format!("1/{of}").parse::<Shard>()
        {
            return Ok(Self::OfJob(Some(shard.of())));
        }
        text.parse().map(Self::This)
    }
}
