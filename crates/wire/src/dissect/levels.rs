//! The meter's decoder: fixed offsets, no allocation, only what the meter counts.

use super::{
    Alone, Around, CUT, Datagram, Levels, Link, NoNsdu, Nsdu, Piece, Segment, is_bare_ipx,
    is_datagram, is_missing, is_unit_data,
};
use crate::addr::{Mac, Nsap, Socket};
use crate::encapsulation::{self, Protocol};
use crate::leaf::Leaf;
use crate::next::{OverInternet, OverOsi, OverSap, OverType};
use crate::read::Malformed;
use crate::{clnp, ipv4, ipv6, llc, mac, mpls, prp, snap, tcp};
use core::net::Ipv6Addr;

/// Counts a frame that was `original_octets` long and of which `octets` were captured.
#[must_use]
pub fn levels(link: Link, octets: &[u8], original_octets: usize) -> Levels<'_> {
    let original_octets = original_octets.max(octets.len());
    let mut frame = Frame { original_octets, lpdu_octets: None, npdu_octets: None, llc: None };
    let nsdu = match link {
        Link::Ethernet => frame.ethernet(octets),
        Link::Other(number) => frame.encapsulated(number, octets),
    };
    let nsdu = nsdu.map_err(|why| match why {
        NoNsdu::Malformed(malformed)
            if octets.len() < original_octets && is_missing(malformed, octets.len()) =>
        {
            NoNsdu::Foreign(CUT)
        }
        NoNsdu::Malformed(_)
        | NoNsdu::Foreign(_)
        | NoNsdu::Leaf(_)
        | NoNsdu::Stream(_)
        | NoNsdu::Datagram(_) => why,
    });
    let Frame { lpdu_octets, npdu_octets, llc, .. } = frame;
    Levels { lpdu_octets, npdu_octets, llc, nsdu }
}

/// Results collected while a frame is decoded.
struct Frame {
    original_octets: usize,
    lpdu_octets: Option<usize>,
    npdu_octets: Option<usize>,
    llc: Option<llc::Control>,
}

impl Frame {
    fn ethernet<'a>(&mut self, octets: &'a [u8]) -> Result<Nsdu<'a>, NoNsdu<'a>> {
        let frame =
            mac::Pdu::decode_cut(octets, self.original_octets).map_err(NoNsdu::Malformed)?;
        let header = frame.header_octets();
        if let Some(length) = frame.lpdu_octets(self.original_octets) {
            if is_bare_ipx(frame.data) {
                return Err(NoNsdu::Foreign("IPX without LLC"));
            }
            let stations = [frame.source, frame.destination];
            return self.llc(stations, header, frame.data, length);
        }
        let mac::Kind::Type(number) = frame.kind else {
            return Err(NoNsdu::Foreign("EtherType"));
        };
        self.typed(number, header, frame.data, self.original_octets - header)
            .unwrap_or_else(|| self.ring(number, header, &frame))
    }

    /// Decodes the contents of a frame of HSR behind its tag.
    #[cold]
    fn ring<'a>(
        &mut self,
        number: u16,
        header: usize,
        frame: &mac::Pdu<'a>,
    ) -> Result<Nsdu<'a>, NoNsdu<'a>> {
        if number != prp::TAG {
            return Err(NoNsdu::Foreign("EtherType"));
        }
        let rest_octets = self.original_octets.saturating_sub(header);
        let prp::Behind { kind, data, .. } = prp::Mark::tag(frame.data, rest_octets)
            .map_err(|malformed| NoNsdu::Malformed(malformed.within(header)))?;
        let offset = header + prp::MARK_OCTETS;
        match kind {
            mac::Kind::Type(number) => self
                .typed(number, offset, data, self.original_octets.saturating_sub(offset))
                .unwrap_or(Err(NoNsdu::Foreign("EtherType"))),
            mac::Kind::Length(length) => {
                self.llc([frame.source, frame.destination], offset, data, length.into())
            }
        }
    }

    fn encapsulated<'a>(&mut self, link: u32, octets: &'a [u8]) -> Result<Nsdu<'a>, NoNsdu<'a>> {
        let Some(frame) = encapsulation::Pdu::decode(link, octets) else {
            return Err(NoNsdu::Foreign("link type"));
        };
        let frame = frame.map_err(NoNsdu::Malformed)?;
        let header = frame.header_octets;
        let length = self.original_octets - header;
        let stations = [frame.source, frame.destination];
        match frame.protocol {
            Protocol::Llc => self.llc(stations, header, frame.data, length),
            Protocol::Osi => {
                self.lpdu_octets = Some(self.original_octets);
                self.npdu_octets = Some(length);
                network(stations, frame.data, length).map_err(|why| within(why, header))
            }
            Protocol::Internet => self.internet(header, frame.data, length),
            // Exported above the network layer: neither a link PDU nor a network PDU.
            Protocol::Transport => transport(&frame, length),
            Protocol::Type(number) => self
                .typed(number, header, frame.data, self.original_octets - header)
                .unwrap_or(Err(NoNsdu::Foreign("EtherType"))),
            Protocol::Other => Err(NoNsdu::Foreign("link protocol")),
        }
    }

    /// Decodes an LLC PDU that was `length` octets long, after `header` octets of link header.
    fn llc<'a>(
        &mut self,
        stations: [Mac; 2],
        header: usize,
        octets: &'a [u8],
        length: usize,
    ) -> Result<Nsdu<'a>, NoNsdu<'a>> {
        self.lpdu_octets = Some(header + length);
        let llc = llc::Pdu::decode(octets)
            .map_err(|malformed| NoNsdu::Malformed(malformed.within(header)))?;
        self.llc = Some(llc.control);
        let offset = header + llc.header_octets();
        match (OverSap::of(llc.destination), is_datagram(&llc)) {
            (Some(OverSap::Osi), true) => {
                let npdu_octets = length.saturating_sub(llc.header_octets());
                self.npdu_octets = Some(npdu_octets);
                network(stations, llc.information, npdu_octets).map_err(|why| within(why, offset))
            }
            (Some(OverSap::Snap), true) => {
                let snap = snap::Pdu::decode(llc.information)
                    .map_err(|malformed| NoNsdu::Malformed(malformed.within(offset)))?;
                let foreign = Err(NoNsdu::Foreign("SNAP protocol"));
                if snap.organization != [0; 3] {
                    return foreign;
                }
                let lpdu_octets = self.lpdu_octets;
                let offset = offset + snap::HEADER_OCTETS;
                let found = self
                    .typed(
                        snap.protocol,
                        offset,
                        snap.data,
                        (header + length).saturating_sub(offset),
                    )
                    .unwrap_or(foreign);
                self.lpdu_octets = lpdu_octets;
                found
            }
            (Some(OverSap::Osi), false) => Err(NoNsdu::Foreign("LLC control")),
            (Some(OverSap::Snap), false) | (None, _) => Err(NoNsdu::Foreign("SAP")),
        }
    }

    /// Decodes the contents of an EtherType, `original_octets` long, after `header` octets of
    /// headers; `None` if the EtherType is not supported.
    fn typed<'a>(
        &mut self,
        number: u16,
        header: usize,
        octets: &'a [u8],
        original_octets: usize,
    ) -> Option<Result<Nsdu<'a>, NoNsdu<'a>>> {
        match OverType::of(number)? {
            OverType::Internet => return Some(self.internet(header, octets, original_octets)),
            OverType::Mpls => {}
            OverType::Leaf(found) => {
                let missing_octets = original_octets.saturating_sub(octets.len());
                return Some(Err(within(leaf(found, octets, missing_octets), header)));
            }
        }
        let stack = match mpls::Pdu::decode(octets) {
            Ok(stack) => stack,
            Err(malformed) => return Some(Err(NoNsdu::Malformed(malformed.within(header)))),
        };
        let behind = header + stack.header_octets();
        Some(match (OverType::of_labelled(stack.data), stack.data) {
            (Some(_), _) => {
                let rest_octets = original_octets.saturating_sub(stack.header_octets());
                self.internet(behind, stack.data, rest_octets)
            }
            (None, []) => {
                let field = "IP version";
                Err(NoNsdu::Malformed(Malformed { field, offset: behind }))
            }
            (None, _) => Err(NoNsdu::Foreign("MPLS")),
        })
    }

    /// Decodes an IP packet with possible padding, `original_octets` in all, after `header` octets
    /// of headers.
    fn internet<'a>(
        &mut self,
        header: usize,
        octets: &'a [u8],
        original_octets: usize,
    ) -> Result<Nsdu<'a>, NoNsdu<'a>> {
        let packet = Packet::decode(octets, original_octets)
            .map_err(|malformed| NoNsdu::Malformed(malformed.within(header)))?;
        self.lpdu_octets = Some(header + packet.octets);
        self.npdu_octets = Some(packet.octets);
        if packet.is_fragment {
            return Err(NoNsdu::Foreign("fragment of an IP packet"));
        }
        if OverInternet::of(packet.protocol) != Some(OverInternet::Tcp) {
            return Err(NoNsdu::Foreign(match packet.protocol {
                UDP => return Err(packet.datagram()),
                1 | 58 => "ICMP",
                _ => "IP protocol",
            }));
        }
        let offset = header + packet.offset;
        let tcp = tcp::Pdu::decode(packet.data)
            .map_err(|malformed| NoNsdu::Malformed(malformed.within(offset)))?;
        let Packet { addresses, identification, .. } = packet;
        let segment_octets = packet.octets.saturating_sub(packet.offset);
        Err(NoNsdu::Stream(Piece::of(&tcp, Around { addresses, identification, segment_octets })))
    }
}

/// Protocol number of UDP in IP.
const UDP: u8 = 17;
/// Octets of the header of UDP.
const UDP_OCTETS: usize = 8;

/// IP packet of either version.
struct Packet<'a> {
    /// Source and destination.
    addresses: [Ipv6Addr; 2],
    identification: u16,
    protocol: u8,
    is_fragment: bool,
    /// Octets of the packet, header included.
    octets: usize,
    /// Octets of all headers before the data.
    offset: usize,
    data: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Datagram of UDP in it. One with an impossible length is of no use to any application.
    fn datagram(&self) -> NoNsdu<'a> {
        let whole_octets = self.octets.saturating_sub(self.offset);
        let Some((header, octets)) = self.data.split_first_chunk::<UDP_OCTETS>() else {
            return NoNsdu::Foreign(if whole_octets < UDP_OCTETS { "UDP" } else { CUT });
        };
        let [a, b, c, d, e, f, ..] = *header;
        let [from, to, length] = [[a, b], [c, d], [e, f]].map(u16::from_be_bytes);
        let length = usize::from(length);
        if !(UDP_OCTETS..=whole_octets).contains(&length) {
            return NoNsdu::Foreign("UDP");
        }
        let data_octets = length - UDP_OCTETS;
        let octets = octets.get(..data_octets).unwrap_or(octets);
        let [source, destination] = self.addresses;
        NoNsdu::Datagram(Datagram {
            source: Socket { address: source, port: from },
            destination: Socket { address: destination, port: to },
            octets,
            missing_octets: data_octets - octets.len(),
        })
    }

    fn decode(octets: &'a [u8], original_octets: usize) -> Result<Self, Malformed> {
        if octets.first().is_some_and(|first| first >> 4 == 6) {
            let pdu = ipv6::Pdu::decode_cut(octets, original_octets)?;
            let carried = pdu.carried()?;
            return Ok(Self {
                addresses: [pdu.source, pdu.destination],
                identification: 0,
                protocol: carried.protocol,
                is_fragment: carried.is_fragment,
                octets: pdu.whole_octets(original_octets),
                offset: ipv6::HEADER_OCTETS + carried.offset,
                data: carried.octets,
            });
        }
        let pdu = ipv4::Pdu::decode_cut(octets, original_octets)?;
        Ok(Self {
            addresses: [pdu.source.to_ipv6_mapped(), pdu.destination.to_ipv6_mapped()],
            identification: pdu.identification,
            protocol: pdu.protocol,
            is_fragment: pdu.is_fragment(),
            octets: pdu.whole_octets(original_octets),
            offset: pdu.header_octets(),
            data: pdu.data,
        })
    }
}

/// Returns TPDUs that were exported without lower-layer headers, `original_octets` in all.
fn transport<'a>(
    frame: &encapsulation::Pdu<'a>,
    original_octets: usize,
) -> Result<Nsdu<'a>, NoNsdu<'a>> {
    if is_unit_data(frame.data) {
        return Err(NoNsdu::Foreign("connectionless transport"));
    }
    let [source_nsap, destination_nsap] = frame.nsaps;
    Ok(Nsdu {
        source: frame.source,
        destination: frame.destination,
        source_nsap,
        destination_nsap,
        octets: frame.data,
        missing_octets: original_octets.saturating_sub(frame.data.len()),
        segment: None,
    })
}

/// Position of a segment in its NSDU; `None` for a PDU that is not segmented.
fn segment(pdu: &clnp::Pdu<'_>) -> Result<Option<Segment>, NoNsdu<'static>> {
    if !pdu.is_segment() {
        return Ok(None);
    }
    let malformed = |field, offset| NoNsdu::Malformed(Malformed { field, offset });
    // RFC 994 7.2.6: if segmentation is not permitted, no segments follow.
    let part = pdu.segmentation.ok_or(malformed("flags and type", clnp::FLAGS_AT))?;
    let nsdu_octets = usize::from(part.total_octets)
        .checked_sub(pdu.header_octets)
        .ok_or(malformed("total length", pdu.header_octets - pdu.options.len() - 2))?;
    Ok(Some(Segment {
        identifier: part.identifier,
        offset: usize::from(part.offset),
        nsdu_octets,
        more: pdu.more_segments,
        lifetime: clnp::LIFETIME_UNIT * u32::from(pdu.lifetime),
    }))
}

/// Identifies a PDU that ends the frame, after a check of its header. If the capture cut the PDU,
/// the check cannot show that it was malformed.
fn leaf<'a>(leaf: &'static Leaf, octets: &'a [u8], missing_octets: usize) -> NoNsdu<'a> {
    match (leaf.kind)(octets) {
        Ok(kind) => NoNsdu::Leaf(Alone { leaf, kind, octets, missing_octets }),
        Err(_) if missing_octets > 0 => NoNsdu::Foreign(CUT),
        Err(malformed) => NoNsdu::Malformed(malformed),
    }
}

fn within(why: NoNsdu<'_>, octets: usize) -> NoNsdu<'_> {
    match why {
        NoNsdu::Malformed(malformed) => NoNsdu::Malformed(malformed.within(octets)),
        NoNsdu::Foreign(_) | NoNsdu::Leaf(_) | NoNsdu::Stream(_) | NoNsdu::Datagram(_) => why,
    }
}

/// Decodes an NPDU of the ISO network layer that was `original_octets` long.
fn network(
    [source, destination]: [Mac; 2],
    npdu: &[u8],
    original_octets: usize,
) -> Result<Nsdu<'_>, NoNsdu<'_>> {
    let missing = |length: usize, octets: &[u8]| length.saturating_sub(octets.len());
    let Some((identifier, behind)) = npdu.split_first() else {
        let field = "network layer protocol identifier";
        return Err(NoNsdu::Malformed(Malformed { field, offset: 0 }));
    };
    let nsdu = match OverOsi::of(*identifier) {
        Some(OverOsi::Inactive) => Nsdu {
            source,
            destination,
            source_nsap: Nsap::default(),
            destination_nsap: Nsap::default(),
            octets: behind,
            missing_octets: missing(original_octets.saturating_sub(1), behind),
            segment: None,
        },
        Some(OverOsi::Clnp) => {
            let pdu = clnp::Pdu::decode_cut(npdu, original_octets).map_err(NoNsdu::Malformed)?;
            if pdu.kind != clnp::Kind::Data {
                return Err(NoNsdu::Foreign("CLNP type"));
            }
            // RFC 994 6.11, 7.2.4: receivers discard it, so its TPDUs reach no peer.
            if pdu.version != clnp::VERSION {
                return Err(NoNsdu::Foreign("CLNP version"));
            }
            if pdu.verify(npdu) == clnp::Checksum::Bad {
                let field = "network header checksum";
                return Err(NoNsdu::Malformed(Malformed { field, offset: clnp::CHECKSUM_AT }));
            }
            let whole = usize::from(pdu.segment_octets) - pdu.header_octets;
            Nsdu {
                source,
                destination,
                source_nsap: pdu.source,
                destination_nsap: pdu.destination,
                octets: pdu.data,
                missing_octets: missing(whole, pdu.data),
                segment: segment(&pdu)?,
            }
        }
        Some(OverOsi::Leaf(found)) => {
            return Err(leaf(found, npdu, missing(original_octets, npdu)));
        }
        None => return Err(NoNsdu::Foreign("network protocol")),
    };
    if nsdu.segment.is_none() && is_unit_data(nsdu.octets) {
        return Err(NoNsdu::Foreign("connectionless transport"));
    }
    Ok(nsdu)
}
