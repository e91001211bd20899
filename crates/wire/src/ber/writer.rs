//! Writing of elements, from the end to the front.

use super::{BitString, Oid, Tag};
use bytes::Bytes;

/// Room of a new writer.
const ROOM: usize = 256;
/// Room for the headers that are written in front of long contents.
const HEADERS: usize = 64;

/// Buffer that grows at its front: the last element is written first, so that the length of each
/// is known when its header is written. A writer that is cleared keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    /// Free octets, then the octets written.
    buffer: Vec<u8>,
    /// Number of free octets.
    free: usize,
}

impl Writer {
    /// Creates an empty writer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Octets written.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.buffer.get(self.free..).unwrap_or_default()
    }

    /// Number of octets written.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.buffer.len() - self.free
    }

    /// Returns true if nothing was written.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all octets; the memory stays.
    pub const fn clear(&mut self) {
        self.free = self.buffer.len();
    }

    /// Converts to the octets written, without copying them.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        let free = self.free;
        Bytes::from(self.buffer).slice(free..)
    }

    /// Writes octets in front of those written so far.
    pub fn put(&mut self, octets: &[u8]) {
        if self.free < octets.len() {
            self.grow(octets.len());
        }
        let start = self.free.saturating_sub(octets.len());
        if let Some(slot) = self.buffer.get_mut(start..self.free) {
            slot.copy_from_slice(octets);
        }
        self.free = start;
    }

    /// Moves the octets written to a buffer with room for `needed` more, and for headers in front.
    #[cold]
    fn grow(&mut self, needed: usize) {
        let more = needed.saturating_add(HEADERS).max(self.buffer.len()).max(ROOM);
        let mut buffer = vec![0; more + self.buffer.len()];
        let start = more + self.free;
        if let Some(slot) = buffer.get_mut(start..) {
            slot.copy_from_slice(self.octets());
        }
        (self.buffer, self.free) = (buffer, start);
    }

    /// Writes one octet in front.
    pub fn put_u8(&mut self, octet: u8) {
        self.put(&[octet]);
    }

    /// Writes identifier and length in front of the contents, which are all octets written since
    /// [`Writer::len`] was `before`.
    pub fn close(&mut self, tag: Tag, before: usize) {
        self.length(self.len().saturating_sub(before));
        self.put(significant(&tag.0.to_be_bytes()));
    }

    /// Writes a length in its shortest form.
    fn length(&mut self, length: usize) {
        if length < 0x80 {
            return self.put_u8(length as u8);
        }
        let digits = length.to_be_bytes();
        let digits = significant(&digits);
        self.put(digits);
        self.put_u8(0x80 | digits.len() as u8);
    }

    /// Writes an element in front.
    pub fn element(&mut self, tag: Tag, content: &[u8]) {
        let before = self.len();
        self.put(content);
        self.close(tag, before);
    }

    /// Writes an element with an integer.
    pub fn integer(&mut self, tag: Tag, value: i64) {
        let octets = value.to_be_bytes();
        let redundant = |pair: &[u8]| matches!(pair, [0, 0..=0x7F] | [0xFF, 0x80..=0xFF]);
        let skip = octets.windows(2).take_while(|pair| redundant(pair)).count();
        self.element(tag, octets.get(skip..).unwrap_or_default());
    }

    /// Writes an element with an integer, if there is one.
    pub fn optional(&mut self, tag: Tag, value: Option<impl Into<i64>>) {
        if let Some(value) = value {
            self.integer(tag, value.into());
        }
    }

    /// Writes an element with octets, if there are any.
    pub fn optional_element(&mut self, tag: Tag, content: Option<&[u8]>) {
        if let Some(content) = content {
            self.element(tag, content);
        }
    }

    /// Writes an element with a boolean. True is 1, as other implementations of MMS have it; BER
    /// allows every value but 0 (X.690 8.2.2).
    pub fn boolean(&mut self, tag: Tag, value: bool) {
        self.element(tag, &[u8::from(value)]);
    }

    /// Writes an element with a bit string.
    pub fn bits(&mut self, tag: Tag, value: BitString<'_>) {
        let before = self.len();
        self.put(value.octets);
        self.put_u8(value.unused);
        self.close(tag, before);
    }

    /// Writes an element with an object identifier.
    pub fn oid(&mut self, tag: Tag, Oid(content): Oid<'_>) {
        self.element(tag, content);
    }
}

/// Octets without leading zeros; one at least.
fn significant(octets: &[u8]) -> &[u8] {
    let last = octets.len().saturating_sub(1);
    let zeros = octets.iter().take(last).take_while(|octet| **octet == 0).count();
    octets.get(zeros..).unwrap_or_default()
}
