//! Counters of a switched network.
//!
//! Not modelled: sampling and estimation; every count is exact.

use super::CLASSES;
use core::time::Duration;
use wire::time::nanos;

/// Counters of a switched network so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Frames that stations offered.
    pub offered: u64,
    /// Frames sent completely on their station's link.
    pub sent: u64,
    /// Frames that switches sent completely to a station; a frame to a group counts once for each
    /// station.
    pub delivered: u64,
    /// Frames sent whose destination address belongs to no station.
    pub unrecognised: u64,
    /// Frames refused because their station's queue was full.
    pub queue_drops: u64,
    /// Frames, or copies of one, dropped because a switch's port was full.
    pub buffer_drops: u64,
    /// Frames refused because they exceed the maximum length.
    pub oversized: u64,
    /// Maximum number of octets waiting or being sent at one port of a switch.
    pub fullest_buffer_octets: usize,
    /// Maximum waiting time at a port of a switch, by priority.
    pub longest_waits: [Duration; CLASSES],
}

impl Statistics {
    /// Number of frames that the stations' MAC entities are done with.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.sent + self.queue_drops + self.oversized
    }

    /// Calls `count` with the name and value of each counter; times are in nanoseconds.
    pub(super) fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        let Self {
            offered,
            sent,
            delivered,
            unrecognised,
            queue_drops,
            buffer_drops,
            oversized,
            fullest_buffer_octets,
            longest_waits,
        } = *self;
        count("medium.offered", offered);
        count("medium.sent", sent);
        count("medium.delivered", delivered);
        count("medium.unrecognised", unrecognised);
        count("medium.queue-drops", queue_drops);
        count("medium.buffer-drops", buffer_drops);
        count("medium.oversized", oversized);
        count("medium.fullest-buffer-octets", fullest_buffer_octets as u64);
        for (priority, longest) in longest_waits.into_iter().enumerate() {
            count(&format!("medium.longest-wait-{priority}-ns"), nanos(longest));
        }
    }
}
