//! Segments with nothing unusual, read at fixed offsets: over IPv4 on Ethernet, whole, in their turn, and with
//! one DT of class 0 in a TPKT or without data.
//!
//! Most segments of a plant are like that, and most are of a stream that was heard a moment ago. All others go
//! through [`wire::dissect`] and [`Streams::observe`]; both ways count the same, segment by segment.
//!
//! Left out: IPv6, tags, options of IP, a segment of several TPKTs.

use super::direction::Print;
use super::framer::KEPT_OCTETS;
use super::{Flow, Streams, party};
use crate::memo::{Memo, Name, Slot};
use crate::sight::Between;
use crate::slab::Place;
use crate::track::{Passage, Sink, Tracker};
use core::net::Ipv4Addr;
use wire::addr::Socket;
use wire::dissect::Link;
use wire::tcp::{self, Flags};
use wire::time::Instant;
use wire::tpkt;

/// The MAC header; then IPv4 without options begins.
const MAC_OCTETS: usize = 14;
const TCP_AT: usize = MAC_OCTETS + 20;
/// All headers, those of TCP without options.
const HEADER_OCTETS: usize = TCP_AT + tcp::HEADER_OCTETS;
/// The EtherType of IPv4, then its version and header length.
const ABOVE_MAC: [u8; 3] = [0x08, 0x00, 0x45];
/// More fragments, and where this one begins.
const FRAGMENT: u16 = 0x3FFF;
/// PSH, which means nothing here.
const PUSH: u8 = 0x08;

type Header = [u8; HEADER_OCTETS];

const fn half(header: &Header, at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

const fn word(header: &Header, at: usize) -> u32 {
    (half(header, at) as u32) << 16 | half(header, at + 2) as u32
}

/// A segment of which so much is plain that its stream may be looked at.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a> {
    /// What names its direction of its stream: both addresses, the sender's first, and both ports, likewise.
    name: Name,
    pub(super) print: Print,
    /// The MAC header and the packet, without pad.
    pub(crate) lpdu_octets: usize,
    /// What it carries, as far as it is at hand: nothing, or a TPKT with a DT.
    data: &'a [u8],
    /// Octets behind it that are not at hand.
    missing_octets: usize,
    /// The number and the user data of the DT, as far as it is at hand.
    dt: Option<(u8, &'a [u8])>,
}

/// The number and the user data of the DT in the data of a segment, where that is one TPKT of so many octets with
/// it.
// Always: what it finds need not be written down.
#[inline(always)]
const fn dt_in(data: &[u8], octets: usize) -> Option<(u8, &[u8])> {
    let [tpkt::VERSION, 0, high, low, 2, 0xF0, number, above @ ..] = data else { return None };
    let is_whole = u16::from_be_bytes([*high, *low]) as usize == octets;
    // What RDP begins with is told apart elsewhere.
    let may_be_rdp = *number == 0x80 && matches!(above, [0x7F, 0x65 | 0x66, ..]);
    if is_whole && !may_be_rdp { Some((*number, above)) } else { None }
}

impl<'a> Plain<'a> {
    /// The segment in a frame of these octets, if it is such a one.
    #[inline]
    pub(crate) fn of(link: Link, octets: &'a [u8], original_octets: usize) -> Option<Self> {
        let header: &Header = octets.first_chunk()?;
        let data_at = TCP_AT + usize::from(header[46] >> 4) * 4;
        let is_plain = header[12..15] == ABOVE_MAC
            && header[23] == tcp::PROTOCOL
            && half(header, 20) & FRAGMENT == 0
            && header[47] & !PUSH == Flags::ACK.0
            && data_at >= HEADER_OCTETS
            && link == Link::Ethernet;
        if !is_plain {
            return None;
        }
        let lpdu_octets = MAC_OCTETS + usize::from(half(header, 16));
        let data_octets = lpdu_octets.checked_sub(data_at)?;
        let data = match octets.get(data_at..lpdu_octets) {
            Some(data) => data,
            None if lpdu_octets > original_octets => return None,
            // No more than is kept of it elsewhere.
            None => octets.get(data_at..).map(|data| data.get(..KEPT_OCTETS).unwrap_or(data))?,
        };
        let dt = if data_octets == 0 { None } else { Some(dt_in(data, data_octets)?) };
        Some(Self {
            name: [
                u64::from(word(header, 26)) << 32 | u64::from(word(header, 30)),
                u64::from(word(header, 34)),
            ],
            print: Print {
                sequence: word(header, 38),
                acknowledgement: word(header, 42),
                octets: data_octets as u32,
                window_and_checksum: word(header, 48),
                identification_and_flags: u32::from(half(header, 18)) << 8 | u32::from(header[47]),
            },
            lpdu_octets,
            data,
            missing_octets: data_octets - data.len(),
            dt,
        })
    }

    /// Whether octets of the stream were not captured.
    #[inline]
    pub(crate) const fn is_cut(&self) -> bool {
        self.missing_octets > 0
    }

    /// Octets of the stream that it carries.
    pub(crate) fn stream_octets(&self) -> u64 {
        self.print.octets.into()
    }

    /// Sender and receiver.
    fn sockets(&self) -> [Socket; 2] {
        let [addresses, ports] = self.name;
        let socket = |address: u64, port: u64| Socket {
            address: Ipv4Addr::from_bits(address as u32).to_ipv6_mapped(),
            port: port as u16,
        };
        [socket(addresses >> 32, ports >> 16), socket(addresses, ports)]
    }
}

/// A direction of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    place: Place,
    way: u8,
    /// Where its receiver may be remembered.
    receiver: Slot,
    /// That of its stream, twice, and one more for the way back.
    number: u64,
}

/// Directions that were found lately.
pub(super) type Remembered = Memo<Known>;

/// Counts an ACK that its receiver may have delayed.
// Apart: most segments of a plant acknowledge with data.
#[inline(never)]
fn delayed_ack(span: u64, sink: &mut Sink<'_>) {
    sink.span(Between::DelayedAck, span);
}

impl Flow {
    /// Takes notice of a segment, but for the TPDU in it, if it comes in its turn in a stream that carries TPKTs
    /// and of which nothing is held; whether it does.
    #[inline]
    fn in_turn(&mut self, at: Instant, way: usize, print: &Print, sink: &mut Sink<'_>) -> bool {
        let [first, second] = &mut self.directions;
        let (own, peer) = if way == 0 { (first, second) } else { (second, first) };
        if self.early.is_some() || !peer.holds_nothing() || !own.take_in_turn(at, print) {
            return false;
        }
        let Print { acknowledgement, octets, .. } = *print;
        if let Some((between, span)) = peer.is_acknowledged(at, acknowledgement, octets) {
            match between {
                Between::DelayedAck => delayed_ack(span, sink),
                _ => sink.span(Between::RoundTrip, span),
            }
        }
        true
    }
}

impl Streams {
    /// Takes notice of a segment if everything about it is plain, and hands its TPDU to `tracker`; whether it
    /// was.
    pub(crate) fn plain(
        &mut self,
        at: Instant,
        plain: &Plain<'_>,
        tracker: &mut Tracker,
        sink: &mut Sink<'_>,
    ) -> bool {
        self.expire(at, tracker);
        let Some(slot) = self.remember(plain) else { return false };
        let Known { place, way, receiver, number } = *self.remembered.at(slot);
        let way = usize::from(way);
        let recalled = tracker.recall(number, receiver);
        let (flow, heard) = self.slab.heard_at(place);
        if !flow.in_turn(at, way, &plain.print, sink) {
            return false;
        }
        let is_late = heard.note(at);
        if let Some((dt, octets)) = plain.dt {
            let ends = &flow.ends;
            let part = (dt, octets, plain.missing_octets);
            let parties = || [party(ends[1 - way]), party(ends[way])];
            match tracker.plain_part((at, number, recalled), parties, part, sink) {
                Some(found) if found == receiver => {}
                Some(found) => self.remembered.at(slot).receiver = found,
                None => {
                    let [to, from] = parties();
                    let passage = Passage { at, from, to };
                    let tpdu = plain.data.get(tpkt::HEADER_OCTETS..).unwrap_or_default();
                    // That it is cut is counted with the segment.
                    let missing = (plain.missing_octets, false);
                    crate::nsdu::observe(tracker, passage, tpdu, missing, sink);
                }
            }
        }
        if is_late {
            self.slab.move_up(place, at);
        }
        true
    }

    /// Where the direction of a stream is remembered that a segment is of; none where it is not known.
    #[inline]
    fn remember(&mut self, plain: &Plain<'_>) -> Option<Slot> {
        match self.remembered.find(plain.name, self.changes) {
            Some((slot, _)) => Some(slot),
            None => self.look_up(plain),
        }
    }

    /// The same, where it is not remembered.
    #[cold]
    fn look_up(&mut self, plain: &Plain<'_>) -> Option<Slot> {
        let [source, destination] = plain.sockets();
        let way = usize::from(source > destination);
        let ends = if way == 0 { [source, destination] } else { [destination, source] };
        let place = self.known(ends)?;
        let number = self.slab.get(place)?.number << 1 | way as u64;
        let known = Known { place, way: way as u8, receiver: 0, number };
        Some(self.remembered.remember((plain.name, self.changes), |_| known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::trial::{all_told, over_ipv4};
    use crate::{Meter, Settings};
    use core::time::Duration;

    /// One end of a stream: its host, and the number of its next octet.
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

    /// Packets, mostly one DT of class 0 that ends its TSDU.
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

    /// Frames of three streams, as they come and as a bad network would leave them.
    fn script(draw: &mut Draw, frames: usize) -> Vec<Vec<u8>> {
        let end = |host, port| End { host, port, next: 5_000 * u32::from(host) };
        let mut streams = [1, 2, 3].map(|host| [end(host, 1_024), end(10, 102)]);
        let mut script: Vec<Vec<u8>> = Vec::new();
        while script.len() < frames {
            let ends = &mut streams[draw.below(3) as usize];
            ends.rotate_left(draw.below(2) as usize);
            let identification = script.len() as u16;
            let data = packets(draw);
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
            // Lost on the way here, or passing twice.
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
    fn plain_segments_count_as_they_do_dissected() {
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
                let plain = Plain::of(Link::Ethernet, captured, octets.len());
                seen += usize::from(plain.is_some());
                if plain.is_some_and(|plain| ours.segment_in_turn(at, &plain)) {
                    taken += 1;
                } else {
                    ours.dissect(at, Link::Ethernet, captured, octets.len());
                }
                let at = dissecting.tick(at).expect("time runs forwards");
                dissecting.dissect(at, Link::Ethernet, captured, octets.len());
            }
            assert!(
                ours.tracker.kept() <= ours.connections(),
                "what is kept goes with its connection"
            );
            let (ours, dissecting) = (all_told(ours), all_told(dissecting));
            let unlike = ours.lines().zip(dissecting.lines()).find(|(ours, other)| ours != other);
            assert_eq!(unlike, None, "seed {seed}");
            assert_eq!(ours.len(), dissecting.len(), "seed {seed}");
        }
        println!("seen: {taken} segments in their turn of {seen} that look plain, of 60000");
        assert!(taken > 5_000 && taken + 5_000 < seen, "{taken} of {seen}");
    }
}
