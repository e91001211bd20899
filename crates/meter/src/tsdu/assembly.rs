//! Assembly of TSDUs from the DTs of a direction, in the order of their numbers.

use super::{Part, Piece};
use std::collections::BTreeMap;
use wire::time::Instant;
use wire::tp::Format;

/// DTs of a direction that wait beyond a hole; with more, the hole is given up.
pub(super) const MOST_AHEAD: usize = 64;

/// Size up to which an empty buffer is kept.
const KEPT_OCTETS: usize = 2_048;

/// DT that waits beyond a hole.
#[derive(Clone, Debug)]
struct Ahead {
    at: Instant,
    ends: bool,
    octets: Vec<u8>,
    length: u64,
}

impl Ahead {
    fn piece(&self) -> Piece<'_> {
        let Self { at, ends, octets, length } = self;
        Piece { at: *at, ends: *ends, octets, length: *length }
    }
}

/// TSDU with its times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<'a> {
    /// Time of the earliest of its DTs.
    pub(crate) began: Instant,
    /// Time of the latest of its DTs.
    pub(crate) at: Instant,
    /// First octets.
    pub(crate) octets: &'a [u8],
    /// Length in octets.
    pub(crate) length: u64,
}

/// TSDU under way of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assembly {
    /// Times of its earliest and its latest DT; none between TSDUs.
    times: Option<(Instant, Instant)>,
    octets: Vec<u8>,
    length: u64,
    /// True if a part was not seen: nothing counts up to the next end.
    is_broken: bool,
    /// Number of the next DT.
    expected: Option<u32>,
    ahead: BTreeMap<u32, Ahead>,
}

impl Assembly {
    /// Octets held.
    pub(crate) fn held_octets(&self) -> usize {
        let ahead: usize = self.ahead.values().map(|ahead| ahead.octets.len()).sum();
        self.octets.len() + ahead
    }

    /// Processes a DT; passes each TSDU that it makes whole, with at most `most` octets.
    #[inline]
    pub(crate) fn take_in(
        &mut self,
        part: &Part<'_>,
        most: usize,
        whole: &mut impl FnMut(Whole<'_>),
    ) {
        let Piece { at, ends, octets, length } = part.piece;
        let is_alone = ends && self.times.is_none() && !self.is_broken && !part.is_broken;
        if is_alone && part.format == Format::Class0 {
            let octets = octets.get(..most).unwrap_or(octets);
            return whole(Whole { began: at, at, octets, length });
        }
        self.take_in_part(part, most, whole);
    }

    fn take_in_part(&mut self, part: &Part<'_>, most: usize, whole: &mut impl FnMut(Whole<'_>)) {
        if part.is_broken && self.ahead.is_empty() {
            self.break_off();
        }
        match part.format {
            Format::Class0 => self.append(part.piece, most, whole),
            Format::Normal | Format::Extended => self.numbered(part, most, whole),
        }
    }

    /// Starts over behind a part that was not seen.
    fn break_off(&mut self) {
        (self.times, self.length, self.is_broken) = (None, 0, true);
        self.octets.clear();
    }

    /// Adds the part that comes next.
    fn append(&mut self, piece: Piece<'_>, most: usize, whole: &mut impl FnMut(Whole<'_>)) {
        let Piece { at, ends, octets, length } = piece;
        if self.is_broken {
            self.is_broken = !ends;
            return;
        }
        if ends && self.times.is_none() {
            let octets = octets.get(..most).unwrap_or(octets);
            return whole(Whole { began: at, at, octets, length });
        }
        let (began, latest) = self.times.unwrap_or((at, at));
        let (began, at) = (began.min(at), latest.max(at));
        self.times = Some((began, at));
        // Nothing is added behind octets that are not there.
        if self.octets.len() as u64 == self.length {
            let room = most.saturating_sub(self.octets.len());
            self.octets.extend_from_slice(octets.get(..room).unwrap_or(octets));
        }
        self.length += length;
        if ends {
            self.times = None;
            let length = core::mem::take(&mut self.length);
            whole(Whole { began, at, octets: &self.octets, length });
            self.octets.clear();
            // A buffer of common size serves the next TSDU too.
            if self.octets.capacity() > KEPT_OCTETS {
                self.octets = Vec::new();
            }
        }
    }

    /// Adds a DT in the order of numbers, with those that waited for it.
    fn numbered(&mut self, part: &Part<'_>, most: usize, whole: &mut impl FnMut(Whole<'_>)) {
        let modulus = part.format.modulus();
        let distance = |from: u32, to: u32| to.wrapping_sub(from) & (modulus - 1);
        let [before, after] = part.expected;
        let mut next = *self.expected.get_or_insert(before);
        if part.number == next && self.ahead.is_empty() {
            self.expected = Some((next + 1) & (modulus - 1));
            return self.append(part.piece, most, whole);
        }
        let Piece { at, ends, octets, length } = part.piece;
        let octets = octets.get(..most).unwrap_or(octets).to_vec();
        self.ahead.insert(part.number, Ahead { at, ends, octets, length });
        while !self.ahead.is_empty() {
            if let Some(ahead) = self.ahead.remove(&next) {
                self.append(ahead.piece(), most, whole);
                next = (next + 1) & (modulus - 1);
                continue;
            }
            // A hole: given up with the numbers, or for want of room.
            let is_given_up = (1..modulus / 2).contains(&distance(next, after));
            if !is_given_up && self.ahead.len() <= MOST_AHEAD {
                break;
            }
            self.break_off();
            let nearest = self.ahead.keys().min_by_key(|number| distance(next, **number));
            next = nearest.copied().unwrap_or(after);
        }
        self.expected = Some(next);
    }
}
