//! Outputs of `watch` and `meter` in addition to printing.

use super::page::LivePage;
use super::watch::export::Export;
use crate::args::export::FailOn;
use crate::metrics::Exporter;
use crate::record_folder::RecordFolder;
use records::Plant;
use records::require::Requirements;

/// Outputs of findings in addition to printing.
#[derive(Default)]
pub(super) struct SideOutputs {
    /// Exporter of metrics.
    pub(super) exporter: Option<Exporter>,
    /// Live page, which shows all reports.
    pub(super) page: Option<LivePage>,
    /// True if reports within an interval are those of the page or the screen alone.
    pub(super) hides_reports: bool,
    /// True if samples of sequence numbers are those of the screen alone.
    pub(super) hides_samples: bool,
    /// Files.
    pub(super) export: Export,
    /// Requirements to judge.
    pub(super) requirements: Requirements,
    /// Finding from which on the exit code is 3.
    pub(super) fail_on: Option<FailOn>,
    /// True if the first permanent failure of a requirement ends the run.
    pub(super) fails_fast: bool,
    /// True if records have the distributions of delays.
    pub(super) histograms: bool,
    /// Run folder.
    pub(super) folder: Option<RecordFolder>,
    /// Streams and pollers for a scenario.
    pub(super) plant: Option<Plant>,
}
