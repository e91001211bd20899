//! What was found lately, under what names it in a frame: a look-up of one comparison in place of a table's.
//!
//! Each name has two places, which it shares, and whoever comes later takes one. A thing is remembered for as
//! long as nothing comes or goes where it was found.

use core::cmp::Ordering;

/// Pairs of places.
const PAIRS_BITS: u32 = 11;
const PLACES: usize = 2 << PAIRS_BITS;

/// What names a thing: two words of a frame, which the user chooses.
pub(crate) type Name = [u64; 2];

/// The place of a name.
pub(crate) type Slot = usize;

/// A thing, under what named it.
#[derive(Clone, Copy, Debug, Default)]
struct Named<T> {
    name: Name,
    /// How often things had come or gone then; zero where none was ever found.
    changes: u64,
    value: T,
}

/// Things that were found lately.
#[derive(Clone, Debug)]
pub(crate) struct Memo<T> {
    places: Box<[Named<T>; PLACES]>,
    /// Which of a pair makes way next.
    turn: Slot,
}

impl<T: Copy + Default> Default for Memo<T> {
    fn default() -> Self {
        let places = vec![Named::default(); PLACES].into_boxed_slice();
        Self { places: places.try_into().ok().expect("so many were made"), turn: 0 }
    }
}

/// The first place of a pair.
#[inline]
const fn pair([front, back]: Name) -> Slot {
    // Fibonacci hashing: the golden ratio spreads what is alike, and the top bits take part in all.
    let mixed = (front ^ back.rotate_left(24)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (u64::BITS - PAIRS_BITS)) as usize * 2
}

impl<T> Memo<T> {
    /// What goes by this name and where it stands, if it is remembered and nothing has come or gone since;
    /// `changes` counts that, from one on.
    #[inline]
    pub(crate) fn find(&self, name: Name, changes: u64) -> Option<(Slot, &T)> {
        let first = pair(name);
        let is_it = |named: &Named<T>| named.name == name && named.changes == changes;
        let (one, other) = (&self.places[first], &self.places[first + 1]);
        if is_it(one) {
            return Some((first, &one.value));
        }
        is_it(other).then_some((first + 1, &other.value))
    }

    /// Where a thing of this name may stand that is not remembered: in place of what is gone, or else of one of
    /// two in turn.
    pub(crate) fn room(&mut self, name: Name) -> Slot {
        let first = pair(name);
        let [one, other] = [first, first + 1].map(|place| self.places[place].changes);
        self.turn = match one.cmp(&other) {
            Ordering::Less => 0,
            Ordering::Equal => 1 - self.turn,
            Ordering::Greater => 1,
        };
        first + self.turn
    }

    /// What stands in a place, whoever it is.
    #[inline]
    pub(crate) fn at(&mut self, slot: Slot) -> &mut T {
        &mut self.places[slot].value
    }

    /// Remembers a thing in place of another.
    pub(crate) fn replace(&mut self, slot: Slot, name: Name, changes: u64, value: T) {
        self.places[slot] = Named { name, changes, value };
    }

    /// What stands in these places.
    pub(crate) fn each<'a>(&'a self, slots: &'a [Slot]) -> impl Iterator<Item = &'a T> {
        slots.iter().map(|slot| &self.places[*slot].value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_found_until_something_changes() {
        let mut memo = Memo::<u8>::default();
        let slot = memo.room([7, 9]);
        memo.replace(slot, [7, 9], 3, 42);
        assert_eq!(memo.find([7, 9], 3), Some((slot, &42)));
        assert_eq!((memo.find([7, 9], 4), memo.find([9, 7], 3)), (None, None));
    }

    #[test]
    fn two_names_of_a_pair_stand_side_by_side_and_a_third_takes_the_place_of_one() {
        let mut memo = Memo::<u64>::default();
        let alike: Vec<Name> =
            (0..).map(|n| [n, 0]).filter(|name| pair(*name) == pair([0, 0])).take(3).collect();
        for (value, name) in alike.iter().enumerate() {
            let slot = memo.room(*name);
            memo.replace(slot, *name, 1, value as u64);
            let found = alike.iter().filter(|name| memo.find(**name, 1).is_some()).count();
            assert_eq!(
                (memo.find(*name, 1), found),
                (Some((slot, &(value as u64))), 2.min(value + 1))
            );
        }
        // One that is gone makes way before one that is not.
        let slot = memo.room([1 << 40, 0]);
        memo.replace(slot, alike[0], 1, 0);
        let gone = memo.find(alike[2], 1).map_or(slot, |(slot, _)| slot);
        memo.replace(gone ^ 1, alike[1], 2, 0);
        assert_eq!(memo.room(alike[2]), gone);
    }
}
