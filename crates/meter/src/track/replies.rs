//! Pairing of requests and replies of a connection, and response times.
//!
//! A reply of S7 identifies its request by the PDU reference, so any number of requests may be
//! outstanding. The association follower pairs those of MMS. For other applications no key is read:
//! a reply is paired only while one request is outstanding. A reply that pairs with no single
//! request counts as ambiguous.
//!
//! The first outstanding request is stored in the connection; further ones are stored separately,
//! up to a limit.

use super::connection::Connection;
use super::outstanding::{FOLLOWED, First, OF_RESPONDER, Request, TOGETHER, Within};
use super::side::{Side, other};
use crate::measure::{Distribution, Summary, Times};
use crate::packed_instant::PackedInstant;
use crate::user::User;
use std::collections::VecDeque;
use wire::time::Instant;

/// Outstanding requests of a side beyond the first of the connection; the oldest is evicted first.
const MOST: usize = 256;

/// Role of an S7 PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Request with its PDU reference.
    Request(u16),
    /// Reply with the PDU reference of its request.
    Reply(u16),
    /// User data that is neither request nor reply.
    Indication,
}

impl Role {
    /// Role of the PDU at the beginning of a TSDU; none if it is no S7 PDU or too short to
    /// classify.
    // Always inline: most TSDUs of S7 are requests and replies, which are recognised at once.
    #[inline(always)]
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

    /// Role of user data: after ten octets of header come the head of the parameters, their length,
    /// the method, and the type in the upper half of an octet.
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

/// Part of a TSDU that a DT carries, as far as replies are concerned.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) at: Instant,
    pub(super) side: Side,
    pub(super) octets: &'a [u8],
    /// True if it begins its TSDU.
    pub(super) begins: bool,
    /// True if it ends its TSDU.
    pub(super) ends: bool,
    /// TSDU that it continues.
    pub(super) within: Within,
}

/// Result of a DT for pairing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Nothing,
    /// Reply, and its delay after the request in nanoseconds.
    Reply(u64),
    /// Reply that pairs with no single request.
    Ambiguous,
    /// Part of a TSDU of an association that is followed.
    Followed,
}

impl Connection {
    /// Count, sum and maximum of the response times of a side.
    pub(super) fn reply_times(&self, side: Side) -> Times {
        let Some(replies) = &self.replies else { return Times::default() };
        let mut times = replies.side(side).map_or(Times::default(), |side| side.times.times());
        let latest = replies.latest(self.outstanding.latest, side);
        latest.for_each(|nanos| times.add(&Times::one(nanos)));
        times
    }

    /// Replies of a side that pair with no single request.
    pub(super) fn ambiguous_replies(&self, side: Side) -> u64 {
        let replies = self.replies.as_ref().and_then(|replies| replies.side(side));
        replies.map_or(0, |side| side.ambiguous)
    }

    /// Adds the response times of a side.
    pub(super) fn add_replied_to(&self, side: Side, sum: &mut Distribution) {
        let Some(replies) = &self.replies else { return };
        if let Some(side) = replies.side(side) {
            sum.add(&side.times);
        }
        let latest = replies.latest(self.outstanding.latest, side);
        latest.for_each(|nanos| sum.record_nanos(nanos));
    }

    /// Distribution of the response times of a side.
    pub(super) fn replied(&self, side: Side) -> Distribution {
        let mut sum = Distribution::default();
        self.add_replied_to(side, &mut sum);
        sum
    }

    /// Summary of the response times of a side.
    pub(super) fn replied_summary(&self, side: Side) -> Summary {
        let Some(replies) = &self.replies else { return Summary::default() };
        if replies.latest(self.outstanding.latest, side).next().is_some() {
            return self.replied(side).summary();
        }
        replies.side(side).map_or_else(Summary::default, |side| side.times.summary())
    }

    /// Pairs requests and replies. `span` is a DT seen for the first time.
    // Always inline: the body is shorter than a call.
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
        match role {
            Role::Request(reference) => {
                if !ends {
                    self.sender(side).within = Within::Request;
                }
                let is_alone = self.outstanding.first == First::NONE;
                if is_alone && !self.has_requests(side) {
                    self.outstanding.first = First::of(side);
                    self.outstanding.reference = reference;
                    self.outstanding.asked = PackedInstant::of(at);
                } else {
                    self.request_more(side, Request { reference, at });
                }
                Found::Nothing
            }
            Role::Reply(reference) => {
                if !ends {
                    self.sender(side).within = Within::Keyed;
                }
                let asker = other(side);
                let since = if self.outstanding.is_first(asker, reference) {
                    self.outstanding.first = First::NONE;
                    self.outstanding.asked.get()
                } else {
                    self.take_request(asker, reference)
                };
                self.reply(side, since.map(|since| at.nanos_since(since)))
            }
            Role::Indication => {
                if !ends {
                    self.sender(side).within = Within::Keyed;
                }
                Found::Nothing
            }
        }
    }

    /// Counts a reply and its response time in nanoseconds; none if the pair is ambiguous.
    #[inline(always)]
    pub(super) fn reply(&mut self, side: Side, nanos: Option<u64>) -> Found {
        let Some(nanos) = nanos else { return self.ambiguous(side) };
        let Some(replies) = &mut self.replies else { return self.first_reply(side, nanos) };
        let latest = &mut self.outstanding.latest;
        if usize::from(*latest) == TOGETHER {
            replies.add_up(*latest);
            *latest = 0;
        }
        let short = u32::try_from(nanos).ok().filter(|short| short & OF_RESPONDER == 0);
        match (short, replies.latest.get_mut(usize::from(*latest))) {
            (Some(short), Some(place)) => {
                *place = short | if side == 0 { 0 } else { OF_RESPONDER };
                *latest += 1;
            }
            _ => {
                replies.add_long(*latest, side, nanos);
                *latest = 0;
            }
        }
        Found::Reply(nanos)
    }

    /// Records the first reply of either side.
    #[cold]
    fn first_reply(&mut self, side: Side, nanos: u64) -> Found {
        self.replies = Some(Box::default());
        self.reply(side, Some(nanos))
    }

    /// Records a reply that pairs with no single request.
    #[cold]
    fn ambiguous(&mut self, side: Side) -> Found {
        self.replies.get_or_insert_default().side_mut(side).ambiguous += 1;
        Found::Ambiguous
    }

    /// Records a request while others are outstanding. If its reference is already outstanding,
    /// that no longer names a single request: the reply to it is ambiguous.
    #[cold]
    fn request_more(&mut self, side: Side, request: Request) {
        let is_first = self.outstanding.is_first(side, request.reference);
        let requests = &mut self.apart().rare(side).requests;
        let is_again =
            is_first || requests.iter().any(|known| known.reference == request.reference);
        requests.retain(|known| known.reference != request.reference);
        let at = if is_again { Instant::MAX } else { request.at };
        if requests.len() >= MOST {
            requests.pop_front();
        }
        requests.push_back(Request { at, ..request });
        if is_first {
            self.outstanding.first = First::NONE;
        }
    }

    /// Processes a DT of a TSDU without a key.
    #[inline(always)]
    fn unkeyed(&mut self, span: Span<'_>) -> Found {
        let Span { at, side, begins, ends, .. } = span;
        match span.within {
            Within::Nothing | Within::Unkeyed => {}
            Within::Request => return self.request_goes_on(at, side),
            Within::Keyed => return Found::Nothing,
        }
        if self.outstanding.requester >= FOLLOWED {
            if self.outstanding.requester == FOLLOWED {
                return Found::Followed;
            }
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

    /// Records the end of a request without a key.
    #[inline(always)]
    fn asked(&mut self, at: Instant) {
        let outstanding = &mut self.outstanding;
        let is_alone = outstanding.unkeyed == 0 && outstanding.first == First::NONE;
        outstanding.unkeyed = outstanding.unkeyed.saturating_add(1);
        if is_alone {
            (outstanding.first, outstanding.asked) = (First::UNKEYED, PackedInstant::of(at));
        } else {
            outstanding.is_ambiguous = true;
        }
    }

    /// Records the beginning of a reply without a key.
    #[inline(always)]
    fn answered(&mut self, at: Instant, side: Side) -> Found {
        let outstanding = &mut self.outstanding;
        let is_alone = outstanding.first == First::UNKEYED && !outstanding.is_ambiguous;
        let since = outstanding.asked.get().filter(|_| is_alone);
        if outstanding.unkeyed < u16::MAX {
            outstanding.unkeyed -= 1;
        }
        if outstanding.unkeyed == 0 {
            outstanding.is_ambiguous = false;
            if outstanding.first == First::UNKEYED {
                outstanding.first = First::NONE;
            }
        }
        self.reply(side, since.map(|since| at.nanos_since(since)))
    }

    /// Moves the time of a request of several DTs to its latest DT.
    #[cold]
    fn request_goes_on(&mut self, at: Instant, side: Side) -> Found {
        let first = self.outstanding.first;
        match (self.requests(side).and_then(VecDeque::back_mut), first) {
            // A reference that was outstanding twice stays ambiguous.
            (Some(last), _) if last.at == Instant::MAX => {}
            (Some(last), _) => last.at = at,
            (None, first) if first == First::of(side) => {
                self.outstanding.asked = PackedInstant::of(at);
            }
            (None, _) => {}
        }
        Found::Nothing
    }

    #[inline]
    fn has_requests(&self, side: Side) -> bool {
        self.rare(side).is_some_and(|rare| !rare.requests.is_empty())
    }

    /// Outstanding requests of a side other than the first, if there is a place for them.
    fn requests(&mut self, side: Side) -> Option<&mut VecDeque<Request>> {
        let rare = self.apart_if_any()?.rare[side].as_mut()?;
        Some(&mut rare.requests)
    }

    /// Removes an outstanding request other than the first; returns its end, if known.
    #[cold]
    fn take_request(&mut self, side: Side, reference: u16) -> Option<Instant> {
        let requests = self.requests(side)?;
        let place = requests.iter().position(|request| request.reference == reference)?;
        requests.remove(place).map(|request| request.at).filter(|at| *at != Instant::MAX)
    }
}
