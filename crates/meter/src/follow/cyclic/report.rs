//! Report of a stream: its identity, and what was measured.

use super::NAME_OCTETS;
use super::extra::Extra;
use super::frame::Protocol;
use super::numbers::Order;
use super::station::Station;
use crate::follow::period::Deviations;
use crate::follow::quantiles::DeviationQuantile;
use std::sync::Arc;
use wire::goose;
use wire::mac::Tag;
use wire::time::Instant;

/// Identity of a stream.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamKey {
    /// Protocol.
    pub protocol: Protocol,
    /// Publisher.
    pub source: Station,
    /// Station or group that it sends to.
    pub destination: Station,
    /// APPID; of PROFINET the FrameID, of EtherCAT the command, of PTP the domain, of CIP
    /// I/O the connection.
    pub identifier: u32,
    /// gocbRef or svID, at most 129 octets of it; process data of EtherCAT; message and port of PTP; empty
    /// for PROFINET and CIP I/O.
    pub name: Box<[u8]>,
}

/// Gaps between frames, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Gaps {
    /// Number of gaps.
    pub count: u64,
    /// Sum.
    pub total_ns: u64,
    /// Shortest.
    pub min_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

/// Gap that used most of the time it had.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Worst {
    /// The gap.
    pub gap_ns: u64,
    /// Time that the frame before it allowed; zero if no such gap is known.
    pub allowed_ns: u64,
    /// Time of the frame that ended it.
    pub at: Instant,
}

/// Labels in the frames of a control block of GOOSE, each at most 129 octets of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Labels {
    /// datSet: reference of the data set.
    pub data_set: Box<[u8]>,
    /// goID: identifier of the application; none if frames have none.
    pub identifier: Option<Box<[u8]>>,
    /// numDatSetEntries: number of values.
    pub entries: u32,
}

impl Labels {
    /// Labels of a frame.
    fn of(pdu: &goose::Pdu<'_>) -> Self {
        Self {
            data_set: cut(pdu.data_set).into(),
            identifier: pdu.identifier.map(|identifier| cut(identifier).into()),
            entries: pdu.entries,
        }
    }

    fn is_of(&self, pdu: &goose::Pdu<'_>) -> bool {
        *self.data_set == *cut(pdu.data_set)
            && self.identifier.as_deref() == pdu.identifier.map(cut)
            && self.entries == pdu.entries
    }
}

fn cut(name: &[u8]) -> &[u8] {
    name.get(..NAME_OCTETS).unwrap_or(name)
}

/// Figures of a stream in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamFigures {
    /// Frames, without copies.
    pub frames: u64,
    /// Frames that were found missing; those that arrive late in a later interval stay.
    pub missing: u64,
    /// Gaps longer than the time that the frame before allowed.
    pub silences: u64,
    /// Gaps that ended.
    pub gaps: u64,
    /// Their sum, in nanoseconds.
    pub gap_total_ns: u64,
    /// Deviations from the period; none without a period or without room for distributions.
    pub deviations: Option<Deviations>,
}

/// Stream of cyclic frames, since measuring began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamReport {
    /// Identity.
    pub key: StreamKey,
    /// Outer VLAN tag of its last frame.
    pub tag: Option<Tag>,
    /// Frames, without copies.
    pub frames: u64,
    /// Samples in them; of other protocols their number.
    pub samples: u64,
    /// Octets of the longest frame, without FCS.
    pub longest_octets: u64,
    /// Frames that followed a frame with the same numbers within 1 ms.
    pub copies: u64,
    /// Order of the frames; of EtherCAT, those that did not come back are missing.
    pub order: Order,
    /// Gaps between frames.
    pub gaps: Gaps,
    /// Gaps longer than the time that the frame before allowed.
    pub silences: u64,
    /// Gap that used most of its time.
    pub worst: Worst,
    /// Time that the last frame allowed, in nanoseconds: timeAllowedtoLive, or three periods; zero if
    /// neither is known.
    pub allowed_ns: u64,
    /// Learnt period, in nanoseconds; none of GOOSE, and before it is learnt.
    pub period_ns: Option<u64>,
    /// Deviations from the period; none before it is learnt, and of a stream that
    /// learnt it while more than 4,096 were followed.
    pub deviations: Option<Deviations>,
    /// Quantiles of these deviations, once the stream or measuring ended; empty without any.
    pub quantiles: Vec<DeviationQuantile>,
    /// Learnt step of its counter, in the units of the protocol.
    pub step: Option<u32>,
    /// Learnt samples in a second, of a merging unit.
    pub rate: Option<u32>,
    /// Time of the first frame.
    pub first: Instant,
    /// Time of the last frame.
    pub last: Instant,
    /// Last state: stNum, smpSynch, DataStatus, AL status, run header; of an Announce class by 65,536 and stepsRemoved.
    pub state: u32,
    /// Frames that are marked as simulated or as a test.
    pub simulated: u64,
    /// Frames with data that are not valid, or whose provider does not run.
    pub invalid: u64,
    /// Frames of a control block that needs commissioning.
    pub needs_commissioning: u64,
    /// Frames whose publisher had no synchronised clock.
    pub unsynchronised: u64,
    /// confRev of the last frame.
    pub revision: u32,
    /// Changes of confRev.
    pub revisions_changed: u64,
    /// Step of the stamps: the greatest power of ten, in nanoseconds and up to a second, of which the
    /// times of the first 64 frames are multiples.
    pub stamp_step_ns: u64,
    /// Labels of its last frame; none of other protocols than GOOSE.
    pub labels: Option<Arc<Labels>>,
    /// Measures that only some protocols have.
    pub extra: Extra,
    /// Figures in the interval under way, which [`crate::Meter::begin_stream_interval`] begins.
    pub in_interval: StreamFigures,
}

impl StreamFigures {
    /// Figures so far.
    pub(super) fn of(report: &StreamReport, missing: u64) -> Self {
        Self {
            frames: report.frames,
            missing,
            silences: report.silences,
            gaps: report.gaps.count,
            gap_total_ns: report.gaps.total_ns,
            deviations: None,
        }
    }
}

impl StreamReport {
    /// True if the stream has been silent at `now` for longer than its last frame allowed.
    #[must_use]
    pub fn is_silent(&self, now: Instant) -> bool {
        self.allowed_ns > 0 && now.as_nanos().saturating_sub(self.last.as_nanos()) > self.allowed_ns
    }
}

impl StreamReport {
    /// Takes the labels of a frame of GOOSE.
    pub(super) fn label(&mut self, pdu: &goose::Pdu<'_>) {
        if !self.labels.as_ref().is_some_and(|labels| labels.is_of(pdu)) {
            self.labels = Some(Arc::new(Labels::of(pdu)));
        }
    }

    /// Adds a gap that a frame at this time ended.
    pub(super) fn gap(&mut self, gap_ns: u64, at: Instant) {
        let Gaps { count, total_ns, min_ns, max_ns } = self.gaps;
        self.gaps = Gaps {
            count: count + 1,
            total_ns: total_ns.saturating_add(gap_ns),
            min_ns: if count == 0 { gap_ns } else { min_ns.min(gap_ns) },
            max_ns: max_ns.max(gap_ns),
        };
        let allowed_ns = self.allowed_ns;
        if allowed_ns == 0 {
            return;
        }
        self.silences += u64::from(gap_ns > allowed_ns);
        let share = |gap: u64, of: u64| u128::from(gap) * u128::from(of);
        let is_first = self.worst.allowed_ns == 0;
        if is_first || share(gap_ns, self.worst.allowed_ns) > share(self.worst.gap_ns, allowed_ns) {
            self.worst = Worst { gap_ns, allowed_ns, at };
        }
    }

    /// Learns the step of the stamps from the time of a frame.
    pub(super) fn learn_step(&mut self, at: Instant) {
        while self.stamp_step_ns > 1 && !at.as_nanos().is_multiple_of(self.stamp_step_ns) {
            self.stamp_step_ns /= 10;
        }
    }
}
