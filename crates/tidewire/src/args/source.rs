//! Where frames come from: captures or a live port, and which of them are wanted.

use clap::Args;
use std::path::PathBuf;

/// What `watch` and `capture` hear or read.
#[derive(Args, Debug)]
pub(crate) struct FrameSource {
    /// Read these captures in order (pcap or pcapng, also .gz and .zst); "-" is standard input.
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    pub(crate) read: Vec<PathBuf>,
    /// At the end of the last capture wait for more, until interrupted.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Listen on this interface (needs CAP_NET_RAW). Nothing is ever sent.
    #[arg(short, long, value_name = "IF")]
    pub(crate) interface: Option<String>,
    /// How long to listen.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Listen through tidewire-tap, which can do nothing else, even where this program may listen.
    #[arg(long)]
    pub(crate) tap: bool,
    /// Only frames that pass, such as "iso and not vlan"; see tidewire help filter.
    #[arg(long, value_name = "FILTER")]
    pub(crate) filter: Option<wire::filter::Filter>,
}
