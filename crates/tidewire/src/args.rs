//! The command line. An option has the same meaning in every verb.

pub(crate) mod advise;
pub(crate) mod around;
pub(crate) mod brief;
pub(crate) mod calibrate;
pub(crate) mod capture;
pub(crate) mod compare;
pub(crate) mod export;
pub(crate) mod keep;
pub(crate) mod layers;
#[cfg(test)]
mod lint;
pub(crate) mod log;
pub(crate) mod measure;
pub(crate) mod measuring;
pub(crate) mod merge;
pub(crate) mod mms;
pub(crate) mod page;
pub(crate) mod predict;
pub(crate) mod profiles;
pub(crate) mod relay;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod rerun;
pub(crate) mod rules;
pub(crate) mod shard;
pub(crate) mod shell;
pub(crate) mod source;
pub(crate) mod top;

pub(crate) use compare::Compare;
pub(crate) use measure::{Load, Measure, MeasureExperiment};
pub(crate) use predict::{Predict, PredictExperiment};

use crate::exit::Failure;
use clap::{ArgGroup, Args, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Place of the global options in help: behind a verb's own options.
pub(crate) const LAST: usize = 900;

/// Places that the program writes to.
pub(crate) const WRITES: &str = "\
Files: runs are written to ./runs, or to the folder of --output, and not at all
with --no-save. Other files are written only where an option names them. There
are no settings and no cache. Nothing is reported to anyone: no statistics of
use, no reports of crashes, and no look-up of newer versions.";

/// Questions of users, each with the command that answers it.
pub(crate) const QUESTIONS: &str = "\
Questions:
  Which device is slow?
    tidewire watch -i eth1 -t 60s        its last lines rank the slowest replies
  Will the trip arrive within 3 ms?
    tidewire predict substation --require \"delay.max(trip) < 3 ms\"
  How many stations fit?
    tidewire predict ieds --vary stations.ied.count=20..200..20
  Why does the line stop twice a week?
    tidewire watch -i eth1 --measure 1min --keep-around \"*-silent,window-*\" \\
        --require \"closed_window.max(interval) < 1 s\" \\
        --require \"connection_abrupt_ends(interval) == 0\"
    reports at once when each first fails; the folder around has the frames
    before and after each event, and Ctrl-C prints all findings";

/// Will the messages on a real-time LAN make their deadlines?
#[derive(Parser, Debug)]
#[command(
    name = "tidewire",
    version,
    about,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    before_help = "  tidewire demo                               every step once, in this process\n  \
                   tidewire predict status-csma                a built-in scenario, simulated\n  \
                   tidewire watch -r plant.pcapng              a capture, metered",
    after_help = format!("`tidewire help` lists topics: units, metrics, privileges, exit-codes, scenario, ...\n\n{WRITES}\n\n{QUESTIONS}")
)]
pub(crate) struct Cli {
    /// The verb.
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// Write the result to standard output as NDJSON, one record a line.
    #[arg(long, global = true, display_order = LAST)]
    pub(crate) json: bool,
    /// Print no progress, remarks and findings: only results, errors, failed requirements and addresses of
    /// pages.
    #[arg(short, long, global = true, display_order = LAST)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) log: log::LogOptions,
}

/// Reads a command line, and checks that each of its options has an effect.
///
/// # Errors
/// An error, help or version of clap; in the inner result, an option without effect.
pub(crate) fn read(
    words: impl IntoIterator<Item = OsString>,
) -> Result<(Cli, Result<(), Failure>), clap::Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    let mut command = brief::command();
    let matches =
        command.try_get_matches_from_mut(&words).map_err(|error| brief::help(error, &words))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    let allowed = rules::check(&cli, &matches, &command);
    Ok((cli, allowed))
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Measure, watch, predict and compare once, in this process, in under 20 s.
    Demo(Demo),
    /// Simulate a scenario.
    Predict(Box<Predict>),
    /// Send a load over a real port, and measure its delays, losses and throughput.
    Measure(Box<Measure>),
    /// Run the peer of `measure`.
    Serve(Serve),
    /// Meter a capture file or a live port, without sending anything.
    Watch(Box<Watch>),
    /// Meter captures, and write the stream of measures: `watch` without its display.
    Meter(measuring::Meter),
    /// Show a stream of measures: `watch` without its meter.
    Show(measuring::Show),
    /// Write the frames of a live port or of captures to pcapng, headers only.
    Capture(capture::Capture),
    /// Bridge two interfaces, and inject faults into the frames that cross.
    Relay(relay::Relay),
    /// Print every layer of the frames in a capture, or of octets given in hexadecimal.
    Dissect(Dissect),
    /// Measure an MMS server's costs, and write them as a profile for `predict`.
    Calibrate(calibrate::Calibrate),
    /// Compare two runs.
    Compare(Compare),
    /// Merge the shards of a study that several machines made.
    Merge(merge::Merge),
    /// Make the runs of a folder anew, and compare them with those that it has.
    Rerun(rerun::Rerun),
    /// Write a run as one page: verdict, figures, validity, and the way to repeat it.
    Report(report::Report),
    /// Serve stored runs to browsers on this machine: their list, reports and comparisons.
    Web(page::Web),
    /// Search for the transport settings that suit a network, and print the evidence.
    Advise(Box<advise::Advise>),
    /// Compare the figures of a paper with ours, each with a verdict.
    Reproduce(Box<reproduce::Reproduce>),
    /// List, print or copy the built-in scenarios.
    Scenarios(Scenarios),
    /// Print the JSON Schema of an output or of scenario files.
    Schema(shell::Schema),
    /// List, print or copy the machines of simulated stations.
    Profiles(profiles::Profiles),
    /// List what works on this machine, and the fix for what does not.
    #[command(
        after_help = "Examples:\n  tidewire doctor                                   ok, warn or fail\n  tidewire doctor --json                            as records, for scripts\n  tidewire doctor -q                                without remarks"
    )]
    Doctor,
    /// Check the installed program on this host: known results, clock, timers, messages.
    #[command(
        after_help = "Examples:\n  tidewire selftest                                 each check with its numbers\n  tidewire selftest -q && echo ready                for scripts\n  tidewire selftest --json                          as records"
    )]
    Selftest,
    /// Print the completions of a shell.
    Completions(shell::Completions),
    /// Print a manual page, or write all of them.
    Man(shell::Man),
    /// Explain a topic.
    Help(Help),
}

/// `demo`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire demo                                     every step, and runs\n  tidewire demo --no-save                           without run folders\n  tidewire demo --json > demo.ndjson                its records"
)]
pub(crate) struct Demo {
    /// Folder for run folders.
    #[arg(short, long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) output: PathBuf,
    /// Write no run folder.
    #[arg(long, conflicts_with = "output")]
    pub(crate) no_save: bool,
    #[command(flatten)]
    pub(crate) keep: keep::KeepOptions,
}

/// Options that `predict` and `measure` share.
#[derive(Args, Default, Debug)]
pub(crate) struct RunOptions {
    /// Seed, instead of the scenario's.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Runs of each point, instead of the scenario's.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) runs: Option<u64>,
    /// Folder for run folders.
    #[arg(short, long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) output: PathBuf,
    /// Write no run folder.
    #[arg(long, conflicts_with = "output")]
    pub(crate) no_save: bool,
    #[command(flatten)]
    pub(crate) keep: keep::KeepOptions,
    #[command(flatten)]
    pub(crate) top: top::TopOptions,
    /// Print the scenario as it would run, each value with its origin: line, option or default; and stop.
    #[arg(long)]
    pub(crate) print_scenario: bool,
    /// Print what would run, how long at most, at which rate, and what would be written, and stop.
    #[arg(long, conflicts_with = "print_scenario")]
    pub(crate) dry_run: bool,
}

/// Port for frames or connections.
#[derive(Args, Debug)]
pub(crate) struct PortOptions {
    /// Send and receive 802.3 frames on this interface (needs CAP_NET_RAW).
    #[arg(short, long, value_name = "IF")]
    pub(crate) interface: Option<String>,
    /// Send and receive on this interface, past most of the kernel's network stack (AF_XDP); see tidewire
    /// help privileges.
    #[arg(long, value_name = "IF", conflicts_with = "interface")]
    pub(crate) xdp: Option<String>,
    /// Send and receive frames in UDP datagrams, from this address on this machine.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["interface", "xdp"])]
    pub(crate) udp: Option<std::net::SocketAddr>,
    /// UDP address of the other end.
    #[arg(long, value_name = "ADDRESS:PORT", requires = "udp")]
    pub(crate) udp_peer: Option<std::net::SocketAddr>,
    /// Use transport connections over TCP (RFC 1006), such as iso-tcp://127.0.0.1:4102, instead of frames;
    /// the default port is 102.
    #[arg(long, value_name = "URL", conflicts_with_all = ["interface", "xdp", "udp", "fault", "capture"])]
    pub(crate) over: Option<String>,
    /// With --over: the other end is not tidewire, and cannot agree to a load. `serve` echoes the received
    /// messages; `measure` opens and releases --messages connections.
    #[arg(long, requires = "over")]
    pub(crate) foreign_peer: bool,
    /// With --over: allow addresses that are neither on this host nor in a private network. The peer may be
    /// anywhere on the internet.
    #[arg(long, requires = "over")]
    pub(crate) allow_public: bool,
    /// Faults of frames that arrive here, such as "loss=1%,duplicate=1%,reorder=1%".
    #[arg(long, value_name = "FAULTS")]
    pub(crate) fault: Option<String>,
    /// Write the frames sent and received here, after --fault, to this pcapng file.
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    /// Highest rate to agree to, in frames per second; without it 100 or 1 % of the link, and no limit on
    /// loopback and on veth.
    #[arg(long, value_name = "N")]
    pub(crate) max_frames: Option<u32>,
}

/// Services of `serve` in addition to the peer of `measure`.
#[derive(Subcommand, Debug)]
pub(crate) enum ServeService {
    /// Run an MMS server for clients of any make.
    Mms(Box<mms::ServeMms>),
}

/// `serve`
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Services",
    after_help = "Examples:\n  tidewire serve -i eth1                            a station on that LAN\n  tidewire serve --udp 127.0.0.1:5002               for another process\n  tidewire serve --over iso-tcp://127.0.0.1:4102    over TCP\n  tidewire serve -i eth1 --fault loss=1% -n 1       losing frames, for one measurement"
)]
pub(crate) struct Serve {
    /// A service of its own.
    #[command(subcommand)]
    pub(crate) service: Option<ServeService>,
    #[command(flatten)]
    pub(crate) port: PortOptions,
    /// Stop after this number of runs of `measure`; 0 goes on until interrupted.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 0)]
    pub(crate) runs: u64,
    /// Stop after this time.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Answer queries about titles from this file, a list or SCL: `help scenario`, Directory.
    #[arg(long, value_name = "FILE", conflicts_with = "over")]
    pub(crate) directory: Option<PathBuf>,
}

/// Options of `watch` that conflict with the measurement of transits.
const NOT_OF_TRANSITS: [&str; 29] = [
    "stamps",
    "expect",
    "write_scenario",
    "keep_around",
    "keep_in",
    "before",
    "after",
    "keep_most",
    "screen",
    "print_keys",
    "metrics",
    "web",
    "follow",
    "report",
    "sample",
    "intervals",
    "start",
    "channel",
    "sizes",
    "only",
    "csv",
    "zeek",
    "parquet",
    "annotate",
    "events",
    "require",
    "fail_fast",
    "hdr",
    "output",
];

/// `watch`
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("source").args(["read", "interface", "demo"]),
    after_help = "Examples:\n  tidewire watch -r plant.pcapng.gz                 a capture file\n  tidewire watch -i eth1 -t 60s --measure 1s        a live port, for a minute\n  tcpdump -i eth1 -w - | tidewire watch -r -        frames of another tool\n  tidewire watch                                    the first interface that is up\n  tidewire watch --demo --screen measures           a built-in capture, on the screen\n  tidewire watch -i eth1 --screen monitor           live bars of packets and bits\n  tidewire watch -i eth1 --far-interface eth2       delay through the box between two ports\n  tidewire watch -r plant.pcapng --screen measures  findings, hosts and connections\n  tidewire watch -r plant.pcapng --zeek logs        tables for other programs (help files)\n  tidewire watch -r plant.pcapng --csv tables --only \"dt_tpdus,response_max\"\n  tidewire watch -r plant.pcapng --require \"response.max(host) < 20 ms\"\n  tidewire watch -r plant.pcapng --anonymize --annotate vendor.pcapng\n  tidewire watch -r plant.pcapng -o runs; tidewire report runs"
)]
pub(crate) struct Watch {
    /// Meter the capture of a manufacturing cell that is part of this program.
    #[arg(long, conflicts_with_all = ["read", "interface", "follow", "time", "tap", "stamps", "far_interface"])]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) source: source::FrameSource,
    /// A capture of the same traffic at another tap: measure one-way transits between the two taps instead.
    /// With --interface it must be "-": the other capture arrives on standard input while the port is read.
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_OF_TRANSITS)]
    pub(crate) far: Option<PathBuf>,
    /// The stamps of both captures are of one clock: of a simulated network, or of the host that captured at
    /// both taps. Each transit is then right as it stands, also where traffic goes one way only.
    #[arg(long, requires = "far", conflicts_with = "interface", conflicts_with_all = NOT_OF_TRANSITS)]
    pub(crate) one_clock: bool,
    /// With --interface: measure one-way transits between that port and this one, by one clock.
    #[arg(long, value_name = "IF", requires = "interface", conflicts_with = "far",
        conflicts_with_all = NOT_OF_TRANSITS)]
    pub(crate) far_interface: Option<String>,
    /// Serve the counts to Prometheus over HTTP at this address, such as 127.0.0.1:9464.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<std::net::SocketAddr>,
    /// Let other hosts read --metrics; it has neither encryption nor passwords.
    #[arg(long, requires = "metrics")]
    pub(crate) metrics_anywhere: bool,
    #[command(flatten)]
    pub(crate) page: page::PageOptions,
    /// Print at the end, on standard error, what metering the capture cost: its frames by the path on which
    /// they were counted, and nanoseconds per frame for reading, metering and output.
    #[arg(long = "self", id = "self", conflicts_with_all = ["interface", "far", "far_interface", "screen"])]
    pub(crate) own_cost: bool,
    #[command(flatten)]
    pub(crate) measuring: measuring::MeasuringOptions,
    #[command(flatten)]
    pub(crate) export: export::Export,
    #[command(flatten)]
    pub(crate) monitor: MonitorOptions,
}

/// Page on which a screen begins.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Screen {
    /// Events, packets/s, bit/s and acknowledgement delays, live.
    Monitor,
    /// Findings, connections, hosts, TPDUs, sizes and the matrix of hosts.
    Measures,
}

/// Options of `watch --screen`.
#[derive(Args, Debug)]
#[command(next_help_heading = "Screen")]
pub(crate) struct MonitorOptions {
    /// Draw on the terminal, beginning with the live monitor or with the measures; keys turn to other pages.
    #[arg(long, value_enum, conflicts_with = "web")]
    pub(crate) screen: Option<Screen>,
    /// Write lines instead of drawing: for logs and screen readers.
    #[arg(long)]
    pub(crate) plain: bool,
    /// Show only frames from this station in the monitor.
    #[arg(long, value_name = "MAC", requires = "screen")]
    pub(crate) from_station: Option<wire::addr::Mac>,
    /// Show only frames to this station or group in the monitor.
    #[arg(long, value_name = "MAC", requires = "screen")]
    pub(crate) to_station: Option<wire::addr::Mac>,
    /// Packets per second of a full-length bar; without it 100, raised as soon as a bar is longer.
    #[arg(long, value_name = "N", requires = "screen")]
    pub(crate) packets_scale: Option<f64>,
    /// Bits per second of a full-length bar; without it 1 Mbit/s, raised as soon as a bar is longer.
    #[arg(long, value_name = "RATE", requires = "screen")]
    pub(crate) bits_scale: Option<String>,
    /// Replay speed, as a multiple of the capture's own, or "max"; without it 1 with --screen monitor, and
    /// "max" with --screen measures and --plain.
    #[arg(long, visible_alias = "replay", value_name = "N")]
    pub(crate) speed: Option<String>,
    /// Key bindings, such as "quit=x,pause=p"; `tidewire help screens` has the list.
    #[arg(long, value_name = "KEYS")]
    pub(crate) keys: Option<String>,
    /// Print the key bindings, with those of --keys, and end.
    #[arg(long, conflicts_with = "plain")]
    pub(crate) print_keys: bool,
    /// Colours of the screen; the variable NO_COLOR turns them off.
    #[arg(long, value_enum, default_value = "auto", requires = "screen")]
    pub(crate) theme: crate::tui::Theme,
    /// Characters that draw the bars.
    #[arg(long, value_enum, default_value = "auto", requires = "screen")]
    pub(crate) symbols: crate::tui::Symbols,
    /// Rate of the line to the terminal, such as "9600 bit/s" of a serial line, which the screen does not exceed; an
    /// octet takes 10 bits.
    #[arg(long, value_name = "RATE", requires = "screen")]
    pub(crate) terminal_rate: Option<String>,
}

/// `dissect`
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("source").required(true).args(["read", "hex"]),
    after_help = "Examples:\n  tidewire dissect -r plant.pcapng -c 5             the first five frames\n  tcpdump -i eth1 -c 1 -w - | tidewire dissect -r -\n  tidewire dissect 0200000000020200000000010009fefe03000463010102"
)]
pub(crate) struct Dissect {
    /// Read this capture; "-" is standard input.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) read: Option<PathBuf>,
    /// One Ethernet frame in hexadecimal, without FCS.
    pub(crate) hex: Option<String>,
    /// Stop after this many frames.
    #[arg(short, long, value_name = "N", conflicts_with = "hex")]
    pub(crate) count: Option<u64>,
}

/// `scenarios`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire scenarios list\n  tidewire scenarios copy ieds my.toml              a file to start from\n  tidewire predict my.toml                          its simulation\n\n`tidewire help scenario` explains the format of the files."
)]
pub(crate) struct Scenarios {
    /// The action.
    #[command(subcommand)]
    pub(crate) action: ScenarioAction,
}

/// Actions on the built-in scenarios.
#[derive(Subcommand, Debug)]
pub(crate) enum ScenarioAction {
    /// List the built-in scenarios.
    List,
    /// Print a built-in scenario.
    Show {
        /// Name of the scenario.
        name: String,
    },
    /// Copy a built-in scenario to a file, to be edited.
    Copy {
        /// Name of the scenario.
        name: String,
        /// File to write; must not exist yet.
        file: PathBuf,
    },
    /// Print or write a scenario of the publishers and reports that an SCL file declares.
    Import {
        /// SCL file of a substation (SCD) or a device (CID).
        scl: PathBuf,
        /// Scenario to write; must not exist yet. Without it the scenario is printed.
        file: Option<PathBuf>,
    },
    /// Print the JSON Schema of scenario files.
    Schema,
}

/// `help`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire help                                     the list of topics\n  tidewire help requirements                        a topic\n  tidewire help predict                             the options of a verb"
)]
pub(crate) struct Help {
    /// The topic, or a verb; without one, the list of topics.
    pub(crate) topic: Option<String>,
}
