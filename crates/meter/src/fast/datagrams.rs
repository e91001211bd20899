//! Fast path: DTs and AKs over LLC in common frames, read at fixed offsets, and DTs of class 0 that
//! a TCP stream carries one per packet.
//!
//! Most frames are of this form, and most belong to a connection seen a moment ago. Sides are
//! cached by the words that identify them (both stations and DST-REF, or the stream), until a
//! connection is added or removed. All other frames go through [`wire::dissect`]; both paths have
//! identical results, frame by frame.

use super::cache::{Name, Slot};
use super::sides::{SideKey, Totals, Way};
use super::tpdu::{CommonTpdu, Decoded, FRONT_OCTETS};
use crate::host::Address;
use crate::interval::Intervals;
use crate::measure::{Batch, BatchKind};
use crate::observation::Tpdu;
use crate::track::side::other;
use crate::track::table::{Found, Key, Party};
use crate::track::transfer::{self, AkFields, DtFields, Sent};
use crate::track::{Results, Sink, Tracker};
use wire::addr::{Mac, Nsap};
use wire::dissect::Link;
use wire::time::Instant;
use wire::tp::{Format, Kind, Reference};

/// LLC header between network layers (SAP FE, ISO), UI; then the inactive network layer.
const ABOVE_MAC: [u8; 4] = [0xFE, 0xFE, 0x03, 0x00];
/// Offset of the TPDU: after MAC addresses, length, LLC and the network layer.
const TPDU_AT: usize = 18;
/// Octets before the NPDU: a MAC header and an LLC header.
pub(super) const BEFORE_NPDU: u64 = 17;
/// Longest LLC PDU of an 802.3 frame, in octets.
const LONGEST: usize = 1_500;

/// Octets up to the parameters of a DT or AK of the normal format.
type Header = [u8; TPDU_AT + FRONT_OCTETS];

/// Frame with one DT or AK over LLC and the inactive network layer; only user data may be cut.
#[derive(Clone, Copy)]
pub(crate) struct CommonFrame<'a> {
    header: &'a Header,
    /// MAC header and LLC PDU, without pad.
    pub(crate) lpdu_octets: usize,
    pub(super) tpdu: CommonTpdu<'a>,
}

impl<'a> CommonFrame<'a> {
    /// Parses a common frame; none if the frame must be dissected.
    #[inline]
    pub(crate) fn of(link: Link, octets: &'a [u8], original_octets: usize) -> Option<Self> {
        let header: &Header = octets.first_chunk()?;
        let length = usize::from(u16::from_be_bytes([header[12], header[13]]));
        if link != Link::Ethernet || header[14..TPDU_AT] != ABOVE_MAC || length > LONGEST {
            return None;
        }
        let lpdu_octets = length + 14;
        let octets_here = octets.get(TPDU_AT..lpdu_octets.min(octets.len()))?;
        let missing_octets = lpdu_octets.saturating_sub(octets.len());
        let tpdu = CommonTpdu::of(header.last_chunk()?, octets_here, missing_octets)?;
        let is_common = missing_octets == 0 || lpdu_octets <= original_octets;
        is_common.then_some(Self { header, lpdu_octets, tpdu })
    }

    /// Cache name of its connection, as two words.
    #[inline]
    fn name(&self) -> Name {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = *self.header;
        let back =
            u64::from(u32::from_le_bytes([i, j, k, l])) << 16 | u64::from(self.tpdu.reference().0);
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
}

/// Cache name of the receiver of a direction of a stream: no name of a frame has all bits set.
const fn name_of(stream: u64) -> Name {
    [stream, u64::MAX]
}

impl Tracker {
    /// Counts a common frame; returns false, without effect, if it must be dissected.
    pub(crate) fn common_frame(
        &mut self,
        at: Instant,
        frame: &CommonFrame<'_>,
        results: &mut Intervals,
    ) -> bool {
        if self.table.slab.may_have_expired(at) {
            self.evict_silent(at, &mut results.sink());
        }
        let Some((slot, key)) = self.find_or_cache(frame, results) else { return false };
        self.common_tpdu(at, slot, key, &frame.tpdu, results)
    }

    /// Counts a TPDU to the side in a cache slot, whose connection exists; returns false, without
    /// effect, if it must be dissected.
    // Always inline: so the TPDU need not be in memory.
    #[inline(always)]
    pub(super) fn common_tpdu(
        &mut self,
        at: Instant,
        slot: Slot,
        key: SideKey,
        tpdu: &CommonTpdu<'_>,
        results: &mut Intervals,
    ) -> bool {
        let octets = tpdu.header_octets as u64;
        if tpdu.kind == Kind::Dt {
            if let Some(part) = tpdu.dt_fields(key.format) {
                if !self.data(at, slot, key, part, octets, results) {
                    self.data_out_of_turn(at, slot, key, part, octets, &mut results.sink());
                }
                return true;
            }
        } else if let Some(fields) = tpdu.ak_fields(key.format) {
            self.acknowledge(at, slot, key, fields, octets, results);
            return true;
        }
        let (octets, missing_octets) = tpdu.parts();
        self.tpdu_apart(at, slot, key, octets, missing_octets, results)
    }

    /// Counts a TPDU with any parameters to the side in a cache slot, whose connection exists;
    /// returns false, without effect, if it must be dissected.
    // Takes the TPDU in parts: so that of a common frame need not be in memory.
    #[cold]
    #[inline(never)]
    fn tpdu_apart(
        &mut self,
        at: Instant,
        slot: Slot,
        key: SideKey,
        octets: &[u8],
        missing_octets: usize,
        results: &mut Intervals,
    ) -> bool {
        let Some(tpdu) = CommonTpdu::in_nsdu(octets, missing_octets) else { return false };
        let (octets, sink) = (tpdu.header_octets as u64, &mut results.sink());
        match tpdu.decoded(key.format) {
            Some(Decoded::Dt(part)) => self.data_out_of_turn(at, slot, key, part, octets, sink),
            Some(Decoded::Ak(fields)) => {
                let (place, side) = (key.connection.place(), other(key.side));
                let sent = Sent { at, side, format: key.format };
                let mut known = Tpdu { at, ..Tpdu::plain(Kind::Ak, octets, 0) };
                transfer::acknowledge(self.table.get(place), sent, fields, &mut known, sink);
                self.count_batched(slot, (place, side), &known, sink);
            }
            None => return false,
        }
        true
    }

    /// Counts a DT of class 0 of the direction in a cache slot, if its connection is cached there and
    /// the DT is in turn; returns false, without effect, otherwise.
    // Always inline: where the destination is known, much of it is eliminated.
    #[inline(always)]
    pub(super) fn class_0_in_turn(
        &mut self,
        at: Instant,
        slot: Slot,
        part: DtFields<'_>,
        results: &mut impl Results,
    ) -> bool {
        let key = self.recent.side_in(slot);
        let is_known = key.format == Format::Class0 && !self.table.slab.may_have_expired(at);
        is_known && self.data(at, slot, key, part, 3, results)
    }

    /// Counts a DT in a packet of a TCP stream; returns false, without effect, if its connection is
    /// not known. The cache slot is that of the direction; `parties` returns receiver and sender.
    pub(super) fn class_0_dt(
        &mut self,
        at: Instant,
        slot: Slot,
        parties: impl FnOnce() -> [Party; 2],
        part: DtFields<'_>,
        sink: &mut Sink<'_>,
    ) -> bool {
        self.give_up_silent(at, sink);
        self.class_0_in_turn(at, slot, part, sink)
            || self.class_0_apart(at, slot, parties(), part, sink)
    }

    /// Does the same if the connection is not cached or the DT is out of turn.
    #[cold]
    #[inline(never)]
    fn class_0_apart(
        &mut self,
        at: Instant,
        slot: Slot,
        parties: [Party; 2],
        part: DtFields<'_>,
        sink: &mut Sink<'_>,
    ) -> bool {
        let mut key = self.recent.side_in(slot);
        if key.format != Format::Class0 || !self.table.slab.is_valid(key.connection) {
            let found = self.look_up(Reference(0), parties);
            let Some(found) = found.filter(|found| found.format == Format::Class0) else {
                return false;
            };
            key = found;
            self.cache_side(slot, key, sink);
        }
        if !self.data(at, slot, key, part, 3, sink) {
            // The stream has already consumed the packet, so it cannot be dissected again.
            self.data_out_of_turn(at, slot, key, part, 3, sink);
        }
        true
    }

    /// Counts a DT of a packet that was put together from segments; returns false, without effect,
    /// if its connection is not known. `stream` is a number unique to this direction of this stream.
    pub(crate) fn dt_of_stream(
        &mut self,
        at: Instant,
        stream: u64,
        parties: impl FnOnce() -> [Party; 2],
        part: DtFields<'_>,
        sink: &mut Sink<'_>,
    ) -> bool {
        let Self { recent, hosts, sides, .. } = self;
        let all = &mut sink.measures.traffic;
        let slot =
            recent.slot_of(name_of(stream), || Totals { hosts: &mut hosts.counts, all, sides });
        self.class_0_dt(at, slot, parties, part, sink)
    }

    /// Caches a direction of a stream, and returns its slot.
    pub(super) fn cache_way(&mut self, name: Name, way: Way, results: &mut impl Results) -> Slot {
        let all = &mut results.measures().traffic;
        let tally = Totals { hosts: &mut self.hosts.counts, all, sides: &mut self.sides };
        self.recent.insert_way(name, way, tally)
    }

    /// Caches a side in a slot.
    pub(super) fn cache_side(&mut self, slot: Slot, key: SideKey, results: &mut impl Results) {
        let SideKey { connection, side, .. } = key;
        let senders = &self.table.get(connection.place()).senders;
        let ends = [other(side), side].map(|side| senders[side].end().host);
        let all = &mut results.measures().traffic;
        let tally = Totals { hosts: &mut self.hosts.counts, all, sides: &mut self.sides };
        self.recent.set_side(slot, key, ends, tally);
    }

    /// Counts a DT sent to the side in a cache slot, if its connection still exists and the DT is in
    /// turn; returns false, without effect, otherwise.
    // Always inline: where the format is known, much of it is eliminated.
    #[inline(always)]
    fn data(
        &mut self,
        at: Instant,
        slot: Slot,
        key: SideKey,
        part: DtFields<'_>,
        header_octets: u64,
        results: &mut impl Results,
    ) -> bool {
        let data_octets = part.data_octets;
        let Some((connection, heard)) = self.table.slab.valid(key.connection) else {
            return false;
        };
        let sent = Sent { at, side: other(key.side), format: key.format };
        let Some(finished) = transfer::data_in_turn(connection, sent, part, results) else {
            return false;
        };
        let is_empty = data_octets == 0 && finished.is_none();
        if is_empty {
            connection.count_empty(sent.side);
        }
        if heard.note(at) {
            self.table.slab.move_up(key.connection.place(), at);
        }
        let all = &mut results.measures().traffic;
        let class = |octets| self.recent.class(octets, &all.sizes);
        let of_tpdu = class(header_octets + data_octets);
        let of_data = class(data_octets);
        let (kind, of_tsdu) = match finished {
            None if is_empty => (BatchKind::Empty, 0),
            None => (BatchKind::Part, 0),
            // Most TSDUs are one DT.
            Some(octets) if octets == data_octets => (BatchKind::End, of_data),
            Some(octets) => (BatchKind::End, class(octets)),
        };
        let classes = [of_tpdu, of_data, of_tsdu];
        let octets = [header_octets, data_octets, finished.unwrap_or(0)];
        let one = Batch::one(kind, classes, octets);
        self.recent.add(at, slot, one, || {
            let (hosts, sides) = (&mut self.hosts.counts, &mut self.sides);
            Totals { hosts, all, sides }
        });
        true
    }

    /// Counts a DT that came out of turn.
    #[cold]
    #[inline(never)]
    fn data_out_of_turn(
        &mut self,
        at: Instant,
        slot: Slot,
        key: SideKey,
        part: DtFields<'_>,
        header_octets: u64,
        sink: &mut Sink<'_>,
    ) {
        let (place, side) = (key.connection.place(), other(key.side));
        let sent = Sent { at, side, format: key.format };
        let mut tpdu = Tpdu { at, ..Tpdu::plain(Kind::Dt, header_octets, part.data_octets) };
        transfer::data(self.table.get(place), sent, part, &mut tpdu, sink);
        self.count_batched(slot, (place, side), &tpdu, sink);
    }

    /// Counts a processed TPDU that one side sent to the side in a cache slot: in a batch, if it
    /// fits one.
    fn count_batched(&mut self, slot: Slot, from: Found, tpdu: &Tpdu, sink: &mut Sink<'_>) {
        let Some(kind) = BatchKind::of_tpdu(tpdu) else {
            return self.count_known(tpdu.at, from, tpdu, sink);
        };
        let (place, side) = from;
        self.table.slab.touch(place, tpdu.at);
        self.table.get(place).count(side, tpdu);
        let all = &mut sink.measures.traffic;
        let [tsdu_octets, ..] = tpdu.finished_octets;
        let class = |octets| self.recent.class(octets, &all.sizes);
        let Tpdu { header_octets, data_octets, .. } = *tpdu;
        let classes = [header_octets + data_octets, data_octets, tsdu_octets].map(class);
        let one = Batch::one(kind, classes, [header_octets, data_octets, tsdu_octets]);
        self.recent.add(tpdu.at, slot, one, || {
            let (hosts, sides) = (&mut self.hosts.counts, &mut self.sides);
            Totals { hosts, all, sides }
        });
    }

    /// Counts an AK sent to the side in a cache slot.
    #[inline]
    fn acknowledge(
        &mut self,
        at: Instant,
        slot: Slot,
        key: SideKey,
        fields: AkFields,
        header_octets: u64,
        results: &mut Intervals,
    ) {
        let (place, side) = (key.connection.place(), other(key.side));
        let Some((connection, heard)) = self.table.slab.valid(key.connection) else { return };
        let sent = Sent { at, side, format: key.format };
        let is_late = heard.note(at);
        let role = transfer::judge(connection, sent, fields, results);
        let kind = BatchKind::of(role);
        if connection.apart().of(other(side)).data.has_holes() {
            let mut tpdu = Tpdu { at, ..Tpdu::plain(Kind::Ak, header_octets, 0) };
            let sink = &mut results.sink();
            transfer::close_holes(connection, sent, fields.next, role, &mut tpdu, sink);
            return self.count_known(at, (place, side), &tpdu, sink);
        }
        if kind.is_repeated() {
            connection.count_role(side, role);
        }
        if is_late {
            self.table.slab.move_up(place, at);
        }
        let all = &mut results.measures().traffic;
        let classes = [self.recent.class(header_octets, &all.sizes), 0, 0];
        let one = Batch::one(kind, classes, [header_octets, 0, 0]);
        self.recent.add(at, slot, one, || {
            let (hosts, sides) = (&mut self.hosts.counts, &mut self.sides);
            Totals { hosts, all, sides }
        });
    }

    /// Side with this name and its cache slot, looked up and cached if it is not.
    #[inline]
    fn find_or_cache(
        &mut self,
        frame: &CommonFrame<'_>,
        results: &mut Intervals,
    ) -> Option<(Slot, SideKey)> {
        let name = frame.name();
        let known = self.recent.find(name);
        if known.is_some_and(|(_, key)| self.table.slab.is_valid(key.connection)) {
            return known;
        }
        self.cache_side_of(name, frame.tpdu.reference(), frame.parties(), results)
    }

    /// Side under this reference between receiver and sender, if it is known with its format.
    pub(super) fn look_up(
        &mut self,
        reference: Reference,
        [owner, peer]: [Party; 2],
    ) -> Option<SideKey> {
        let key = Key { owner: &owner, peer: &peer, reference };
        let (place, side) = self.table.find(&key, &self.hosts)?;
        let format = self.table.get(place).format?;
        Some(SideKey { connection: self.table.slab.handle(place), side, format })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::fast::Handled;
    use crate::oddity::Class;
    use crate::trial::all_results;
    use crate::{Meter, Settings};
    use core::time::Duration;
    use wire::clnp;
    use wire::tp::seal;

    /// Frame over LLC with this NPDU.
    fn over_llc(from: u32, to: u32, npdu: &[u8], pad: usize) -> Vec<u8> {
        let length = (npdu.len() + 3) as u16;
        let mut octets = [Mac::local(to).0, Mac::local(from).0].concat();
        octets.extend(length.to_be_bytes());
        octets.extend(&ABOVE_MAC[..3]);
        octets.extend(npdu);
        octets.resize(octets.len() + pad, 0);
        octets
    }

    /// Frame over the inactive network layer.
    fn frame(from: u32, to: u32, nsdu: &[u8], pad: usize) -> Vec<u8> {
        over_llc(from, to, &[&[0], nsdu].concat(), pad)
    }

    /// Frame over CLNP, with a router between the stations of some NSAPs.
    fn over_clnp(from: u32, to: u32, nsdu: &[u8], pad: usize) -> Vec<u8> {
        let [to_nsap, from_nsap] = [to, from].map(|n| Nsap::of_station(Mac::local(n)));
        let addresses = [&[10], to_nsap.octets(), &[10], from_nsap.octets()].concat();
        let header_octets = 9 + addresses.len();
        let [high, low] = ((header_octets + nsdu.len()) as u16).to_be_bytes();
        let mut npdu = vec![0x81, header_octets as u8, 1, 30, 0x1C, high, low, 0, 0];
        npdu.extend(addresses);
        clnp::seal(&mut npdu);
        npdu.extend(nsdu);
        over_llc(from.min(9), to.min(9), &npdu, pad)
    }

    /// Some parameters of an AK: one that it may not have, and a checksum that is too short.
    fn ak_parameters(draw: &mut Draw) -> Vec<u8> {
        let which = draw.octet_below(16);
        let subsequence = [0x8A, 2, 0, draw.octet_below(4)];
        let confirmation = [0x8C, 8, 0, 0, 0, draw.octet_below(4), 0, 1, 0, 9];
        let all: [&[u8]; 4] = [&subsequence, &confirmation, &[0x85, 1, 7], &[0xC3, 1, 7]];
        let chosen = all.into_iter().enumerate().filter(|(nth, _)| which >> nth & 1 == 1);
        chosen.flat_map(|(_, parameter)| parameter.to_vec()).collect()
    }

    /// TPDU of one of six connections, three of each format: mostly a DT or AK that is in turn.
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
                let is_ak = what % 3 == 0;
                let is_ordered = is_ak && what % 2 == 1;
                *number += u32::from(what > 8 && !is_ordered);
                let number = number.wrapping_sub(u32::from(what < 7));
                let credit = if extended { 0 } else { 6 + draw.octet_below(2) };
                let code = if is_ak { 0x60 | credit } else { 0xF0 };
                let mut header = vec![0, code, high, low];
                let eot = if what % 2 == 0 && !is_ak { 0x80 } else { 0 };
                if extended {
                    header.extend((number & 0x7FFF_FFFF | u32::from(eot) << 24).to_be_bytes());
                    header.extend([0, 9].iter().filter(|_| is_ak));
                } else {
                    header.push(number as u8 & 0x7F | eot);
                }
                if is_ordered {
                    header.extend(ak_parameters(draw));
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
    fn a_frame_of_the_longest_length_is_common_and_a_longer_is_not() {
        // A DT of the normal format, as long as 802.3 allows and one octet longer.
        let is_common = |octets: usize| {
            let nsdu = [&[4, 0xF0, 0, 1, 0x80][..], &vec![7; octets - 9]].concat();
            let octets = frame(1, 2, &nsdu, 0);
            CommonFrame::of(Link::Ethernet, &octets, octets.len()).is_some()
        };
        assert_eq!([1_499, 1_500, 1_501].map(is_common), [true, true, false]);
        let octets = frame(1, 2, &[4, 0xF0, 0, 1, 0x80], 0);
        assert!(
            CommonFrame::of(Link::Other(101), &octets, octets.len()).is_none(),
            "of another link"
        );
    }

    #[test]
    fn a_cut_frame_may_be_common_and_one_that_ended_early_is_not() {
        // 100 octets of user data behind 23 of headers, of which 40 were captured.
        let octets = frame(1, 2, &[&[4, 0xF0, 0, 1, 0x80][..], &[7; 100]].concat(), 0);
        let is_common = |sent| CommonFrame::of(Link::Ethernet, &octets[..63], sent).is_some();
        assert_eq!([123, 122, 63].map(is_common), [true, false, false]);
    }

    #[test]
    fn common_frames_count_as_they_do_dissected() {
        let settings = Settings {
            maximum_connections: 5,
            silence: Duration::from_secs(2),
            ..Settings::every(Duration::from_secs(1))
        };
        let [mut ours, mut dissecting] = [0, 1].map(|_| Meter::new(settings.clone()));
        let (mut draw, mut numbers) = (Draw(0x1985_0613), [[0; 2]; 6]);
        let (mut nanos, mut seen, mut taken) = (0, 0, 0_u64);
        for _ in 0..60_000 {
            let (which, side, mut nsdu) = tpdu(&mut draw, &mut numbers);
            if draw.octet_below(30) == 0 {
                nsdu.extend(tpdu(&mut draw, &mut numbers).2);
            }
            let (asker, answerer) = (which as u32 / 2, 10);
            let (from, to) = if side == 0 { (asker, answerer) } else { (answerer, asker) };
            let pad = usize::from(draw.octet_below(9));
            let mut octets = if asker == 1 {
                over_clnp(from, to, &nsdu, pad)
            } else {
                frame(from, to, &nsdu, pad)
            };
            if draw.octet_below(9) == 0 {
                octets.splice(12..12, [0x81, 0, 0, 5]);
            }
            let is_cut = draw.octet_below(8) == 0;
            let cut = if is_cut { draw.below(octets.len() as u64) as usize } else { 0 };
            let captured = &octets[..octets.len() - cut];
            nanos += if draw.octet_below(250) == 0 { 900_000_000 } else { 100_000 };
            let at = Instant::from_nanos(nanos);
            let at = ours.tick(at).expect("time runs forwards");
            let frame = CommonFrame::of(Link::Ethernet, captured, octets.len());
            seen += u64::from(frame.is_some());
            if frame.is_some_and(|it| matches!(ours.common_frame(at, &it), Handled::Yes)) {
                taken += 1;
            } else {
                ours.plain_segment(at, Link::Ethernet, captured, octets.len());
            }
            let at = dissecting.tick(at).expect("time runs forwards");
            dissecting.dissect(at, Link::Ethernet, captured, octets.len());
        }
        let over_clnp = ours.paths().common - taken;
        println!("seen: {taken} common frames of {seen} that look common, {over_clnp} over CLNP");
        assert!(taken > 5_000 && taken + 500 < seen && over_clnp > 3_000, "{taken} of {seen}");
        let total = ours.clone().finish();
        let all_kinds = [Kind::Dt, Kind::Ak].map(|kind| total.measures.traffic.transport.of(kind));
        assert!(all_kinds.iter().all(|of| of.retransmissions > 100), "{all_kinds:?}");
        assert!(total.oddities.get(Class::Transport, "bad checksum") > 50);
        assert!(
            ours.tracker.kept() <= ours.connections(),
            "counters are removed with their connection"
        );
        let (ours, dissecting) = (all_results(ours), all_results(dissecting));
        let unlike = ours.lines().zip(dissecting.lines()).find(|(ours, other)| ours != other);
        assert_eq!(unlike, None);
        assert_eq!(ours.len(), dissecting.len());
    }
}
