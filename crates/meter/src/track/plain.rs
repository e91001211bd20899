//! DTs and AKs straight over LLC in frames with nothing unusual, read at fixed offsets; and DTs of class 0
//! that a TCP stream carries one to a packet.
//!
//! Most frames are like that, and most are of a connection that was heard a moment ago. Whose they are is
//! remembered by what names it (both stations and DST-REF, or the stream), for as long as no connection comes or
//! goes. All others go through [`wire::dissect`], and so does whatever is odd in any way; both ways count
//! the same, frame by frame.

use super::connection::{Side, other};
use super::remembered::{Tally, Whose};
use super::table::{Found, Key, Party};
use super::transfer::{self, Part, Told};
use super::{Sink, Tracker};
use crate::host::Address;
use crate::measure::{Alike, Sort};
use crate::memo::{Name, Slot};
use crate::sight::Tpdu;
use crate::slab::Place;
use wire::addr::{Mac, Nsap};
use wire::dissect::Link;
use wire::time::Instant;
use wire::tp::{Checksum, Format, Kind, Raw, Reference};

/// LLC of network layer to network layer (ISO), UI; then the network layer that does nothing.
const ABOVE_MAC: [u8; 4] = [0xFE, 0xFE, 0x03, 0x00];
/// Where the TPDU begins: behind MAC addresses, length, LLC and the network layer.
const TPDU_AT: usize = 18;
/// The longest LLC PDU of an 802.3 frame, in octets.
const LONGEST: usize = 1_500;

/// Everything before the parameters of a DT or AK of the normal format.
type Header = [u8; TPDU_AT + 5];

/// A frame that holds one DT or AK, whole but perhaps for user data, over LLC and the inactive network layer.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a> {
    header: &'a Header,
    /// MAC header and LLC PDU, without pad.
    pub(crate) lpdu_octets: usize,
    kind: Kind,
    header_octets: usize,
    /// The TPDU, as much of it as was captured.
    tpdu: &'a [u8],
    /// Octets of user data that were not captured.
    missing_octets: usize,
}

impl<'a> Plain<'a> {
    /// The frame in these octets, if it is such a one.
    #[inline]
    pub(crate) fn of(link: Link, octets: &'a [u8], original_octets: usize) -> Option<Self> {
        let header: &Header = octets.first_chunk()?;
        let length = usize::from(u16::from_be_bytes([header[12], header[13]]));
        if link != Link::Ethernet || header[14..TPDU_AT] != ABOVE_MAC || length > LONGEST {
            return None;
        }
        let lpdu_octets = length + 14;
        let tpdu = octets.get(TPDU_AT..lpdu_octets.min(octets.len()))?;
        let missing_octets = lpdu_octets.saturating_sub(octets.len());
        let header_octets = usize::from(header[TPDU_AT]) + 1;
        let kind = match header[TPDU_AT + 1] {
            0xF0 | 0xF1 if header_octets <= tpdu.len() => Kind::Dt,
            0x60..=0x6F if header_octets == tpdu.len() + missing_octets => Kind::Ak,
            _ => return None,
        };
        // 255 is reserved (ISO 8073 13.2.1).
        let is_plain = (5..=255).contains(&header_octets)
            && (missing_octets == 0 || kind == Kind::Dt && lpdu_octets <= original_octets);
        let plain = Self { header, lpdu_octets, kind, header_octets, tpdu, missing_octets };
        is_plain.then_some(plain)
    }

    /// Whether user data was not captured.
    #[inline]
    pub(crate) const fn is_cut(&self) -> bool {
        self.missing_octets > 0
    }

    /// DST-REF.
    #[inline]
    fn reference(&self) -> Reference {
        Reference(u16::from_be_bytes([self.header[TPDU_AT + 2], self.header[TPDU_AT + 3]]))
    }

    /// What names its connection, as two words.
    #[inline]
    fn name(&self) -> Name {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = *self.header;
        let back =
            u64::from(u32::from_le_bytes([i, j, k, l])) << 16 | u64::from(self.reference().0);
        [u64::from_le_bytes([a, b, c, d, e, f, g, h]), back]
    }

    /// Receiver and sender.
    fn parties(&self) -> [Party; 2] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = *self.header;
        [[a, b, c, d, e, f], [g, h, i, j, k, l]].map(|mac| {
            let address = Address::Station { mac: Mac(mac), nsap: Nsap::default() };
            Party { address, port: 0 }
        })
    }

    /// What a DT says, if it may be read as one.
    #[inline]
    fn part(&self, format: Format) -> Option<Part<'a>> {
        let (number, ends) = self.numbered(format, [5, 8])?;
        let octets = self.tpdu.get(self.header_octets..)?;
        let data_octets = (octets.len() + self.missing_octets) as u64;
        Some(Part { number, ends, octets, data_octets })
    }

    /// What an AK says, likewise.
    #[inline]
    fn told(&self, format: Format) -> Option<Told> {
        let (next, _) = self.numbered(format, [5, 10])?;
        let credit = match self.tpdu.get(8..10) {
            Some(&[high, low]) if format == Format::Extended => u16::from_be_bytes([high, low]),
            _ => u16::from(self.header[TPDU_AT + 1] & 0x0F),
        };
        Some(Told { next, credit, more: (0, false) })
    }

    /// Its number and the bit on top of that, the fixed part having so many octets in the normal and the extended
    /// format, if its parameters are none or a checksum that comes out, as far as that can be told.
    #[inline]
    fn numbered(&self, format: Format, [normal, extended]: [usize; 2]) -> Option<(u32, bool)> {
        let (fixed, shift) = match format {
            Format::Class0 => return None,
            Format::Normal => (normal, 24),
            Format::Extended => (extended, 0),
        };
        if self.header_octets.checked_sub(fixed)? != 0 && !self.has_good_checksum(fixed) {
            return None;
        }
        // The same bit is on top of a number in both formats; seven behind it are a short one.
        let word = match self.tpdu.get(4..8) {
            Some(&[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
            _ => u32::from(self.header[TPDU_AT + 4]) << 24,
        };
        Some(((word & 0x7FFF_FFFF) >> shift, word >> 31 != 0))
    }

    /// Whether behind so many octets of the header stands a checksum, nothing else, and it comes out; of a TPDU that
    /// is not at hand whole that cannot be told.
    #[inline]
    fn has_good_checksum(&self, fixed: usize) -> bool {
        let parameters = self.tpdu.get(fixed..self.header_octets);
        matches!(parameters, Some([0xC3, 2, _, _]))
            && (self.is_cut() || self.raw().sums() == Checksum::Good)
    }

    const fn raw(&self) -> Raw<'a> {
        let Self { kind, header_octets, tpdu, .. } = *self;
        Raw { kind, octets: tpdu, header_octets, offset: 0 }
    }
}

/// Where a side is remembered, and the side, if it was found when so much had come and gone.
#[derive(Clone, Copy, Default)]
pub(crate) struct Recalled {
    slot: Slot,
    found: Option<Found>,
    changes: u64,
}

/// What names the receiver of a direction of a stream: no name of a frame over LLC takes all bits.
const fn name_of(stream: u64) -> Name {
    [stream, u64::MAX]
}

/// The side of a connection of class 0, whose DTs name no reference.
fn of_class_0(whose: Whose) -> Option<Found> {
    (whose.format == Format::Class0).then_some(whose.found)
}

impl Tracker {
    /// Takes notice of a frame if everything about it is plain; whether it was.
    pub(crate) fn plain(&mut self, at: Instant, plain: &Plain<'_>, sink: &mut Sink<'_>) -> bool {
        self.expire(at, sink);
        let name = plain.name();
        let found = self.remember(name, (plain.reference(), || plain.parties()), sink);
        let Some((slot, Whose { found: (place, receiver), format })) = found else { return false };
        let (of, octets) = ((at, other(receiver), format), plain.header_octets as u64);
        if plain.kind == Kind::Dt {
            // What is out of turn goes the long way.
            plain
                .part(format)
                .is_some_and(|part| self.part((slot, place), of, (part, octets), sink))
        } else {
            let Some(told) = plain.told(format) else { return false };
            self.told((slot, place), of, (told, octets), sink);
            true
        }
    }

    /// The connection of class 0 of a direction of a stream, if it is remembered in this place. To be asked for before
    /// it is needed, so that it is at hand then.
    #[inline]
    pub(crate) fn recall(&mut self, stream: u64, slot: Slot) -> Recalled {
        let changes = self.table.changes();
        let whose = self.remembered.find_in(slot, name_of(stream), changes);
        Recalled { slot, found: whose.and_then(of_class_0), changes }
    }

    /// Takes notice of a DT in a packet of a TCP stream (its number, its data, and octets of that which are not at
    /// hand), if it is of a connection of class 0 that is known, and tells where that is remembered; none where it is
    /// not. `stream` is a number that no other direction of a stream ever has, `recalled` what was found by it a
    /// moment ago, and `parties` tells receiver and sender.
    #[inline]
    pub(crate) fn plain_part(
        &mut self,
        (at, stream, recalled): (Instant, u64, Recalled),
        parties: impl FnOnce() -> [Party; 2],
        (number, octets, missing_octets): (u8, &[u8], usize),
        sink: &mut Sink<'_>,
    ) -> Option<Slot> {
        self.expire(at, sink);
        let Recalled { slot, found, changes } = recalled;
        let (slot, (place, receiver)) = match found {
            Some(found) if changes == self.table.changes() => (slot, found),
            _ => self.find_class_0(stream, parties, sink)?,
        };
        let part = Part {
            number: u32::from(number & 0x7F),
            ends: number & 0x80 != 0,
            octets,
            data_octets: (octets.len() + missing_octets) as u64,
        };
        let of = (at, other(receiver), Format::Class0);
        if !self.part((slot, place), of, (part, 3), sink) {
            // The stream has passed it on already.
            self.part_out_of_turn(place, of, (part, 3), sink);
        }
        Some(slot)
    }

    /// The connection of class 0 of a direction of a stream, and where it is remembered from now on.
    fn find_class_0(
        &mut self,
        stream: u64,
        parties: impl FnOnce() -> [Party; 2],
        sink: &mut Sink<'_>,
    ) -> Option<(Slot, Found)> {
        let found = self.remember(name_of(stream), (Reference(0), parties), sink);
        found.and_then(|(slot, whose)| Some((slot, of_class_0(whose)?)))
    }

    /// A DT that a side sent to the one that is remembered, if it is as most are; whether it was. If not, nothing has
    /// happened.
    // Always: where the format is known, much of it falls away.
    #[inline(always)]
    fn part(
        &mut self,
        (slot, place): (Slot, Place),
        of: (Instant, Side, Format),
        (part, header_octets): (Part<'_>, u64),
        sink: &mut Sink<'_>,
    ) -> bool {
        let (at, data_octets) = (of.0, part.data_octets);
        let (connection, heard) = self.table.slab.heard_at(place);
        let Some(finished) = transfer::data_in_turn(connection, of, part, sink) else {
            return false;
        };
        if heard.note(at) {
            self.table.slab.move_up(place, at);
        }
        let all = &mut sink.measures.traffic;
        let class = |octets| self.remembered.class(octets, &all.sizes);
        let classes =
            [class(header_octets + data_octets), class(data_octets), finished.map_or(0, class)];
        let one = Alike::one(classes, header_octets, data_octets, finished.unwrap_or(0));
        let sort = if finished.is_some() { Sort::End } else { Sort::Part };
        self.remembered.add((at, slot), (sort, one), || {
            let (hosts, sides) = (&mut self.hosts.counts, &mut self.sides);
            Tally { hosts, all, sides }
        });
        true
    }

    /// A DT that is not as most are.
    #[cold]
    fn part_out_of_turn(
        &mut self,
        place: Place,
        of: (Instant, Side, Format),
        (part, header_octets): (Part<'_>, u64),
        sink: &mut Sink<'_>,
    ) {
        let (at, side, _) = of;
        let mut tpdu = Tpdu { at, ..Tpdu::plain(Kind::Dt, header_octets, part.data_octets) };
        transfer::data(self.table.get(place), of, part, (&mut tpdu, sink));
        self.count_known(at, (place, side), &tpdu, sink);
    }

    /// An AK that a side sent to the one that is remembered.
    #[inline]
    fn told(
        &mut self,
        (slot, place): (Slot, Place),
        of: (Instant, Side, Format),
        (told, header_octets): (Told, u64),
        sink: &mut Sink<'_>,
    ) {
        let (at, side, _) = of;
        let (connection, heard) = self.table.slab.heard_at(place);
        let is_late = heard.note(at);
        let role = transfer::told(connection, of, told, sink);
        let is_ordinary = !connection.senders[other(side)].data.has_holes();
        let Some(sort) = Sort::of(role).filter(|_| is_ordinary) else {
            let mut tpdu = Tpdu { at, ..Tpdu::plain(Kind::Ak, header_octets, 0) };
            transfer::close_holes(connection, of, (told.next, role), (&mut tpdu, sink));
            return self.count_known(at, (place, side), &tpdu, sink);
        };
        if is_late {
            self.table.slab.move_up(place, at);
        }
        let all = &mut sink.measures.traffic;
        let classes = [self.remembered.class(header_octets, &all.sizes), 0, 0];
        let one = Alike::one(classes, header_octets, 0, 0);
        self.remembered.add((at, slot), (sort, one), || {
            let (hosts, sides) = (&mut self.hosts.counts, &mut self.sides);
            Tally { hosts, all, sides }
        });
    }

    /// The side that goes by this name, and where it is remembered.
    #[inline]
    fn remember(
        &mut self,
        name: Name,
        who: (Reference, impl FnOnce() -> [Party; 2]),
        sink: &mut Sink<'_>,
    ) -> Option<(Slot, Whose)> {
        let changes = self.table.changes();
        if let Some(found) = self.remembered.find(name, changes) {
            return Some(found);
        }
        let (reference, parties) = who;
        let [owner, peer] = parties();
        let key = Key { owner: &owner, peer: &peer, reference };
        let found = self.table.find(&key, &self.hosts)?;
        let (place, side) = found;
        let connection = self.table.get(place);
        let whose = Whose { found, format: connection.format? };
        let ends = [other(side), side].map(|side| connection.senders[side].end().host);
        let all = &mut sink.measures.traffic;
        let tally = Tally { hosts: &mut self.hosts.counts, all, sides: &mut self.sides };
        Some((self.remembered.remember((name, changes), whose, ends, tally), whose))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::oddity::Class;
    use crate::trial::all_told;
    use crate::{Meter, Settings};
    use core::time::Duration;
    use wire::tp::seal;

    fn frame(from: u32, to: u32, nsdu: &[u8], pad: usize) -> Vec<u8> {
        let length = (nsdu.len() + 4) as u16;
        let mut octets = [Mac::local(to).0, Mac::local(from).0].concat();
        octets.extend(length.to_be_bytes());
        octets.extend(ABOVE_MAC);
        octets.extend(nsdu);
        octets.resize(octets.len() + pad, 0);
        octets
    }

    /// A TPDU of one of six connections, three of each format: mostly a DT or AK that fits.
    fn tpdu(draw: &mut Draw, numbers: &mut [[u32; 2]; 6]) -> (usize, u8, Vec<u8>) {
        let (which, side) = (usize::from(draw.octet_below(6)), draw.octet_below(2));
        let reference = [which as u8 + 1, side + 1];
        let extended = which >= 3;
        let option = if extended { 0x42 } else { 0x40 };
        let [_, high, low] = [0, reference[0], 1 - side + 1];
        let header = match draw.octet_below(60) {
            0 => vec![6, 0xE8, 0, 0, reference[0], 1, option],
            1 => vec![6, 0xD8, reference[0], 1, reference[0], 2, option],
            2 => vec![6, 0x80, high, low, reference[0], reference[1], 0],
            3 => vec![5, 0xC0, high, low, reference[0], reference[1]],
            4 => vec![4, 0x10, high, low, 0x80],
            what => {
                let number = &mut numbers[which][usize::from(side)];
                *number += u32::from(what > 8);
                let number = number.wrapping_sub(u32::from(what < 7));
                let is_ak = what % 3 == 0;
                let code = if is_ak { 0x60 | if extended { 0 } else { 7 } } else { 0xF0 };
                let mut header = vec![0, code, high, low];
                let eot = if what % 2 == 0 && !is_ak { 0x80 } else { 0 };
                if extended {
                    header.extend((number & 0x7FFF_FFFF | u32::from(eot) << 24).to_be_bytes());
                    header.extend([0, 9].iter().filter(|_| is_ak));
                } else {
                    header.push(number as u8 & 0x7F | eot);
                }
                if what == 9 && is_ak {
                    header.extend([0x8A, 2, 0, 5]);
                }
                header
            }
        };
        let with_checksum = draw.octet_below(3) == 0;
        let mut octets = header;
        if with_checksum {
            octets.extend([0xC3, 2, 0, 0]);
        }
        octets[0] = octets.len() as u8 - 1;
        if octets[1] & 0xF0 == 0xF0 {
            octets.extend((0..draw.octet_below(200)).map(|octet| octet ^ 0x5A));
        }
        if with_checksum {
            let header_octets = usize::from(octets[0]) + 1;
            seal(&mut octets, header_octets - 2, &[]);
        }
        if draw.octet_below(40) == 0 {
            let place = usize::from(draw.below(octets.len() as u64) as u8);
            octets[place] ^= 1 << draw.octet_below(8);
        }
        (which, side, octets)
    }

    #[test]
    fn the_longest_frame_may_be_plain_and_what_is_no_length_is_not() {
        // A DT of the normal format, as long as 802.3 allows and one octet longer.
        let is_plain = |octets: usize| {
            let nsdu = [&[4, 0xF0, 0, 1, 0x80][..], &vec![7; octets - 9]].concat();
            let octets = frame(1, 2, &nsdu, 0);
            Plain::of(Link::Ethernet, &octets, octets.len()).is_some()
        };
        assert_eq!([1_499, 1_500, 1_501].map(is_plain), [true, true, false]);
        let octets = frame(1, 2, &[4, 0xF0, 0, 1, 0x80], 0);
        assert!(Plain::of(Link::Other(101), &octets, octets.len()).is_none(), "of another link");
    }

    #[test]
    fn a_frame_that_was_cut_may_be_plain_and_one_that_ended_early_is_not() {
        // 100 octets of user data behind 23 of headers, of which 40 were captured.
        let octets = frame(1, 2, &[&[4, 0xF0, 0, 1, 0x80][..], &[7; 100]].concat(), 0);
        let is_plain = |sent| Plain::of(Link::Ethernet, &octets[..63], sent).is_some();
        assert_eq!([123, 122, 63].map(is_plain), [true, false, false]);
    }

    #[test]
    fn plain_frames_count_as_they_do_dissected() {
        let settings = Settings {
            maximum_connections: 5,
            silence: Duration::from_secs(2),
            ..Settings::every(Duration::from_secs(1))
        };
        let [mut ours, mut dissecting] = [0, 1].map(|_| Meter::new(settings.clone()));
        let (mut draw, mut numbers) = (Draw(0x1985_0613), [[0; 2]; 6]);
        let (mut nanos, mut seen, mut taken) = (0, 0, 0);
        for _ in 0..60_000 {
            let (which, side, mut nsdu) = tpdu(&mut draw, &mut numbers);
            if draw.octet_below(30) == 0 {
                nsdu.extend(tpdu(&mut draw, &mut numbers).2);
            }
            let (asker, answerer) = (which as u32 / 2, 10);
            let (from, to) = if side == 0 { (asker, answerer) } else { (answerer, asker) };
            let octets = frame(from, to, &nsdu, usize::from(draw.octet_below(9)));
            let is_cut = draw.octet_below(8) == 0;
            let cut = if is_cut { draw.below(octets.len() as u64) as usize } else { 0 };
            let captured = &octets[..octets.len() - cut];
            nanos += if draw.octet_below(250) == 0 { 900_000_000 } else { 100_000 };
            let at = Instant::from_nanos(nanos);
            let at = ours.tick(at).expect("time runs forwards");
            let plain = Plain::of(Link::Ethernet, captured, octets.len());
            seen += usize::from(plain.is_some());
            if plain.is_some_and(|plain| ours.plain(at, &plain)) {
                taken += 1;
            } else {
                ours.dissect(at, Link::Ethernet, captured, octets.len());
            }
            let at = dissecting.tick(at).expect("time runs forwards");
            dissecting.dissect(at, Link::Ethernet, captured, octets.len());
        }
        println!("seen: {taken} plain frames of {seen} that look plain, of 60000");
        assert!(taken > 5_000 && taken + 5_000 < seen, "{taken} of {seen}");
        let total = ours.clone().finish();
        let all_kinds = [Kind::Dt, Kind::Ak].map(|kind| total.measures.traffic.transport.of(kind));
        assert!(all_kinds.iter().all(|of| of.retransmissions > 100), "{all_kinds:?}");
        assert!(total.oddities.get(Class::Transport, "bad checksum") > 50);
        assert!(ours.tracker.kept() <= ours.connections(), "what is kept goes with its connection");
        let (ours, dissecting) = (all_told(ours), all_told(dissecting));
        let unlike = ours.lines().zip(dissecting.lines()).find(|(ours, other)| ours != other);
        assert_eq!(unlike, None);
        assert_eq!(ours.len(), dissecting.len());
    }
}
