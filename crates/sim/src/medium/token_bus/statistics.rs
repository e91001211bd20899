//! Counters of a token bus.
//!
//! Not modelled: sampling and estimation; every count is exact, and times are sums of whole
//! nanoseconds.

use core::time::Duration;
use wire::time::nanos;

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

    /// Calls `count` with the name and value of each counter; times are in nanoseconds.
    /// Those of responses and windows are left out while there are none, those of the ring's members if
    /// no station enters or leaves.
    pub(super) fn counts(&self, has_changes: bool, count: &mut dyn FnMut(&str, u64)) {
        let Self {
            offered,
            sent,
            unrecognised,
            queue_drops,
            oversized,
            outside,
            given_up,
            tokens_used,
            tokens_too_late,
            longest_rotation,
            carried,
            requests,
            answers,
            unanswered,
            windows,
            contentions,
            entries,
            departures,
            bridges,
            tokens_lost,
            claims,
            latest_entry: _,
        } = *self;
        count("medium.offered", offered);
        count("medium.sent", sent);
        count("medium.unrecognised", unrecognised);
        count("medium.queue-drops", queue_drops);
        count("medium.oversized", oversized);
        count("medium.tokens-used", tokens_used);
        count("medium.tokens-too-late", tokens_too_late);
        count("medium.longest-rotation-ns", nanos(longest_rotation));
        count("medium.carried-ns", nanos(carried));
        if requests > 0 {
            count("medium.requests", requests);
            count("medium.answers", answers);
            count("medium.unanswered", unanswered);
        }
        if windows > 0 {
            count("medium.windows", windows);
        }
        if has_changes {
            count("medium.entries", entries);
            count("medium.contentions", contentions);
            count("medium.departures", departures);
            count("medium.bridges", bridges);
            count("medium.tokens-lost", tokens_lost);
            count("medium.claims", claims);
            count("medium.outside", outside);
            count("medium.given-up", given_up);
        }
    }
}
