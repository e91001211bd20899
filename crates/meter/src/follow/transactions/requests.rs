//! Outstanding requests of a connection, and their pairing with replies.
//!
//! Definitions. The key of a request is its identifier, its unit and its function, if replies repeat that. A reply belongs to
//! the outstanding request of its key.
//!
//! - A request with the key and the octets of an outstanding one is a retry. The reply that follows is
//!   ambiguous: it may be that to the first.
//! - If several outstanding requests have its key, a reply is ambiguous. It ends the latest of them,
//!   and replies to the others are ambiguous as well.
//! - If all requests of the connection had one identifier, that tells nothing. Replies then belong to
//!   the requests of their unit and function in order, if the first of these is at most half a second
//!   old: clients wait about that long before they give a request up. A request with the same octets
//!   is a retry only after that time.
//! - A request is unanswered after ten seconds (IEC 104: thirty), or when its server closes the connection, or either
//!   side resets it. A reply that comes later is late.
//! - A reply without a request is repeated if its key was answered a moment ago, late if it was given
//!   up, and otherwise unrequested.

use super::message::OTHER;
use crate::lru_slab::Handle;
use wire::time::Instant;

/// Age up to which requests without identifiers are answered in order.
const IN_ORDER_NS: u64 = 500_000_000;
/// Outstanding requests kept of a connection; beyond, the oldest is dropped.
const MOST: usize = 64;
/// Keys kept of requests that were answered last, and of those given up last.
const ENDED: usize = 8;

/// Key of a request, which its reply repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub(super) identifier: u32,
    pub(super) unit: u32,
    /// Part of the function that a reply repeats.
    pub(super) pair: u16,
}

/// Outstanding request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) key: Key,
    /// Hash of its octets.
    pub(super) print: u64,
    pub(super) at: Instant,
    /// Row of its function.
    pub(super) row: Handle,
    /// True if the next reply of its key may be to another request.
    is_doubtful: bool,
}

impl Request {
    pub(super) const fn new(key: Key, print: u64, at: Instant, row: Handle) -> Self {
        Self { key, print, at, row, is_doubtful: false }
    }
}

/// Part of a request in a sequence of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    /// A new one, and the one that was dropped to make room.
    New { dropped: Option<Request> },
    /// Again, before its reply.
    Retry,
}

/// Request that a reply belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Match {
    /// This one alone.
    One(Request),
    /// This one, or another.
    Ambiguous(Request),
    /// One that was answered before.
    Repeated,
    /// One that was given up.
    Late,
    /// None.
    Nothing,
}

/// Keys of requests that ended last.
#[derive(Clone, Copy, Debug)]
struct Ended {
    keys: [Option<Key>; ENDED],
    next: u8,
}

impl Ended {
    const NONE: Self = Self { keys: [None; ENDED], next: 0 };

    fn add(&mut self, key: Key) {
        if let Some(place) = self.keys.get_mut(usize::from(self.next)) {
            *place = Some(key);
        }
        self.next = (self.next + 1) % ENDED as u8;
    }

    fn has(&self, key: Key) -> bool {
        self.keys.contains(&Some(key))
    }

    fn remove(&mut self, key: Key) {
        self.keys.iter_mut().filter(|known| **known == Some(key)).for_each(|known| *known = None);
    }
}

/// Identifiers of all requests of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Identifiers {
    None,
    One(u32),
    Several,
}

/// Outstanding requests of a connection, in the order of their times.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    open: Vec<Request>,
    answered: Ended,
    given_up: Ended,
    identifiers: Identifiers,
}

impl Requests {
    pub(super) const fn new() -> Self {
        let identifiers = Identifiers::None;
        Self { open: Vec::new(), answered: Ended::NONE, given_up: Ended::NONE, identifiers }
    }

    /// Number of outstanding requests: of U and I formats and of commands of an encapsulation those of
    /// their own kind, and otherwise all others.
    pub(super) fn outstanding(&self, pair: u16) -> usize {
        let is_one = |known: &&Request| match pair {
            OTHER.. => known.key.pair == pair,
            _ => known.key.pair < OTHER,
        };
        self.open.iter().filter(is_one).count()
    }

    /// Adds a request.
    pub(super) fn ask(&mut self, request: Request) -> Asked {
        let identifier = request.key.identifier;
        self.identifiers = match self.identifiers {
            Identifiers::None => Identifiers::One(identifier),
            Identifiers::One(known) if known == identifier => Identifiers::One(known),
            _ => Identifiers::Several,
        };
        let has_identifiers = self.has_identifiers();
        let again = self.open.iter_mut().rev().find(|known| {
            let is_old = request.at.nanos_since(known.at) > IN_ORDER_NS;
            known.key == request.key && known.print == request.print && (has_identifiers || is_old)
        });
        if let Some(again) = again {
            again.is_doubtful = true;
            return Asked::Retry;
        }
        let dropped = (self.open.len() >= MOST).then(|| self.open.remove(0));
        self.open.push(request);
        Asked::New { dropped }
    }

    /// True if identifiers tell requests apart.
    fn has_identifiers(&self) -> bool {
        self.identifiers == Identifiers::Several
    }

    /// Removes the request that a reply belongs to.
    pub(super) fn answer(&mut self, key: Key, at: Instant) -> Match {
        let is_it = |known: &Request| known.key == key;
        let Some(first) = self.open.iter().position(is_it) else { return self.without(key) };
        let last = self.open.iter().rposition(is_it).unwrap_or(first);
        let Some(oldest) = self.open.get(first).copied() else { return Match::Nothing };
        let is_young = at.nanos_since(oldest.at) <= IN_ORDER_NS;
        let is_one = first == last || !self.has_identifiers() && is_young;
        self.answered.add(key);
        self.given_up.remove(key);
        if is_one && !oldest.is_doubtful {
            return Match::One(self.open.remove(first));
        }
        let request = self.open.remove(last);
        self.open.iter_mut().filter(|known| is_it(known)).for_each(|it| it.is_doubtful = true);
        Match::Ambiguous(request)
    }

    /// Reply to no outstanding request.
    fn without(&self, key: Key) -> Match {
        if self.given_up.has(key) {
            Match::Late
        } else if self.answered.has(key) {
            Match::Repeated
        } else {
            Match::Nothing
        }
    }

    /// Removes the requests of a pair with lower identifiers than this one, of 15 bits.
    pub(super) fn acknowledge(&mut self, pair: u16, identifier: u32) -> Vec<Request> {
        let is_acknowledged = |known: &mut Request| {
            let ahead = identifier.wrapping_sub(known.key.identifier) & 0x7FFF;
            known.key.pair == pair && (1..=0x4000).contains(&ahead)
        };
        self.open.extract_if(.., is_acknowledged).collect()
    }

    /// Removes the oldest request, if it is older than the limit.
    pub(super) fn give_up(&mut self, now: Instant, limit_ns: u64) -> Option<Request> {
        let oldest = self.open.first()?;
        if now.nanos_since(oldest.at) <= limit_ns {
            return None;
        }
        let request = self.open.remove(0);
        self.given_up.add(request.key);
        Some(request)
    }

    /// Gives up all requests.
    pub(super) fn close(&mut self) -> Vec<Request> {
        let open = core::mem::take(&mut self.open);
        open.iter().for_each(|request| self.given_up.add(request.key));
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of a script of one line for each step: milliseconds, `?` or `!` for a request or a
    /// reply, its identifier, and for a request its octets.
    fn check(script: &[(u64, char, u32, u64)]) -> Vec<String> {
        let mut requests = Requests::new();
        let mut results = Vec::new();
        for (millis, kind, identifier, print) in script {
            let at = Instant::from_nanos(millis * 1_000_000);
            while let Some(request) = requests.give_up(at, 10_000_000_000) {
                results.push(format!("no reply to {}", request.print));
            }
            let key = Key { identifier: *identifier, unit: 1, pair: 3 };
            if *kind == '?' {
                match requests.ask(Request::new(key, *print, at, Handle::NONE)) {
                    Asked::New { dropped: None } => {}
                    other => results.push(format!("{other:?}")),
                }
                continue;
            }
            results.push(match requests.answer(key, at) {
                Match::One(of) => format!("{} in {}", of.print, at.nanos_since(of.at) / 1_000_000),
                Match::Ambiguous(_) => "ambiguous".to_owned(),
                other => format!("{other:?}"),
            });
        }
        results
    }

    #[test]
    fn replies_pair_by_identifier_in_any_order() {
        let script = [(0, '?', 1, 10), (5, '?', 2, 20), (9, '!', 2, 0), (12, '!', 1, 0)];
        assert_eq!(check(&script), ["20 in 4", "10 in 12"]);
    }

    #[test]
    fn a_reply_behind_a_retry_is_ambiguous_and_the_next_repeated() {
        let script = [
            (0, '?', 7, 10),
            (4, '!', 7, 0),
            (10, '?', 8, 10),
            (300, '?', 8, 10),
            (310, '!', 8, 0),
            (320, '!', 8, 0),
            (330, '!', 9, 0),
        ];
        assert_eq!(check(&script), ["10 in 4", "Retry", "ambiguous", "Repeated", "Nothing"]);
    }

    #[test]
    fn a_reused_identifier_makes_its_replies_ambiguous() {
        let script = [
            (0, '?', 1, 10),
            (1, '?', 2, 20),
            (2, '?', 1, 30),
            (3, '!', 1, 0),
            (4, '!', 1, 0),
            (5, '!', 2, 0),
        ];
        assert_eq!(check(&script), ["ambiguous", "ambiguous", "20 in 4"]);
    }

    #[test]
    fn without_identifiers_replies_come_in_order() {
        let script = [(0, '?', 0, 10), (5, '?', 0, 10), (9, '!', 0, 0), (12, '!', 0, 0)];
        assert_eq!(check(&script), ["10 in 9", "10 in 7"]);
    }

    #[test]
    fn without_identifiers_one_loss_is_never_guessed_away() {
        // Different polls each second, answered in 50 ms, but for the first.
        let mut script = vec![(0, '?', 1, 10)];
        for n in 1..12 {
            script.push((n * 1_000, '?', 1, 10 + n));
            script.push((n * 1_000 + 50, '!', 1, 0));
        }
        let results = check(&script);
        assert_eq!(results[..9], ["ambiguous"; 9], "{results:?}");
        assert_eq!(results[9..], ["no reply to 10", "20 in 50", "21 in 50"], "{results:?}");
        // The same poll again is a retry, and ends the doubt.
        let script = [(0, '?', 1, 10), (900, '?', 1, 10), (950, '!', 1, 0), (960, '!', 1, 0)];
        assert_eq!(check(&script), ["Retry", "ambiguous", "Repeated"]);
    }

    #[test]
    fn a_reply_after_ten_seconds_is_late() {
        let script =
            [(0, '?', 1, 10), (9_000, '?', 2, 20), (10_001, '!', 1, 0), (10_002, '!', 2, 0)];
        assert_eq!(check(&script), ["no reply to 10", "Late", "20 in 1002"]);
    }

    #[test]
    fn the_oldest_of_too_many_requests_is_dropped() {
        let mut requests = Requests::new();
        for n in 0..=MOST as u32 {
            let key = Key { identifier: n, unit: 1, pair: 3 };
            let asked = requests.ask(Request::new(key, 0, Instant::ZERO, Handle::NONE));
            let dropped = match asked {
                Asked::New { dropped } => dropped.map(|it| it.key.identifier),
                Asked::Retry => panic!("{n}"),
            };
            assert_eq!(dropped, (n == MOST as u32).then_some(0));
        }
        assert_eq!(requests.outstanding(3), MOST);
    }
}
