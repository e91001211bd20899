//! Options of `compare`.

use super::report::HgrmUnit;
use super::top::TopOptions;
use clap::Args;
use std::path::PathBuf;

/// `compare`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire compare predicted measured        the latest runs of two folders\n  tidewire compare plant.toml plant.pcapng   a capture with its prediction\n  tidewire compare plant.pcapng watched      a capture with a folder of watch\n  tidewire compare before.hgrm after.hgrm    two files of percentiles\n  tidewire compare measured iperf3.json      a result of another tool"
)]
pub(crate) struct Compare {
    /// Baseline: a run folder, or a folder of runs, whose latest is used. With watched traffic the prediction:
    /// a scenario, a run folder of predict, or a capture of predict --capture.
    pub(crate) baseline: PathBuf,
    /// Run folder to compare with the baseline; or watched traffic: a capture, or a run folder or records of
    /// watch, which are compared with the prediction interval by interval. Either may be a file of percentiles (.hgrm).
    pub(crate) other: PathBuf,
    /// Measurement interval: measures accumulate over it and then begin anew; without it about a tenth of the capture.
    #[arg(long, value_name = "TIME")]
    pub(crate) measure: Option<String>,
    /// Print each interval of watched traffic next to the prediction.
    #[arg(long)]
    pub(crate) each_interval: bool,
    /// Simulated runs that make the prediction, instead of the scenario's.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) runs: Option<u64>,
    #[command(flatten)]
    pub(crate) top: TopOptions,
    /// Unit of the values of .hgrm files that state none; those of this program do.
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) hgrm_unit: Option<HgrmUnit>,
}
