//! Streams of cyclic data: their record.

use core::cmp::Ordering;
use meter::{Gaps, Order, StreamReport, Worst};
use serde::{Deserialize, Serialize};
use wire::time::Instant;

/// Stream of cyclic data, since measuring began.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CyclicStream {
    /// Protocol.
    pub protocol: String,
    /// Publisher.
    pub source: String,
    /// Group that it sends to.
    pub destination: String,
    /// APPID.
    pub appid: u16,
    /// Reference of the control block (gocbRef); null where names are left out.
    pub name: Option<String>,
    /// Priority of its last frame; none without a VLAN tag.
    pub priority: Option<u8>,
    /// VLAN of its last frame; none without a VLAN tag.
    pub vlan: Option<u16>,
    /// Frames, without copies.
    pub frames: u64,
    /// Octets of the longest frame.
    pub longest_octets: u64,
    /// Frames with the numbers of the frame before, at most 1 ms behind it.
    pub copies: u64,
    /// Frames that did not arrive, by their numbers.
    pub missing: u64,
    /// Frames that arrived behind a higher number.
    pub late: u64,
    /// Frames with the number of an earlier one.
    pub repeated: u64,
    /// Frames with lower numbers than expected: late or replayed.
    pub backwards: u64,
    /// Times that the publisher began to count anew.
    pub restarts: u64,
    /// Changes of state.
    pub state_changes: u64,
    /// States of which no frame arrived.
    pub missed_states: u64,
    /// Gaps between frames.
    pub gaps: u64,
    /// Sum of the gaps.
    pub gap_total_ns: u64,
    /// Shortest gap.
    pub gap_min_ns: u64,
    /// Longest gap.
    pub gap_max_ns: u64,
    /// Gaps longer than the time that the frame before allowed.
    pub silences: u64,
    /// Gap that used most of the time allowed; none without gaps.
    pub worst_gap_ns: Option<u64>,
    /// Time that was allowed for it.
    pub worst_allowed_ns: Option<u64>,
    /// Time of the frame that ended it.
    pub worst_at_ns: Option<u64>,
    /// Time that the last frame allowed until the next.
    pub allowed_ns: u64,
    /// Time of the first frame.
    pub first_ns: u64,
    /// Time of the last frame.
    pub last_ns: u64,
    /// True if no frame followed within that time before the measurement ended.
    pub silent_at_end: bool,
    /// Number of the last state.
    pub state: u32,
    /// Frames marked as simulated, or as a test.
    pub simulated: u64,
    /// Frames of a control block that needs commissioning.
    pub needs_commissioning: u64,
    /// Frames of a publisher without a synchronised clock.
    pub unsynchronised: u64,
    /// Revision of the data set's configuration.
    pub revision: u32,
    /// Changes of the revision.
    pub revisions_changed: u64,
}

/// Sums over all streams.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CyclicTotals {
    /// Streams.
    pub streams: u64,
    /// Streams without a frame in time before the end.
    pub silent_at_end: u64,
    /// Frames.
    pub frames: u64,
    /// Missing frames.
    pub missing: u64,
    /// Gaps.
    pub gaps: u64,
    /// Gaps longer than allowed.
    pub silences: u64,
    /// Changes of state that were seen.
    pub state_changes: u64,
    /// States of which no frame arrived.
    pub missed_states: u64,
    /// Frames marked as simulated, or as a test.
    pub simulated: u64,
}

impl CyclicTotals {
    /// Adds a stream; sums saturate.
    pub(crate) fn add(&mut self, stream: &CyclicStream) {
        for (sum, more) in [
            (&mut self.streams, 1),
            (&mut self.silent_at_end, stream.silent_at_end.into()),
            (&mut self.frames, stream.frames),
            (&mut self.missing, stream.missing),
            (&mut self.gaps, stream.gaps),
            (&mut self.silences, stream.silences),
            (&mut self.state_changes, stream.state_changes),
            (&mut self.missed_states, stream.missed_states),
            (&mut self.simulated, stream.simulated),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

impl CyclicStream {
    /// Converts a report of the meter; `until` is the time up to which it measured.
    pub(crate) fn of(report: &StreamReport, until: Instant, has_names: bool) -> Self {
        let Order { missing, late, repeated, backwards, restarts, .. } = report.order;
        let Gaps { count, total_ns, min_ns, max_ns } = report.gaps;
        let Worst { gap_ns, allowed_ns, at } = report.worst;
        let has_worst = allowed_ns > 0;
        let name = String::from_utf8_lossy(&report.key.control_block).into_owned();
        Self {
            protocol: "GOOSE".to_owned(),
            source: report.key.source.to_string(),
            destination: report.key.destination.to_string(),
            appid: report.key.appid,
            name: has_names.then_some(name),
            priority: report.tag.map(|tag| tag.priority()),
            vlan: report.tag.map(|tag| tag.vlan()),
            frames: report.frames,
            longest_octets: report.longest_octets,
            copies: report.copies,
            missing,
            late,
            repeated,
            backwards,
            restarts,
            state_changes: report.order.state_changes,
            missed_states: report.order.missed_states,
            gaps: count,
            gap_total_ns: total_ns,
            gap_min_ns: min_ns,
            gap_max_ns: max_ns,
            silences: report.silences,
            worst_gap_ns: has_worst.then_some(gap_ns),
            worst_allowed_ns: has_worst.then_some(allowed_ns),
            worst_at_ns: has_worst.then_some(at.as_nanos()),
            allowed_ns: report.allowed_ns,
            first_ns: report.first.as_nanos(),
            last_ns: report.last.as_nanos(),
            silent_at_end: report.is_silent(until),
            state: report.state_number,
            simulated: report.simulated,
            needs_commissioning: report.needs_commissioning,
            unsynchronised: report.unsynchronised,
            revision: report.revision,
            revisions_changed: report.revisions_changed,
        }
    }

    /// Short name: that of its control block, or its APPID where names are left out.
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("APPID {:04x}", self.appid))
    }

    /// Share of the time allowed that the worst gap used; none without gaps.
    pub fn used(&self) -> Option<f64> {
        Some(self.worst_gap_ns? as f64 / self.worst_allowed_ns? as f64)
    }

    /// Orders streams, the worst first: silent at the end, then by the share of time that the worst
    /// gap used, then by missing frames.
    pub fn worse(&self, other: &Self) -> Ordering {
        let used = |it: &Self| it.used().unwrap_or(0.0);
        let by_end = other.silent_at_end.cmp(&self.silent_at_end);
        by_end
            .then_with(|| used(other).total_cmp(&used(self)))
            .then_with(|| other.missing.cmp(&self.missing))
    }
}
