//! Packets that passed a moment ago, so that copies by mirror ports are recognised.
//!
//! A copy comes within [`COPY_NANOS`] of its original. So the packets of all connections are in one
//! ring, which is as long as the busiest such time was; each direction has the number of its latest
//! packet, and each packet that of the one before it.

use wire::time::Instant;

/// Time within which the same packet is a copy.
const COPY_NANOS: u64 = 10_000_000;
/// Recent packets of a direction that are compared to detect copies.
const REMEMBERED: usize = 2;
/// Sizes of the ring. The largest holds the packets of [`COPY_NANOS`] at 13 million a second; at a
/// higher rate, copies that come later count as retransmissions.
const LEAST: usize = 64;
const MOST: usize = 1 << 17;

/// Number of a packet, modulo 2^32 without zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Number(u32);

impl Number {
    /// No packet.
    pub(super) const NONE: Self = Self(0);

    const fn next(self) -> Self {
        match self.0.wrapping_add(1) {
            0 => Self(1),
            next => Self(next),
        }
    }
}

/// Packet that passed.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// Hash of its identity. Two of unlike packets are equal once in 2^64, unless a sender makes them
    /// so.
    print: u64,
    at: Instant,
    number: Number,
    /// Previous packet of its direction.
    before: Number,
}

impl Packet {
    const NONE: Self =
        Self { print: 0, at: Instant::ZERO, number: Number::NONE, before: Number::NONE };

    /// True if a packet at `at` comes so late that it is no copy of this one.
    #[inline]
    const fn is_past(&self, at: Instant) -> bool {
        at.nanos_since(self.at) >= COPY_NANOS
    }
}

/// Ring of recent packets.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    /// Packets by number modulo the length, a power of two.
    ring: Vec<Packet>,
    latest: Number,
}

impl Passed {
    pub(super) fn new() -> Self {
        Self { ring: vec![Packet::NONE; LEAST], latest: Number::NONE }
    }

    #[inline]
    fn place(&self, number: Number) -> usize {
        number.0 as usize & (self.ring.len() - 1)
    }

    /// Packet with this number, if it is in the ring.
    #[inline]
    fn get(&self, number: Number) -> Option<&Packet> {
        self.ring.get(self.place(number)).filter(|packet| packet.number == number)
    }

    /// True if a packet with this print passed a moment ago in the direction of `latest`.
    #[inline]
    pub(super) fn has(&self, latest: Number, at: Instant, print: u64) -> bool {
        let mut next = latest;
        for _ in 0..REMEMBERED {
            let Some(packet) = self.get(next).filter(|packet| !packet.is_past(at)) else {
                return false;
            };
            if packet.print == print {
                return true;
            }
            next = packet.before;
        }
        false
    }

    /// Adds a packet after the latest one of its direction; returns its number.
    #[inline]
    pub(super) fn store(&mut self, latest: Number, at: Instant, print: u64) -> Number {
        let number = self.latest.next();
        let packet = Packet { print, at, number, before: latest };
        let place = self.place(number);
        match self.ring.get_mut(place) {
            Some(oldest) if oldest.is_past(at) || oldest.number == Number::NONE => *oldest = packet,
            _ => self.make_room(packet),
        }
        self.latest = number;
        number
    }

    /// Adds a packet while the oldest one may still have a copy.
    #[cold]
    fn make_room(&mut self, packet: Packet) {
        if self.ring.len() < MOST {
            let mut ring = vec![Packet::NONE; self.ring.len() * 2];
            core::mem::swap(&mut ring, &mut self.ring);
            for packet in ring {
                let place = self.place(packet.number);
                self.ring[place] = packet;
            }
        }
        let place = self.place(packet.number);
        self.ring[place] = packet;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn the_last_two_packets_of_a_direction_are_compared() {
        let mut passed = Passed::new();
        let mut latest = [Number::NONE; 2];
        for n in 0..6 {
            let way = n % 2;
            latest[way] = passed.store(latest[way], at(n as u64), 100 + n as u64);
        }
        let has = |way: usize, print| passed.has(latest[way], at(9), print);
        assert_eq!([100, 102, 104].map(|print| has(0, print)), [false, true, true]);
        assert_eq!([101, 103, 105].map(|print| has(1, print)), [false, true, true]);
        assert!(!has(0, 105) && !passed.has(Number::NONE, at(9), 104));
    }

    #[test]
    fn a_packet_has_no_copy_after_ten_milliseconds() {
        let mut passed = Passed::new();
        let latest = passed.store(Number::NONE, at(5), 7);
        assert!(passed.has(latest, at(5 + COPY_NANOS - 1), 7));
        assert!(!passed.has(latest, at(5 + COPY_NANOS), 7));
    }

    #[test]
    fn the_ring_holds_the_busiest_ten_milliseconds() {
        let mut passed = Passed::new();
        let first = passed.store(Number::NONE, at(0), 1);
        // 999 packets of other directions within the time, then as many at a tenth of the rate.
        (1..1_000).for_each(|n| _ = passed.store(Number::NONE, at(n * 10_000), 2));
        assert_eq!((passed.has(first, at(9_999_999), 1), passed.ring.len()), (true, 1_024));
        (1_000..2_000).for_each(|n| _ = passed.store(Number::NONE, at(n * 100_000), 2));
        assert_eq!((passed.get(first).is_some(), passed.ring.len()), (false, 1_024));
    }

    #[test]
    fn memory_is_bounded_for_any_rate() {
        let mut passed = Passed::new();
        let first = passed.store(Number::NONE, at(0), 1);
        let mut latest = first;
        (0..300_000).for_each(|n| latest = passed.store(latest, at(0), 2 + n));
        assert_eq!(passed.ring.len(), MOST);
        assert_eq!(
            [(first, 1), (latest, 2)].map(|(n, print)| passed.has(n, at(0), print)),
            [false; 2]
        );
        assert!(passed.has(latest, at(0), 2 + 299_998));
    }

    #[test]
    fn numbers_wrap_without_zero() {
        let mut passed = Passed { latest: Number(u32::MAX - 1), ..Passed::new() };
        let last = passed.store(Number::NONE, at(0), 1);
        let wrapped = passed.store(last, at(0), 2);
        assert_eq!([last, wrapped], [Number(u32::MAX), Number(1)]);
        assert!(passed.has(wrapped, at(1), 1) && passed.has(wrapped, at(1), 2));
    }
}
