//! Options of `measure layers` and `predict layers`.

use crate::figure::Emit;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `measure layers`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire measure layers                           on a LAN within this process\n  tidewire measure layers -i eth1 --peer-interface eth2\n  tidewire measure layers --figure drawn                 and its figures\n  tidewire measure layers --udp 127.0.0.1:0 --udp-peer 127.0.0.1:0\n\n`tidewire help layers` explains the operations and the limits of the numbers."
)]
pub(crate) struct MeasureLayers {
    /// Send 802.3 frames on this interface (needs CAP_NET_RAW).
    #[arg(short, long, value_name = "IF", requires = "peer_interface")]
    pub(crate) interface: Option<String>,
    /// Receive the frames on this interface of this host, on the same LAN.
    #[arg(long, value_name = "IF", requires = "interface")]
    pub(crate) peer_interface: Option<String>,
    /// Send frames in UDP datagrams from this address on this machine; port 0 is any.
    #[arg(long, value_name = "ADDRESS:PORT", requires = "udp_peer", conflicts_with = "interface")]
    pub(crate) udp: Option<SocketAddr>,
    /// Receive the datagrams at this address on this machine; port 0 is any.
    #[arg(long, value_name = "ADDRESS:PORT", requires = "udp")]
    pub(crate) udp_peer: Option<SocketAddr>,
    /// Highest average rate in frames per second; without it 100 or 1 % of the link, and no limit on
    /// loopback and on veth.
    #[arg(long, value_name = "N")]
    pub(crate) max_frames: Option<u32>,
    #[command(flatten)]
    pub(crate) extent: Extent,
    /// Seed of the order of the sizes.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Draw figures into this folder, SVG and CSV: transmit.svg has the transmit times, layers.svg stacked bars
    /// of what each layer adds.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) figure: Option<PathBuf>,
    /// Write each figure in this form too: NAME.vl.json, a specification of Vega-Lite 5 with the numbers.
    #[arg(long, value_name = "FORM", requires = "figure")]
    pub(crate) emit: Option<Emit>,
}

/// Extent of a measurement.
#[derive(Args, Debug)]
pub(crate) struct Extent {
    /// Sizes of the messages in octets, 1 to 1495; at least two.
    #[arg(
        long,
        value_name = "SIZES",
        value_delimiter = ',',
        default_value = "64,256,512,768,1024,1280,1495"
    )]
    pub(crate) sizes: Vec<String>,
    /// Messages of each operation at each size in each round.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) messages: u64,
    /// Rounds through all sizes; intervals are over rounds.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=10_000))]
    pub(crate) rounds: u64,
}

/// The sizes of `predict layers`: up to the longest frame of a ProNET-10 ring.
pub(crate) const MORE_SIZES: &str = "64,256,512,1024,1536,2041";

/// `predict layers`
#[derive(Args, Debug)]
#[command(
    // Obeyed always: experiments of layers write no run folder.
    arg(
        clap::Arg::new("no_save")
            .long("no-save")
            .action(clap::ArgAction::SetTrue)
            .help("Write no run folder; experiments of layers never write one")
    ),
    after_help = "Examples:\n  tidewire predict layers --profile pc-pronet\n  tidewire predict layers --profile at-pronet --figure drawn\n  tidewire predict layers --profile mvme372 --sizes 16,512,1000"
)]
pub(crate) struct PredictLayers {
    /// The machine: pc-pronet, at-pronet, mvme372, ideal and others, or a profile file.
    #[arg(long, value_name = "NAME", default_value = "pc-pronet")]
    pub(crate) profile: String,
    /// Sizes of the messages in octets, 1 to 2041; at least two.
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = MORE_SIZES)]
    pub(crate) sizes: Vec<String>,
    /// Messages of each operation at each size in each round.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) messages: u64,
    /// Rounds through all sizes, each with the next seed.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(2..=10_000))]
    pub(crate) rounds: u64,
    /// Seed of the first round.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Draw figures into this folder, SVG and CSV: transmit.svg has the transmit times, layers.svg stacked bars
    /// of what each layer adds.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) figure: Option<PathBuf>,
    /// Write each figure in this form too: NAME.vl.json, a specification of Vega-Lite 5 with the numbers.
    #[arg(long, value_name = "FORM", requires = "figure")]
    pub(crate) emit: Option<Emit>,
}
