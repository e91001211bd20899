//! What `watch` writes into files beside what it tells.

use crate::command::watch::require::Wanted;
use clap::Args;
use std::path::PathBuf;

/// Grade of a finding from which on `watch` ends with 3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub(crate) enum FailOn {
    /// Something is worth knowing, or worse.
    Note,
    /// Something may be wrong, or is.
    Look,
    /// Something is wrong.
    Wrong,
}

impl FailOn {
    /// Whether a finding of a grade is bad enough.
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
    /// Whether any file is written.
    pub(crate) fn writes_files(&self) -> bool {
        let Self { csv, zeek, parquet, annotate, events, .. } = self;
        [csv, zeek, parquet, annotate, events].into_iter().any(Option::is_some)
    }
}

/// Files of `watch`, and what must hold.
#[derive(Args, Debug)]
#[command(next_help_heading = "Files")]
pub(crate) struct Export {
    /// Write intervals, hosts and connections into this folder as CSV, a file each.
    #[arg(long, value_name = "FOLDER", conflicts_with = "screen")]
    pub(crate) csv: Option<PathBuf>,
    /// Write them into this folder as logs of tab-separated values, as Zeek's tools read them.
    #[arg(long, value_name = "FOLDER", conflicts_with = "screen")]
    pub(crate) zeek: Option<PathBuf>,
    /// Write them into this folder as Apache Parquet; refused by builds without the feature `parquet`.
    #[arg(long, value_name = "FOLDER", conflicts_with = "screen")]
    pub(crate) parquet: Option<PathBuf>,
    /// Write every frame into this pcapng file, with a comment of what the meter saw in it; of a live
    /// port headers alone.
    #[arg(long, value_name = "FILE", conflicts_with = "screen")]
    pub(crate) annotate: Option<PathBuf>,
    /// With --interface and --annotate: keep user data too.
    #[arg(long, requires_all = ["interface", "annotate"], conflicts_with = "anonymize")]
    pub(crate) full: bool,
    /// Write a record of each thing of note to this file as it happens, as NDJSON.
    #[arg(long, value_name = "FILE", conflicts_with = "screen")]
    pub(crate) events: Option<PathBuf>,
    /// Require this of what passes, such as "response_max(host) < 20 ms" or "R_RD(host) < 1 %"; may be
    /// given more than once. See tidewire help requirements.
    #[arg(
        long,
        value_name = "REQUIREMENT",
        help_heading = "Requirements",
        conflicts_with = "screen"
    )]
    pub(crate) require: Vec<Wanted>,
    /// End with 3 if there is a finding of this grade or a worse one.
    #[arg(
        long,
        value_name = "GRADE",
        value_enum,
        help_heading = "Requirements",
        conflicts_with = "screen"
    )]
    pub(crate) fail_on: Option<FailOn>,
    /// Pseudonymise addresses and drop user data, in all that is printed or written; with --annotate in
    /// the capture that it writes.
    #[arg(long, help_heading = "Anonymity", conflicts_with = "screen")]
    pub(crate) anonymize: bool,
    /// Map addresses by the key in this file, 64 hexadecimal digits; by one that is drawn without it.
    #[arg(long, value_name = "FILE", help_heading = "Anonymity", requires = "anonymize")]
    pub(crate) anonymize_key: Option<PathBuf>,
}
