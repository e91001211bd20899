//! Things in numbered places, strung together by when they were heard: the longest silent goes first.
//!
//! Hearing of a thing moves it along the string once in each second, so that busy things cost one
//! write each time; the order is exact but for that second.

use wire::time::Instant;

/// Where a thing stands.
pub(crate) type Place = u32;

/// No place: the end of the string, and of the free places.
const NOWHERE: Place = Place::MAX;
/// Places are numbered with so many bits at the most, so that an index may use the others.
pub(crate) const PLACE_BITS: u32 = 29;

/// When the second ends in which it is.
const fn end_of_second(at: Instant) -> Instant {
    Instant::from_nanos((at.as_nanos() / 1_000_000_000 + 1).saturating_mul(1_000_000_000))
}

/// When a thing was heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    last: Instant,
    /// When the second ends in which it was put where it stands on the string.
    until: Instant,
}

impl Heard {
    const fn first(at: Instant) -> Self {
        Self { last: at, until: end_of_second(at) }
    }

    /// Notes that it was heard now; whether it has to be moved up on the string then.
    #[inline]
    pub(crate) fn note(&mut self, at: Instant) -> bool {
        self.last = at;
        at >= self.until
    }
}

#[derive(Clone, Debug)]
struct Slot<T> {
    value: Option<T>,
    heard: Heard,
    /// The next one heard before this one; of a free place, the next free one.
    older: Place,
    /// The next one heard after this one.
    newer: Place,
}

/// Things, up to so many of them.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Place,
    oldest: Place,
    /// Before this time the oldest was not heard last: it is looked at again only when time has come
    /// so far.
    oldest_heard: Instant,
    newest: Place,
    count: usize,
    maximum: usize,
}

impl<T> Slab<T> {
    /// Octets of a place and the thing in it.
    #[cfg(test)]
    pub(crate) const SLOT_OCTETS: usize = size_of::<Slot<T>>();

    /// Room for so many things.
    pub(crate) fn new(maximum: usize) -> Self {
        let maximum = maximum.clamp(1, (1 << PLACE_BITS) - 1);
        Self {
            slots: Vec::new(),
            free: NOWHERE,
            oldest: NOWHERE,
            oldest_heard: Instant::ZERO,
            newest: NOWHERE,
            count: 0,
            maximum,
        }
    }

    /// How many things there are.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Whether there is no room for another.
    pub(crate) const fn is_full(&self) -> bool {
        self.count >= self.maximum
    }

    /// The thing in this place, if there is one.
    pub(crate) fn get(&self, place: Place) -> Option<&T> {
        self.slots.get(place as usize)?.value.as_ref()
    }

    /// The thing in a place that is known to be taken.
    #[inline]
    pub(crate) fn at(&mut self, place: Place) -> &mut T {
        let slot = self.slots.get_mut(place as usize).and_then(|slot| slot.value.as_mut());
        slot.expect("a place found in an index is taken")
    }

    /// The same, and when it was heard.
    #[inline]
    pub(crate) fn heard_at(&mut self, place: Place) -> (&mut T, &mut Heard) {
        let slot = self.slots.get_mut(place as usize);
        let both = slot.and_then(|slot| Some((slot.value.as_mut()?, &mut slot.heard)));
        both.expect("a place found in an index is taken")
    }

    /// Each thing, in the order of their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, &T, Instant)> {
        self.places().zip(&self.slots).filter_map(|(place, slot)| {
            slot.value.as_ref().map(|value| (place, value, slot.heard.last))
        })
    }

    /// Every place that has been taken, whether it still is or not.
    pub(crate) fn places(&self) -> core::ops::Range<Place> {
        0..self.slots.len() as Place
    }

    /// When the thing in this place was heard last.
    pub(crate) fn heard(&self, place: Place) -> Instant {
        self.slots.get(place as usize).map_or(Instant::ZERO, |slot| slot.heard.last)
    }

    /// Puts a thing in a place, heard now. To be called where there is room.
    pub(crate) fn insert(&mut self, value: T, at: Instant) -> Place {
        let slot =
            Slot { value: Some(value), heard: Heard::first(at), older: NOWHERE, newer: NOWHERE };
        self.count += 1;
        let place = self.free;
        let place = if let Some(free) = self.slots.get_mut(place as usize) {
            self.free = free.older;
            *free = slot;
            place
        } else {
            self.slots.push(slot);
            Place::try_from(self.slots.len() - 1).expect("the maximum fits a place")
        };
        self.link(place);
        place
    }

    /// Takes a thing out of its place.
    pub(crate) fn remove(&mut self, place: Place) -> Option<T> {
        let value = self.slots.get_mut(place as usize)?.value.take()?;
        self.unlink(place);
        self.slots[place as usize].older = self.free;
        self.free = place;
        self.count -= 1;
        Some(value)
    }

    /// Notes that the thing in this place was heard.
    #[inline]
    pub(crate) fn touch(&mut self, place: Place, at: Instant) {
        if self.slots.get_mut(place as usize).is_some_and(|slot| slot.heard.note(at)) {
            self.move_up(place, at);
        }
    }

    /// Puts a place that was heard now at the new end of the string.
    #[cold]
    pub(crate) fn move_up(&mut self, place: Place, at: Instant) {
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.heard = Heard::first(at);
        }
        self.unlink(place);
        self.link(place);
    }

    /// The one longest silent.
    pub(crate) const fn oldest(&self) -> Option<Place> {
        if self.oldest == NOWHERE { None } else { Some(self.oldest) }
    }

    /// Whether one may have expired before this time.
    #[inline]
    pub(crate) fn may_have_expired(&self, before: Instant) -> bool {
        before > self.oldest_heard
    }

    /// The one longest silent, if it was not heard since `before`.
    pub(crate) fn expired(&mut self, before: Instant) -> Option<Place> {
        if !self.may_have_expired(before) {
            return None;
        }
        let oldest = self.oldest()?;
        self.oldest_heard = self.heard(oldest);
        (self.oldest_heard < before).then_some(oldest)
    }

    const fn set_oldest(&mut self, place: Place) {
        (self.oldest, self.oldest_heard) = (place, Instant::ZERO);
    }

    fn unlink(&mut self, place: Place) {
        let Some(Slot { older, newer, .. }) = self.slots.get(place as usize) else { return };
        let (older, newer) = (*older, *newer);
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.set_oldest(newer),
        }
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
    }

    fn link(&mut self, place: Place) {
        let newest = self.newest;
        if let Some(slot) = self.slots.get_mut(place as usize) {
            (slot.older, slot.newer) = (newest, NOWHERE);
        }
        match self.slots.get_mut(newest as usize) {
            Some(slot) => slot.newer = place,
            None => self.set_oldest(place),
        }
        self.newest = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_longest_silent_is_the_oldest_to_within_a_second() {
        let mut slab = Slab::new(8);
        let first = slab.insert('a', at(0));
        let second = slab.insert('b', at(100));
        slab.touch(first, at(900));
        assert_eq!(slab.oldest(), Some(first), "within a second it stays where it is");
        assert_eq!(slab.heard(first), at(900));
        slab.touch(first, at(1_000));
        assert_eq!(slab.oldest(), Some(second));
        assert_eq!(slab.expired(at(100)), None);
        assert_eq!(slab.expired(at(101)), Some(second));
        slab.touch(second, at(1_100));
        assert_eq!(slab.oldest(), Some(first), "seconds are those of the clock, not of the thing");
    }

    #[test]
    fn a_place_that_is_free_is_taken_again() {
        let mut slab = Slab::new(2);
        let first = slab.insert('a', at(0));
        slab.insert('b', at(1));
        assert!(slab.is_full());
        assert_eq!(slab.remove(first), Some('a'));
        assert_eq!((slab.remove(first), slab.get(first), slab.count()), (None, None, 1));
        assert_eq!(slab.insert('c', at(2)), first);
        let all: String = slab.iter().map(|(_, value, _)| *value).collect();
        assert_eq!(all, "cb");
    }
}
