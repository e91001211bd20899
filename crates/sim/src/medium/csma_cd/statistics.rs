//! Counters of a shared bus.
//!
//! Not modelled: sampling and estimation; every count is exact.

use core::time::Duration;
use wire::time::nanos;

/// Number of attempts counted separately; frames with more are counted with the last.
pub const ATTEMPTS: usize = 16;

/// Counters of a shared bus so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Frames that stations offered.
    pub offered: u64,
    /// Frames sent completely.
    pub sent: u64,
    /// Frames sent completely at their first attempt, at their second, and so on.
    pub attempts: [u64; ATTEMPTS],
    /// Frames discarded after the maximum number of attempts.
    pub excessive_collisions: u64,
    /// Frames refused because the queue was full.
    pub queue_drops: u64,
    /// Frames refused because they exceed the maximum length.
    pub oversized: u64,
    /// Frames whose first attempt had to wait for the carrier or the gap.
    pub deferred: u64,
    /// Transmissions that ended in a jam.
    pub fragments: u64,
    /// Collisions; fragments that met directly or through others count as one.
    pub collisions: u64,
    /// Time during which at least one station was sending.
    pub busy: Duration,
    /// Transmission time of the frames sent completely, preamble included.
    pub carried: Duration,
}

impl Statistics {
    /// Number of frames that the MAC entities are done with: sent, discarded, or refused.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.sent + self.excessive_collisions + self.queue_drops + self.oversized
    }

    /// Calls `count` with the name and value of each counter; times are in nanoseconds.
    pub(super) fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        let Self {
            offered,
            sent,
            attempts,
            excessive_collisions,
            queue_drops,
            oversized,
            deferred,
            collisions,
            busy,
            carried,
            fragments: _,
        } = *self;
        count("medium.offered", offered);
        count("medium.sent", sent);
        count("medium.queue-drops", queue_drops);
        count("medium.oversized", oversized);
        count("medium.excessive-collisions", excessive_collisions);
        count("medium.collisions", collisions);
        count("medium.deferred", deferred);
        count("medium.busy-ns", nanos(busy));
        count("medium.carried-ns", nanos(carried));
        for (attempt, frames) in attempts.into_iter().enumerate() {
            count(&format!("medium.attempts-{:02}", attempt + 1), frames);
        }
    }
}
