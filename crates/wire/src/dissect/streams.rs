//! Removal of user data from TCP streams that carry TPKTs. The place of each TPKT follows from
//! those before it, wherever segments begin.
//!
//! The most recent directions of streams are followed, each from a segment that begins with a TPKT,
//! as long as its segments arrive in order and no header is lost. Any other segment is stripped on
//! its own, by the rules of [`super::strip_user_data`]. So a header is missing from the result if
//! its segments are out of order, or if an earlier capture had already cut it off.
//!
//! The header of an S7 PDU is kept only if one DT of class 0 holds the whole PDU and one segment
//! holds the whole header. Only then do its lengths prove that no user data is kept.
//!
//! Left out: the PDUs that RDP mixes among TPKTs; a direction with one is not followed further.

use super::headers::{Plan, stream};
use super::{Link, Piece, headers};
use crate::addr::Socket;
use crate::tcp::Flags;
use crate::tp::Kind;
use crate::{s7, tpkt};
use core::ops::Range;
use std::collections::BTreeMap;

/// Largest number of directions followed. Half of them are evicted at once.
const DIRECTIONS: usize = 8_192;

/// Removes the user data from successive frames.
#[derive(Debug, Default)]
pub struct Stripper {
    /// Recently active directions; `old` holds the generation before.
    young: BTreeMap<[Socket; 2], Direction>,
    old: BTreeMap<[Socket; 2], Direction>,
    parameters: Parameters,
}

/// Treatment of the headers of CR, CC, DR and ER, whose parameters may identify users.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Parameters {
    /// The whole header is kept.
    #[default]
    Kept,
    /// Length indicator and code are kept; the rest is zeroed like user data.
    Blanked,
}

impl Stripper {
    /// Creates a stripper that keeps parameters.
    #[must_use]
    pub const fn new() -> Self {
        Self { young: BTreeMap::new(), old: BTreeMap::new(), parameters: Parameters::Kept }
    }

    /// Creates a stripper that also zeroes the headers of CR, CC, DR and ER after their first two
    /// octets, in every stream it follows. In segments it does not follow, headers are kept whole.
    #[must_use]
    pub fn without_parameters() -> Self {
        Self { parameters: Parameters::Blanked, ..Self::new() }
    }

    /// Like [`super::strip_user_data`], for a frame that continues those before it. If a TCP
    /// segment begins inside a TPKT, the headers that begin in the segment are kept too, and the
    /// octets before them are zeroed.
    #[must_use]
    pub fn strip(&mut self, link: Link, octets: &mut [u8], original_octets: usize) -> usize {
        let plan = headers::plan(link, octets, original_octets, |begins, piece| {
            self.segment(begins, piece)
        });
        plan.carry_out(octets)
    }

    fn segment(&mut self, begins: usize, piece: &Piece<'_>) -> Plan {
        let key = [piece.source, piece.destination];
        let known = self.young.remove(&key).or_else(|| self.old.remove(&key));
        if piece.flags.has(Flags::SYN) {
            return stream(begins, piece.octets);
        }
        let (plan, direction) = match known {
            Some(direction) => direction.go_on(begins, piece),
            None => Direction::begin(begins, piece, self.parameters),
        };
        let is_over = piece.flags.has(Flags::FIN) || piece.flags.has(Flags::RST);
        if let Some(direction) = direction.filter(|_| !is_over) {
            if self.young.len() >= DIRECTIONS / 2 {
                self.old = core::mem::take(&mut self.young);
            }
            self.young.insert(key, direction);
        }
        plan
    }
}

/// One direction of a TCP stream.
#[derive(Clone, Copy, Debug)]
struct Direction {
    /// Sequence number of the next octet.
    next: u32,
    place: Place,
    parameters: Parameters,
}

/// Role of the next octet of a stream. `left` is the number of octets left in the packet.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Octet of a TPKT header, of which `count` octets were read.
    Tpkt { octets: [u8; tpkt::HEADER_OCTETS], count: usize },
    /// Length indicator.
    Indicator { left: usize },
    /// Code of a TPDU with `header` octets of header after its length indicator.
    Code { header: usize, left: usize },
    /// Another header octet of a TPDU with or without user data; `header` are left.
    Header { header: usize, left: usize, has_data: bool },
    /// TPDU-NR octet of a DT of class 0, with EOT in its top bit.
    Number { left: usize },
    /// First octet of the user data of a DT of class 0 that ends its TSDU.
    User { left: usize },
    /// Octet of the header of an S7 PDU, of which `header` octets are left.
    S7 { header: usize, left: usize },
    /// User data.
    Data { left: usize },
}

impl Direction {
    /// Starts with a segment that begins with a TPKT or with the first octets of one.
    fn begin(begins: usize, piece: &Piece<'_>, parameters: Parameters) -> (Plan, Option<Self>) {
        let Piece { octets, sequence, .. } = piece;
        let is_short = !octets.is_empty() && tpkt::is_front(octets);
        if is_short || tpkt::is_believable(octets) {
            let direction = Self { next: *sequence, place: Place::START, parameters };
            return direction.pass(begins, piece, 0);
        }
        (Plan::keep(begins), None)
    }

    /// Continues with another segment.
    fn go_on(self, begins: usize, piece: &Piece<'_>) -> (Plan, Option<Self>) {
        let whole_octets = piece.octets.len() + piece.missing_octets;
        let gap = piece.sequence.wrapping_sub(self.next).cast_signed();
        let seen = usize::try_from(-i64::from(gap)).unwrap_or(0);
        if whole_octets == 0 || (gap < 0 && seen >= whole_octets) {
            // Nothing new: the first copy may have been lost between the capture and the receiver.
            return (stream(begins, piece.octets), Some(self));
        }
        if gap > 0 {
            let passed = self.place.skip(gap.unsigned_abs() as usize);
            let here = |place| Self { next: piece.sequence, place, ..self }.pass(begins, piece, 0);
            return passed.map_or_else(|| Self::begin(begins, piece, self.parameters), here);
        }
        self.pass(begins, piece, seen)
    }

    /// Strips a segment of which the first `seen` octets were stripped before.
    fn pass(self, begins: usize, piece: &Piece<'_>, seen: usize) -> (Plan, Option<Self>) {
        let mut plan = Plan::keep(begins);
        let mut place = Some(self.place);
        let mut at = seen.min(piece.octets.len());
        while let Some(rest @ [_, ..]) = piece.octets.get(at..)
            && let Some(now) = place
        {
            let (taken, is_header, then) = now.step(rest, self.parameters);
            if is_header {
                plan.keep_more(begins + at..begins + at + taken);
            }
            (at, place) = (at + taken, then);
        }
        let whole_octets = piece.octets.len() + piece.missing_octets;
        let missing = whole_octets - seen.max(piece.octets.len()).min(whole_octets);
        let next = piece.sequence.wrapping_add(u32::try_from(whole_octets).unwrap_or(0));
        let place = place.and_then(|place| place.skip(missing));
        (plan, place.map(|place| Self { next, place, ..self }))
    }
}

impl Place {
    const START: Self = Self::Tpkt { octets: [0; tpkt::HEADER_OCTETS], count: 0 };

    /// Returns the role of the octet after `octets` unseen ones; `None` if a header is among them.
    const fn skip(self, octets: usize) -> Option<Self> {
        match self {
            _ if octets == 0 => Some(self),
            Self::Data { left } | Self::User { left } if octets < left => {
                Some(Self::Data { left: left - octets })
            }
            Self::Data { left } | Self::User { left } if octets == left => Some(Self::START),
            Self::Tpkt { .. }
            | Self::Indicator { .. }
            | Self::Code { .. }
            | Self::Header { .. }
            | Self::Number { .. }
            | Self::User { .. }
            | Self::S7 { .. }
            | Self::Data { .. } => None,
        }
    }

    /// Takes the octets of one role from the front of `rest`. Returns their number, whether they
    /// are header, and the next role; `None` if no TPKT follows.
    fn step(self, rest: &[u8], parameters: Parameters) -> (usize, bool, Option<Self>) {
        let first = rest.first().copied().unwrap_or(0);
        match self {
            Self::Tpkt { mut octets, count } => {
                if let Some(octet) = octets.get_mut(count) {
                    *octet = first;
                }
                let count = count + 1;
                if count < tpkt::HEADER_OCTETS {
                    return (1, true, Some(Self::Tpkt { octets, count }));
                }
                let header = tpkt::Header::decode(&octets).ok();
                let left = header.map(tpkt::Header::tpdu_octets);
                (1, true, left.map(|left| Self::Indicator { left }))
            }
            Self::Indicator { left } => {
                let (header, left) = (usize::from(first), left.saturating_sub(1));
                let is_one = (1..255).contains(&header) && header <= left;
                (1, true, Some(if is_one { Self::Code { header, left } } else { Self::data(left) }))
            }
            Self::Code { header, left } => {
                let (header, left) = (header - 1, left - 1);
                let place = match Kind::of_code(first) {
                    Some(Kind::Dt) if header == 1 => Self::Number { left },
                    Some(Kind::Cr | Kind::Cc | Kind::Dr | Kind::Er)
                        if parameters == Parameters::Blanked =>
                    {
                        Self::data(left)
                    }
                    Some(kind) => Self::header(header, left, has_data(kind)),
                    None => Self::data(left),
                };
                (1, true, Some(place))
            }
            Self::Number { left } => {
                let (ends, left) = (first & 0x80 != 0, left - 1);
                let is_user = ends && left > 0;
                (1, true, Some(if is_user { Self::User { left } } else { Self::data(left) }))
            }
            Self::Header { header, left, has_data } => {
                let taken = header.min(rest.len());
                (taken, true, Some(Self::header(header - taken, left - taken, has_data)))
            }
            Self::User { left } => match s7::header_octets(rest, left) {
                Some(header) => Self::S7 { header: header.min(left), left }.step(rest, parameters),
                None => Self::Data { left }.step(rest, parameters),
            },
            Self::S7 { header, left } => {
                let taken = header.min(rest.len());
                (taken, true, Some(Self::s7(header - taken, left - taken)))
            }
            Self::Data { left } => {
                let taken = left.min(rest.len());
                (taken, false, Some(Self::data(left - taken)))
            }
        }
    }

    const fn data(left: usize) -> Self {
        if left == 0 { Self::START } else { Self::Data { left } }
    }

    const fn s7(header: usize, left: usize) -> Self {
        if header == 0 { Self::data(left) } else { Self::S7 { header, left } }
    }

    const fn header(header: usize, left: usize, has_data: bool) -> Self {
        match (header, left) {
            (1.., _) => Self::Header { header, left, has_data },
            (0, 0) => Self::START,
            (0, _) if has_data => Self::Data { left },
            // ISO 8073 6.4: TPDUs without user data may be concatenated before others.
            (0, _) => Self::Indicator { left },
        }
    }
}

/// Returns true if user data may follow the header of such a TPDU.
const fn has_data(kind: Kind) -> bool {
    match kind {
        Kind::Cr | Kind::Cc | Kind::Dr | Kind::Dt | Kind::Ed => true,
        Kind::Dc | Kind::Ak | Kind::Ea | Kind::Rj | Kind::Er => false,
    }
}

impl Plan {
    /// Keeps `range`, which lies after the octets kept so far; the octets between are user data.
    fn keep_more(&mut self, range: Range<usize>) {
        if self.kept_octets < range.start {
            self.blanks.push(self.kept_octets..range.start);
        }
        self.kept_octets = range.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    /// Length of the MAC, IPv4 and TCP headers of a segment.
    const BEFORE: usize = 54;

    /// Segment with these octets from port 102, with this sequence number and these flags.
    fn segment(sequence: u32, flags: u8, data: &[u8]) -> Vec<u8> {
        let length = (40 + data.len()) as u16;
        let mut octets = MAC.to_vec();
        octets.extend([8, 0, 0x45, 0]);
        octets.extend(length.to_be_bytes());
        octets.extend([0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 7, 10, 0, 0, 9, 0, 102, 0x9C, 0x40]);
        octets.extend(sequence.to_be_bytes());
        octets.extend([0, 0, 0, 1, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        octets.extend(data);
        octets
    }

    /// Octets kept of a segment's data.
    fn kept(stripper: &mut Stripper, sequence: u32, data: &[u8]) -> Vec<u8> {
        let mut octets = segment(sequence, 0x18, data);
        let length = octets.len();
        let kept = stripper.strip(Link::Ethernet, &mut octets, length);
        octets.truncate(kept);
        octets.split_off(BEFORE)
    }

    /// TPKT with a DT of `data_octets` octets of user data.
    fn packet(data_octets: usize) -> Vec<u8> {
        let length = (7 + data_octets) as u16;
        let mut octets = vec![3, 0];
        octets.extend(length.to_be_bytes());
        octets.extend([2, 0xF0, 0x80]);
        octets.resize(7 + data_octets, 0xDD);
        octets
    }

    #[test]
    fn the_same_headers_are_kept_wherever_segments_begin() {
        // An AK of class 2 with a DT after it in one packet, between packets with user data.
        let both = [3, 0, 0, 16, 4, 0x60, 0, 1, 5, 4, 0xF0, 0, 1, 0x80, 0xDD, 0xDD];
        let all = [packet(90), packet(1), both.to_vec(), packet(0), packet(40)].concat();
        let expected: Vec<u8> =
            all.iter().map(|octet| if *octet == 0xDD { 0 } else { *octet }).collect();
        for size in 1..all.len() {
            let (mut stripper, mut seen) = (Stripper::new(), Vec::new());
            for (data, number) in all.chunks(size).zip(0_u32..) {
                let mut kept = kept(&mut stripper, 77 + number * size as u32, data);
                kept.resize(data.len(), 0);
                seen.extend(kept);
            }
            assert_eq!(seen, expected, "segments of {size}");
        }
    }

    /// TPKT with a DT of class 0 that holds an S7 acknowledgement with 2 octets of parameters and 6
    /// of data.
    fn answer(reference: u8) -> Vec<u8> {
        let s7 = [0x32, 3, 0, 0, 0, reference, 0, 2, 0, 6, 0, 0];
        [&[3, 0, 0, 27, 2, 0xF0, 0x80][..], &s7, &[0xDD; 8]].concat()
    }

    #[test]
    fn headers_of_s7_are_kept_where_a_segment_holds_them() {
        let (front, whole) = (19, 27);
        let mut stripper = Stripper::new();
        let two = [answer(1), answer(2)].concat();
        let mut expected = [&answer(1)[..front], &[0; 8], &answer(2)[..front]].concat();
        assert_eq!(kept(&mut stripper, 0, &two), expected);
        // The end of one TPKT, and the beginning of the next up to its data length.
        assert_eq!(kept(&mut stripper, 54, &answer(3)[..20]), answer(3)[..front]);
        let rest = [&answer(3)[20..], &answer(4)[..16]].concat();
        expected = [&[0; 7][..], &answer(4)[..7]].concat();
        assert_eq!(kept(&mut stripper, 74, &rest), expected, "a header across two segments");
        // A TPKT in the middle of a stream is recognised by its own headers alone.
        let alone = kept(&mut Stripper::new(), 0, &answer(5));
        assert_eq!((alone.len(), &alone[..]), (front, &answer(5)[..front]));
        assert_eq!(answer(5).len(), whole);
    }

    #[test]
    fn parameters_are_blanked_on_request_wherever_segments_begin() {
        let cr = [3, 0, 0, 22, 17, 0xE0, 0, 0, 0, 1, 0, 0xC1, 2, 9, 9, 0xC2, 2, 9, 9, 0xC0, 1, 10];
        let all = [&cr[..], &answer(1)].concat();
        let expected = [&cr[..6], &[0; 16], &answer(1)[..19]].concat();
        assert_eq!(kept(&mut Stripper::without_parameters(), 0, &all), expected);
        let mut stripper = Stripper::without_parameters();
        assert_eq!(kept(&mut stripper, 0, &all[..12]), cr[..6]);
        assert_eq!(kept(&mut stripper, 12, &all[12..]), expected[12..], "in the middle of a CR");
        assert_eq!(kept(&mut Stripper::new(), 0, &all)[..22], cr, "kept without request");
    }

    #[test]
    fn user_data_that_only_looks_like_s7_is_not_kept() {
        let mut other = answer(1);
        other[16] = 7;
        assert_eq!(kept(&mut Stripper::new(), 0, &other), other[..7], "lengths that do not fit");
        let mut part = answer(1);
        part[6] = 0;
        assert_eq!(kept(&mut Stripper::new(), 0, &part), part[..7], "a DT that ends no TSDU");
        let mut third = answer(1);
        third[8] = 4;
        assert_eq!(kept(&mut Stripper::new(), 0, &third), third[..7], "no ROSCTR");
    }

    #[test]
    fn retransmissions_and_gaps_in_user_data_lose_no_header() {
        let mut stripper = Stripper::new();
        let all = [packet(60), packet(5)].concat();
        assert_eq!(kept(&mut stripper, 0, &all[..20]), all[..7]);
        assert_eq!(kept(&mut stripper, 0, &all[..20]), all[..7], "again");
        // Octets 20 to 39 arrive later: they are user data.
        let rest = kept(&mut stripper, 40, &all[40..]);
        assert_eq!((rest.len(), &rest[27..]), (34, &all[67..74]));
        assert!(kept(&mut stripper, 20, &all[20..40]).is_empty());
        assert_eq!(kept(&mut stripper, 79, &packet(0)), packet(0));
    }

    #[test]
    fn after_a_lost_header_nothing_is_kept_until_a_new_tpkt() {
        let mut stripper = Stripper::new();
        let all = [packet(10), packet(10), packet(3)].concat();
        assert_eq!(kept(&mut stripper, 0, &all[..17]), all[..7]);
        // The second header, 17 to 23, is lost.
        assert!(kept(&mut stripper, 26, &all[26..]).is_empty());
        let again = kept(&mut stripper, 44, &packet(2));
        assert_eq!(again, packet(2)[..7]);
    }

    #[test]
    fn other_streams_and_ends_leave_nothing_behind() {
        let mut stripper = Stripper::new();
        assert!(kept(&mut stripper, 0, b"GET / HTTP/1.1").is_empty());
        assert_eq!(stripper.young.len(), 0);
        kept(&mut stripper, 100, &packet(9)[..12]);
        assert_eq!(stripper.young.len(), 1);
        let mut end = segment(112, 0x11, &[]);
        let length = end.len();
        assert_eq!(stripper.strip(Link::Ethernet, &mut end, length), BEFORE);
        assert_eq!(stripper.young.len(), 0);
    }

    #[test]
    fn random_octets_neither_panic_nor_lengthen_a_frame() {
        let (mut stripper, mut state) = (Stripper::new(), 7_u32);
        let mut draw = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % most
        };
        let all: Vec<u8> = (0..40).flat_map(|number| packet(number * 7)).collect();
        let (mut followed, mut next, length) = (0, 0, all.len() as u32);
        for _ in 0..20_000 {
            // Mostly in order; occasionally from the beginning, or from anywhere.
            let start = match draw(40) {
                0 => draw(length),
                1..=3 => 0,
                _ => next,
            };
            let octets = draw(200).min(length - start);
            next = (start + octets) % length;
            let mut data = all[start as usize..(start + octets) as usize].to_vec();
            // Occasionally a changed octet, another sequence number, a flag, or a truncated end.
            if let Some(octet) = data.get_mut(draw(2_000) as usize) {
                *octet = draw(256) as u8;
            }
            let sequence = if draw(50) == 0 { draw(u32::MAX) } else { start };
            let flags = if draw(50) == 0 { draw(64) as u8 } else { 0x18 };
            let mut frame = segment(sequence, flags, &data);
            let original_octets = frame.len();
            frame.truncate(original_octets - (draw(40) as usize).min(data.len()));
            let kept = stripper.strip(Link::Ethernet, &mut frame, original_octets);
            assert!(kept <= frame.len());
            followed += u32::from(!stripper.young.is_empty());
        }
        assert!(followed > 1_000, "{followed} times the stream was followed");
    }

    #[test]
    fn the_number_of_followed_directions_is_bounded() {
        let mut stripper = Stripper::new();
        for port in 0..30_000_u16 {
            let mut octets = segment(0, 0x18, &packet(9)[..12]);
            octets[36..38].copy_from_slice(&port.to_be_bytes());
            let length = octets.len();
            assert_eq!(stripper.strip(Link::Ethernet, &mut octets, length), BEFORE + 7);
        }
        let followed = stripper.young.len() + stripper.old.len();
        assert!((DIRECTIONS / 2..=DIRECTIONS).contains(&followed), "{followed}");
    }
}
