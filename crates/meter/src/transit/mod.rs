//! One-way transit of TPDUs between two taps of the same traffic.
//!
//! A TPDU is known again at the other tap by its addresses, its header and the length of its data; one
//! in a TCP stream by the stream's sockets, the number of its last octet and its length, and it passes
//! with the segment that has its last octet. Where that segment was cut elsewhere at the other tap, by
//! a middlebox or because adapters join and part segments, its stamp is of other octets, and nothing is
//! matched.
//!
//! Copies of it (retransmissions, window timers) are told apart by their order: the first at one tap
//! is the first at the other. Where the taps saw it a different number of times one copy was lost
//! between them or was not captured, nobody can say which, and none of them is matched. So a
//! retransmission is never taken for the original.
//!
//! What is found is the difference of two clocks' readings; [`clock`] makes transit of it. Where one
//! clock stamps for both taps that difference is the transit. Frames then come in the order of their
//! stamps, which tells more: a copy that has reached the other tap waits no longer, so that a number
//! that comes back is not taken for a copy, and nothing waits for longer than a transit may take.
//!
//! Bias: copies of which one was lost and another doubled between the taps are matched wrongly.
//! Left out: TPDUs in CLNP segments, which a path may cut anew, and frames beyond the limits, which are
//! counted; TPDUs whose last octet did not pass a tap, and of a packet with several all but the whole;
//! where one clock stamps, copies in TCP that come when a tap has seen the first one arrive.

pub mod clock;

use crate::host::Address;
use crate::stream::{Carrier, Located, LocatedSight};
use clock::{Clocks, Reading, Readings};
use core::time::Duration;
use std::collections::BTreeMap;
use wire::dissect::{Link, NoNsdu, levels};
use wire::time::Instant;
use wire::tp;

/// After so many TPDUs that passed one tap first it is known which tap those of their ends pass first.
const SURE: i8 = 8;

/// TCP connections that are followed at a tap.
const STREAMS: usize = 1 << 16;

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
    what: What,
}

/// And between those ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// In a frame.
    Header { data_octets: usize, header: Box<[u8]> },
    /// In a TCP stream.
    Place { ports: [u16; 2], last: u32, octets: u32 },
}

/// A copy of a TPDU at a tap.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Instant,
    /// In a TCP stream: the first octet of its segment, and how many there are.
    segment: [u32; 2],
}

/// The copies of a TPDU: when each tap saw which.
#[derive(Clone, Debug)]
struct Copies {
    seen: [Vec<Seen>; 2],
    /// When the first of them was seen.
    since: Instant,
    /// Their place in the order.
    number: u64,
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
    /// Copies in TCP segments of which the two taps saw different ones.
    pub recut: [u64; 2],
    /// Pairs beyond the limit, whose times are not kept one by one.
    pub beyond: u64,
}

/// The limits on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// TPDUs whose copies wait for each other, and a quarter of how many copies may. The oldest is
    /// settled when there are more.
    pub waiting: usize,
    /// Pairs whose times are kept one by one. Of more the medians and other quantiles of transits are told
    /// by a share, as are offsets of a clock that changes its speed; all else by all.
    pub pairs: usize,
}

impl Matching {
    /// What came since an earlier count.
    fn since(&self, before: &Self) -> Self {
        let both = |now: [u64; 2], then: [u64; 2]| [now[0] - then[0], now[1] - then[1]];
        Self {
            tpdus: both(self.tpdus, before.tpdus),
            matched: self.matched - before.matched,
            unmatched: both(self.unmatched, before.unmatched),
            ambiguous: both(self.ambiguous, before.ambiguous),
            recut: both(self.recut, before.recut),
            beyond: self.beyond - before.beyond,
        }
    }
}

impl Limits {
    /// A quarter of a million TPDUs that wait, a million pairs: less than 200 MB, if their headers are short.
    pub const USUAL: Self = Self { waiting: 1 << 18, pairs: 1 << 20 };
}

/// Who stamps what the taps see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamps {
    /// Each tap's own clock. Frames of a tap come in its order.
    TwoClocks,
    /// One clock. The frames of both taps come in its order.
    OneClock {
        /// What takes longer from tap to tap is not matched.
        longest: Duration,
    },
}

/// Matches what two taps see of the same traffic.
#[derive(Clone, Debug)]
pub struct Transit {
    stamps: Stamps,
    limits: Limits,
    addresses: BTreeMap<Address, u32>,
    copies: BTreeMap<Name, Copies>,
    /// How many copies wait.
    waiting: usize,
    /// In the order in which they were first seen.
    order: BTreeMap<u64, Name>,
    /// How many TPDUs have waited so far.
    numbers: u64,
    /// Which tap TPDUs of these ends pass first: the near one above zero.
    leanings: BTreeMap<[u32; 2], i8>,
    matching: Matching,
    readings: Readings,
    /// What was known when an interval was taken last, and the readings since, where any was.
    taken: Option<(Matching, Readings)>,
    /// Stamps of both taps are multiples of this or less.
    step_ns: u64,
    /// What each tap sees of TCP streams.
    streams: [Located; 2],
}

impl Transit {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(stamps: Stamps, limits: Limits) -> Self {
        Self {
            stamps,
            limits,
            addresses: BTreeMap::new(),
            copies: BTreeMap::new(),
            waiting: 0,
            order: BTreeMap::new(),
            numbers: 0,
            leanings: BTreeMap::new(),
            matching: Matching {
                tpdus: [0; 2],
                matched: 0,
                unmatched: [0; 2],
                ambiguous: [0; 2],
                recut: [0; 2],
                beyond: 0,
            },
            readings: match stamps {
                Stamps::TwoClocks => Readings::of_two(limits.pairs),
                Stamps::OneClock { .. } => Readings::of_one(limits.pairs),
            },
            taken: None,
            step_ns: 1,
            streams: [0, 1].map(|_| Located::new(limits.waiting.min(STREAMS))),
        }
    }

    /// Takes notice that stamps of a tap are rounded to such steps; else it is to nanoseconds.
    pub fn stamps_are_rounded(&mut self, step_ns: u64) {
        self.step_ns = self.step_ns.max(step_ns);
    }

    /// Takes notice of a frame at a tap. Of two clocks each tap's frames come in the order of its own;
    /// which tap comes first does not matter as long as no more TPDUs lie between than may wait.
    pub fn observe(
        &mut self,
        tap: Tap,
        at: Instant,
        link: Link,
        octets: &[u8],
        original_octets: usize,
    ) {
        let nsdu = match levels(link, octets, original_octets).nsdu {
            Ok(nsdu) if nsdu.segment.is_none() => nsdu,
            Err(NoNsdu::Stream(piece)) => {
                let mut sights = Vec::new();
                self.streams[tap as usize].observe(at, &piece, &mut |sight| sights.push(sight));
                return sights.into_iter().for_each(|sight| self.in_stream(tap, sight));
            }
            Ok(_) | Err(_) => return,
        };
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
            let what = What::Header { data_octets, header: raw.header().into() };
            self.tpdu(tap, Seen { at, segment: [0; 2] }, Name { ends, what });
        }
    }

    /// Takes notice of what a tap sees of a stream: a packet, or a segment which may hold the last octets of
    /// packets that it saw before.
    fn in_stream(&mut self, tap: Tap, sight: LocatedSight) {
        let (LocatedSight::Segment(carrier) | LocatedSight::Packet { carrier, .. }) = sight;
        let Carrier { at, ends, first, octets } = carrier;
        let ports = ends.map(|end| end.port);
        let ends = ends.map(|end| self.number(Address::Internet(end.address)));
        let seen = Seen { at, segment: [first, octets] };
        if let LocatedSight::Packet { last, octets, .. } = sight {
            let what = What::Place { ports, last, octets };
            return self.tpdu(tap, seen, Name { ends, what });
        }
        let name = |last, octets| Name { ends, what: What::Place { ports, last, octets } };
        let end = first.wrapping_add(octets.max(1) - 1);
        let spans = if first <= end {
            [Some((first, end)), None]
        } else {
            // The numbers begin again within it.
            [Some((first, u32::MAX)), Some((0, end))]
        };
        let known = spans
            .into_iter()
            .flatten()
            .flat_map(|(first, end)| self.copies.range(name(first, 0)..=name(end, u32::MAX)));
        let again = known.filter(|(_, copies)| !copies.seen[tap as usize].is_empty());
        let again: Vec<Name> = again.map(|(name, _)| name.clone()).collect();
        again.into_iter().for_each(|name| self.tpdu(tap, seen, name));
    }

    fn number(&mut self, address: Address) -> u32 {
        let next = self.addresses.len() as u32;
        // Hosts beyond the limit are one, which their TPDUs' headers still tell apart.
        if self.addresses.len() >= self.limits.waiting {
            return self.addresses.get(&address).copied().unwrap_or(u32::MAX);
        }
        *self.addresses.entry(address).or_insert(next)
    }

    fn tpdu(&mut self, tap: Tap, seen: Seen, name: Name) {
        let at = seen.at;
        self.matching.tpdus[tap as usize] += 1;
        if let Stamps::OneClock { longest } = self.stamps {
            self.settle_older(at.saturating_sub(longest));
            if self.is_orphan(tap, &name) {
                self.matching.unmatched[tap as usize] += 1;
                return;
            }
        }
        while self.order.len() >= self.limits.waiting || self.waiting >= 4 * self.limits.waiting {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.settle(&oldest);
        }
        self.waiting += 1;
        let number = self.numbers;
        let copies = self.copies.entry(name.clone()).or_insert_with(|| {
            let seen = [Vec::new(), Vec::new()];
            Copies { seen, since: at, number }
        });
        let of_tap = &mut copies.seen[tap as usize];
        if of_tap.is_empty() {
            // Most come once.
            of_tap.reserve_exact(1);
        }
        of_tap.push(seen);
        if copies.number == number {
            self.numbers += 1;
            self.order.insert(number, name);
            return;
        }
        let [near, far] = &copies.seen;
        if self.stamps != Stamps::TwoClocks && near.len() == far.len() {
            self.order.remove(&copies.number);
            self.settle(&name);
        }
    }

    /// Settles what waits since before then.
    fn settle_older(&mut self, then: Instant) {
        while let Some(first) = self.order.first_entry()
            && self.copies.get(first.get()).is_none_or(|copies| copies.since < then)
        {
            let name = first.remove();
            self.settle(&name);
        }
    }

    /// Whether a TPDU comes to the tap that its like pass last, and was not seen at the other.
    fn is_orphan(&mut self, tap: Tap, name: &Name) -> bool {
        let Some(leaning) = self.leanings.get_mut(&name.ends) else { return false };
        let passes_last = match tap {
            Tap::Near => *leaning <= -SURE,
            Tap::Far => *leaning >= SURE,
        };
        let is_orphan = passes_last && !self.copies.contains_key(name);
        if is_orphan {
            // Many of them would mean that the leaning is wrong.
            *leaning -= leaning.signum();
        }
        is_orphan
    }

    /// Pairs the copies of a TPDU, if they can be.
    fn settle(&mut self, name: &Name) {
        let Some(Copies { seen: [near, far], .. }) = self.copies.remove(name) else { return };
        self.waiting -= near.len() + far.len();
        let counts = [near.len() as u64, far.len() as u64];
        if counts[0] != counts[1] {
            let is_missing = near.is_empty() || far.is_empty();
            let Matching { unmatched, ambiguous, .. } = &mut self.matching;
            let kind = if is_missing { unmatched } else { ambiguous };
            kind.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            return;
        }
        if near.iter().zip(&far).any(|(near, far)| near.segment != far.segment) {
            self.matching.recut.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            return;
        }
        self.matching.matched += counts[0];
        for (Seen { at: near, .. }, Seen { at: far, .. }) in near.into_iter().zip(far) {
            let difference = i128::from(far.as_nanos()) - i128::from(near.as_nanos());
            let difference_ns = i64::try_from(difference).unwrap_or(i64::MAX);
            self.lean(name.ends, difference_ns);
            let reading = Reading { near_ns: near.as_nanos(), difference_ns, ends: name.ends };
            if let Some((_, recent)) = &mut self.taken {
                recent.push(reading);
            }
            self.readings.push(reading);
        }
        self.matching.beyond = self.readings.dropped();
    }

    /// Notes which tap was passed first, where one clock tells.
    fn lean(&mut self, ends: [u32; 2], difference_ns: i64) {
        if self.stamps == Stamps::TwoClocks {
            return;
        }
        let is_known = self.leanings.contains_key(&ends);
        if is_known || self.leanings.len() < self.limits.waiting {
            let leaning = self.leanings.entry(ends).or_default();
            *leaning = (*leaning + difference_ns.signum() as i8).clamp(-2 * SURE, 2 * SURE);
        }
    }

    /// Settles all that wait, and tells how long TPDUs took from tap to tap each way.
    #[must_use]
    pub fn finish(mut self) -> Found {
        for tap in [Tap::Near, Tap::Far] {
            let mut sights = Vec::new();
            self.streams[tap as usize].finish(&mut |sight| sights.push(sight));
            sights.into_iter().for_each(|sight| self.in_stream(tap, sight));
        }
        while let Some((_, oldest)) = self.order.pop_first() {
            self.settle(&oldest);
        }
        Found { matching: self.matching, clocks: self.readings.tell(self.step_ns) }
    }

    /// Takes notice that it is at least so late by the one clock that stamps.
    pub fn advance(&mut self, now: Instant) {
        if let Stamps::OneClock { longest } = self.stamps {
            self.settle_older(now.saturating_sub(longest));
        }
    }

    /// What was settled since this was asked last, of one clock; the first time nothing. What was not
    /// seen again at the other tap is settled once it is too old.
    pub fn take_interval(&mut self) -> Found {
        let none = Readings::of_one(self.limits.pairs / 4);
        let (before, recent) = match self.taken.replace((self.matching, none)) {
            Some((before, recent)) => (before, recent.tell(self.step_ns)),
            None => (self.matching, None),
        };
        Found { matching: self.matching.since(&before), clocks: recent }
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
mod stream_tests;
#[cfg(test)]
mod tests;
