//! TPDUs whose copies wait for each other, by name, and at either tap in the order in which they were heard.
//!
//! A name is 128 bits of what a TPDU is known again by, so that all names take as little room: two of a
//! thousand million TPDUs beside those that wait are taken for one another once in some 10^24 captures.

use super::Tap;
use crate::slab::{Place, Slab};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};
use wire::time::Instant;

/// What a TPDU is known again by.
pub(super) type Name = [u64; 2];

/// Gives names.
#[derive(Clone, Debug)]
pub(super) struct Namer([FixedState; 2]);

impl Namer {
    pub(super) fn new() -> Self {
        Self([1, 2].map(FixedState::with_seed))
    }

    /// The name of what has these features.
    #[inline]
    pub(super) fn name(&self, features: &impl Hash) -> Name {
        self.0.each_ref().map(|state| state.hash_one(features))
    }
}

/// A copy of a TPDU at a tap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    pub(super) at: Instant,
    /// In a TCP stream: the first octet of its segment, and how many there are.
    pub(super) segment: [u32; 2],
}

/// No further copy.
const NONE: u32 = u32::MAX;

/// The copies of a TPDU.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    name: Name,
    /// From whom to whom.
    pub(super) ends: [u32; 2],
    /// How many copies the near tap has seen, and the far one.
    pub(super) counts: [u32; 2],
    /// The first of each, where there is one.
    first: [Seen; 2],
    /// The last of the others.
    more: u32,
    /// When the tap that did not see the first one saw its last, if it saw any.
    pub(super) other_heard: Instant,
    /// When the tap that saw the first one saw it, and how far that was when either saw the last.
    pub(super) since: Instant,
    pub(super) changed: Instant,
}

/// A copy that is not the first at its tap.
#[derive(Clone, Copy, Debug)]
struct More {
    seen: Seen,
    is_far: bool,
    /// The one before it, at either tap; of one that is gone, the next that is.
    before: u32,
}

/// Where a TPDU waits: with those that were seen first at this tap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key(u32);

impl Key {
    const fn new(tap: Tap, place: Place) -> Self {
        Self(place << 1 | tap as u32)
    }

    /// The tap that saw the first copy.
    pub(super) const fn tap(self) -> Tap {
        if self.0 & 1 == 0 { Tap::Near } else { Tap::Far }
    }

    const fn place(self) -> Place {
        self.0 >> 1
    }
}

/// TPDUs that wait.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Looked up only, never iterated, so its order cannot show.
    index: HashTable<Key>,
    waiting: [Slab<Waiting>; 2],
    more: Vec<More>,
    free: u32,
    /// How many copies wait.
    copies: usize,
    limit: usize,
}

impl Window {
    /// Room for so many TPDUs, and for four times as many copies.
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, 1 << 27);
        Self {
            index: HashTable::new(),
            waiting: [0, 1].map(|_| Slab::new(limit)),
            more: Vec::new(),
            free: NONE,
            copies: 0,
            limit,
        }
    }

    /// Whether one has to go before another comes.
    pub(super) const fn is_full(&self) -> bool {
        let [near, far] = &self.waiting;
        near.count() + far.count() >= self.limit || self.copies >= 4 * self.limit
    }

    /// Where a TPDU waits, if it does.
    #[inline]
    pub(super) fn find(&self, name: Name) -> Option<Key> {
        let is_it = |key: &Key| self.get(*key).is_some_and(|waiting| waiting.name == name);
        self.index.find(name[0], is_it).copied()
    }

    #[inline]
    fn get(&self, key: Key) -> Option<&Waiting> {
        self.waiting[key.tap() as usize].get(key.place())
    }

    /// What waits there.
    #[inline]
    pub(super) fn at(&mut self, key: Key) -> &mut Waiting {
        self.waiting[key.tap() as usize].at(key.place())
    }

    /// When the tap that saw the first copy of it saw its last.
    pub(super) fn heard(&self, key: Key) -> Instant {
        self.waiting[key.tap() as usize].heard(key.place())
    }

    /// The TPDU that waits longest of those that were seen first at the tap that has more of them.
    pub(super) fn oldest(&self) -> Option<Key> {
        let [near, far] = &self.waiting;
        let tap = if near.count() >= far.count() { Tap::Near } else { Tap::Far };
        self.waiting[tap as usize].oldest().map(|place| Key::new(tap, place))
    }

    /// The TPDU that waits longest of those that were seen first at a tap, if that has not heard it since.
    #[inline]
    pub(super) fn expired(&mut self, tap: Tap, before: Instant) -> Option<Key> {
        self.waiting[tap as usize].expired(before).map(|place| Key::new(tap, place))
    }

    /// Takes a TPDU that does not wait, heard now. To be called where there is room.
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

    /// Takes another copy of one that waits; how many each tap has seen with it.
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

    /// Takes notice of when the tap that saw the first copy heard of it.
    #[inline]
    pub(super) fn touch(&mut self, key: Key, now: Instant) {
        self.waiting[key.tap() as usize].touch(key.place(), now);
    }

    /// Takes a TPDU out.
    pub(super) fn remove(&mut self, key: Key) -> Option<Waiting> {
        let waiting = self.waiting[key.tap() as usize].remove(key.place())?;
        if let Ok(entry) = self.index.find_entry(waiting.name[0], |found| *found == key) {
            entry.remove();
        }
        self.copies -= waiting.counts.iter().sum::<u32>() as usize;
        Some(waiting)
    }

    /// The copies of one that was taken out, of which both taps saw as many, in the order in which they came. To
    /// be called once, if only to let them go.
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

    /// Whether one that was taken out has copies beyond the first of each tap.
    pub(super) const fn has_more(waiting: &Waiting) -> bool {
        waiting.more != NONE
    }

    /// The first copy at each tap of one that was seen at both.
    pub(super) const fn firsts(waiting: &Waiting) -> [Seen; 2] {
        waiting.first
    }

    /// How many TPDUs wait, and how many places there are for copies beyond the first at a tap.
    pub(super) fn held(&self) -> [usize; 2] {
        [self.index.len(), self.more.len()]
    }

    /// How many TPDUs wait, and how many copies.
    #[cfg(test)]
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.index.len(), self.copies]
    }
}
