//! Options of `measure mms` and `serve mms`.

use bench::mms::Item;
use clap::Args;
use std::path::PathBuf;

/// `measure mms`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire measure mms --over iso-tcp://192.168.0.7 --foreign-peer\n  tidewire measure mms --over iso-tcp://[::1]:10102 --foreign-peer\n  tidewire measure mms --over iso-tcp://[::1] --foreign-peer --outstanding 1,5\n  tidewire measure mms --over iso-tcp://127.0.0.1:10102 --foreign-peer --item 'LD0/MMXU1$MX$TotW$mag$f' --outstanding 1,2,5\n\n`tidewire help mms` explains the steps and the safeguards."
)]
pub(crate) struct MeasureMms {
    /// Address of the server, such as iso-tcp://127.0.0.1:10102; the default port is 102.
    #[arg(long, value_name = "URL")]
    pub(crate) over: String,
    /// The server is not tidewire, and cannot agree to a load: this host or a private network alone.
    #[arg(long, required = true)]
    pub(crate) foreign_peer: bool,
    /// Variable to read, as domain/name; may be given more than once. Without it up to five are chosen from
    /// the names of the server.
    #[arg(long, value_name = "ITEM")]
    pub(crate) item: Vec<Item>,
    /// Data set (named variable list) to read, as domain/name.
    #[arg(long, value_name = "LIST")]
    pub(crate) dataset: Option<Item>,
    /// File to read, by its name in the server: opened, read in parts, closed.
    #[arg(long, value_name = "NAME")]
    pub(crate) file: Option<String>,
    /// Write the octets of --file to this path.
    #[arg(long, value_name = "PATH", requires = "file")]
    pub(crate) save: Option<PathBuf>,
    /// Report control block to enable for --reporting, as domain/name; it has to be in --allow-write.
    #[arg(long, value_name = "BLOCK")]
    pub(crate) report_block: Option<Item>,
    /// Time for which reports are received.
    #[arg(long, value_name = "TIME", default_value = "10 s", requires = "report_block")]
    pub(crate) reporting: String,
    /// Item that may be written; may be given more than once. A variable is written with the value that it
    /// has. Control and settings ($CO$, $SP$, $SG$, $SE$) are never written.
    #[arg(long, value_name = "ITEM")]
    pub(crate) allow_write: Vec<Item>,
    /// Numbers of requests outstanding at the same time, to be compared; 1 is stop-and-wait.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) outstanding: Vec<u16>,
    /// Request messages of each step.
    #[arg(long, value_name = "N", default_value_t = 20,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) messages: u64,
    /// Associations opened one after the other.
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) associations: u64,
    /// Time from one request to the next; without it even within --max-requests.
    #[arg(long, value_name = "TIME")]
    pub(crate) period: Option<String>,
    /// Highest number of requests in a second.
    #[arg(long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_requests: u32,
    /// Time-out of each service.
    #[arg(long, value_name = "TIME", default_value = "2 s")]
    pub(crate) time_out: String,
    /// Called TSAP-ID in hexadecimal.
    #[arg(long, value_name = "HEX", default_value = "0001")]
    pub(crate) called: String,
    /// Calling TSAP-ID in hexadecimal.
    #[arg(long, value_name = "HEX", default_value = "0001")]
    pub(crate) calling: String,
}

/// `serve mms`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire serve mms                                the built-in model\n  tidewire serve mms --scl plant.cid --ied FEED --over iso-tcp://192.168.0.7:102\n  tidewire serve mms --files records -t 60s         with the files of a folder\n\n`tidewire help mms` explains what it serves."
)]
pub(crate) struct ServeMms {
    /// SCL file (ICD, CID or SCD) with the model to serve; without it a small built-in model.
    #[arg(long, value_name = "FILE")]
    pub(crate) scl: Option<PathBuf>,
    /// Device (IED) of the file; without it the first one with a server.
    #[arg(long, value_name = "NAME", requires = "scl")]
    pub(crate) ied: Option<String>,
    /// Folder whose files are served, read-only. They are read when the server starts: up to 1,000 files, 64
    /// MiB together. Links are left out.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) files: Option<PathBuf>,
    /// Variable that clients may write, as domain/name; may be given more than once. Control and settings
    /// ($CO$, $SP$, $SG$, $SE$) are never written.
    #[arg(long, value_name = "ITEM")]
    pub(crate) allow_write: Vec<Item>,
    /// Address to listen at, as iso-tcp://ADDRESS:PORT: this host or a private network; port 102 if it has none.
    #[arg(long, value_name = "URL", default_value = "iso-tcp://127.0.0.1:10102")]
    pub(crate) over: String,
    /// Stop after this time.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) time: Option<String>,
}
