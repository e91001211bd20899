//! Options of `rerun`.

use clap::Args;
use std::path::PathBuf;

/// `rerun`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire rerun runs/2026-01-01T10-00-00-ieds      same octets?\n  tidewire rerun runs                               the latest run there\n  tidewire rerun runs --json                        with the digest as a record"
)]
pub(crate) struct Rerun {
    /// A run folder of predict, or a folder of runs, whose latest is used.
    pub(crate) run: PathBuf,
}
