//! Frames that are alike, to be counted at once.
//!
//! Most frames are one of two: a datagram of LLC, or a segment of TCP on Ethernet. Those of a second count in
//! the same places, and only their octets have to be added up. Bias: none of its own; it counts what the
//! measures would count one by one.

use super::{Measures, second};
use wire::time::Instant;

/// A MAC header, and one with the LLC header of a datagram behind it.
const BEFORE_NPDU_OCTETS: [u64; 2] = [14, 17];

/// Frames of one sort.
#[derive(Clone, Copy, Debug, Default)]
struct Same {
    frames: u64,
    /// Octets of the LPDUs.
    octets: u64,
}

/// Frames of both sorts, all of one second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frames {
    segments: Same,
    datagrams: Same,
    /// Octets that the segments carry.
    stream_octets: u64,
    /// How many of all were captured without their user data.
    pub(crate) cut: u64,
}

impl Same {
    #[inline]
    const fn one(&mut self, octets: u64) {
        self.frames += 1;
        self.octets += octets;
    }
}

impl Frames {
    /// Adds an LLC datagram: the octets of its LPDU, and whether user data of it is missing.
    #[inline]
    pub(crate) const fn datagram(&mut self, octets: u64, is_cut: bool) {
        self.datagrams.one(octets);
        self.cut += is_cut as u64;
    }

    /// Adds a segment that comes in its turn: the octets of its LPDU, those of the stream, and whether some of these
    /// are missing.
    #[inline]
    pub(crate) const fn segment(&mut self, octets: u64, stream_octets: u64, is_cut: bool) {
        self.segments.one(octets);
        self.stream_octets += stream_octets;
        self.cut += is_cut as u64;
    }
}

impl Measures {
    /// Takes notice of frames in the second of `at`.
    pub(crate) fn frames(&mut self, at: Instant, frames: &Frames) {
        let Frames { segments, datagrams, stream_octets, .. } = *frames;
        for (same, before_npdu) in [segments, datagrams].into_iter().zip(BEFORE_NPDU_OCTETS) {
            self.link.lpdus += same.frames;
            self.link.octets += same.octets;
            self.network.npdus += same.frames;
            self.network.octets += same.octets - same.frames * before_npdu;
            self.peak.count(second(at), same.frames, same.octets);
        }
        self.llc.datagrams += datagrams.frames;
        self.streams.segments += segments.frames;
        self.streams.octets += stream_octets;
    }
}
