//! Batches of common frames, counted together.
//!
//! Definition: most frames are one of two kinds: an LLC datagram, or a TCP segment in sequence. A
//! third kind is a segment that counts apart in its stream.
//! Those of a second count in the same counters, and only their octets have to be summed. Bias:
//! none of its own; a batch has the same result as its frames counted one by one.

use crate::measure::{Measures, second};
use wire::time::Instant;

/// Frames of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Same {
    frames: u64,
    /// Octets of the LPDUs.
    octets: u64,
    /// Octets of the LPDUs before the NPDUs.
    before_npdu_octets: u64,
}

/// Frames of all kinds, all of one second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frames {
    segments: Same,
    datagrams: Same,
    /// Segments that count apart in their streams.
    apart: Same,
    /// Octets of data in the segments.
    stream_octets: u64,
    /// Number of frames captured without all of their user data.
    pub(crate) cut: u64,
}

impl Same {
    #[inline]
    const fn one(&mut self, before_npdu_octets: u64, octets: u64) {
        self.frames += 1;
        self.octets += octets;
        self.before_npdu_octets += before_npdu_octets;
    }
}

impl Frames {
    /// Number of frames.
    pub(crate) const fn count(&self) -> u64 {
        self.segments.frames + self.datagrams.frames + self.apart.frames
    }

    /// Adds an LLC datagram: the octets of its LPDU before the NPDU and in all, and true if user
    /// data is missing.
    #[inline]
    pub(crate) const fn datagram(&mut self, before_npdu: u64, octets: u64, is_cut: bool) {
        self.datagrams.one(before_npdu, octets);
        self.cut += is_cut as u64;
    }

    /// Adds a segment that counts apart in its stream: the octets of its LPDU before the packet and
    /// in all.
    pub(crate) const fn apart(&mut self, before_packet: u64, octets: u64) {
        self.apart.one(before_packet, octets);
    }

    /// Adds a segment in sequence: the octets of its LPDU before the packet and in all, those of
    /// the stream, and whether some of these are missing.
    #[inline]
    pub(crate) const fn segment(
        &mut self,
        before_packet: u64,
        octets: u64,
        stream_octets: u64,
        is_cut: bool,
    ) {
        self.segments.one(before_packet, octets);
        self.stream_octets += stream_octets;
        self.cut += is_cut as u64;
    }
}

impl Measures {
    /// Counts frames in the second of `at`.
    pub(crate) fn frames(&mut self, at: Instant, frames: &Frames) {
        let Frames { segments, datagrams, apart, stream_octets, .. } = *frames;
        for same in [segments, datagrams, apart] {
            self.link.lpdus += same.frames;
            self.link.octets += same.octets;
            self.network.npdus += same.frames;
            self.network.octets += same.octets - same.before_npdu_octets;
            self.peak.count(second(at), same.frames, same.octets);
        }
        self.llc.datagrams += datagrams.frames;
        self.streams.segments += segments.frames;
        self.streams.octets += stream_octets;
    }
}
