//! Streams with marks on those that changed, so that an interval costs time for these alone.

use super::report::{StreamKey, StreamReport};
use super::{Stream, figures};
use crate::Meter;
use crate::lru_slab::{Handle, LruSlab, Place};
use core::mem;
use core::ops::Deref;
use wire::time::Instant;

/// Maximum number of keys kept of streams that were removed.
const REMOVED: usize = 4_096;
/// Number of places in a word of marks.
const WORD: usize = u64::BITS as usize;

/// Set of places: a bit for each.
#[derive(Clone, Default, Debug)]
struct Marks {
    words: Vec<u64>,
}

impl Marks {
    #[inline]
    fn add(&mut self, place: Place) {
        let (word, bit) = (place as usize / WORD, place as usize % WORD);
        match self.words.get_mut(word) {
            Some(word) => *word |= 1 << bit,
            None => self.grow(word, bit),
        }
    }

    #[cold]
    fn grow(&mut self, word: usize, bit: usize) {
        self.words.resize(word + 1, 0);
        self.words[word] |= 1 << bit;
    }

    /// Adds the places of another set.
    fn join(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own |= other);
    }

    /// Marked places, ascending.
    fn places(&self) -> impl Iterator<Item = Place> {
        self.words.iter().enumerate().flat_map(|(place, word)| {
            let (first, mut left) = (place * WORD, *word);
            core::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                // Clears the lowest bit that is set.
                left &= left.checked_sub(1)?;
                Some(first as Place + bit)
            })
        })
    }
}

/// Slab of streams. Mutable use of a stream marks it as changed.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    slab: LruSlab<Stream>,
    /// Streams that changed since the last report of changed ones.
    changed: Marks,
    /// Streams that changed before, in the interval under way.
    reported: Marks,
    /// Keys of streams removed since the last report of changed ones.
    removed: Vec<StreamKey>,
    /// True if more were removed than are kept.
    has_removed_more: bool,
    /// Number of streams that intervals examined.
    #[cfg(test)]
    visits: usize,
}

impl Streams {
    /// Streams of which each expires after a silence.
    pub(super) fn new(slab: LruSlab<Stream>) -> Self {
        Self {
            slab,
            changed: Marks::default(),
            reported: Marks::default(),
            removed: Vec::new(),
            has_removed_more: false,
            #[cfg(test)]
            visits: 0,
        }
    }

    /// Stream in a place that is known to be occupied.
    #[inline]
    pub(super) fn at(&mut self, place: Place) -> &mut Stream {
        self.changed.add(place);
        self.slab.at(place)
    }

    /// Stream that a handle names, if the handle is valid.
    #[inline]
    pub(super) fn valid(&mut self, handle: Handle) -> Option<&mut Stream> {
        let (stream, _) = self.slab.valid(handle)?;
        self.changed.add(handle.place());
        Some(stream)
    }

    /// Adds a stream. Call it only if the slab is not full.
    pub(super) fn insert(&mut self, stream: Stream, at: Instant) -> Place {
        let place = self.slab.insert(stream, at);
        self.changed.add(place);
        place
    }

    /// Removes the stream in this place.
    pub(super) fn remove(&mut self, place: Place) -> Option<Stream> {
        let stream = self.slab.remove(place)?;
        if self.removed.len() < REMOVED {
            self.removed.push(stream.report.key.clone());
        } else {
            self.has_removed_more = true;
        }
        Some(stream)
    }

    /// Records a use of the stream in this place.
    #[inline]
    pub(super) fn touch(&mut self, place: Place, at: Instant) {
        self.slab.touch(place, at);
    }

    /// Place of the least recently used stream, if it has expired at this time.
    pub(super) fn expired_at(&mut self, at: Instant) -> Option<Place> {
        self.slab.expired_at(at)
    }

    /// Stream that an interval examines.
    fn visit(&mut self, place: Place) -> Option<&mut Stream> {
        #[cfg(test)]
        {
            self.visits += 1;
        }
        self.slab.get_mut(place)
    }

    /// Begins an interval of the streams that changed since the last one began. The figures of all
    /// others still count from a start at which they were the same.
    fn begin_interval(&mut self) {
        let mut due = mem::take(&mut self.reported);
        due.join(&self.changed);
        for place in due.places() {
            let Some(stream) = self.visit(place) else { continue };
            let missing = stream.counts().order.missing;
            let Stream { start, report, period, .. } = stream;
            if figures::Start::begin(start, report, missing, period) {
                self.changed.add(place);
            }
        }
    }

    /// Takes the streams that changed since the last call.
    fn take_changed(&mut self) -> ChangedStreams {
        let are_all = mem::take(&mut self.has_removed_more);
        let removed = mem::take(&mut self.removed);
        let changed = mem::take(&mut self.changed);
        let mut reports = Vec::new();
        let places: Vec<Place> =
            if are_all { self.slab.places().collect() } else { changed.places().collect() };
        for place in places {
            reports.extend(self.visit(place).map(|stream| stream.report()));
        }
        self.reported.join(&changed);
        ChangedStreams { are_all, removed, reports }
    }
}

/// Use of the slab that changes no stream.
impl Deref for Streams {
    type Target = LruSlab<Stream>;

    #[inline]
    fn deref(&self) -> &LruSlab<Stream> {
        &self.slab
    }
}

/// Streams whose reports changed.
#[derive(Clone, Debug, Default)]
pub struct ChangedStreams {
    /// True if these are all streams followed, because more than 4,096 were removed.
    pub are_all: bool,
    /// Keys of the streams that were removed; one of them may have been followed anew, and is then
    /// among the reports.
    pub removed: Vec<StreamKey>,
    /// Reports of the streams that changed, in no order.
    pub reports: Vec<StreamReport>,
}

impl Meter {
    /// Begins an interval of streams of cyclic data: [`StreamReport::in_interval`] counts from now. A
    /// call costs time for the streams that changed since the last one.
    pub fn begin_stream_interval(&mut self) {
        self.cyclic.slab.begin_interval();
    }

    /// Takes the reports of streams of cyclic data that changed since the last call, without the
    /// quantiles of their deviations. A call costs time for these streams alone.
    pub fn take_changed_streams(&mut self) -> ChangedStreams {
        self.cyclic.slab.take_changed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::Follower as _;
    use crate::follow::cyclic::counter::Rule;
    use crate::follow::cyclic::frame::Number;
    use crate::follow::cyclic::{Cyclic, Frame};
    use crate::oddity::Oddities;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// Observes a frame of the stream with this FrameID.
    fn observe(cyclic: &mut Cyclic, millis: u64, identifier: u32) {
        let number = Number::Counter(Rule::Cycles, millis as u16);
        let frame = Frame { identifier, number, ..Frame::EMPTY };
        cyclic.observe(at(millis), frame, &mut Oddities::default());
    }

    /// Identifiers of the streams that changed, and the number of streams examined for them and to
    /// begin an interval.
    fn interval(cyclic: &mut Cyclic) -> (Vec<u32>, usize) {
        cyclic.slab.visits = 0;
        let changed = cyclic.slab.take_changed();
        cyclic.slab.begin_interval();
        let identifiers = changed.reports.iter().map(|report| report.key.identifier);
        (identifiers.collect(), cyclic.slab.visits)
    }

    #[test]
    fn an_interval_examines_only_streams_that_changed() {
        let mut cyclic = Cyclic::new(16_384, u64::MAX, 1);
        (0..5_000).for_each(|identifier| observe(&mut cyclic, 1, identifier));
        assert_eq!(interval(&mut cyclic).1, 10_000);
        // All of them begin an interval without frames.
        assert_eq!(interval(&mut cyclic).1, 10_000);
        assert_eq!(interval(&mut cyclic), (vec![], 0));
        for identifier in [4_711, 64, 63] {
            observe(&mut cyclic, 2, identifier);
        }
        assert_eq!(interval(&mut cyclic), (vec![63, 64, 4_711], 6));
        assert_eq!(interval(&mut cyclic), (vec![63, 64, 4_711], 6));
        assert_eq!(interval(&mut cyclic), (vec![], 0));
    }

    #[test]
    fn a_removed_stream_is_named_and_all_others_are_left_alone() {
        let mut cyclic = Cyclic::new(100, 1_000_000, 1);
        (0..100).for_each(|identifier| observe(&mut cyclic, u64::from(identifier), identifier));
        interval(&mut cyclic);
        interval(&mut cyclic);
        // The new stream takes the place of the oldest.
        observe(&mut cyclic, 2_000, 100);
        let changed = cyclic.slab.take_changed();
        let removed: Vec<_> = changed.removed.iter().map(|key| key.identifier).collect();
        let reports: Vec<_> = changed.reports.iter().map(|it| it.key.identifier).collect();
        assert_eq!((changed.are_all, removed, reports), (false, vec![0], vec![100]));
        for identifier in 101..=101 + REMOVED as u32 {
            observe(&mut cyclic, 3_000 * u64::from(identifier), identifier);
        }
        let changed = cyclic.slab.take_changed();
        let known = (changed.are_all, changed.removed.len(), changed.reports.len());
        assert_eq!(known, (true, REMOVED, 100));
    }
}
