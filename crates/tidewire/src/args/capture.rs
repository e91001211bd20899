//! Options of `capture`.

use super::source::FrameSource;
use clap::{ArgGroup, Args};
use std::path::PathBuf;

/// `capture`
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("source").required(true).args(["read", "interface"]),
    after_help = "Examples:\n  tidewire capture -i eth1 -w plant.pcapng -t 60s   the headers of a minute\n  tidewire capture -i eth1 | tidewire watch -r -    metered by another process\n  tidewire capture -i eth1 -w day.pcapng --rotate \"100 MB\" --keep 10\n  tidewire capture -r old.pcap.gz --filter iso -w iso.pcapng"
)]
pub(crate) struct Capture {
    #[command(flatten)]
    pub(crate) source: FrameSource,
    /// Write to this file; without it, or to "-", to standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) write: PathBuf,
    /// Keep user data too; without it only headers are kept, with zeros between them.
    #[arg(long)]
    pub(crate) full: bool,
    /// Refused, with the command that pseudonymises: `watch --anonymize --annotate`.
    #[arg(long, hide = true)]
    pub(crate) anonymize: bool,
    /// Begin another file when the current one would exceed this size; names are numbered.
    #[arg(long, value_name = "SIZE")]
    pub(crate) rotate: Option<String>,
    /// With --rotate: keep only the N latest files.
    #[arg(long, value_name = "N", requires = "rotate",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: Option<u64>,
    /// Stop after this many frames.
    #[arg(short, long, value_name = "N")]
    pub(crate) count: Option<u64>,
}
