//! State of a measurement as the page shows it.

use crate::panel::{Panel, grade_name, shown};
use crate::panels::panels;
use meter::registry::Measure;
use records::findings::{self, Grade, Topic};
use records::state::Model;
use records::{calendar, quantity};
use serde::Serialize;
use wire::time::Instant;

/// State of a measurement.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Snapshot {
    /// Interface or files that the frames come from.
    pub source: String,
    /// `under way`, `complete`, or `cut short`.
    pub state: &'static str,
    /// Reason for an early end.
    pub error: Option<String>,
    /// The answer in one sentence.
    pub headline: String,
    /// Severity of the worst finding: `bad`, `look`, or none.
    pub grade: Option<&'static str>,
    /// Begin of the first interval (UTC); empty before the first frame.
    pub began: String,
    /// Length measured so far.
    pub length: String,
    /// Frames so far.
    pub frames: u64,
    /// Frames lost in collection, by place, as far as the source tells.
    pub losses: Vec<String>,
    /// True if any were lost, so that no measure is complete.
    pub is_lossy: bool,
    /// Findings, the worst first.
    pub findings: Vec<Finding>,
    /// Totals: name and count.
    pub totals: Vec<(&'static str, u64)>,
    /// Tables that have rows.
    pub panels: Vec<Panel>,
    /// Rates so far.
    pub course: Course,
}

/// Judgement with its evidence.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Finding {
    /// Severity: `bad`, `look` or `note`.
    pub grade: &'static str,
    /// Sentence with its counts.
    pub text: String,
    /// Worst case, where there is one.
    pub detail: Option<String>,
    /// Table that shows more.
    pub panel: &'static str,
    /// Connection that accounts for most of it.
    pub connection: Option<u32>,
}

/// Rates over the whole measurement.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Course {
    /// End of each moment in seconds from the beginning.
    pub seconds: Vec<f64>,
    /// TPDUs per second, the greatest of each moment.
    pub tpdus: Vec<f64>,
    /// Retransmitted DTs per second, the greatest of each moment.
    pub again: Vec<f64>,
}

impl Snapshot {
    /// State according to the records so far.
    pub(crate) fn of(model: &Model) -> Self {
        let found = findings::findings(model);
        let grade = found.iter().map(|it| it.grade).min().filter(|grade| *grade != Grade::Note);
        let (state, error) = match &model.end {
            None => ("under way", None),
            Some(end) if end.complete => ("complete", None),
            Some(end) => ("cut short", end.error.as_deref().map(shown)),
        };
        let begun = model.latest.is_some();
        let began = Instant::from_nanos(model.start_ns());
        Self {
            source: shown(&model.head.source),
            state,
            error,
            headline: headline(&found, model),
            grade: grade.map(grade_name),
            began: if begun { calendar::rfc_3339(began) } else { String::new() },
            length: quantity::span(model.length_ns()),
            frames: model.frames(),
            losses: model.collected().lost(),
            is_lossy: model.dropped().is_some_and(|dropped| dropped > 0),
            findings: found.iter().map(finding).collect(),
            totals: totals(model),
            panels: panels(model),
            course: course(model),
        }
    }
}

/// The answer in one sentence.
fn headline(found: &[findings::Finding], model: &Model) -> String {
    let of = |grade| found.iter().filter(|finding| finding.grade == grade).count() as u64;
    let are = |count| if count == 1 { "is" } else { "are" };
    let things = |count| quantity::counted(count, "thing");
    match (of(Grade::Bad), of(Grade::Look)) {
        (0, 0) if model.frames() == 0 => "No frame so far".to_owned(),
        (0, 0) => "Nothing is plainly wrong".to_owned(),
        (0, look) => format!("{} may be wrong", things(look)),
        (bad, 0) => format!("{} {} wrong", things(bad), are(bad)),
        (bad, look) => format!("{} {} wrong, {look} may be", things(bad), are(bad)),
    }
}

fn finding(it: &findings::Finding) -> Finding {
    Finding {
        grade: grade_name(it.grade),
        text: shown(&it.text),
        detail: it.detail.as_deref().map(shown),
        panel: match it.topic {
            Topic::Connections => "connections",
            Topic::Services => "services",
            Topic::Hosts => "hosts",
            Topic::Streams | Topic::Publishers => "streams",
            Topic::Transactions => "transactions",
            Topic::Capture => "events",
        },
        connection: it.connection,
    }
}

/// Counts of the whole that are not zero.
fn totals(model: &Model) -> Vec<(&'static str, u64)> {
    let measures = model.measures();
    let named = [
        ("TPDUs", Measure::Tpdus),
        ("DTs", Measure::DtTpdus),
        ("retransmitted DTs", Measure::DtRetransmissions),
        ("AKs", Measure::AkTpdus),
        ("TSDUs", Measure::Tsdus),
        ("connections found under way", Measure::ConnectionsAdopted),
        ("connections asked for", Measure::ConnectionAttempts),
        ("connections established", Measure::TransportConnections),
        ("connections refused", Measure::ConnectionRefusals),
        ("connections ended", Measure::ConnectionEnds),
    ];
    let of_streams = [
        ("cyclic streams", model.of_streams.streams),
        ("cyclic frames", model.of_streams.frames),
        ("cyclic frames missing", model.of_streams.missing),
    ];
    let of_transactions = [
        ("requests", model.of_transactions.requests),
        ("replies to requests", model.of_transactions.replies),
        ("requests without a reply", model.of_transactions.unanswered),
    ];
    let counts = named.map(|(name, measure)| (name, measures.count(measure)));
    counts
        .into_iter()
        .chain(of_streams)
        .chain(of_transactions)
        .filter(|(_, count)| *count > 0)
        .collect()
}

fn course(model: &Model) -> Course {
    let moments = model.course.moments();
    Course {
        seconds: moments.iter().map(|moment| moment.until_ns as f64 / 1e9).collect(),
        tpdus: moments.iter().map(|moment| moment.tpdus_per_second).collect(),
        again: moments.iter().map(|moment| moment.again_per_second).collect(),
    }
}
