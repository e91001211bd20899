//! Options for the files and requirements of `watch`.

use super::around::AroundOptions;
use super::keep::KeepOptions;
use clap::{ArgGroup, Args};
use records::require::Wanted;
use std::path::PathBuf;

/// Lowest grade of a finding that makes `watch` end with 3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub(crate) enum FailOn {
    /// Worth knowing, or worse.
    Note,
    /// May be wrong, or is.
    Look,
    /// Wrong.
    Wrong,
}

impl FailOn {
    /// Returns true for a finding of this grade or a worse one.
    pub(crate) fn fails(self, grade: &str) -> bool {
        let grade = match grade {
            "wrong" => Self::Wrong,
            "look" => Self::Look,
            _ => Self::Note,
        };
        grade >= self
    }
}

impl Export {
    /// Returns true if any file is written.
    pub(crate) fn writes_files(&self) -> bool {
        let are_kept = self.annotate.is_some() || !self.around.keep_around.is_empty();
        self.writes_tables() || are_kept || self.events.is_some()
    }

    /// Returns true if records of hosts, connections and streams in each interval are kept.
    pub(crate) fn keeps_records(&self) -> bool {
        self.writes_tables() || self.output.is_some()
    }

    /// Returns true if any table is written.
    pub(crate) fn writes_tables(&self) -> bool {
        let Self { csv, zeek, parquet, .. } = self;
        [csv, zeek, parquet].into_iter().any(Option::is_some)
    }
}

/// Files and requirements of `watch`.
#[derive(Args, Debug)]
#[command(
    next_help_heading = "Files",
    group = ArgGroup::new("kept_frames").args(["annotate", "keep_around"]).multiple(true)
)]
pub(crate) struct Export {
    /// Write tables of intervals, hosts, connections and services into this folder as CSV. --only selects columns:
    /// --csv tables --only "dt_tpdus,response_max".
    #[arg(long, value_name = "FOLDER", conflicts_with = "screen")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the tables into this folder as logs of tab-separated values for Zeek's tools.
    #[arg(long, value_name = "FOLDER", conflicts_with = "screen")]
    pub(crate) zeek: Option<PathBuf>,
    /// Write the tables into this folder as Apache Parquet; needs a build with the feature `parquet`.
    #[arg(long, value_name = "FOLDER", conflicts_with = "screen")]
    pub(crate) parquet: Option<PathBuf>,
    /// Write a run folder into this folder: the records of --json, for tidewire report.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    /// Write a scenario of what was seen to this file, which must not exist yet: each stream of cyclic data
    /// and each poller is a flow, and tidewire predict FILE simulates it.
    #[arg(long, value_name = "FILE", conflicts_with = "screen")]
    pub(crate) write_scenario: Option<PathBuf>,
    /// Compare the publishers of GOOSE and Sampled Values with those that this SCL file declares (SCD, CID):
    /// missing, unexpected, silent, and with another MAC, VLAN, APPID, confRev or data set.
    #[arg(long, value_name = "FILE", conflicts_with = "anonymize")]
    pub(crate) expect: Option<PathBuf>,
    /// Write every frame into this pcapng file, with a comment on the meter's findings; of a live port only
    /// the headers.
    #[arg(long, value_name = "FILE", conflicts_with = "screen")]
    pub(crate) annotate: Option<PathBuf>,
    /// With --interface and --annotate or --keep-around: keep user data too.
    #[arg(long, requires_all = ["interface", "kept_frames"], conflicts_with = "anonymize")]
    pub(crate) full: bool,
    /// Write a record of each event to this file at once, as NDJSON.
    #[arg(long, value_name = "FILE", conflicts_with = "screen")]
    pub(crate) events: Option<PathBuf>,
    /// Require this of the measures, such as "response.max(host) < 20 ms" or "R_RD(host) < 1 %"; may be
    /// given more than once. See tidewire help requirements.
    #[arg(
        long,
        value_name = "REQUIREMENT",
        help_heading = "Requirements",
        conflicts_with = "screen"
    )]
    pub(crate) require: Vec<Wanted>,
    /// End with 3 if there is a finding of this grade or a worse one; with -q only these findings are
    /// printed.
    #[arg(
        long,
        value_name = "GRADE",
        value_enum,
        help_heading = "Requirements",
        conflicts_with = "screen"
    )]
    pub(crate) fail_on: Option<FailOn>,
    /// End with 3 at the end of the first interval in which a requirement fails for certain. What was seen by
    /// then is kept, and the results are printed.
    #[arg(long, help_heading = "Requirements", requires = "require", conflicts_with = "screen")]
    pub(crate) fail_fast: bool,
    /// Pseudonymise addresses and drop user data in all output, the capture of --annotate included.
    #[arg(long, help_heading = "Anonymity", conflicts_with = "screen")]
    pub(crate) anonymize: bool,
    /// Map addresses by the key in this file, 64 hexadecimal digits; without it by a random key.
    #[arg(long, value_name = "FILE", help_heading = "Anonymity", requires = "anonymize")]
    pub(crate) anonymize_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) around: AroundOptions,
}
