//! Lists of items that are decoded one by one.

use super::{Reader, Writer};
use crate::read::Malformed;
use core::marker::PhantomData;

/// Item of a list: one or more elements.
pub trait Item<'a>: Sized {
    /// Takes the next item.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed>;

    /// Writes the item in front of what `out` holds.
    fn put(&self, out: &mut Writer);
}

/// List of items (SEQUENCE OF, SET OF), kept as octets. Each item was read once when the list was
/// decoded, so that all of them can be taken later.
#[derive(Debug)]
pub struct List<'a, T> {
    octets: &'a [u8],
    item: PhantomData<fn() -> T>,
}

impl<'a, T: Item<'a>> List<'a, T> {
    /// Decodes the items up to the end of `reader`.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let octets = reader.rest();
        while !reader.is_empty() {
            T::take(&mut reader)?;
        }
        Ok(Self { octets, item: PhantomData })
    }

    /// Encodes items into `room`, whose former contents are removed, as a list to be sent.
    pub fn encode(items: &[T], room: &'a mut Writer) -> Self {
        room.clear();
        for item in items.iter().rev() {
            item.put(room);
        }
        Self { octets: room.octets(), item: PhantomData }
    }

    /// Items in their order.
    #[must_use]
    pub const fn iter(&self) -> Items<'a, T> {
        Items { reader: Reader::new(self.octets), item: PhantomData }
    }
}

impl<'a, T> List<'a, T> {
    /// List without items.
    pub const EMPTY: Self = Self { octets: &[], item: PhantomData };

    /// Creates a list of octets that were checked before; iteration ends at an invalid item.
    pub(crate) const fn unchecked(octets: &'a [u8]) -> Self {
        Self { octets, item: PhantomData }
    }

    /// Items as octets.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Returns true if there are no items.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }
}

// Derived, these would ask the same of `T`.
impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}

impl<T> PartialEq for List<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.octets == other.octets
    }
}

impl<T> Eq for List<'_, T> {}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Iterator over the items of a list.
#[derive(Clone, Debug)]
pub struct Items<'a, T> {
    reader: Reader<'a>,
    item: PhantomData<fn() -> T>,
}

impl<'a, T: Item<'a>> Iterator for Items<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.reader.is_empty() {
            return None;
        }
        T::take(&mut self.reader).ok()
    }
}

impl<'a, T: Item<'a>> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = Items<'a, T>;

    fn into_iter(self) -> Items<'a, T> {
        self.iter()
    }
}
