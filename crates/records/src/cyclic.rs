//! Streams of cyclic data: their record.

use crate::findings::Grade;
use crate::stream_extra::StreamExtra;
use core::cmp::{Ordering, Reverse};
use meter::{Gaps, Order, Protocol, StreamFigures, StreamReport, Worst};
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
    /// APPID; of PROFINET the FrameID, of EtherCAT the command, of PTP the domain, of CIP I/O
    /// the connection.
    pub identifier: u32,
    /// gocbRef, svID, process data of EtherCAT, message and port of PTP; null where there is none, and where names are left out.
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
    /// Frames that did not arrive, by their numbers; of EtherCAT, those that did not come back.
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
    /// Last state: stNum, smpSynch, DataStatus, AL status or run header; of Announce clockClass by 65,536 and
    /// stepsRemoved.
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
    /// Step of the stamps: its first 64 times are multiples of it; null in older streams.
    pub stamp_step_ns: Option<u64>,
    /// Measures that only some protocols have.
    #[serde(flatten)]
    pub extra: StreamExtra,
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
    /// Figures of these streams in the interval; empty in older streams.
    #[serde(default)]
    pub in_interval: Vec<StreamInterval>,
}

/// Figures of a stream of cyclic data in an interval.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StreamInterval {
    /// Protocol.
    pub protocol: String,
    /// Publisher.
    pub source: String,
    /// Station or group that it sends to.
    pub destination: String,
    /// APPID, FrameID and so on, as of the stream.
    pub identifier: u32,
    /// Name; null where the stream has none.
    pub name: Option<String>,
    /// Frames, without copies.
    pub frames: u64,
    /// Frames that did not arrive, by their numbers.
    pub missing: u64,
    /// Gaps longer than allowed.
    pub silences: u64,
    /// Gaps that ended.
    pub gaps: u64,
    /// Sum of the gaps.
    pub gap_total_ns: u64,
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
}

impl StreamInterval {
    /// Figures of a report, whose stream has this record.
    pub(crate) fn of(report: &StreamReport, stream: &CyclicStream) -> Self {
        let StreamFigures { frames, missing, silences, gaps, gap_total_ns, deviations } =
            report.in_interval;
        let (late, early) = (deviations.map(|both| both.late), deviations.map(|both| both.early));
        Self {
            protocol: stream.protocol.clone(),
            source: stream.source.clone(),
            destination: stream.destination.clone(),
            identifier: stream.identifier,
            name: stream.name.clone(),
            frames,
            missing,
            silences,
            gaps,
            gap_total_ns,
            late_gaps: late.map(|of| of.count),
            late_p50_ns: late.map(|of| of.p50_ns),
            late_p99_ns: late.map(|of| of.p99_ns),
            late_max_ns: late.map(|of| of.max_ns),
            early_gaps: early.map(|of| of.count),
            early_p50_ns: early.map(|of| of.p50_ns),
            early_p99_ns: early.map(|of| of.p99_ns),
            early_max_ns: early.map(|of| of.max_ns),
        }
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
    /// EtherCAT frames that came back with a working counter too low; zero in older streams, as the next
    /// ones.
    #[serde(default)]
    pub low_working_counters: u64,
    /// EtherCAT frames that did not come back, which are among the missing ones.
    #[serde(default)]
    pub not_returned: u64,
    /// Requests of PTP and POWERLINK without an answer.
    #[serde(default)]
    pub unanswered: u64,
    /// Changes of a grandmaster.
    #[serde(default)]
    pub grandmaster_changes: u64,
    /// Frames with the data of the frame before.
    #[serde(default)]
    pub stalled: u64,
    /// Frames of PRP or HSR on one LAN only.
    #[serde(default)]
    pub lone: u64,
}

/// Number of sums over streams.
const SUMS: usize = 17;

impl CyclicTotals {
    /// Sums, in the order of [`CyclicStream::parts`].
    const fn sums(&mut self) -> [&mut u64; SUMS] {
        [
            &mut self.streams,
            &mut self.silent_at_end,
            &mut self.frames,
            &mut self.missing,
            &mut self.gaps,
            &mut self.silences,
            &mut self.state_changes,
            &mut self.missed_states,
            &mut self.simulated,
            &mut self.invalid,
            &mut self.far_late,
            &mut self.low_working_counters,
            &mut self.not_returned,
            &mut self.unanswered,
            &mut self.grandmaster_changes,
            &mut self.stalled,
            &mut self.lone,
        ]
    }

    /// Adds a stream; sums saturate.
    pub(crate) fn add(&mut self, stream: &CyclicStream) {
        for (sum, more) in self.sums().into_iter().zip(stream.parts()) {
            *sum = sum.saturating_add(more);
        }
    }
}

/// Sums from which streams are subtracted again. They do not overflow: the meter follows fewer than 2^64
/// streams.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sums([u128; SUMS]);

impl Sums {
    /// Adds a stream.
    pub(crate) fn add(&mut self, stream: &CyclicStream) {
        self.0.iter_mut().zip(stream.parts()).for_each(|(sum, more)| *sum += u128::from(more));
    }

    /// Subtracts a stream that was added.
    pub(crate) fn subtract(&mut self, stream: &CyclicStream) {
        self.0.iter_mut().zip(stream.parts()).for_each(|(sum, less)| *sum -= u128::from(less));
    }

    /// Adds these sums to totals, which saturate.
    pub(crate) fn and(&self, mut totals: CyclicTotals) -> CyclicTotals {
        for (sum, more) in totals.sums().into_iter().zip(self.0) {
            *sum = sum.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        }
        totals
    }
}

/// Badness of a stream: the worst is the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Badness {
    is_silent: Reverse<bool>,
    is_low: Reverse<bool>,
    /// Bits of the share that the worst gap used, in the order of [`f64::total_cmp`].
    used: Reverse<i64>,
    missing: Reverse<u64>,
}

impl CyclicStream {
    /// Converts a report of the meter; `until` is the time up to which it measured.
    pub(crate) fn of(report: &StreamReport, until: Instant, has_names: bool) -> Self {
        Self::figures(report, until).named(report, has_names)
    }

    /// The record of figures of this report with ends and name.
    pub(crate) fn named(&self, report: &StreamReport, has_names: bool) -> Self {
        let name = String::from_utf8_lossy(&report.key.name).into_owned();
        Self {
            source: report.key.source.to_string(),
            destination: report.key.destination.to_string(),
            name: (has_names && !name.is_empty()).then_some(name),
            ..self.clone()
        }
    }

    /// Record without ends and name, which take most of the time.
    pub(crate) fn figures(report: &StreamReport, until: Instant) -> Self {
        let Order { missing, out_of_order, repeated, backwards, restarts, .. } = report.order;
        let Gaps { count, total_ns, min_ns, max_ns } = report.gaps;
        let Worst { gap_ns, allowed_ns, at } = report.worst;
        let has_worst = allowed_ns > 0;
        let deviations = report.deviations;
        let (longer, shorter) =
            (deviations.map(|both| both.late), deviations.map(|both| both.early));
        Self {
            protocol: report.key.protocol.name().to_owned(),
            source: String::new(),
            destination: String::new(),
            identifier: report.key.identifier,
            name: None,
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
            stamp_step_ns: Some(report.stamp_step_ns),
            extra: StreamExtra::of(&report.extra),
        }
    }

    /// Short name: that of its control block, merging unit, process data or message, or its number where it
    /// has none or names are left out.
    pub fn label(&self) -> String {
        let number = || {
            let number = match self.protocol() {
                Some(Protocol::ProfinetRt) => "FrameID",
                Some(Protocol::EtherCat) => "command",
                Some(Protocol::Ptp) => "domain",
                Some(Protocol::CipIo) => "id",
                Some(Protocol::Uadp | Protocol::CcLink) => "group",
                Some(Protocol::Avtp) => "subtype",
                Some(Protocol::Powerlink | Protocol::Prp | Protocol::Hsr) => "node",
                Some(Protocol::SomeIp) => "message",
                Some(Protocol::Load) => "flow",
                Some(Protocol::Goose | Protocol::SampledValues) | None => "APPID",
            };
            format!("{number} {:04x}", self.identifier)
        };
        match (&self.name, self.protocol()) {
            (Some(name), Some(Protocol::Ptp)) => of_message(name),
            (Some(name), _) => name.clone(),
            (None, _) => number(),
        }
    }

    /// Protocol, if it is known here.
    fn protocol(&self) -> Option<Protocol> {
        Protocol::ALL.into_iter().find(|protocol| protocol.name() == self.protocol)
    }

    /// Requests of PTP and POWERLINK without an answer.
    pub(crate) fn unanswered_requests(&self) -> u64 {
        self.extra.unanswered.filter(|_| !self.is_ethercat()).unwrap_or(0)
    }

    /// Frames of EtherCAT that did not come back.
    pub(crate) fn not_returned(&self) -> u64 {
        self.extra.unanswered.filter(|_| self.is_ethercat()).unwrap_or(0)
    }

    fn is_ethercat(&self) -> bool {
        self.protocol == Protocol::EtherCat.name()
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
        let StreamExtra { low_working_counters, grandmaster_changes, stalled, .. } = self.extra;
        let is_bad = self.silences > 0 || self.silent_at_end || low_working_counters > 0;
        let is_odd = [
            self.missing,
            self.missed_states,
            self.invalid,
            self.is_far_late().into(),
            self.unanswered_requests(),
            grandmaster_changes,
            stalled,
            self.extra.lone(),
        ]
        .into_iter()
        .any(|count| count > 0);
        if is_bad { Some(Grade::Bad) } else { is_odd.then_some(Grade::Look) }
    }

    /// Parts of a stream in the sums of [`CyclicTotals`].
    fn parts(&self) -> [u64; SUMS] {
        [
            1,
            self.silent_at_end.into(),
            self.frames,
            self.missing,
            self.gaps,
            self.silences,
            self.state_changes,
            self.missed_states,
            self.simulated,
            self.invalid,
            self.is_far_late().into(),
            self.extra.low_working_counters,
            self.not_returned(),
            self.unanswered_requests(),
            self.extra.grandmaster_changes,
            self.extra.stalled,
            self.extra.lone(),
        ]
    }

    pub(crate) fn badness(&self) -> Badness {
        let bits = self.used().unwrap_or(0.0).to_bits() as i64;
        // Of a negative number all bits but the sign are inverted.
        let used = bits ^ (bits >> 63) & i64::MAX;
        Badness {
            is_silent: Reverse(self.silent_at_end),
            is_low: Reverse(self.extra.low_working_counters > 0),
            used: Reverse(used),
            missing: Reverse(self.missing),
        }
    }

    /// Orders streams, the worst first: silent at the end, then those with a working counter too low, then
    /// by the share of time that the worst gap used, then by missing frames.
    pub fn worse(&self, other: &Self) -> Ordering {
        self.badness().cmp(&other.badness())
    }
}

/// Message of PTP and the end of the clock's identity: `Sync 0a01`.
fn of_message(name: &str) -> String {
    let (message, port) = name.split_once(' ').unwrap_or((name, ""));
    let clock = port.split_once('-').map_or(port, |(clock, _)| clock);
    let end = clock.len().checked_sub(4).and_then(|from| clock.get(from..)).unwrap_or(clock);
    format!("{message} {end}")
}
