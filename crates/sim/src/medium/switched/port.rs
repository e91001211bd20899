//! A port: one end of a link, where frames wait to go out.
//!
//! Eight queues, of which the most important that has frames is served first (strict priority, IEEE
//! 802.1Q); a frame that is being sent is finished.
//!
//! Not modelled: frame preemption, shapers, gates.

use super::params::Buffer;
use core::time::Duration;
use stack::station::Frame;
use std::collections::VecDeque;
use wire::time::Instant;
use wire::units::BitRate;

/// Priorities: 0 to 7.
pub(super) const CLASSES: usize = 8;

/// A frame on its way.
#[derive(Clone, Debug)]
pub(super) struct Transit {
    pub frame: Frame,
    /// The station that sent it.
    pub source: usize,
    /// By which it is queued.
    pub class: usize,
    /// Since when it waits at this port.
    pub since: Instant,
}

/// What a port leads to.
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
    pub queues: [VecDeque<Transit>; CLASSES],
    pub frames: usize,
    pub octets: usize,
    /// What is being sent, and since when.
    pub sending: Option<(Transit, Instant)>,
    /// When the gap behind the last frame is over.
    pub free: Instant,
    /// What has been sent and not yet been queued at the next switch, and when it will be.
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
            queues: Default::default(),
            frames: 0,
            octets: 0,
            sending: None,
            free: Instant::ZERO,
            in_flight: VecDeque::new(),
        }
    }

    /// Queues a frame by its priority; `false` where there is no room.
    pub(super) fn queue(&mut self, transit: Transit) -> bool {
        let has_room = match self.buffer {
            Buffer::Frames(most) => self.frames < most,
            Buffer::Octets(most) => self.octets + transit.frame.len() <= most,
        };
        if has_room {
            self.frames += 1;
            self.octets += transit.frame.len();
            self.queues[transit.class].push_back(transit);
        }
        has_room
    }

    /// The frame to be sent next.
    pub(super) fn take(&mut self) -> Option<Transit> {
        self.queues.iter_mut().rev().find_map(VecDeque::pop_front)
    }

    /// Whether a frame waits.
    pub(super) fn has_waiting(&self) -> bool {
        self.frames > usize::from(self.sending.is_some())
    }

    /// The frame being sent is out; tells which it was, and when it was begun.
    pub(super) fn finish(&mut self) -> Option<(Transit, Instant)> {
        let (transit, begun) = self.sending.take()?;
        self.frames -= 1;
        self.octets -= transit.frame.len();
        Some((transit, begun))
    }
}
