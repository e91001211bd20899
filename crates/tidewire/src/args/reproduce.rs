//! Options of `reproduce`.

use super::{PortOptions, keep::KeepOptions, page::PageOptions};
use crate::figure::Emit;
use clap::{Args, ValueEnum};
use papers::transfer::rounds::FEWEST_ROUNDS;
use std::ffi::OsString;
use std::path::PathBuf;

/// `reproduce`
#[derive(Args, Debug)]
#[command(
    mut_arg("capture", |arg| arg.requires("paper").help_heading(None::<&str>).help(
        "Write the traffic to this pcapng file: that of nbsir-85-3104, or with --live the frames sent and \
         received here, after --fault"
    )),
    mut_arg("web", |arg| arg.requires("paper")),
    mut_arg("over", |arg| arg.help("Refused: the experiments need a LAN, because TCP carries no datagrams")),
    mut_arg("foreign_peer", |arg| arg.help("Refused, as --over is")),
    after_help = "Examples:\n  tidewire reproduce                                the list of papers\n  tidewire reproduce tr-88-08                       its rows and ours\n  tidewire reproduce tr-88-08 --figures drawn       and its figures, as SVG\n  tidewire reproduce tr-88-04 --live                its experiments, on a LAN within this process\n  tidewire reproduce tr-88-04 --live --to 02:00:00:00:00:07 -i eth1\n  tidewire reproduce tr-88-17 --live                CASE, transport and datalink likewise\n  tidewire reproduce nbsir-85-3104 --capture ncc84.pcapng   and its traffic\n\n`tidewire help reproduce` explains the verdicts."
)]
pub(crate) struct Reproduce {
    /// The paper; without it the list of papers.
    pub(crate) paper: Option<String>,
    /// Draw the paper's figures into this folder too, as SVG with their numbers as CSV.
    #[arg(long, value_name = "FOLDER", requires = "paper")]
    pub(crate) figures: Option<PathBuf>,
    /// Write each figure in this form too: NAME.vl.json, a specification of Vega-Lite 5 with the numbers.
    #[arg(long, value_name = "FORM", requires = "figures")]
    pub(crate) emit: Option<Emit>,
    /// Write a run folder into this folder: the records of --format ndjson, for tidewire report.
    #[arg(short, long, value_name = "FOLDER", requires = "paper", conflicts_with = "live")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    /// Tap of --capture: the LAN, or a test centre's boundary between transport and network.
    #[arg(long, value_enum, value_name = "TAP", default_value = "lan", requires = "capture")]
    pub(crate) capture_at: TapPlace,
    /// Format of the result; without it text, or NDJSON with --json.
    #[arg(long, value_enum, value_name = "FORM", requires = "paper")]
    pub(crate) format: Option<Format>,
    /// Seed of all simulations; with --live, of the order of the trials.
    #[arg(long, default_value_t = 1, requires = "paper")]
    pub(crate) seed: u64,
    /// Repetitions of each operation at each size, or of each run; without it 50, or 30 runs of nbs-1986
    /// and 10 of nbsir-85-3104. With --live, messages of each delay trial, at least 20.
    #[arg(short = 'n', long, value_name = "N", requires = "paper",
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) runs: Option<u64>,
    #[command(flatten)]
    pub(crate) page: PageOptions,
    /// Measure the experiments of tr-88-04 or tr-88-17 on a real network, with no model: on a LAN within
    /// this process, or through a port against a `serve`.
    #[arg(long, requires = "paper", help_heading = LIVE)]
    pub(crate) live: bool,
    /// Rounds of all trials, each in an order of its own; at least 5.
    #[arg(long, value_name = "N", default_value_t = FEWEST_ROUNDS, help_heading = LIVE,
          value_parser = clap::value_parser!(u64).range(FEWEST_ROUNDS..=1_000))]
    pub(crate) rounds: u64,
    /// Volume of each throughput trial; the paper's was 10MB. Without it as much as takes 100 ms, the
    /// shortest duration of a trial.
    #[arg(long, value_name = "SIZE", help_heading = LIVE)]
    pub(crate) volume: Option<String>,
    /// Station address of a `serve` to measure against.
    #[arg(long, value_name = "MAC", help_heading = LIVE)]
    pub(crate) to: Option<wire::addr::Mac>,
    #[command(flatten, next_help_heading = LIVE)]
    pub(crate) port: PortOptions,
}

/// Heading of the options of measurements.
const LIVE: &str = "With --live";

/// Command line of a measurement that has moved to `reproduce`.
#[derive(Args, Debug)]
pub(crate) struct Moved {
    /// Remaining arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

/// Place at which traffic is tapped.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TapPlace {
    /// Ethernet frames.
    Lan,
    /// TPDUs without link and network headers: link type 252, exported PDUs.
    TestCentre,
}

/// Format of a result.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// Tables for people.
    Text,
    /// NDJSON, a record a line.
    Ndjson,
    /// CSV, a claim a line, with a heading.
    Csv,
}
