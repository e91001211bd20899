//! Outgoing packets: headers that are prepended, and a payload that is not copied.

use bytes::{Buf, Bytes, BytesMut};

/// Room for headers in front of a payload: MAC 14, LLC 3, inactive CLNP 1, a DT with checksum 12.
/// Moving a packet from queue to queue costs in proportion to its size; with this room it is 64
/// octets.
const ROOM: usize = 30;
/// Room for the headers of a packet with more of them: twice a full CLNP header.
const MORE_ROOM: usize = 120;

/// PDU on its way down the stack, or a frame: a few header octets followed by a shared payload.
///
/// A sending layer adds its header with [`Packet::prepend`]; nothing is moved or copied.
/// **Invariant of the two parts**: either `head` holds whole headers and `payload` is the user data
/// of the innermost PDU, or `head` is empty and `payload` holds everything. A receiver may
/// therefore decode `head` alone and take `payload` as it is.
#[derive(Clone)]
pub struct Packet {
    payload: Bytes,
    headers: Headers,
}

#[derive(Clone)]
enum Headers {
    Few(Room<ROOM>),
    /// Headers that exceed the small room, in a separate allocation.
    Many(Box<Room<MORE_ROOM>>),
}

/// Buffer with headers at its end.
#[derive(Clone)]
struct Room<const OCTETS: usize> {
    /// Number of free octets at the front.
    free: u8,
    octets: [u8; OCTETS],
}

impl Packet {
    /// Creates a packet of `payload` alone.
    #[must_use]
    #[inline]
    pub const fn new(payload: Bytes) -> Self {
        Self { payload, headers: Headers::Few(Room::EMPTY) }
    }

    /// Creates a packet whose header is the last `length` octets of `header`. These are copied in
    /// one step; `N` is at most the room for headers.
    #[must_use]
    #[inline]
    pub fn headed<const N: usize>(header: [u8; N], length: usize, payload: Bytes) -> Self {
        const { assert!(N <= ROOM, "the header fits the room") };
        let mut octets = [0; ROOM];
        if let Some(end) = octets.last_chunk_mut::<N>() {
            *end = header;
        }
        let headers = Headers::Few(Room { free: (ROOM - length.min(N)) as u8, octets });
        Self { payload, headers }
    }

    /// Prepends `header`. If no room is large enough, everything so far becomes payload first.
    #[inline]
    pub fn prepend(&mut self, header: &[u8]) {
        if let Headers::Few(room) = &mut self.headers
            && room.prepend(header).is_some()
        {
            return;
        }
        self.prepend_apart(header);
    }

    #[cold]
    fn prepend_apart(&mut self, header: &[u8]) {
        if let Headers::Few(few) = &self.headers {
            let mut many = Box::new(Room::EMPTY);
            many.prepend(few.taken()).expect("the large room is larger than the small one");
            self.headers = Headers::Many(many);
        }
        if let Headers::Many(room) = &mut self.headers
            && room.prepend(header).is_some()
        {
            return;
        }
        let mut whole = BytesMut::with_capacity(header.len() + self.len());
        whole.extend_from_slice(header);
        whole.extend_from_slice(self.head());
        whole.extend_from_slice(&self.payload);
        *self = Self::new(whole.freeze());
    }

    /// Removes `count` octets from the front, if the head holds that many or is empty and the
    /// payload does.
    #[must_use]
    #[inline]
    pub fn strip(&mut self, count: usize) -> Option<()> {
        if self.head().len() >= count {
            match &mut self.headers {
                Headers::Few(room) => room.free += count as u8,
                Headers::Many(room) => room.free += count as u8,
            }
        } else if self.head().is_empty() && self.payload.len() >= count {
            self.payload.advance(count);
        } else {
            return None;
        }
        Some(())
    }

    /// Truncates the packet to `length` octets, as a receiver does to remove the padding of a MAC
    /// frame.
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

    /// Headers prepended so far.
    #[must_use]
    #[inline]
    pub fn head(&self) -> &[u8] {
        match &self.headers {
            Headers::Few(room) => room.taken(),
            Headers::Many(room) => room.taken(),
        }
    }

    /// Octets after the headers.
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

    /// Total length in octets.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.head().len() + self.payload.len()
    }

    /// Returns true for a packet without any octets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// First `N` octets, in the head or the payload.
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

    /// Copies all octets to the front of `room` and returns their number; `None` if they do not
    /// fit.
    #[must_use]
    #[inline]
    pub fn copy_to(&self, room: &mut [u8]) -> Option<usize> {
        let (head, payload) = (self.head(), &self.payload[..]);
        let (front, back) = room.split_at_mut_checked(head.len())?;
        back.get_mut(..payload.len())?.copy_from_slice(payload);
        front.copy_from_slice(head);
        Some(head.len() + payload.len())
    }

    /// All octets contiguously; copies only if there are headers.
    #[must_use]
    #[inline]
    pub fn into_bytes(mut self) -> Bytes {
        if self.head().is_empty() { self.take_payload() } else { self.to_bytes() }
    }

    /// All octets contiguously; copies only if there are headers.
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

impl<const OCTETS: usize> Room<OCTETS> {
    const EMPTY: Self = Self { free: OCTETS as u8, octets: [0; OCTETS] };

    #[inline]
    fn taken(&self) -> &[u8] {
        self.octets.get(usize::from(self.free)..).unwrap_or_default()
    }

    /// Prepends `header` if there is room.
    #[inline]
    fn prepend(&mut self, header: &[u8]) -> Option<()> {
        let end = usize::from(self.free);
        let start = end.checked_sub(header.len())?;
        self.octets.get_mut(start..end)?.copy_from_slice(header);
        self.free = start as u8;
        Some(())
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
    fn headers_beyond_the_room_are_kept() {
        let mut packet = Packet::new(Bytes::from_static(b"x"));
        let mut expected = b"x".to_vec();
        for (number, length) in (0_u8..).zip([20, 12, 50, 1, 60, 60, 3, 200, 9]) {
            packet.prepend(&vec![number; length]);
            expected.splice(0..0, vec![number; length]);
            assert_eq!((packet.len(), &packet.to_bytes()[..]), (expected.len(), &expected[..]));
        }
        assert_eq!(packet.head(), [8; 9], "headers beyond all rooms become payload");
    }

    #[test]
    fn headers_in_the_large_room_are_removed_like_others() {
        let mut packet = Packet::new(Bytes::from_static(b"data"));
        packet.prepend(&[1; 30]);
        packet.prepend(&[2; 57]);
        packet.prepend(&[3; 14]);
        let copy = packet.clone();
        assert_eq!(packet.strip(14), Some(()));
        assert_eq!((packet.first::<2>(), packet.len()), (Some([2, 2]), 91));
        assert_eq!(packet.strip(88), None, "a header never reaches into the payload");
        assert_eq!(packet.strip(57), Some(()));
        packet.prepend(&[4]);
        assert_eq!(packet.to_bytes()[..2], [4, 1]);
        assert_eq!(
            (copy.first::<15>().map(|it| it[13..] == [3, 2]), copy.len()),
            (Some(true), 105)
        );
        packet.truncate(34);
        assert_eq!(packet.to_bytes()[30..], *b"\x01dat");
    }

    #[test]
    fn a_packet_takes_one_cache_line() {
        assert!(size_of::<Packet>() <= 64, "{} octets", size_of::<Packet>());
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
