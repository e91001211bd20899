//! TCP streams that carry TPKTs: how many segments, and how many of them say nothing new.
//!
//! Definition: a segment counts once its connection is known to carry TPKTs, those before it
//! included. One whose octets were all seen before is sent *again*; one that leaves a gap is *ahead*,
//! one that fills a gap is *late*. The same packet within 10 ms, told by the IP identification, the
//! number, the length and the TCP checksum, is a *copy* that a mirror port made.
//! Bias: a late segment may have been sent again after a loss, or have been overtaken on its way;
//! where addresses or ports are translated, one connection is two; a copy counts as an LPDU and an
//! NPDU, since it was captured. Over IPv6, which has no identification, a segment that is sent again
//! within 10 ms with the same acknowledgement looks like a copy.

use super::{Measure, Values};
use crate::sight::{Order, Segment, Sight};

/// TCP segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Streams {
    /// How many.
    pub segments: u64,
    /// Octets of their data.
    pub octets: u64,
    /// How many were sent again.
    pub again: u64,
    /// How many left a gap before them.
    pub ahead: u64,
    /// How many filled a gap.
    pub late: u64,
    /// How many asked whether the peer is there.
    pub keep_alives: u64,
    /// How many were copies.
    pub copies: u64,
}

impl Streams {
    /// Takes notice of a segment.
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

impl Measure for Streams {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Segment(segment) = sight {
            self.segment(segment);
        }
    }

    fn add(&mut self, other: &Self) {
        self.segments += other.segments;
        self.octets += other.octets;
        self.again += other.again;
        self.ahead += other.ahead;
        self.late += other.late;
        self.keep_alives += other.keep_alives;
        self.copies += other.copies;
    }

    fn values(&self) -> Values {
        vec![
            ("tcp_segments".into(), self.segments),
            ("tcp_octets".into(), self.octets),
            ("tcp_segments_again".into(), self.again),
            ("tcp_segments_ahead".into(), self.ahead),
            ("tcp_segments_late".into(), self.late),
            ("tcp_keep_alives".into(), self.keep_alives),
            ("tcp_copies".into(), self.copies),
        ]
    }
}
