//! Options of `relay`, a bridge with faults.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `relay`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire relay eth1 eth2 --fault loss=1%          loses one frame in a hundred\n  tidewire relay eth1 eth2 --fault reorder=2% --tpdus dt --log actions.ndjson\n  tidewire relay eth1 eth2 --fault delay=5ms --way there --time 60s\n  tidewire relay eth1 eth2 --fault loss=1% --capture - | tidewire watch -r -\n\n`tidewire help faults` explains the faults and the frames that are exempt from them."
)]
pub(crate) struct Relay {
    /// First interface (needs CAP_NET_RAW). Frames that arrive at one interface leave at the other.
    #[arg(value_name = "HERE")]
    pub(crate) here: String,
    /// Second interface, on another LAN.
    #[arg(value_name = "THERE")]
    pub(crate) there: String,
    /// Faults of frames that cross, such as "loss=1%,duplicate=1%,reorder=1%".
    #[arg(long, value_name = "FAULTS")]
    pub(crate) fault: Option<String>,
    /// Direction of the frames with faults.
    #[arg(long, value_enum, default_value = "both", requires = "fault")]
    pub(crate) way: Ways,
    /// Limit the faults to frames with these TPDUs over LLC: dt, ak, cr, cc, dr, dc, ed, ea, rj or er.
    #[arg(long, value_name = "TPDU,...", value_delimiter = ',', requires = "fault")]
    pub(crate) tpdus: Vec<String>,
    /// Seed of the faults.
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "fault")]
    pub(crate) seed: u64,
    /// Write a record of each frame with a fault to this file, as NDJSON, each line at once.
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

/// Direction of the frames with faults.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Ways {
    /// Frames of both directions.
    Both,
    /// Frames that arrive at the first interface.
    There,
    /// Frames that arrive at the second interface.
    Back,
}
