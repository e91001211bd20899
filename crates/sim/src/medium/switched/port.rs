//! Port: one end of a link, with the queues of its outgoing frames.
//!
//! Of the eight queues, the non-empty one of the highest priority is served first (strict priority,
//! IEEE 802.1Q), without preemption.
//!
//! Not modelled: frame preemption, shapers, gates.

use super::params::Buffer;
use core::time::Duration;
use stack::station::Frame;
use std::collections::VecDeque;
use wire::time::Instant;
use wire::units::BitRate;

/// Number of priorities: 0 to 7.
pub(super) const CLASSES: usize = 8;

/// Frame on its way.
#[derive(Clone, Debug)]
pub(super) struct Transit {
    pub frame: Frame,
    /// Station that sent it.
    pub source: usize,
    /// Priority by which it is queued.
    pub class: u8,
    /// Number among the frames offered, modulo 2^32.
    pub number: u32,
    /// Start of its wait at this port.
    pub since: Instant,
}

/// Endpoint of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Station(usize),
    Switch(usize),
}

/// One direction of a link, and the queues in front of it.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub from: End,
    pub to: End,
    pub rate: BitRate,
    pub propagation: Duration,
    pub buffer: Buffer,
    /// One queue per priority, up to the highest that was used.
    queues: Vec<VecDeque<Transit>>,
    pub frames: usize,
    pub octets: usize,
    /// Frame being sent, and its start.
    pub sending: Option<(Transit, Instant)>,
    /// End of the gap after the last frame.
    pub free: Instant,
    /// Frames sent but not yet queued at the next switch, with the times at which they will be.
    pub in_flight: VecDeque<(Instant, Transit)>,
}

impl Port {
    pub(super) fn new(
        from: End,
        to: End,
        rate: BitRate,
        propagation: Duration,
        buffer: Buffer,
    ) -> Self {
        Self {
            from,
            to,
            rate,
            propagation,
            buffer,
            queues: Vec::new(),
            frames: 0,
            octets: 0,
            sending: None,
            free: Instant::ZERO,
            in_flight: VecDeque::new(),
        }
    }

    /// Queues a frame by its priority; returns `false` if there is no room.
    pub(super) fn queue(&mut self, transit: Transit) -> bool {
        let has_room = match self.buffer {
            Buffer::Frames(most) => self.frames < most,
            Buffer::Octets(most) => self.octets + transit.frame.len() <= most,
        };
        if has_room {
            self.frames += 1;
            self.octets += transit.frame.len();
            let class = usize::from(transit.class);
            if self.queues.len() <= class {
                self.queues.reserve_exact(class + 1 - self.queues.len());
                self.queues.resize_with(class + 1, VecDeque::new);
            }
            self.queues[class].push_back(transit);
        }
        has_room
    }

    /// Takes the frame to be sent next.
    pub(super) fn take(&mut self) -> Option<Transit> {
        self.queues.iter_mut().rev().find_map(VecDeque::pop_front)
    }

    /// Returns whether a frame waits.
    pub(super) fn has_waiting(&self) -> bool {
        self.frames > usize::from(self.sending.is_some())
    }

    /// Ends the frame being sent; returns it and its start.
    pub(super) fn finish(&mut self) -> Option<(Transit, Instant)> {
        let (transit, begun) = self.sending.take()?;
        self.frames -= 1;
        self.octets -= transit.frame.len();
        Some((transit, begun))
    }
}
