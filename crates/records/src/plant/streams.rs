//! Flow of a stream of cyclic data, as it was watched.
//!
//! GOOSE, Sampled Values and PROFINET become flows of their kind, whose frames `watch` follows again:
//! with their identity, length, tag, period and number of frames. A lost frame counts, because its
//! publisher sent it. Streams of other protocols become test load: frames of the same length, tag, period
//! and jitter, which `watch` follows as such.

use crate::cyclic::CyclicStream;
use bench::scenario::{
    Address, Flow, JitterQuantile, Pattern, Published, Service, Size, Span, Start,
};
use core::time::Duration;
use meter::{Protocol, Retransmissions, StreamReport};
use wire::printable::is_printable;

/// Octets of a frame before the data behind its EtherType.
const HEADER_OCTETS: u64 = 14;
/// Octets of a tag of 802.1Q.
const TAG_OCTETS: u64 = 4;
/// Longest data behind an EtherType.
const MOST_DATA_OCTETS: u64 = 1_500;
/// Longest gocbRef or svID.
const LONGEST_NAME: usize = 129;
/// Greatest VLAN identifier of a frame; 4,095 is reserved.
pub(crate) const MOST_VLAN: u16 = 4_094;
/// Most samples in a frame that a scenario sends.
pub(crate) const MOST_SAMPLES: u64 = 16;
/// Periods that a frame of SV, PROFINET or test load allows until the next.
const PERIODS_ALLOWED: u64 = 3;
/// Interval of a publisher of GOOSE of which one frame was seen.
const UNKNOWN_NS: u64 = 1_000_000_000;

/// Stream, and what its record does not have.
pub(super) struct Watched {
    pub(super) stream: CyclicStream,
    retransmissions: Option<Retransmissions>,
    /// Quantiles of the deviations from the period; empty if all are zero, or without a period.
    jitter: Vec<JitterQuantile>,
}

impl Watched {
    pub(super) fn new(stream: CyclicStream, report: &StreamReport) -> Self {
        let retransmissions = report.extra.retransmissions.clone();
        let watched = Self { stream, retransmissions, jitter: Vec::new() };
        Self { jitter: watched.jitter(report), ..watched }
    }

    /// Frames that its publisher sent, of which some were not seen.
    pub(super) const fn sent(&self) -> u64 {
        self.stream.frames.saturating_add(self.stream.missing)
    }

    /// Time of its last frame in a run that begins with the capture, in nanoseconds.
    pub(super) fn end_ns(&self) -> u64 {
        let Self { stream, .. } = self;
        let gaps = self.sent().saturating_sub(1);
        let is_cyclic = !self.has_changes();
        let planned = stream.first_ns.saturating_add(gaps.saturating_mul(self.period_ns()));
        stream.last_ns.max(if is_cyclic { planned } else { 0 })
    }

    /// True if its state changed at known times, from which its frames follow.
    fn has_changes(&self) -> bool {
        self.retransmissions.as_ref().is_some_and(|seen| !seen.changes.is_empty())
    }

    /// True if its state changed more often than the times that are kept.
    pub(super) fn has_more_changes(&self) -> bool {
        let kept = self.retransmissions.as_ref().map_or(0, |seen| seen.changes.len() as u64);
        self.has_changes() && self.stream.state_changes > kept
    }

    /// Time from one frame to the next: the learnt period, a median, or the mean where the median would
    /// not fit the frames into the time that they took.
    pub(super) fn period_ns(&self) -> u64 {
        let stream = &self.stream;
        let gaps = self.sent().saturating_sub(1).max(1);
        let lasted_ns = stream.last_ns.saturating_sub(stream.first_ns);
        let mean_ns = lasted_ns / gaps;
        let Some(period_ns) = stream.period_ns else { return mean_ns.max(1_000) };
        if let Some(mean_ns) = JitterQuantile::mean_ns(&self.jitter) {
            // The sender takes the mean out of its table.
            return period_ns.saturating_add_signed(mean_ns).max(1_000);
        }
        let drift_ns = period_ns.abs_diff(mean_ns).saturating_mul(gaps);
        // A sender that paused has a mean beyond its period.
        let is_near = period_ns.abs_diff(mean_ns) < period_ns / 50;
        if is_near && drift_ns > period_ns / 2 { mean_ns } else { period_ns }.max(1_000)
    }

    /// Table of the deviations that were measured; none if all are zero.
    fn jitter(&self, report: &StreamReport) -> Vec<JitterQuantile> {
        match self.service() {
            Service::Goose => Vec::new(),
            _ => super::jitter(&report.quantiles),
        }
    }

    fn is_of(&self, protocol: Protocol) -> bool {
        self.stream.protocol == protocol.name()
    }

    /// True if test load stands for it.
    pub(super) fn becomes_load(&self) -> bool {
        self.service() == Service::Cyclic && !self.is_of(Protocol::ProfinetRt)
    }

    fn service(&self) -> Service {
        if self.is_of(Protocol::Goose) {
            Service::Goose
        } else if self.is_of(Protocol::SampledValues) {
            Service::SampledValues
        } else {
            Service::Cyclic
        }
    }

    /// The flow, which begins at `start` of the run. Times of the capture count from `origin_ns`.
    pub(super) fn flow(&self, name: String, to: &str, origin_ns: u64) -> Flow {
        let stream = &self.stream;
        let tag_octets = if stream.vlan.is_some() { TAG_OCTETS } else { 0 };
        let data_octets = stream.longest_octets.saturating_sub(HEADER_OCTETS + tag_octets);
        let ends = [stream.source.clone(), to.to_owned()];
        let cyclic = Pattern::Cyclic { period: of_nanos(self.period_ns()) };
        let start = of_nanos(stream.first_ns.saturating_sub(origin_ns));
        let deadline = self.deadline();
        let priority = stream.priority.map(u64::from);
        let service = self.service();
        let pattern = if service == Service::Goose { self.retransmission() } else { cyclic };
        let flow = Flow::new(name, ends, service, pattern, Size(data_octets.min(MOST_DATA_OCTETS)));
        let stream = self.published(service, origin_ns);
        let jitter = self.jitter.clone();
        let mut flow = Flow { priority, deadline, start: Start::At(start), jitter, stream, ..flow };
        flow.size = flow.size.max(flow.least_size());
        flow
    }

    /// Time that each frame allows until the next: what the publisher states, or three periods.
    fn deadline(&self) -> Option<Span> {
        let stream = &self.stream;
        let learnt = [Protocol::SampledValues, Protocol::ProfinetRt, Protocol::Load];
        let is_learnt = learnt.into_iter().any(|it| self.is_of(it));
        let allowed_ns = match stream.allowed_ns {
            1.. if is_learnt => self.period_ns().saturating_mul(PERIODS_ALLOWED),
            stated => stated,
        };
        (allowed_ns > 0).then(|| of_nanos(allowed_ns))
    }

    fn published(&self, service: Service, origin_ns: u64) -> Published {
        let stream = &self.stream;
        let name = stream.name.clone().filter(|name| is_visible(name));
        let number = Some(u64::from(stream.identifier));
        let revision = (stream.revision != 1).then(|| u64::from(stream.revision));
        let group = stream.destination.parse().ok().map(Address);
        let common = Published {
            vlan: stream.vlan.filter(|vlan| (1..=MOST_VLAN).contains(vlan)).map(u64::from),
            destination: group.filter(|address| address.0.is_group()),
            ..Published::default()
        };
        match service {
            Service::Goose => {
                let changes = self.retransmissions.iter().flat_map(|it| &it.changes);
                let changes = changes.map(|at| of_nanos(at.as_nanos().saturating_sub(origin_ns)));
                Published {
                    appid: number,
                    control_block: name,
                    revision,
                    time_allowed_to_live: (stream.allowed_ns > 0)
                        .then(|| of_nanos(stream.allowed_ns)),
                    curve: self.curve_ns().into_iter().map(|it| of_nanos(it.max(1))).collect(),
                    changes: changes.collect(),
                    ..common
                }
            }
            Service::SampledValues => {
                let samples = stream.samples / stream.frames.max(1);
                let samples = (2..=MOST_SAMPLES).contains(&samples).then_some(samples);
                Published { appid: number, sv_id: name, revision, samples, ..common }
            }
            _ if self.is_of(Protocol::ProfinetRt) => Published { frame_id: number, ..common },
            // The station gets the frames, also those of groups that switches keep to a link.
            _ => {
                let ethertype = Some(u64::from(wire::load::ETHERTYPE));
                Published { ethertype, destination: None, ..common }
            }
        }
    }

    /// Intervals after a change; none where the state never changed.
    fn curve_ns(&self) -> Vec<u64> {
        let Some(seen) = &self.retransmissions else { return Vec::new() };
        let mut curve = seen.curve_ns.clone();
        let steady_ns = self.steady_ns();
        // The last ones that are as long as the steady interval belong to it.
        while curve.last().is_some_and(|last| last.abs_diff(steady_ns) <= steady_ns / 50) {
            curve.pop();
        }
        if seen.changes.is_empty() { Vec::new() } else { curve }
    }

    /// Interval behind the curve: its longest, if no state lasted for longer.
    fn steady_ns(&self) -> u64 {
        let seen = self.retransmissions.as_ref();
        let cut = seen.map(|seen| seen.longest_cut_ns).filter(|cut| *cut > 0);
        // A gap that a change ended was at most one interval, if no frame was lost.
        let steady = seen.and_then(|seen| seen.steady_ns).or(cut);
        let longest = seen.and_then(|seen| seen.curve_ns.iter().max().copied());
        let mean = (self.stream.gaps > 0).then(|| self.period_ns());
        steady.or(longest).or(mean).unwrap_or(UNKNOWN_NS).max(1_000)
    }

    fn retransmission(&self) -> Pattern {
        let max_time = self.steady_ns();
        let min_time = self.curve_ns().first().copied().unwrap_or(max_time).min(max_time);
        Pattern::Retransmission {
            min_time: of_nanos(min_time.max(1)),
            max_time: of_nanos(max_time),
            mean_interval: None,
        }
    }
}

/// True for a name that a scenario can give a stream.
pub(crate) fn is_visible(name: &str) -> bool {
    let is_ascii = name.chars().all(|symbol| symbol.is_ascii() && is_printable(symbol));
    !name.is_empty() && name.len() <= LONGEST_NAME && is_ascii
}

/// A span for the eye: in its largest unit, with as many decimals as it needs.
pub(crate) fn decimal(Span(span): Span) -> String {
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let (unit, each) = units.into_iter().find(|(_, each)| nanos >= *each).unwrap_or(("s", 1));
    let (whole, rest) = (nanos / each, nanos % each);
    let width = each.ilog10() as usize;
    let decimals = format!("{rest:0width$}");
    let decimals = decimals.trim_end_matches('0');
    if decimals.is_empty() {
        format!("{whole} {unit}")
    } else {
        format!("{whole}.{decimals} {unit}")
    }
}

/// A span as scenarios state it.
pub(crate) const fn of_nanos(nanos: u64) -> Span {
    Span(Duration::from_nanos(nanos))
}
