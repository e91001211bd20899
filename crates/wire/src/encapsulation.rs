//! Headers of capture link types other than Ethernet.
//!
//! Linux cooked captures (SLL, SLL2), BSD loopback (null, loop), raw IP, PPP (RFC 1661, RFC 1377),
//! Cisco HDLC, frame relay (RFC 2427) and FDDI. These headers are decoded but not encoded.
//!
//! In addition, TPDUs without any link or network header, exported at the boundary between
//! transport and network, such as within a test centre: link type 252, exported PDUs, with tags
//! before each NSDU. Of the tags, the dissector name (`ositp`) and the network addresses of both
//! ends are decoded; [`exported`] writes them.
//!
//! Left out: link types that carry no supported network layer, such as LAPD; PPP's own negotiation.

use crate::addr::{Mac, Names, Nsap};
use crate::next::{self, OverOsi};
use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;

/// Protocol of a frame's contents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Protocol {
    /// LLC PDU, to the end of the frame.
    Llc,
    /// PDU of the ISO network layer.
    Osi,
    /// IP packet of either version.
    Internet,
    /// TPDUs without link or network header.
    Transport,
    /// Protocol with this EtherType.
    Type(u16),
    /// Any other protocol.
    Other,
}

/// Frame of one of these link types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Link type: number in the registry of capture link types.
    pub link: u32,
    /// Source station; zero if the header has none.
    pub source: Mac,
    /// Destination station; zero if the header has none.
    pub destination: Mac,
    /// Network addresses of source and destination; empty if the header has none.
    pub nsaps: [Nsap; 2],
    /// Protocol of the contents.
    pub protocol: Protocol,
    /// Octets of the header.
    pub header_octets: usize,
    /// Captured octets of the contents.
    pub data: &'a [u8],
}

const NULL: u32 = 0;
const PPP: u32 = 9;
const FDDI: u32 = 10;
const RAW: u32 = 101;
const C_HDLC: u32 = 104;
const FRAME_RELAY: u32 = 107;
const LOOP: u32 = 108;
const LINUX_SLL: u32 = 113;
const IPV4: u32 = 228;
const IPV6: u32 = 229;
/// Exported PDUs: any protocol data unit, with tags before it.
pub const EXPORTED: u32 = 252;
const LINUX_SLL2: u32 = 276;

/// Supported link types with their names.
pub const LINKS: [(u32, &str); 12] = [
    (NULL, "BSD loopback"),
    (PPP, "PPP"),
    (FDDI, "FDDI"),
    (RAW, "raw IP"),
    (C_HDLC, "Cisco HDLC"),
    (FRAME_RELAY, "frame relay"),
    (LOOP, "OpenBSD loopback"),
    (LINUX_SLL, "Linux cooked"),
    (IPV4, "raw IPv4"),
    (IPV6, "raw IPv6"),
    (EXPORTED, "exported PDU"),
    (LINUX_SLL2, "Linux cooked 2"),
];

/// Frame control of asynchronous LLC frames of FDDI (ISO 9314-2 7.3.3); C, L and the priority vary.
const FDDI_LLC: (u8, u8) = (0x50, 0x78);
/// Cisco HDLC's protocol number for OSI, with an octet of padding before most PDUs.
const HDLC_OSI: u16 = 0xFEFE;

impl<'a> Pdu<'a> {
    /// Decodes the frame in `octets` of this link type; `None` if the link type is not supported.
    ///
    /// # Errors
    /// Names the header if it is incomplete.
    pub fn decode(link: u32, octets: &'a [u8]) -> Option<Result<Self, Malformed>> {
        let mut reader = Reader::new(octets);
        let found = match link {
            NULL | LOOP => loopback(&mut reader),
            RAW | IPV4 | IPV6 => Ok((Protocol::Internet, Mac::default())),
            PPP => point_to_point(&mut reader),
            C_HDLC => hdlc(&mut reader),
            FRAME_RELAY => frame_relay(&mut reader),
            LINUX_SLL => cooked(&mut reader),
            LINUX_SLL2 => cooked_2(&mut reader),
            FDDI => return Some(Self::fddi(octets)),
            EXPORTED => return Some(Self::exported(octets)),
            _ => return None,
        };
        Some(found.map(|(protocol, source)| Self {
            link,
            source,
            destination: Mac::default(),
            nsaps: [Nsap::default(); 2],
            protocol,
            header_octets: reader.offset(),
            data: reader.rest(),
        }))
    }

    fn fddi(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let control = reader.u8("link header")?;
        let destination = Mac(reader.array("link header")?);
        let source = Mac(reader.array("link header")?);
        let is_llc = control & FDDI_LLC.1 == FDDI_LLC.0;
        let protocol = if is_llc { Protocol::Llc } else { Protocol::Other };
        let (header_octets, data) = (reader.offset(), reader.rest());
        let nsaps = [Nsap::default(); 2];
        Ok(Self { link: FDDI, source, destination, nsaps, protocol, header_octets, data })
    }

    /// Decodes tags of a number, a length and a value padded to four octets, up to tag 0.
    fn exported(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let (mut protocol, mut nsaps) = (Protocol::Other, [Nsap::default(); 2]);
        loop {
            let tag = reader.u16("link header")?;
            let length = usize::from(reader.u16("link header")?);
            let value = reader.take("link header", length)?;
            let address = || Nsap::new(value).unwrap_or_default();
            match tag {
                END_OF_TAGS => break,
                // The name is padded with zeros, which count in its length.
                DISSECTOR if value.split(|octet| *octet == 0).next() == Some(TRANSPORT) => {
                    protocol = Protocol::Transport;
                }
                IPV4_SOURCE | IPV6_SOURCE => nsaps[0] = address(),
                IPV4_DESTINATION | IPV6_DESTINATION => nsaps[1] = address(),
                _ => {}
            }
        }
        let (header_octets, data) = (reader.offset(), reader.rest());
        let (source, destination) = (Mac::default(), Mac::default());
        Ok(Self { link: EXPORTED, source, destination, nsaps, protocol, header_octets, data })
    }
}

/// Tag that ends the list.
const END_OF_TAGS: u16 = 0;
/// Tag with the name of the dissector for the exported PDU.
const DISSECTOR: u16 = 12;
const IPV4_SOURCE: u16 = 20;
const IPV4_DESTINATION: u16 = 21;
const IPV6_SOURCE: u16 = 22;
const IPV6_DESTINATION: u16 = 23;
/// Wireshark's name of the dissector for TPDUs.
const TRANSPORT: &[u8] = b"ositp";

/// Writes the header of link type 252 for TPDUs between two hosts with IPv4 addresses.
pub fn exported(from: [u8; 4], to: [u8; 4], out: &mut impl BufMut) {
    let name = b"ositp\0\0\0";
    for (tag, value) in [(DISSECTOR, &name[..]), (IPV4_SOURCE, &from), (IPV4_DESTINATION, &to)] {
        out.put_u16(tag);
        out.put_u16(value.len() as u16);
        out.put_slice(value);
    }
    out.put_slice(&[0; 4]);
}

type Found = Result<(Protocol, Mac), Malformed>;

/// Address family of four octets, in the byte order of the capturing host or of the network. The
/// numbers for IPv6 differ between systems.
fn loopback(reader: &mut Reader<'_>) -> Found {
    let family = match reader.array("link header")? {
        [0, 0, 0, family] | [family, 0, 0, 0] => family,
        _ => 0,
    };
    let protocol = match family {
        2 | 10 | 24 | 28 | 30 => Protocol::Internet,
        7 => Protocol::Osi,
        _ => Protocol::Other,
    };
    Ok((protocol, Mac::default()))
}

/// PPP header. Address and control may be omitted, and so may the first octet of a protocol below
/// 256.
fn point_to_point(reader: &mut Reader<'_>) -> Found {
    if reader.rest().starts_with(&[0xFF, 0x03]) {
        reader.take("link header", 2)?;
    }
    let mut protocol = u16::from(reader.u8("link header")?);
    if protocol & 1 == 0 {
        protocol = protocol << 8 | u16::from(reader.u8("link header")?);
    }
    let protocol = match protocol {
        0x0021 | 0x0057 => Protocol::Internet,
        0x0023 => Protocol::Osi,
        0x0281 | 0x0283 => {
            let [unicast, multicast] = next::MPLS_TYPES;
            Protocol::Type(if protocol == 0x0281 { unicast } else { multicast })
        }
        _ => Protocol::Other,
    };
    Ok((protocol, Mac::default()))
}

fn hdlc(reader: &mut Reader<'_>) -> Found {
    reader.take("link header", 2)?;
    let protocol = reader.u16("link header")?;
    if protocol != HDLC_OSI {
        return Ok((Protocol::Type(protocol), Mac::default()));
    }
    // The padding is not an identifier of a supported network protocol.
    if reader.rest().first().is_none_or(|first| OverOsi::of(*first).is_none()) {
        reader.take("link header", 1)?;
    }
    Ok((Protocol::Osi, Mac::default()))
}

/// Frame relay header: two octets of address (longer ones are not decoded), control, optional
/// padding, and NLPID.
fn frame_relay(reader: &mut Reader<'_>) -> Found {
    let [_, last, control] = reader.array("link header")?;
    if last & 1 == 0 || control != 0x03 {
        return Ok((Protocol::Other, Mac::default()));
    }
    if reader.rest().first() == Some(&0) {
        reader.take("link header", 1)?;
    }
    let protocol = match reader.rest().first() {
        None => return Err(reader.malformed("link header")),
        // The identifier is the first octet of the PDU itself.
        Some(0x81..=0x83) => return Ok((Protocol::Osi, Mac::default())),
        Some(0xCC | 0x8E) => Protocol::Internet,
        Some(0x80) => {
            let [_, a, b, c, high, low] = reader.array("link header")?;
            let kind = u16::from_be_bytes([high, low]);
            let is_type = [a, b, c] == [0, 0, 0];
            let protocol = if is_type { Protocol::Type(kind) } else { Protocol::Other };
            return Ok((protocol, Mac::default()));
        }
        Some(_) => Protocol::Other,
    };
    reader.take("link header", 1)?;
    Ok((protocol, Mac::default()))
}

/// SLL header: packet type, ARPHRD type, address length, eight octets of address, protocol.
fn cooked(reader: &mut Reader<'_>) -> Found {
    reader.take("link header", 4)?;
    let length = reader.u16("link header")?;
    let source = station(length, reader.array("link header")?);
    Ok((ethernet_type(reader.u16("link header")?), source))
}

/// SLL2 header: protocol, reserved, interface, ARPHRD type, packet type, address length, address.
fn cooked_2(reader: &mut Reader<'_>) -> Found {
    let protocol = reader.u16("link header")?;
    reader.take("link header", 9)?;
    let length = u16::from(reader.u8("link header")?);
    let source = station(length, reader.array("link header")?);
    Ok((ethernet_type(protocol), source))
}

const fn station(length: u16, [a, b, c, d, e, f, _, _]: [u8; 8]) -> Mac {
    if length == 6 { Mac([a, b, c, d, e, f]) } else { Mac([0; 6]) }
}

/// Converts Linux's protocol number. Protocols without an EtherType have numbers below 0x0600; 4 is
/// 802.2.
const fn ethernet_type(number: u16) -> Protocol {
    match number {
        0x0004 => Protocol::Llc,
        0..0x0600 => Protocol::Other,
        number => Protocol::Type(number),
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = LINKS.iter().find(|(number, _)| *number == self.link);
        f.write_str(known.map_or("link", |(_, name)| name))?;
        let none = Mac::default();
        if self.source != none || self.destination != none {
            write!(f, " {}>{}", self.source, self.destination)?;
        }
        if self.nsaps != [Nsap::default(); 2] {
            write!(f, " {}>{}", self.nsaps[0], self.nsaps[1])?;
        }
        match self.protocol {
            Protocol::Llc => f.write_str(" LLC"),
            Protocol::Osi => f.write_str(" OSI"),
            Protocol::Internet => f.write_str(" IP"),
            Protocol::Transport => f.write_str(" TPDUs"),
            Protocol::Type(number) => write!(f, " type={number:04x}"),
            Protocol::Other => f.write_str(" other"),
        }
    }
}

/// Maps the addresses in the header of a frame: those of FDDI and of Linux cooked captures, and
/// those among the tags of an exported PDU.
pub(crate) fn rewrite(names: &dyn Names, link: u32, frame: &mut [u8]) {
    let stations: &[usize] = match link {
        FDDI => &[1, 7],
        LINUX_SLL => &[6],
        LINUX_SLL2 => &[12],
        EXPORTED => return rewrite_tags(names, frame),
        _ => &[],
    };
    for at in stations {
        if let Some(address) = frame.get_mut(*at..*at + 6) {
            names.station(address);
        }
    }
}

fn rewrite_tags(names: &dyn Names, mut rest: &mut [u8]) {
    while let [a, b, c, d, behind @ ..] = rest {
        let (tag, length) = (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]));
        let (value, next) = behind.split_at_mut(usize::from(length).min(behind.len()));
        match tag {
            END_OF_TAGS => return,
            IPV4_SOURCE..=IPV6_DESTINATION => names.internet(value),
            _ => {}
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_type_names_its_contents() {
        // Headers by hand after the descriptions in the registry of link types; then one octet.
        check(0, &[2, 0, 0, 0, 0x45], "BSD loopback IP");
        check(0, &[0, 0, 0, 30, 0x60], "BSD loopback IP");
        check(108, &[0, 0, 0, 7, 0x83], "OpenBSD loopback OSI");
        check(9, &[0xFF, 3, 0, 0x23, 0x83], "PPP OSI");
        check(9, &[0x21, 0x45], "PPP IP");
        check(9, &[0xFF, 3, 0xC0, 0x21, 1], "PPP other");
        check(101, &[0x45], "raw IP IP");
        check(104, &[0x0F, 0, 0x08, 0, 0x45], "Cisco HDLC type=0800");
        check(104, &[0x0F, 0, 0xFE, 0xFE, 3, 0x83], "Cisco HDLC OSI");
        check(107, &[0x18, 0x41, 3, 0x83], "frame relay OSI");
        check(107, &[0x18, 0x41, 3, 0xCC, 0x45], "frame relay IP");
        check(107, &[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0, 0x45], "frame relay type=0800");
        let cooked = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0xFE];
        check(113, &cooked, "Linux cooked 02:00:00:00:00:01>00:00:00:00:00:00 LLC");
        let cooked = [8, 0, 0, 0, 0, 0, 0, 3, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x45];
        check(276, &cooked, "Linux cooked 2 type=0800");
        let fddi = [0x54, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0xFE];
        check(10, &fddi, "FDDI 02:00:00:00:00:01>02:00:00:00:00:02 LLC");
    }

    #[test]
    fn an_exported_pdu_has_a_dissector_and_two_addresses() {
        let mut octets = Vec::new();
        exported([192, 0, 2, 1], [192, 0, 2, 7], &mut octets);
        // The tags of exported PDUs: 12 name, 20 and 21 IPv4 addresses, 0 the end.
        let by_hand = [
            &[0, 12, 0, 8][..],
            b"ositp\0\0\0",
            &[0, 20, 0, 4, 192, 0, 2, 1],
            &[0, 21, 0, 4, 192, 0, 2, 7],
            &[0; 4],
        ];
        assert_eq!(octets, by_hand.concat());
        octets.push(4);
        check(252, &octets, "exported PDU c0000201>c0000207 TPDUs");
        // An unknown tag is skipped, and so is an unknown dissector.
        check(
            252,
            &[0, 99, 0, 1, 7, 0, 12, 0, 4, b'h', b't', b't', b'p', 0, 0, 0, 0, 9],
            "exported PDU other",
        );
        let cut = Pdu::decode(252, &octets[..14]).unwrap().unwrap_err();
        assert_eq!(cut.field, "link header");
    }

    #[test]
    fn a_cut_header_is_named_and_an_unknown_link_type_is_none() {
        for (link, octets) in [(0, 3), (9, 1), (104, 3), (107, 2), (113, 15), (276, 19), (10, 12)] {
            let complaint = Pdu::decode(link, &vec![0; octets]).unwrap().unwrap_err();
            assert_eq!(complaint.field, "link header", "link type {link}");
        }
        assert_eq!(Pdu::decode(177, &[0; 40]), None);
    }

    #[track_caller]
    fn check(link: u32, octets: &[u8], line: &str) {
        let pdu = Pdu::decode(link, octets).unwrap().unwrap();
        assert_eq!(pdu.to_string(), line);
        assert_eq!((pdu.data.len(), pdu.header_octets), (1, octets.len() - 1));
    }
}
