//! The options of `advise`.

use super::PortOptions;
use bench::advise::Objective;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `advise`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire advise bulk                              what a built-in scenario should be set to\n  tidewire advise my.toml --write advised.toml      and the scenario with that filled in\n  tidewire advise my.toml --live --time \"2 min\"      from runs in real time\n\n`tidewire help advise` says what is tried and how it is decided."
)]
pub(crate) struct Advise {
    /// A scenario file, - for standard input, or the name of a built-in one.
    pub(crate) scenario: String,
    /// What to make good; what the scenario is about without it: deadlines, else bulk transfers, else
    /// delay.
    #[arg(long, value_enum)]
    pub(crate) objective: Option<Goal>,
    /// Which of the networks of a scenario that varies, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) point: Option<usize>,
    /// The most runs in all; 600 without it where they are live, else 2000.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) budget: Option<u64>,
    /// The most repetitions of one setting; without it 12, and 192 of one that may still be better than
    /// the advice by more than 5 % (live: 12).
    #[arg(short = 'n', long, value_name = "N",
          value_parser = clap::value_parser!(u16).range(2..=1_000))]
    pub(crate) runs: Option<u16>,
    /// The seed, instead of the scenario's.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Begin no run after this time; "10 min" without it where runs are live.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Write the scenario with the advice filled in to this file; must not exist yet.
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Make the runs in real time as `measure` does: in this process, or against a peer.
    #[arg(long)]
    pub(crate) live: bool,
    /// The station address of a `serve` to measure against.
    #[arg(long, value_name = "MAC", requires = "live")]
    pub(crate) to: Option<wire::addr::Mac>,
    #[command(flatten)]
    pub(crate) port: PortOptions,
}

/// What settings are to make good.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// Most user data in its time, of flows that send as fast as they can.
    Throughput,
    /// The least delay, or response, that 99 % of the messages do not exceed.
    P99,
    /// The fewest deadlines missed, then p99.
    Misses,
}

impl Goal {
    /// As the search takes it.
    pub(crate) const fn objective(self) -> Objective {
        match self {
            Self::Throughput => Objective::Throughput,
            Self::P99 => Objective::P99,
            Self::Misses => Objective::Misses,
        }
    }
}
