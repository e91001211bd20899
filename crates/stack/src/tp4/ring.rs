//! Queue whose places are filled and emptied in place.
//!
//! Data that passes through a connection is moved from queue to queue, one cache line at a time. If
//! the fields were just written separately, such a wide read would wait until all writes have
//! reached the cache. Here the caller of [`Ring::append`] gets the place, and writes each field
//! where it stays.

/// Queue of reusable places. Its memory is released only by creating a new queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    /// Empty, or a power of two of places.
    places: Vec<T>,
    first: usize,
    count: usize,
}

/// Number of places allocated for the first element.
const FEW: usize = 4;

impl<T: Default> Ring<T> {
    /// Creates an empty queue without allocating memory.
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), first: 0, count: 0 }
    }

    /// Number of places in use.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    const fn index(&self, nth: usize) -> usize {
        (self.first + nth) & (self.places.len().wrapping_sub(1))
    }

    /// Appends a place, which still holds the values of its last use.
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

    /// Removes the first place from the queue, for the caller to empty.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<&mut T> {
        self.count = self.count.checked_sub(1)?;
        let index = self.first;
        self.first = self.index(1);
        self.places.get_mut(index)
    }

    /// Removes the last place from the queue, for the caller to empty.
    pub(super) fn take_last(&mut self) -> Option<&mut T> {
        self.count = self.count.checked_sub(1)?;
        let index = self.index(self.count);
        self.places.get_mut(index)
    }

    /// Place at index `nth`.
    #[inline]
    pub(super) fn get(&self, nth: usize) -> Option<&T> {
        if nth < self.count { self.places.get(self.index(nth)) } else { None }
    }

    /// Last place.
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
    fn a_ring_behaves_like_a_deque_in_any_order_of_calls() {
        let (mut ring, mut deque, mut grown) = (Ring::new(), VecDeque::new(), 0);
        // Appends outnumber removals at first, and are outnumbered later: it grows, wraps and
        // empties.
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
