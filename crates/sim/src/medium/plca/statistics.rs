//! What is counted on a segment with PLCA.
//!
//! Not modelled: nothing is sampled or estimated; every count is exact, and times are sums of whole
//! nanoseconds.

use core::time::Duration;

/// What happened on a segment so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Frames that stations offered.
    pub offered: u64,
    /// Frames that went out whole.
    pub sent: u64,
    /// Of the frames sent: those that no station had the address of.
    pub unrecognised: u64,
    /// Frames not taken for want of room in the queue.
    pub queue_drops: u64,
    /// Frames not taken because they are too long for the medium.
    pub oversized: u64,
    /// Cycles begun after the first, up to the last thing that happened.
    pub cycles: u64,
    /// Opportunities in which a station sent.
    pub opportunities_used: u64,
    /// Of the frames sent: those after the first of their opportunity.
    pub burst_frames: u64,
    /// The longest time from a beacon's end to the next one's.
    pub longest_cycle: Duration,
    /// The longest that the first frame of a queue waited to be sent.
    pub longest_access: Duration,
    /// How long frames were being sent, from the first bit of the preamble to the last.
    pub carried: Duration,
}

impl Statistics {
    /// Frames the MAC entities are done with.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.sent + self.queue_drops + self.oversized
    }
}
