//! Octets on their way out: headers that grow towards the front, and a payload nobody copies.

use bytes::{Buf, Bytes, BytesMut};

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

    /// A packet whose header is the last `length` octets of `header`, which are moved as one; of at most
    /// as many octets as there is room for.
    #[must_use]
    #[inline]
    pub fn headed<const N: usize>(header: [u8; N], length: usize, payload: Bytes) -> Self {
        const { assert!(N <= HEADROOM, "there is room for the header") };
        let mut room = [0; HEADROOM];
        if let Some(end) = room.last_chunk_mut::<N>() {
            *end = header;
        }
        Self { room, start: (HEADROOM - length.min(header.len())) as u64, payload }
    }

    /// Puts `header` in front. Where the room is used up, everything so far becomes payload first.
    #[inline]
    pub fn prepend(&mut self, header: &[u8]) {
        let start = self.start as usize;
        if let Some(room) = start.checked_sub(header.len())
            && let Some(slot) = self.room.get_mut(room..start)
        {
            slot.copy_from_slice(header);
            self.start = room as u64;
            return;
        }
        self.prepend_without_room(header);
    }

    #[cold]
    fn prepend_without_room(&mut self, header: &[u8]) {
        let mut whole = BytesMut::with_capacity(header.len() + self.len());
        whole.extend_from_slice(header);
        whole.extend_from_slice(self.head());
        whole.extend_from_slice(&self.payload);
        *self = Self::new(whole.freeze());
    }

    /// Takes `count` octets off the front, if the head holds that many or is empty and the payload does.
    #[must_use]
    #[inline]
    pub fn strip(&mut self, count: usize) -> Option<()> {
        if self.head().len() >= count {
            self.start += count as u64;
        } else if self.head().is_empty() && self.payload.len() >= count {
            self.payload.advance(count);
        } else {
            return None;
        }
        Some(())
    }

    /// Cuts everything after the first `length` octets: what a receiver does with a MAC frame's pad.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        if length >= self.len() {
            return;
        }
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
    #[inline]
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
    #[inline]
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

    /// Copies all octets to the front of `room`; says how many they are, or nothing where they do not fit.
    #[must_use]
    #[inline]
    pub fn copy_to(&self, room: &mut [u8]) -> Option<usize> {
        let (head, payload) = (self.head(), &self.payload[..]);
        let (front, back) = room.split_at_mut_checked(head.len())?;
        back.get_mut(..payload.len())?.copy_from_slice(payload);
        front.copy_from_slice(head);
        Some(head.len() + payload.len())
    }

    /// All octets in one piece; copies only where there are headers in front.
    #[must_use]
    #[inline]
    pub fn into_bytes(mut self) -> Bytes {
        if self.head().is_empty() { self.take_payload() } else { self.to_bytes() }
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
    fn a_packet_is_copied_to_where_it_fits() {
        let mut packet = Packet::new(Bytes::from_static(b"data"));
        packet.prepend(&[1, 2, 3]);
        let mut room = [0; 8];
        assert_eq!(packet.copy_to(&mut room), Some(7));
        assert_eq!(room, *b"\x01\x02\x03data\0");
        assert_eq!(packet.copy_to(&mut room[..6]), None);
        assert_eq!(packet.copy_to(&mut room[..2]), None);
        assert_eq!(packet.into_bytes(), b"\x01\x02\x03data"[..]);
    }

    #[test]
    fn a_header_in_one_piece_may_have_octets_to_spare() {
        let header = core::array::from_fn::<u8, 24, _>(|place| place as u8);
        let mut packet = Packet::headed(header, 17, Bytes::from_static(b"x"));
        assert_eq!((packet.head(), packet.len()), (&header[7..], 18));
        packet.prepend(&[1]);
        assert_eq!(packet.first::<3>(), Some([1, 7, 8]));
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
