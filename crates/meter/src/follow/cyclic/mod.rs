//! Follower of cyclic data: streams of frames that a publisher repeats, each of which states until
//! when the next one follows. Today these are those of GOOSE (IEC 61850-8-1).
//!
//! ```text
//! frame of (source, destination, APPID, gocbRef) ── stream ── order of its numbers
//!                                                        └── gap to the frame before
//! ```
//!
//! Definition: a stream was silent if the gap to its next frame exceeded the timeAllowedtoLive of
//! the frame before. Subscribers then take the publisher for lost. A frame with the numbers of the
//! last one, at most 1 ms behind it, is a copy: a mirror port that copies both directions makes
//! them. Copies end no gap.
//!
//! Memory is bounded: streams that have been silent for long make room for new ones, and are
//! reported first. If none is, frames of further streams are counted as an oddity, so that invented
//! streams displace none that is known.

mod numbers;

pub use numbers::Order;

use super::Follower;
use crate::lru_slab::{LruSlab, Place};
use crate::oddity::{Class, Oddities};
use core::hash::BuildHasher as _;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use numbers::{Numbers, Sequence};
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::dissect::{Alone, Link};
use wire::goose;
use wire::mac::{self, Tag};
use wire::time::Instant;

/// Longest name that is kept, in octets: that of an object reference (IEC 61850-7-2).
const NAME_OCTETS: usize = 129;
/// Time within which a frame with the same numbers is a copy.
const COPY_NS: u64 = 1_000_000;
/// Maximum number of streams that ended and were not taken.
const ENDED: usize = 4_096;
/// Maximum number of streams followed.
pub(crate) const STREAMS: usize = 16_384;

/// Identity of a stream.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamKey {
    /// Publisher.
    pub source: Mac,
    /// Group that it sends to.
    pub destination: Mac,
    /// APPID.
    pub appid: u16,
    /// gocbRef, the reference of its control block; at most 129 octets of it.
    pub control_block: Box<[u8]>,
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
    /// timeAllowedtoLive of the frame before it; zero if no gap is known.
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
    /// Octets of the longest frame, without FCS.
    pub longest_octets: u64,
    /// Frames that followed a frame with the same numbers within 1 ms.
    pub copies: u64,
    /// Order of the frames.
    pub order: Order,
    /// Gaps between frames.
    pub gaps: Gaps,
    /// Gaps longer than the time allowed to live of the frame before.
    pub silences: u64,
    /// Gap that used most of its time.
    pub worst: Worst,
    /// timeAllowedtoLive of the last frame, in nanoseconds.
    pub allowed_ns: u64,
    /// Time of the first frame.
    pub first: Instant,
    /// Time of the last frame.
    pub last: Instant,
    /// stNum of the last frame.
    pub state_number: u32,
    /// Frames that are marked as simulated or as a test.
    pub simulated: u64,
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

/// Frame of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Destination and source.
    pub(crate) ends: [Mac; 2],
    pub(crate) tag: Option<Tag>,
    /// Octets without FCS.
    pub(crate) octets: u64,
    pub(crate) pdu: goose::Pdu<'a>,
}

impl<'a> Frame<'a> {
    /// Frame with a PDU of cyclic data; none for another protocol, or a PDU that was cut.
    pub(crate) fn of(link: Link, octets: &'a [u8], alone: &Alone<'a>) -> Option<Self> {
        if link != Link::Ethernet || *alone.leaf != goose::LEAF {
            return None;
        }
        let frame_octets = octets.len() + alone.missing_octets;
        let frame = mac::Pdu::decode_cut(octets, frame_octets).ok()?;
        Some(Self {
            ends: [frame.destination, frame.source],
            tag: frame.tags.first().copied(),
            octets: frame_octets as u64,
            pdu: goose::Pdu::decode(alone.octets).ok()?,
        })
    }
}

#[derive(Clone, Debug)]
struct Stream {
    report: StreamReport,
    sequence: Sequence,
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
        let report = StreamReport {
            key,
            tag: None,
            frames: 0,
            longest_octets: 0,
            copies: 0,
            order: Order::default(),
            gaps: Gaps::default(),
            silences: 0,
            worst: Worst::default(),
            allowed_ns: 0,
            first: at,
            last: at,
            state_number: 0,
            simulated: 0,
            needs_commissioning: 0,
            unsynchronised: 0,
            revision: frame.pdu.configuration_revision,
            revisions_changed: 0,
        };
        Self { report, sequence: Sequence::new(numbers(&frame.pdu)) }
    }

    fn add(&mut self, at: Instant, frame: &Frame<'_>) {
        let Self { report, sequence } = self;
        let pdu = &frame.pdu;
        let gap_ns = at.as_nanos().saturating_sub(report.last.as_nanos());
        if report.frames > 0 {
            if sequence.is_last(numbers(pdu)) && gap_ns <= COPY_NS {
                report.copies += 1;
                return;
            }
            sequence.add(numbers(pdu));
            report.gap(gap_ns, at);
        }
        report.frames += 1;
        report.order = sequence.order;
        report.last = at;
        report.tag = frame.tag;
        report.longest_octets = report.longest_octets.max(frame.octets);
        report.allowed_ns = u64::from(pdu.time_allowed_to_live_ms) * 1_000_000;
        report.state_number = pdu.state_number;
        report.simulated += u64::from(pdu.is_test());
        report.needs_commissioning += u64::from(pdu.needs_commissioning);
        report.unsynchronised += u64::from(pdu.time.has_failed() || pdu.time.is_unsynchronised());
        report.revisions_changed += u64::from(report.revision != pdu.configuration_revision);
        report.revision = pdu.configuration_revision;
    }
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

const fn numbers(pdu: &goose::Pdu<'_>) -> Numbers {
    Numbers { state: pdu.state_number, sequence: pdu.sequence_number }
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

    fn find(&self, hash: u64, key: &StreamKey) -> Option<Place> {
        let is_same = |place: &Place| self.slab.get(*place).is_some_and(|it| it.report.key == *key);
        self.index.find(hash, is_same).copied()
    }

    fn remove(&mut self, place: Place) -> Option<StreamReport> {
        let report = self.slab.remove(place)?.report;
        let hash = self.state.hash_one(&report.key);
        if let Ok(entry) = self.index.find_entry(hash, |it| *it == place) {
            entry.remove();
        }
        Some(report)
    }

    fn insert(&mut self, hash: u64, stream: Stream, at: Instant) -> Place {
        let place = self.slab.insert(stream, at);
        let Self { slab, index, state, .. } = self;
        index.insert_unique(hash, place, |place| {
            slab.get(*place).map_or(0, |stream| state.hash_one(&stream.report.key))
        });
        place
    }
}

impl Follower<Oddities> for Cyclic {
    type Input<'a> = Frame<'a>;
    type Below = ();
    type Report = StreamReport;

    fn observe(&mut self, at: Instant, frame: Frame<'_>, oddities: &mut Oddities) {
        let [destination, source] = frame.ends;
        let name = frame.pdu.control_block;
        let control_block = name.get(..NAME_OCTETS).unwrap_or(name).into();
        let key = StreamKey { source, destination, appid: frame.pdu.appid, control_block };
        let hash = self.state.hash_one(&key);
        let place = match self.find(hash, &key) {
            Some(place) => place,
            None => {
                if self.slab.is_full() {
                    self.expire(at, oddities);
                }
                if self.slab.is_full() {
                    return oddities
                        .count(Class::Meter, "frame of one more stream than is followed");
                }
                self.insert(hash, Stream::new(key, at, &frame), at)
            }
        };
        self.slab.touch(place, at);
        self.slab.at(place).add(at, &frame);
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
        self.slab.iter().map(|(_, stream, _)| stream.report.clone())
    }
}
