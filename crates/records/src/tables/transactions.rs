//! Requests and replies as rows.

use super::table::{Cell, Kind, Layout};
use meter::measure::Summary;
use meter::{TransactionCounts, TransactionFigures, TransactionReport};

/// Columns of a function.
const FUNCTION: [(&str, Kind); 33] = [
    ("start", Kind::Time),
    ("last", Kind::Time),
    ("protocol", Kind::Text),
    ("server", Kind::Text),
    ("unit", Kind::Count),
    ("function", Kind::Count),
    ("function_name", Kind::Text),
    ("requests", Kind::Count),
    ("retries", Kind::Count),
    ("replies", Kind::Count),
    ("exceptions", Kind::Count),
    ("unanswered", Kind::Count),
    ("outstanding", Kind::Count),
    ("most_outstanding", Kind::Count),
    ("ambiguous", Kind::Count),
    ("repeated", Kind::Count),
    ("late", Kind::Count),
    ("unrequested", Kind::Count),
    ("dropped", Kind::Count),
    ("polls_dropped", Kind::Count),
    ("responses", Kind::Count),
    ("response_total", Kind::Span),
    ("response_mean", Kind::Span),
    ("response_min", Kind::Span),
    ("response_p50", Kind::Span),
    ("response_p99", Kind::Span),
    ("response_max", Kind::Span),
    ("periods", Kind::Count),
    ("period_total", Kind::Span),
    ("period_min", Kind::Span),
    ("period_p50", Kind::Span),
    ("period_p99", Kind::Span),
    ("period_max", Kind::Span),
];

/// Returns the columns of requests and replies.
pub fn layout() -> Layout {
    Layout::new("transactions", &FUNCTION)
}

/// Returns the row of a function.
pub fn row(of: &TransactionReport) -> Vec<Cell> {
    let TransactionReport { key, first, last, outstanding, all, .. } = of;
    let TransactionFigures { counts, responses, periods } = all;
    let TransactionCounts { requests, retries, replies, exceptions, unanswered, .. } = *counts;
    let TransactionCounts { most_outstanding, ambiguous, repeated, late, unrequested, .. } =
        *counts;
    let name = key.protocol.function_name(key.function);
    let mut row = vec![
        Cell::Time(*first),
        Cell::Time(*last),
        Cell::Text(key.protocol.name().to_owned()),
        Cell::Text(key.server.to_string()),
        Cell::Count(key.unit.into()),
        Cell::Count(key.function.into()),
        Cell::of(name.map(ToOwned::to_owned), Cell::Text),
    ];
    let counts = [
        requests,
        retries,
        replies,
        exceptions,
        unanswered,
        *outstanding,
        most_outstanding,
        ambiguous,
        repeated,
        late,
        unrequested,
        counts.dropped,
        counts.polls_dropped,
    ];
    row.extend(counts.map(Cell::Count));
    row.extend([Cell::Count(responses.count), Cell::Nanos(responses.total_ns)]);
    row.push(Cell::of(responses.total_ns.checked_div(responses.count), Cell::Nanos));
    row.extend(times(responses));
    row.extend([Cell::Count(periods.count), Cell::Nanos(periods.total_ns)]);
    row.extend(times(periods));
    row
}

/// Cells of times; unset without any.
fn times(of: &Summary) -> [Cell; 4] {
    let Summary { count, min_ns, p50_ns, p99_ns, max_ns, .. } = *of;
    [min_ns, p50_ns, p99_ns, max_ns]
        .map(|nanos| Cell::of((count > 0).then_some(nanos), Cell::Nanos))
}
