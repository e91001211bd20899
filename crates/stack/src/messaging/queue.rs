//! What waits for the medium: eight queues, the highest served first.

use super::Indication;
use super::socket::{OperationId, Priority};
use crate::llc::type1;
use crate::llc::type3::{Lpdu, Ticket};
use bytes::Bytes;
use std::collections::VecDeque;
use wire::addr::{Mac, Sap};
use wire::packet::Packet;

/// LLC's own answers that may wait.
const MOST_ANSWERS: usize = 256;

/// Whose frame it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whose {
    /// A message without acknowledgement.
    Datagram(OperationId),
    /// A command of LLC type 3.
    Command(Ticket),
    /// An answer of LLC's.
    Answer,
}

/// What waits: a message without acknowledgement is made a frame when its turn comes, so that no
/// more than its name is moved about until then.
#[derive(Clone, Debug)]
pub(super) enum Waiting {
    /// A message without acknowledgement.
    Datagram(OperationId),
    /// A command of LLC type 3.
    Command(Ticket, Box<Lpdu>),
    /// An answer of LLC's.
    Answer(Box<Lpdu>),
}

/// A UI that is no packet yet: whoever frames it writes all its headers at once.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    /// Whom it goes to.
    pub(crate) station: Mac,
    /// The SAP there.
    pub(crate) destination: Sap,
    /// The SAP here.
    pub(crate) source: Sap,
    /// Its priority, 0 to 7.
    pub(crate) priority: u8,
    /// The LSDU.
    pub(crate) data: Bytes,
}

impl Datagram {
    /// As an LPDU.
    pub(crate) fn lpdu(self) -> Lpdu {
        let Self { station, destination, source, priority, data } = self;
        let type1::Lpdu { packet, .. } =
            type1::Lpdu::ui(station, destination, source, Packet::new(data));
        Lpdu { station, priority, packet, ticket: None }
    }
}

/// What is said next, in a form that is quickly moved about.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// To the user.
    Indication(Indication),
    /// To the MAC: a message without acknowledgement.
    Datagram(Datagram),
    /// To the MAC: any other LPDU.
    Lpdu(Box<Lpdu>),
}

#[derive(Clone, Default, Debug)]
pub(super) struct Queues {
    /// By priority.
    waiting: [VecDeque<Waiting>; 8],
    /// What goes before all.
    answers: VecDeque<Box<Lpdu>>,
}

impl Queues {
    /// Puts a frame behind those of its priority.
    pub(super) fn put(&mut self, priority: Priority, waiting: Waiting) {
        if let Some(queue) = self.waiting.get_mut(usize::from(priority.number())) {
            queue.push_back(waiting);
        }
    }

    /// Puts an answer behind the others; `false` where too many wait.
    #[must_use]
    pub(super) fn answer(&mut self, lpdu: Lpdu) -> bool {
        let has_room = self.answers.len() < MOST_ANSWERS;
        if has_room {
            self.answers.push_back(Box::new(lpdu));
        }
        has_room
    }

    /// How many answers wait.
    pub(super) fn answers(&self) -> usize {
        self.answers.len()
    }

    /// Takes the newest answer where there are more than this.
    pub(super) fn take_answer_beyond(&mut self, count: usize) -> Option<Lpdu> {
        let is_new = self.answers.len() > count;
        self.answers.pop_back_if(|_| is_new).map(|lpdu| *lpdu)
    }

    /// The priority of the next frame; answers go before all.
    pub(super) fn most_urgent(&self) -> Option<Priority> {
        if !self.answers.is_empty() {
            return Some(Priority::HIGHEST);
        }
        let place = self.waiting.iter().rposition(|queue| !queue.is_empty())?;
        u8::try_from(place).ok().and_then(Priority::new)
    }

    /// The next frame.
    pub(super) fn next(&mut self) -> Option<Waiting> {
        if let Some(lpdu) = self.answers.pop_front() {
            return Some(Waiting::Answer(lpdu));
        }
        self.waiting.iter_mut().rev().find_map(VecDeque::pop_front)
    }

    /// Takes back the frame of a message without acknowledgement, if it still waits.
    pub(super) fn take_back(&mut self, priority: Priority, id: OperationId) {
        if let Some(queue) = self.waiting.get_mut(usize::from(priority.number())) {
            queue.retain(|waiting| !matches!(waiting, Waiting::Datagram(other) if *other == id));
        }
    }
}
