//! Outstanding requests of a side, by invoke identifier.

use wire::time::Instant;

/// Outstanding requests of a side; with more, the oldest is forgotten.
const MOST: usize = 128;
/// Identifiers of answered requests that are remembered.
const ANSWERED: usize = 16;

/// Outstanding request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) invoke: u32,
    /// Row of its service.
    pub(super) row: u8,
    /// Time of its last octet.
    pub(super) at: Instant,
}

/// Result of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Match {
    /// Answers this request.
    One(Request),
    /// Answers a request that had its answer.
    Repeated,
    /// Answers no request.
    Nothing,
}

/// Outstanding requests of a side, in the order of their times.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    open: Vec<Request>,
    /// Identifiers answered last, and the place of the next.
    answered: [Option<u32>; ANSWERED],
    next: u8,
}

impl Requests {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Adds a request; returns the one that it displaces: with its identifier, or for want of room.
    pub(super) fn ask(&mut self, request: Request) -> Option<Request> {
        let same = self.open.iter().position(|known| known.invoke == request.invoke);
        let is_full = self.open.len() >= MOST;
        let displaced = same.or(is_full.then_some(0)).map(|place| self.open.remove(place));
        self.open.push(request);
        displaced
    }

    /// Removes the request that an answer belongs to.
    pub(super) fn answer(&mut self, invoke: u32) -> Match {
        if let Some(place) = self.open.iter().position(|known| known.invoke == invoke) {
            let is_last = place + 1 == self.open.len();
            let last = if is_last { self.open.pop() } else { None };
            let request = last.unwrap_or_else(|| self.open.remove(place));
            if let Some(answered) = self.answered.get_mut(usize::from(self.next)) {
                *answered = Some(invoke);
            }
            self.next = (self.next + 1) % ANSWERED as u8;
            return Match::One(request);
        }
        if self.answered.contains(&Some(invoke)) { Match::Repeated } else { Match::Nothing }
    }

    /// Number of outstanding requests of a row.
    pub(super) fn of_row(&self, row: usize) -> u64 {
        self.open.iter().filter(|request| usize::from(request.row) == row).count() as u64
    }

    /// Removes all requests.
    pub(super) fn give_up(&mut self) -> Vec<Request> {
        core::mem::take(&mut self.open)
    }
}
