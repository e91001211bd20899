//! Segments as datagrams of IPv4: headers, checksums, and addresses of stations.

use bytes::Bytes;
use core::net::Ipv4Addr;
use wire::addr::Mac;
use wire::internet_checksum::{checksum, pseudo_header};
use wire::packet::Packet;
use wire::tcp::{self, Flags};
use wire::{ipv4, tcp::HEADER_OCTETS};

/// EtherType of IPv4.
pub const ETHERTYPE: u16 = 0x0800;
/// PSH: the receiver passes the data on at once.
const PUSH: u8 = 0x08;
/// Kind and length of the option with the maximum segment size (RFC 9293 3.2).
const MSS_OPTION: [u8; 2] = [2, 4];

/// Datagram to or from a station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Other station.
    pub station: Mac,
    /// Datagram of IPv4.
    pub packet: Packet,
}

/// Internet address of a station: network 10, and the last three octets of its MAC address.
#[must_use]
pub const fn internet_address(station: Mac) -> Ipv4Addr {
    let Mac([_, _, _, d, e, f]) = station;
    Ipv4Addr::new(10, d, e, f)
}

/// Ports of a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Ports {
    pub(super) source: u16,
    pub(super) destination: u16,
}

/// Segment without its ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub(super) flags: Flags,
    pub(super) sequence: u32,
    pub(super) acknowledgement: u32,
    pub(super) window: u16,
    /// Maximum segment size that a SYN announces.
    pub(super) mss: Option<u16>,
    pub(super) data: Bytes,
}

/// Flags together.
pub(super) const fn with(one: Flags, other: Flags) -> Flags {
    Flags(one.0 | other.0)
}

impl Segment {
    /// Datagram from one station to another.
    pub(super) fn datagram(self, from: Mac, to: Mac, ports: Ports) -> Datagram {
        let [source, destination] = [from, to].map(internet_address);
        let [high, low] = self.mss.unwrap_or(0).to_be_bytes();
        let option = [MSS_OPTION[0], MSS_OPTION[1], high, low];
        let push = if self.data.is_empty() { 0 } else { PUSH };
        let pdu = tcp::Pdu {
            source_port: ports.source,
            destination_port: ports.destination,
            sequence: self.sequence,
            acknowledgement: self.acknowledgement,
            reserved: 0,
            flags: Flags(self.flags.0 | push),
            window: self.window,
            checksum: 0,
            urgent: 0,
            options: if self.mss.is_some() { &option } else { &[] },
            data: &[],
        };
        let mut header = Vec::with_capacity(HEADER_OCTETS + option.len());
        pdu.encode(&mut header);
        let octets = (header.len() + self.data.len()) as u16;
        let pseudo = pseudo_header(source, destination, tcp::PROTOCOL, octets);
        let sum = checksum(&[&pseudo, &header, &self.data]);
        if let Some(place) = header.get_mut(16..18) {
            place.copy_from_slice(&sum.to_be_bytes());
        }
        let network = ipv4::Pdu {
            total_octets: ipv4::HEADER_OCTETS as u16 + octets,
            ..ipv4::Pdu::carrying(tcp::PROTOCOL, [source, destination], &[])
        };
        let mut outer = Vec::with_capacity(ipv4::HEADER_OCTETS);
        network.encode(&mut outer);
        let sum = checksum(&[&outer]);
        if let Some(place) = outer.get_mut(10..12) {
            place.copy_from_slice(&sum.to_be_bytes());
        }
        let mut packet = Packet::new(self.data);
        packet.prepend(&header);
        packet.prepend(&outer);
        Datagram { station: to, packet }
    }

    /// Segment in a datagram for the station `to`; `None` if there is none, or a checksum is wrong.
    pub(super) fn of(datagram: Datagram, to: Mac) -> Option<(Ports, Self)> {
        let octets = datagram.packet.into_bytes();
        let network = ipv4::Pdu::decode(&octets).ok()?;
        let header_octets = network.header_octets();
        let is_ours = network.protocol == tcp::PROTOCOL
            && !network.is_fragment()
            && network.source == internet_address(datagram.station)
            && network.destination == internet_address(to)
            && checksum(&[octets.get(..header_octets)?]) == 0;
        if !is_ours {
            return None;
        }
        let length = u16::try_from(network.data.len()).ok()?;
        let pseudo = pseudo_header(network.source, network.destination, tcp::PROTOCOL, length);
        if checksum(&[&pseudo, network.data]) != 0 {
            return None;
        }
        let pdu = tcp::Pdu::decode(network.data).ok()?;
        let ports = Ports { source: pdu.source_port, destination: pdu.destination_port };
        let segment = Self {
            flags: pdu.flags,
            sequence: pdu.sequence,
            acknowledgement: pdu.acknowledgement,
            window: pdu.window,
            mss: mss_in(pdu.options),
            data: octets.slice_ref(pdu.data),
        };
        Some((ports, segment))
    }
}

/// Maximum segment size among options; an option list that breaks off has none.
fn mss_in(mut options: &[u8]) -> Option<u16> {
    loop {
        match options {
            [2, 4, high, low, ..] => return Some(u16::from_be_bytes([*high, *low])),
            [] | [0, ..] => return None,
            [1, rest @ ..] => options = rest,
            [_, length, ..] => options = options.get(usize::from(*length).max(2)..)?,
            [_] => return None,
        }
    }
}
