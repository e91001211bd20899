//! Histogram of nanoseconds: exact below 256 ns, then 128 classes per doubling.
//!
//! Definition: a class is at most 1/128 (0.8 %) of its values wide. Counters are allocated only for
//! doublings that have values, and only from the twentieth value on: the first nineteen are a list
//! of their classes. A counter has two octets, so that those of many connections stay in the CPU
//! cache; its upper part is stored apart, and allocated on use.
//!
//! Bias: a quantile is the upper edge of its class, so it is high by at most 0.8 %.

use core::fmt;

/// Classes per doubling.
const PER_DOUBLING: usize = 128;
/// Values of up to this number of bits have a class each.
const EXACT_BITS: u32 = 8;
/// Number of doublings, the exact range included.
const ROWS: usize = 57;
/// Number of values that are kept as a list.
const FEW: usize = 19;
/// Counts that are summed at once.
const TOGETHER: usize = 16;
/// Offset of a row without values.
const NO_ROW: u32 = u32::MAX / 2;

/// Class of a value: its row, and its leading eight bits. Only the first row has values of fewer
/// bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Class {
    row: u8,
    leading: u8,
}

impl Class {
    #[inline]
    const fn of(value: u64) -> Self {
        let row = (value | ((1 << EXACT_BITS) - 1)).ilog2() + 1 - EXACT_BITS;
        Self { row: row as u8, leading: (value >> row) as u8 }
    }

    /// Least value of the class.
    pub(super) const fn lower_edge(self) -> u64 {
        (self.leading as u64) << self.row
    }

    /// Greatest value of the class.
    const fn upper_edge(self) -> u64 {
        let beyond = (self.leading as u128 + 1) << self.row;
        (beyond - 1) as u64
    }
}

/// Least leading bits in a row.
const fn least_in(row: u8) -> u8 {
    if row == 0 { 0 } else { PER_DOUBLING as u8 }
}

/// Histogram of nanoseconds.
#[derive(Clone)]
pub(crate) struct Histogram {
    /// Offset in `counts` of each row, minus the least leading bits in it; [`NO_ROW`] for a row
    /// without values.
    rows: [u32; ROWS],
    /// Lower 16 bits of the counts.
    counts: Vec<u16>,
    /// Upper bits of the counts; empty if all are zero.
    upper: Vec<u32>,
    /// Classes of the first values, while `counts` is empty.
    few: Vec<Class>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { rows: [NO_ROW; ROWS], counts: Vec::new(), upper: Vec::new(), few: Vec::new() }
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.classes() == other.classes()
    }
}

impl Eq for Histogram {}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.classes()).finish()
    }
}

impl Histogram {
    /// Counts a value.
    // Always inline: distributions that record the same value share the work.
    #[inline(always)]
    pub(crate) fn note(&mut self, value: u64) {
        let class = Class::of(value);
        let place = self.place(class);
        match self.counts.get_mut(place) {
            Some(count) => {
                *count = count.wrapping_add(1);
                if *count == 0 {
                    self.carry(place, 1);
                }
            }
            None => self.note_elsewhere(class),
        }
    }

    /// Counts values between two of them, all at once if those are of one class.
    pub(crate) fn note_all(&mut self, values: &[u32], extremes: [u64; 2]) {
        let [least, greatest] = extremes.map(Class::of);
        if least == greatest {
            return self.note_class(least, values.len() as u64);
        }
        for value in values {
            self.note((*value).into());
        }
    }

    fn note_class(&mut self, class: Class, times: u64) {
        if self.counts.get(self.place(class)).is_some() {
            self.count(class, times);
        } else {
            (0..times).for_each(|_| self.note_elsewhere(class));
        }
    }

    /// Adds to the upper bits of a count.
    #[cold]
    fn carry(&mut self, place: usize, more: u64) {
        if self.upper.len() <= place {
            self.upper.resize(self.counts.len(), 0);
        }
        if let Some(upper) = self.upper.get_mut(place) {
            *upper = upper.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        }
    }

    /// Count in this place.
    fn count_in(&self, place: usize) -> u64 {
        let upper = self.upper.get(place).copied().unwrap_or(0);
        let lower = self.counts.get(place).copied().unwrap_or(0);
        u64::from(upper) << u16::BITS | u64::from(lower)
    }

    #[inline]
    fn place(&self, class: Class) -> usize {
        let row = self.rows.get(usize::from(class.row)).copied().unwrap_or(NO_ROW);
        row.wrapping_add(class.leading.into()) as usize
    }

    /// Counts a value of a row without values.
    #[cold]
    fn note_elsewhere(&mut self, class: Class) {
        if self.counts.is_empty() && self.few.len() < FEW {
            self.few.push(class);
            return;
        }
        self.spread();
        self.count(class, 1);
    }

    /// Moves the values of the list into rows.
    fn spread(&mut self) {
        for class in core::mem::take(&mut self.few) {
            self.count(class, 1);
        }
    }

    /// Makes room for a row, if it has none.
    fn make_row(&mut self, row: u8) {
        if let Some(place) = self.rows.get_mut(usize::from(row))
            && *place == NO_ROW
        {
            let least = least_in(row);
            *place = (self.counts.len() as u32).wrapping_sub(least.into());
            self.counts.resize(self.counts.len() + (2 * PER_DOUBLING - usize::from(least)), 0);
        }
    }

    /// Adds to the count of a class in its row.
    fn count(&mut self, class: Class, times: u64) {
        self.make_row(class.row);
        let place = self.place(class);
        if let Some(count) = self.counts.get_mut(place) {
            let sum = u64::from(*count) + times;
            *count = sum as u16;
            if sum >> u16::BITS > 0 {
                self.carry(place, sum >> u16::BITS);
            }
        }
    }

    /// Adds the counts of another.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.counts.is_empty() && other.counts.is_empty() {
            other.few.iter().for_each(|class| self.note_elsewhere(*class));
            return;
        }
        self.spread();
        other.few.iter().for_each(|class| self.count(*class, 1));
        for (row, place) in (0..).zip(&other.rows) {
            if *place != NO_ROW {
                self.add_row(row, other);
            }
        }
    }

    /// Adds the counts in a row of another, which has it.
    fn add_row(&mut self, row: u8, other: &Self) {
        self.make_row(row);
        let first = Class { row, leading: least_in(row) };
        let (place, from) = (self.place(first), other.place(first));
        let width = 2 * PER_DOUBLING - usize::from(first.leading);
        let counts = self.counts.get_mut(place..place + width).unwrap_or_default();
        let more = other.counts.get(from..from + width).unwrap_or_default();
        let mut has_carry = !other.upper.is_empty();
        for (count, more) in counts.iter_mut().zip(more) {
            let (sum, is_over) = count.overflowing_add(*more);
            *count = sum;
            has_carry |= is_over;
        }
        if !has_carry {
            return;
        }
        for (nth, more) in more.iter().enumerate() {
            let is_over = self.counts.get(place + nth).is_some_and(|sum| sum < more);
            let upper = other.upper.get(from + nth).copied().unwrap_or(0);
            let carry = u64::from(upper) + u64::from(is_over);
            if carry > 0 {
                self.carry(place + nth, carry);
            }
        }
    }

    /// Classes with values and their counts; values in the list come one by one.
    fn each(&self) -> impl Iterator<Item = (Class, u64)> {
        self.few.iter().map(|class| (*class, 1)).chain(self.in_rows())
    }

    /// Classes in rows with values and their counts, ascending.
    fn in_rows(&self) -> impl Iterator<Item = (Class, u64)> {
        let rows = (0..).zip(&self.rows).filter(|(_, place)| **place != NO_ROW);
        rows.flat_map(move |(row, _)| {
            (least_in(row)..=u8::MAX).filter_map(move |leading| {
                let class = Class { row, leading };
                let count = self.count_in(self.place(class));
                (count > 0).then_some((class, count))
            })
        })
    }

    /// Classes with values and their counts, ascending.
    pub(super) fn classes(&self) -> Vec<(Class, u64)> {
        let mut classes: Vec<(Class, u64)> = self.each().collect();
        classes.sort_unstable();
        classes.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        classes
    }

    /// Numbers of values in the classes up to those of these limits, which ascend.
    pub(super) fn up_to<const N: usize>(&self, limits: [u64; N]) -> [u64; N] {
        let mut classes = self.classes().into_iter().peekable();
        let mut count = 0;
        limits.map(|limit| {
            while let Some((_, more)) = classes.next_if(|(class, _)| class.lower_edge() <= limit) {
                count += more;
            }
            count
        })
    }

    /// True if both values are in one class.
    pub(super) fn is_one_class(values: [u64; 2]) -> bool {
        let [least, greatest] = values.map(Class::of);
        least == greatest
    }

    /// Upper edges of the classes that contain the values of these ranks, counted from 1,
    /// ascending.
    pub(crate) fn at_ranks<const N: usize>(&self, ranks: [u64; N]) -> [u64; N] {
        let mut found = Ranks { ranks, edges: [0; N], seen: 0, next: 0 };
        // Those of the list, or those in rows, which ascend.
        let mut few = [Class::of(0); FEW];
        if let Some(few) = few.get_mut(..self.few.len()) {
            few.copy_from_slice(&self.few);
            few.sort_unstable();
            few.iter().for_each(|class| found.pass(*class, 1));
        }
        let rows = (0..).zip(&self.rows).filter(|(_, place)| **place != NO_ROW);
        for (row, _) in rows {
            if found.is_complete() {
                break;
            }
            let first = Class { row, leading: least_in(row) };
            let place = self.place(first);
            let width = 2 * PER_DOUBLING - usize::from(first.leading);
            let counts = self.counts.get(place..place + width).unwrap_or_default();
            for (chunk, counts) in (0..).step_by(TOGETHER).zip(counts.chunks(TOGETHER)) {
                let lower = counts.iter().fold(0, |sum, count| sum + u32::from(*count));
                let upper = self.upper_in(place + chunk..place + chunk + TOGETHER);
                if found.skip((upper << u16::BITS) + u64::from(lower)) {
                    continue;
                }
                for nth in chunk..chunk + counts.len() {
                    let leading = first.leading + nth as u8;
                    found.pass(Class { row, leading }, self.count_in(place + nth));
                }
            }
        }
        found.edges
    }

    /// Sum of the upper parts of the counts in some places.
    #[inline]
    fn upper_in(&self, places: core::ops::Range<usize>) -> u64 {
        if self.upper.is_empty() {
            return 0;
        }
        let upper = self.upper.get(places).unwrap_or_default();
        upper.iter().copied().map(u64::from).sum()
    }

    /// Values that were added since `before`, a copy of this histogram.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let mut earlier = before.classes().into_iter().peekable();
        let mut more = Self::default();
        for (class, count) in self.classes() {
            while earlier.next_if(|(known, _)| *known < class).is_some() {}
            let known = earlier.next_if(|(known, _)| *known == class).map_or(0, |(_, count)| count);
            if let Some(count @ 1..) = count.checked_sub(known) {
                more.count(class, count);
            }
        }
        more
    }

    /// Greatest value that its highest class may have; none without values.
    pub(crate) fn upper_edge(&self) -> Option<u64> {
        self.each().map(|(class, _)| class).max().map(Class::upper_edge)
    }

    /// Least value that its lowest class may have; none without values.
    pub(crate) fn lower_edge(&self) -> Option<u64> {
        self.each().map(|(class, _)| class).min().map(Class::lower_edge)
    }

    /// Octets on the heap.
    #[cfg(test)]
    fn heap_octets(&self) -> usize {
        let counts = self.counts.capacity() * size_of::<u16>();
        let upper = self.upper.capacity() * size_of::<u32>();
        counts + upper + self.few.capacity() * size_of::<Class>()
    }
}

/// Search for the classes of ranks, in ascending order.
struct Ranks<const N: usize> {
    ranks: [u64; N],
    /// Upper edges of the classes found.
    edges: [u64; N],
    /// Values passed.
    seen: u64,
    /// Rank that is searched for.
    next: usize,
}

impl<const N: usize> Ranks<N> {
    /// Passes the values of a class.
    fn pass(&mut self, class: Class, count: u64) {
        self.seen += count;
        while self.ranks.get(self.next).is_some_and(|rank| *rank <= self.seen) {
            self.edges[self.next] = class.upper_edge();
            self.next += 1;
        }
    }

    /// True if every rank is found.
    const fn is_complete(&self) -> bool {
        self.next == N
    }

    /// Passes values of several classes if no rank is among them; returns false, without effect,
    /// otherwise.
    fn skip(&mut self, count: u64) -> bool {
        let has_rank = self.ranks.get(self.next).is_some_and(|rank| *rank <= self.seen + count);
        if !has_rank {
            self.seen += count;
        }
        !has_rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_its_edges_and_is_at_most_1_in_128_wide() {
        let mut last = Class::of(0);
        for value in (0..40_000).chain([1 << 40, (1 << 40) + (1 << 33), u64::MAX >> 1, u64::MAX]) {
            let class = Class::of(value);
            assert!(class >= last && class.upper_edge() >= value, "{value}");
            assert!(class == last || value == 0 || last.upper_edge() < value, "{value}");
            assert!(class.upper_edge() - value <= value / 128, "{value}");
            last = class;
        }
        let [exact, first] = [255, 256].map(Class::of);
        assert_eq!(
            (exact, first),
            (Class { row: 0, leading: 255 }, Class { row: 1, leading: 128 })
        );
        assert_eq!(Class::of(257), first);
        assert_eq!(usize::from(Class::of(u64::MAX).row), ROWS - 1);
    }

    #[test]
    fn few_values_need_no_rows_and_have_the_same_quantiles() {
        let (mut few, mut many) = (Histogram::default(), Histogram::default());
        for value in 1..=19_u64 {
            few.note(value * 1_000);
        }
        assert!(few.counts.is_empty() && few.heap_octets() <= 64, "{}", few.heap_octets());
        for value in 1..=200_u64 {
            many.note(value * 1_000);
        }
        let mut sum = few.clone();
        (20..=200_u64).for_each(|value| sum.note(value * 1_000));
        assert_eq!(sum, many);
        let mut sum = few.clone();
        let mut rest = Histogram::default();
        (20..=200_u64).for_each(|value| rest.note(value * 1_000));
        sum.add(&rest);
        assert_eq!(sum, many);
        rest.add(&few);
        assert_eq!(rest, many);
    }

    #[test]
    fn a_count_carries_into_its_upper_bits() {
        let (mut one_by_one, mut at_once) = (Histogram::default(), Histogram::default());
        // Twice 2^16 in one class, and once in another, in two doublings.
        for value in (0..131_072).map(|_| 1_000).chain((0..65_536).map(|_| 5_000)) {
            one_by_one.note(value);
        }
        for _ in 0..131_072 / 4_096 {
            at_once.note_all(&[1_000; 4_096], [1_000, 1_000]);
        }
        let octets = at_once.heap_octets();
        at_once.note_all(&[5_000; 65_536], [5_000, 5_000]);
        let counts: Vec<u64> = one_by_one.classes().iter().map(|(_, count)| *count).collect();
        assert_eq!((counts, &one_by_one), (vec![131_072, 65_536], &at_once));
        // Two and four octets for each of 128 classes.
        assert!(octets <= 128 * 6 + 64, "{octets}");
        let mut sum = one_by_one.clone();
        sum.add(&at_once);
        assert_eq!(sum.at_ranks([262_144, 262_145, 393_216]), [1_003, 5_023, 5_023]);
    }

    #[test]
    fn memory_is_bounded_by_the_doublings_that_have_values() {
        let mut histogram = Histogram::default();
        for value in 0..100_000_u64 {
            histogram.note(20_000_000 + value * 100);
        }
        // 20 ms to 30 ms: one doubling, from 16.8 ms to 33.6 ms.
        assert_eq!(histogram.counts.len(), PER_DOUBLING);
        for exponent in 0..64 {
            histogram.note(1 << exponent);
        }
        assert_eq!(histogram.counts.len(), (ROWS + 1) * PER_DOUBLING);
    }
}
