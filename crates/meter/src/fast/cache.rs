//! 2-way set-associative cache of lookups: one comparison instead of a probe of the table.
//!
//! Each name maps to a set of two entries; a new name evicts one of them. An entry is valid until
//! an entry of the underlying table is added or removed.

/// Sets, as a power of two.
const PAIRS_BITS: u32 = 13;
const PLACES: usize = 2 << PAIRS_BITS;

/// Name of a cached value: two words of a frame, which the user chooses.
pub(crate) type Name = [u64; 2];

/// Number of a cached value; the value that replaces it takes the number over.
pub(crate) type Slot = usize;

/// Cached value with its name.
#[derive(Clone, Copy, Debug)]
struct Named<T> {
    name: Name,
    /// Changes of the table up to the lookup.
    changes: u64,
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
        let slot = usize::from(self.places[place]).wrapping_sub(1);
        self.things.get(slot).map(|named| (slot, named))
    }

    /// Returns the value of this name and its number if it is cached and valid: `changes`, the
    /// number of changes of the table, counted from one, must be the same as at insertion.
    #[inline]
    pub(crate) fn find(&self, name: Name, changes: u64) -> Option<(Slot, &T)> {
        let first = pair(name);
        let in_place = |place| {
            self.placed(place)
                .filter(|(_, named)| named.name == name && named.changes == changes)
                .map(|(slot, named)| (slot, &named.value))
        };
        in_place(first).or_else(|| in_place(first + 1))
    }

    /// Returns the value with this number if it has this name and is valid.
    #[inline]
    pub(crate) fn find_in(&self, slot: Slot, name: Name, changes: u64) -> Option<&T> {
        let named = self.things.get(slot)?;
        (named.name == name && named.changes == changes).then_some(&named.value)
    }

    /// Inserts a value that is not cached: replaces a stale entry, the first if both are; otherwise
    /// alternates between the two. `replace` makes the value from the one that it replaces.
    pub(crate) fn insert(
        &mut self,
        name: Name,
        changes: u64,
        replace: impl FnOnce(Option<&T>) -> T,
    ) -> Slot {
        let first = pair(name);
        let is_gone =
            |place: &usize| self.placed(*place).is_none_or(|(_, named)| named.changes != changes);
        let gone = [first, first + 1].into_iter().find(is_gone);
        let place = gone.unwrap_or_else(|| {
            self.turn = 1 - self.turn;
            first + self.turn
        });
        if let Some((slot, before)) = self.placed(place) {
            let value = replace(Some(&before.value));
            self.things[slot] = Named { name, changes, value };
            return slot;
        }
        self.things.push(Named { name, changes, value: replace(None) });
        self.places[place] = self.things.len() as u16;
        self.things.len() - 1
    }

    /// Value with this number, under any name and valid or not.
    #[inline]
    pub(crate) fn at(&mut self, slot: Slot) -> &mut T {
        &mut self.things[slot].value
    }

    /// Values with these numbers.
    pub(crate) fn each<'a>(&'a self, slots: &'a [Slot]) -> impl Iterator<Item = &'a T> {
        slots.iter().map(|slot| &self.things[*slot].value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_value_is_valid_until_the_table_changes() {
        let mut cache = TwoWayCache::<u8>::default();
        let slot = cache.insert([7, 9], 3, |_| 42);
        assert_eq!(cache.find([7, 9], 3), Some((slot, &42)));
        assert_eq!((cache.find([7, 9], 4), cache.find([9, 7], 3)), (None, None));
        assert_eq!(cache.find_in(slot, [7, 9], 3), Some(&42));
        let others = [(slot + 1, [7, 9], 3), (slot, [9, 7], 3), (slot, [7, 9], 4)];
        assert!(others.iter().all(|(slot, name, n)| cache.find_in(*slot, *name, *n).is_none()));
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
            let slot = cache.insert(name, 1, |gone| {
                before = gone.copied();
                value
            });
            let found = batch().iter().filter(|name| cache.find(**name, 1).is_some()).count();
            assert_eq!(
                (cache.find(name, 1), found),
                (Some((slot, &value)), 2.min(value as usize + 1))
            );
            assert_eq!(before.is_some(), value >= 2, "{before:?} was evicted for {value}");
        }
        assert_eq!(cache.things.len(), 2);
    }

    #[test]
    fn a_stale_entry_is_replaced_before_a_valid_one() {
        let [one, other, third, _] = batch();
        for stays in [one, other] {
            let mut cache = TwoWayCache::<Name>::default();
            cache.insert(one, 1, |_| one);
            cache.insert(other, 1, |_| other);
            // Both are stale by now; then one of them is looked up and inserted anew.
            let slot = cache.find(stays, 1).unwrap().0;
            cache.things[slot].changes = 2;
            cache.insert(third, 2, |gone| {
                assert_ne!(gone, Some(&stays));
                third
            });
            assert_eq!(cache.find(stays, 2).map(|(_, value)| *value), Some(stays));
        }
    }

    #[test]
    fn memory_is_bounded_for_any_number_of_names() {
        let mut cache = TwoWayCache::<u32>::default();
        for n in 0..100_000 {
            cache.insert([n, n], 1, |_| n as u32);
        }
        assert!((PLACES * 9 / 10..=PLACES).contains(&cache.things.len()));
        assert_eq!(cache.find([99_999, 99_999], 1).map(|(_, value)| *value), Some(99_999));
    }
}
