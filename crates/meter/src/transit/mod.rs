//! One-way transit of TPDUs between two taps of the same traffic.
//!
//! A TPDU is known again at the other tap by its addresses, its header and the length of its data.
//! Copies of it (retransmissions, window timers) are told apart by their order: the first at one tap
//! is the first at the other. Where the taps saw it a different number of times one copy was lost
//! between them or was not captured, nobody can say which, and none of them is matched. So a
//! retransmission is never taken for the original.
//!
//! What is found is the difference of two clocks' readings; [`clock`] makes transit of it.
//!
//! Bias: copies of which one was lost and another doubled between the taps are matched wrongly.
//! Left out: TPDUs in TCP streams and in CLNP segments, which a path may cut anew, and frames beyond
//! the limits, which are counted.

pub mod clock;

use crate::host::Address;
use clock::{Clocks, Reading};
use std::collections::{BTreeMap, VecDeque};
use wire::dissect::{Link, levels};
use wire::time::Instant;
use wire::tp;

/// Which of the two taps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tap {
    /// The one whose clock is the reference.
    Near,
    /// The other.
    Far,
}

/// What a TPDU is known again by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Name {
    ends: [u32; 2],
    data_octets: usize,
    header: Box<[u8]>,
}

/// The copies of a TPDU: when each tap saw which.
#[derive(Clone, Debug, Default)]
struct Copies {
    seen: [Vec<Instant>; 2],
}

/// How many TPDUs were matched, and why others were not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Matching {
    /// TPDUs that the near tap saw, and the far one.
    pub tpdus: [u64; 2],
    /// Pairs: the same copy at both taps.
    pub matched: u64,
    /// Copies that one tap alone saw, all of them: lost between the taps or not captured.
    pub unmatched: [u64; 2],
    /// Copies of TPDUs that the taps saw a different number of times, each at least once: which of
    /// them are pairs cannot be told.
    pub ambiguous: [u64; 2],
    /// Pairs beyond the limit, which were not kept.
    pub beyond: u64,
}

/// The limits on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// TPDUs whose copies wait for each other. The oldest is settled when there are more.
    pub waiting: usize,
    /// Pairs that are kept.
    pub pairs: usize,
}

impl Limits {
    /// A quarter of a million TPDUs that wait, a million pairs: less than 100 MB.
    pub const USUAL: Self = Self { waiting: 1 << 18, pairs: 1 << 20 };
}

/// Matches what two taps see of the same traffic.
#[derive(Clone, Debug)]
pub struct Transit {
    limits: Limits,
    addresses: BTreeMap<Address, u32>,
    copies: BTreeMap<Name, Copies>,
    /// In the order in which they were first seen.
    order: VecDeque<Name>,
    matching: Matching,
    pairs: Vec<Pair>,
}

/// The same copy at both taps.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ends: [u32; 2],
    near: Instant,
    /// What the far tap's clock said less what the near one's did, in nanoseconds.
    difference_ns: i64,
}

impl Transit {
    /// Nothing seen yet.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            addresses: BTreeMap::new(),
            copies: BTreeMap::new(),
            order: VecDeque::new(),
            matching: Matching {
                tpdus: [0; 2],
                matched: 0,
                unmatched: [0; 2],
                ambiguous: [0; 2],
                beyond: 0,
            },
            pairs: Vec::new(),
        }
    }

    /// Takes notice of a frame at a tap. Each tap's frames come in the order of its clock; which tap
    /// comes first does not matter as long as no more TPDUs lie between than may wait.
    pub fn observe(
        &mut self,
        tap: Tap,
        at: Instant,
        link: Link,
        octets: &[u8],
        original_octets: usize,
    ) {
        let Ok(nsdu) = levels(link, octets, original_octets).nsdu else { return };
        if nsdu.segment.is_some() {
            return;
        }
        let station = |mac, nsap| Address::Station { mac, nsap };
        let ends = [
            self.number(station(nsdu.source, nsdu.source_nsap)),
            self.number(station(nsdu.destination, nsdu.destination_nsap)),
        ];
        let whole = nsdu.octets.len() + nsdu.missing_octets;
        for raw in tp::tpdus(nsdu.octets).map_while(Result::ok) {
            // The last TPDU of an NSDU goes to its end, captured or not.
            let goes_to_the_end = raw.offset + raw.octets.len() == nsdu.octets.len();
            let octets = if goes_to_the_end { whole - raw.offset } else { raw.octets.len() };
            let data_octets = octets.saturating_sub(raw.header_octets);
            self.tpdu(tap, at, Name { ends, data_octets, header: raw.header().into() });
        }
    }

    fn number(&mut self, address: Address) -> u32 {
        let next = self.addresses.len() as u32;
        // Hosts beyond the limit are one, which their TPDUs' headers still tell apart.
        if self.addresses.len() >= self.limits.waiting {
            return self.addresses.get(&address).copied().unwrap_or(u32::MAX);
        }
        *self.addresses.entry(address).or_insert(next)
    }

    fn tpdu(&mut self, tap: Tap, at: Instant, name: Name) {
        self.matching.tpdus[tap as usize] += 1;
        if let Some(copies) = self.copies.get_mut(&name) {
            copies.seen[tap as usize].push(at);
            return;
        }
        if self.order.len() >= self.limits.waiting
            && let Some(oldest) = self.order.pop_front()
        {
            self.settle(&oldest);
        }
        let mut copies = Copies::default();
        copies.seen[tap as usize].push(at);
        self.order.push_back(name.clone());
        self.copies.insert(name, copies);
    }

    /// Pairs the copies of a TPDU, if they can be.
    fn settle(&mut self, name: &Name) {
        let Some(Copies { seen: [near, far] }) = self.copies.remove(name) else { return };
        let counts = [near.len() as u64, far.len() as u64];
        if counts[0] != counts[1] {
            let is_missing = near.is_empty() || far.is_empty();
            let Matching { unmatched, ambiguous, .. } = &mut self.matching;
            let kind = if is_missing { unmatched } else { ambiguous };
            kind.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            return;
        }
        self.matching.matched += counts[0];
        for (near, far) in near.into_iter().zip(far) {
            if self.pairs.len() >= self.limits.pairs {
                self.matching.beyond += 1;
                continue;
            }
            let difference_ns = far.as_nanos().cast_signed() - near.as_nanos().cast_signed();
            self.pairs.push(Pair { ends: name.ends, near, difference_ns });
        }
    }

    /// Settles all that wait, and tells how long TPDUs took from tap to tap each way.
    #[must_use]
    pub fn finish(mut self) -> Found {
        while let Some(oldest) = self.order.pop_front() {
            self.settle(&oldest);
        }
        self.pairs.sort_by_key(|pair| pair.near);
        let readings: Vec<Reading> = self
            .pairs
            .iter()
            .map(|pair| Reading {
                near_ns: pair.near.as_nanos(),
                difference_ns: pair.difference_ns,
                ends: pair.ends,
            })
            .collect();
        Found { matching: self.matching, clocks: Clocks::of(&readings) }
    }
}

/// What came of two taps.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// How many TPDUs were matched.
    pub matching: Matching,
    /// How the clocks stand to each other, and the transits; nothing where no TPDU was matched.
    pub clocks: Option<Clocks>,
}

#[cfg(test)]
mod tests;
