//! Source of frames: captures or a live port, and a filter.

use bench::scenario::{NotAQuantity, Span};
use clap::{Args, ValueEnum};
use live::tap::Stamps;
use std::path::PathBuf;

/// Clock whose stamps are the times of the frames of a port: see [`Stamps`].
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StampOption {
    Kernel,
    Hardware,
}

impl From<StampOption> for Stamps {
    fn from(option: StampOption) -> Self {
        match option {
            StampOption::Kernel => Self::Kernel,
            StampOption::Hardware => Self::Hardware,
        }
    }
}

/// Checks a time when it is read, so that a missing unit is reported before a conflict of options.
fn time(text: &str) -> Result<String, NotAQuantity> {
    text.parse::<Span>().map(|_| text.to_owned())
}

/// Source of frames of `watch` and `capture`.
#[derive(Args, Debug)]
pub(crate) struct FrameSource {
    /// Read these captures in order (pcap or pcapng, also .gz and .zst); "-" is standard input.
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    pub(crate) read: Vec<PathBuf>,
    /// Wait for more frames at the end of the last capture, until interrupted.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Listen on this interface (needs CAP_NET_RAW), without sending anything.
    #[arg(short, long, value_name = "IF")]
    pub(crate) interface: Option<String>,
    /// Time to listen.
    #[arg(short, long, value_name = "TIME", value_parser = time)]
    pub(crate) time: Option<String>,
    /// Listen through tidewire-tap, which has no other right, even if this program may listen itself.
    #[arg(long)]
    pub(crate) tap: bool,
    /// Clock that stamps the frames of a port: kernel, or hardware, which is the interface's own and the
    /// default if it stamps every frame.
    #[arg(long, value_enum, value_name = "CLOCK", requires = "interface", conflicts_with = "tap")]
    pub(crate) stamps: Option<StampOption>,
    /// Use only the frames that match, such as "iso and not vlan"; see tidewire help filter.
    #[arg(short = 'f', long, value_name = "FILTER")]
    pub(crate) filter: Option<wire::filter::Filter>,
}
