//! Counters of a segment with PLCA.
//!
//! Not modelled: sampling and estimation; every count is exact, and times are sums of whole
//! nanoseconds.

use core::time::Duration;
use wire::time::nanos;

/// Counters of a segment so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Frames that stations offered.
    pub offered: u64,
    /// Frames sent completely.
    pub sent: u64,
    /// Frames sent whose destination address belongs to no station.
    pub unrecognised: u64,
    /// Frames refused because the queue was full.
    pub queue_drops: u64,
    /// Frames refused because they exceed the maximum length.
    pub oversized: u64,
    /// Cycles begun after the first, up to the last event.
    pub cycles: u64,
    /// Opportunities in which a station sent.
    pub opportunities_used: u64,
    /// Frames sent after the first of their opportunity.
    pub burst_frames: u64,
    /// Maximum time from the end of a beacon to the end of the next.
    pub longest_cycle: Duration,
    /// Maximum waiting time of the first frame of a queue.
    pub longest_access: Duration,
    /// Transmission time of the frames, from the first bit of the preamble to the last bit.
    pub carried: Duration,
}

impl Statistics {
    /// Number of frames that the MAC entities are done with.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.sent + self.queue_drops + self.oversized
    }

    /// Calls `count` with the name and value of each counter; times are in nanoseconds.
    pub(super) fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        let Self {
            offered,
            sent,
            unrecognised,
            queue_drops,
            oversized,
            cycles,
            opportunities_used,
            burst_frames,
            longest_cycle,
            longest_access,
            carried,
        } = *self;
        count("medium.offered", offered);
        count("medium.sent", sent);
        count("medium.unrecognised", unrecognised);
        count("medium.queue-drops", queue_drops);
        count("medium.oversized", oversized);
        count("medium.cycles", cycles);
        count("medium.opportunities-used", opportunities_used);
        count("medium.burst-frames", burst_frames);
        count("medium.longest-cycle-ns", nanos(longest_cycle));
        count("medium.longest-access-ns", nanos(longest_access));
        count("medium.carried-ns", nanos(carried));
    }
}
