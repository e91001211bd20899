//! Options of `measure`.

use super::{PortOptions, RunOptions, layers, mms, page::PageOptions, reproduce};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Pattern of a single load, without a scenario.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Load {
    /// As fast as the service takes it.
    Bulk,
    /// One message every period.
    Cyclic,
    /// Messages at random, with the period as mean interval.
    Poisson,
    /// A request every period, each answered.
    ConstantRateRequest,
    /// A request as soon as the one before is answered.
    MaximumRateRequest,
}

impl Load {
    /// Name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Cyclic => "cyclic",
            Self::Poisson => "poisson",
            Self::ConstantRateRequest => "constant-rate-request",
            Self::MaximumRateRequest => "maximum-rate-request",
        }
    }
}

/// `measure`
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("what").required(true).multiple(true).args(["scenario", "to", "udp_peer", "over"]),
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Experiments",
    after_help = "Examples:\n  tidewire measure status-short                     on a LAN within this process\n  tidewire measure --to 02:00:00:00:00:07 -i eth1 --load bulk --bytes 10MB\n  tidewire measure --udp 127.0.0.1:5001 --udp-peer 127.0.0.1:5002 --load cyclic\n  tidewire measure --over iso-tcp://127.0.0.1:4102 --load maximum-rate-request --messages 1000"
)]
pub(crate) struct Measure {
    /// An experiment with a name of its own; write a scenario file of that name as `./NAME`.
    #[command(subcommand)]
    pub(crate) experiment: Option<MeasureExperiment>,
    /// A scenario file, - for standard input, or the name of a built-in one. Without --to it runs on the in-process LAN.
    pub(crate) scenario: Option<String>,
    /// Station address of a `serve` to measure against.
    #[arg(long, value_name = "MAC")]
    pub(crate) to: Option<wire::addr::Mac>,
    /// Send streams to their groups, which reach every station of the LAN; without it they go to the
    /// peer alone.
    #[arg(long, requires = "to")]
    pub(crate) groups: bool,
    #[command(flatten)]
    pub(crate) port: PortOptions,
    /// Pattern of the load.
    #[arg(long, value_enum, default_value = "bulk")]
    pub(crate) load: Load,
    /// Octets of each message (TSDU).
    #[arg(long, value_name = "SIZE", default_value = "1000 B")]
    pub(crate) size: String,
    /// Total octets to send, in messages of --size; "10MB" is ten million.
    #[arg(long, value_name = "SIZE", conflicts_with = "messages")]
    pub(crate) bytes: Option<String>,
    /// Total messages to send.
    #[arg(long, value_name = "N")]
    pub(crate) messages: Option<u64>,
    /// Time from one message to the next.
    #[arg(long, value_name = "TIME", default_value = "20 ms")]
    pub(crate) period: String,
    /// Longest time to send.
    #[arg(short, long, value_name = "TIME", default_value = "60 s")]
    pub(crate) time: String,
    /// Retransmission time T1 of class 4.
    #[arg(long, value_name = "TIME", default_value = "20 ms")]
    pub(crate) t1: String,
    /// Send each message as one LLC frame, without a connection.
    #[arg(long)]
    pub(crate) datagram: bool,
    /// With --over: the preferred transport class, 0 or 2.
    #[arg(long, value_name = "CLASS", requires = "over", default_value_t = 0,
        value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) class: u8,
    /// Write a row for each message of each run to this file: .csv, or .arrow and .parquet in builds with the
    /// features of these names; see tidewire help output.
    #[arg(long, value_name = "FILE")]
    pub(crate) each_message: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: RunOptions,
    /// Requirement in addition to those of the scenario, such as "lost(*) < 0.1 %"; may be given more than
    /// once. Without a scenario the flow is named `load`. See tidewire help requirements.
    #[arg(long, value_name = "REQUIREMENT")]
    pub(crate) require: Vec<bench::scenario::Requirement>,
    #[command(flatten)]
    pub(crate) page: PageOptions,
    // Last, because its heading applies to all options that follow.
    #[command(flatten)]
    pub(crate) foreign: ForeignOptions,
}

/// Experiments of `measure` in addition to scenarios and loads.
#[derive(Subcommand, Debug)]
pub(crate) enum MeasureExperiment {
    /// Measure the cost of each layer of a station against the size of the message.
    Layers(Box<layers::MeasureLayers>),
    /// Measure an MMS server of any make, step by step.
    Mms(Box<mms::MeasureMms>),
    /// Moved to `reproduce tr-88-04 --live`.
    #[command(name = "tr-88-04", hide = true, disable_help_flag = true)]
    Transfer(reproduce::Moved),
}

/// Options for a peer that is not tidewire.
#[derive(Args, Debug)]
#[command(next_help_heading = "Foreign peer")]
pub(crate) struct ForeignOptions {
    /// Called TSAP-ID in hexadecimal: 0102 for the first rack and second slot of an S7.
    #[arg(long, value_name = "HEX", requires = "foreign_peer", default_value = "0001")]
    pub(crate) called: String,
    /// Calling TSAP-ID in hexadecimal.
    #[arg(long, value_name = "HEX", requires = "foreign_peer", default_value = "0001")]
    pub(crate) calling: String,
    /// Messages of --size to send on each connection, one after the other; the peer must send each of
    /// them back. Use it only if the peer is an echo server.
    #[arg(long, value_name = "N", requires = "foreign_peer", default_value_t = 0)]
    pub(crate) echoes: u64,
}
