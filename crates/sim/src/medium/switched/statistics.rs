//! What is counted in a switched network.
//!
//! Not modelled: nothing is sampled or estimated; every count is exact.

use super::CLASSES;
use core::time::Duration;

/// What happened in a switched network so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Frames that stations offered.
    pub offered: u64,
    /// Frames that went out whole on their station's link.
    pub sent: u64,
    /// Frames that switches sent whole to a station; one to a group counts for each station.
    pub delivered: u64,
    /// Of the frames sent: those that no station had the address of.
    pub unrecognised: u64,
    /// Frames not taken for want of room in their station's queue.
    pub queue_drops: u64,
    /// Frames, or copies of one, for which a port of a switch had no room.
    pub buffer_drops: u64,
    /// Frames not taken because they are too long for the medium.
    pub oversized: u64,
    /// The most octets that waited or were being sent at one port of a switch.
    pub fullest_buffer_octets: usize,
    /// The longest that a frame of each priority waited at a port of a switch to be sent.
    pub longest_waits: [Duration; CLASSES],
}

impl Statistics {
    /// Frames the stations' MAC entities are done with.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.sent + self.queue_drops + self.oversized
    }
}
