//! TCP streams that carry TPKTs: segments and retransmissions.
//!
//! Definition: a segment counts once its connection is known to carry TPKTs, earlier segments
//! included. A segment whose octets were all seen before is a retransmission (*again*); a segment
//! that leaves a gap is *ahead*, one that fills a gap is *late*. The same packet within 10 ms,
//! recognised by the IP identification, the sequence number, the length and the TCP checksum, is a
//! *copy* that a mirror port made.
//! Bias: a late segment may have been retransmitted after a loss, or have been overtaken on its
//! way; if addresses or ports are translated, one connection is two; a copy counts as an LPDU and
//! an NPDU, because it was captured. Over IPv6, which has no identification, a segment that is
//! retransmitted within 10 ms with the same acknowledgement looks like a copy.

use crate::observation::{Observation, Order, Segment};

counters! {
    /// TCP segments.
    pub struct Streams {
        /// Number of segments.
        pub segments,
        /// Octets of their data.
        pub octets,
        /// Retransmissions.
        pub again,
        /// Segments that left a gap before them.
        pub ahead,
        /// Segments that filled a gap.
        pub late,
        /// Keep-alive probes.
        pub keep_alives,
        /// Copies by mirror ports.
        pub copies,
    }
}

impl Streams {
    /// Counts a segment.
    pub(crate) fn segment(&mut self, segment: &Segment) {
        self.segments += 1;
        self.octets += segment.octets;
        match segment.order {
            Order::Next => {}
            Order::Ahead => self.ahead += 1,
            Order::Late => self.late += 1,
            Order::Again => self.again += 1,
            Order::KeepAlive => self.keep_alives += 1,
            Order::Copy => self.copies += 1,
        }
    }
}

impl Streams {
    /// Counts what an observation adds.
    pub fn observe(&mut self, observation: &Observation) {
        if let Observation::Segment(segment) = observation {
            self.segment(segment);
        }
    }
}
