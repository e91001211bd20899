//! Local references in use.

use wire::tp::Reference;

/// Slots of connections by local reference. References are assigned in turn, from any first one: the list
/// begins there and grows with the references assigned.
#[derive(Clone, Debug)]
pub(super) struct References {
    /// The reference before the first one.
    origin: u16,
    /// The reference assigned last.
    last: u16,
    /// Slot plus one of each reference from the first one on.
    slots: Vec<u32>,
}

impl References {
    /// Creates a list without references, the first of which follows `last`.
    pub(super) const fn after(last: u16) -> Self {
        Self { origin: last, last, slots: Vec::new() }
    }

    /// Next reference, assigned in turn to delay reuse (6.18); `None` if all are in use.
    pub(super) fn next(&mut self) -> Option<Reference> {
        for _ in 0..=u16::MAX {
            self.last = self.last.checked_add(1).unwrap_or(1);
            let next = Reference(self.last);
            if self.slot(next).is_none() {
                return Some(next);
            }
        }
        None
    }

    /// Slot of the connection with this reference.
    #[inline]
    pub(super) fn slot(&self, reference: Reference) -> Option<u32> {
        self.slots.get(self.place(reference))?.checked_sub(1)
    }

    /// Gives a reference to the connection in a slot.
    pub(super) fn set(&mut self, reference: Reference, slot: u32) {
        let place = self.place(reference);
        if self.slots.len() <= place {
            self.slots.resize(place + 1, 0);
        }
        self.slots[place] = slot + 1;
    }

    /// Frees a reference.
    pub(super) fn free(&mut self, reference: Reference) {
        let place = self.place(reference);
        if let Some(slot) = self.slots.get_mut(place) {
            *slot = 0;
        }
    }

    fn place(&self, reference: Reference) -> usize {
        usize::from(reference.0.wrapping_sub(self.origin).wrapping_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_the_reference_they_were_given() {
        let mut references = References::after(65_533);
        // In turn, past the end of the range.
        let given = [65_534, 65_535, 1, 2, 300].map(Reference);
        for (slot, reference) in (0..).zip(given) {
            if reference != Reference(300) {
                assert_eq!(references.next(), Some(reference));
            }
            assert_eq!(references.slot(reference), None);
            references.set(reference, slot);
        }
        for (slot, reference) in (0..).zip(given) {
            assert_eq!(references.slot(reference), Some(slot));
        }
        let others = [0, 3, 299, 301, 65_533].map(|it| references.slot(Reference(it)));
        assert_eq!(others, [None; 5]);
        references.free(Reference(1));
        references.free(Reference(600));
        assert_eq!([1, 2].map(|it| references.slot(Reference(it))), [None, Some(3)]);
    }

    #[test]
    fn references_in_turn_take_memory_for_themselves_alone() {
        let mut references = References::after(65_000);
        (65_001..65_201).for_each(|it| references.set(Reference(it), 0));
        assert_eq!(references.slots.len(), 200);
    }
}
