//! The options of `advise`.

use super::PortOptions;
use bench::advise::Objective;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `advise`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire advise bulk                              a built-in scenario\n  tidewire advise my.toml --write advised.toml      and a scenario with it\n  tidewire advise my.toml --live --time \"2 min\"      from runs in real time\n\n`tidewire help advise` explains the search and its evidence."
)]
pub(crate) struct Advise {
    /// A scenario file, - for standard input, or the name of a built-in one.
    pub(crate) scenario: String,
    /// Quantity to optimise; without it the first that the scenario has: deadlines, bulk transfers, or
    /// delay.
    #[arg(long, value_enum)]
    pub(crate) objective: Option<Goal>,
    /// Number of the network in a scenario that varies, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) point: Option<usize>,
    /// Limit of the total number of runs; without it 2000, or 600 with --live.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) budget: Option<u64>,
    /// Limit of the runs of a setting; without it 12, or 192 for a setting that may still be more
    /// than 5 % better than the advice (with --live: 12).
    #[arg(short = 'n', long, value_name = "N",
          value_parser = clap::value_parser!(u64).range(2..=1_000))]
    pub(crate) runs: Option<u64>,
    /// Seed, instead of the scenario's.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Begin no run after this time; without it no limit, or "10 min" with --live.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Write the scenario with the advice filled in to this file; must not exist yet.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Make the runs in real time as `measure` does: in this process, or against a peer.
    #[arg(long)]
    pub(crate) live: bool,
    /// Station address of a `serve` to measure against.
    #[arg(long, value_name = "MAC", requires = "live")]
    pub(crate) to: Option<wire::addr::Mac>,
    #[command(flatten)]
    pub(crate) port: PortOptions,
}

/// Quantity that the settings optimise.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// Highest throughput of the flows that send as fast as they can.
    Throughput,
    /// Lowest 99th percentile of delay, or of response.
    P99,
    /// Fewest deadlines missed, then p99.
    Misses,
}

impl Goal {
    /// Objective of the search.
    pub(crate) const fn objective(self) -> Objective {
        match self {
            Self::Throughput => Objective::Throughput,
            Self::P99 => Objective::P99,
            Self::Misses => Objective::Misses,
        }
    }
}
