//! What is counted on a token bus.
//!
//! Not modelled: nothing is sampled or estimated; every count is exact, and times are sums of whole
//! nanoseconds.

use core::time::Duration;

/// What happened on a token bus so far.
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
    /// Frames not taken because their station is not in the ring, nor wants to be.
    pub outside: u64,
    /// Frames given up because their station left or failed, or because nobody answered them.
    pub given_up: u64,
    /// Tokens that stations used to send frames.
    pub tokens_used: u64,
    /// Tokens that stations with frames had to pass on without sending any, for want of time.
    pub tokens_too_late: u64,
    /// The longest time from a token's arrival at a station to its next.
    pub longest_rotation: Duration,
    /// How long frames were being sent, from the first bit of the preamble to the last.
    pub carried: Duration,
    /// Requests with response that went out, repetitions included.
    pub requests: u64,
    /// Responses to them that came at once.
    pub answers: u64,
    /// Requests that nobody answered, however often they were sent.
    pub unanswered: u64,
    /// Windows that stations opened for others to enter the ring.
    pub windows: u64,
    /// Of these and others: those in which several answered at once.
    pub contentions: u64,
    /// Stations that entered the ring.
    pub entries: u64,
    /// When the last of them was told so, by the token on its way to it.
    pub latest_entry: Duration,
    /// Stations that left the ring.
    pub departures: u64,
    /// Times that the ring was mended past stations that failed.
    pub bridges: u64,
    /// Tokens lost.
    pub tokens_lost: u64,
    /// Tokens claimed: where one was lost, or there was no ring.
    pub claims: u64,
}

impl Statistics {
    /// Frames the MAC entities are done with.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.sent + self.queue_drops + self.oversized + self.outside + self.given_up
    }
}
