//! Octets on their way out: headers that grow towards the front, and a payload nobody copies.

use bytes::{Bytes, BytesMut};

/// Room for headers in front of a payload: MAC 14, LLC 3, CLNP 57, a DT with checksum 12. A packet is
/// moved from queue to queue, so that it is kept to two cache lines in all, and the room to whole words:
/// of an odd number of octets the moves would overlap, and each wait for the one before.
const HEADROOM: usize = 88;

/// A PDU being handed down, or a frame: a few header octets followed by a shared payload.
///
/// A layer that sends puts its header in front with [`Packet::prepend`]; nothing is moved or copied.
/// **The rule of the two parts**: `head` holds whole headers and `payload` is the user data of the
/// innermost PDU, or `head` is empty and `payload` holds everything. A receiver may therefore decode
/// `head` alone and take `payload` as it is.
#[derive(Clone)]
pub struct Packet {
    payload: Bytes,
    /// A whole word, and so is all else here: a move that reads more than was written at a time waits.
    start: u64,
    room: [u8; HEADROOM],
}

impl Packet {
    /// A packet of `payload` alone.
    #[must_use]
    #[inline]
    pub const fn new(payload: Bytes) -> Self {
        Self { room: [0; HEADROOM], start: HEADROOM as u64, payload }
    }

    /// A packet whose header is the last `length` octets of `header`, which are moved as one.
    #[must_use]
    #[inline]
    pub fn headed(header: [u8; 16], length: usize, payload: Bytes) -> Self {
        let mut room = [0; HEADROOM];
        if let Some(end) = room.last_chunk_mut::<16>() {
            *end = header;
        }
        Self { room, start: (HEADROOM - length.min(header.len())) as u64, payload }
    }

    /// Puts `header` in front. Where the room is used up, everything so far becomes payload first.
    pub fn prepend(&mut self, header: &[u8]) {
        let start = self.start as usize;
        if let Some(room) = start.checked_sub(header.len())
            && let Some(slot) = self.room.get_mut(room..start)
        {
            slot.copy_from_slice(header);
            self.start = room as u64;
            return;
        }
        let mut whole = BytesMut::with_capacity(header.len() + self.len());
        whole.extend_from_slice(header);
        whole.extend_from_slice(self.head());
        whole.extend_from_slice(&self.payload);
        *self = Self::new(whole.freeze());
    }

    /// Takes `count` octets off the front, if the head holds that many or is empty and the payload does.
    #[must_use]
    pub fn strip(&mut self, count: usize) -> Option<()> {
        if self.head().len() >= count {
            self.start += count as u64;
        } else if self.head().is_empty() && self.payload.len() >= count {
            self.payload = self.payload.slice(count..);
        } else {
            return None;
        }
        Some(())
    }

    /// Cuts everything after the first `length` octets: what a receiver does with a MAC frame's pad.
    pub fn truncate(&mut self, length: usize) {
        let head = self.head().len();
        if length >= head {
            self.payload.truncate(length - head);
        } else {
            let mut kept = self.to_bytes();
            kept.truncate(length);
            *self = Self::new(kept);
        }
    }

    /// The headers put in front so far.
    #[must_use]
    #[inline]
    pub fn head(&self) -> &[u8] {
        self.room.get(self.start as usize..).unwrap_or_default()
    }

    /// What follows the headers.
    #[must_use]
    pub const fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// Takes the payload out; the headers stay.
    #[must_use]
    #[inline]
    pub const fn take_payload(&mut self) -> Bytes {
        core::mem::replace(&mut self.payload, Bytes::new())
    }

    /// Octets in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.head().len() + self.payload.len()
    }

    /// Whether there are no octets at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `N` octets, wherever they lie.
    #[must_use]
    pub fn first<const N: usize>(&self) -> Option<[u8; N]> {
        if let Some(first) = self.head().first_chunk::<N>() {
            return Some(*first);
        }
        if self.head().is_empty() {
            return self.payload.first_chunk::<N>().copied();
        }
        let mut first = [0; N];
        let mut octets = self.head().iter().chain(self.payload.iter());
        for slot in &mut first {
            *slot = *octets.next()?;
        }
        Some(first)
    }

    /// All octets in one piece; copies only where there are headers in front.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        if self.head().is_empty() {
            return self.payload.clone();
        }
        let mut whole = BytesMut::with_capacity(self.len());
        whole.extend_from_slice(self.head());
        whole.extend_from_slice(&self.payload);
        whole.freeze()
    }
}

impl From<Bytes> for Packet {
    fn from(payload: Bytes) -> Self {
        Self::new(payload)
    }
}

impl core::fmt::Debug for Packet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Packet({} + {} octets)", self.head().len(), self.payload.len())
    }
}

impl PartialEq for Packet {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .head()
                .iter()
                .chain(&self.payload[..])
                .eq(other.head().iter().chain(&other.payload[..]))
    }
}

impl Eq for Packet {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_go_in_front_and_come_off_again() {
        let mut packet = Packet::new(Bytes::from_static(b"data"));
        packet.prepend(&[4, 5]);
        packet.prepend(&[1, 2, 3]);
        assert_eq!(packet.to_bytes(), b"\x01\x02\x03\x04\x05data"[..]);
        assert_eq!(packet.first::<7>(), Some([1, 2, 3, 4, 5, b'd', b'a']));
        assert_eq!(packet.strip(3), Some(()));
        assert_eq!(packet.head(), [4, 5]);
        assert_eq!(packet.strip(3), None, "a header never reaches into the payload");
    }

    #[test]
    fn more_headers_than_room_are_kept_all_the_same() {
        let mut packet = Packet::new(Bytes::from_static(b"x"));
        for _ in 0..3 {
            packet.prepend(&[7; 60]);
        }
        assert_eq!(packet.len(), 181);
        assert!(packet.to_bytes().starts_with(&[7; 180]));
    }

    #[test]
    fn a_pad_is_cut_wherever_it_begins() {
        let mut packet = Packet::new(Bytes::from_static(b"data"));
        packet.prepend(&[1, 2, 3]);
        packet.truncate(5);
        assert_eq!(packet.to_bytes(), b"\x01\x02\x03da"[..]);
        packet.truncate(2);
        assert_eq!(packet.to_bytes(), b"\x01\x02"[..]);
    }
}
