//! CRC-16/CCITT over whole messages: generator x^16 + x^12 + x^5 + 1, most significant bit first.
//!
//! Several codes use this generator. This one starts from all ones, reflects nothing and inverts
//! nothing at the end; catalogues list it as CRC-16/CCITT-FALSE or CRC-16/IBM-3740. Its check
//! octets follow the message, high octet first, and the code over both is then zero.

/// Generator without its x^16.
const GENERATOR: u16 = 0x1021;

/// Contribution of each value of the high octet.
const TABLE: [u16; 256] = table();

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks the bounds")]
const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        let mut remainder = (octet as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            let carry = remainder & 0x8000 != 0;
            remainder = (remainder << 1) ^ if carry { GENERATOR } else { 0 };
            bit += 1;
        }
        table[octet] = remainder;
        octet += 1;
    }
    table
}

/// Number of check octets after the message.
pub const CHECK_OCTETS: usize = 2;

/// CRC over a sequence of octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crc16(u16);

impl Default for Crc16 {
    fn default() -> Self {
        Self::new()
    }
}

impl Crc16 {
    /// CRC over no octets.
    #[must_use]
    pub const fn new() -> Self {
        Self(0xFFFF)
    }

    /// CRC over `octets`.
    #[must_use]
    pub fn of(octets: &[u8]) -> Self {
        let mut code = Self::new();
        code.add(octets);
        code
    }

    /// Continues the CRC over more octets.
    pub fn add(&mut self, octets: &[u8]) {
        for octet in octets {
            let [high, low] = self.0.to_be_bytes();
            let added = TABLE.get(usize::from(high ^ octet)).copied().unwrap_or_default();
            self.0 = u16::from(low) << 8 ^ added;
        }
    }

    /// Check octets, in the order in which they follow the message.
    #[must_use]
    pub const fn octets(self) -> [u8; CHECK_OCTETS] {
        self.0.to_be_bytes()
    }

    /// Returns true if the code finds no damage in the octets so far, check octets included.
    #[must_use]
    pub const fn is_good(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Definition, bit by bit.
    fn plain(octets: &[u8]) -> u16 {
        octets.iter().fold(0xFFFF, |code, octet| {
            (0..8).rev().fold(code, |code, bit| {
                let carry = (code >> 15) ^ u16::from(octet >> bit & 1);
                (code << 1) ^ if carry == 1 { GENERATOR } else { 0 }
            })
        })
    }

    #[test]
    fn the_published_check_value_comes_out() {
        // The catalogues' check value of CRC-16/IBM-3740.
        assert_eq!(Crc16::of(b"123456789").octets(), [0x29, 0xB1]);
    }

    #[test]
    fn the_table_agrees_with_the_definition_in_pieces_of_any_size() {
        let octets: Vec<u8> = (0..2_048_u32).map(|i| (i * 31 + i / 77) as u8).collect();
        for length in (0..300).chain([2_046, 2_048]) {
            let mut code = Crc16::new();
            let (front, back) = octets[..length].split_at(length / 3);
            code.add(front);
            code.add(back);
            assert_eq!(code.octets(), plain(&octets[..length]).to_be_bytes(), "{length} octets");
        }
    }

    #[test]
    fn every_burst_of_up_to_sixteen_bits_is_found() {
        // A burst shorter than the generator is no multiple of it.
        let message: Vec<u8> = (0..32).collect();
        let whole = [&message[..], &Crc16::of(&message).octets()].concat();
        assert!(Crc16::of(&whole).is_good());
        for start in 0..whole.len() * 8 - 16 {
            for burst in [1_u32, 0x8001, 0xFFFF, 0xA5A5, 0b11] {
                let mut damaged = whole.clone();
                for bit in (0..16).filter(|bit| burst >> bit & 1 == 1) {
                    damaged[(start + bit) / 8] ^= 0x80 >> ((start + bit) % 8);
                }
                assert!(!Crc16::of(&damaged).is_good(), "burst {burst:x} at bit {start}");
            }
        }
    }
}
