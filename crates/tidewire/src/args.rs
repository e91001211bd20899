//! What a user can say on the command line. One option means one thing in every verb.

pub(crate) mod advise;
pub(crate) mod capture;
pub(crate) mod export;
pub(crate) mod layers;
pub(crate) mod measuring;
pub(crate) mod predict;
pub(crate) mod profiles;
pub(crate) mod relay;
pub(crate) mod reproduce;
pub(crate) mod rules;
pub(crate) mod source;

pub(crate) use predict::{Predict, PredictExperiment};

use crate::exit::Failure;
use clap::{
    ArgGroup, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use std::ffi::OsString;
use std::path::PathBuf;

/// Where help lists what every verb has: behind a verb's own options.
const LAST: usize = 900;

/// Will the messages on a real-time LAN make their deadlines?
#[derive(Parser, Debug)]
#[command(
    name = "tidewire",
    version,
    about,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    before_help = "  tidewire demo                               everything once, in this process\n  \
                   tidewire predict status-csma                a built-in scenario, simulated\n  \
                   tidewire watch -r plant.pcapng              what a capture says",
    after_help = "`tidewire help` lists topics: units, metrics, privileges, exit-codes, scenario, ..."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// Result on standard output as NDJSON, one record a line.
    #[arg(long, global = true, display_order = LAST)]
    pub(crate) json: bool,
    /// No progress and no summary, only results.
    #[arg(short, long, global = true, display_order = LAST)]
    pub(crate) quiet: bool,
}

/// Reads a command line, and checks that each of its options has an effect.
///
/// # Errors
/// What clap refuses, or has to print; within, an option without effect.
pub(crate) fn read(
    words: impl IntoIterator<Item = OsString>,
) -> Result<(Cli, Result<(), Failure>), clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(words)?;
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
    Predict(Predict),
    /// Send a load over a real port, and tell what became of it.
    Measure(Box<Measure>),
    /// Be the other end of `measure`.
    Serve(Serve),
    /// Meter a capture file or a live port, without sending anything.
    Watch(Box<Watch>),
    /// Meter captures, and write the stream of measures; `watch` without its display.
    Meter(measuring::Meter),
    /// Show a stream of measures; `watch` without its meter.
    Show(measuring::Show),
    /// Write the frames of a live port or of captures to pcapng, headers only.
    Capture(capture::Capture),
    /// Bridge two interfaces, and let faults befall what crosses.
    Relay(relay::Relay),
    /// Print every layer of the frames in a capture, or of octets given in hexadecimal.
    Dissect(Dissect),
    /// Hold two runs against each other.
    Compare(Compare),
    /// Search for the transport settings that suit a network, and say on what evidence.
    Advise(Box<advise::Advise>),
    /// Set the figures of a paper beside ours, each with a verdict.
    Reproduce(Box<reproduce::Reproduce>),
    /// The scenarios that come with tidewire.
    Scenarios(Scenarios),
    /// The machines that simulated stations can be on.
    Profiles(profiles::Profiles),
    /// What this machine can do, and what to do about what it cannot.
    Doctor,
    /// Explain a topic.
    Help(Help),
}

/// `demo`
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Where run folders go.
    #[arg(short, long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) output: PathBuf,
    /// Write no run folder.
    #[arg(long, conflicts_with = "output")]
    pub(crate) no_save: bool,
}

/// What `predict` and `measure` share.
#[derive(Args, Debug)]
pub(crate) struct RunOptions {
    /// The seed, instead of the scenario's.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Repetitions of each point, instead of the scenario's.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) runs: Option<u64>,
    /// Where run folders go.
    #[arg(short, long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) output: PathBuf,
    /// Write no run folder.
    #[arg(long, conflicts_with = "output")]
    pub(crate) no_save: bool,
    /// Print the scenario as it would run, defaults filled in, and stop.
    #[arg(long)]
    pub(crate) print_scenario: bool,
}

/// What a single load is like, where no scenario says it.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Load {
    /// As fast as the service takes it.
    Bulk,
    /// One message every period.
    Cyclic,
    /// At random, with the period as mean interval.
    Poisson,
    /// A request every period, each answered.
    ConstantRateRequest,
    /// A request as soon as the one before is answered.
    MaximumRateRequest,
}

impl Load {
    /// As the command line calls it.
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
    /// An experiment with a name of its own. (A scenario file of that name is written `./NAME`.)
    #[command(subcommand)]
    pub(crate) experiment: Option<MeasureExperiment>,
    /// A scenario file, - for standard input, or the name of a built-in one. Without --to it runs on the in-process LAN.
    pub(crate) scenario: Option<String>,
    /// The station address of a `serve` to measure against.
    #[arg(long, value_name = "MAC")]
    pub(crate) to: Option<wire::addr::Mac>,
    #[command(flatten)]
    pub(crate) port: PortOptions,
    /// The load.
    #[arg(long, value_enum, default_value = "bulk")]
    pub(crate) load: Load,
    /// Octets of each message (TSDU).
    #[arg(long, value_name = "SIZE", default_value = "1000 B")]
    pub(crate) size: String,
    /// Octets to send in all, in messages of --size; "10MB" is ten million.
    #[arg(long, value_name = "SIZE", conflicts_with = "messages")]
    pub(crate) bytes: Option<String>,
    /// Messages to send in all.
    #[arg(long, value_name = "N")]
    pub(crate) messages: Option<u64>,
    /// From one message to the next.
    #[arg(long, value_name = "TIME", default_value = "20 ms")]
    pub(crate) period: String,
    /// How long to send at the most.
    #[arg(short, long, value_name = "TIME", default_value = "60 s")]
    pub(crate) time: String,
    /// Retransmission time T1 of class 4.
    #[arg(long, value_name = "TIME", default_value = "20 ms")]
    pub(crate) t1: String,
    /// Messages one LLC frame each, without a connection.
    #[arg(long)]
    pub(crate) datagram: bool,
    /// With --over: the transport class preferred, 0 or 2.
    #[arg(long, value_name = "CLASS", requires = "over", default_value_t = 0,
        value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) class: u8,
    #[command(flatten)]
    pub(crate) run: RunOptions,
    // The last, because its heading would hold whatever follows.
    #[command(flatten)]
    pub(crate) foreign: ForeignOptions,
}

/// What `measure` can do beside scenarios and loads.
#[derive(Subcommand, Debug)]
pub(crate) enum MeasureExperiment {
    /// What each layer of a station costs, against the size of the message.
    Layers(Box<layers::MeasureLayers>),
    /// Moved to `reproduce tr-88-04 --live`.
    #[command(name = "tr-88-04", hide = true, disable_help_flag = true)]
    Transfer(reproduce::Moved),
}

/// What is asked of a peer that is no tidewire.
#[derive(Args, Debug)]
#[command(next_help_heading = "Foreign peer")]
pub(crate) struct ForeignOptions {
    /// The TSAP-ID called, in hexadecimal: 0102 for the first rack and second slot of an S7.
    #[arg(long, value_name = "HEX", requires = "foreign_peer", default_value = "0001")]
    pub(crate) called: String,
    /// The TSAP-ID that calls, in hexadecimal.
    #[arg(long, value_name = "HEX", requires = "foreign_peer", default_value = "0001")]
    pub(crate) calling: String,
    /// Messages of --size to send on each connection, one after the other, each of which the peer
    /// sends back. None goes to a peer of which that is not known.
    #[arg(long, value_name = "N", requires = "foreign_peer", default_value_t = 0)]
    pub(crate) echoes: u64,
}

/// Where frames go in and out.
#[derive(Args, Debug)]
pub(crate) struct PortOptions {
    /// Send and receive 802.3 frames on this interface (needs CAP_NET_RAW).
    #[arg(short, long, value_name = "IF")]
    pub(crate) interface: Option<String>,
    /// The same past most of the kernel's network stack (AF_XDP); see tidewire help privileges.
    #[arg(long, value_name = "IF", conflicts_with = "interface")]
    pub(crate) xdp: Option<String>,
    /// Send and receive frames in UDP datagrams, from this address on this machine.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["interface", "xdp"])]
    pub(crate) udp: Option<std::net::SocketAddr>,
    /// The other end's UDP address.
    #[arg(long, value_name = "ADDRESS:PORT", requires = "udp")]
    pub(crate) udp_peer: Option<std::net::SocketAddr>,
    /// Transport connections over TCP (RFC 1006), such as iso-tcp://127.0.0.1:4102, instead of frames;
    /// the port is 102 where none is named.
    #[arg(long, value_name = "URL", conflicts_with_all = ["interface", "xdp", "udp", "fault", "capture"])]
    pub(crate) over: Option<String>,
    /// With --over: the other end is no tidewire, and agrees to nothing. `serve` sends back what it is
    /// sent; `measure` opens and releases connections, --messages of them.
    #[arg(long, requires = "over")]
    pub(crate) foreign_peer: bool,
    /// What befalls frames that arrive here, such as "loss=1%,duplicate=1%,reorder=1%".
    #[arg(long, value_name = "FAULTS")]
    pub(crate) fault: Option<String>,
    /// Write the frames sent and received here to this pcapng file, as they are after --fault.
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    /// Frames per second to agree to at the most; without it 100 or 1 % of the link, and no cap on
    /// loopback and on veth.
    #[arg(long, value_name = "N")]
    pub(crate) max_frames: Option<u32>,
}

/// `serve`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire serve -i eth1                            as a station of that LAN\n  tidewire serve --udp 127.0.0.1:5002               for another process of this host\n  tidewire serve --over iso-tcp://127.0.0.1:4102    transport connections over TCP\n  tidewire serve -i eth1 --fault loss=1% -n 1       losing frames, for one measurement"
)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) port: PortOptions,
    /// Stop after this many measurements, of which each run of `measure` is one; 0 goes on until
    /// interrupted.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 0)]
    pub(crate) runs: u64,
    /// Stop after this time.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) time: Option<String>,
}

/// What `watch` does not do where it tells transits.
const NOT_OF_TRANSITS: [&str; 16] = [
    "screen",
    "metrics",
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
];

/// `watch`
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("source").required(true).args(["read", "interface"]),
    after_help = "Examples:\n  tidewire watch -r plant.pcapng.gz                 a capture file\n  tidewire watch -i eth1 -t 60s --measure 1s        a live port, for a minute\n  tcpdump -i eth1 -w - | tidewire watch -r -        whatever another tool hears\n  tidewire watch -i eth1 --screen monitor           what passes, as it passes\n  tidewire watch -i eth1 --far-interface eth2       how long it takes through a box\n  tidewire watch -r plant.pcapng --screen measures  what is wrong, and where\n  tidewire watch -r plant.pcapng --zeek logs        tables for other programs (help files)\n  tidewire watch -r plant.pcapng --require \"response_max(host) < 20 ms\"\n  tidewire watch -r plant.pcapng --anonymize --annotate vendor.pcapng"
)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) source: source::FrameSource,
    /// A capture of the same traffic at another place: tell one-way transits between the two instead.
    /// With --interface it is "-", which comes in while the port is heard.
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_OF_TRANSITS)]
    pub(crate) far: Option<PathBuf>,
    /// With --interface: the same between that port and this one, by one clock.
    #[arg(long, value_name = "IF", requires = "interface", conflicts_with = "far",
        conflicts_with_all = NOT_OF_TRANSITS)]
    pub(crate) far_interface: Option<String>,
    /// Serve what is counted to Prometheus over HTTP at this address, such as 127.0.0.1:9464.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "screen")]
    pub(crate) metrics: Option<std::net::SocketAddr>,
    /// Let --metrics serve other hosts too; it has neither encryption nor passwords.
    #[arg(long, requires = "metrics")]
    pub(crate) metrics_anywhere: bool,
    #[command(flatten)]
    pub(crate) measuring: measuring::MeasuringOptions,
    #[command(flatten)]
    pub(crate) export: export::Export,
    #[command(flatten)]
    pub(crate) monitor: MonitorOptions,
}

/// Screens.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Screen {
    /// Events, packets/s, bit/s and acknowledgement delays, as they pass.
    Monitor,
    /// What is wrong, connections, hosts, TPDUs, sizes and who talks with whom.
    Measures,
}

/// What `watch --screen` shows and how.
#[derive(Args, Debug)]
#[command(next_help_heading = "Screen")]
pub(crate) struct MonitorOptions {
    /// Draw on the terminal: what passes as it passes, or what is measured.
    #[arg(long, value_enum)]
    pub(crate) screen: Option<Screen>,
    /// Write lines instead of drawing: for logs and screen readers.
    #[arg(long, requires = "screen")]
    pub(crate) plain: bool,
    /// Show only frames from this station.
    #[arg(long, value_name = "MAC", requires = "screen")]
    pub(crate) from_station: Option<wire::addr::Mac>,
    /// Show only frames to this station or group.
    #[arg(long, value_name = "MAC", requires = "screen")]
    pub(crate) to_station: Option<wire::addr::Mac>,
    /// Packets per second of a full-length bar.
    #[arg(long, value_name = "N", default_value_t = 100.0, requires = "screen")]
    pub(crate) packets_scale: f64,
    /// Bits per second of a full-length bar.
    #[arg(long, value_name = "RATE", default_value = "1 Mbit/s", requires = "screen")]
    pub(crate) bits_scale: String,
    /// How many times its own speed a capture is shown at, or "max"; without it 1 for the monitor, and
    /// "max" for the measures and with --plain.
    #[arg(long, visible_alias = "replay", value_name = "N", requires = "screen")]
    pub(crate) speed: Option<String>,
    /// Other keys, such as "quit=x,pause=p"; `tidewire help monitor` has the list.
    #[arg(long, value_name = "KEYS", requires = "screen")]
    pub(crate) keys: Option<String>,
    /// Colours. NO_COLOR is obeyed.
    #[arg(long, value_enum, default_value = "auto", requires = "screen")]
    pub(crate) theme: crate::tui::Theme,
    /// What bars are made of.
    #[arg(long, value_enum, default_value = "auto", requires = "screen")]
    pub(crate) symbols: crate::tui::Symbols,
}

/// `dissect`
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("source").required(true).args(["read", "hex"]),
    after_help = "Examples:\n  tidewire dissect -r plant.pcapng -n 5\n  tidewire dissect 0200000000020200000000010009fefe03000463010102"
)]
pub(crate) struct Dissect {
    /// Read this capture; "-" is standard input.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) read: Option<PathBuf>,
    /// One Ethernet frame in hexadecimal, without FCS.
    pub(crate) hex: Option<String>,
    /// Stop after this many frames.
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "hex")]
    pub(crate) count: Option<u64>,
}

/// `compare`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire compare runs/2026-01-01T10-00-00-a runs/2026-01-01T10-05-00-b\n  tidewire compare predicted measured               the latest run in each folder"
)]
pub(crate) struct Compare {
    /// A run folder, or a folder of runs, whose latest is taken: the baseline.
    pub(crate) baseline: PathBuf,
    /// The run folder held against it.
    pub(crate) other: PathBuf,
}

/// `scenarios`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire scenarios list\n  tidewire scenarios copy ieds my.toml              something to start from\n  tidewire predict my.toml                          what becomes of it\n\n`tidewire help scenario` explains the format of the files."
)]
pub(crate) struct Scenarios {
    /// What to do with them.
    #[command(subcommand)]
    pub(crate) action: ScenarioAction,
}

/// What to do with the built-in scenarios.
#[derive(Subcommand, Debug)]
pub(crate) enum ScenarioAction {
    /// List them.
    List,
    /// Print one.
    Show {
        /// Its name.
        name: String,
    },
    /// Copy one to a file, to be edited.
    Copy {
        /// Its name.
        name: String,
        /// The file; must not exist yet.
        file: PathBuf,
    },
    /// Print the JSON Schema of scenario files.
    Schema,
}

/// `help`
#[derive(Args, Debug)]
pub(crate) struct Help {
    /// The topic, or a verb; without one, the list of topics.
    pub(crate) topic: Option<String>,
}
