//! Packed counters of both sides of a connection; small, because every connection has them.
//!
//! Sums are narrow, and return their carry. Classes of sizes are allocated on use; the first four
//! are inline, which costs less than an allocation.

use super::side::Side;

/// Counts of a class of sizes: TPDUs, DTs, retransmitted DTs, TSDUs.
pub(super) type Class<T> = [T; 4];

/// TPDUs and their octets.
type Amount = [u32; 2];

/// Sums of a side, in addition to its size classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sum {
    /// Octets of headers of DTs.
    DtHeaders,
    /// Octets of user data of DTs, retransmissions included.
    DtData,
    /// Octets of TSDUs.
    Tsdus,
    /// Octets of AKs.
    Aks,
    /// AKs that change the credit and acknowledge nothing.
    Crediting,
}

/// Values in the order of [`Sum`].
pub(super) type Sums<T> = [T; 5];

/// The first values: those of DTs and TSDUs.
type DataSums = [u32; 3];

/// The last values: those of AKs, which no connection of class 0 has.
pub(super) type AkSums = [u32; 2];

/// Counters of both sides of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct PairCounters {
    /// Bit set of the classes in use: those of one side, then, from [`BITS_OF_SIDE`] on, of the
    /// other.
    used: u32,
    /// Counts of the classes in use, in the order of the bits; those that do not fit are in `more`.
    first: [Class<u16>; 4],
    more: Option<Box<[Class<u16>; 16]>>,
    pub(super) sums: [DataSums; 2],
    pub(super) seconds: Seconds,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<PairCounters>() == 104);

const BITS_OF_SIDE: usize = 16;

impl PairCounters {
    /// Counts of a class of a side.
    #[inline]
    pub(super) fn class(&mut self, side: Side, class: usize) -> &mut Class<u16> {
        let bit = 1 << (side * BITS_OF_SIDE + class);
        let place = (self.used & (bit - 1)).count_ones() as usize;
        if self.used & bit == 0 {
            self.make_room(bit, place);
        }
        self.at(place)
    }

    /// Counts in a place in the order of the bits.
    #[inline]
    fn at(&mut self, place: usize) -> &mut Class<u16> {
        let first = self.first.len();
        if place < first { &mut self.first[place] } else { self.class_apart(place - first) }
    }

    /// Counts of a class that is not inline.
    #[inline(never)]
    fn class_apart(&mut self, place: usize) -> &mut Class<u16> {
        &mut self.more.get_or_insert_default()[place]
    }

    /// Moves the counts from a place on by one, for those of another class.
    #[cold]
    fn make_room(&mut self, bit: u32, place: usize) {
        let count = self.used.count_ones() as usize;
        self.used |= bit;
        for last in (place..count).rev() {
            let counts = *self.at(last);
            *self.at(last + 1) = counts;
        }
        *self.at(place) = Class::default();
    }

    /// Number of classes in use.
    #[cfg(test)]
    pub(super) fn classes(&self) -> usize {
        self.used.count_ones() as usize
    }

    /// Classes in use: side, class and counts.
    fn each_class(&self) -> impl Iterator<Item = (Side, usize, &Class<u16>)> {
        let used = (0..2 * BITS_OF_SIDE).filter(|bit| self.used >> bit & 1 != 0);
        used.zip(self.first.iter().chain(self.more.iter().flat_map(|more| more.iter())))
            .map(|(bit, counts)| (bit / BITS_OF_SIDE, bit % BITS_OF_SIDE, counts))
    }

    /// Adds its sums and counts to wide ones.
    pub(super) fn add_to(&self, wide: &mut [Overflow; 2]) {
        for (wide, sums) in wide.iter_mut().zip(&self.sums) {
            wide.sums.iter_mut().zip(sums).for_each(|(wide, sum)| *wide += u64::from(*sum));
        }
        for (side, class, counts) in self.each_class() {
            let wide = &mut wide[side].classes[class];
            wide.iter_mut().zip(counts).for_each(|(wide, count)| *wide += u64::from(*count));
        }
    }
}

/// Wide sums and counts of a side, which never overflow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overflow {
    pub(super) sums: Sums<u64>,
    pub(super) classes: [Class<u64>; 10],
}

/// Adds to a narrow sum. If it would overflow, returns its value as carry and starts from zero.
#[inline]
pub(super) fn add<T: Copy + Default + Into<u64> + TryFrom<u64>>(sum: &mut T, more: u64) -> u64 {
    let all = (*sum).into().saturating_add(more);
    let narrow = T::try_from(all);
    let carry = if narrow.is_ok() { 0 } else { all };
    *sum = narrow.unwrap_or_default();
    carry
}

/// Second under way of both sides of a connection, and the busiest second of each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seconds {
    /// Wraps after 136 years.
    second: u32,
    this_second: [Amount; 2],
    /// Maxima over the seconds that are over.
    most: [Amount; 2],
}

impl Seconds {
    /// Counts TPDUs of a side in a second; an earlier second counts as the one under way.
    #[inline]
    pub(super) fn pass(&mut self, second: u32, side: Side, more: Amount) {
        if second > self.second {
            self.most = self.busiest();
            (self.second, self.this_second) = (second, Default::default());
        }
        for (sum, more) in self.this_second[side].iter_mut().zip(more) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Maxima of each side, the second under way included.
    pub(super) fn busiest(&self) -> [Amount; 2] {
        let of =
            |side: Side, which: usize| self.most[side][which].max(self.this_second[side][which]);
        [0, 1].map(|side| [0, 1].map(|which| of(side, which)))
    }

    /// Adds counts of later seconds.
    pub(super) fn add(&mut self, more: &Self) {
        for side in [0, 1] {
            self.pass(more.second, side, more.this_second[side]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_classes_keeps_the_counts_of_the_others() {
        let mut both = PairCounters::default();
        // All classes of both sides, in an order that inserts each new one at another index.
        let order = || (0..20).map(|n| (n * 7 + 3) % 20).map(|n| (n / 10, n % 10));
        for (nth, (side, class)) in order().enumerate() {
            both.class(side, class)[nth % 4] = nth as u16 + 1;
            let found: Vec<(Side, usize)> =
                both.each_class().map(|(side, class, _)| (side, class)).collect();
            assert!(found.is_sorted());
            assert_eq!((found.len(), both.classes()), (nth + 1, nth + 1));
        }
        for (nth, (side, class)) in order().enumerate() {
            let mut expected = [0; 4];
            expected[nth % 4] = nth as u16 + 1;
            assert_eq!(*both.class(side, class), expected, "{side} {class}");
        }
    }

    #[test]
    fn four_classes_need_no_allocation() {
        let mut both = PairCounters::default();
        for (side, class) in [(0, 0), (1, 0), (0, 1), (1, 3)] {
            both.class(side, class)[0] += 1;
        }
        assert!(both.more.is_none());
        both.class(0, 9)[0] += 1;
        assert!(both.more.is_some());
    }
}
