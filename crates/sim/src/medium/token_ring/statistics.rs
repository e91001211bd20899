//! What is counted on a token ring.
//!
//! Not modelled: nothing is sampled or estimated; every count is exact, and times are
//! sums of whole nanoseconds. Tokens that pass stations with nothing to send are not counted, since
//! nothing happens then.

use core::time::Duration;

/// What happened on a token ring so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Frames that stations offered.
    pub offered: u64,
    /// Frames that went all the way round and were not refused.
    pub sent: u64,
    /// Frames that went all the way round, but that no interface they were meant for had a buffer
    /// for.
    pub refused: u64,
    /// Of the frames sent: those that no station had the address of.
    pub unrecognised: u64,
    /// Frames not taken for want of room in the queue.
    pub queue_drops: u64,
    /// Frames not taken because they are too long for the medium.
    pub oversized: u64,
    /// Tokens that stations took to send frames.
    pub tokens_used: u64,
    /// How often a station raised the ring's priority.
    pub raised: u64,
    /// How often a stacking station let it down again, wholly or in part.
    pub lowered: u64,
    /// How long stations kept tokens, from the last bit of the one taken to the first of the next.
    pub held: Duration,
    /// How long frames were being sent, from the first bit to the last.
    pub carried: Duration,
}

impl Statistics {
    /// Frames the MAC entities are done with.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.sent + self.refused + self.queue_drops + self.oversized
    }
}
