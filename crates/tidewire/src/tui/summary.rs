//! Summary of a screen on the terminal after it; its last line names the run or the way to keep one.

use super::monitor;
use super::page::overview::{NONE_YET, delay};
use super::{Gather, Shared};
use crate::output::Output;
use crate::quantity;
use meter::observation::DelayKind;
use meter::registry::Measure;
use records::findings::{Grade, findings};
use records::state::Model;
use std::io;
use std::path::PathBuf;

/// Remark after a run of which nothing is left.
pub(crate) const NOTHING_KEPT: &str = "no run was kept: -o runs keeps one, for tidewire report";

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
            Self::Nowhere => format!("  {NOTHING_KEPT}"),
        }
    }
}

/// Content of a screen: samples of frames, or records.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// Samples of frames.
    Samples(&'a Shared<Gather>),
    /// Records, and the number of complete intervals of them all, if it is known.
    Records { intervals: Option<u64> },
}

/// Prints the summary of a screen with this model.
///
/// # Errors
/// Those of standard output.
pub(crate) fn print(
    model: &Shared<Model>,
    source: Source<'_>,
    kept: &Kept,
    output: &Output,
) -> io::Result<()> {
    // The two are not locked at once.
    let of_samples = match source {
        Source::Samples(samples) => Ok(monitor::summary(&samples.lock())),
        Source::Records { intervals } => Err(intervals),
    };
    lines(&model.lock(), of_samples, kept).iter().try_for_each(|line| output.line(line))
}

/// Returns the lines with those of samples, or with the number of all intervals of records.
fn lines(model: &Model, samples: Result<[String; 4], Option<u64>>, kept: &Kept) -> Vec<String> {
    let is_of_samples = samples.is_ok();
    let mut lines = samples.unwrap_or_else(|intervals| of_records(model, intervals)).to_vec();
    if is_of_samples {
        // Samples have the delays of acknowledgements only.
        let responses = delay(&model.measures(), DelayKind::Response);
        lines.extend(responses.map(|told| format!("  {told}")));
    }
    lines.push(judged(model));
    lines.extend(model.stamps().map(|stamps| format!("  times: {stamps}")));
    lines.push(kept.line());
    lines
}

/// Returns what samples would tell, as far as records without frames have it.
fn of_records(model: &Model, intervals: Option<u64>) -> [String; 4] {
    let measures = model.measures();
    let count = |of: Measure| measures.count(of);
    let dropped = model.dropped().filter(|dropped| *dropped > 0);
    let dropped = dropped.map(|it| format!(", {it} more dropped on their way")).unwrap_or_default();
    let frames = quantity::counted(model.frames(), "frame");
    let shown = intervals.map_or_else(String::new, |all| {
        format!("; {} of {} shown", model.intervals(), quantity::counted(all, "interval"))
    });
    let told = |of: DelayKind| {
        let told = delay(&measures, of).unwrap_or_else(|| format!("{}: none", of.label()));
        format!("  {told}")
    };
    [
        format!(
            "{}: {frames} in {}{dropped}{shown}",
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
    if !model.has_begun() {
        return format!("  {NONE_YET}: there are no findings");
    }
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
    use records::{StampClock, Stamps};

    #[test]
    fn records_without_samples_have_six_lines_too() {
        let measures = [("dt_tpdus", 100), ("dt_retransmissions", 20), ("tpdus", 210)];
        let model = fed(&measures, &[("truncated: user data", 9)], Some(3), 300);
        let kept = Kept::File(PathBuf::from("a/measures.ndjson"));
        let lines = lines(&model, Err(Some(3)), &kept);
        assert_eq!(
            lines,
            [
                "a.pcap: 300 frames in 1.00 s, 3 more dropped on their way; 1 of 3 intervals shown",
                "  connections: 0 found under way, 0 established, 0 refused, 0 ended",
                "  acknowledgement: none",
                "  response: none",
                "  TPDUs 210, DTs 100, retransmitted 20; findings: 2 wrong, 0 that may be wrong",
                "  records: a/measures.ndjson",
            ]
        );
    }

    #[test]
    fn response_times_and_stamps_follow_the_lines_of_samples() {
        let measures = [
            ("responses", 3),
            ("response_total_ns", 9_000_000),
            ("response_p50_ns", 2_000_000),
            ("response_max_ns", 4_000_000),
        ];
        let mut model = fed(&measures, &[], None, 30);
        model.latest.as_mut().unwrap().stamps = Some(Stamps::of_port(StampClock::Kernel));
        let samples = ["a", "b", "c", "no AK delay"].map(str::to_owned);
        let lines = lines(&model, Ok(samples), &Kept::Nowhere);
        let [_, _, _, "no AK delay", response, _, stamps, _] =
            lines.iter().map(String::as_str).collect::<Vec<_>>()[..]
        else {
            panic!("{lines:?}")
        };
        assert!(response.starts_with("  response") && response.ends_with("n 3"), "{response}");
        assert!(response.contains("max 4.00 ms"), "{response}");
        assert_eq!(stamps, "  times: stamps of the kernel, resolution 1 ns");
    }

    #[test]
    fn a_replay_that_ends_before_its_first_interval_has_no_findings() {
        let model = Model::new(fed(&[], &[], None, 0).head);
        let lines = lines(&model, Err(Some(3)), &Kept::Passed);
        let [first, .., judged, _] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(first, "a.pcap: 0 frames in 0 ns; 0 of 3 intervals shown");
        assert_eq!(judged, "  no interval has come yet: there are no findings");
    }
}
