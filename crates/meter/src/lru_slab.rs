//! Slab with LRU eviction: values in numbered places, linked in order of use.
//!
//! Use of a value moves its place to the new end of the list once per second, so that a busy value
//! costs one write each time. The order is exact to one second.

use crate::packed_instant::PackedInstant;
use core::time::Duration;
use wire::time::Instant;

/// Place of a value.
pub(crate) type Place = u32;

/// No place: the end of the list, and of the free list.
const NOWHERE: Place = Place::MAX;
/// Maximum number of bits of a place, so that an index may use the others.
pub(crate) const PLACE_BITS: u32 = 29;

/// Value in a place, as long as it is neither removed nor renewed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handle {
    place: Place,
    generation: u32,
}

impl Handle {
    /// Handle of no value.
    pub(crate) const NONE: Self = Self { place: NOWHERE, generation: 0 };

    /// Number of the handle, below 2^61 as long as no more than 2^29 values were removed from a place.
    pub(crate) const fn number(self) -> u64 {
        (self.generation as u64) << PLACE_BITS | self.place as u64
    }

    /// Place of the value.
    pub(crate) const fn place(self) -> Place {
        self.place
    }
}

/// Second that contains `at`, plus one; at most 2^32 - 1.
const fn next_second(at: Instant) -> u32 {
    let second = at.as_nanos() / NANOS_PER_SECOND + 1;
    if second < u32::MAX as u64 { second as u32 } else { u32::MAX }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Time of the last use of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    last: PackedInstant,
    /// Second after the one in which it was last moved in the list.
    until: u32,
}

impl Heard {
    const fn first(at: Instant) -> Self {
        Self { last: PackedInstant::of(at), until: next_second(at) }
    }

    /// Records a use; returns true if the place must be moved up in the list.
    #[inline]
    pub(crate) const fn note(&mut self, at: Instant) -> bool {
        self.last = PackedInstant::of(at);
        at.as_nanos() >= self.until as u64 * NANOS_PER_SECOND
    }

    const fn last(&self) -> Instant {
        match self.last.get() {
            Some(last) => last,
            None => Instant::MAX,
        }
    }
}

/// Value in its place. In the order of its fields, so that a use of the value touches few cache lines.
#[derive(Clone, Debug)]
#[repr(C)]
struct Slot<T> {
    heard: Heard,
    /// Number of values removed from this place, and of renewals; wraps after 2^32.
    generation: u32,
    /// Place used next before this one; of a free place, the next free one.
    older: Place,
    /// Place used next after this one.
    newer: Place,
    value: Option<T>,
}

/// Slab of values with a maximum size.
#[derive(Clone, Debug)]
pub(crate) struct LruSlab<T> {
    slots: Vec<Slot<T>>,
    free: Place,
    oldest: Place,
    /// Lower bound of the last use of the oldest value: it is examined again only once the time of
    /// eviction has reached this bound.
    oldest_heard: Instant,
    newest: Place,
    count: usize,
    maximum: usize,
    /// Silence after which a value expires, in nanoseconds.
    silence_nanos: u64,
    /// Time up to which no value has expired.
    expiry: Instant,
}

impl<T> LruSlab<T> {
    /// Octets of a place and its value.
    #[cfg(test)]
    pub(crate) const SLOT_OCTETS: usize = size_of::<Slot<T>>();

    /// Creates an empty slab for up to `maximum` values.
    pub(crate) fn new(maximum: usize) -> Self {
        Self::expiring(maximum, u64::MAX)
    }

    /// Creates an empty slab for up to `maximum` values, each of which expires after a silence.
    pub(crate) fn expiring(maximum: usize, silence_nanos: u64) -> Self {
        let maximum = maximum.clamp(1, (1 << PLACE_BITS) - 1);
        Self {
            slots: Vec::new(),
            free: NOWHERE,
            oldest: NOWHERE,
            oldest_heard: Instant::ZERO,
            newest: NOWHERE,
            count: 0,
            maximum,
            silence_nanos,
            expiry: Instant::ZERO,
        }
    }

    /// Number of values.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// True if the slab is full.
    pub(crate) const fn is_full(&self) -> bool {
        self.count >= self.maximum
    }

    /// Value in this place, if there is one.
    pub(crate) fn get(&self, place: Place) -> Option<&T> {
        self.slots.get(place as usize)?.value.as_ref()
    }

    /// Value in this place, if there is one.
    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut T> {
        self.slots.get_mut(place as usize)?.value.as_mut()
    }

    /// Value in a place that is known to be occupied.
    #[inline]
    pub(crate) fn at(&mut self, place: Place) -> &mut T {
        let slot = self.slots.get_mut(place as usize).and_then(|slot| slot.value.as_mut());
        slot.expect("a place found in an index is taken")
    }

    /// Values in the order of their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, &T, Instant)> {
        self.iter_in(self.places())
    }

    /// Values in some places, in their order.
    pub(crate) fn iter_in(
        &self,
        places: core::ops::Range<Place>,
    ) -> impl Iterator<Item = (Place, &T, Instant)> {
        let (first, end) = (places.start as usize, places.end as usize);
        let slots = self.slots.get(first..end.min(self.slots.len())).unwrap_or_default();
        places.zip(slots).filter_map(|(place, slot)| {
            slot.value.as_ref().map(|value| (place, value, slot.heard.last()))
        })
    }

    /// All places ever occupied, free ones included.
    pub(crate) fn places(&self) -> core::ops::Range<Place> {
        0..self.slots.len() as Place
    }

    /// Last use of the value in this place.
    pub(crate) fn heard(&self, place: Place) -> Instant {
        self.slots.get(place as usize).map_or(Instant::ZERO, |slot| slot.heard.last())
    }

    /// Adds a value, used now. Call it only if the slab is not full.
    pub(crate) fn insert(&mut self, value: T, at: Instant) -> Place {
        let (value, heard) = (Some(value), Heard::first(at));
        let (older, newer) = (NOWHERE, NOWHERE);
        self.count += 1;
        let place = self.free;
        let place = if let Some(free) = self.slots.get_mut(place as usize) {
            self.free = free.older;
            *free = Slot { value, heard, generation: free.generation, older, newer };
            place
        } else {
            self.slots.push(Slot { value, heard, generation: 0, older, newer });
            Place::try_from(self.slots.len() - 1).expect("the maximum fits a place")
        };
        self.link(place);
        place
    }

    /// Removes the value in this place.
    pub(crate) fn remove(&mut self, place: Place) -> Option<T> {
        let value = self.slots.get_mut(place as usize)?.value.take()?;
        self.unlink(place);
        self.renew(place);
        self.slots[place as usize].older = self.free;
        self.free = place;
        self.count -= 1;
        Some(value)
    }

    /// Handle of the value in this place.
    pub(crate) fn handle(&self, place: Place) -> Handle {
        let slot = self.slots.get(place as usize);
        slot.map_or(Handle::NONE, |slot| Handle { place, generation: slot.generation })
    }

    /// True if a handle still names its value.
    #[inline]
    pub(crate) fn is_valid(&self, handle: Handle) -> bool {
        let slot = self.slots.get(handle.place as usize);
        slot.is_some_and(|slot| slot.generation == handle.generation && slot.value.is_some())
    }

    /// Value that a handle names and its last use, if the handle is valid.
    #[inline]
    pub(crate) fn valid(&mut self, handle: Handle) -> Option<(&mut T, &mut Heard)> {
        let slot = self.slots.get_mut(handle.place as usize)?;
        let Slot { value: Some(value), heard, generation, .. } = slot else { return None };
        (*generation == handle.generation).then_some((value, heard))
    }

    /// Invalidates the handles of the value in this place.
    pub(crate) fn renew(&mut self, place: Place) {
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.generation = slot.generation.wrapping_add(1);
        }
    }

    /// Records a use of the value in this place.
    #[inline]
    pub(crate) fn touch(&mut self, place: Place, at: Instant) {
        if self.slots.get_mut(place as usize).is_some_and(|slot| slot.heard.note(at)) {
            self.move_up(place, at);
        }
    }

    /// Moves a place that was used now to the new end of the list.
    #[cold]
    pub(crate) fn move_up(&mut self, place: Place, at: Instant) {
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.heard = Heard::first(at);
        }
        self.unlink(place);
        self.link(place);
    }

    /// Place of the least recently used value.
    pub(crate) const fn oldest(&self) -> Option<Place> {
        if self.oldest == NOWHERE { None } else { Some(self.oldest) }
    }

    /// True if a value may have expired at this time.
    #[inline]
    pub(crate) fn may_have_expired(&self, at: Instant) -> bool {
        at > self.expiry
    }

    /// Place of the least recently used value, if it has expired at this time.
    pub(crate) fn expired_at(&mut self, at: Instant) -> Option<Place> {
        let expired = self.expired(at.earlier_by(self.silence_nanos));
        self.set_expiry();
        expired
    }

    /// Place of the least recently used value, if it was not used since `before`.
    pub(crate) fn expired(&mut self, before: Instant) -> Option<Place> {
        if before <= self.oldest_heard {
            return None;
        }
        let oldest = self.oldest()?;
        self.oldest_heard = self.heard(oldest);
        (self.oldest_heard < before).then_some(oldest)
    }

    fn set_oldest(&mut self, place: Place) {
        (self.oldest, self.oldest_heard) = (place, self.heard(place));
        self.set_expiry();
    }

    fn set_expiry(&mut self) {
        self.expiry = match self.oldest() {
            Some(_) => self.oldest_heard + Duration::from_nanos(self.silence_nanos),
            None => Instant::MAX,
        };
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
    fn the_lru_order_is_exact_to_one_second() {
        let mut slab = LruSlab::new(8);
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
        assert_eq!(slab.oldest(), Some(first), "seconds are those of the clock, not of the value");
    }

    #[test]
    fn a_free_place_is_reused() {
        let mut slab = LruSlab::new(2);
        let first = slab.insert('a', at(0));
        slab.insert('b', at(1));
        assert!(slab.is_full());
        assert_eq!(slab.remove(first), Some('a'));
        assert_eq!((slab.remove(first), slab.get(first), slab.count()), (None, None, 1));
        assert_eq!(slab.insert('c', at(2)), first);
        let all: String = slab.iter().map(|(_, value, _)| *value).collect();
        assert_eq!(all, "cb");
    }

    #[test]
    fn a_handle_is_valid_until_its_value_is_removed_or_renewed() {
        let mut slab = LruSlab::new(2);
        let place = slab.insert('a', at(0));
        let handle = slab.handle(place);
        slab.touch(place, at(2_000));
        assert!(slab.is_valid(handle) && handle.place() == place);
        slab.renew(place);
        let renewed = slab.handle(place);
        assert_eq!([handle, renewed].map(|handle| slab.is_valid(handle)), [false, true]);
        slab.remove(place);
        assert!(!slab.is_valid(renewed));
        assert_eq!(slab.insert('b', at(3)), place);
        assert_eq!([handle, renewed].map(|handle| slab.is_valid(handle)), [false, false]);
        assert!(!slab.is_valid(Handle::NONE) && slab.is_valid(slab.handle(place)));
    }

    #[test]
    fn a_use_in_the_far_future_moves_its_place_up() {
        let mut slab = LruSlab::new(2);
        let first = slab.insert('a', at(0));
        slab.insert('b', at(1));
        // Beyond the seconds that a place can store.
        for nanos in [u64::MAX - 2, u64::MAX - 1] {
            slab.touch(first, Instant::from_nanos(nanos));
            assert_eq!(slab.heard(first), Instant::from_nanos(nanos));
        }
        assert_eq!(slab.expired(at(2)).map(|place| slab.get(place)), Some(Some(&'b')));
    }
}
