//! Checksum of ISO 8073 (6.17, annex B) and of CLNP (ISO 8473 6.11): Fletcher's, modulo 255.
//!
//! Octets `a1 .. aL` pass if both `sum(a_i)` and `sum((L - i + 1) * a_i)` are 0 modulo 255. Two
//! kinds of damage stay undetected: 00 in place of FF or the reverse, because 255 is 0 here; and
//! two damaged octets whose changes cancel out modulo 255 in both sums, which depends on their
//! distance.

/// The two running sums, reduced modulo 255.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fletcher {
    c0: u32,
    c1: u32,
}

const LANES: usize = 16;
/// Chunks of [`LANES`] octets between reductions. The second sum of a lane is then at most 255 * 23
/// * 22 / 2, which fits into 16 bits.
const CHUNKS: usize = 23;
/// Below this number of octets, summing word by word is faster.
const FEW_OCTETS: usize = 48;

impl Fletcher {
    /// Sums over no octets.
    #[must_use]
    pub const fn new() -> Self {
        Self { c0: 0, c1: 0 }
    }

    /// Sums over `octets`.
    #[must_use]
    pub fn of(octets: &[u8]) -> Self {
        let mut sums = Self::new();
        sums.add(octets);
        sums
    }

    /// Continues the sums over more octets.
    #[inline]
    pub fn add(&mut self, octets: &[u8]) {
        if octets.len() < FEW_OCTETS {
            self.add_words(octets);
            (self.c0, self.c1) = (self.c0 % 255, self.c1 % 255);
        } else {
            self.add_many(octets);
        }
    }

    fn add_many(&mut self, octets: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        if let Some((c0, c1)) = cpu::fletcher::add((self.c0, self.c1), octets) {
            *self = Self { c0, c1 };
            return;
        }
        self.add_portably(octets);
    }

    #[inline(never)]
    fn add_portably(&mut self, octets: &[u8]) {
        for block in octets.chunks(LANES * CHUNKS) {
            self.add_block(block);
        }
    }

    fn add_block(&mut self, block: &[u8]) {
        if block.len() < FEW_OCTETS {
            self.add_words(block);
        } else {
            self.add_in_lanes(block);
        }
        (self.c0, self.c1) = (self.c0 % 255, self.c1 % 255);
    }

    /// Sums eight octets at a time: the even and the odd ones as four numbers in a word each, which
    /// one multiplication weights and adds. A sum of four is at most 255 * 20, so none overflows.
    #[inline]
    fn add_words(&mut self, octets: &[u8]) {
        const OCTETS: u64 = 0x00FF_00FF_00FF_00FF;
        let (odd, words) = octets.as_rchunks::<8>();
        for octet in odd {
            self.c0 += u32::from(*octet);
            self.c1 += self.c0;
        }
        for word in words {
            let word = u64::from_be_bytes(*word);
            let (first, second) = ((word >> 8) & OCTETS, word & OCTETS);
            let sum = (first + second).wrapping_mul(0x0001_0001_0001_0001) >> 48;
            // The first octet counts eight times, the last once.
            let weighted = first.wrapping_mul(0x0002_0004_0006_0008) >> 48;
            let weighted = weighted + (second.wrapping_mul(0x0001_0003_0005_0007) >> 48);
            self.c1 += 8 * self.c0 + weighted as u32;
            self.c0 += sum as u32;
        }
    }

    /// Lane `j` sums every 16th octet in 16 bits, so that the compiler can use whole vector
    /// registers.
    fn add_in_lanes(&mut self, block: &[u8]) {
        let (odd, chunks) = block.as_rchunks::<LANES>();
        // Leading zeros do not change the sums, so the odd octets are placed at the end of a first
        // chunk.
        let mut first = [0; LANES];
        if let Some(end) = first.get_mut(LANES - odd.len()..) {
            end.copy_from_slice(odd);
        }
        let (mut s0, mut s1) = ([0_u16; LANES], [0_u16; LANES]);
        for (s0, octet) in s0.iter_mut().zip(&first) {
            *s0 = u16::from(*octet);
        }
        for chunk in chunks {
            for ((s0, s1), octet) in s0.iter_mut().zip(&mut s1).zip(chunk) {
                *s1 += *s0;
                *s0 += u16::from(*octet);
            }
        }
        let (mut sum, mut later, mut weighted) = (0_u32, 0_u32, 0_u32);
        for (place, (s0, s1)) in s0.iter().zip(&s1).enumerate() {
            sum += u32::from(*s0);
            later += u32::from(*s1);
            weighted += u32::from(*s0) * (LANES - place) as u32;
        }
        self.c1 += block.len() as u32 * self.c0 + later * LANES as u32 + weighted;
        self.c0 += sum;
    }

    /// Returns true if the octets so far, checksum octets included, pass.
    #[must_use]
    pub const fn is_good(self) -> bool {
        self.c0 == 0 && self.c1 == 0
    }

    /// Returns the two checksum octets. While summing, their place must hold zeros.
    ///
    /// `from_end` is the number of octets from the first checksum octet to the last octet of all,
    /// both included (L - n + 1 in the standard's letters).
    #[must_use]
    pub const fn octets(self, from_end: usize) -> [u8; 2] {
        // X = -C1 + (L-n).C0, Y = C1 - (L-n+1).C0, modulo 255.
        let place = (from_end % 255) as u32;
        let before = (place + 254) % 255;
        let x = (before * self.c0 + 255 - self.c1) % 255;
        let y = (self.c1 + 255 * 255 - place * self.c0) % 255;
        [x as u8, y as u8]
    }
}

/// Updates the Internet checksum at the front of `checksum` for octets that changed (RFC 1624,
/// equation 3).
pub(crate) fn adjust(checksum: &mut [u8], before: &[u8], after: &[u8]) {
    let word = |octets: &[u8]| octets.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet));
    let Some([high, low]) = checksum.first_chunk_mut() else { return };
    let mut sum = u32::from(!u16::from_be_bytes([*high, *low]));
    for (old, new) in before.chunks(2).zip(after.chunks(2)) {
        sum += u32::from(!(word(old) as u16)) + word(new);
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    [*high, *low] = (!(sum as u16)).to_be_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Definition, octet by octet.
    fn plain(octets: &[u8]) -> Fletcher {
        octets.iter().fold(Fletcher::new(), |sums, octet| {
            let c0 = (sums.c0 + u32::from(*octet)) % 255;
            Fletcher { c0, c1: (sums.c1 + c0) % 255 }
        })
    }

    #[test]
    fn every_way_to_sum_agrees_with_the_definition_at_every_length() {
        let octets: Vec<u8> = (0..40_000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
        for length in (0..1_200).chain([8_191, 8_192, 39_999, 40_000]) {
            assert_eq!(
                Fletcher::of(&octets[..length]),
                plain(&octets[..length]),
                "{length} octets"
            );
        }
        for length in (0..1_200).chain([8_191, 8_192, 39_999, 40_000]) {
            let mut sums = Fletcher::of(b"what came before");
            let mut portable = sums;
            sums.add(&octets[..length]);
            portable.add_portably(&octets[..length]);
            assert_eq!(sums, portable, "{length} octets");
        }
        let mut parts = Fletcher::new();
        octets.chunks(777).for_each(|part| parts.add(part));
        assert_eq!(parts, plain(&octets), "the sums can be computed piecewise");
    }

    #[test]
    fn the_sums_do_not_overflow_on_the_largest_octets() {
        let octets = vec![0xFF; 300_000];
        assert_eq!(Fletcher::of(&octets), plain(&octets));
        let octets = vec![0xFE; 300_001];
        assert_eq!(Fletcher::of(&octets), plain(&octets));
        let mut portable = Fletcher::new();
        portable.add_portably(&octets);
        assert_eq!(portable, plain(&octets));
    }

    #[test]
    fn generated_octets_pass_wherever_they_stand() {
        for length in [4, 9, 30, 254, 255, 256, 257, 1_024] {
            for place in [0, 1, length / 2, length - 2] {
                let mut octets: Vec<u8> = (0..length).map(|i| (i * 31 + 5) as u8).collect();
                octets[place..place + 2].copy_from_slice(&[0, 0]);
                let [x, y] = Fletcher::of(&octets).octets(length - place);
                octets[place..place + 2].copy_from_slice(&[x, y]);
                assert!(Fletcher::of(&octets).is_good(), "{length} octets, checksum at {place}");
            }
        }
    }

    #[test]
    fn one_damaged_octet_shows_except_00_for_ff_and_two_may_cancel() {
        let sent: Vec<u8> = (0..2_520).map(|i| (i % 251) as u8).collect();
        for place in [0, 255, 2_519] {
            for value in 0..=255 {
                let mut octets = sent.clone();
                octets[place] = value;
                let same = value % 255 == sent[place] % 255;
                assert_eq!(Fletcher::of(&octets) == Fletcher::of(&sent), same, "{value}");
            }
        }
        // 201 + 54 = 255, and 201 times the distance is 201 x 1,360 = 1,072 x 255: neither sum changes.
        let mut octets = sent.clone();
        for (place, step) in [(977, 201), (2_337, 54)] {
            octets[place] = ((u16::from(sent[place]) + step) % 255) as u8;
        }
        assert_eq!(Fletcher::of(&octets), Fletcher::of(&sent));
        octets[2_337] += 1;
        assert_ne!(Fletcher::of(&octets), Fletcher::of(&sent));
    }
}
