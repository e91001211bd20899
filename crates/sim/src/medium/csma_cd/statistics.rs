//! What is counted on a shared bus.
//!
//! Not modelled: nothing is sampled or estimated; every count is exact.

use core::time::Duration;

/// The most attempts that are told apart; longer rows of attempts are counted with these.
pub const ATTEMPTS: usize = 16;

/// What happened on a shared bus so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Frames that stations offered.
    pub offered: u64,
    /// Frames sent whole.
    pub sent: u64,
    /// Frames sent whole at their first attempt, at their second, and so on.
    pub attempts: [u64; ATTEMPTS],
    /// Frames given up after as many collisions as there may be attempts.
    pub excessive_collisions: u64,
    /// Frames refused for want of room in the queue.
    pub queue_drops: u64,
    /// Frames refused because they are too long for the medium.
    pub oversized: u64,
    /// Frames whose first attempt had to wait for the carrier or the gap.
    pub deferred: u64,
    /// Transmissions that ended in a jam.
    pub fragments: u64,
    /// Collisions: fragments that met each other, directly or by way of others, count as one.
    pub collisions: u64,
    /// How long at least one station was sending.
    pub busy: Duration,
    /// How long frames that arrived whole were being sent, preamble included.
    pub carried: Duration,
}

impl Statistics {
    /// Frames the MAC entities are done with: sent, given up, or refused.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.sent + self.excessive_collisions + self.queue_drops + self.oversized
    }
}
