//! Fast path: common segments, read at fixed offsets. They come over IPv4, whole and in sequence,
//! with one DT of class 0 in a TPKT or without data.
//!
//! Most segments of a plant are of this form, and most belong to a stream seen a moment ago. Segments
//! in sequence with several TPKTs, with a part of one, or of a stream without TPKTs are found by the
//! same look-up, then take the code that follows a dissected segment. All other segments go through
//! [`wire::dissect`] and [`Streams::observe`]; both paths have identical results, segment by segment.
//!
//! Left out: IPv6, two tags and more, IP options; of segments that are cut, all but one DT.

use super::cache::{Name, Slot};
use super::sides::Way;
use crate::follow::Follower as _;
use crate::interval::Intervals;
use crate::observation::DelayKind;
use crate::stream::direction::Identity;
use crate::stream::framer::KEPT_OCTETS;
use crate::stream::{Flow, NextSegment, Passed, Streams, next_segment, party};
use crate::track::transfer::DtFields;
use crate::track::{Nsdu, Passage, Results as _, Sink, Tracker};
use core::net::Ipv4Addr;
use wire::addr::Socket;
use wire::dissect::Link;
use wire::tcp::{self, Flags};
use wire::time::Instant;
use wire::tpkt;

/// IPv4 without options.
const IPV4_OCTETS: usize = 20;
/// Headers, TCP without options.
const HEADER_OCTETS: usize = IPV4_OCTETS + tcp::HEADER_OCTETS;
/// EtherType of IPv4.
const IPV4: [u8; 2] = [0x08, 0x00];
/// EtherType of a VLAN tag.
const TAG: [u8; 2] = [0x81, 0x00];
/// IPv4, and the length of its header in words.
const WITHOUT_OPTIONS: u8 = 0x45;
/// More-fragments flag and fragment offset.
const FRAGMENT: u16 = 0x3FFF;
/// PSH, which has no effect here.
const PUSH: u8 = 0x08;

/// Flag in the second word of a name; no name of a frame over LLC has it.
const OF_STREAM: u64 = 1 << 62;

type Header = [u8; HEADER_OCTETS];

const fn half(header: &Header, at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

const fn word(header: &Header, at: usize) -> u32 {
    (half(header, at) as u32) << 16 | half(header, at + 2) as u32
}

/// Octets before the packet, if an IPv4 packet may follow: of Ethernet with at most one tag, Linux
/// cooked 1 and 2, raw IP, and BSD loopback. The numbers are those of the registry of link types.
#[inline(always)]
pub(super) fn before_packet(link: Link, octets: &[u8]) -> Option<usize> {
    if link.is_ethernet() {
        return match octets.get(12..18)? {
            [a, b, ..] if [*a, *b] == IPV4 => Some(14),
            [a, b, _, _, c, d] if [*a, *b] == TAG && [*c, *d] == IPV4 => Some(18),
            _ => None,
        };
    }
    before_packet_of(link, octets)
}

#[inline(never)]
fn before_packet_of(link: Link, octets: &[u8]) -> Option<usize> {
    let Link::Other(number) = link else { return None };
    let (is_ipv4, octets_before) = match number {
        0 | 108 => (matches!(octets.get(..4)?, [2, 0, 0, 0] | [0, 0, 0, 2]), 4),
        101 | 228 => (true, 0),
        113 => (octets.get(14..16)? == IPV4, 16),
        276 => (octets.get(..2)? == IPV4, 20),
        _ => (false, 0),
    };
    is_ipv4.then_some(octets_before)
}

/// Segment with a common form, whose stream can be looked up.
#[derive(Clone, Copy)]
pub(crate) struct CommonSegment<'a> {
    /// Headers of IPv4 and TCP, read where they are used.
    header: &'a Header,
    /// Octets before the packet.
    pub(crate) before_packet: usize,
    /// Octets of the link header and the packet, without pad.
    pub(crate) lpdu_octets: usize,
    /// Data, as far as available: none, or a TPKT with a DT.
    data: &'a [u8],
    /// Octets of data that are not available.
    missing_octets: usize,
    /// Octets of data, unavailable ones included.
    data_octets: usize,
    content: Content<'a>,
}

/// Data of a segment.
#[derive(Clone, Copy)]
enum Content<'a> {
    Nothing,
    /// One TPKT with a DT: its number and its user data, as far as available.
    Dt(u8, &'a [u8]),
    /// Several TPKTs, a part of one, another TPDU, or the data of another application.
    Other,
}

/// Way in which a segment was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counted {
    /// Not at all: it must be dissected.
    No,
    /// In its stream, with its TPDUs.
    Apart,
    /// In its stream only with the frame; its TPDU was counted.
    Common,
}

/// TPKT with the header of a DT as one word, without the number: version, zero, length, LI 2, DT,
/// and the first octet of user data.
const TPKT_WITH_DT: u64 = u64::from_be_bytes([tpkt::VERSION, 0, 0, 0, 2, 0xF0, 0, 0]);
/// Octets of that word that every TPKT with a DT has.
const OF_EVERY_DT: u64 = u64::from_be_bytes([0xFF, 0xFF, 0, 0, 0xFF, 0xFF, 0, 0]);
/// Octets of a TPKT with a DT up to the user data.
const BEFORE_USER_DATA: usize = tpkt::HEADER_OCTETS + 3;

/// Number and user data of the DT, if the data of a segment is one TPKT of `octets` octets with a
/// DT.
// Always inline: so the result need not be in memory.
#[inline(always)]
fn dt_in(data: &[u8], octets: usize) -> Option<(u8, &[u8])> {
    let word = match data.first_chunk() {
        Some(octets) => u64::from_be_bytes(*octets),
        None => {
            let [a, b, c, d, e, f, number] = *data.first_chunk()?;
            u64::from_be_bytes([a, b, c, d, e, f, number, 0])
        }
    };
    let is_whole = (word >> 32) as u16 as usize == octets;
    if word & OF_EVERY_DT != TPKT_WITH_DT || !is_whole {
        return None;
    }
    let (_, above) = data.split_at_checked(BEFORE_USER_DATA)?;
    // The first PDUs of RDP are recognised by dissection.
    let may_be_rdp = word as u16 == 0x807F && matches!(above, [_, 0x65 | 0x66, ..]);
    if may_be_rdp { None } else { Some(((word >> 8) as u8, above)) }
}

impl<'a> CommonSegment<'a> {
    /// Parses a common segment; none if the frame must be dissected.
    #[inline]
    pub(crate) fn of(link: Link, octets: &'a [u8], original_octets: usize) -> Option<Self> {
        let before_packet = before_packet(link, octets)?;
        let header: &Header = octets.get(before_packet..)?.first_chunk()?;
        let header_octets = IPV4_OCTETS + usize::from(header[32] >> 4) * 4;
        let is_common = header[0] == WITHOUT_OPTIONS
            && header[9] == tcp::PROTOCOL
            && half(header, 6) & FRAGMENT == 0
            && header[33] & !PUSH == Flags::ACK.0
            && header_octets >= HEADER_OCTETS;
        if !is_common {
            return None;
        }
        let data_at = before_packet + header_octets;
        let lpdu_octets = before_packet + usize::from(half(header, 2));
        let data_octets = lpdu_octets.checked_sub(data_at)?;
        let data = match octets.get(data_at..lpdu_octets) {
            Some(data) => data,
            None if lpdu_octets > original_octets => return None,
            // No more than dissection keeps of a packet.
            None => octets.get(data_at..).map(|data| data.get(..KEPT_OCTETS).unwrap_or(data))?,
        };
        let content = if data_octets == 0 {
            Content::Nothing
        } else if let Some((number, octets)) = dt_in(data, data_octets) {
            Content::Dt(number, octets)
        } else if data.len() == data_octets {
            Content::Other
        } else {
            return None;
        };
        Some(Self {
            header,
            before_packet,
            lpdu_octets,
            data,
            missing_octets: data_octets - data.len(),
            data_octets,
            content,
        })
    }

    /// True if octets of the stream were not captured.
    #[inline]
    pub(crate) const fn is_cut(&self) -> bool {
        self.missing_octets > 0
    }

    /// Octets of the stream in the segment.
    pub(crate) const fn stream_octets(&self) -> u64 {
        self.data_octets as u64
    }

    /// Cache name of its direction: both addresses, the sender's first, and both ports, likewise.
    #[inline]
    const fn name(&self) -> Name {
        let addresses = (word(self.header, 12) as u64) << 32 | word(self.header, 16) as u64;
        [addresses, OF_STREAM | word(self.header, 20) as u64]
    }

    #[inline]
    fn identity(&self) -> Identity {
        let Self { header, data_octets, .. } = *self;
        Identity {
            sequence: word(header, 24),
            acknowledgement: word(header, 28),
            octets: data_octets as u32,
            window_and_checksum: word(header, 34),
            identification_and_flags: u32::from(half(header, 4)) << 8 | u32::from(header[33]),
        }
    }
}

/// Sender and receiver of a direction with this name.
fn sockets([addresses, ports]: Name) -> [Socket; 2] {
    let socket = |address: u64, port: u64| Socket {
        address: Ipv4Addr::from_bits(address as u32).to_ipv6_mapped(),
        port: port as u16,
    };
    [socket(addresses >> 32, ports >> 16), socket(addresses, ports)]
}

/// Counts a delayed ACK.
// Not inline: most segments of a plant acknowledge with data.
#[inline(never)]
fn delayed_ack(span: u64, results: &mut Intervals) {
    results.span(DelayKind::DelayedAck, span);
}

impl Flow {
    /// Processes a segment, except the TPDU in it, if it is in sequence in a stream that carries
    /// TPKTs and holds nothing. Returns false, without effect, otherwise.
    #[inline(always)]
    fn in_turn(
        &mut self,
        at: Instant,
        way: usize,
        segment: &Identity,
        passed: &mut Passed,
        results: &mut Intervals,
    ) -> bool {
        let [first, second] = &mut self.directions;
        let (own, peer) = if way == 0 { (first, second) } else { (second, first) };
        if !peer.holds_nothing() || !own.take_in_turn(at, segment, passed) {
            return false;
        }
        let Identity { acknowledgement, octets, .. } = *segment;
        if let Some((between, span)) = peer.is_acknowledged(at, acknowledgement, octets) {
            if !peer.note(between, span) {
                self.note_aside(1 - way, between, span);
            }
            match between {
                DelayKind::DelayedAck => delayed_ack(span, results),
                _ => results.span(DelayKind::RoundTrip, span),
            }
        }
        true
    }
}

/// Counts the DT in the data of a segment of a direction of a stream, if its connection is not
/// cached or the DT is out of turn.
// Takes the data as a whole: so its parts need not be in memory for the others.
#[cold]
#[inline(never)]
fn dt_apart(
    tracker: &mut Tracker,
    passage: Passage,
    slot: Slot,
    data: &[u8],
    missing_octets: usize,
    sink: &mut Sink<'_>,
) {
    let Passage { at, from, to } = passage;
    if let Some((dt, octets)) = dt_in(data, data.len() + missing_octets)
        && let part = DtFields::of_class_0(dt, octets, missing_octets)
        && tracker.class_0_dt(at, slot, || [to, from], part, sink)
    {
        return;
    }
    let octets = data.get(tpkt::HEADER_OCTETS..).unwrap_or_default();
    // A cut is counted with the segment.
    tracker.observe(at, Nsdu { from, to, octets, missing_octets, is_cut: false }, sink);
}

impl Streams {
    /// Counts a common segment and passes its TPDUs to `tracker`.
    // Always inline, and cold functions take what they need by value: so a segment need not be in
    // memory.
    #[inline(always)]
    pub(crate) fn common_segment(
        &mut self,
        at: Instant,
        segment: &CommonSegment<'_>,
        tracker: &mut Tracker,
        results: &mut Intervals,
    ) -> Counted {
        self.give_up_silent(at, tracker);
        let name = segment.name();
        let Some((slot, of)) = tracker.recent.find_way(name) else {
            return self.again(at, *segment, tracker, results);
        };
        let Some((flow, heard)) = self.slab.valid(of.stream) else {
            return self.again(at, *segment, tracker, results);
        };
        let way = usize::from(of.way);
        let is_apart = flow.is_early() || matches!(segment.content, Content::Other);
        if is_apart {
            return self.segment_apart(at, *segment, of, tracker, &mut results.sink());
        }
        if !flow.in_turn(at, way, &segment.identity(), &mut self.passed, results) {
            return Counted::No;
        }
        let is_late = heard.note(at);
        if let Content::Dt(dt, octets) = segment.content {
            let CommonSegment { data, missing_octets, .. } = *segment;
            let data_octets = (segment.data_octets - BEFORE_USER_DATA) as u64;
            let part = DtFields { data_octets, ..DtFields::of_class_0(dt, octets, 0) };
            if !tracker.class_0_in_turn(at, slot, part, results) {
                let ends = flow.ends();
                let [from, to] = [ends[way], ends[1 - way]].map(party);
                let (passage, sink) = (Passage { at, from, to }, &mut results.sink());
                dt_apart(tracker, passage, slot, data, missing_octets, sink);
            }
        }
        if is_late {
            self.slab.move_up(of.stream.place(), at);
        }
        Counted::Common
    }

    /// Counts a segment with any data, or of a stream not known to carry TPKTs, if it is in sequence
    /// and the stream holds nothing.
    #[cold]
    #[inline(never)]
    fn segment_apart(
        &mut self,
        at: Instant,
        segment: CommonSegment<'_>,
        Way { stream, way }: Way,
        tracker: &mut Tracker,
        sink: &mut Sink<'_>,
    ) -> Counted {
        let (way, identity) = (usize::from(way), segment.identity());
        let Some((flow, heard)) = self.slab.valid(stream) else { return Counted::No };
        let [first, second] = &mut flow.directions;
        let (own, peer) = if way == 0 { (first, second) } else { (second, first) };
        let is_whole = segment.missing_octets == 0;
        if !is_whole || !peer.holds_nothing() || !own.accepts_next(at, &identity, &mut self.passed)
        {
            return Counted::No;
        }
        let is_late = heard.note(at);
        let [low, high] = flow.ends();
        let [from, to] = (if way == 0 { [low, high] } else { [high, low] }).map(party);
        let acknowledgement = identity.acknowledgement;
        let next = NextSegment { octets: segment.data, acknowledgement };
        next_segment(flow, stream, way, &next, Passage { at, from, to }, tracker, sink);
        if is_late {
            self.slab.move_up(stream.place(), at);
        }
        Counted::Apart
    }

    /// Looks up and caches the direction of a segment, then counts the segment, unless its stream is
    /// not known.
    #[cold]
    #[inline(never)]
    fn again(
        &mut self,
        at: Instant,
        segment: CommonSegment<'_>,
        tracker: &mut Tracker,
        results: &mut Intervals,
    ) -> Counted {
        let name = segment.name();
        let [source, destination] = sockets(name);
        let way = u8::from(source > destination);
        let ends = if way == 0 { [source, destination] } else { [destination, source] };
        let Some(place) = self.known(ends) else { return Counted::No };
        tracker.cache_way(name, Way { stream: self.slab.handle(place), way }, results);
        self.common_segment(at, &segment, tracker, results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::fast::Handled;
    use crate::trial::{all_results, over_ipv4};
    use crate::{Meter, Settings};
    use core::time::Duration;

    /// End of a stream: its host, and the number of its next octet.
    #[derive(Clone, Copy)]
    struct End {
        host: u8,
        port: u16,
        next: u32,
    }

    fn frame(ends: [End; 2], identification: u16, flags: u8, data: &[u8]) -> Vec<u8> {
        let [from, to] = ends;
        let segment = tcp::Pdu {
            source_port: from.port,
            destination_port: to.port,
            sequence: from.next,
            acknowledgement: to.next,
            reserved: 0,
            flags: Flags(flags),
            window: 8_192,
            checksum: 0,
            urgent: 0,
            options: [&[][..], &[1, 1, 1, 1]][usize::from(from.host % 2)],
            data,
        };
        over_ipv4(&segment, [from.host, to.host], identification, &[0; 6])
    }

    /// Packets, most of them one DT of class 0 that ends its TSDU.
    fn packets(draw: &mut Draw) -> Vec<u8> {
        let number = [0x80, 0x80, 0x80, 0, 0x85][draw.below(5) as usize];
        let tpdu = match draw.below(80) {
            0 => vec![6, 0xE0, 0, 0, 0, 1, 0],
            1 => vec![6, 0xD0, 0, 1, 0, 2, 0],
            2 => vec![6, 0x80, 0, 1, 0, 2, 0],
            3 => vec![2, 0xF0, 0x80, 0x7F, 0x65, 1, 2],
            4 => vec![2, 0xF0, number],
            _ => {
                [&[2, 0xF0, number, 0x32, 1, 0, 0][..], &vec![7; draw.below(90) as usize]].concat()
            }
        };
        let mut packet = vec![3, 0, 0, 4 + tpdu.len() as u8];
        packet.extend(tpdu);
        if draw.below(20) == 0 {
            packet.extend(packets(draw));
        }
        packet
    }

    /// Frames of three streams, in order and as a bad network would deliver them.
    fn script(draw: &mut Draw, frames: usize) -> Vec<Vec<u8>> {
        let end = |host, port| End { host, port, next: 5_000 * u32::from(host) };
        let mut streams = [1, 2, 3, 4].map(|host| [end(host, 1_024), end(10, 102)]);
        let mut script: Vec<Vec<u8>> = Vec::new();
        while script.len() < frames {
            let ends = &mut streams[draw.below(4) as usize];
            ends.rotate_left(draw.below(2) as usize);
            let identification = script.len() as u16;
            let is_foreign = ends.iter().any(|end| end.host == 4) && draw.below(50) > 0;
            let mut data =
                if is_foreign { vec![0x30; 1 + draw.below(20) as usize] } else { packets(draw) };
            if draw.below(8) == 0 {
                // The other part of the packets comes next, or is never seen.
                let rest = data.split_off(draw.below(data.len() as u64) as usize);
                let octets = frame(*ends, identification, 0x10, &data);
                ends[0].next = ends[0].next.wrapping_add(data.len() as u32);
                script.push(octets);
                data = rest;
            }
            let (flags, data, advance) = match draw.below(100) {
                0 => (0x02, &[][..], 1),
                1 => (0x12, &[][..], 1),
                2 => (0x11, &[][..], 1),
                3 => (0x14, &[][..], 0),
                4..7 => (0x18, &data[..], 0),
                7..15 => (0x10, &[][..], 0),
                15..18 => (0x18, &data[..draw.below(data.len() as u64) as usize], data.len()),
                18 => (0x38, &data[..], data.len()),
                _ => (0x18, &data[..], data.len()),
            };
            if draw.below(60) == 0 {
                ends[0].next = ends[0].next.wrapping_sub(draw.below(90));
            }
            let mut octets = frame(*ends, identification, flags, data);
            ends[0].next = ends[0].next.wrapping_add(advance as u32);
            if draw.below(60) == 0 {
                let place = draw.below(octets.len() as u64) as usize;
                octets[place] ^= 1 << draw.below(8);
            }
            // Lost before the tap, or captured twice.
            for _ in 0..[1, 1, 1, 1, 1, 1, 1, 1, 0, 2][draw.below(10) as usize] {
                script.push(octets.clone());
            }
            if draw.below(6) == 0
                && let Some(last) = script.len().checked_sub(2)
            {
                script.swap(last, last + 1);
            }
        }
        script
    }

    #[test]
    fn common_segments_count_as_they_do_dissected() {
        let settings = Settings {
            maximum_connections: 2,
            maximum_hosts: 3,
            silence: Duration::from_secs(2),
            ..Settings::every(Duration::from_secs(1))
        };
        let (mut taken, mut seen) = (0, 0);
        for seed in 1..=40 {
            let mut draw = Draw(0x2026_1121 + seed);
            let maximum_connections = if seed % 2 == 0 { 2 } else { 8 };
            let settings = Settings { maximum_connections, ..settings.clone() };
            let [mut ours, mut dissecting] = [0, 1].map(|_| Meter::new(settings.clone()));
            let mut nanos = 0;
            for octets in script(&mut draw, 1_500) {
                let cut = if draw.below(8) == 0 { draw.below(100) as usize } else { 0 };
                let captured = &octets[..octets.len().saturating_sub(cut)];
                nanos += if draw.below(250) == 0 { 900_000_000 } else { 500_000 };
                let at = Instant::from_nanos(nanos);
                let at = ours.tick(at).expect("time runs forwards");
                let segment = CommonSegment::of(Link::Ethernet, captured, octets.len());
                seen += usize::from(segment.is_some());
                if matches!(
                    ours.segment_in_turn(at, Link::Ethernet, captured, octets.len()),
                    Handled::Yes
                ) {
                    taken += 1;
                } else {
                    ours.dissect(at, Link::Ethernet, captured, octets.len());
                }
                let at = dissecting.tick(at).expect("time runs forwards");
                dissecting.dissect(at, Link::Ethernet, captured, octets.len());
            }
            assert!(
                ours.tracker.kept() <= ours.connections(),
                "counters are removed with their connection"
            );
            let (ours, dissecting) = (all_results(ours), all_results(dissecting));
            let unlike = ours.lines().zip(dissecting.lines()).find(|(ours, other)| ours != other);
            assert_eq!(unlike, None, "seed {seed}");
            assert_eq!(ours.len(), dissecting.len(), "seed {seed}");
        }
        println!("seen: {taken} segments in sequence of {seen} that look common, of 60000");
        assert!(taken > 5_000 && taken + 5_000 < seen, "{taken} of {seen}");
    }
}
