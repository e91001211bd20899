//! A queue whose places are filled and emptied where they lie.
//!
//! What passes through a connection is moved from queue to queue, a cache line at a time. A move reads what
//! has just been written field by field, and wider, so that the processor waits for it to arrive in the
//! cache. Here whoever appends gets the place, and writes each field where it stays.

/// A queue of places, which are used again and again. None is given back but by making a new queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    /// None, or a power of two.
    places: Vec<T>,
    first: usize,
    count: usize,
}

/// Places of a queue when the first is needed.
const FEW: usize = 4;

impl<T: Default> Ring<T> {
    /// A queue of nothing, which takes no memory.
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), first: 0, count: 0 }
    }

    /// How many places are in use.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    const fn index(&self, nth: usize) -> usize {
        (self.first + nth) & (self.places.len().wrapping_sub(1))
    }

    /// Appends a place, with what was left in it when it was used last.
    #[inline]
    pub(super) fn append(&mut self) -> &mut T {
        if self.count == self.places.len() {
            self.grow();
        }
        let index = self.index(self.count);
        self.count += 1;
        &mut self.places[index]
    }

    #[cold]
    fn grow(&mut self) {
        self.places.rotate_left(self.first);
        self.first = 0;
        let places = (self.places.len() * 2).max(FEW);
        self.places.resize_with(places, T::default);
    }

    /// Takes the first place out of the queue, to be emptied.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<&mut T> {
        self.count = self.count.checked_sub(1)?;
        let index = self.first;
        self.first = self.index(1);
        self.places.get_mut(index)
    }

    /// Takes the last place out of the queue, to be emptied.
    pub(super) fn take_last(&mut self) -> Option<&mut T> {
        self.count = self.count.checked_sub(1)?;
        let index = self.index(self.count);
        self.places.get_mut(index)
    }

    /// The place that `nth` others are before.
    #[inline]
    pub(super) fn get(&self, nth: usize) -> Option<&T> {
        if nth < self.count { self.places.get(self.index(nth)) } else { None }
    }

    /// The last place.
    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        let index = self.index(self.count.checked_sub(1)?);
        self.places.get_mut(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn it_keeps_what_a_deque_keeps_whatever_the_order_of_calls() {
        let (mut ring, mut deque, mut grown) = (Ring::new(), VecDeque::new(), 0);
        // Appends outnumber the others at first, and are outnumbered later: it grows, wraps and empties.
        for step in 0..4_000_u32 {
            let choice = step.wrapping_mul(2_654_435_761) >> 24;
            if choice < if step < 2_000 { 150 } else { 100 } {
                *ring.append() = Some(step);
                deque.push_back(step);
            } else if choice < 230 {
                assert_eq!(ring.take_first().map(Option::take), deque.pop_front().map(Some));
            } else {
                assert_eq!(ring.take_last().map(Option::take), deque.pop_back().map(Some));
            }
            assert_eq!(ring.len(), deque.len());
            assert_eq!(ring.last_mut().copied().flatten(), deque.back().copied());
            let kept: Vec<_> = (0..).map_while(|nth| ring.get(nth).copied().flatten()).collect();
            assert!(kept.iter().eq(&deque), "step {step}");
            grown = grown.max(ring.len());
        }
        assert!(grown > 4 * FEW, "it grew more than once");
    }
}
