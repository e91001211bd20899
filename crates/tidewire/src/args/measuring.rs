//! Options of `meter` and `show`, and those that `watch` shares with them.

use clap::Args;
use records::Subset;
use std::path::PathBuf;

/// Default sampling interval of the monitor.
pub(crate) const MONITOR_SAMPLE: &str = "500 ms";
/// Default of the initial full scale of the monitor, in packets per second.
pub(crate) const MONITOR_PACKETS_SCALE: f64 = 100.0;
/// Default of the initial full scale of the monitor, in bits per second.
pub(crate) const MONITOR_BITS_SCALE: &str = "1 Mbit/s";

/// Settings of the meter and of its reports.
#[derive(Args, Debug)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct MeasuringOptions {
    /// Measurement interval: measures accumulate over it and then begin anew; 10 s without it.
    #[arg(long, value_name = "TIME")]
    pub(crate) measure: Option<String>,
    /// Report interval: partial results within a measurement interval; without it one report, at the end
    /// of the measurement interval.
    #[arg(long, value_name = "TIME")]
    pub(crate) report: Option<String>,
    /// Sampling interval of the sequence numbers of connections; with --screen monitor also of its bars, from
    /// 10 ms to 60 s, and 500 ms without it.
    #[arg(long, value_name = "TIME")]
    pub(crate) sample: Option<String>,
    /// Stop after N measurement intervals.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) intervals: Option<u64>,
    /// Begin of the first interval (RFC 3339); without it the time of the first frame.
    #[arg(long, value_name = "TIME")]
    pub(crate) start: Option<String>,
    /// Channel capacity R, for U_C and E_C. Without it the link rate that a port's driver reports, or 10 Mbit/s
    /// for captures and for ports without one.
    #[arg(long, value_name = "RATE")]
    pub(crate) channel: Option<String>,
    /// Largest size of each size class, such as 64,128,1024; up to nine.
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub(crate) sizes: Vec<String>,
    /// Report only these measures, such as "dt_*,ack_delay_*", also as columns of --csv, --zeek and
    /// --parquet, which take metrics such as R_RD too; all are counted.
    #[arg(long, value_name = "NAMES")]
    pub(crate) only: Option<Subset>,
    /// Add the distribution of each delay to the records of intervals and of the total, as a histogram of
    /// HdrHistogram (version 2, compressed, base64).
    #[arg(long)]
    pub(crate) hdr: bool,
    /// Hosts, and connections, with a record of their own in each interval; the others are summed.
    #[arg(long, value_name = "N", default_value_t = 20,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(0..=1_000))]
    pub(crate) top: usize,
    /// Connections followed at the same time, 1 to 4194304; 16384 without it. The least recently used one is
    /// evicted for a new one. The memory that they take is printed first.
    #[arg(long, value_name = "N",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=4_194_304))]
    pub(crate) connections: Option<usize>,
    /// Hosts with measures of their own, 1 to 1048576; 1024 without it. All further hosts are summed.
    #[arg(long, value_name = "N",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_048_576))]
    pub(crate) hosts: Option<usize>,
}

/// `meter`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire meter plant.pcapng > plant.ndjson\n  tcpdump -i eth1 -U -w - | tidewire meter --measure 2min | tidewire show\n  tidewire meter --only \"dt_*\" --sizes 64,512 --intervals 3 a.pcap b.pcap\n\n`tidewire help stream` explains the records; --schema prints their JSON Schema."
)]
pub(crate) struct Meter {
    /// Captures (pcap or pcapng, also .gz and .zst), in order of time; without them standard input.
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
    after_help = "Examples:\n  tidewire meter plant.pcapng | tidewire show\n  tidewire show runs --screen monitor --speed 10    the latest run, bars first\n  tidewire show plant.ndjson --plain\n\n`tidewire help screens` explains screens and keys."
)]
pub(crate) struct Show {
    /// A stream of `meter` or `watch --json`; without it standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Begin with the monitor (page 0) or with the measures (page 1); keys turn to other pages.
    #[arg(long, value_enum, default_value = "measures")]
    pub(crate) screen: super::Screen,
    /// Write lines instead of drawing: for logs and screen readers.
    #[arg(long)]
    pub(crate) plain: bool,
    /// Replay speed, as a multiple of the file's own, such as 10 or 10x; without it all at once.
    #[arg(long, visible_alias = "replay", value_name = "N")]
    pub(crate) speed: Option<String>,
    /// Key bindings, such as "quit=x,pause=p"; `tidewire help screens` has the list.
    #[arg(long, value_name = "KEYS")]
    pub(crate) keys: Option<String>,
    /// Print the key bindings, with those of --keys, and end.
    #[arg(long, conflicts_with_all = ["plain", "web"])]
    pub(crate) print_keys: bool,
    /// Colours of the screen; the variable NO_COLOR turns them off.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) theme: crate::tui::Theme,
    /// Characters that draw the bars.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) symbols: crate::tui::Symbols,
    /// Rate of the line to the terminal, such as "9600 bit/s" of a serial line, which the screen does not exceed; an
    /// octet takes 10 bits.
    #[arg(long, value_name = "RATE")]
    pub(crate) terminal_rate: Option<String>,
    #[command(flatten)]
    pub(crate) page: super::page::PageOptions,
}
