//! Internet Protocol, version 4 (RFC 791): the header and single fragments.
//!
//! Left out: the meaning of options (they are kept), verification of the header checksum (adapters
//! fill it in after the capture), and reassembly of fragments.

use crate::addr::Names;
use crate::checksum;
use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;
use core::net::Ipv4Addr;

/// Octets of the header without options.
pub const HEADER_OCTETS: usize = 20;

const CHECKSUM_AT: usize = 10;
const ADDRESSES_AT: usize = 12;
/// Option without meaning.
const NO_OPERATION: u8 = 1;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const RESERVED: u16 = 0x8000;
const OFFSET: u16 = 0x1FFF;

/// Datagram, or a fragment of one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Type of service: today DSCP and ECN.
    pub service: u8,
    /// Total length field: octets of header and data; 0 if it was left to the sender's adapter.
    pub total_octets: u16,
    /// Identification: common to the fragments of a datagram.
    pub identification: u16,
    /// Reserved bit, as received.
    pub reserved: bool,
    /// DF: the datagram must not be fragmented.
    pub dont_fragment: bool,
    /// MF: more fragments follow.
    pub more_fragments: bool,
    /// Offset of the fragment in its datagram, in units of 8 octets.
    pub offset: u16,
    /// TTL: remaining number of routers.
    pub lifetime: u8,
    /// Protocol of the data: 6 for TCP.
    pub protocol: u8,
    /// Header checksum as received.
    pub checksum: u16,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Options as received, padding included.
    pub options: &'a [u8],
    /// Captured octets of the data, without the padding of the link.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Creates an unfragmented datagram with DF, without options, with a TTL of 64 (RFC 1700). Its
    /// identification is zero, and its checksum is left to the adapter.
    #[must_use]
    pub const fn carrying(
        protocol: u8,
        [source, destination]: [Ipv4Addr; 2],
        data: &'a [u8],
    ) -> Self {
        Self {
            service: 0,
            total_octets: (HEADER_OCTETS + data.len()) as u16,
            identification: 0,
            reserved: false,
            dont_fragment: true,
            more_fragments: false,
            offset: 0,
            lifetime: 64,
            protocol,
            checksum: 0,
            source,
            destination,
            options: &[],
            data,
        }
    }

    /// Decodes the datagram in `octets`, which were captured completely.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        Self::decode_cut(octets, octets.len())
    }

    /// Decodes the datagram at the front of data that was `original_octets` long and of which
    /// `octets` were captured.
    ///
    /// # Errors
    /// See [`Pdu::decode`].
    pub fn decode_cut(octets: &'a [u8], original_octets: usize) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let first = reader.u8("IP version")?;
        if first >> 4 != 4 {
            return Err(Malformed { field: "IP version", offset: 0 });
        }
        let header_octets = usize::from(first & 0x0F) * 4;
        if header_octets < HEADER_OCTETS {
            return Err(Malformed { field: "internet header length", offset: 0 });
        }
        let service = reader.u8("type of service")?;
        let total_octets = reader.u16("total length")?;
        let identification = reader.u16("identification")?;
        let flags = reader.u16("fragment offset")?;
        let lifetime = reader.u8("time to live")?;
        let protocol = reader.u8("protocol")?;
        let checksum = reader.u16("header checksum")?;
        let source = Ipv4Addr::from_octets(reader.array("source internet address")?);
        let destination = Ipv4Addr::from_octets(reader.array("destination internet address")?);
        let options = reader.take("options", header_octets - HEADER_OCTETS)?;
        let whole_octets = whole(total_octets, original_octets);
        if whole_octets < header_octets || whole_octets > original_octets {
            return Err(Malformed { field: "total length", offset: 2 });
        }
        let rest = reader.rest();
        let data = rest.get(..whole_octets - header_octets).unwrap_or(rest);
        Ok(Self {
            service,
            total_octets,
            identification,
            reserved: flags & RESERVED != 0,
            dont_fragment: flags & DONT_FRAGMENT != 0,
            more_fragments: flags & MORE_FRAGMENTS != 0,
            offset: flags & OFFSET,
            lifetime,
            protocol,
            checksum,
            source,
            destination,
            options,
            data,
        })
    }

    /// Length of the header in octets.
    #[must_use]
    pub const fn header_octets(&self) -> usize {
        HEADER_OCTETS + self.options.len()
    }

    /// Octets of the datagram at the front of `original_octets`: all of them if the header leaves
    /// its length to the adapter.
    #[must_use]
    pub const fn whole_octets(&self, original_octets: usize) -> usize {
        whole(self.total_octets, original_octets)
    }

    /// Returns true for one fragment of several.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments || self.offset > 0
    }

    /// Writes header and data, with length and checksum as they are; options must be whole words.
    pub fn encode(&self, out: &mut impl BufMut) {
        let flag = |set: bool, bit: u16| if set { bit } else { 0 };
        out.put_u8(0x40 | (self.header_octets() / 4) as u8 & 0x0F);
        out.put_u8(self.service);
        out.put_u16(self.total_octets);
        out.put_u16(self.identification);
        out.put_u16(
            flag(self.reserved, RESERVED)
                | flag(self.dont_fragment, DONT_FRAGMENT)
                | flag(self.more_fragments, MORE_FRAGMENTS)
                | self.offset & OFFSET,
        );
        out.put_slice(&[self.lifetime, self.protocol]);
        out.put_u16(self.checksum);
        out.put_slice(&self.source.octets());
        out.put_slice(&self.destination.octets());
        out.put_slice(self.options);
        out.put_slice(self.data);
    }
}

const fn whole(total_octets: u16, original_octets: usize) -> usize {
    match total_octets {
        0 => original_octets,
        octets => octets as usize,
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, identification, protocol, .. } = self;
        write!(f, "IPv4 {source}>{destination} id={identification:04x} protocol={protocol}")?;
        if self.is_fragment() {
            write!(f, " fragment at {}", u32::from(self.offset) * 8)?;
            f.write_str(if self.more_fragments { " more" } else { " last" })?;
        }
        if !self.options.is_empty() {
            write!(f, " options={}", self.options.len())?;
        }
        write!(f, " {} octets", self.data.len())
    }
}

/// Maps both addresses in a header, replaces its options by no-operation, and updates its checksum.
/// Returns the addresses before and after.
pub(crate) fn rewrite(names: &dyn Names, header: &mut [u8]) -> Option<[[u8; 8]; 2]> {
    let before = header.get(ADDRESSES_AT..)?.to_vec();
    let changed = header.get_mut(ADDRESSES_AT..)?;
    let (addresses, options) = changed.split_first_chunk_mut::<8>()?;
    addresses.chunks_mut(4).for_each(|address| names.internet(address));
    options.fill(NO_OPERATION);
    let (after, all) = (*addresses, changed.to_vec());
    checksum::adjust(header.get_mut(CHECKSUM_AT..)?, &before, &all);
    Some([*before.first_chunk()?, after])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 791 example 1: total length 21, identification 111, TTL 123, protocol 1, one octet.
    const EXAMPLE: [u8; 21] =
        [0x45, 0, 0, 21, 0, 111, 0, 0, 123, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xAA];

    #[test]
    fn a_datagram_round_trips_without_the_padding_of_its_link() {
        let padded = [&EXAMPLE[..], &[0; 25]].concat();
        let pdu = Pdu::decode(&padded).unwrap();
        assert_eq!(pdu.to_string(), "IPv4 10.0.0.1>10.0.0.2 id=006f protocol=1 1 octets");
        let mut again = Vec::new();
        pdu.encode(&mut again);
        assert_eq!(again, EXAMPLE);
    }

    #[test]
    fn a_new_datagram_has_a_header_of_twenty_octets() {
        let hosts = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
        let mut octets = Vec::new();
        Pdu::carrying(1, hosts, &[0xAA]).encode(&mut octets);
        // The example, except for its identification, DF (the second bit of the flags) and the time
        // to live.
        let mut expected = EXAMPLE;
        (expected[5], expected[6], expected[8]) = (0, 0x40, 64);
        assert_eq!(octets, expected);
    }

    #[test]
    fn fragments_have_an_offset() {
        // RFC 791 example 2: the second of two fragments begins at 256 octets, 32 units of 8.
        let mut octets = EXAMPLE;
        (octets[6], octets[7]) = (0, 32);
        let pdu = Pdu::decode(&octets).unwrap();
        assert!(pdu.is_fragment() && !pdu.more_fragments);
        assert!(pdu.to_string().contains(" fragment at 256 last"), "{pdu}");
    }

    #[test]
    fn a_length_left_to_the_adapter_is_that_of_the_frame() {
        let mut octets = EXAMPLE;
        octets[3] = 0;
        assert_eq!(Pdu::decode(&octets).unwrap().data, [0xAA]);
    }

    #[test]
    fn a_broken_header_names_the_field() {
        let complaint = |change: &dyn Fn(&mut [u8; 21])| {
            let mut octets = EXAMPLE;
            change(&mut octets);
            Pdu::decode(&octets).unwrap_err().to_string()
        };
        assert_eq!(complaint(&|o| o[0] = 0x65), "malformed IP version at octet 0");
        assert_eq!(complaint(&|o| o[0] = 0x44), "malformed internet header length at octet 0");
        assert_eq!(complaint(&|o| o[0] = 0x4F), "malformed options at octet 20");
        assert_eq!(complaint(&|o| o[3] = 22), "malformed total length at octet 2");
        assert_eq!(complaint(&|o| o[3] = 19), "malformed total length at octet 2");
    }
}
