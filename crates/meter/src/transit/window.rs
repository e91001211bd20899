//! TPDUs whose copies wait for each other, by name, and at either tap in LRU order.
//!
//! A name is a hash of 128 bits over the identifying features of a TPDU, so all names have one
//! size. Among a thousand million TPDUs, two are mistaken for each other while one waits in one of
//! some 10^24 captures.

use super::Tap;
use crate::lru_slab::{LruSlab, Place};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};
use wire::time::Instant;

/// Hash of the features that identify a TPDU.
pub(super) type Name = [u64; 2];

/// Hash function of names.
#[derive(Clone, Debug)]
pub(super) struct Namer([FixedState; 2]);

impl Namer {
    pub(super) fn new() -> Self {
        Self([1, 2].map(FixedState::with_seed))
    }

    /// Name of a TPDU with these features.
    #[inline]
    pub(super) fn name(&self, features: &impl Hash) -> Name {
        self.0.each_ref().map(|state| state.hash_one(features))
    }
}

/// Copy of a TPDU at a tap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    pub(super) at: Instant,
    /// In a TCP stream: first octet of its segment, and number of octets.
    pub(super) segment: [u32; 2],
}

/// End of the list of copies.
const NONE: u32 = u32::MAX;

/// Copies of a TPDU.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    name: Name,
    /// Sender and receiver.
    pub(super) ends: [u32; 2],
    /// Number of copies at the near tap, and at the far one.
    pub(super) counts: [u32; 2],
    /// First copy at each tap, if there is one.
    first: [Seen; 2],
    /// Last of the other copies.
    more: u32,
    /// Age at which the tap that did not see the first copy saw its last, if it saw any.
    pub(super) other_heard: Instant,
    /// Age of the tap that saw the first copy then, and its age when either tap saw the last.
    pub(super) since: Instant,
    pub(super) changed: Instant,
}

/// Copy that is not the first at its tap.
#[derive(Clone, Copy, Debug)]
struct More {
    seen: Seen,
    is_far: bool,
    /// Previous copy, at either tap; of a free place, the next free one.
    before: u32,
}

/// Place of a waiting TPDU, in the list of the tap that saw it first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key(u32);

impl Key {
    const fn new(tap: Tap, place: Place) -> Self {
        Self(place << 1 | tap as u32)
    }

    /// Tap that saw the first copy.
    pub(super) const fn tap(self) -> Tap {
        if self.0 & 1 == 0 { Tap::Near } else { Tap::Far }
    }

    const fn place(self) -> Place {
        self.0 >> 1
    }
}

/// Waiting TPDUs.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// For lookups only, never iterated, so its order cannot show.
    index: HashTable<Key>,
    waiting: [LruSlab<Waiting>; 2],
    more: Vec<More>,
    free: u32,
    /// Number of waiting copies.
    copies: usize,
    limit: usize,
}

impl Window {
    /// Empty window for up to `limit` TPDUs, and four times as many copies.
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, 1 << 27);
        Self {
            index: HashTable::new(),
            waiting: [0, 1].map(|_| LruSlab::new(limit)),
            more: Vec::new(),
            free: NONE,
            copies: 0,
            limit,
        }
    }

    /// True if a TPDU must be removed before another is added.
    pub(super) const fn is_full(&self) -> bool {
        let [near, far] = &self.waiting;
        near.count() + far.count() >= self.limit || self.copies >= 4 * self.limit
    }

    /// Place of a TPDU, if it waits.
    #[inline]
    pub(super) fn find(&self, name: Name) -> Option<Key> {
        let is_it = |key: &Key| self.get(*key).is_some_and(|waiting| waiting.name == name);
        self.index.find(name[0], is_it).copied()
    }

    #[inline]
    fn get(&self, key: Key) -> Option<&Waiting> {
        self.waiting[key.tap() as usize].get(key.place())
    }

    /// TPDU at a place.
    #[inline]
    pub(super) fn at(&mut self, key: Key) -> &mut Waiting {
        self.waiting[key.tap() as usize].at(key.place())
    }

    /// Age at which the tap that saw the first copy saw its last.
    pub(super) fn heard(&self, key: Key) -> Instant {
        self.waiting[key.tap() as usize].heard(key.place())
    }

    /// Longest-waiting TPDU of the tap that saw more of them first.
    pub(super) fn oldest(&self) -> Option<Key> {
        let [near, far] = &self.waiting;
        let tap = if near.count() >= far.count() { Tap::Near } else { Tap::Far };
        self.waiting[tap as usize].oldest().map(|place| Key::new(tap, place))
    }

    /// Longest-waiting TPDU that a tap saw first, if the tap had no copy since `before`.
    #[inline]
    pub(super) fn expired(&mut self, tap: Tap, before: Instant) -> Option<Key> {
        self.waiting[tap as usize].expired(before).map(|place| Key::new(tap, place))
    }

    /// Adds a TPDU that does not wait yet, seen now. Call it only if there is room.
    pub(super) fn insert(
        &mut self,
        (name, ends): (Name, [u32; 2]),
        tap: Tap,
        seen: Seen,
        now: Instant,
    ) {
        let mut counts = [0; 2];
        counts[tap as usize] = 1;
        let first = [seen; 2];
        let other_heard = Instant::ZERO;
        let (since, changed) = (now, now);
        let waiting =
            Waiting { name, ends, counts, first, more: NONE, other_heard, since, changed };
        let key = Key::new(tap, self.waiting[tap as usize].insert(waiting, now));
        self.copies += 1;
        let waiting = &self.waiting;
        self.index.insert_unique(name[0], key, |key| {
            waiting[key.tap() as usize].get(key.place()).map_or(0, |waiting| waiting.name[0])
        });
    }

    /// Adds another copy of a waiting TPDU; returns the number of copies at each tap.
    pub(super) fn add(&mut self, key: Key, tap: Tap, seen: Seen) -> [u32; 2] {
        self.copies += 1;
        let waiting = self.waiting[key.tap() as usize].at(key.place());
        let count = &mut waiting.counts[tap as usize];
        *count += 1;
        if *count == 1 {
            waiting.first[tap as usize] = seen;
            return waiting.counts;
        }
        let more = More { seen, is_far: tap == Tap::Far, before: waiting.more };
        let counts = waiting.counts;
        waiting.more = match self.more.get_mut(self.free as usize) {
            Some(free) => {
                let place = self.free;
                self.free = free.before;
                *free = more;
                place
            }
            None => {
                self.more.push(more);
                self.more.len() as u32 - 1
            }
        };
        counts
    }

    /// Records the age of a copy at the tap that saw the first one.
    #[inline]
    pub(super) fn touch(&mut self, key: Key, now: Instant) {
        self.waiting[key.tap() as usize].touch(key.place(), now);
    }

    /// Removes a TPDU.
    pub(super) fn remove(&mut self, key: Key) -> Option<Waiting> {
        let waiting = self.waiting[key.tap() as usize].remove(key.place())?;
        if let Ok(entry) = self.index.find_entry(waiting.name[0], |found| *found == key) {
            entry.remove();
        }
        self.copies -= waiting.counts.iter().sum::<u32>() as usize;
        Some(waiting)
    }

    /// Pairs of copies of a removed TPDU that both taps saw equally often, in order. Call it
    /// exactly once, because it frees the copies.
    pub(super) fn pairs(&mut self, waiting: &Waiting) -> Vec<[Seen; 2]> {
        let mut seen = [Vec::new(), Vec::new()];
        let mut place = waiting.more;
        while let Some(more) = self.more.get_mut(place as usize) {
            seen[usize::from(more.is_far)].push(more.seen);
            let before = core::mem::replace(&mut more.before, self.free);
            (self.free, place) = (place, before);
        }
        let [near, far] = seen;
        let more = near.into_iter().zip(far).rev().map(|(near, far)| [near, far]);
        let has_both = waiting.counts.iter().all(|count| *count > 0);
        has_both.then_some(waiting.first).into_iter().chain(more).collect()
    }

    /// True if a removed TPDU has copies beyond the first of each tap.
    pub(super) const fn has_more(waiting: &Waiting) -> bool {
        waiting.more != NONE
    }

    /// First copy at each tap of a TPDU that was seen at both.
    pub(super) const fn firsts(waiting: &Waiting) -> [Seen; 2] {
        waiting.first
    }

    /// Number of waiting TPDUs, and number of places for copies beyond the first at a tap.
    pub(super) fn held(&self) -> [usize; 2] {
        [self.index.len(), self.more.len()]
    }

    /// Number of waiting TPDUs, and of their copies.
    #[cfg(test)]
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.index.len(), self.copies]
    }
}
