//! Queues for the medium: eight priorities, the highest served first.

use super::Indication;
use super::socket::{OperationId, Priority};
use crate::llc::type1;
use crate::llc::type3::{Lpdu, TransmitHandle};
use bytes::Bytes;
use std::collections::VecDeque;
use wire::addr::{Mac, Sap};
use wire::packet::Packet;

/// Maximum number of LLC's own answers waiting.
const MOST_ANSWERS: usize = 256;

/// Origin of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whose {
    /// Message without acknowledgement.
    Datagram(OperationId),
    /// Command of LLC type 3.
    Command(TransmitHandle),
    /// Answer of LLC.
    Answer,
}

/// Waiting frame. A message without acknowledgement becomes a frame only when its turn comes; until
/// then only its identifier is queued.
#[derive(Clone, Debug)]
pub(super) enum Waiting {
    /// Message without acknowledgement.
    Datagram(OperationId),
    /// Command of LLC type 3.
    Command(TransmitHandle, Box<Lpdu>),
    /// Answer of LLC.
    Answer(Box<Lpdu>),
}

/// UI that is not a packet yet, so that framing can write all its headers at once.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    /// Destination station.
    pub(crate) station: Mac,
    /// Destination SAP.
    pub(crate) destination: Sap,
    /// Source SAP.
    pub(crate) source: Sap,
    /// Priority, 0 to 7.
    pub(crate) priority: u8,
    /// The LSDU.
    pub(crate) data: Bytes,
}

impl Datagram {
    /// Converts to an LPDU.
    pub(crate) fn lpdu(self) -> Lpdu {
        let Self { station, destination, source, priority, data } = self;
        let type1::Lpdu { packet, .. } =
            type1::Lpdu::ui(station, destination, source, Packet::new(data));
        Lpdu { station, priority, packet, handle: None }
    }
}

/// Next output, in a form that is cheap to move.
#[derive(Clone, Debug)]
pub(crate) enum QueuedOutput {
    /// Indication to the user.
    Indication(Indication),
    /// Message without acknowledgement, to the MAC.
    Datagram(Datagram),
    /// Any other LPDU, to the MAC.
    Lpdu(Box<Lpdu>),
}

#[derive(Clone, Default, Debug)]
pub(super) struct Queues {
    /// Waiting frames by priority.
    waiting: [VecDeque<Waiting>; 8],
    /// Answers, which go before all.
    answers: VecDeque<Box<Lpdu>>,
}

impl Queues {
    /// Appends a frame to the queue of its priority.
    pub(super) fn put(&mut self, priority: Priority, waiting: Waiting) {
        if let Some(queue) = self.waiting.get_mut(usize::from(priority.number())) {
            queue.push_back(waiting);
        }
    }

    /// Appends an answer; returns `false` if too many wait.
    #[must_use]
    pub(super) fn answer(&mut self, lpdu: Lpdu) -> bool {
        let has_room = self.answers.len() < MOST_ANSWERS;
        if has_room {
            self.answers.push_back(Box::new(lpdu));
        }
        has_room
    }

    /// Number of waiting answers.
    pub(super) fn answers(&self) -> usize {
        self.answers.len()
    }

    /// Removes the newest answer if there are more than `count`.
    pub(super) fn take_answer_beyond(&mut self, count: usize) -> Option<Lpdu> {
        let is_new = self.answers.len() > count;
        self.answers.pop_back_if(|_| is_new).map(|lpdu| *lpdu)
    }

    /// Priority of the next frame; answers go before all.
    pub(super) fn most_urgent(&self) -> Option<Priority> {
        if !self.answers.is_empty() {
            return Some(Priority::HIGHEST);
        }
        let place = self.waiting.iter().rposition(|queue| !queue.is_empty())?;
        u8::try_from(place).ok().and_then(Priority::new)
    }

    /// Removes the next frame.
    pub(super) fn next(&mut self) -> Option<Waiting> {
        if let Some(lpdu) = self.answers.pop_front() {
            return Some(Waiting::Answer(lpdu));
        }
        self.waiting.iter_mut().rev().find_map(VecDeque::pop_front)
    }

    /// Removes the frame of a message without acknowledgement, if it still waits.
    pub(super) fn take_back(&mut self, priority: Priority, id: OperationId) {
        if let Some(queue) = self.waiting.get_mut(usize::from(priority.number())) {
            queue.retain(|waiting| !matches!(waiting, Waiting::Datagram(other) if *other == id));
        }
    }
}
