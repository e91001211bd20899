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
//! no gap.
//!
//! Memory is bounded: streams that have been silent for long make room for new ones, and are
//! reported first. If none is, frames of further streams are counted as an oddity, so that invented
//! streams displace none that is known. A stream that
//! learns its period while at most 4,096 are followed has distributions of its deviations.

mod counter;
mod frame;
mod numbers;
mod period;

pub(crate) use frame::Frame;
pub use frame::Protocol;
pub use numbers::Order;
pub use period::Deviations;

use super::Follower;
use crate::lru_slab::{LruSlab, Place};
use crate::observation::StreamEvent;
use crate::oddity::{Class, Oddities};
use core::hash::BuildHasher as _;
use core::time::Duration;
use counter::Counter;
use foldhash::fast::FixedState;
use frame::Number;
use hashbrown::HashTable;
use numbers::Sequence;
use period::Period;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::mac::Tag;
use wire::time::Instant;

/// Longest name that is kept, in octets: that of an object reference (IEC 61850-7-2).
const NAME_OCTETS: usize = 129;
/// Longest time within which a frame with the same numbers is a copy.
const COPY_NS: u64 = 1_000_000;
/// Share of the period within which it is one.
const COPY_SHARE: u64 = 8;
/// Time within which it is one before the period is learnt, of a protocol that has one.
const EARLY_COPY_NS: u64 = 25_000;
/// Periods that a frame allows until the next, where it states no time.
const PERIODS_ALLOWED: u64 = 3;
/// Maximum number of streams that ended and were not taken.
const ENDED: usize = 4_096;
/// Number of streams up to which one that learns its period has distributions of its deviations.
const DETAILED: usize = 4_096;
/// Maximum number of streams followed.
pub(crate) const STREAMS: usize = 16_384;

/// Identity of a stream.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamKey {
    /// Protocol.
    pub protocol: Protocol,
    /// Publisher.
    pub source: Mac,
    /// Station or group that it sends to.
    pub destination: Mac,
    /// APPID; of PROFINET the FrameID.
    pub identifier: u16,
    /// gocbRef or svID, at most 129 octets of it; empty for PROFINET.
    pub name: Box<[u8]>,
}

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
    /// Order of the frames.
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
    /// Learnt step of its counter, in the units of the protocol.
    pub step: Option<u32>,
    /// Learnt samples in a second, of a merging unit.
    pub rate: Option<u32>,
    /// Time of the first frame.
    pub first: Instant,
    /// Time of the last frame.
    pub last: Instant,
    /// State of the last frame: stNum, smpSynch or DataStatus.
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
}

impl StreamReport {
    /// True if the stream has been silent at `now` for longer than its last frame allowed.
    #[must_use]
    pub fn is_silent(&self, now: Instant) -> bool {
        self.allowed_ns > 0 && now.as_nanos().saturating_sub(self.last.as_nanos()) > self.allowed_ns
    }
}

/// Order of a stream's frames, by the rule of its protocol.
#[derive(Clone, Debug)]
enum Ordering {
    OfStates(Sequence),
    ByCounter(Box<Counter>),
}

impl Ordering {
    /// True if the frame has the number of the last one.
    fn is_last(&self, number: Number) -> bool {
        match (self, number) {
            (Self::OfStates(sequence), Number::OfState(numbers)) => sequence.is_last(numbers),
            (Self::ByCounter(counter), Number::Counter(_, number)) => {
                counter.last() == number.into()
            }
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
            _ => false,
        }
    }

    const fn order(&self) -> Order {
        match self {
            Self::OfStates(sequence) => sequence.order,
            Self::ByCounter(counter) => counter.order,
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
}

/// Streams followed.
#[derive(Clone, Debug)]
pub(crate) struct Cyclic {
    slab: LruSlab<Stream>,
    index: HashTable<Place>,
    state: FixedState,
    ended: VecDeque<StreamReport>,
}

impl Stream {
    fn new(key: StreamKey, at: Instant, frame: &Frame<'_>) -> Self {
        let ordering = match frame.number {
            Number::OfState(numbers) => Ordering::OfStates(Sequence::new(numbers)),
            Number::Counter(rule, first) => {
                Ordering::ByCounter(Box::new(Counter::new(rule, first)))
            }
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
            step: None,
            rate: None,
            first: at,
            last: at,
            state: frame.state,
            simulated: 0,
            invalid: 0,
            needs_commissioning: 0,
            unsynchronised: 0,
            revision: frame.revision,
            revisions_changed: 0,
        };
        let period = Period::new();
        Self { report, ordering, period, first_number: None, is_copying: false, changes: 0 }
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
            if self.ordering.add(frame.number) {
                self.period.add(gap_ns, has_room);
            }
            self.report.gap(gap_ns, at);
            self.changes += u64::from(self.report.state != frame.state);
        }
        if let Number::Counter(_, number) = frame.number {
            self.first_number = Some(number);
        }
        self.note(at, frame);
    }

    fn note(&mut self, at: Instant, frame: &Frame<'_>) {
        let Self { report, period, .. } = self;
        let learnt_ns =
            period.nominal_ns().map(|period_ns| period_ns.saturating_mul(PERIODS_ALLOWED));
        report.frames += 1;
        report.samples += 1;
        report.last = at;
        report.tag = frame.tag;
        report.longest_octets = report.longest_octets.max(frame.octets);
        report.allowed_ns = frame.allowed_ns.or(learnt_ns).unwrap_or(0);
        report.state = frame.state;
        report.simulated += u64::from(frame.is_simulated);
        report.invalid += u64::from(frame.is_invalid);
        report.needs_commissioning += u64::from(frame.needs_commissioning);
        report.unsynchronised += u64::from(frame.is_unsynchronised);
        report.revisions_changed += u64::from(report.revision != frame.revision);
        report.revision = frame.revision;
    }

    /// Its silences, and the order of its frames with the changes of state.
    fn counts(&self) -> Counts {
        let mut order = self.ordering.order();
        if let Ordering::ByCounter(_) = &self.ordering {
            order.state_changes = self.changes;
        }
        Counts { silences: self.report.silences, order }
    }

    fn report(&self) -> StreamReport {
        let mut report = self.report.clone();
        report.order = self.counts().order;
        report.period_ns = self.period.nominal_ns();
        report.deviations = self.period.deviations();
        if let Ordering::ByCounter(counter) = &self.ordering {
            (report.step, report.rate) = (counter.step(), counter.modulus());
        }
        report
    }
}

/// Counts of a stream that are events where they grow.
struct Counts {
    silences: u64,
    order: Order,
}

impl StreamReport {
    fn gap(&mut self, gap_ns: u64, at: Instant) {
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
}

impl Cyclic {
    /// Follows at most `maximum` streams.
    pub(crate) fn new(maximum: usize, silence_nanos: u64, seed: u64) -> Self {
        Self {
            slab: LruSlab::expiring(maximum, silence_nanos),
            index: HashTable::new(),
            state: FixedState::with_seed(seed),
            ended: VecDeque::new(),
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
        let report = self.slab.remove(place)?.report();
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

    /// Observes a frame, and adds the events that it ends to `events`.
    pub(crate) fn observe_noting(
        &mut self,
        at: Instant,
        frame: Frame<'_>,
        oddities: &mut Oddities,
        events: &mut Vec<StreamEvent>,
    ) {
        let Some(place) = self.place(at, &frame, oddities) else { return };
        let has_room = self.index.len() <= DETAILED;
        let stream = self.slab.at(place);
        let (before, last) = (stream.counts(), stream.report.last);
        stream.add(at, &frame, has_room);
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
        let Some(place) = self.place(at, &frame, oddities) else { return };
        let has_room = self.index.len() <= DETAILED;
        self.slab.at(place).add(at, &frame, has_room);
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
        self.slab.iter().map(|(_, stream, _)| stream.report())
    }
}
