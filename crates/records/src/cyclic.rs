//! Streams of cyclic data: their record.

use crate::findings::Grade;
use crate::item;
use core::cmp::Ordering;
use meter::{Gaps, Order, StreamReport, Worst};
use serde::{Deserialize, Serialize};
use wire::time::Instant;

/// Share of the period from which a frame is far late. A network for PROFINET is commonly accepted
/// only if its frames deviate by less than half of the update time.
const FAR_LATE: f64 = 0.5;

/// Stream of cyclic data, since measuring began.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CyclicStream {
    /// Protocol.
    pub protocol: String,
    /// Publisher.
    pub source: String,
    /// Station or group that it sends to.
    pub destination: String,
    /// APPID; of PROFINET the FrameID.
    pub identifier: u16,
    /// gocbRef or svID; null where there is none, and where names are left out.
    pub name: Option<String>,
    /// Priority of its last frame; none without a VLAN tag.
    pub priority: Option<u8>,
    /// VLAN of its last frame; none without a VLAN tag.
    pub vlan: Option<u16>,
    /// Frames, without copies.
    pub frames: u64,
    /// Samples in them; of other protocols their number.
    pub samples: u64,
    /// Octets of the longest frame.
    pub longest_octets: u64,
    /// Frames with the number of the frame before, right behind it: made by a mirror port.
    pub copies: u64,
    /// Frames that did not arrive, by their numbers.
    pub missing: u64,
    /// Frames that arrived behind a higher number.
    pub out_of_order: u64,
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
    /// Time that the last frame allowed until the next: as stated, or three periods; zero if unknown.
    pub allowed_ns: u64,
    /// Learnt period; null of GOOSE, and before 64 gaps.
    pub period_ns: Option<u64>,
    /// Gaps longer than the period; null without distributions, as the next ones.
    pub late_gaps: Option<u64>,
    /// Median of what these were longer by.
    pub late_p50_ns: Option<u64>,
    /// 99th percentile of it.
    pub late_p99_ns: Option<u64>,
    /// The most.
    pub late_max_ns: Option<u64>,
    /// Gaps shorter than the period.
    pub early_gaps: Option<u64>,
    /// Median of what these were shorter by.
    pub early_p50_ns: Option<u64>,
    /// 99th percentile of it.
    pub early_p99_ns: Option<u64>,
    /// The most.
    pub early_max_ns: Option<u64>,
    /// Learnt step of the counter, in the units of the protocol: 31.25 us of PROFINET.
    pub step: Option<u32>,
    /// Learnt samples in a second.
    pub samples_per_second: Option<u32>,
    /// Time of the first frame.
    pub first_ns: u64,
    /// Time of the last frame.
    pub last_ns: u64,
    /// True if no frame followed within that time before the measurement ended.
    pub silent_at_end: bool,
    /// Last state: stNum, smpSynch or DataStatus.
    pub state: u32,
    /// Frames with data that are not valid, or whose provider does not run.
    pub invalid: u64,
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

/// Streams of cyclic data so far, at the end of an interval or in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CyclicStreams {
    /// Number of the interval.
    pub index: Option<u64>,
    /// Sums over all streams since measuring began.
    pub totals: CyclicTotals,
    /// The worst streams.
    pub worst: Vec<CyclicStream>,
}

impl CyclicStreams {
    /// Converts an item of the recorder.
    pub(crate) fn of(item: &item::CyclicStreams) -> Self {
        let record = |it: &item::CyclicStream| CyclicStream::of(&it.report, it.until, it.has_names);
        let mut worst: Vec<CyclicStream> = item.followed.iter().map(record).collect();
        let mut totals = item.ended;
        worst.iter().for_each(|stream| totals.add(stream));
        worst.sort_by(CyclicStream::worse);
        worst.truncate(item.top);
        Self { index: item.index, totals, worst }
    }
}

/// Sums over all streams.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
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
    /// Frames with data that are not valid.
    pub invalid: u64,
    /// Streams with a frame that was late by half a period or more.
    pub far_late: u64,
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
            (&mut self.invalid, stream.invalid),
            (&mut self.far_late, stream.is_far_late().into()),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

impl CyclicStream {
    /// Converts a report of the meter; `until` is the time up to which it measured.
    pub(crate) fn of(report: &StreamReport, until: Instant, has_names: bool) -> Self {
        let Order { missing, out_of_order, repeated, backwards, restarts, .. } = report.order;
        let Gaps { count, total_ns, min_ns, max_ns } = report.gaps;
        let Worst { gap_ns, allowed_ns, at } = report.worst;
        let has_worst = allowed_ns > 0;
        let name = String::from_utf8_lossy(&report.key.name).into_owned();
        let deviations = report.deviations;
        let (longer, shorter) =
            (deviations.map(|both| both.late), deviations.map(|both| both.early));
        Self {
            protocol: report.key.protocol.name().to_owned(),
            source: report.key.source.to_string(),
            destination: report.key.destination.to_string(),
            identifier: report.key.identifier,
            name: (has_names && !name.is_empty()).then_some(name),
            priority: report.tag.map(|tag| tag.priority()),
            vlan: report.tag.map(|tag| tag.vlan()),
            frames: report.frames,
            samples: report.samples,
            longest_octets: report.longest_octets,
            copies: report.copies,
            missing,
            out_of_order,
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
            period_ns: report.period_ns,
            late_gaps: longer.map(|of| of.count),
            late_p50_ns: longer.map(|of| of.p50_ns),
            late_p99_ns: longer.map(|of| of.p99_ns),
            late_max_ns: longer.map(|of| of.max_ns),
            early_gaps: shorter.map(|of| of.count),
            early_p50_ns: shorter.map(|of| of.p50_ns),
            early_p99_ns: shorter.map(|of| of.p99_ns),
            early_max_ns: shorter.map(|of| of.max_ns),
            step: report.step,
            samples_per_second: report.rate,
            first_ns: report.first.as_nanos(),
            last_ns: report.last.as_nanos(),
            silent_at_end: report.is_silent(until),
            state: report.state,
            invalid: report.invalid,
            simulated: report.simulated,
            needs_commissioning: report.needs_commissioning,
            unsynchronised: report.unsynchronised,
            revision: report.revision,
            revisions_changed: report.revisions_changed,
        }
    }

    /// Short name: that of its control block or merging unit, or its number where it has none or names
    /// are left out.
    pub fn label(&self) -> String {
        let number = if self.is_profinet() { "FrameID" } else { "APPID" };
        self.name.clone().unwrap_or_else(|| format!("{number} {:04x}", self.identifier))
    }

    /// True of PROFINET.
    fn is_profinet(&self) -> bool {
        self.protocol == meter::Protocol::ProfinetRt.name()
    }

    /// Share of the time allowed that the worst gap used; none without gaps.
    pub fn used(&self) -> Option<f64> {
        Some(self.worst_gap_ns? as f64 / self.worst_allowed_ns? as f64)
    }

    /// Most that a frame was late, as a share of the period; none without a period.
    pub fn lateness(&self) -> Option<f64> {
        let period_ns = self.period_ns.filter(|period_ns| *period_ns > 0)?;
        Some(self.late_max_ns? as f64 / period_ns as f64)
    }

    /// True if a frame was late by half a period or more.
    pub fn is_far_late(&self) -> bool {
        self.lateness().is_some_and(|share| share >= FAR_LATE)
    }

    /// Severity of what is wrong with the stream; none if nothing is.
    pub fn grade(&self) -> Option<Grade> {
        let is_bad = self.silences > 0 || self.silent_at_end;
        let is_odd =
            self.missing > 0 || self.missed_states > 0 || self.invalid > 0 || self.is_far_late();
        if is_bad { Some(Grade::Bad) } else { is_odd.then_some(Grade::Look) }
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
