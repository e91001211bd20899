//! What was found lately, under what names it in a frame: a look-up of one comparison in place of a table's.
//!
//! Each name has two places, which it shares, and whoever comes later takes one. A thing is remembered for as
//! long as nothing comes or goes where it was found.

/// Pairs of places.
const PAIRS_BITS: u32 = 11;
const PLACES: usize = 2 << PAIRS_BITS;

/// What names a thing: two words of a frame, which the user chooses.
pub(crate) type Name = [u64; 2];

/// The number of a thing that is remembered, which another takes over when it makes way.
pub(crate) type Slot = usize;

/// A thing, under what named it.
#[derive(Clone, Copy, Debug)]
struct Named<T> {
    name: Name,
    /// How often things had come or gone then.
    changes: u64,
    value: T,
}

/// Things that were found lately. They stand close together in the order in which they came, so that few take little
/// room in a cache; what a place holds is which of them is there.
#[derive(Clone, Debug)]
pub(crate) struct Memo<T> {
    /// One more than the number of a thing; zero where there is none.
    places: Box<[u16; PLACES]>,
    things: Vec<Named<T>>,
    /// Which of a pair made way last.
    turn: usize,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self { places: Box::new([0; PLACES]), things: Vec::new(), turn: 0 }
    }
}

/// The first place of a pair.
#[inline]
const fn pair([front, back]: Name) -> usize {
    // Fibonacci hashing: the golden ratio spreads what is alike, and the top bits take part in all.
    let mixed = (front ^ back.rotate_left(24)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (u64::BITS - PAIRS_BITS)) as usize * 2
}

impl<T> Memo<T> {
    /// What stands in a place, if anything does.
    #[inline]
    fn placed(&self, place: usize) -> Option<(Slot, &Named<T>)> {
        let slot = usize::from(self.places[place]).wrapping_sub(1);
        self.things.get(slot).map(|named| (slot, named))
    }

    /// What goes by this name and where it stands, if it is remembered and nothing has come or gone since;
    /// `changes` counts that, from one on.
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

    /// What is remembered under this number, if it goes by this name and nothing has come or gone since.
    #[inline]
    pub(crate) fn find_in(&self, slot: Slot, name: Name, changes: u64) -> Option<&T> {
        let named = self.things.get(slot)?;
        (named.name == name && named.changes == changes).then_some(&named.value)
    }

    /// Remembers a thing that is not remembered: in place of what is gone, the first of both places if it may be, or
    /// else of one of two in turn. `replace` makes it of what stood there.
    pub(crate) fn remember(
        &mut self,
        (name, changes): (Name, u64),
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

    /// What is remembered under this number, whatever it goes by.
    #[inline]
    pub(crate) fn at(&mut self, slot: Slot) -> &mut T {
        &mut self.things[slot].value
    }

    /// What is remembered under these numbers.
    pub(crate) fn each<'a>(&'a self, slots: &'a [Slot]) -> impl Iterator<Item = &'a T> {
        slots.iter().map(|slot| &self.things[*slot].value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_found_until_something_changes() {
        let mut memo = Memo::<u8>::default();
        let slot = memo.remember(([7, 9], 3), |_| 42);
        assert_eq!(memo.find([7, 9], 3), Some((slot, &42)));
        assert_eq!((memo.find([7, 9], 4), memo.find([9, 7], 3)), (None, None));
        assert_eq!(memo.find_in(slot, [7, 9], 3), Some(&42));
        let others = [(slot + 1, [7, 9], 3), (slot, [9, 7], 3), (slot, [7, 9], 4)];
        assert!(others.iter().all(|(slot, name, n)| memo.find_in(*slot, *name, *n).is_none()));
    }

    /// Names that share a pair of places.
    fn alike() -> [Name; 4] {
        let names = (0..).map(|n| [n, 0]).filter(|name| pair(*name) == pair([0, 0]));
        names.take(4).collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn two_names_of_a_pair_stand_side_by_side_and_a_third_takes_the_place_of_one() {
        let mut memo = Memo::<u64>::default();
        for (value, name) in (0..).zip(alike()) {
            let mut before = None;
            let slot = memo.remember((name, 1), |gone| {
                before = gone.copied();
                value
            });
            let found = alike().iter().filter(|name| memo.find(**name, 1).is_some()).count();
            assert_eq!(
                (memo.find(name, 1), found),
                (Some((slot, &value)), 2.min(value as usize + 1))
            );
            assert_eq!(before.is_some(), value >= 2, "{before:?} made way for {value}");
        }
        assert_eq!(memo.things.len(), 2);
    }

    #[test]
    fn what_is_gone_makes_way_whichever_came_last() {
        let [one, other, third, _] = alike();
        for stays in [one, other] {
            let mut memo = Memo::<Name>::default();
            memo.remember((one, 1), |_| one);
            memo.remember((other, 1), |_| other);
            // Both are gone by now, the first of them makes way; then one of them was found anew.
            let slot = memo.find(stays, 1).unwrap().0;
            memo.things[slot].changes = 2;
            memo.remember((third, 2), |gone| {
                assert_ne!(gone, Some(&stays));
                third
            });
            assert_eq!(memo.find(stays, 2).map(|(_, value)| *value), Some(stays));
        }
    }

    #[test]
    fn memory_is_bounded_whatever_is_remembered() {
        let mut memo = Memo::<u32>::default();
        for n in 0..100_000 {
            memo.remember(([n, n], 1), |_| n as u32);
        }
        assert!((PLACES * 9 / 10..=PLACES).contains(&memo.things.len()));
        assert_eq!(memo.find([99_999, 99_999], 1).map(|(_, value)| *value), Some(99_999));
    }
}
