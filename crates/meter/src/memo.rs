//! What was found lately, under what names it in a frame: a look-up of one comparison in place of a table's.
//!
//! Each name has two places, which it shares, and whoever comes later takes one. A thing is remembered for as
//! long as nothing comes or goes where it was found.

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
    /// Which of a pair made way last.
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

    /// What stands in a place, if it goes by this name and nothing has come or gone since.
    #[inline]
    pub(crate) fn find_in(&self, slot: Slot, name: Name, changes: u64) -> Option<&T> {
        let named = self.places.get(slot)?;
        (named.name == name && named.changes == changes).then_some(&named.value)
    }

    /// Where a thing of this name may stand that is not remembered: in place of what is gone, the first of both if
    /// it may be, or else of one of two in turn.
    pub(crate) fn room(&mut self, name: Name, changes: u64) -> Slot {
        let first = pair(name);
        let gone =
            [first, first + 1].into_iter().find(|slot| self.places[*slot].changes != changes);
        gone.unwrap_or_else(|| {
            self.turn = 1 - self.turn;
            first + self.turn
        })
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
        let slot = memo.room([7, 9], 3);
        memo.replace(slot, [7, 9], 3, 42);
        assert_eq!(memo.find([7, 9], 3), Some((slot, &42)));
        assert_eq!((memo.find([7, 9], 4), memo.find([9, 7], 3)), (None, None));
        assert_eq!(memo.find_in(slot, [7, 9], 3), Some(&42));
        let others =
            [(slot ^ 1, [7, 9], 3), (slot, [9, 7], 3), (slot, [7, 9], 4), (PLACES, [7, 9], 3)];
        assert!(others.iter().all(|(slot, name, n)| memo.find_in(*slot, *name, *n).is_none()));
    }

    #[test]
    fn two_names_of_a_pair_stand_side_by_side_and_a_third_takes_the_place_of_one() {
        let mut memo = Memo::<u64>::default();
        let alike: Vec<Name> =
            (0..).map(|n| [n, 0]).filter(|name| pair(*name) == pair([0, 0])).take(3).collect();
        for (value, name) in alike.iter().enumerate() {
            let slot = memo.room(*name, 1);
            memo.replace(slot, *name, 1, value as u64);
            let found = alike.iter().filter(|name| memo.find(**name, 1).is_some()).count();
            assert_eq!(
                (memo.find(*name, 1), found),
                (Some((slot, &(value as u64))), 2.min(value + 1))
            );
        }
        // One that is gone makes way before one that is not, whichever was the last to come.
        for gone in 0..2 {
            let first = pair([0, 0]);
            memo.replace(first + gone, alike[gone], 1, 0);
            memo.replace(first + (1 - gone), alike[1 - gone], 2, 0);
            assert_eq!(memo.room(alike[2], 2), first + gone);
        }
    }
}
