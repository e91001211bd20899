//! `relay`: a bridge that misbehaves.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `relay`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire relay eth1 eth2 --fault loss=1%          what crosses, less one frame in a hundred\n  tidewire relay eth1 eth2 --fault reorder=2% --only dt --log deeds.ndjson\n  tidewire relay eth1 eth2 --fault delay=5ms --way there --time 60s\n  tidewire relay eth1 eth2 --fault loss=1% --capture - | tidewire watch -r -\n\n`tidewire help faults` explains the faults and the frames that are exempt from them."
)]
pub(crate) struct Relay {
    /// An interface (needs CAP_NET_RAW). What comes in here goes there, and what comes in there back.
    #[arg(value_name = "HERE")]
    pub(crate) here: String,
    /// The other interface, of another LAN.
    #[arg(value_name = "THERE")]
    pub(crate) there: String,
    /// What befalls frames that cross, such as "loss=1%,duplicate=1%,reorder=1%".
    #[arg(long, value_name = "FAULTS")]
    pub(crate) fault: Option<String>,
    /// Which way it befalls them.
    #[arg(long, value_enum, default_value = "both", requires = "fault")]
    pub(crate) way: Ways,
    /// Only frames that carry such a TPDU over LLC: dt, ak, cr, cc, dr, dc, ed, ea, rj or er.
    #[arg(long, value_name = "TPDU,...", value_delimiter = ',', requires = "fault")]
    pub(crate) only: Vec<String>,
    /// The seed of the faults' draws.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "fault")]
    pub(crate) seed: u64,
    /// Write a record of each frame that a fault touched to this file, as NDJSON, each line at once.
    #[arg(long, value_name = "FILE", requires = "fault")]
    pub(crate) log: Option<PathBuf>,
    /// Write every frame that leaves the relay to this pcapng file, each at once; `-` is standard output, for
    /// `tidewire watch -r -`.
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    /// Stop after this time.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) time: Option<String>,
}

/// Which frames the faults befall.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Ways {
    /// All of them.
    Both,
    /// Those that come in at the first interface.
    There,
    /// Those that come in at the second.
    Back,
}
