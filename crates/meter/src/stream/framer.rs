//! TPKTs found in the octets of one direction of a TCP stream, on any port, by content.
//!
//! A direction that begins with a believable header carries TPKTs; so does one in which a header is
//! found whose packet ends with its segment or before another header. Where the place is lost, be it
//! that octets were not captured or that what stands there is no header, the next believable header is
//! looked for. Of a packet that is cut by segments only the front is kept: its header, the header of
//! its TPDU and the first user data.
//!
//! RDP mixes other PDUs among its TPKTs; they tell their length, and are passed. Where TLS takes
//! over, nothing more is read.

use wire::tpkt::{self, Header};

/// Octets kept of a packet that is cut by segments.
pub(super) const KEPT_OCTETS: usize = 512;
/// Segments of a direction that are looked at before it is taken for something else.
const TRIES: u8 = 64;

/// What a direction carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It is not known yet; so many segments have been looked at.
    Unknown(u8),
    /// TPKTs, and where the next begins is known.
    InStep,
    /// TPKTs, and where the next begins is not known.
    OutOfStep,
    /// Something else.
    Foreign,
}

/// A packet that began in one segment and goes on in the next.
#[derive(Clone, Debug, Default)]
struct Partial {
    /// Its first octets.
    kept: Vec<u8>,
    /// Octets of it in all; zero while that is not known.
    packet_octets: usize,
    /// Octets of it that went by.
    seen_octets: usize,
    /// Whether some of them were not captured.
    is_cut: bool,
    /// Whether it is no TPKT, and to be passed.
    is_foreign: bool,
}

/// A TPDU, or several, out of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packet<'a> {
    /// The front of it, behind the TPKT header.
    pub(super) octets: &'a [u8],
    /// Octets behind that.
    pub(super) missing_octets: usize,
    /// Whether some of those were not captured.
    pub(super) is_cut: bool,
    /// Behind how many octets of the direction, counted round 32 bits, it ends.
    pub(super) end: u32,
}

/// What happened besides packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// It carries TPKTs: this was not known before.
    Recognised,
    /// The next packet was to begin here, and does not.
    LostStep,
    /// The next packet begins here, after its place was lost.
    FoundStep,
    /// A PDU of another protocol among the packets.
    ForeignPdu,
    /// TLS took over.
    Tls,
}

/// What is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Something else.
    Event(Event),
}

/// One direction of a stream.
#[derive(Clone, Debug)]
pub(super) struct Framer {
    state: State,
    partial: Option<Box<Partial>>,
    /// Octets that came or were skipped, round 32 bits.
    passed: u32,
}

impl Framer {
    /// A direction of which nothing was seen.
    pub(super) const fn new() -> Self {
        Self { state: State::Unknown(0), partial: None, passed: 0 }
    }

    /// Whether it carries TPKTs.
    pub(super) fn is_recognised(&self) -> bool {
        matches!(self.state, State::InStep | State::OutOfStep)
    }

    /// Whether the next octets begin a packet.
    pub(super) fn is_in_step(&self) -> bool {
        self.state == State::InStep && self.partial.is_none()
    }

    /// Whether it ends between packets.
    pub(super) fn is_between(&self) -> bool {
        self.partial.is_none()
    }

    /// Takes the next octets; `mixed` tells that RDP's own PDUs may stand among the packets, and
    /// `other_way` that the other direction carries TPKTs.
    pub(super) fn push(
        &mut self,
        octets: &[u8],
        context: (bool, bool),
        found: &mut dyn FnMut(Found<'_>),
    ) {
        self.passed = self.passed.wrapping_add(octets.len() as u32);
        self.read(octets, context, found);
    }

    /// Reads octets that came, of which the first may have come before.
    fn read<'a>(
        &mut self,
        mut octets: &'a [u8],
        (mixed, other_way): (bool, bool),
        found: &mut dyn FnMut(Found<'_>),
    ) {
        if self.is_recognised() {
            octets = self.go_on(octets, found);
        } else if let Some(front) = self.partial.take() {
            // Too little to tell by has come before; it comes once more with the rest.
            let joined = [&front.kept, octets].concat();
            return self.read(&joined, (mixed, other_way), found);
        }
        while !octets.is_empty() {
            match self.state {
                State::Foreign => return,
                State::InStep => octets = self.packet(octets, mixed, found),
                State::Unknown(_) if tpkt::is_front(octets) => return self.begin(octets, 0, false),
                State::Unknown(_) | State::OutOfStep => {
                    let Some(place) = step(octets) else { return self.try_again(other_way) };
                    let was_known = self.state == State::OutOfStep;
                    self.state = State::InStep;
                    let event = if was_known { Event::FoundStep } else { Event::Recognised };
                    found(Found::Event(event));
                    octets = octets.get(place..).unwrap_or_default();
                }
            }
        }
    }

    /// Takes notice of octets that were not seen.
    pub(super) fn skip(&mut self, skipped_octets: usize, found: &mut dyn FnMut(Found<'_>)) {
        if skipped_octets == 0 {
            return;
        }
        self.passed = self.passed.wrapping_add(skipped_octets as u32);
        if !self.is_recognised() {
            self.partial = None;
            return;
        }
        let is_within = self
            .partial
            .as_ref()
            .is_some_and(|partial| partial.packet_octets >= partial.seen_octets + skipped_octets);
        let Some(partial) = self.partial.as_mut().filter(|_| is_within) else {
            return self.lose(found);
        };
        partial.seen_octets += skipped_octets;
        partial.is_cut = true;
        // Where the front of the TPDU is among them, nothing can be read of it.
        if partial.seen_octets == partial.packet_octets {
            self.finish(0, found);
        }
    }

    fn try_again(&mut self, other_way: bool) {
        if let State::Unknown(tries) = self.state {
            let is_over = tries >= TRIES && !other_way;
            self.state =
                if is_over { State::Foreign } else { State::Unknown(tries.saturating_add(1)) };
        }
    }

    fn lose(&mut self, found: &mut dyn FnMut(Found<'_>)) {
        self.partial = None;
        if self.state == State::InStep {
            self.state = State::OutOfStep;
            found(Found::Event(Event::LostStep));
        }
    }

    /// What begins with `octets`; what is left of them.
    fn packet<'a>(
        &mut self,
        octets: &'a [u8],
        mixed: bool,
        found: &mut dyn FnMut(Found<'_>),
    ) -> &'a [u8] {
        match Header::decode(octets) {
            Ok(header) => {
                let packet_octets = usize::from(header.packet_octets);
                if let Some((packet, rest)) = octets.split_at_checked(packet_octets) {
                    let octets = packet.get(tpkt::HEADER_OCTETS..).unwrap_or_default();
                    let end = self.passed.wrapping_sub(rest.len() as u32);
                    found(Found::Packet(Packet { octets, missing_octets: 0, is_cut: false, end }));
                    return rest;
                }
                self.begin(octets, packet_octets, false);
                &[]
            }
            Err(fault)
                if fault.offset >= octets.len()
                    || octets.len() < tpkt::HEADER_OCTETS
                        && octets.first() == Some(&tpkt::VERSION) =>
            {
                self.begin(octets, 0, false);
                &[]
            }
            Err(_) if matches!(octets, [0x14..=0x17, 3, ..]) => {
                self.state = State::Foreign;
                found(Found::Event(Event::Tls));
                &[]
            }
            Err(_) => self.foreign(octets, mixed, found),
        }
    }

    /// A fast-path PDU of RDP ([MS-RDPBCGR] 2.2.8.1.2): the two low bits are zero, and one or two
    /// octets tell its length.
    fn foreign<'a>(
        &mut self,
        octets: &'a [u8],
        mixed: bool,
        found: &mut dyn FnMut(Found<'_>),
    ) -> &'a [u8] {
        let length = match octets {
            [first, high, low, ..] if first & 3 == 0 && high & 0x80 != 0 => {
                usize::from(high & 0x7F) << 8 | usize::from(*low)
            }
            [first, length, ..] if first & 3 == 0 => usize::from(*length),
            _ => 0,
        };
        if !mixed || length < 3 {
            self.lose(found);
            // What stands there may be the octets before the next header.
            return octets.get(1..).unwrap_or_default();
        }
        found(Found::Event(Event::ForeignPdu));
        match octets.get(length..) {
            Some(rest) => rest,
            None => {
                self.begin(octets, length, true);
                &[]
            }
        }
    }

    /// A packet that goes on in the next segment.
    fn begin(&mut self, octets: &[u8], packet_octets: usize, is_foreign: bool) {
        let kept = octets.get(..KEPT_OCTETS).unwrap_or(octets).to_vec();
        let seen_octets = octets.len();
        let partial = Partial { kept, packet_octets, seen_octets, is_cut: false, is_foreign };
        self.partial = Some(Box::new(partial));
    }

    /// Goes on with the packet under way; what is left of `octets`.
    fn go_on<'a>(&mut self, octets: &'a [u8], found: &mut dyn FnMut(Found<'_>)) -> &'a [u8] {
        let Some(partial) = &mut self.partial else { return octets };
        let mut octets = octets;
        if partial.packet_octets == 0 {
            // Not all of the header has come yet.
            let wanted = tpkt::HEADER_OCTETS.saturating_sub(partial.kept.len());
            let (header, rest) = octets.split_at(wanted.min(octets.len()));
            partial.kept.extend_from_slice(header);
            partial.seen_octets += header.len();
            octets = rest;
            if partial.kept.len() < tpkt::HEADER_OCTETS {
                return &[];
            }
            let Ok(header) = Header::decode(&partial.kept) else {
                self.lose(found);
                return octets;
            };
            partial.packet_octets = usize::from(header.packet_octets);
        }
        let wanted = partial.packet_octets.saturating_sub(partial.seen_octets);
        let (taken, rest) = octets.split_at(wanted.min(octets.len()));
        let room = KEPT_OCTETS.saturating_sub(partial.kept.len());
        if partial.kept.len() == partial.seen_octets {
            partial.kept.extend_from_slice(taken.get(..room).unwrap_or(taken));
        }
        partial.seen_octets += taken.len();
        if partial.seen_octets == partial.packet_octets {
            self.finish(rest.len(), found);
        }
        rest
    }

    /// Hands on the packet under way, behind which so many octets have come.
    fn finish(&mut self, behind: usize, found: &mut dyn FnMut(Found<'_>)) {
        let Some(partial) = self.partial.take() else { return };
        if partial.is_foreign {
            return;
        }
        let octets = partial.kept.get(tpkt::HEADER_OCTETS..).unwrap_or_default();
        let missing_octets = partial.packet_octets - tpkt::HEADER_OCTETS - octets.len();
        let (is_cut, end) = (partial.is_cut, self.passed.wrapping_sub(behind as u32));
        found(Found::Packet(Packet { octets, missing_octets, is_cut, end }));
    }
}

/// Where in `octets` a packet begins: at the front, or where a packet would end with them or before
/// another one.
fn step(octets: &[u8]) -> Option<usize> {
    if tpkt::is_believable(octets) {
        return Some(0);
    }
    let places = octets.windows(2).enumerate().skip(1);
    let starts = places.filter(|(_, pair)| *pair == [tpkt::VERSION, 0]);
    starts.map(|(place, _)| place).find(|place| {
        let rest = octets.get(*place..).unwrap_or_default();
        if !tpkt::is_believable(rest) {
            return false;
        }
        let Ok(header) = Header::decode(rest) else { return false };
        match rest.get(usize::from(header.packet_octets)..) {
            None => false,
            Some(behind) => behind.is_empty() || tpkt::is_believable(behind),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A DT of class 0 with this user data, in a packet.
    fn packet(data: &[u8]) -> Vec<u8> {
        let header = Header::of_tpdu(3 + data.len()).unwrap().encode();
        [&header[..], &[2, 0xF0, 0x80], data].concat()
    }

    /// What is found in these pieces, a line for each; a number is octets that were not seen.
    fn found(pieces: &[Result<&[u8], usize>], mixed: bool) -> Vec<String> {
        let mut framer = Framer::new();
        let mut lines = Vec::new();
        for piece in pieces {
            let mut line = |found: Found<'_>| {
                lines.push(match found {
                    Found::Packet(packet) => {
                        let cut = if packet.is_cut { " cut" } else { "" };
                        format!("{}+{}{cut}", packet.octets.len(), packet.missing_octets)
                    }
                    Found::Event(event) => format!("{event:?}"),
                });
            };
            match piece {
                Ok(octets) => framer.push(octets, (mixed, false), &mut line),
                Err(skipped) => framer.skip(*skipped, &mut line),
            }
        }
        lines
    }

    #[test]
    fn packets_are_found_wherever_the_stream_is_cut() {
        let stream = [packet(&[1; 5]), packet(&[]), packet(&[2; 40])].concat();
        let expected = ["Recognised", "8+0", "3+0", "43+0"];
        for cut in 7..stream.len() {
            let (front, back) = stream.split_at(cut);
            assert_eq!(found(&[Ok(front), Ok(back)], false), expected, "cut at {cut}");
        }
        // Octet by octet, once the first packet has told what the stream carries.
        let mut pieces = vec![Ok(&stream[..12])];
        pieces.extend(stream[12..].chunks(1).map(Ok));
        assert_eq!(found(&pieces, false), expected);
    }

    #[test]
    fn of_a_long_packet_the_front_is_kept() {
        let long = packet(&[7; 2_000]);
        let (front, back) = long.split_at(1_000);
        // 512 octets are kept, 4 of them of the TPKT header; 2,003 are the TPDU.
        assert_eq!(found(&[Ok(front), Ok(back)], false), ["Recognised", "508+1495"]);
    }

    #[test]
    fn octets_not_seen_within_a_packet_do_no_harm() {
        let (first, last) = (packet(&[1; 100]), packet(&[2; 5]));
        let pieces = [Ok(&first[..20]), Err(80), Ok(&first[100..]), Ok(&last[..])];
        assert_eq!(found(&pieces, false), ["Recognised", "16+87 cut", "8+0"]);
    }

    #[test]
    fn octets_not_seen_beyond_a_packet_lose_the_step_until_a_header_is_found() {
        let (first, last) = (packet(&[1; 100]), packet(&[2; 5]));
        let pieces = [Ok(&first[..20]), Err(90), Ok(&[9; 40][..]), Ok(&last[..])];
        let expected = ["Recognised", "LostStep", "FoundStep", "8+0"];
        assert_eq!(found(&pieces, false), expected);
        // Within a segment a header counts if its packet ends where the segment does.
        let behind = [&[9; 40][..], &last].concat();
        let pieces = [Ok(&first[..20]), Err(90), Ok(&behind[..])];
        assert_eq!(found(&pieces, false), expected);
        let cut_off = &behind[..behind.len() - 1];
        let pieces = [Ok(&first[..20]), Err(90), Ok(cut_off)];
        assert_eq!(found(&pieces, false), ["Recognised", "LostStep"]);
    }

    #[test]
    fn what_is_no_tpkt_is_left_alone() {
        let line = b"GET / HTTP/1.1\r\n\r\n";
        let pieces: Vec<Result<&[u8], usize>> = (0..100).map(|_| Ok(&line[..])).collect();
        assert_eq!(found(&pieces, false), [""; 0]);
        let dt = packet(&[1]);
        let mut late = pieces;
        late.push(Ok(&dt));
        assert_eq!(found(&late, false), [""; 0], "after so many tries nobody looks");
        // H.323: TPKT with Q.931 in it.
        assert_eq!(found(&[Ok(&[3, 0, 0, 12, 8, 2, 0x12, 0x34, 5, 4, 3, 0x88])], false), [""; 0]);
    }

    #[test]
    fn tls_ends_the_reading_and_fast_path_pdus_are_passed() {
        let cr = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0];
        let record = [0x16, 3, 1, 0, 2, 1, 2];
        let pieces = [Ok(&cr[..]), Ok(&record[..]), Ok(&cr[..])];
        assert_eq!(found(&pieces, false), ["Recognised", "7+0", "Tls"]);
        // A fast-path PDU of 5 octets, one of 300 cut by a segment, then a packet.
        let mut fast = vec![0x44, 5, 1, 2, 3, 0, 0x81, 0x2C];
        fast.resize(200, 9);
        let rest = [&[9; 105][..], &packet(&[1])].concat();
        let pieces = [Ok(&cr[..]), Ok(&fast[..]), Ok(&rest[..])];
        let expected = ["Recognised", "7+0", "ForeignPdu", "ForeignPdu", "4+0"];
        assert_eq!(found(&pieces, true), expected);
    }

    #[test]
    fn a_header_in_a_segment_of_its_own_tells_with_what_follows() {
        let stream = packet(&[1, 2, 3]);
        for cut in 1..7 {
            let pieces = [Ok(&stream[..cut]), Ok(&stream[cut..])];
            assert_eq!(found(&pieces, false), ["Recognised", "6+0"], "cut at {cut}");
        }
        let pieces = [Ok(&stream[..4]), Ok(&b"GET / HTTP/1.1"[..])];
        assert_eq!(found(&pieces, false), [""; 0]);
    }

    #[test]
    fn a_header_in_parts_is_waited_for() {
        let stream = [packet(&[1]), packet(&[2])].concat();
        let pieces = [Ok(&stream[..9]), Ok(&stream[9..10]), Ok(&stream[10..])];
        assert_eq!(found(&pieces, false), ["Recognised", "4+0", "4+0"]);
    }

    #[test]
    fn between_packets_only_those_of_rdp_stand_and_of_three_octets_or_more() {
        let cr = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0];
        let behind = |octets: &[u8], mixed: bool| {
            let next = packet(&[1]);
            let lines = found(&[Ok(&cr), Ok(&[octets, &next].concat())], mixed);
            lines[2..].join(" ")
        };
        assert_eq!(behind(&[0x44, 3, 9], true), "ForeignPdu 4+0");
        assert_eq!(behind(&[0x44, 3, 9], false), "LostStep FoundStep 4+0");
        // Too short, and with low bits that are none of its.
        assert_eq!(behind(&[0x44, 2], true), "LostStep FoundStep 4+0");
        assert_eq!(behind(&[0x45, 3, 9], true), "LostStep FoundStep 4+0");
        assert_eq!(behind(&[0x45, 0x80, 3], true), "LostStep FoundStep 4+0");
        // A packet of version 3 whose reserved octet is right and whose length is not.
        assert_eq!(behind(&[3, 0, 0, 2], false), "LostStep FoundStep 4+0");
    }

    #[test]
    fn a_header_that_is_cut_is_waited_for_and_what_is_none_is_not() {
        let stream = [packet(&[1]), packet(&[2])].concat();
        for cut in 9..12 {
            let pieces = [Ok(&stream[..cut]), Ok(&stream[cut..])];
            assert_eq!(found(&pieces, false), ["Recognised", "4+0", "4+0"], "cut at {cut}");
        }
        // Four octets that are a header, though of no length that there is.
        let pieces = [Ok(&stream[..8]), Ok(&[3, 0, 0, 2][..])];
        assert_eq!(found(&pieces, false), ["Recognised", "4+0", "LostStep"]);
        // Two octets that begin nothing, then a packet.
        let pieces = [Ok(&stream[..8]), Ok(&[9, 9][..]), Ok(&stream[..8])];
        assert_eq!(found(&pieces, false), ["Recognised", "4+0", "LostStep", "FoundStep", "4+0"]);
    }
}
