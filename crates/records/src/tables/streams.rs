//! Streams of cyclic data as rows.

use super::table::{Cell, Kind, Layout};
use crate::item::CyclicStream;
use crate::stream_extra::StreamExtra;
use meter::measure::Summary;
use meter::{Gaps, Order};

/// Columns of a stream.
const STREAM: [(&str, Kind); 61] = [
    ("start", Kind::Time),
    ("last", Kind::Time),
    ("protocol", Kind::Text),
    ("source", Kind::Text),
    ("destination", Kind::Text),
    ("identifier", Kind::Count),
    ("name", Kind::Text),
    ("priority", Kind::Count),
    ("vlan", Kind::Count),
    ("frames", Kind::Count),
    ("samples", Kind::Count),
    ("longest_octets", Kind::Count),
    ("copies", Kind::Count),
    ("missing", Kind::Count),
    ("out_of_order", Kind::Count),
    ("repeated", Kind::Count),
    ("backwards", Kind::Count),
    ("restarts", Kind::Count),
    ("state_changes", Kind::Count),
    ("missed_states", Kind::Count),
    ("gaps", Kind::Count),
    ("gap_total", Kind::Span),
    ("gap_min", Kind::Span),
    ("gap_max", Kind::Span),
    ("silences", Kind::Count),
    ("worst_gap", Kind::Span),
    ("worst_allowed", Kind::Span),
    ("period", Kind::Span),
    ("late_gaps", Kind::Count),
    ("late_p50", Kind::Span),
    ("late_p99", Kind::Span),
    ("late_max", Kind::Span),
    ("early_gaps", Kind::Count),
    ("early_p50", Kind::Span),
    ("early_p99", Kind::Span),
    ("early_max", Kind::Span),
    ("invalid", Kind::Count),
    ("simulated", Kind::Count),
    ("stamp_step", Kind::Span),
    ("answered", Kind::Count),
    ("unanswered", Kind::Count),
    ("round_trip_p50", Kind::Span),
    ("round_trip_p99", Kind::Span),
    ("round_trip_max", Kind::Span),
    ("low_working_counters", Kind::Count),
    ("stamps", Kind::Count),
    ("transit_late_p99", Kind::Span),
    ("transit_late_max", Kind::Span),
    ("transit_early_p99", Kind::Span),
    ("transit_early_max", Kind::Span),
    ("drift_ppm", Kind::Real),
    ("clock_steps", Kind::Count),
    ("correction_p99", Kind::Span),
    ("correction_max", Kind::Span),
    ("peer_delay_p50", Kind::Span),
    ("peer_delay_max", Kind::Span),
    ("grandmaster", Kind::Text),
    ("clock_class", Kind::Count),
    ("steps_removed", Kind::Count),
    ("grandmaster_changes", Kind::Count),
    ("stalled", Kind::Count),
];

/// Returns the columns of streams.
pub fn layout() -> Layout {
    Layout::new("streams", &STREAM)
}

/// Returns the row of a stream.
pub fn row(of: &CyclicStream) -> Vec<Cell> {
    let report = &of.report;
    let Order {
        missing,
        out_of_order,
        repeated,
        backwards,
        restarts,
        state_changes,
        missed_states,
    } = report.order;
    let Gaps { count, total_ns, min_ns, max_ns } = report.gaps;
    let name = String::from_utf8_lossy(&report.key.name).into_owned();
    let name = Some(name).filter(|name| of.has_names && !name.is_empty());
    let has_worst = report.worst.allowed_ns > 0;
    let worst = |nanos: u64| Cell::of(has_worst.then_some(nanos), Cell::Nanos);
    let counts = |counts: &[u64]| counts.iter().copied().map(Cell::Count).collect::<Vec<_>>();
    let mut row = vec![
        Cell::Time(report.first),
        Cell::Time(report.last),
        Cell::Text(report.key.protocol.name().to_owned()),
        Cell::Text(report.key.source.to_string()),
        Cell::Text(report.key.destination.to_string()),
        Cell::Count(report.key.identifier.into()),
        Cell::of(name, Cell::Text),
        Cell::of(report.tag.map(|tag| tag.priority().into()), Cell::Count),
        Cell::of(report.tag.map(|tag| tag.vlan().into()), Cell::Count),
    ];
    row.extend(counts(&[report.frames, report.samples, report.longest_octets, report.copies]));
    row.extend(counts(&[missing, out_of_order, repeated, backwards, restarts]));
    row.extend(counts(&[state_changes, missed_states, count]));
    row.extend([total_ns, min_ns, max_ns].map(Cell::Nanos));
    row.push(Cell::Count(report.silences));
    row.extend([worst(report.worst.gap_ns), worst(report.worst.allowed_ns)]);
    row.push(Cell::of(report.period_ns, Cell::Nanos));
    row.extend(deviations(report.deviations.map(|both| both.late)));
    row.extend(deviations(report.deviations.map(|both| both.early)));
    row.extend(counts(&[report.invalid, report.simulated]));
    row.push(Cell::Nanos(report.stamp_step_ns));
    row.extend(extra(StreamExtra::of(&report.extra)));
    row
}

/// Cells of what only some protocols have.
fn extra(of: StreamExtra) -> [Cell; 22] {
    let count = |count: Option<u64>| Cell::of(count, Cell::Count);
    let nanos = |nanos: Option<u64>| Cell::of(nanos, Cell::Nanos);
    [
        count(of.answered),
        count(of.unanswered),
        nanos(of.round_trip_p50_ns),
        nanos(of.round_trip_p99_ns),
        nanos(of.round_trip_max_ns),
        Cell::Count(of.low_working_counters),
        count(of.stamps),
        nanos(of.transit_late_p99_ns),
        nanos(of.transit_late_max_ns),
        nanos(of.transit_early_p99_ns),
        nanos(of.transit_early_max_ns),
        Cell::of(of.drift_ppb.map(|ppb| ppb as f64 / 1_000.0), Cell::Real),
        count(of.clock_steps),
        nanos(of.correction_p99_ns),
        nanos(of.correction_max_ns),
        nanos(of.peer_delay_p50_ns),
        nanos(of.peer_delay_max_ns),
        Cell::of(of.grandmaster, Cell::Text),
        count(of.clock_class.map(u64::from)),
        count(of.steps_removed.map(u64::from)),
        Cell::Count(of.grandmaster_changes),
        Cell::Count(of.stalled),
    ]
}

/// Cells of what gaps were longer or shorter by.
fn deviations(of: Option<Summary>) -> [Cell; 4] {
    let nanos = |nanos: Option<u64>| Cell::of(nanos, Cell::Nanos);
    [
        Cell::of(of.map(|of| of.count), Cell::Count),
        nanos(of.map(|of| of.p50_ns)),
        nanos(of.map(|of| of.p99_ns)),
        nanos(of.map(|of| of.max_ns)),
    ]
}
