//! Whole TSDUs, or their first octets, for followers of the layers above transport.
//!
//! Opt-in: [`Meter::pass_tsdus`](crate::Meter::pass_tsdus) names the applications whose TSDUs are
//! wanted. A connection that is not recognised yet may be one of them, so its first TSDUs are
//! collected too. Octets of DTs are copied once, in the order of their numbers, each once however
//! often it was sent. Memory is bounded: beyond the limit the TSDU that grew least recently is
//! given up, and counted.
//!
//! Left out: expedited data, and user data of CR, CC and DR.

use crate::track::side::Side;
use crate::user::User;
use std::collections::{BTreeMap, VecDeque};
use wire::time::Instant;
use wire::tp::Format;

/// Memory that a direction takes in addition to its octets, rounded up.
const DIRECTION_OCTETS: usize = 256;
/// DTs of a direction that wait beyond a hole; with more, the hole is given up.
const MOST_AHEAD: usize = 64;

/// Bounds of the memory for TSDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TsduLimits {
    /// Octets kept of a TSDU; the rest is only counted.
    pub octets_each: usize,
    /// Octets of all TSDUs, under way and not yet taken.
    pub octets_total: usize,
}

/// TSDU of which every DT was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tsdu {
    /// Number of the connection, as in [`Connection`](crate::Connection).
    pub connection: u32,
    /// Side that sent it: 0 for the initiator, or the first that was seen.
    pub side: usize,
    /// Time of the earliest of its DTs.
    pub began: Instant,
    /// Time of the latest of its DTs, which made it whole.
    pub at: Instant,
    /// First octets, as far as the limit and the capture allow.
    pub octets: Vec<u8>,
    /// Length in octets.
    pub length: u64,
}

impl Tsdu {
    /// True if every octet is there.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.octets.len() as u64 == self.length
    }
}

/// DT seen for the first time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// Numbers of the direction; class 0 keeps the order without them.
    pub(crate) format: Format,
    pub(crate) number: u32,
    /// Number expected before this DT, and after it: all numbers below were seen or given up.
    pub(crate) expected: [u32; 2],
    /// True if a part of the TSDU under way before this DT was not seen.
    pub(crate) is_broken: bool,
    pub(crate) piece: Piece<'a>,
}

/// Part of a TSDU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) at: Instant,
    /// True if it ends the TSDU.
    pub(crate) ends: bool,
    /// Octets, as far as available.
    pub(crate) octets: &'a [u8],
    /// Octets, unavailable ones included.
    pub(crate) length: u64,
}

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

/// TSDU under way of a direction.
#[derive(Clone, Debug, Default)]
struct Open {
    /// Times of its earliest and its latest DT; none between TSDUs.
    times: Option<(Instant, Instant)>,
    octets: Vec<u8>,
    length: u64,
    /// True if a part was not seen: nothing counts up to the next end.
    is_broken: bool,
    /// Number of the next DT.
    expected: Option<u32>,
    ahead: BTreeMap<u32, Ahead>,
    /// Place in the order of last use.
    used: u64,
}

impl Open {
    fn cost(&self) -> usize {
        let ahead: usize = self.ahead.values().map(|ahead| ahead.octets.len()).sum();
        DIRECTION_OCTETS + self.octets.len() + ahead
    }

    /// Starts over behind a part that was not seen.
    fn break_off(&mut self) {
        (self.times, self.length, self.is_broken) = (None, 0, true);
        self.octets.clear();
    }

    /// Adds the part that comes next; returns its TSDU if it ends one.
    fn append(&mut self, piece: Piece<'_>, most: usize) -> Option<Whole> {
        let Piece { at, ends, octets, length } = piece;
        if self.is_broken {
            self.is_broken = !ends;
            return None;
        }
        let (began, latest) = self.times.unwrap_or((at, at));
        let (began, at) = (began.min(at), latest.max(at));
        self.times = Some((began, at));
        // Nothing is added behind octets that are not there.
        if self.octets.len() as u64 == self.length {
            let room = most.saturating_sub(self.octets.len());
            self.octets.extend(octets.iter().take(room));
        }
        self.length += length;
        ends.then(|| {
            self.times = None;
            let octets = core::mem::take(&mut self.octets);
            Whole { began, at, octets, length: core::mem::take(&mut self.length) }
        })
    }

    /// Adds a DT in the order of numbers, with those that waited for it.
    fn numbered(&mut self, part: &Part<'_>, most: usize) -> Vec<Whole> {
        let modulus = part.format.modulus();
        let distance = |from: u32, to: u32| to.wrapping_sub(from) & (modulus - 1);
        let [before, after] = part.expected;
        let mut next = *self.expected.get_or_insert(before);
        let Piece { at, ends, octets, length } = part.piece;
        let octets = octets.get(..most).unwrap_or(octets).to_vec();
        self.ahead.insert(part.number, Ahead { at, ends, octets, length });
        let mut whole = Vec::new();
        while !self.ahead.is_empty() {
            if let Some(ahead) = self.ahead.remove(&next) {
                whole.extend(self.append(ahead.piece(), most));
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
        whole
    }
}

/// TSDU with its times.
#[derive(Clone, Debug)]
struct Whole {
    began: Instant,
    at: Instant,
    octets: Vec<u8>,
    length: u64,
}

/// Direction of a connection.
type Key = (u32, Side);

/// TSDUs under way, and those not yet taken.
#[derive(Clone, Debug)]
pub(crate) struct Tsdus {
    limits: TsduLimits,
    wanted: fn(User) -> bool,
    open: BTreeMap<Key, Open>,
    /// Directions in the order of last use.
    order: BTreeMap<u64, Key>,
    clock: u64,
    /// Memory of the directions, and of the TSDUs not yet taken.
    open_octets: usize,
    done_octets: usize,
    done: VecDeque<Tsdu>,
    given_up: u64,
}

impl Tsdus {
    pub(crate) fn new(wanted: fn(User) -> bool, limits: TsduLimits) -> Self {
        let (open, order, done) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        let (clock, open_octets, done_octets, given_up) = (0, 0, 0, 0);
        Self { limits, wanted, open, order, clock, open_octets, done_octets, done, given_up }
    }

    /// True if TSDUs of this application are wanted.
    pub(crate) fn wants(&self, user: User) -> bool {
        (self.wanted)(user)
    }

    /// Processes a DT of a direction.
    pub(crate) fn take_in(&mut self, connection: u32, side: Side, part: &Part<'_>) {
        let key = (connection, side);
        let most = self.limits.octets_each;
        self.clock += 1;
        let open = self.open.entry(key).or_default();
        let before = if open.used == 0 { 0 } else { open.cost() };
        self.order.remove(&open.used);
        open.used = self.clock;
        self.order.insert(self.clock, key);
        if part.is_broken && open.ahead.is_empty() {
            open.break_off();
        }
        let whole = match part.format {
            Format::Class0 => open.append(part.piece, most).into_iter().collect(),
            Format::Normal | Format::Extended => open.numbered(part, most),
        };
        self.open_octets = self.open_octets + open.cost() - before;
        for Whole { began, at, octets, length } in whole {
            self.done_octets += DIRECTION_OCTETS + octets.len();
            self.done.push_back(Tsdu { connection, side, began, at, octets, length });
        }
        self.make_room();
    }

    /// Gives up what exceeds the limit: TSDUs under way first, then those not taken.
    fn make_room(&mut self) {
        while self.open_octets + self.done_octets > self.limits.octets_total {
            if self.order.len() > 1
                && let Some((_, key)) = self.order.pop_first()
            {
                self.remove(key);
                self.given_up += 1;
            } else if self.take().is_some() {
                self.given_up += 1;
            } else {
                break;
            }
        }
    }

    fn remove(&mut self, key: Key) {
        if let Some(open) = self.open.remove(&key) {
            self.order.remove(&open.used);
            self.open_octets -= open.cost();
        }
    }

    /// Forgets the TSDUs under way of a connection.
    pub(crate) fn forget(&mut self, connection: u32) {
        [0, 1].into_iter().for_each(|side| self.remove((connection, side)));
    }

    /// Takes the oldest TSDU.
    pub(crate) fn take(&mut self) -> Option<Tsdu> {
        let tsdu = self.done.pop_front()?;
        self.done_octets -= DIRECTION_OCTETS + tsdu.octets.len();
        Some(tsdu)
    }

    /// Directions and TSDUs that were given up for want of room.
    pub(crate) const fn given_up(&self) -> u64 {
        self.given_up
    }
}

#[cfg(test)]
mod tests;
