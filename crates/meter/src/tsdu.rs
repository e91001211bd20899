//! Whole TSDUs, or their first octets, for followers of the layers above transport.
//!
//! Opt-in: [`Meter::pass_tsdus`](crate::Meter::pass_tsdus) names the applications whose TSDUs are
//! wanted. A connection that is not recognised yet may be one of them, so its first TSDUs are
//! collected too. Octets of DTs are copied once, in the order of their numbers, each once however
//! often it was sent. Memory is bounded: beyond the limit the TSDU that grew least recently is
//! given up, and counted.
//!
//! Left out: expedited data, and user data of CR, CC and DR.

mod assembly;

pub(crate) use assembly::{Assembly, Whole};

use crate::track::side::Side;
use crate::user::User;
use std::collections::{BTreeMap, VecDeque};
use wire::time::Instant;
use wire::tp::Format;

/// Memory that a direction takes in addition to its octets, rounded up.
const DIRECTION_OCTETS: usize = 256;

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

/// TSDU under way of a direction.
#[derive(Clone, Debug, Default)]
struct Open {
    assembly: Assembly,
    /// Place in the order of last use.
    used: u64,
}

impl Open {
    fn cost(&self) -> usize {
        DIRECTION_OCTETS + self.assembly.held_octets()
    }
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
        let (done, done_octets) = (&mut self.done, &mut self.done_octets);
        open.assembly.take_in(part, most, &mut |whole| {
            let Whole { began, at, octets, length } = whole;
            *done_octets += DIRECTION_OCTETS + octets.len();
            let octets = octets.to_vec();
            done.push_back(Tsdu { connection, side, began, at, octets, length });
        });
        self.open_octets = self.open_octets + open.cost() - before;
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
