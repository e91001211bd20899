//! Pairs of frames of PRP and HSR (IEC 62439-3): the two that a node sends with one number.
//!
//! ```text
//! frame ── number seen within 400 ms? ── no: the first, which is followed without its mark
//!                                     └─ yes: its partner, or one more copy: not followed
//! ```
//!
//! A frame without a partner within 400 ms, the time for which nodes remember numbers
//! (EntryForgetTime), is a lone one: the other LAN, or the other direction of the ring, lost it. A frame
//! waits for twice the longest skew of the node, and for 1 ms at least: frames that came within this time
//! of the first or the last one of the node are not judged, because the partner may be outside what was
//! seen.
//!
//! Memory: a place for each number modulo a power of two, up to 8,192 a node and 2^21 of all. A number
//! whose place is taken while it waits is not judged.

use super::frame::{Detail, Frame, Number};
use super::station::Station;
use super::{Cyclic, DETAILED, Protocol};
use crate::measure::{Distribution, Summary};
use crate::oddity::Oddities;
use wire::prp::{Lan, Marked, Redundancy};
use wire::time::Instant;

/// Time within which a frame has a partner.
const FORGET_NS: u64 = 400_000_000;
/// Least time for which a frame waits for its partner.
const WAIT_NS: u64 = 1_000_000;
/// Least and greatest number of places for numbers of a node.
const PLACES: [usize; 2] = [64, 8_192];
/// Maximum number of places of all nodes.
const ALL_PLACES: usize = 1 << 21;

/// Frames of a node on both LANs, or in both directions of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Pairs {
    /// Frames on LAN A, copies included.
    pub on_a: u64,
    /// Frames on LAN B.
    pub on_b: u64,
    /// Pairs: the frame came on both.
    pub pairs: u64,
    /// Frames that came on LAN A only.
    pub lone_a: u64,
    /// Frames that came on LAN B only.
    pub lone_b: u64,
    /// Frames that came again on the same LAN.
    pub repeated: u64,
    /// Pairs of which the frame on LAN A came first.
    pub a_first: u64,
    /// Times between the frames of a pair.
    pub skews: Summary,
}

impl Pairs {
    /// Counts a lone frame.
    const fn lose(&mut self, lan: Lan) {
        match lan {
            Lan::A => self.lone_a += 1,
            Lan::B => self.lone_b += 1,
        }
    }

    /// Frames that came on one LAN only; none if the tap sees only one of them.
    #[must_use]
    pub const fn lone(&self) -> Option<u64> {
        if self.on_a == 0 || self.on_b == 0 { None } else { Some(self.lone_a + self.lone_b) }
    }
}

/// Frame that is remembered.
#[derive(Clone, Copy, Debug)]
struct Remembered {
    at: Instant,
    sequence: u16,
    lan: Lan,
    has_partner: bool,
}

/// Pairs in the making.
#[derive(Clone, Default, Debug)]
pub(super) struct Pairing {
    /// A power of two of places, by the lowest bits of the number.
    places: Vec<Option<Remembered>>,
    counts: Pairs,
    skews: Option<Box<Distribution>>,
    longest_ns: u64,
    /// Times of the first and of the last frame.
    span: Option<[Instant; 2]>,
}

impl Pairing {
    /// Number of places.
    pub(super) const fn places(&self) -> usize {
        self.places.len()
    }

    pub(super) fn report(&self) -> Option<Pairs> {
        let skews = self.skews.as_deref().map(Distribution::summary).unwrap_or_default();
        let mut counts = Pairs { skews, ..self.counts };
        for it in self.places.iter().flatten().filter(|it| self.is_lone(it)) {
            counts.lose(it.lan);
        }
        (counts.on_a + counts.on_b > 0).then_some(counts)
    }

    /// True if a frame is without a partner that could have been seen.
    fn is_lone(&self, frame: &Remembered) -> bool {
        let Some([first, last]) = self.span.map(|span| span.map(Instant::as_nanos)) else {
            return false;
        };
        let wait_ns = WAIT_NS.max(self.longest_ns.saturating_mul(2));
        let at = frame.at.as_nanos();
        let is_judged = at >= first.saturating_add(wait_ns) && at.saturating_add(wait_ns) < last;
        is_judged && !frame.has_partner
    }

    /// Adds a frame. Returns true if it is the first of its number. `all` counts the places of all nodes.
    fn add(&mut self, at: Instant, marked: &Marked<'_>, has_room: bool, all: &mut usize) -> bool {
        let Marked { lan, sequence, .. } = *marked;
        match lan {
            Lan::A => self.counts.on_a += 1,
            Lan::B => self.counts.on_b += 1,
        }
        let [first, last] = self.span.unwrap_or([at, at]);
        self.span = Some([first, last.max(at)]);
        let is_young =
            |it: &Remembered| at.as_nanos().saturating_sub(it.at.as_nanos()) <= FORGET_NS;
        if self.places.is_empty() {
            self.grow(all);
        }
        loop {
            match self.at(sequence).copied() {
                Some(known) if known.sequence == sequence && is_young(&known) => {
                    self.again(at, lan, &known, has_room);
                    return false;
                }
                Some(known) if is_young(&known) && self.grow(all) => {}
                Some(known) => {
                    if self.is_lone(&known) {
                        self.counts.lose(known.lan);
                    }
                    break;
                }
                None => break,
            }
        }
        self.put(Remembered { at, sequence, lan, has_partner: false });
        true
    }

    /// Frame in the place of a number.
    fn at(&self, sequence: u16) -> Option<&Remembered> {
        let place = usize::from(sequence) & self.places.len().wrapping_sub(1);
        self.places.get(place)?.as_ref()
    }

    fn put(&mut self, frame: Remembered) {
        let place = usize::from(frame.sequence) & self.places.len().wrapping_sub(1);
        if let Some(free) = self.places.get_mut(place) {
            *free = Some(frame);
        }
    }

    /// Doubles the places; returns false if there are as many as there may be.
    fn grow(&mut self, all: &mut usize) -> bool {
        let [least, most] = PLACES;
        let length = (self.places.len() * 2).max(least);
        let more = length - self.places.len();
        if length > most || *all + more > ALL_PLACES {
            return false;
        }
        *all += more;
        let frames = core::mem::replace(&mut self.places, vec![None; length]);
        frames.into_iter().flatten().for_each(|frame| self.put(frame));
        true
    }

    /// Counts a frame of which the number is known.
    fn again(&mut self, at: Instant, lan: Lan, known: &Remembered, has_room: bool) {
        if known.lan == lan || known.has_partner {
            self.counts.repeated += 1;
            return;
        }
        self.put(Remembered { has_partner: true, ..*known });
        let skew_ns = at.as_nanos().saturating_sub(known.at.as_nanos());
        self.longest_ns = self.longest_ns.max(skew_ns);
        self.counts.pairs += 1;
        self.counts.a_first += u64::from(lan == Lan::B);
        if self.skews.is_none() && has_room {
            self.skews = Some(Box::default());
        }
        if let Some(skews) = &mut self.skews {
            skews.record_nanos(skew_ns);
        }
    }
}

impl Cyclic {
    /// Observes the mark of a frame. Returns true if the frame is the first of its number, so that its
    /// contents count.
    pub(crate) fn redundant(
        &mut self,
        at: Instant,
        marked: &Marked<'_>,
        octets: u64,
        oddities: &mut Oddities,
    ) -> bool {
        let (protocol, name): (_, &'static [u8]) = match marked.redundancy {
            Redundancy::Prp => (Protocol::Prp, b"both LANs"),
            Redundancy::Hsr => (Protocol::Hsr, b"both ways"),
        };
        let frame = Frame {
            protocol,
            ends: [Station::Lan(marked.source); 2],
            octets,
            name,
            // Numbers that lack here are no losses: a tap does not see all that a node sends.
            number: Number::Index(marked.sequence as u8),
            // A node sends when it has something to send.
            is_periodic: false,
            allowed_ns: Some(0),
            detail: Detail::None,
            ..Frame::EMPTY
        };
        let Some(place) = self.place(at, &frame, oddities) else { return true };
        let has_room = self.index.len() <= DETAILED;
        let making = self.slab.at(place).making.get_or_insert_default();
        if making.pairing.add(at, marked, has_room, &mut self.remembered) {
            self.add(place, at, &frame, None);
            return true;
        }
        self.slab.at(place).report.copies += 1;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::addr::Mac;

    fn add(pairing: &mut Pairing, micros: u64, sequence: u16, lan: Lan, all: &mut usize) -> bool {
        let (redundancy, source) = (Redundancy::Prp, Mac([2; 6]));
        let marked = Marked { redundancy, lan, sequence, source, front: &[], back: &[] };
        pairing.add(Instant::from_nanos(micros * 1_000), &marked, true, all)
    }

    #[test]
    fn partners_outside_what_was_seen_are_not_lost() {
        let (mut pairing, mut all) = (Pairing::default(), 0);
        // 4,000 frames a second, LAN B 3 ms behind: the first twelve of A were not seen.
        for n in 0..4_000_u16 {
            if n >= 12 {
                assert!(add(&mut pairing, u64::from(n) * 250, n, Lan::A, &mut all));
            }
            let is_first = add(&mut pairing, u64::from(n) * 250 + 3_000, n, Lan::B, &mut all);
            assert_eq!(is_first, n < 12);
        }
        let pairs = pairing.report().unwrap();
        assert_eq!([pairs.pairs, pairs.lone_a, pairs.lone_b, pairs.repeated], [3_988, 0, 0, 0]);
        // 1,600 of them are young.
        assert_eq!((all, pairing.places()), (2_048, 2_048));
    }

    #[test]
    fn places_of_all_nodes_are_bounded() {
        let mut all = ALL_PLACES;
        let mut pairing = Pairing::default();
        for n in 0..100 {
            assert!(add(&mut pairing, n, n as u16, Lan::A, &mut all));
        }
        assert_eq!((all, pairing.places()), (ALL_PLACES, 0));
        assert_eq!(pairing.report().unwrap().lone(), None);
    }
}
