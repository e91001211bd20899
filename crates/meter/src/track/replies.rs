//! Requests and replies of a connection: pairing, and how long each reply took.
//!
//! A reply of S7 names its request by the PDU reference, so that any number of requests may be outstanding. Of
//! other users no key is read: a reply is paired only while one request is outstanding. A reply that pairs with
//! no single request counts as ambiguous.
//!
//! The first outstanding request stands in the connection; further ones are kept apart, up to a limit.

use super::connection::{Connection, Sender, Side, other};
use crate::measure::{Distribution, Summary, Times};
use crate::moment::Moment;
use crate::user::User;
use std::collections::VecDeque;
use wire::time::Instant;

/// Outstanding requests of a side beyond the first of the connection; the oldest is evicted first.
const MOST: usize = 256;

/// Role of an S7 PDU in an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// A request with its PDU reference.
    Request(u16),
    /// A reply with that of its request.
    Reply(u16),
    /// User data that neither asks nor answers.
    Indication,
}

impl Role {
    /// Role of the PDU at the beginning of a TSDU; none where that is no S7 PDU, or too little of it is at hand.
    #[inline]
    const fn of(tsdu: &[u8]) -> Option<Self> {
        // Protocol identifier, ROSCTR, redundancy identification, PDU reference.
        let Some(&[0x32, kind, _, _, high, low]) = tsdu.first_chunk() else { return None };
        let reference = u16::from_be_bytes([high, low]);
        match kind {
            1 => Some(Self::Request(reference)),
            2 | 3 => Some(Self::Reply(reference)),
            7 => Self::of_user_data(tsdu, reference),
            _ => None,
        }
    }

    /// The same of user data: behind ten octets of header the head of its parameters, then their length, the method,
    /// and the type in the upper half of an octet.
    #[cold]
    const fn of_user_data(tsdu: &[u8], reference: u16) -> Option<Self> {
        let Some((_, [0x00, 0x01, 0x12, _, _, kind, ..])) = tsdu.split_at_checked(10) else {
            return None;
        };
        match *kind >> 4 {
            4 => Some(Self::Request(reference)),
            8 => Some(Self::Reply(reference)),
            _ => Some(Self::Indication),
        }
    }
}

/// Outstanding request of a side that has a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    reference: u16,
    at: Instant,
}

/// TSDU under way of a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Within {
    /// Between TSDUs.
    Nothing,
    /// A request that has a key.
    Request,
    /// Another that has a key.
    Keyed,
    /// One without a key.
    Unkeyed,
}

/// The outstanding request that stands in the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum First {
    None,
    /// Side 0 sent it, under a PDU reference.
    OfInitiator,
    /// Side 1 sent it, likewise.
    OfResponder,
    /// The requester sent it; its user has no key.
    Unkeyed,
}

impl First {
    /// A request that has a key, of a side.
    const fn of(side: Side) -> Self {
        if side == 0 { Self::OfInitiator } else { Self::OfResponder }
    }
}

/// Requester of a connection of which no TSDU was seen.
const UNKNOWN: u8 = u8::MAX;

/// Requests of a connection that have no reply yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    /// When the first ended.
    asked: Moment,
    /// PDU reference of the first, where it has a key.
    reference: u16,
    /// Requests without a key and a reply; sticks at the most there can be.
    unkeyed: u16,
    first: First,
    /// The side that asks without keys; [`UNKNOWN`] before the first TSDU.
    requester: u8,
    /// Whether several of those were outstanding since none last was, so that no reply tells which it answers.
    is_ambiguous: bool,
}

/// Part of a TSDU that a DT is, as far as replies are concerned.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) at: Instant,
    pub(super) side: Side,
    pub(super) octets: &'a [u8],
    /// Whether it begins its TSDU.
    pub(super) begins: bool,
    /// Whether it ends it.
    pub(super) ends: bool,
    /// TSDU that it goes on with.
    pub(super) within: Within,
}

/// Times that are added to a distribution together.
const TOGETHER: usize = 15;

/// Replies of a side. A time is written to one cache line; [`TOGETHER`] of them are added up at once.
#[repr(C, align(64))]
#[derive(Clone, Debug, Default)]
pub(super) struct Replies {
    /// Nanoseconds of the latest replies.
    latest: [u32; TOGETHER],
    /// Number of those.
    count: u32,
    /// Times of the replies before.
    times: Distribution,
    pub(super) ambiguous: u64,
}

impl Replies {
    /// Notes the time that a reply took.
    #[inline]
    fn note(&mut self, nanos: u64) {
        match (u32::try_from(nanos), self.latest.get_mut(self.count as usize)) {
            (Ok(nanos), Some(place)) => {
                *place = nanos;
                self.count += 1;
            }
            _ => self.add_up(nanos),
        }
    }

    /// Adds up the latest times, and one more.
    #[cold]
    fn add_up(&mut self, nanos: u64) {
        for latest in self.latest.iter().take(self.count as usize) {
            self.times.record_nanos((*latest).into());
        }
        self.count = 0;
        self.times.record_nanos(nanos);
    }

    fn latest(&self) -> impl Iterator<Item = u64> {
        self.latest.iter().take(self.count as usize).map(|nanos| u64::from(*nanos))
    }

    /// Count, sum and greatest of all times.
    pub(super) fn times(&self) -> Times {
        let mut times = self.times.times();
        self.latest().for_each(|nanos| times.add(&Times::one(nanos)));
        times
    }

    /// Adds all times to a distribution.
    pub(super) fn add_to(&self, sum: &mut Distribution) {
        sum.add(&self.times);
        self.latest().for_each(|nanos| sum.record_nanos(nanos));
    }

    fn summary(&self) -> Summary {
        let mut all = Distribution::default();
        self.add_to(&mut all);
        all.summary()
    }
}

/// Meaning of a DT for replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Nothing,
    /// A reply, so many nanoseconds after its request.
    Reply(u64),
    /// A reply that pairs with no single request.
    Ambiguous,
}

impl Outstanding {
    /// None; the requester where it is known.
    pub(super) const fn none(requester: Option<u8>) -> Self {
        let requester = match requester {
            Some(side) => side,
            None => UNKNOWN,
        };
        let (asked, first) = (Moment::NEVER, First::None);
        Self { asked, reference: 0, unkeyed: 0, first, requester, is_ambiguous: false }
    }

    /// Whether the first request is the one of a side under this reference.
    #[inline]
    fn is_first(&self, side: Side, reference: u16) -> bool {
        self.first == First::of(side) && self.reference == reference
    }
}

impl Connection {
    /// Replies of a side; none where neither side sent any.
    pub(super) fn replies(&self, side: Side) -> Option<&Replies> {
        self.replies.as_ref().map(|replies| &replies[side])
    }

    /// Summary of the times that the replies of a side took.
    pub(super) fn replied(&self, side: Side) -> Summary {
        self.replies(side).map_or_else(Summary::default, |replies| replies.summary())
    }

    /// Pairs requests and replies. `span` is a DT that was seen for the first time.
    // Always: there is less to it than to calling it.
    #[inline(always)]
    pub(super) fn exchange(&mut self, span: Span<'_>) -> Found {
        if span.begins
            && self.user == User::S7
            && let Some(role) = Role::of(span.octets)
        {
            return self.keyed(span, role);
        }
        self.unkeyed(span)
    }

    #[inline(always)]
    fn keyed(&mut self, span: Span<'_>, role: Role) -> Found {
        let Span { at, side, ends, .. } = span;
        if !ends {
            let is_request = matches!(role, Role::Request(_));
            self.senders[side].within = if is_request { Within::Request } else { Within::Keyed };
        }
        match role {
            Role::Request(reference) => {
                let is_alone = self.outstanding.first == First::None;
                if is_alone && !self.senders[side].has_requests() {
                    self.outstanding.first = First::of(side);
                    self.outstanding.reference = reference;
                    self.outstanding.asked = Moment::of(at);
                    return Found::Nothing;
                }
                self.request_more(side, Request { reference, at });
                Found::Nothing
            }
            Role::Reply(reference) => {
                let asker = other(side);
                let since = if self.outstanding.is_first(asker, reference) {
                    self.outstanding.first = First::None;
                    self.outstanding.asked.get()
                } else {
                    self.senders[asker].take_request(reference)
                };
                self.reply(side, since.map(|since| at.nanos_since(since)))
            }
            Role::Indication => Found::Nothing,
        }
    }

    /// Notes a reply, so many nanoseconds after its request; none where that cannot be told.
    #[inline(always)]
    fn reply(&mut self, side: Side, nanos: Option<u64>) -> Found {
        let replies = &mut self.replies.get_or_insert_default()[side];
        match nanos {
            Some(nanos) => {
                replies.note(nanos);
                Found::Reply(nanos)
            }
            None => {
                replies.ambiguous += 1;
                Found::Ambiguous
            }
        }
    }

    /// Notes a request where others are outstanding. A reference that is outstanding already names no single request
    /// any more: the reply to it is ambiguous.
    #[cold]
    fn request_more(&mut self, side: Side, request: Request) {
        let is_first = self.outstanding.is_first(side, request.reference);
        let requests = self.senders[side].requests();
        let is_again =
            is_first || requests.iter().any(|known| known.reference == request.reference);
        requests.retain(|known| known.reference != request.reference);
        let at = if is_again { Instant::MAX } else { request.at };
        if requests.len() >= MOST {
            requests.pop_front();
        }
        requests.push_back(Request { at, ..request });
        if is_first {
            self.outstanding.first = First::None;
        }
    }

    /// A DT whose TSDU has no key, or that goes on with one.
    #[inline(always)]
    fn unkeyed(&mut self, span: Span<'_>) -> Found {
        let Span { at, side, begins, ends, .. } = span;
        match span.within {
            Within::Nothing | Within::Unkeyed => {}
            Within::Request => return self.request_goes_on(at, side),
            Within::Keyed => return Found::Nothing,
        }
        if self.outstanding.requester == UNKNOWN {
            self.outstanding.requester = side as u8;
        }
        if usize::from(self.outstanding.requester) == side {
            if ends {
                self.asked(at);
            }
            return Found::Nothing;
        }
        if !begins || self.outstanding.unkeyed == 0 {
            return Found::Nothing;
        }
        self.answered(at, side)
    }

    /// A request without a key ends.
    #[inline(always)]
    fn asked(&mut self, at: Instant) {
        let outstanding = &mut self.outstanding;
        let is_alone = outstanding.unkeyed == 0 && outstanding.first == First::None;
        outstanding.unkeyed = outstanding.unkeyed.saturating_add(1);
        if is_alone {
            (outstanding.first, outstanding.asked) = (First::Unkeyed, Moment::of(at));
        } else {
            outstanding.is_ambiguous = true;
        }
    }

    /// A reply without a key begins.
    #[inline(always)]
    fn answered(&mut self, at: Instant, side: Side) -> Found {
        let outstanding = &mut self.outstanding;
        let is_alone = outstanding.first == First::Unkeyed && !outstanding.is_ambiguous;
        let since = outstanding.asked.get().filter(|_| is_alone);
        if outstanding.unkeyed < u16::MAX {
            outstanding.unkeyed -= 1;
        }
        if outstanding.unkeyed == 0 {
            outstanding.is_ambiguous = false;
            if outstanding.first == First::Unkeyed {
                outstanding.first = First::None;
            }
        }
        self.reply(side, since.map(|since| at.nanos_since(since)))
    }

    /// A request of several DTs is outstanding from its last one on.
    #[cold]
    fn request_goes_on(&mut self, at: Instant, side: Side) -> Found {
        let sender = &mut self.senders[side];
        let last = sender.rare.as_mut().and_then(|rare| rare.requests.back_mut());
        match (last, self.outstanding.first) {
            // One that was outstanding twice stays ambiguous.
            (Some(last), _) if last.at == Instant::MAX => {}
            (Some(last), _) => last.at = at,
            (None, first) if first == First::of(side) => {
                self.outstanding.asked = Moment::of(at);
            }
            (None, _) => {}
        }
        Found::Nothing
    }
}

impl Sender {
    #[inline]
    fn has_requests(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.requests.is_empty())
    }

    fn requests(&mut self) -> &mut VecDeque<Request> {
        &mut self.rare.get_or_insert_default().requests
    }

    /// Takes an outstanding request that is not the first; when it ended, where that tells a time.
    #[cold]
    fn take_request(&mut self, reference: u16) -> Option<Instant> {
        let requests = &mut self.rare.as_mut()?.requests;
        let place = requests.iter().position(|request| request.reference == reference)?;
        requests.remove(place).map(|request| request.at).filter(|at| *at != Instant::MAX)
    }
}
