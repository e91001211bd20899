//! Random values.

use rasn::prelude::*;

/// Draws of a random value (SplitMix64).
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Number of any magnitude.
    pub(crate) fn unsigned(&mut self) -> u32 {
        let shift = self.below(32);
        (self.next() >> 32 >> shift) as u32
    }

    pub(crate) fn signed(&mut self) -> i64 {
        let shift = self.below(64);
        self.next() as i64 >> shift
    }

    pub(crate) fn octets(&mut self, most: u64) -> OctetString {
        let octets: Vec<u8> = (0..self.below(most + 1)).map(|_| self.next() as u8).collect();
        octets.into()
    }

    pub(crate) fn text(&mut self) -> VisibleString {
        let letters: Vec<u8> = (0..self.below(30)).map(|_| 32 + self.below(95) as u8).collect();
        VisibleString::from_iso646_bytes(&letters).unwrap()
    }

    pub(crate) fn bits(&mut self) -> BitString {
        (0..self.below(90)).map(|_| self.next() & 1 == 1).collect()
    }

    pub(crate) fn oid(&mut self) -> ObjectIdentifier {
        let mut arcs = vec![self.below(3) as u32, self.below(40) as u32];
        arcs.extend((0..self.below(6)).map(|_| self.unsigned()));
        ObjectIdentifier::new(arcs).unwrap()
    }

    pub(crate) fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.next() & 1 == 1).then(|| make(self))
    }

    pub(crate) fn list<T>(&mut self, most: u64, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }
}
