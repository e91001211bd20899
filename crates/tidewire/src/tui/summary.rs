//! Summary of a screen on the terminal after it: six lines, of which the last names the run or the way to keep one.

use super::monitor;
use super::page::overview::delay;
use super::{Gather, Shared};
use crate::output::Output;
use crate::quantity;
use meter::observation::DelayKind;
use meter::registry::Measure;
use records::findings::{Grade, findings};
use records::state::Model;
use std::io;
use std::path::PathBuf;

/// Place of the records that a screen showed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// A run folder that was written.
    Run(PathBuf),
    /// A file that was read.
    File(PathBuf),
    /// They came on standard input.
    Passed,
    /// They are gone.
    Nowhere,
}

impl Kept {
    fn line(&self) -> String {
        match self {
            Self::Run(path) => format!("  run folder: {}", path.display()),
            Self::File(path) => format!("  records: {}", path.display()),
            Self::Passed => {
                "  records: from standard input; tidewire show FILE reads a file".into()
            }
            Self::Nowhere => "  no run was kept: -o runs keeps one, for tidewire report".into(),
        }
    }
}

/// Prints the summary of a screen with these records and, if frames were sampled, samples.
///
/// # Errors
/// Those of standard output.
pub(crate) fn print(
    model: &Shared<Model>,
    samples: Option<&Shared<Gather>>,
    kept: &Kept,
    output: &Output,
) -> io::Result<()> {
    let of_samples = samples.map(|samples| monitor::summary(&samples.lock()));
    lines(&model.lock(), of_samples, kept).iter().try_for_each(|line| output.line(line))
}

fn lines(model: &Model, of_samples: Option<[String; 4]>, kept: &Kept) -> [String; 6] {
    let [a, b, c, d] = of_samples.unwrap_or_else(|| of_records(model));
    [a, b, c, d, judged(model), kept.line()]
}

/// Returns what samples would tell, as far as records without frames have it.
fn of_records(model: &Model) -> [String; 4] {
    let measures = model.measures();
    let count = |of: Measure| measures.count(of);
    let dropped = model.dropped().filter(|dropped| *dropped > 0);
    let dropped = dropped.map(|it| format!(", {it} more dropped on their way")).unwrap_or_default();
    let frames = quantity::counted(model.frames(), "frame");
    let told = |of: DelayKind| {
        let told = delay(&measures, of).unwrap_or_else(|| format!("{}: none", of.label()));
        format!("  {told}")
    };
    [
        format!(
            "{}: {frames} in {}{dropped}",
            model.head.source,
            quantity::span(model.length_ns())
        ),
        format!(
            "  connections: {} found under way, {} established, {} refused, {} ended",
            count(Measure::ConnectionsAdopted),
            count(Measure::TransportConnections),
            count(Measure::ConnectionRefusals),
            count(Measure::ConnectionEnds),
        ),
        told(DelayKind::Acknowledgement),
        told(DelayKind::Response),
    ]
}

/// Returns the main counts, and how many findings there are.
fn judged(model: &Model) -> String {
    let measures = model.measures();
    let found = findings(model);
    let of = |grade| found.iter().filter(|finding| finding.grade == grade).count();
    format!(
        "  TPDUs {}, DTs {}, retransmitted {}; findings: {} wrong, {} that may be wrong",
        measures.count(Measure::Tpdus),
        measures.count(Measure::DtTpdus),
        measures.count(Measure::DtRetransmissions),
        of(Grade::Bad),
        of(Grade::Look),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::page::fed::fed;

    #[test]
    fn records_without_samples_have_six_lines_too() {
        let measures = [("dt_tpdus", 100), ("dt_retransmissions", 20), ("tpdus", 210)];
        let model = fed(&measures, &[("truncated: user data", 9)], Some(3), 300);
        let lines = lines(&model, None, &Kept::File(PathBuf::from("a/measures.ndjson")));
        assert_eq!(
            lines,
            [
                "a.pcap: 300 frames in 1.00 s, 3 more dropped on their way",
                "  connections: 0 found under way, 0 established, 0 refused, 0 ended",
                "  acknowledgement: none",
                "  response: none",
                "  TPDUs 210, DTs 100, retransmitted 20; findings: 2 wrong, 0 that may be wrong",
                "  records: a/measures.ndjson",
            ]
        );
    }
}
