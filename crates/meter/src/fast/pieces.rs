//! Second path: TCP segments of any kind, read at fixed offsets.
//!
//! Segments that are not common are still TCP over IP without options or extension headers:
//! retransmitted or out of order, over IPv6, with SYN, FIN or RST, or the first of a stream. Their headers are read here instead of by [`wire::dissect::levels`];
//! then the same code follows the stream, so the results are identical.
//!
//! Left out: two tags and more, IP options and extension headers, fragments, lengths of zero.

use super::segments::before_packet;
use crate::Meter;
use crate::follow::Follower as _;
use crate::observation::Observation;
use crate::stream::Above;
use core::net::{Ipv4Addr, Ipv6Addr};
use wire::dissect::{Around, Link, Piece};
use wire::time::Instant;
use wire::{ipv6, tcp};

/// IPv4 without options.
const IPV4_OCTETS: usize = 20;
/// IPv4, and the length of its header in words.
const WITHOUT_OPTIONS: u8 = 0x45;
/// EtherType of IPv6.
const IPV6: [u8; 2] = [0x86, 0xDD];
/// More-fragments flag and fragment offset, in the octets of an IPv4 header.
const FRAGMENT: [u8; 2] = [0x3F, 0xFF];

/// Header of IP, as far as a segment needs it.
struct Packet {
    header_octets: usize,
    /// Octets of header and contents.
    octets: usize,
    identification: u16,
    addresses: [Ipv6Addr; 2],
}

impl Packet {
    /// Reads IPv4 without options around a segment of TCP.
    fn of_ipv4(octets: &[u8]) -> Option<Self> {
        let header: &[u8; IPV4_OCTETS] = octets.first_chunk()?;
        let [version, _, high, low, a, b, flags, offset, _, protocol, _, _, rest @ ..] = *header;
        let is_whole = flags & FRAGMENT[0] == 0 && offset & FRAGMENT[1] == 0;
        if version != WITHOUT_OPTIONS || protocol != tcp::PROTOCOL || !is_whole {
            return None;
        }
        let [c, d, e, f, g, h, i, j] = rest;
        let addresses = [[c, d, e, f], [g, h, i, j]];
        Some(Self {
            header_octets: IPV4_OCTETS,
            octets: u16::from_be_bytes([high, low]).into(),
            identification: u16::from_be_bytes([a, b]),
            addresses: addresses.map(|octets| Ipv4Addr::from(octets).to_ipv6_mapped()),
        })
    }

    /// Reads IPv6 without extension headers around a segment of TCP.
    fn of_ipv6(octets: &[u8]) -> Option<Self> {
        let header: &[u8; ipv6::HEADER_OCTETS] = octets.first_chunk()?;
        let [first, _, _, _, high, low, next, _, addresses @ ..] = header;
        let contents = u16::from_be_bytes([*high, *low]);
        if first >> 4 != 6 || *next != tcp::PROTOCOL || contents == 0 {
            return None;
        }
        let (source, destination) = addresses.split_first_chunk::<16>()?;
        Some(Self {
            header_octets: ipv6::HEADER_OCTETS,
            octets: ipv6::HEADER_OCTETS + usize::from(contents),
            identification: 0,
            addresses: [Ipv6Addr::from(*source), Ipv6Addr::from(*destination.first_chunk()?)],
        })
    }
}

/// Octets before the packet, if an IPv6 packet follows: of Ethernet with at most one tag, and Linux
/// cooked 1 and 2.
fn before_ipv6(link: Link, octets: &[u8]) -> Option<usize> {
    let at = |place: usize| octets.get(place..place + 2) == Some(&IPV6);
    match link {
        Link::Ethernet if at(12) => Some(14),
        Link::Ethernet if at(16) && octets.get(12..14) == Some(&[0x81, 0x00]) => Some(18),
        Link::Other(113) if at(14) => Some(16),
        Link::Other(276) if at(0) => Some(20),
        _ => None,
    }
}

/// Segment with the lengths of its frame.
pub(super) struct PlainSegment<'a> {
    /// Octets of the link header and the packet, without pad.
    pub(super) lpdu_octets: usize,
    /// Octets of the packet.
    pub(super) npdu_octets: usize,
    pub(super) piece: Piece<'a>,
}

impl<'a> PlainSegment<'a> {
    /// Reads a segment; none if the frame must be dissected.
    pub(super) fn of(link: Link, octets: &'a [u8], original_octets: usize) -> Option<Self> {
        let (before, packet) = match before_packet(link, octets) {
            Some(before) => (before, Packet::of_ipv4(octets.get(before..)?)?),
            None => {
                let before = before_ipv6(link, octets)?;
                (before, Packet::of_ipv6(octets.get(before..)?)?)
            }
        };
        let Packet { header_octets, octets: npdu_octets, identification, addresses } = packet;
        let lpdu_octets = before + npdu_octets;
        if npdu_octets < header_octets || lpdu_octets > original_octets {
            return None;
        }
        let segment = octets.get(before + header_octets..lpdu_octets.min(octets.len()))?;
        let tcp = tcp::Pdu::decode(segment).ok()?;
        let segment_octets = npdu_octets - header_octets;
        let piece = Piece::of(&tcp, Around { addresses, identification, segment_octets });
        Some(Self { lpdu_octets, npdu_octets, piece })
    }
}

impl Meter {
    /// Counts a TCP segment that is not common, or a frame of cyclic data; any other frame is
    /// dissected.
    #[inline(never)]
    pub(super) fn plain_segment(
        &mut self,
        at: Instant,
        link: Link,
        octets: &[u8],
        original_octets: usize,
    ) {
        let Some(segment) = PlainSegment::of(link, octets, original_octets) else {
            if link.is_ethernet() && self.cyclic_data(at, octets, original_octets) {
                return;
            }
            return self.other_datagram(at, link, octets, original_octets);
        };
        self.paths.plain += 1;
        let PlainSegment { lpdu_octets, npdu_octets, piece } = segment;
        let lpdu = Observation::Lpdu { at, octets: lpdu_octets as u64, llc: None };
        self.intervals.observe(&lpdu);
        self.intervals.observe(&Observation::Npdu { octets: npdu_octets as u64 });
        let above = &mut Above { tracker: &mut self.tracker, sink: &mut self.intervals.sink() };
        self.streams.observe(at, piece, above);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use wire::dissect::{Levels, NoNsdu, levels};
    use wire::tcp::Flags;

    /// Frame of a link type with a segment over IPv4 or IPv6.
    fn frame(draw: &mut Draw) -> (Link, Vec<u8>) {
        let mut segment = Vec::new();
        let data = vec![7; usize::from(draw.octet_below(90))];
        let flags = Flags(draw.octet_below(64));
        tcp::Pdu::between([1_024, 102], flags, [draw.below(u64::from(u32::MAX)), 9], &data)
            .encode(&mut segment);
        let is_ipv6 = draw.below(2) == 0;
        let length = segment.len() as u16;
        let mut packet = if is_ipv6 {
            let [high, low] = length.to_be_bytes();
            [&[0x60, 0, 0, 0, high, low, 6, 64][..], &[0x20; 16], &[0x30; 16]].concat()
        } else {
            let [high, low] = (length + 20).to_be_bytes();
            let after = [0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            [&[0x45, 0, high, low, 0, draw.octet_below(9)][..], &after].concat()
        };
        packet.extend(segment);
        let kind = if is_ipv6 { [0x86, 0xDD] } else { [8, 0] };
        let (link, front) = match draw.below(4) {
            0 => (Link::Ethernet, [&[2; 12][..], &kind].concat()),
            1 => (Link::Ethernet, [&[2; 12][..], &[0x81, 0, 0, 5], &kind].concat()),
            2 => (
                Link::Other(113),
                [&[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0][..], &kind].concat(),
            ),
            _ => (Link::Other(276), [&kind[..], &[0; 18]].concat()),
        };
        let pad = usize::from(draw.octet_below(3));
        (link, [front, packet, vec![0; pad]].concat())
    }

    #[test]
    fn segments_are_read_as_they_are_dissected() {
        let (mut draw, mut read) = (Draw(2_026), [0, 0]);
        for _ in 0..200_000 {
            let (link, mut octets) = frame(&mut draw);
            let original_octets = octets.len();
            for _ in 0..draw.below(3) {
                let place = draw.below(octets.len() as u64) as usize;
                octets[place] ^= 1 << draw.octet_below(8);
            }
            let cut = if draw.below(4) == 0 { draw.below(120) as usize } else { 0 };
            octets.truncate(octets.len().saturating_sub(cut));
            let Some(plain) = PlainSegment::of(link, &octets, original_octets) else { continue };
            read[usize::from(plain.piece.source.address.to_ipv4_mapped().is_none())] += 1;
            let Levels { lpdu_octets, npdu_octets, llc, nsdu } =
                levels(link, &octets, original_octets);
            assert_eq!(
                (lpdu_octets, npdu_octets, llc),
                (Some(plain.lpdu_octets), Some(plain.npdu_octets), None),
                "{link:?} {octets:02x?}"
            );
            assert_eq!(nsdu, Err(NoNsdu::Stream(plain.piece)), "{link:?} {octets:02x?}");
        }
        println!("seen: {read:?} segments over IPv4 and IPv6 read of 200000 frames");
        assert!(read.iter().all(|read| *read > 30_000), "{read:?}");
    }
}
