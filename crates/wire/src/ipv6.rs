//! Internet Protocol, version 6 (RFC 8200): the fixed header, and the chain of extension headers up
//! to the payload.
//!
//! Left out: the contents of extension headers other than the fragment header, and reassembly of
//! fragments.

use crate::addr::Names;
use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;
use core::net::Ipv6Addr;

/// Octets of the fixed header.
pub const HEADER_OCTETS: usize = 40;
/// Largest number of extension headers skipped; packets with more are not decoded further.
const ADDRESSES_AT: usize = 8;
const EXTENSIONS: usize = 8;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;

/// IPv6 packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Traffic class.
    pub class: u8,
    /// Flow label, 20 bits.
    pub flow: u32,
    /// Payload length: octets after the fixed header; 0 if it was left to the sender's adapter.
    pub payload_octets: u16,
    /// Next header: type of the header after the fixed one.
    pub next_header: u8,
    /// Hop limit: remaining number of routers.
    pub hop_limit: u8,
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
    /// Captured octets of extension headers and data.
    pub data: &'a [u8],
}

/// Contents of a packet after its extension headers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Carried<'a> {
    /// Protocol: 6 for TCP.
    pub protocol: u8,
    /// True for one fragment of several.
    pub is_fragment: bool,
    /// Octets of extension headers before the contents.
    pub offset: usize,
    /// Octets of the contents.
    pub octets: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the packet in `octets`, which were captured completely.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        Self::decode_cut(octets, octets.len())
    }

    /// Decodes the packet at the front of data that was `original_octets` long and of which
    /// `octets` were captured.
    ///
    /// # Errors
    /// See [`Pdu::decode`].
    pub fn decode_cut(octets: &'a [u8], original_octets: usize) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let first = reader.u8("IP version")?;
        if first >> 4 != 6 {
            return Err(Malformed { field: "IP version", offset: 0 });
        }
        let [second, third, fourth] = reader.array("flow label")?;
        let payload_octets = reader.u16("payload length")?;
        let next_header = reader.u8("next header")?;
        let hop_limit = reader.u8("hop limit")?;
        let source = Ipv6Addr::from_octets(reader.array("source IPv6 address")?);
        let destination = Ipv6Addr::from_octets(reader.array("destination IPv6 address")?);
        let whole_octets = whole(payload_octets, original_octets);
        if whole_octets > original_octets {
            return Err(Malformed { field: "payload length", offset: 4 });
        }
        let rest = reader.rest();
        let data = rest.get(..whole_octets - HEADER_OCTETS).unwrap_or(rest);
        let class = first << 4 | second >> 4;
        let flow = u32::from_be_bytes([0, second & 0x0F, third, fourth]);
        Ok(Self { class, flow, payload_octets, next_header, hop_limit, source, destination, data })
    }

    /// Octets of the packet at the front of `original_octets`.
    #[must_use]
    pub const fn whole_octets(&self, original_octets: usize) -> usize {
        whole(self.payload_octets, original_octets)
    }

    /// Skips the extension headers and returns the contents.
    ///
    /// # Errors
    /// An extension header is missing or reaches past the end; offsets count from the fixed header.
    pub fn carried(&self) -> Result<Carried<'a>, Malformed> {
        let mut reader = Reader::new(self.data);
        let mut protocol = self.next_header;
        let mut is_fragment = false;
        for _ in 0..EXTENSIONS {
            if !matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION) {
                break;
            }
            let extension = protocol;
            let field = "extension header";
            let within = |complaint: Malformed| complaint.within(HEADER_OCTETS);
            protocol = reader.u8(field).map_err(within)?;
            let length = usize::from(reader.u8(field).map_err(within)?);
            let rest_octets = match extension {
                FRAGMENT => 6,
                AUTHENTICATION => length * 4 + 6,
                _ => length * 8 + 6,
            };
            let rest = reader.take(field, rest_octets).map_err(within)?;
            if extension == FRAGMENT {
                // Offset in the upper 13 bits, M in the lowest: an "atomic" fragment has neither.
                is_fragment |= matches!(rest, [high, low, ..] if *high != 0 || low & 0xF9 != 0);
            }
        }
        Ok(Carried { protocol, is_fragment, offset: reader.offset(), octets: reader.rest() })
    }

    /// Writes fixed header and data, with lengths as they are.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_u32(6 << 28 | u32::from(self.class) << 20 | self.flow & 0x000F_FFFF);
        out.put_u16(self.payload_octets);
        out.put_slice(&[self.next_header, self.hop_limit]);
        out.put_slice(&self.source.octets());
        out.put_slice(&self.destination.octets());
        out.put_slice(self.data);
    }
}

const fn whole(payload_octets: u16, original_octets: usize) -> usize {
    match payload_octets {
        0 if original_octets >= HEADER_OCTETS => original_octets,
        octets => HEADER_OCTETS + octets as usize,
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, next_header, .. } = self;
        write!(f, "IPv6 {source}>{destination} next={next_header} {} octets", self.data.len())
    }
}

/// Maps both addresses in a header; returns them as they were and as they are.
pub(crate) fn rewrite(names: &dyn Names, header: &mut [u8]) -> Option<[[u8; 32]; 2]> {
    let addresses = header.get_mut(ADDRESSES_AT..)?.first_chunk_mut::<32>()?;
    let before = *addresses;
    addresses.chunks_mut(16).for_each(|address| names.internet(address));
    Some([before, *addresses])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packet from ::1 to ::2, hop limit 64, with these octets after this next header.
    fn packet(next_header: u8, data: &[u8]) -> Vec<u8> {
        let mut octets = vec![0x60, 0, 0, 0, 0, data.len() as u8, next_header, 64];
        for last in [1, 2] {
            octets.extend([0; 15]);
            octets.push(last);
        }
        octets.extend(data);
        octets
    }

    #[test]
    fn a_packet_reads_and_writes_back() {
        let octets = packet(6, &[1, 2, 3]);
        let pdu = Pdu::decode(&octets).unwrap();
        assert_eq!(pdu.to_string(), "IPv6 ::1>::2 next=6 3 octets");
        let mut again = Vec::new();
        pdu.encode(&mut again);
        assert_eq!(again, octets);
        let complaint = Pdu::decode(&octets[..42]).unwrap_err();
        assert_eq!(complaint.to_string(), "malformed payload length at octet 4");
    }

    #[test]
    fn extension_headers_are_passed() {
        // Hop-by-hop options of 8 octets, then destination options of 16, then TCP.
        let mut data = vec![60, 0, 1, 4, 0, 0, 0, 0, 6, 1];
        data.extend([0; 14]);
        data.push(0xAB);
        let octets = packet(0, &data);
        let carried = Pdu::decode(&octets).unwrap().carried().unwrap();
        assert_eq!(
            carried,
            Carried { protocol: 6, is_fragment: false, offset: 24, octets: &[0xAB] }
        );
        let octets = packet(0, &[60, 2, 0, 0, 0, 0, 0, 0]);
        let complaint = Pdu::decode(&octets).unwrap().carried().unwrap_err();
        assert_eq!(complaint.to_string(), "malformed extension header at octet 42");
    }

    #[test]
    fn an_atomic_fragment_is_not_a_fragment() {
        let fragment = |high: u8, low: u8| {
            let octets = packet(44, &[6, 0, high, low, 0, 0, 0, 9, 1]);
            Pdu::decode(&octets).unwrap().carried().unwrap().is_fragment
        };
        // RFC 6946: neither an offset nor more fragments.
        assert!(!fragment(0, 0));
        assert!(fragment(0, 1) && fragment(1, 0) && fragment(0, 8));
    }
}
