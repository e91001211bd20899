//! Local references in use.

use wire::tp::Reference;

/// Number of references of a page.
const PAGE: usize = 256;

/// Slots by local reference. References are assigned in turn, from any first one, so that those in use are
/// close together: they are kept in pages, each from its first use on.
#[derive(Clone, Default, Debug)]
pub(super) struct References {
    /// Slot plus one of each reference of a page.
    pages: Vec<Option<Box<[u32; PAGE]>>>,
}

impl References {
    /// Slot of the connection with this reference.
    #[inline]
    pub(super) fn slot(&self, reference: Reference) -> Option<u32> {
        let [page, entry] = reference.0.to_be_bytes().map(usize::from);
        self.pages.get(page)?.as_ref()?[entry].checked_sub(1)
    }

    /// Gives a reference to the connection in a slot.
    pub(super) fn set(&mut self, reference: Reference, slot: u32) {
        let [page, entry] = reference.0.to_be_bytes().map(usize::from);
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]))[entry] = slot + 1;
    }

    /// Frees a reference.
    pub(super) fn free(&mut self, reference: Reference) {
        let [page, entry] = reference.0.to_be_bytes().map(usize::from);
        if let Some(Some(page)) = self.pages.get_mut(page) {
            page[entry] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_the_reference_they_were_given() {
        let mut references = References::default();
        let given = [1, 255, 256, 257, 65_535].map(Reference);
        for (slot, reference) in (0..).zip(given) {
            references.set(reference, slot);
        }
        for (slot, reference) in (0..).zip(given) {
            assert_eq!(references.slot(reference), Some(slot));
        }
        assert_eq!(
            [0, 2, 254, 258, 512, 65_534].map(|it| references.slot(Reference(it))),
            [None; 6]
        );
        references.free(Reference(256));
        references.free(Reference(600));
        assert_eq!([256, 257].map(|it| references.slot(Reference(it))), [None, Some(3)]);
    }

    #[test]
    fn references_in_turn_take_memory_for_themselves_alone() {
        let mut references = References::default();
        (65_000..65_200).for_each(|it| references.set(Reference(it), 0));
        assert_eq!(references.pages.iter().flatten().count(), 2);
    }
}
