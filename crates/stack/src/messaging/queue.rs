//! What waits for the medium: eight queues, the highest served first.

use super::socket::{OperationId, Priority};
use crate::llc::type3::{Lpdu, Ticket};
use std::collections::VecDeque;

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
