//! Options of `report`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `report`
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire report runs/2026-11-21T10-04-07-cell     writes report.html there\n  tidewire report runs                              the latest run\n  tidewire report predicted measured                with the differences\n  tidewire watch -r a.pcapng --json > a.ndjson; tidewire report a.ndjson\n  tidewire report runs --tester \"A. Smith\" --tested-at \"2026-11-25 14:00\"\n  tidewire report runs before.hgrm --hgrm-unit ms    with the tail of another tool\n  tidewire report runs --format md -o -             for a pull request"
)]
pub(crate) struct Report {
    /// Run: a folder that predict, measure, watch or reproduce wrote, or a file of records. Of two runs the
    /// second is reported, and compared with the first. Files of percentiles (.hgrm) are drawn with a predicted or
    /// measured run, or alone.
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Form of the report.
    #[arg(long, value_enum, value_name = "FORM", default_value = "html")]
    pub(crate) format: Form,
    /// Write the report to this file instead of the run's folder; "-" is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write the times of each flow into this folder too, as percentiles that HdrHistogram's plotters read.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) hgrm: Option<PathBuf>,
    /// Unit of the values of .hgrm files that state none; those of this program do.
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) hgrm_unit: Option<HgrmUnit>,
    /// Name of the tester, for an acceptance test: the report has a line for the signature.
    #[arg(long, value_name = "NAME")]
    pub(crate) tester: Option<String>,
    /// Date and time of the test, as the tester states it.
    #[arg(long, value_name = "TIME")]
    pub(crate) tested_at: Option<String>,
}

/// Unit of the values of a file of percentiles.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HgrmUnit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

/// Form of a report.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// One page without scripts, for a browser and for paper.
    Html,
    /// Markdown, for pull requests.
    Md,
    /// JUnit XML, with a test case for each requirement and check.
    Junit,
    /// Annotations of GitHub's workflow commands.
    Github,
}

impl Form {
    /// Name of the report in a run folder.
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Self::Html => "report.html",
            Self::Md => "report.md",
            Self::Junit => "report.xml",
            Self::Github => "report.txt",
        }
    }
}
