//! Streams of cyclic data as a table of 80 columns, the worst first.

use crate::quantity::span;
use crate::table::{Align, Table};
use core::fmt::Write as _;
use records::{CyclicStream, shortened};

/// Number of streams in the table.
const SHOWN: usize = 10;
/// Number of streams kept for it.
const KEPT: usize = 64;
/// Columns for the name of a stream.
const NAME_COLUMNS: usize = 16;

/// The worst streams of all reported.
pub(super) struct WorstStreams {
    kept: Vec<CyclicStream>,
    all: u64,
}

impl WorstStreams {
    /// Creates an empty list.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0 }
    }

    /// Adds a stream.
    pub(super) fn add(&mut self, stream: &CyclicStream) {
        self.all += 1;
        self.kept.push(stream.clone());
        if self.kept.len() >= KEPT {
            self.sort();
        }
    }

    /// Number of streams.
    pub(super) const fn count(&self) -> u64 {
        self.all
    }

    fn sort(&mut self) {
        self.kept.sort_by(CyclicStream::worse);
        self.kept.truncate(SHOWN);
    }

    /// Returns the streams with the least time left; none if there were none.
    pub(super) fn table(&mut self) -> Option<String> {
        self.sort();
        let mut table = Table::new([
            ("publisher", Align::Left),
            ("stream", Align::Left),
            ("frames", Align::Right),
            ("missing", Align::Right),
            ("silent", Align::Right),
            ("worst", Align::Right),
            ("allowed", Align::Right),
        ]);
        for it in &self.kept {
            let time = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), span);
            let end = if it.silent_at_end { "+end" } else { "" };
            table.row([
                it.source.clone(),
                shortened(&it.label(), NAME_COLUMNS),
                it.frames.to_string(),
                it.missing.to_string(),
                format!("{}{end}", it.silences),
                time(it.worst_gap_ns),
                time(it.worst_allowed_ns),
            ]);
        }
        let mut text = table.to_string();
        let more = self.all - self.kept.len() as u64;
        if more > 0 {
            let _ = write!(text, "\n  and {more} more streams");
        }
        (!self.kept.is_empty()).then_some(text)
    }

    /// Returns the deviations of these streams from their periods; none without a learnt period.
    pub(super) fn deviations(&self) -> Option<String> {
        let mut table = Table::new([
            ("deviation of", Align::Left),
            ("period", Align::Right),
            ("late p50", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
            ("early max", Align::Right),
            ("late of period", Align::Right),
        ]);
        let mut is_empty = true;
        for it in self.kept.iter().filter(|it| it.late_gaps.is_some()) {
            is_empty = false;
            let time = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), span);
            table.row([
                shortened(&it.label(), NAME_COLUMNS),
                time(it.period_ns),
                time(it.late_p50_ns),
                time(it.late_p99_ns),
                time(it.late_max_ns),
                time(it.early_max_ns),
                it.lateness()
                    .map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0)),
            ]);
        }
        (!is_empty).then(|| table.to_string())
    }
}
