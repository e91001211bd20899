//! Streams of cyclic data as a table of 80 columns, the worst first.

use crate::quantity::{enough, span};
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
    /// The worst of those with measures that only some protocols have.
    special: Vec<CyclicStream>,
    all: u64,
    /// Least step of stamps.
    step_ns: Option<u64>,
}

/// Sorts streams, the worst first, and leaves out those that are not shown.
fn sort(streams: &mut Vec<CyclicStream>) {
    streams.sort_by(CyclicStream::worse);
    streams.truncate(SHOWN);
}

/// A time, or a stroke.
fn time(nanos: Option<u64>) -> String {
    nanos.map_or_else(|| "-".to_owned(), span)
}

impl WorstStreams {
    /// Creates an empty list.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), special: Vec::new(), all: 0, step_ns: None }
    }

    /// Adds a stream.
    pub(super) fn add(&mut self, stream: &CyclicStream) {
        self.all += 1;
        self.kept.push(stream.clone());
        let step = stream.stamp_step_ns.filter(|_| stream.frames > 1);
        self.step_ns = self.step_ns.into_iter().chain(step).min();
        if self.kept.len() >= KEPT {
            sort(&mut self.kept);
        }
        let extra = &stream.extra;
        let is_special = [extra.answered, extra.stamps, extra.on_a].iter().any(Option::is_some);
        if is_special || extra.grandmaster.is_some() {
            self.special.push(stream.clone());
        }
        if self.special.len() >= KEPT {
            sort(&mut self.special);
        }
    }

    /// Number of streams.
    pub(super) const fn count(&self) -> u64 {
        self.all
    }

    /// Returns the streams with the least time left; none if there were none.
    pub(super) fn table(&mut self) -> Option<String> {
        sort(&mut self.kept);
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
    pub(super) fn deviations(&mut self) -> Option<String> {
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
            table.row([
                shortened(&it.label(), NAME_COLUMNS),
                time(it.period_ns),
                time(enough(0.5, it.late_gaps.unwrap_or(0), it.late_p50_ns)),
                time(enough(0.99, it.late_gaps.unwrap_or(0), it.late_p99_ns)),
                time(it.late_max_ns),
                time(it.early_max_ns),
                it.lateness()
                    .map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0)),
            ]);
        }
        (!is_empty).then(|| table.to_string())
    }

    /// Returns the step of the stamps from which the times of the streams are; none without streams.
    pub(super) fn steps(&self) -> Option<String> {
        Some(format!("in steps of {}", span(self.step_ns?)))
    }

    /// Returns the answers to frames of these streams: EtherCAT frames that came back, and responses of
    /// PTP; none without any.
    pub(super) fn answers(&mut self) -> Option<String> {
        sort(&mut self.special);
        let mut table = Table::new([
            ("answers to", Align::Left),
            ("answered", Align::Right),
            ("not", Align::Right),
            ("p50", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
            ("WKC low", Align::Right),
        ]);
        let mut is_empty = true;
        for it in self.special.iter().filter(|it| it.extra.answered.is_some()) {
            is_empty = false;
            let answered = it.extra.answered.unwrap_or(0);
            let count = |count: Option<u64>| count.unwrap_or(0).to_string();
            table.row([
                shortened(&it.label(), NAME_COLUMNS),
                count(it.extra.answered),
                count(it.extra.unanswered),
                time(enough(0.5, answered, it.extra.round_trip_p50_ns)),
                time(enough(0.99, answered, it.extra.round_trip_p99_ns)),
                time(it.extra.round_trip_max_ns),
                it.extra.low_working_counters.to_string(),
            ]);
        }
        (!is_empty).then(|| table.to_string())
    }

    /// Returns the clocks of senders against that of the tap; none without any.
    pub(super) fn clocks(&mut self) -> Option<String> {
        sort(&mut self.special);
        let mut table = Table::new([
            ("transit of", Align::Left),
            ("stamps", Align::Right),
            ("late p99", Align::Right),
            ("max", Align::Right),
            ("drift ppm", Align::Right),
            ("steps", Align::Right),
            ("correction", Align::Right),
        ]);
        let mut is_empty = true;
        for it in &self.special {
            let Some(stamps) = it.extra.stamps else { continue };
            is_empty = false;
            let drift = it.extra.drift_ppb.map(|ppb| match ppb {
                -49..=49 => "0.0".to_owned(),
                _ => format!("{:.1}", ppb as f64 / 1_000.0),
            });
            table.row([
                shortened(&it.label(), NAME_COLUMNS),
                stamps.to_string(),
                time(enough(0.99, stamps, it.extra.transit_late_p99_ns)),
                time(it.extra.transit_late_max_ns),
                drift.unwrap_or_else(|| "-".to_owned()),
                it.extra.clock_steps.unwrap_or(0).to_string(),
                time(it.extra.correction_max_ns),
            ]);
        }
        (!is_empty).then(|| table.to_string())
    }

    /// Returns the frames of nodes of PRP and HSR by LAN or direction; none without any.
    pub(super) fn redundancy(&mut self) -> Option<String> {
        sort(&mut self.special);
        let mut table = Table::new([
            ("redundancy of", Align::Left),
            ("on A", Align::Right),
            ("on B", Align::Right),
            ("A only", Align::Right),
            ("B only", Align::Right),
            ("skew p50", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
        ]);
        let mut is_empty = true;
        for it in self.special.iter().filter(|it| it.extra.on_a.is_some()) {
            is_empty = false;
            let count = |count: Option<u64>| count.unwrap_or(0).to_string();
            let pairs = it.extra.on_a.unwrap_or(0).saturating_sub(it.extra.lone_a.unwrap_or(0));
            table.row([
                it.source.clone(),
                count(it.extra.on_a),
                count(it.extra.on_b),
                count(it.extra.lone_a),
                count(it.extra.lone_b),
                time(enough(0.5, pairs, it.extra.skew_p50_ns)),
                time(enough(0.99, pairs, it.extra.skew_p99_ns)),
                time(it.extra.skew_max_ns),
            ]);
        }
        (!is_empty).then(|| table.to_string())
    }

    /// Returns the grandmasters that are announced; none without any.
    pub(super) fn grandmasters(&mut self) -> Option<String> {
        sort(&mut self.special);
        let mut table = Table::new([
            ("grandmaster", Align::Left),
            ("announced by", Align::Left),
            ("class", Align::Right),
            ("steps", Align::Right),
            ("changes", Align::Right),
        ]);
        let mut is_empty = true;
        for it in &self.special {
            let Some(grandmaster) = &it.extra.grandmaster else { continue };
            is_empty = false;
            table.row([
                grandmaster.clone(),
                it.source.clone(),
                it.extra.clock_class.unwrap_or(0).to_string(),
                it.extra.steps_removed.unwrap_or(0).to_string(),
                it.extra.grandmaster_changes.to_string(),
            ]);
        }
        (!is_empty).then(|| table.to_string())
    }
}
