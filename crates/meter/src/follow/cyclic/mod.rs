//! Follower of cyclic data: streams of frames that a publisher repeats, by the rules of its protocol
//! (`frame`).
//!
//! ```text
//! frame of (protocol, source, destination, APPID or FrameID, name)
//!   ── stream ── order of its numbers ── gap to the frame before ── period, deviations
//! ```
//!
//! Definition: a stream was silent if the gap to its next frame exceeded the time that the frame
//! before allowed, or three learnt periods where frames state no time. Subscribers then take the
//! publisher for lost. A frame with the number of the last one, at most 1 ms behind it and at most an
//! eighth of the period, is a copy: a mirror port that copies both directions makes them. Copies end
//! no gap. `together` has what belongs to several frames: EtherCAT out and back, PTP's pairs of messages,
//! connections of EtherNet/IP with their set-up.
//!
//! Memory is bounded: streams that have been silent for long make room for new ones, and are
//! reported first. If none is, frames of further streams are counted as an oddity, so that invented
//! streams displace none that is known. A stream that
//! learns its period while at most 4,096 are followed has distributions of its deviations.

mod cip_io;
mod clock;
mod counter;
mod ethercat;
mod extra;
mod figures;
mod frame;
mod missing;
mod more;
mod numbered;
mod numbers;
mod ptp;
mod redundancy;
mod repeats;
mod report;
mod retransmission;
mod station;
mod together;
mod tracked;

pub use super::period::Deviations;
pub use super::quantiles::DeviationQuantile;
pub use clock::SenderClock;
pub use extra::{Answers, Extra};
pub use frame::Protocol;
pub(crate) use frame::{Frame, is_for};
pub(crate) use numbered::Numbered;
pub use numbers::Order;
pub use redundancy::Pairs;
pub use report::{Gaps, Labels, StreamFigures, StreamKey, StreamReport, Worst};
use retransmission::Intervals;
pub use retransmission::Retransmissions;
pub use station::Station;
pub use tracked::ChangedStreams;
use tracked::Streams;

use super::Follower;
use super::period::Period;
use super::quantiles;
use crate::lru_slab::{LruSlab, Place};
use crate::observation::StreamEvent;
use crate::oddity::{Class, Oddities};
use cip_io::SetUps;
use core::hash::BuildHasher as _;
use core::time::Duration;
use counter::Counter;
use ethercat::Masters;
use extra::Making;
use foldhash::fast::FixedState;
use frame::{Detail, Number, PairKey};
use hashbrown::HashTable;
use numbers::Sequence;
use ptp::Ports;
use repeats::Repeats;
use std::collections::{BTreeMap, VecDeque};
use together::Open;
use wire::time::Instant;

/// Longest name that is kept, in octets: that of an object reference (IEC 61850-7-2).
const NAME_OCTETS: usize = 129;
/// Longest time within which a frame with the same numbers is a copy.
pub(crate) const COPY_NS: u64 = 1_000_000;
/// Share of the period within which it is one.
pub(crate) const COPY_SHARE: u64 = 8;
/// Time within which it is one before the period is learnt, of a protocol that has one.
pub(crate) const EARLY_COPY_NS: u64 = 25_000;
/// Periods that a frame allows until the next, where it states no time.
const PERIODS_ALLOWED: u64 = 3;
/// Frames from which the step of the stamps is learnt.
const STEP_FROM: u64 = 64;
/// Maximum number of streams that ended and were not taken.
const ENDED: usize = 4_096;
/// Number of streams up to which one that learns its period has distributions of its deviations.
const DETAILED: usize = 4_096;
/// Maximum number of streams followed.
pub(crate) const STREAMS: usize = 16_384;

impl StreamKey {
    /// True if it is the identity of a frame, whose name is cut to its limit.
    fn is_of(&self, frame: &Frame<'_>, name: &[u8]) -> bool {
        let Self { protocol, source, destination, identifier, name: own } = self;
        *identifier == frame.identifier
            && [*destination, *source] == frame.ends
            && *protocol == frame.protocol
            // A comparison of no octets at an address that is not mapped takes long on some CPUs.
            && (own.is_empty() && name.is_empty() || **own == *name)
    }

    fn hash(&self, state: &FixedState) -> u64 {
        let ends = [self.destination, self.source];
        state.hash_one((self.protocol, ends, self.identifier, &*self.name))
    }
}

/// Hash of a frame's identity: that of its key.
fn hash(state: &FixedState, frame: &Frame<'_>, name: &[u8]) -> u64 {
    state.hash_one((frame.protocol, frame.ends, frame.identifier, name))
}

/// Order of a stream's frames, by the rule of its protocol.
#[derive(Clone, Debug)]
enum Ordering {
    OfStates(Sequence),
    ByCounter(Box<Counter>),
    /// By the index of the last frame: none.
    Without(u8),
}

impl Ordering {
    /// True if the frame has the number of the last one.
    fn is_last(&self, number: Number) -> bool {
        match (self, number) {
            (Self::OfStates(sequence), Number::OfState(numbers)) => sequence.is_last(numbers),
            (Self::ByCounter(counter), Number::Counter(_, number)) => {
                counter.last() == number.into()
            }
            (Self::Without(last), Number::Index(index)) => *last == index,
            _ => false,
        }
    }

    /// Adds a number. Returns true if it follows the last one in a counter.
    fn add(&mut self, number: Number) -> bool {
        match (self, number) {
            (Self::OfStates(sequence), Number::OfState(numbers)) => {
                sequence.add(numbers);
                false
            }
            (Self::ByCounter(counter), Number::Counter(_, number)) => counter.add(number),
            (Self::Without(last), Number::Index(index)) => {
                *last = index;
                true
            }
            _ => false,
        }
    }

    fn order(&self) -> Order {
        match self {
            Self::OfStates(sequence) => sequence.order,
            Self::ByCounter(counter) => counter.order,
            Self::Without(_) => Order::default(),
        }
    }
}

#[derive(Clone, Debug)]
struct Stream {
    report: StreamReport,
    ordering: Ordering,
    period: Period,
    /// Number of the first sample of the last frame.
    first_number: Option<u16>,
    /// True while samples of a copy follow.
    is_copying: bool,
    /// Changes of the state of protocols that do not number them.
    changes: u64,
    /// State of the protocols that have more than counts; none for the others.
    making: Option<Box<Making>>,
    /// Intervals of GOOSE; none of other protocols.
    intervals: Option<Box<Intervals>>,
    /// Figures at the start of the interval; none before the first frame or without intervals.
    start: Option<Box<figures::Start>>,
}

/// Streams followed.
#[derive(Clone, Debug)]
pub(crate) struct Cyclic {
    slab: Streams,
    index: HashTable<Place>,
    state: FixedState,
    ended: VecDeque<StreamReport>,
    masters: Masters,
    ports: Ports,
    set_ups: SetUps,
    requests: BTreeMap<PairKey, Open>,
    repeats: Repeats,
    /// Places for numbers of PRP and HSR, of all nodes.
    remembered: usize,
    /// True once measuring ended.
    is_over: bool,
}

impl Stream {
    fn new(key: StreamKey, at: Instant, frame: &Frame<'_>) -> Self {
        let ordering = match frame.number {
            Number::OfState(numbers) => Ordering::OfStates(Sequence::new(numbers)),
            Number::Counter(rule, first) => {
                Ordering::ByCounter(Box::new(Counter::new(rule, first)))
            }
            Number::Index(index) => Ordering::Without(index),
        };
        let report = StreamReport {
            key,
            tag: None,
            frames: 0,
            samples: 0,
            longest_octets: 0,
            copies: 0,
            order: Order::default(),
            gaps: Gaps::default(),
            silences: 0,
            worst: Worst::default(),
            allowed_ns: 0,
            period_ns: None,
            deviations: None,
            quantiles: Vec::new(),
            step: None,
            rate: None,
            first: at,
            last: at,
            state: frame.state.unwrap_or_default(),
            simulated: 0,
            invalid: 0,
            needs_commissioning: 0,
            unsynchronised: 0,
            revision: frame.revision,
            revisions_changed: 0,
            stamp_step_ns: 1_000_000_000,
            labels: None,
            extra: Extra::default(),
            in_interval: StreamFigures::default(),
        };
        Self {
            report,
            ordering,
            period: Period::new(),
            first_number: None,
            is_copying: false,
            changes: 0,
            making: None,
            intervals: None,
            start: None,
        }
    }

    /// Time within which a frame with the last number is a copy.
    fn copy_ns(&self) -> u64 {
        match (self.report.key.protocol, self.period.nominal_ns()) {
            (Protocol::Goose, _) => COPY_NS,
            (_, Some(period_ns)) => COPY_NS.min(period_ns / COPY_SHARE),
            (_, None) => EARLY_COPY_NS,
        }
    }

    /// True if the frame repeats the last one.
    fn is_copy(&self, frame: &Frame<'_>, gap_ns: u64) -> bool {
        let is_same = match (frame.number, self.first_number) {
            (Number::Counter(_, number), Some(first)) => number == first,
            (number, _) => self.ordering.is_last(number),
        };
        is_same && gap_ns <= self.copy_ns()
    }

    /// Adds a frame, or a further sample of one; `has_room` for distributions of deviations.
    fn add(&mut self, at: Instant, frame: &Frame<'_>, has_room: bool) {
        if frame.is_continued {
            if !self.is_copying {
                self.ordering.add(frame.number);
                self.report.samples += 1;
            }
            return;
        }
        let gap_ns = at.as_nanos().saturating_sub(self.report.last.as_nanos());
        if self.report.frames > 0 {
            self.is_copying = self.is_copy(frame, gap_ns);
            if self.is_copying {
                self.report.copies += 1;
                return;
            }
            self.interval(at, frame.number, gap_ns);
            if self.ordering.add(frame.number) && frame.is_periodic {
                self.period.add(gap_ns, has_room);
            }
            self.report.gap(gap_ns, at);
            self.state(frame.state);
        }
        if let Number::Counter(_, number) = frame.number {
            self.first_number = Some(number);
        }
        self.note(at, frame);
    }

    /// Takes the gap before a frame of a protocol that numbers its states.
    fn interval(&mut self, at: Instant, number: Number, gap_ns: u64) {
        if let (Ordering::OfStates(sequence), Number::OfState(numbers)) = (&self.ordering, number) {
            let (first, last) = (self.report.first, sequence.highest());
            let intervals =
                self.intervals.get_or_insert_with(|| Box::new(Intervals::new(first, last)));
            intervals.add(at, sequence.highest(), numbers, gap_ns);
        }
    }

    /// Takes the state of a frame that says something of it.
    fn state(&mut self, state: Option<u32>) {
        if let Some(state) = state {
            self.changes += u64::from(self.report.state != state);
            self.report.state = state;
        }
    }

    fn note(&mut self, at: Instant, frame: &Frame<'_>) {
        let Self { report, period, .. } = self;
        let learnt_ns =
            period.nominal_ns().map(|period_ns| period_ns.saturating_mul(PERIODS_ALLOWED));
        if report.frames < STEP_FROM {
            report.learn_step(at);
        }
        report.frames += 1;
        report.samples += 1;
        report.last = at;
        report.tag = frame.tag;
        report.longest_octets = report.longest_octets.max(frame.octets);
        report.allowed_ns = frame.allowed_ns.or(learnt_ns).unwrap_or(0);
        report.simulated += u64::from(frame.is_simulated);
        report.invalid += u64::from(frame.is_invalid);
        report.needs_commissioning += u64::from(frame.needs_commissioning);
        report.unsynchronised += u64::from(frame.is_unsynchronised);
        report.revisions_changed += u64::from(report.revision != frame.revision);
        report.revision = frame.revision;
        if let Some(pdu) = frame.goose {
            report.label(pdu);
        }
    }

    /// Its silences, and the order of its frames with the changes of state.
    fn counts(&self) -> Counts {
        let mut order = self.ordering.order();
        match &self.ordering {
            Ordering::OfStates(_) => {}
            Ordering::ByCounter(_) => order.state_changes = self.changes,
            Ordering::Without(_) => {
                order.state_changes = self.changes;
                order.missing = self.making.as_ref().map_or(0, |making| making.lost);
            }
        }
        Counts { silences: self.report.silences, order }
    }

    fn report(&self) -> StreamReport {
        let mut report = self.report.clone();
        report.order = self.counts().order;
        report.period_ns = self.period.nominal_ns();
        report.deviations = self.period.deviations();
        if let Ordering::ByCounter(counter) = &self.ordering {
            (report.step, report.rate) = (counter.step(), counter.rate());
        }
        if let Some(making) = &self.making {
            report.extra = making.report();
        }
        report.extra.retransmissions =
            self.intervals.as_ref().and_then(|intervals| intervals.report());
        let missing = report.order.missing;
        report.in_interval = figures::since(self.start.as_deref(), &report, missing, &self.period);
        report
    }
}

impl Stream {
    /// Report with the quantiles of the deviations, which take most of the time.
    fn last_report(&self) -> StreamReport {
        let quantiles = self.period.distributions().map(quantiles::table).unwrap_or_default();
        StreamReport { quantiles, ..self.report() }
    }
}

/// Counts of a stream that are events where they grow.
struct Counts {
    silences: u64,
    order: Order,
}

impl Cyclic {
    /// Follows at most `maximum` streams.
    pub(crate) fn new(maximum: usize, silence_nanos: u64, seed: u64) -> Self {
        Self {
            slab: Streams::new(LruSlab::expiring(maximum, silence_nanos)),
            index: HashTable::new(),
            state: FixedState::with_seed(seed),
            ended: VecDeque::new(),
            masters: Masters::default(),
            ports: Ports::default(),
            set_ups: SetUps::default(),
            requests: BTreeMap::new(),
            repeats: Repeats::default(),
            remembered: 0,
            is_over: false,
        }
    }

    /// Takes the oldest stream that made room for another.
    pub(crate) fn take_ended(&mut self) -> Option<StreamReport> {
        self.ended.pop_front()
    }

    fn find(&self, hash: u64, frame: &Frame<'_>, name: &[u8]) -> Option<Place> {
        let is_same = |place: &Place| {
            self.slab.get(*place).is_some_and(|it| it.report.key.is_of(frame, name))
        };
        self.index.find(hash, is_same).copied()
    }

    fn remove(&mut self, place: Place) -> Option<StreamReport> {
        let stream = self.slab.remove(place)?;
        self.remembered -= stream.making.as_ref().map_or(0, |making| making.pairing.places());
        let report = stream.last_report();
        let hash = report.key.hash(&self.state);
        if let Ok(entry) = self.index.find_entry(hash, |it| *it == place) {
            entry.remove();
        }
        Some(report)
    }

    /// The stream of a frame, new if need be; none if there is no room for it.
    fn place(&mut self, at: Instant, frame: &Frame<'_>, oddities: &mut Oddities) -> Option<Place> {
        let name = frame.name.get(..NAME_OCTETS).unwrap_or(frame.name);
        let hash = hash(&self.state, frame, name);
        let place = match self.find(hash, frame, name) {
            Some(place) => place,
            None => {
                if self.slab.is_full() {
                    self.expire(at, oddities);
                }
                if self.slab.is_full() {
                    oddities.count(Class::Meter, "frame of one more stream than is followed");
                    return None;
                }
                let [destination, source] = frame.ends;
                let (protocol, identifier) = (frame.protocol, frame.identifier);
                let name = name.into();
                let key = StreamKey { protocol, source, destination, identifier, name };
                self.insert(hash, Stream::new(key, at, frame), at)
            }
        };
        self.slab.touch(place, at);
        Some(place)
    }

    /// Counts a frame that repeats an earlier one of its stream but for its number; returns false,
    /// without effect, for any other.
    pub(crate) fn repeats(&mut self, at: Instant, octets: &[u8], original_octets: usize) -> bool {
        if self.index.len() > DETAILED {
            // Each frame that is remembered would be met too rarely.
            return false;
        }
        let Some((stream, frame)) = self.repeats.find(octets, original_octets) else {
            return false;
        };
        if !self.slab.is_valid(stream) {
            return false;
        }
        self.slab.touch(stream.place(), at);
        self.slab.at(stream.place()).add(at, frame, true);
        true
    }

    /// True if a frame, which repeats none, is to be learnt.
    pub(crate) fn wants(&mut self, octets: &[u8]) -> bool {
        self.index.len() <= DETAILED && self.repeats.wants(octets)
    }

    /// Learns an observed frame, so that others which repeat it are known.
    pub(crate) fn learn(&mut self, octets: &[u8], original_octets: usize, frame: &Frame<'_>) {
        let name = frame.name.get(..NAME_OCTETS).unwrap_or(frame.name);
        let Some(place) = self.find(hash(&self.state, frame, name), frame, name) else { return };
        let stream = self.slab.handle(place);
        self.repeats.learn(octets, original_octets, frame, stream, self.index.len());
    }

    /// Observes a frame, and adds the events that it ends to `events`.
    pub(crate) fn observe_noting(
        &mut self,
        at: Instant,
        frame: Frame<'_>,
        oddities: &mut Oddities,
        events: &mut Vec<StreamEvent>,
    ) {
        if !matches!(frame.detail, Detail::None) {
            return self.together(at, &frame, oddities, Some(events));
        }
        let Some(place) = self.place(at, &frame, oddities) else { return };
        self.add(place, at, &frame, Some(events));
    }

    /// Adds a frame to its stream, and the events that it ends to `events`.
    fn add(
        &mut self,
        place: Place,
        at: Instant,
        frame: &Frame<'_>,
        events: Option<&mut Vec<StreamEvent>>,
    ) {
        let has_room = self.index.len() <= DETAILED;
        let stream = self.slab.at(place);
        let Some(events) = events else { return stream.add(at, frame, has_room) };
        let (before, last) = (stream.counts(), stream.report.last);
        stream.add(at, frame, has_room);
        let now = stream.counts();
        if now.silences > before.silences {
            let gap_ns = at.as_nanos().saturating_sub(last.as_nanos());
            events.push(StreamEvent::Silent(Duration::from_nanos(gap_ns)));
        }
        if let Some(missing @ 1..) = now.order.missing.checked_sub(before.order.missing) {
            events.push(StreamEvent::Missing(missing));
        }
        if now.order.restarts > before.order.restarts {
            events.push(StreamEvent::Restarted);
        }
        if now.order.state_changes > before.order.state_changes {
            events.push(StreamEvent::StateChanged);
        }
    }

    fn insert(&mut self, hash: u64, stream: Stream, at: Instant) -> Place {
        let place = self.slab.insert(stream, at);
        let Self { slab, index, state, .. } = self;
        index.insert_unique(hash, place, |place| {
            slab.get(*place).map_or(0, |stream| stream.report.key.hash(state))
        });
        place
    }
}

impl Follower<Oddities> for Cyclic {
    type Input<'a> = Frame<'a>;
    type Below = ();
    type Report = StreamReport;

    fn observe(&mut self, at: Instant, frame: Frame<'_>, oddities: &mut Oddities) {
        if !matches!(frame.detail, Detail::None) {
            return self.together(at, &frame, oddities, None);
        }
        let Some(place) = self.place(at, &frame, oddities) else { return };
        self.add(place, at, &frame, None);
    }

    fn expire(&mut self, at: Instant, oddities: &mut Oddities) {
        let Some(report) = self.slab.expired_at(at).and_then(|place| self.remove(place)) else {
            return;
        };
        if self.ended.len() == ENDED {
            self.ended.pop_front();
            oddities.count(Class::Meter, "stream that ended and was not reported");
        }
        self.ended.push_back(report);
    }

    fn report(&self, _: Instant, (): &()) -> impl Iterator<Item = StreamReport> {
        let report = if self.is_over { Stream::last_report } else { Stream::report };
        self.slab.iter().map(move |(_, stream, _)| report(stream))
    }
}
