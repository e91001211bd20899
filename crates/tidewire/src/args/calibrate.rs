//! Options of `calibrate`.

use bench::mms::Item;
use clap::Args;
use std::path::PathBuf;

/// `calibrate`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire calibrate --over iso-tcp://s1 --foreign-peer --write-profile s1.toml\n  tidewire profiles show s1.toml                    the costs, with errors\n  tidewire predict my.toml                          which names it\n\nA scenario names the file: profile = \"s1.toml\" (`tidewire help mms`)."
)]
pub(crate) struct Calibrate {
    /// Address of the MMS server, such as iso-tcp://127.0.0.1:10102; the default port is 102.
    #[arg(long, value_name = "URL")]
    pub(crate) over: String,
    /// The server is not tidewire, and cannot agree to a load: this host or a private network alone.
    #[arg(long, required = true)]
    pub(crate) foreign_peer: bool,
    /// Profile to write; must not exist yet.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_profile: PathBuf,
    /// Variable to read, as domain/name; may be given more than once. The first is part of the calibration,
    /// all together are held out. Without it up to five are chosen from the names of the server.
    #[arg(long, value_name = "ITEM")]
    pub(crate) item: Vec<Item>,
    /// Numbers of requests outstanding at the same time that are held out.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "2,5",
        value_parser = clap::value_parser!(u16).range(2..=64))]
    pub(crate) outstanding: Vec<u16>,
    /// Rounds: each measures all steps, and the intervals are those of the mean over rounds.
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u64).range(2..=1_000))]
    pub(crate) rounds: u64,
    /// Request messages of each step in a round.
    #[arg(long, value_name = "N", default_value_t = 20,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) messages: u64,
    /// Highest number of requests in a second.
    #[arg(long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_requests: u32,
    /// Time-out of each service.
    #[arg(long, value_name = "TIME", default_value = "2 s")]
    pub(crate) time_out: String,
}
