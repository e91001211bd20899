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
//! With two clocks nobody knows in advance how far they are apart, and one may be set meanwhile. So what
//! has come to both taps tells how far these have come (`pace`), by the age of each: a TPDU of which
//! nothing was heard for a second of that is settled, and another of its name is not its copy.
//! A number that comes back sooner is one; if it does so for four seconds what there is of it is settled
//! between two of its comings.
//!
//! What is found is the difference of two clocks' readings; [`clock`] makes transit of it. Where one
//! clock stamps for both taps that difference is the transit. Frames then come in the order of their
//! stamps, which tells more: a copy that has reached the other tap waits no longer, so that a number
//! that comes back is not taken for a copy, and nothing waits for longer than a transit may take.
//!
//! Bias: copies of which one was lost and another doubled between the taps, or of which each tap missed
//! another, are matched wrongly, and so may be numbers that come back in less than twice a transit.
//! Left out: TPDUs in CLNP segments, which a path may cut anew, and TPDUs beyond the limits, which are
//! counted; TPDUs whose last octet did not pass a tap, and of a packet with several all but the whole;
//! where one clock stamps, copies in TCP that come when a tap has seen the first one arrive.

pub mod clock;
mod hosts;
mod pace;
mod pairing;
mod window;

use crate::host::Address;
use crate::stream::{Located, LocatedSight};
use clock::{Clocks, Readings};
use core::time::Duration;
use hosts::Hosts;
pub use pairing::Matching;
use pairing::Pairing;
use window::{Namer, Seen};
use wire::dissect::{Link, NoNsdu, levels};
use wire::time::Instant;
use wire::tp;

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

impl Tap {
    const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// The limits on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// TPDUs whose copies wait for each other, and a quarter of how many copies may. The oldest at the tap
    /// that has more of them is settled when there are as many.
    pub waiting: usize,
    /// Pairs whose times are kept one by one. Of more the medians and other quantiles of transits are told
    /// by a share, as are offsets of a clock that changes its speed; all else by all.
    pub pairs: usize,
}

impl Limits {
    /// An eighth of a million TPDUs that wait, a million pairs: some 15 MB and 25 MB.
    pub const USUAL: Self = Self { waiting: 1 << 17, pairs: 1 << 20 };
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
    limits: Limits,
    /// Stamps of both taps are multiples of this or less.
    step_ns: u64,
    /// What each tap sees of TCP streams.
    streams: [Located; 2],
    known: Known,
    pairing: Pairing,
}

/// How much is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// TPDUs whose copies wait for each other: at most [`Limits::waiting`].
    pub tpdus: usize,
    /// Places for copies of them that are not the first at their tap, taken or not: at most four times as many.
    pub copies: usize,
    /// Hosts that have a number: at most [`Limits::waiting`].
    pub hosts: usize,
    /// Pairs whose times are kept one by one: fewer than [`Limits::pairs`], and a quarter for an interval.
    pub pairs: usize,
    /// Octets of TCP streams that wait for what lies before them, and of what is kept of their segments.
    pub stream_octets: usize,
}

/// What names are made of.
#[derive(Clone, Debug)]
struct Known {
    hosts: Hosts,
    namer: Namer,
}

impl Transit {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(stamps: Stamps, limits: Limits) -> Self {
        Self {
            limits,
            step_ns: 1,
            streams: [0, 1].map(|_| Located::new(limits.waiting.min(STREAMS))),
            known: Known { hosts: Hosts::new(limits.waiting), namer: Namer::new() },
            pairing: Pairing::new(stamps, limits),
        }
    }

    /// Takes notice that stamps of a tap are rounded to such steps; else it is to nanoseconds.
    pub fn stamps_are_rounded(&mut self, step_ns: u64) {
        self.step_ns = self.step_ns.max(step_ns);
    }

    /// Takes notice that the far clock is so much ahead, for [`Self::turn`], so that what passed one tap before
    /// the other was opened waits for nothing.
    pub fn clocks_are_apart(&mut self, nanos: i64) {
        self.pairing.pace.set_apart(nanos);
    }

    /// Takes notice that no frame comes from a tap any more.
    pub fn end(&mut self, tap: Tap) {
        self.pairing.pace.end(tap);
    }

    /// Of two clocks, the tap whose next frame is best looked at, if both have one: then the fewest TPDUs wait.
    #[must_use]
    pub fn turn(&self) -> Tap {
        self.pairing.pace.turn()
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
        let Self { streams, known, pairing, .. } = self;
        pairing.pace.pass(tap, at);
        let nsdu = match levels(link, octets, original_octets).nsdu {
            Ok(nsdu) if nsdu.segment.is_none() => nsdu,
            Err(NoNsdu::Stream(piece)) => {
                let seen = &mut |sight| known.in_stream(tap, &sight, pairing);
                return streams[tap as usize].observe(at, &piece, seen);
            }
            Ok(_) | Err(_) => return,
        };
        let Known { hosts, namer } = known;
        let mut number = |mac, nsap| hosts.number(&Address::Station { mac, nsap });
        let ends = [
            number(nsdu.source, nsdu.source_nsap),
            number(nsdu.destination, nsdu.destination_nsap),
        ];
        let whole = nsdu.octets.len() + nsdu.missing_octets;
        for raw in tp::tpdus(nsdu.octets).map_while(Result::ok) {
            // The last TPDU of an NSDU goes to its end, captured or not.
            let goes_to_the_end = raw.offset + raw.octets.len() == nsdu.octets.len();
            let octets = if goes_to_the_end { whole - raw.offset } else { raw.octets.len() };
            let data_octets = octets.saturating_sub(raw.header_octets);
            let name = namer.name(&(ends, data_octets, raw.header()));
            pairing.tpdu(tap, Seen { at, segment: [0; 2] }, (name, ends));
        }
    }

    /// Settles all that wait, and tells how long TPDUs took from tap to tap each way.
    #[must_use]
    pub fn finish(self) -> Found {
        let Self { streams, mut known, mut pairing, step_ns, .. } = self;
        pairing.pace.release();
        for (tap, mut streams) in [Tap::Near, Tap::Far].into_iter().zip(streams) {
            streams.finish(&mut |sight| known.in_stream(tap, &sight, &mut pairing));
        }
        let (matching, readings) = pairing.finish();
        Found { matching, clocks: readings.tell(step_ns) }
    }

    /// How much is held now, for whoever watches over memory.
    #[must_use]
    pub fn held(&self) -> Held {
        let Pairing { window, readings, taken, .. } = &self.pairing;
        let [tpdus, copies] = window.held();
        let recent = taken.as_ref().map_or(0, |(_, recent)| recent.kept_one_by_one());
        Held {
            tpdus,
            copies,
            hosts: self.known.hosts.count(),
            pairs: readings.kept_one_by_one() + recent,
            stream_octets: self.streams.iter().map(Located::held_octets).sum(),
        }
    }

    /// Takes notice that it is at least so late by the one clock that stamps.
    pub fn advance(&mut self, now: Instant) {
        self.pairing.settle_due(now);
    }

    /// What was settled since this was asked last, of one clock; the first time nothing. What was not
    /// seen again at the other tap is settled once it is too old.
    pub fn take_interval(&mut self) -> Found {
        let none = Readings::of_one(self.limits.pairs / 4);
        let now = self.pairing.matching;
        let (before, clocks) = match self.pairing.taken.replace((now, none)) {
            Some((before, recent)) => (before, recent.tell(self.step_ns)),
            None => (now, None),
        };
        Found { matching: now.since(&before), clocks }
    }
}

impl Known {
    /// Takes notice of what a tap sees of a stream: a packet, or the last octets of one that it saw before.
    fn in_stream(&mut self, tap: Tap, sight: &LocatedSight, pairing: &mut Pairing) {
        let LocatedSight { carrier, ends, last, octets, is_again } = *sight;
        let ports = ends.map(|end| end.port);
        let ends = ends.map(|end| self.hosts.number(&Address::Internet(end.address)));
        let seen = Seen { at: carrier.at, segment: [carrier.first, carrier.octets] };
        let name = self.namer.name(&(ends, ports, [last, octets]));
        if is_again {
            pairing.again(tap, seen, (name, ends));
        } else {
            pairing.tpdu(tap, seen, (name, ends));
        }
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
#[cfg(test)]
mod trials;
