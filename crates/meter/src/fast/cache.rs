//! 2-way set-associative cache of lookups: one comparison instead of a probe of the table.
//!
//! Each name maps to a set of two entries; a new name evicts one of them. The cache does not know
//! whether a value is still valid: the user asks the table.

/// Sets, as a power of two.
const PAIRS_BITS: u32 = 13;
const PLACES: usize = 2 << PAIRS_BITS;

/// Name of a cached value: two words of a frame, which the user chooses.
pub(crate) type Name = [u64; 2];

/// Number of a cached value; the value that replaces it takes the number over.
pub(crate) type Slot = usize;

/// Cached value with its name. In the order of its fields, so that the first 48 octets of a value
/// share a cache line with the name.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Named<T> {
    name: Name,
    value: T,
}

/// 2-way set-associative cache. Values are stored contiguously in the order of insertion, so that a
/// small number of them stays within the CPU cache; the sets hold indices into that array.
#[derive(Clone, Debug)]
pub(crate) struct TwoWayCache<T> {
    /// Index of a value plus one; zero for an empty entry.
    places: Box<[u16; PLACES]>,
    things: Vec<Named<T>>,
    /// Entry of a set that was replaced last, 0 or 1.
    turn: usize,
}

impl<T> Default for TwoWayCache<T> {
    fn default() -> Self {
        Self { places: Box::new([0; PLACES]), things: Vec::new(), turn: 0 }
    }
}

/// First entry of the set of a name.
#[inline]
const fn pair([front, back]: Name) -> usize {
    // Fibonacci hashing: the golden ratio spreads similar names, and all bits affect the top ones.
    let mixed = (front ^ back.rotate_left(24)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (u64::BITS - PAIRS_BITS)) as usize * 2
}

impl<T> TwoWayCache<T> {
    /// Value in an entry, if there is one.
    #[inline]
    fn placed(&self, place: usize) -> Option<(Slot, &Named<T>)> {
        let slot = self.slot(place);
        self.things.get(slot).map(|named| (slot, named))
    }

    /// Value of this name and its number, if it is cached.
    #[inline]
    pub(crate) fn find(&self, name: Name) -> Option<(Slot, &T)> {
        let first = pair(name);
        let slot = if self.has_name(first, name) {
            self.slot(first)
        } else if self.has_name(first + 1, name) {
            self.slot(first + 1)
        } else {
            return None;
        };
        self.things.get(slot).map(|named| (slot, &named.value))
    }

    /// Number of the value in an entry; that of no value if it is empty.
    #[inline]
    fn slot(&self, place: usize) -> Slot {
        usize::from(self.places[place]).wrapping_sub(1)
    }

    #[inline]
    fn has_name(&self, place: usize, name: Name) -> bool {
        self.things.get(self.slot(place)).is_some_and(|named| named.name == name)
    }

    /// Inserts a value: in place of that of the same name, or else in an empty entry; otherwise it
    /// alternates between the two. `replace` makes the value from the one that it replaces, with its
    /// number.
    pub(crate) fn insert(
        &mut self,
        name: Name,
        replace: impl FnOnce(Option<(Slot, &T)>) -> T,
    ) -> Slot {
        let first = pair(name);
        let both = [first, first + 1];
        let own = both.into_iter().find(|place| self.has_name(*place, name));
        let empty = || both.into_iter().find(|place| self.placed(*place).is_none());
        let place = own.or_else(empty).unwrap_or_else(|| {
            self.turn = 1 - self.turn;
            first + self.turn
        });
        if let Some((slot, before)) = self.placed(place) {
            let value = replace(Some((slot, &before.value)));
            self.things[slot] = Named { name, value };
            return slot;
        }
        self.things.push(Named { name, value: replace(None) });
        self.places[place] = self.things.len() as u16;
        self.things.len() - 1
    }

    /// Value with this number, under any name.
    #[inline]
    pub(crate) fn at(&mut self, slot: Slot) -> &mut T {
        &mut self.things[slot].value
    }

    /// The same to read.
    pub(crate) fn get(&self, slot: Slot) -> &T {
        &self.things[slot].value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_name_alone() {
        let mut cache = TwoWayCache::<u8>::default();
        let slot = cache.insert([7, 9], |_| 42);
        assert_eq!((cache.find([7, 9]), cache.find([9, 7])), (Some((slot, &42)), None));
        assert_eq!(*cache.at(slot), 42);
    }

    #[test]
    fn a_name_has_one_value() {
        let [one, other, third, _] = batch();
        for again in [one, other] {
            let mut cache = TwoWayCache::<u8>::default();
            for name in [one, other] {
                cache.insert(name, |_| 1);
            }
            let slot = cache.insert(again, |before| before.map_or(0, |(_, before)| before + 1));
            assert_eq!(cache.find(again), Some((slot, &2)));
            assert_eq!([one, other].map(|name| cache.find(name).is_some()), [true; 2]);
            // The value of a name that is evicted is not found again.
            cache.insert(third, |_| 3);
            cache.insert(third, |_| 4);
            let found = [one, other].map(|name| cache.find(name).is_some());
            assert_eq!(found.iter().filter(|found| **found).count(), 1);
            assert_eq!(cache.things.len(), 2);
        }
    }

    /// Names that share a set.
    fn batch() -> [Name; 4] {
        let names = (0..).map(|n| [n, 0]).filter(|name| pair(*name) == pair([0, 0]));
        names.take(4).collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn a_set_holds_two_names_and_a_third_evicts_one() {
        let mut cache = TwoWayCache::<u64>::default();
        for (value, name) in (0..).zip(batch()) {
            let mut before = None;
            let slot = cache.insert(name, |gone| {
                before = gone.map(|(_, gone)| *gone);
                value
            });
            let found = batch().iter().filter(|name| cache.find(**name).is_some()).count();
            assert_eq!(
                (cache.find(name), found),
                (Some((slot, &value)), 2.min(value as usize + 1))
            );
            assert_eq!(before.is_some(), value >= 2, "{before:?} was evicted for {value}");
        }
        assert_eq!(cache.things.len(), 2);
    }

    #[test]
    fn memory_is_bounded_for_any_number_of_names() {
        let mut cache = TwoWayCache::<u32>::default();
        for n in 0..100_000 {
            cache.insert([n, n], |_| n as u32);
        }
        assert!((PLACES * 9 / 10..=PLACES).contains(&cache.things.len()));
        assert_eq!(cache.find([99_999, 99_999]).map(|(_, value)| *value), Some(99_999));
    }
}
