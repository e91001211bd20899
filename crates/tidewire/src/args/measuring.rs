//! `meter`, `show`, and what `watch` shares with them.

use crate::stream::Subset;
use clap::Args;
use std::path::PathBuf;

/// The sampling interval of the monitor, unless another is asked for.
pub(crate) const MONITOR_SAMPLE: &str = "500 ms";

/// How to measure, and what of it to tell.
#[derive(Args, Debug)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct MeasuringOptions {
    /// The measurement interval: measures accumulate over it and then begin anew; 10 s without it.
    #[arg(long, value_name = "TIME")]
    pub(crate) measure: Option<String>,
    /// The report interval: what has accumulated is told every so often; once without it, when the
    /// measurement interval is over.
    #[arg(long, value_name = "TIME")]
    pub(crate) report: Option<String>,
    /// The sampling interval, at which is noted where connections stand; of the monitor from 10 ms to
    /// 60 s, and 500 ms without it.
    #[arg(long, value_name = "TIME")]
    pub(crate) sample: Option<String>,
    /// Stop after this many measurement intervals.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) intervals: Option<u64>,
    /// When the first interval begins (RFC 3339); at the first frame without it.
    #[arg(long, value_name = "TIME")]
    pub(crate) start: Option<String>,
    /// Channel capacity R, for U_C and E_C; 10 Mbit/s without it.
    #[arg(long, value_name = "RATE")]
    pub(crate) channel: Option<String>,
    /// The largest size of each class of sizes, in octets, such as 64,128,1024; up to nine.
    #[arg(long, value_name = "OCTETS", value_delimiter = ',')]
    pub(crate) sizes: Vec<u64>,
    /// Report these measures alone, such as "dt_*,ack_delay_*"; all are counted.
    #[arg(long, value_name = "NAMES")]
    pub(crate) only: Option<Subset>,
    /// Hosts, and connections, of which records tell in each interval; the rest of them together.
    #[arg(long, value_name = "N", default_value_t = 20,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(0..=1_000))]
    pub(crate) top: usize,
}

/// `meter`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire meter plant.pcapng > plant.ndjson\n  tcpdump -i eth1 -U -w - | tidewire meter --measure 2min --report 10s | tidewire show\n  tidewire meter --only \"dt_*\" --sizes 64,512 -n 3 a.pcap b.pcap\n\n`tidewire help stream` explains the records; --schema prints their JSON Schema."
)]
pub(crate) struct Meter {
    /// Captures (pcap or pcapng, also .gz and .zst), in their order; standard input without them.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the JSON Schema of the records, and stop.
    #[arg(long, conflicts_with = "files")]
    pub(crate) schema: bool,
    #[command(flatten)]
    pub(crate) measuring: MeasuringOptions,
}

/// `show`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire meter plant.pcapng | tidewire show\n  tidewire show plant.ndjson --speed 10\n  tidewire show plant.ndjson --plain\n\n`tidewire help screens` explains screens and keys."
)]
pub(crate) struct Show {
    /// A stream that `meter` or `watch --json` wrote; standard input without it.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Write lines instead of drawing: for logs and screen readers.
    #[arg(long)]
    pub(crate) plain: bool,
    /// How many times its own speed a file is shown at, such as 10 or 10x; at once without it.
    #[arg(long, visible_alias = "replay", value_name = "N")]
    pub(crate) speed: Option<String>,
    /// Colours. NO_COLOR is obeyed.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) theme: crate::tui::Theme,
    /// What bars are made of.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) symbols: crate::tui::Symbols,
}
