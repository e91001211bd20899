//! Counters of a token bus.
//!
//! Not modelled: sampling and estimation; every count is exact, and times are sums of whole
//! nanoseconds.

use core::time::Duration;

/// Counters of a token bus so far.
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
    /// Frames refused because their station is not in the ring and has not requested to join.
    pub outside: u64,
    /// Frames discarded because their station left or failed, or because no response came.
    pub given_up: u64,
    /// Tokens used by stations to send frames.
    pub tokens_used: u64,
    /// Tokens passed on without sending by stations with frames, because they came too late.
    pub tokens_too_late: u64,
    /// Maximum time from a token's arrival at a station to its next.
    pub longest_rotation: Duration,
    /// Transmission time of the frames, from the first bit of the preamble to the last bit.
    pub carried: Duration,
    /// Requests with response that were sent, repetitions included.
    pub requests: u64,
    /// Responses that came at once.
    pub answers: u64,
    /// Requests that remained without a response after all repetitions.
    pub unanswered: u64,
    /// Windows that stations opened to admit others to the ring.
    pub windows: u64,
    /// Windows, of this kind and others, in which several stations responded at once.
    pub contentions: u64,
    /// Stations that entered the ring.
    pub entries: u64,
    /// Time at which the latest of them was admitted, just before the token is sent to it.
    pub latest_entry: Duration,
    /// Stations that left the ring.
    pub departures: u64,
    /// Repairs of the ring that bypassed failed stations.
    pub bridges: u64,
    /// Tokens lost.
    pub tokens_lost: u64,
    /// Tokens claimed, because one was lost or no ring existed.
    pub claims: u64,
}

impl Statistics {
    /// Number of frames that the MAC entities are done with.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.sent + self.queue_drops + self.oversized + self.outside + self.given_up
    }
}
