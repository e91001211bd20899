//! Counters of a token ring.
//!
//! Not modelled: sampling and estimation; every count is exact, and times are sums of whole
//! nanoseconds. Tokens that pass stations with nothing to send are not counted, because they cause
//! no event.

use core::time::Duration;
use wire::time::nanos;

/// Counters of a token ring so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Frames that stations offered.
    pub offered: u64,
    /// Frames that went all the way round and were not refused.
    pub sent: u64,
    /// Frames that went all the way round, but found no buffer in any interface they were addressed
    /// to.
    pub refused: u64,
    /// Frames sent whose destination address belongs to no station.
    pub unrecognised: u64,
    /// Frames refused because the queue was full.
    pub queue_drops: u64,
    /// Frames refused because they exceed the maximum length.
    pub oversized: u64,
    /// Tokens captured to send frames.
    pub tokens_used: u64,
    /// Number of times a station raised the ring's priority.
    pub raised: u64,
    /// Number of times a stacking station lowered it again, wholly or in part.
    pub lowered: u64,
    /// Time for which stations held tokens, from the last bit of the captured token to the first of
    /// the next.
    pub held: Duration,
    /// Transmission time of the frames, from the first bit to the last.
    pub carried: Duration,
}

impl Statistics {
    /// Number of frames that the MAC entities are done with.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.sent + self.refused + self.queue_drops + self.oversized
    }

    /// Calls `count` with the name and value of each counter; times are in nanoseconds.
    pub(super) fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        let Self {
            offered,
            sent,
            refused,
            unrecognised,
            queue_drops,
            oversized,
            tokens_used,
            raised,
            lowered,
            held,
            carried,
        } = *self;
        count("medium.offered", offered);
        count("medium.sent", sent);
        count("medium.refused", refused);
        count("medium.unrecognised", unrecognised);
        count("medium.queue-drops", queue_drops);
        count("medium.oversized", oversized);
        count("medium.tokens-used", tokens_used);
        count("medium.priority-raised", raised);
        count("medium.priority-lowered", lowered);
        count("medium.held-ns", nanos(held));
        count("medium.carried-ns", nanos(carried));
    }
}
