//! One-way transit of TPDUs between two taps of the same traffic.
//!
//! A TPDU is recognised at the other tap by its addresses, its header and the length of its data. A
//! TPDU in a TCP stream is recognised by the stream's sockets, the number of its last octet and its
//! length, and it passes with the segment that contains its last octet. If the other tap saw that
//! segment with other boundaries, because of a middlebox or segmentation offload, its stamp belongs
//! to other octets, and nothing is matched.
//!
//! Copies of a TPDU (retransmissions, window timers) are distinguished by their order: the first at
//! one tap is the first at the other. If the taps saw a different number of copies, one was lost
//! between them or not captured. It is unknown which, and none of them is matched. So a
//! retransmission is never taken for the original.
//!
//! The difference of two clocks is unknown in advance, and a clock may be set meanwhile. So TPDUs
//! that reached both taps show the progress of each tap (`pace`), as its age. A TPDU without a copy
//! for one second of age is settled, and a later TPDU of the same name is not its copy. A number
//! reused sooner counts as a copy; if that goes on for four seconds, the copies so far are settled
//! between two of its appearances.
//!
//! The result is the difference of two clocks' readings, from which [`clock`] computes transits. If
//! one clock stamps for both taps, the difference is the transit. Frames then come in the order of
//! their stamps, which allows more: a copy that has reached the other tap no longer waits, so a
//! reused number is not taken for a copy, and nothing waits for longer than the longest transit.
//!
//! Bias: if one copy was lost and another duplicated between the taps, or each tap missed a
//! different copy, copies are matched wrongly. So may be numbers reused within twice a transit.
//! Left out: TPDUs in CLNP segments, which a path may segment anew, and TPDUs beyond the limits,
//! which are counted; TPDUs whose last octet did not pass a tap, and the individual TPDUs of a
//! packet with several; with one clock, TCP copies that come after a tap has seen the first one
//! arrive.

pub mod clock;
mod hosts;
mod pace;
mod pairing;
mod publishers;
mod window;

use crate::host::Address;
use crate::stream::{Located, LocatedSight};
use clock::{Clocks, Readings};
use core::time::Duration;
use hosts::Hosts;
pub use pairing::Matching;
use pairing::Pairing;
use publishers::Publishers;
pub use publishers::StreamTransit;
use window::{Namer, Seen};
use wire::dissect::{Link, NoNsdu, levels};
use wire::time::Instant;
use wire::tp;

/// Limit of TCP connections followed at a tap.
const STREAMS: usize = 1 << 16;

/// One of the two taps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tap {
    /// Tap whose clock is the reference.
    Near,
    /// The other tap.
    Far,
}

impl Tap {
    /// The other one of the two.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// Limits on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// TPDUs whose copies wait for each other, and a quarter of the limit on copies. If it is
    /// reached, the oldest TPDU at the tap with more of them is settled.
    pub waiting: usize,
    /// Pairs whose times are kept one by one. Beyond it, quantiles of transits, and offsets of a
    /// clock that changes its speed, are computed from a sample; all other results from all pairs.
    pub pairs: usize,
}

impl Limits {
    /// 2^17 waiting TPDUs and 2^20 pairs: some 15 MB and 25 MB.
    pub const USUAL: Self = Self { waiting: 1 << 17, pairs: 1 << 20 };
}

/// Clocks that stamp the frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamps {
    /// A clock at each tap. The frames of a tap come in its order.
    TwoClocks,
    /// One clock. The frames of both taps come in its order.
    OneClock {
        /// Longest transit; copies further apart are not matched.
        longest: Duration,
    },
}

/// Matches the frames of two taps of the same traffic.
#[derive(Clone, Debug)]
pub struct Transit {
    limits: Limits,
    /// Step of the stamps of both taps, or a multiple of it.
    step_ns: u64,
    /// TCP streams at each tap.
    streams: [Located; 2],
    known: Known,
    pairing: Pairing,
    publishers: Publishers,
}

/// Memory in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// TPDUs whose copies wait for each other: at most [`Limits::waiting`].
    pub tpdus: usize,
    /// Places for copies that are not the first at their tap, occupied or not: at most four times
    /// as many.
    pub copies: usize,
    /// Numbered hosts: at most [`Limits::waiting`].
    pub hosts: usize,
    /// Pairs whose times are kept one by one: fewer than [`Limits::pairs`], and a quarter for an
    /// interval.
    pub pairs: usize,
    /// Octets of TCP streams that wait for earlier octets, and of their segments.
    pub stream_octets: usize,
    /// Numbers of frames of cyclic data that wait: at most 131,072.
    pub numbers: usize,
}

/// State from which names of TPDUs are made.
#[derive(Clone, Debug)]
struct Known {
    hosts: Hosts,
    namer: Namer,
}

impl Transit {
    /// Creates a matcher without frames.
    #[must_use]
    pub fn new(stamps: Stamps, limits: Limits) -> Self {
        Self {
            limits,
            step_ns: 1,
            streams: [0, 1].map(|_| Located::new(limits.waiting.min(STREAMS))),
            known: Known { hosts: Hosts::new(limits.waiting), namer: Namer::new() },
            pairing: Pairing::new(stamps, limits),
            publishers: Publishers::default(),
        }
    }

    /// Sets the rounding of a tap's stamps; the default is a nanosecond.
    pub fn stamps_are_rounded(&mut self, step_ns: u64) {
        self.step_ns = self.step_ns.max(step_ns);
    }

    /// Sets the lead of the far clock, for [`Self::turn`], so that a TPDU that passed one tap
    /// before the other was opened does not wait.
    pub fn clocks_are_apart(&mut self, nanos: i64) {
        self.pairing.pace.set_apart(nanos);
    }

    /// Marks a tap as ended: it delivers no more frames.
    pub fn end(&mut self, tap: Tap) {
        self.pairing.pace.end(tap);
    }

    /// With two clocks, the tap whose next frame is to be read if both have one, so that the fewest
    /// TPDUs wait.
    #[must_use]
    pub fn turn(&self) -> Tap {
        self.pairing.pace.turn()
    }

    /// Processes a frame at a tap. With two clocks, each tap's frames come in the order of its own
    /// clock; the order between taps does not matter as long as no more TPDUs lie between than may
    /// wait.
    pub fn observe(
        &mut self,
        tap: Tap,
        at: Instant,
        link: Link,
        octets: &[u8],
        original_octets: usize,
    ) {
        let Self { streams, known, pairing, publishers, .. } = self;
        pairing.pace.pass(tap, at);
        if link.is_ethernet() && publishers.observe(tap, at, octets, original_octets) {
            return;
        }
        let nsdu = match levels(link, octets, original_octets).nsdu {
            Ok(nsdu) if nsdu.segment.is_none() => nsdu,
            Err(NoNsdu::Stream(piece)) => {
                let seen = &mut |observation| known.in_stream(tap, &observation, pairing);
                return streams[tap as usize].observe(at, &piece, seen);
            }
            Err(NoNsdu::Datagram(datagram)) => {
                return publishers.datagram(tap, at, octets, original_octets, datagram);
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
            // The last TPDU of an NSDU reaches to its end, captured or not.
            let goes_to_the_end = raw.offset + raw.octets.len() == nsdu.octets.len();
            let octets = if goes_to_the_end { whole - raw.offset } else { raw.octets.len() };
            let data_octets = octets.saturating_sub(raw.header_octets);
            let name = namer.name(&(ends, data_octets, raw.header()));
            pairing.tpdu(tap, Seen { at, segment: [0; 2] }, (name, ends));
        }
    }

    /// Settles all waiting TPDUs, and returns the transits of both directions.
    #[must_use]
    pub fn finish(self) -> Found {
        let Self { streams, mut known, mut pairing, step_ns, publishers, .. } = self;
        pairing.pace.release();
        for (tap, mut streams) in [Tap::Near, Tap::Far].into_iter().zip(streams) {
            streams.finish(&mut |observation| known.in_stream(tap, &observation, &mut pairing));
        }
        let (matching, readings) = pairing.finish();
        let (streams, beyond_streams) = publishers.finish();
        Found { matching, clocks: readings.tell(step_ns), streams, beyond_streams }
    }

    /// Memory in use, for checks of the limits.
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
            numbers: self.publishers.waiting(),
        }
    }

    /// Advances the time of the one clock that stamps to at least `now`.
    pub fn advance(&mut self, now: Instant) {
        self.pairing.settle_due(now);
    }

    /// TPDUs settled since the last call, with one clock; the first call returns an empty result. A
    /// TPDU that did not reach the other tap is settled once it is too old.
    pub fn take_interval(&mut self) -> Found {
        let none = Readings::of_one(self.limits.pairs / 4);
        let now = self.pairing.matching;
        let (before, clocks) = match self.pairing.taken.replace((now, none)) {
            Some((before, recent)) => (before, recent.tell(self.step_ns)),
            None => (now, None),
        };
        let matching = now.since(&before);
        Found { matching, clocks, streams: Vec::new(), beyond_streams: 0 }
    }
}

impl Known {
    /// Processes an observation of a stream: a packet, or a repetition of the last octets of one.
    fn in_stream(&mut self, tap: Tap, observation: &LocatedSight, pairing: &mut Pairing) {
        let LocatedSight { carrier, ends, last, octets, is_again } = *observation;
        let ports = ends.map(|end| end.port);
        let ends = ends.map(|end| self.hosts.number(&Address::Internet(end.address)));
        let seen = Seen { at: carrier.at, segment: [carrier.first, carrier.octets] };
        let name = self.namer.name(&(ends, ports, [last, octets]));
        if is_again {
            pairing.repeated(tap, seen, (name, ends));
        } else {
            pairing.tpdu(tap, seen, (name, ends));
        }
    }
}

/// Result of matching two taps.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// Number of TPDUs that were matched.
    pub matching: Matching,
    /// Relation of the clocks, and the transits; none if no TPDU was matched.
    pub clocks: Option<Clocks>,
    /// Streams of cyclic data in the order of their keys; empty for an interval.
    pub streams: Vec<StreamTransit>,
    /// Frames of streams beyond the limit of 4,096.
    pub beyond_streams: u64,
}

#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trials;
