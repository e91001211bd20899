//! TPKTs in one direction of a TCP stream, found by content on any port.
//!
//! A direction that begins with a plausible header carries TPKTs. So does a direction with a header
//! whose packet ends with its segment or before another header. If synchronisation is lost, because
//! octets were not captured or because no header is where one should be, the framer searches for
//! the next plausible header. Of a packet that segments divide only the front is kept: its header,
//! the header of its TPDU and the first user data; or all of it, where whole TSDUs are passed.
//!
//! RDP mixes other PDUs with its TPKTs; they contain their length, and are skipped. Where TLS
//! starts, reading ends.

use memchr::memchr_iter;
use wire::tpkt::{self, Header};

/// Octets kept of a packet that is divided by segments.
pub(crate) const KEPT_OCTETS: usize = 512;
/// Segments of a direction examined before it is classified as foreign.
const TRIES: u8 = 64;

/// Content of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Not known yet, after this number of segments.
    Unknown(u8),
    /// TPKTs, synchronised.
    InStep,
    /// TPKTs, synchronisation lost.
    OutOfStep,
    /// No TPKTs.
    Foreign,
}

impl State {
    /// Before the first octet.
    pub(super) const NEW: Self = Self::Unknown(0);

    /// True if the direction carries TPKTs.
    #[inline]
    pub(super) const fn is_recognised(self) -> bool {
        matches!(self, Self::InStep | Self::OutOfStep)
    }
}

/// Packet that began in an earlier segment.
#[derive(Clone, Debug, Default)]
pub(super) struct Partial {
    /// First octets.
    kept: Vec<u8>,
    /// Length of the packet; zero while unknown.
    packet_octets: usize,
    /// Octets of it that have passed.
    seen_octets: usize,
    /// Those of them that were not captured.
    missing_octets: usize,
    /// True if it is no TPKT, and is skipped.
    is_foreign: bool,
}

/// Content of a packet: one TPDU, or several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packet<'a> {
    /// Front of the content, after the TPKT header.
    pub(super) octets: &'a [u8],
    /// Octets missing after the front.
    pub(super) missing_octets: usize,
    /// True if some of those were not captured.
    pub(super) is_cut: bool,
    /// Number of the octet after its end.
    pub(super) end: u32,
}

/// Event other than a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// The direction is now known to carry TPKTs.
    Recognised,
    /// Synchronisation lost: no packet begins where one should.
    LostStep,
    /// Synchronisation restored: the next packet begins here.
    FoundStep,
    /// Number of octets that belong to no packet.
    Outside(usize),
    /// PDU of another protocol between packets.
    ForeignPdu,
    /// TLS started.
    Tls,
}

/// Result of the framer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found<'a> {
    /// Packet.
    Packet(Packet<'a>),
    /// Event.
    Event(Event),
    /// Octets in order, and as many behind them that were not captured, where octets are passed.
    Octets { octets: &'a [u8], missing_octets: usize },
}

/// Framer of one direction of a stream, which keeps its state and the packet under way elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Framer {
    pub(super) state: State,
    pub(super) partial: Option<Box<Partial>>,
    /// Number of the next octet.
    pub(super) next: u32,
    /// True if packets that segments divide are kept whole.
    pub(super) keeps_whole: bool,
}

/// Facts about the stream of a direction that its framer cannot see.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// True if PDUs of RDP may come between packets.
    pub(super) is_mixed: bool,
    /// True if the other direction carries TPKTs.
    pub(super) is_known_back: bool,
    /// True if packets that segments divide are kept whole.
    pub(super) keeps_whole: bool,
    /// True if octets are passed as they are, too.
    pub(super) passes_octets: bool,
}

impl Framer {
    /// True if the direction carries TPKTs.
    fn is_recognised(&self) -> bool {
        self.state.is_recognised()
    }

    /// Processes the next octets.
    pub(super) fn push(
        &mut self,
        octets: &[u8],
        context: Context,
        found: &mut dyn FnMut(Found<'_>),
    ) {
        self.next = self.next.wrapping_add(octets.len() as u32);
        self.read(octets, context, found);
    }

    /// Reads octets; the first of them may repeat octets kept from the previous segment.
    fn read<'a>(
        &mut self,
        mut octets: &'a [u8],
        context: Context,
        found: &mut dyn FnMut(Found<'_>),
    ) {
        if self.is_recognised() {
            octets = self.go_on(octets, found);
        } else if let Some(front) = self.partial.take() {
            // The previous octets were too few to classify; they are joined with these.
            let joined = [&front.kept, octets].concat();
            return self.read(&joined, context, found);
        }
        let Context { is_mixed, is_known_back, .. } = context;
        while !octets.is_empty() {
            match self.state {
                State::Foreign => return,
                State::InStep => octets = self.packet(octets, is_mixed, found),
                State::Unknown(_) if tpkt::is_front(octets) => return self.begin(octets, 0, false),
                State::Unknown(_) | State::OutOfStep => {
                    let place = step(octets);
                    let was_known = self.state == State::OutOfStep;
                    if was_known {
                        leave_out(place.unwrap_or(octets.len()), found);
                    }
                    let Some(place) = place else { return self.try_again(is_known_back) };
                    self.state = State::InStep;
                    let event = if was_known { Event::FoundStep } else { Event::Recognised };
                    found(Found::Event(event));
                    octets = octets.get(place..).unwrap_or_default();
                }
            }
        }
    }

    /// Skips octets that were not seen.
    pub(super) fn skip(&mut self, skipped_octets: usize, found: &mut dyn FnMut(Found<'_>)) {
        if skipped_octets == 0 {
            return;
        }
        self.next = self.next.wrapping_add(skipped_octets as u32);
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
        partial.missing_octets += skipped_octets;
        // If the front of the TPDU is among them, it cannot be read.
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
        if let Some(partial) = self.partial.take() {
            leave_out(partial.seen_octets - partial.missing_octets, found);
        }
        if self.state == State::InStep {
            self.state = State::OutOfStep;
            found(Found::Event(Event::LostStep));
        }
    }

    /// Processes the packet at the front of `octets`; returns the rest.
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
                    let end = self.next.wrapping_sub(rest.len() as u32);
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

    /// Skips a fast-path PDU of RDP ([MS-RDPBCGR] 2.2.8.1.2): the two low bits are zero, and one or
    /// two octets hold its length.
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
            // The octets behind the first may hold the next header.
            leave_out(1, found);
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

    /// Octets kept of a packet that segments divide.
    const fn kept_octets(&self) -> usize {
        if self.keeps_whole { tpkt::LONGEST_TPDU + tpkt::HEADER_OCTETS } else { KEPT_OCTETS }
    }

    /// Begins a packet that continues in the next segment.
    fn begin(&mut self, octets: &[u8], packet_octets: usize, is_foreign: bool) {
        let front = octets.get(..self.kept_octets()).unwrap_or(octets);
        // Allocated once: for the front, or for all octets that will be kept.
        let room = packet_octets.min(self.kept_octets()).max(front.len());
        let mut kept = Vec::with_capacity(room);
        kept.extend_from_slice(front);
        let seen_octets = octets.len();
        let partial = Partial { kept, packet_octets, seen_octets, missing_octets: 0, is_foreign };
        self.partial = Some(Box::new(partial));
    }

    /// Continues the packet under way; returns the rest of `octets`.
    fn go_on<'a>(&mut self, octets: &'a [u8], found: &mut dyn FnMut(Found<'_>)) -> &'a [u8] {
        let kept_octets = self.kept_octets();
        let Some(partial) = &mut self.partial else { return octets };
        let mut octets = octets;
        if partial.packet_octets == 0 {
            // The header is not complete yet.
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
        let room = kept_octets.saturating_sub(partial.kept.len());
        if partial.kept.len() == partial.seen_octets {
            partial.kept.extend_from_slice(taken.get(..room).unwrap_or(taken));
        }
        partial.seen_octets += taken.len();
        if partial.seen_octets == partial.packet_octets {
            self.finish(rest.len(), found);
        }
        rest
    }

    /// Delivers the packet under way; `behind` more octets follow it.
    fn finish(&mut self, behind: usize, found: &mut dyn FnMut(Found<'_>)) {
        let Some(partial) = self.partial.take() else { return };
        if partial.is_foreign {
            return;
        }
        let octets = partial.kept.get(tpkt::HEADER_OCTETS..).unwrap_or_default();
        let missing_octets = partial.packet_octets - tpkt::HEADER_OCTETS - octets.len();
        let (is_cut, end) = (partial.missing_octets > 0, self.next.wrapping_sub(behind as u32));
        found(Found::Packet(Packet { octets, missing_octets, is_cut, end }));
    }
}

/// Offset in `octets` at which a packet begins: the front, or where a packet would end with
/// `octets` or before another packet.
fn step(octets: &[u8]) -> Option<usize> {
    if tpkt::is_believable(octets) {
        return Some(0);
    }
    let behind = octets.get(1..)?;
    let begins = |place: &usize| ends_or_goes_on(behind.get(*place..).unwrap_or_default());
    memchr_iter(tpkt::VERSION, behind).find(begins).map(|place| place + 1)
}

/// True if a packet begins here and ends with these octets, or before another packet.
fn ends_or_goes_on(octets: &[u8]) -> bool {
    if !tpkt::is_believable(octets) {
        return false;
    }
    let Ok(header) = Header::decode(octets) else { return false };
    let behind = octets.get(usize::from(header.packet_octets)..);
    behind.is_some_and(|behind| behind.is_empty() || tpkt::is_believable(behind))
}

/// Notes octets that belong to no packet.
fn leave_out(octets: usize, found: &mut dyn FnMut(Found<'_>)) {
    if octets > 0 {
        found(Found::Event(Event::Outside(octets)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DT of class 0 with this user data, in a packet.
    fn packet(data: &[u8]) -> Vec<u8> {
        let header = Header::of_tpdu(3 + data.len()).unwrap().encode();
        [&header[..], &[2, 0xF0, 0x80], data].concat()
    }

    /// Results for these pieces, a line for each; a number is octets that were not seen.
    fn found(pieces: &[Result<&[u8], usize>], mixed: bool) -> Vec<String> {
        let mut framer = Framer { state: State::NEW, partial: None, next: 0, keeps_whole: false };
        let mut lines = Vec::new();
        for piece in pieces {
            let mut line = |found: Found<'_>| {
                lines.push(match found {
                    Found::Packet(packet) => {
                        let cut = if packet.is_cut { " cut" } else { "" };
                        format!("{}+{}{cut}", packet.octets.len(), packet.missing_octets)
                    }
                    Found::Event(event) => format!("{event:?}"),
                    Found::Octets { octets, .. } => format!("{} octets", octets.len()),
                });
            };
            match piece {
                Ok(octets) => framer.push(
                    octets,
                    Context {
                        is_mixed: mixed,
                        is_known_back: false,
                        keeps_whole: false,
                        passes_octets: false,
                    },
                    &mut line,
                ),
                Err(skipped) => framer.skip(*skipped, &mut line),
            }
        }
        lines
    }

    #[test]
    fn packets_are_found_for_any_segmentation() {
        let stream = [packet(&[1; 5]), packet(&[]), packet(&[2; 40])].concat();
        let expected = ["Recognised", "8+0", "3+0", "43+0"];
        for cut in 7..stream.len() {
            let (front, back) = stream.split_at(cut);
            assert_eq!(found(&[Ok(front), Ok(back)], false), expected, "cut at {cut}");
        }
        // Octet by octet, once the first packet has identified the stream.
        let mut pieces = vec![Ok(&stream[..12])];
        pieces.extend(stream[12..].chunks(1).map(Ok));
        assert_eq!(found(&pieces, false), expected);
    }

    #[test]
    fn the_front_of_a_long_packet_is_kept() {
        let long = packet(&[7; 2_000]);
        let (front, back) = long.split_at(1_000);
        // 512 octets are kept, 4 of them the TPKT header; the TPDU has 2,003.
        assert_eq!(found(&[Ok(front), Ok(back)], false), ["Recognised", "508+1495"]);
    }

    #[test]
    fn missing_octets_within_a_packet_keep_synchronisation() {
        let (first, last) = (packet(&[1; 100]), packet(&[2; 5]));
        let pieces = [Ok(&first[..20]), Err(80), Ok(&first[100..]), Ok(&last[..])];
        assert_eq!(found(&pieces, false), ["Recognised", "16+87 cut", "8+0"]);
    }

    #[test]
    fn missing_octets_beyond_a_packet_lose_synchronisation() {
        let (first, last) = (packet(&[1; 100]), packet(&[2; 5]));
        let pieces = [Ok(&first[..20]), Err(90), Ok(&[9; 40][..]), Ok(&last[..])];
        // Of the first packet 20 octets had come.
        let outside = ["Outside(20)", "LostStep", "Outside(40)"];
        let expected = [&["Recognised"], &outside[..], &["FoundStep", "8+0"]].concat();
        assert_eq!(found(&pieces, false), expected);
        // Within a segment a header counts if its packet ends with the segment.
        let behind = [&[9; 40][..], &last].concat();
        let pieces = [Ok(&first[..20]), Err(90), Ok(&behind[..])];
        assert_eq!(found(&pieces, false), expected);
        let cut_off = &behind[..behind.len() - 1];
        let pieces = [Ok(&first[..20]), Err(90), Ok(cut_off)];
        assert_eq!(found(&pieces, false), ["Recognised", "Outside(20)", "LostStep", "Outside(51)"]);
    }

    #[test]
    fn other_protocols_are_ignored() {
        let line = b"GET / HTTP/1.1\r\n\r\n";
        let pieces: Vec<Result<&[u8], usize>> = (0..100).map(|_| Ok(&line[..])).collect();
        assert_eq!(found(&pieces, false), [""; 0]);
        let dt = packet(&[1]);
        let mut late = pieces;
        late.push(Ok(&dt));
        assert_eq!(found(&late, false), [""; 0], "no search after the last try");
        // H.323: TPKT with Q.931 in it.
        assert_eq!(found(&[Ok(&[3, 0, 0, 12, 8, 2, 0x12, 0x34, 5, 4, 3, 0x88])], false), [""; 0]);
    }

    #[test]
    fn tls_ends_the_reading_and_fast_path_pdus_are_skipped() {
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
    fn a_header_in_its_own_segment_counts_with_the_next_segment() {
        let stream = packet(&[1, 2, 3]);
        for cut in 1..7 {
            let pieces = [Ok(&stream[..cut]), Ok(&stream[cut..])];
            assert_eq!(found(&pieces, false), ["Recognised", "6+0"], "cut at {cut}");
        }
        let pieces = [Ok(&stream[..4]), Ok(&b"GET / HTTP/1.1"[..])];
        assert_eq!(found(&pieces, false), [""; 0]);
    }

    #[test]
    fn a_divided_header_is_completed() {
        let stream = [packet(&[1]), packet(&[2])].concat();
        let pieces = [Ok(&stream[..9]), Ok(&stream[9..10]), Ok(&stream[10..])];
        assert_eq!(found(&pieces, false), ["Recognised", "4+0", "4+0"]);
    }

    #[test]
    fn only_rdp_pdus_of_three_octets_or_more_are_skipped() {
        let cr = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0];
        let behind = |octets: &[u8], mixed: bool| {
            let next = packet(&[1]);
            let lines = found(&[Ok(&cr), Ok(&[octets, &next].concat())], mixed);
            lines[2..].join(" ")
        };
        // The octets before the next packet are counted, each once.
        let outside =
            |octets: usize| format!("LostStep Outside(1) Outside({}) FoundStep 4+0", octets - 1);
        assert_eq!(behind(&[0x44, 3, 9], true), "ForeignPdu 4+0");
        assert_eq!(behind(&[0x44, 3, 9], false), outside(3));
        // Too short; and with low bits that RDP does not use.
        assert_eq!(behind(&[0x44, 2], true), outside(2));
        assert_eq!(behind(&[0x45, 3, 9], true), outside(3));
        assert_eq!(behind(&[0x45, 0x80, 3], true), outside(3));
        // Packet of version 3 with a valid reserved octet and an invalid length.
        assert_eq!(behind(&[3, 0, 0, 2], false), outside(4));
    }

    #[test]
    fn only_a_plausible_partial_header_is_completed() {
        let stream = [packet(&[1]), packet(&[2])].concat();
        for cut in 9..12 {
            let pieces = [Ok(&stream[..cut]), Ok(&stream[cut..])];
            assert_eq!(found(&pieces, false), ["Recognised", "4+0", "4+0"], "cut at {cut}");
        }
        // Four octets like a header, with an impossible length.
        let pieces = [Ok(&stream[..8]), Ok(&[3, 0, 0, 2][..])];
        let outside = ["LostStep", "Outside(1)", "Outside(3)"];
        assert_eq!(found(&pieces, false), [&["Recognised", "4+0"], &outside[..]].concat());
        // Two octets that begin nothing, then a packet.
        let pieces = [Ok(&stream[..8]), Ok(&[9, 9][..]), Ok(&stream[..8])];
        let outside = ["LostStep", "Outside(1)", "Outside(1)", "FoundStep", "4+0"];
        assert_eq!(found(&pieces, false), [&["Recognised", "4+0"], &outside[..]].concat());
    }
}
