//! Checksum of the Internet protocols (RFC 1071): the ones' complement of a ones' complement sum.
//!
//! IPv4 has it over its header, and TCP over a pseudo header, its own header and the data. Adapters
//! fill it in after a capture, so captures are not checked with it.

use core::net::Ipv4Addr;

/// Checksum over parts, each but the last of an even number of octets. Over octets that contain their
/// checksum it is zero.
#[must_use]
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        let (words, rest) = part.as_chunks::<2>();
        sum += words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>();
        sum += rest.first().map_or(0, |octet| u64::from(*octet) << 8);
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// Pseudo header of a datagram with `octets` octets of data of a protocol (RFC 9293 3.1).
#[must_use]
pub fn pseudo_header(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    octets: u16,
) -> [u8; 12] {
    let ([a, b, c, d], [e, f, g, h]) = (source.octets(), destination.octets());
    let [high, low] = octets.to_be_bytes();
    [a, b, c, d, e, f, g, h, 0, protocol, high, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_has_its_sum() {
        // RFC 1071 3: the words 0001 f203 f4f5 f6f7 add up to ddf2.
        let octets = [0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7];
        assert_eq!(checksum(&[&octets]), !0xDDF2);
        assert_eq!(checksum(&[&octets[..2], &octets[2..]]), !0xDDF2);
        assert_eq!(checksum(&[&octets, &0x220D_u16.to_be_bytes()]), 0);
        assert_eq!(checksum(&[&[0x12]]), !0x1200);
    }

    #[test]
    fn a_pseudo_header_has_addresses_protocol_and_length() {
        let [one, other] = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
        let expected = [10, 0, 0, 1, 10, 0, 0, 2, 0, 6, 1, 4];
        assert_eq!(pseudo_header(one, other, 6, 260), expected);
    }
}
