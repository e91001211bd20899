//! Pseudonymous addresses: a keyed mapping that is the same wherever an address stands.
//!
//! Crypto-PAn (J. Xu, J. Fan, M. H. Ammar, S. B. Moon, "Prefix-preserving IP address
//! anonymization", ICNP 2002) over AES-128: if two addresses share exactly their first n bits, so
//! do their pseudonyms. IP addresses are mapped as published, but for the bits that tell unicast from
//! multicast; MAC addresses and NSAPs in the same way, each with its own pad. Kept are: of an IPv4
//! address its class (RFC 791, 3.2; multicast: RFC 1112, 4), of an IPv6 address the bits of its first
//! octet up to the first that is zero (multicast: RFC 4291, 2.7); of a MAC address the group bit and
//! the local bit, and group addresses whole; of an NSAP the first octet, which identifies its format,
//! and the last, its selector. An attacker with some original addresses learns as many bits of their neighbours:
//! the price of keeping subnets distinguishable.
//!
//! Encryption by the crate `aes`: small, portable, and maintained by the RustCrypto group.

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod renamed;

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt as _, KeyInit as _};
use wire::rewrite::Names;

const BLOCK_OCTETS: usize = 16;
/// Length of a secret: the cipher key, and the octets from which the pad is derived.
pub(crate) const SECRET_OCTETS: usize = 2 * BLOCK_OCTETS;

type Block = [u8; BLOCK_OCTETS];

/// Kinds of addresses, each with its own mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Realm {
    Internet,
    Station,
    Network,
    Selector,
}

/// Maps addresses with a secret.
pub(crate) struct Key {
    cipher: Aes128,
    pad: Block,
}

impl Key {
    /// Creates a key from this secret.
    pub(crate) fn new(secret: [u8; SECRET_OCTETS]) -> Self {
        let (mut key, mut pad) = ([0; BLOCK_OCTETS], [0; BLOCK_OCTETS]);
        key.copy_from_slice(&secret[..BLOCK_OCTETS]);
        pad.copy_from_slice(&secret[BLOCK_OCTETS..]);
        let mut keyed = Self { cipher: Aes128::new(&Array::from(key)), pad };
        keyed.pad = keyed.encrypted(pad);
        keyed
    }

    fn encrypted(&self, block: Block) -> Block {
        let mut block = Array::from(block);
        self.cipher.encrypt_block(&mut block);
        block.into()
    }

    /// Returns the pseudorandom bit for the first `bits` bits of an address. An address of more
    /// than 128 bits is processed block by block, chained.
    fn bit(&self, address: &[u8], bits: usize, pad: &Block) -> bool {
        let mut state = [0; BLOCK_OCTETS];
        for (nth, chunk) in address.chunks(BLOCK_OCTETS).enumerate() {
            let known = bits.saturating_sub(nth * BLOCK_OCTETS * 8);
            if nth > 0 && known == 0 {
                break;
            }
            let mut block = *pad;
            for (place, (slot, octet)) in block.iter_mut().zip(chunk).enumerate() {
                let known = known.saturating_sub(place * 8).min(8) as u32;
                let rest = 0xFF_u8.checked_shr(known).unwrap_or(0);
                *slot = *slot & rest | octet & !rest;
            }
            block.iter_mut().zip(state).for_each(|(slot, octet)| *slot ^= octet);
            state = self.encrypted(block);
        }
        state[0] & 0x80 != 0
    }

    /// Maps an address in place; bits that are kept stay unchanged.
    fn map(&self, realm: Realm, address: &mut [u8], is_kept: impl Fn(usize) -> bool) {
        let mut pad = self.pad;
        pad[BLOCK_OCTETS - 1] ^= realm as u8;
        let original = address.to_vec();
        for bit in (0..original.len() * 8).filter(|bit| !is_kept(*bit)) {
            if self.bit(&original, bit, &pad) {
                address[bit / 8] ^= 0x80 >> (bit % 8);
            }
        }
    }
}

impl Names for Key {
    /// Keeps the leading ones and the first zero: of four bits in IPv4, of eight in IPv6. These bits
    /// are those of unicast or multicast, and which of them are kept depends on kept bits alone, so
    /// common prefixes keep their length.
    fn internet(&self, address: &mut [u8]) {
        let first = address.first().copied().unwrap_or(0);
        let class_bits = if address.len() == 4 { 4 } else { 8 };
        let kept = class_bits.min(first.leading_ones() as usize + 1);
        self.map(Realm::Internet, address, |bit| bit < kept);
    }

    /// Keeps a group address, and one that is all zeros.
    fn station(&self, address: &mut [u8]) {
        let is_group = address.first().is_some_and(|first| first & 1 != 0);
        if !is_group && address.iter().any(|octet| *octet != 0) {
            // Bits are mapped in the order in which they are written: these two are the last of the
            // first octet.
            self.map(Realm::Station, address, |bit| bit == 6 || bit == 7);
        }
    }

    /// Keeps the format and the selector of an NSAP.
    fn network(&self, address: &mut [u8]) {
        let last = address.len().saturating_sub(1) * 8;
        self.map(Realm::Network, address, |bit| bit < 8 || bit >= last);
    }

    fn selector(&self, selector: &mut [u8]) {
        self.map(Realm::Selector, selector, |_| false);
    }
}

#[cfg(test)]
mod tests {
    use super::hostile::SECRET;
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn ip_addresses_map_to_the_published_values() {
        let key = Key::new(SECRET);
        // From the sample trace of the authors' implementation.
        for (raw, expected) in [
            ("128.11.68.132", "135.242.180.132"),
            ("129.118.74.4", "134.136.186.123"),
            ("130.132.252.244", "133.68.164.234"),
            ("141.223.7.43", "141.167.8.160"),
            ("192.102.249.13", "252.138.62.131"),
        ] {
            let mut octets = raw.parse::<Ipv4Addr>().unwrap().octets();
            key.map(Realm::Internet, &mut octets, |_| false);
            assert_eq!(Ipv4Addr::from(octets).to_string(), expected, "{raw}");
        }
        // From the documentation of the Python implementation yacryptopan, with the same key.
        for (raw, expected) in [
            ("::1", "78ff:f001:9fc0:20df:8380:b1f1:704:ed"),
            ("::2", "78ff:f001:9fc0:20df:8380:b1f1:704:ef"),
            ("2001:db8::1", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1e"),
        ] {
            let mut octets = raw.parse::<Ipv6Addr>().unwrap().octets();
            key.map(Realm::Internet, &mut octets, |_| false);
            assert_eq!(Ipv6Addr::from(octets).to_string(), expected, "{raw}");
        }
    }

    #[test]
    fn unicast_stays_unicast_and_multicast_multicast() {
        // Keys that differ, since a key may map an address into its class by chance.
        for nth in 0..64 {
            let key = Key::new([nth; SECRET_OCTETS]);
            for (first, ones) in
                [(10, 0), (127, 0), (172, 1), (192, 2), (224, 3), (239, 3), (240, 4)]
            {
                let mut octets = [first, 0, 0, 1];
                key.internet(&mut octets);
                assert_eq!(octets[0].leading_ones().min(4), ones, "{first} as {octets:?}");
            }
            for raw in ["fe80::1", "fd00::1", "2001:db8::1", "ff02::1"] {
                let mut octets = raw.parse::<Ipv6Addr>().unwrap().octets();
                let is_multicast = octets[0] == 0xFF;
                key.internet(&mut octets);
                assert_eq!(octets[0] == 0xFF, is_multicast, "{raw} as {octets:?}");
            }
        }
    }

    #[test]
    fn kept_classes_leave_common_prefixes_as_long() {
        let key = Key::new(SECRET);
        let addresses: Vec<[u8; 4]> = (0..=255).map(|first| [first, 1, 2, 3]).collect();
        let map = |address: &[u8; 4]| {
            let mut mapped = *address;
            key.internet(&mut mapped);
            mapped
        };
        let mapped: Vec<[u8; 4]> = addresses.iter().map(map).collect();
        assert!(mapped != addresses);
        for (one, new) in addresses.iter().zip(&mapped) {
            for (other, renewed) in addresses.iter().zip(&mapped) {
                assert_eq!(common(one, other), common(new, renewed), "{one:?} {other:?}");
            }
        }
    }

    /// Returns the length in bits of the common prefix.
    fn common(one: &[u8], other: &[u8]) -> usize {
        let differing = one.iter().zip(other).position(|(a, b)| a != b);
        differing
            .map_or(one.len() * 8, |at| at * 8 + (one[at] ^ other[at]).leading_zeros() as usize)
    }

    #[test]
    fn common_prefixes_keep_their_length_in_every_kind_of_address() {
        let key = Key::new(SECRET);
        let mut nsaps = vec![vec![0x49; 20]; 160];
        for (bit, nsap) in nsaps.iter_mut().enumerate() {
            nsap[bit / 8] ^= 0x80 >> (bit % 8);
        }
        let map = |nsap: &Vec<u8>| {
            let mut mapped = nsap.clone();
            key.network(&mut mapped);
            mapped
        };
        let mapped: Vec<Vec<u8>> = nsaps.iter().map(map).collect();
        for (one, new) in nsaps.iter().zip(&mapped) {
            for (other, renewed) in nsaps.iter().zip(&mapped) {
                assert_eq!(common(one, other), common(new, renewed));
            }
            // Format and selector are kept.
            assert_eq!((one[0], one[19]), (new[0], new[19]));
            assert!(one[1..19] != new[1..19]);
        }
    }

    #[test]
    fn station_addresses_stay_individual_and_groups_unchanged() {
        let key = Key::new(SECRET);
        let mapped = |mac: [u8; 6]| {
            let mut mac = mac;
            key.station(&mut mac);
            mac
        };
        for first in [0x00, 0x02, 0x08, 0xA0] {
            let new = mapped([first, 0, 0x5E, 1, 2, 3]);
            assert_eq!(new[0] & 3, first & 3);
            assert!(new != [first, 0, 0x5E, 1, 2, 3]);
        }
        for group in [[0xFF; 6], [0x09, 0, 0x2B, 0, 0, 4], [0; 6]] {
            assert_eq!(mapped(group), group);
        }
    }
}
