//! Outstanding requests of a connection, and its response times.

use super::side::Side;
use crate::follow::association::Association;
use crate::measure::Distribution;
use crate::packed_instant::PackedInstant;
use wire::time::Instant;

/// Outstanding request with a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) reference: u16,
    pub(super) at: Instant,
}

/// TSDU under way of a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Within {
    /// None: between TSDUs.
    Nothing,
    /// Request with a key.
    Request,
    /// Another PDU with a key.
    Keyed,
    /// PDU without a key.
    Unkeyed,
}

/// First outstanding request, stored in the connection: the side that sent it with a PDU reference,
/// or one of the constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct First(u8);

impl First {
    pub(super) const NONE: Self = Self(u8::MAX);
    /// Sent by the requester; its application has no key.
    pub(super) const UNKEYED: Self = Self(2);

    /// Request with a key, of a side.
    #[inline]
    pub(super) const fn of(side: Side) -> Self {
        Self(side as u8)
    }
}

/// Requester of a connection without a TSDU yet.
pub(super) const UNKNOWN: u8 = u8::MAX;
/// Requester of a connection whose association is followed, which pairs its requests by key.
/// Greater values are no sides.
pub(super) const FOLLOWED: u8 = u8::MAX - 1;

/// Outstanding requests of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    /// End of the first request.
    pub(super) asked: PackedInstant,
    /// PDU reference of the first request, if it has a key.
    pub(super) reference: u16,
    /// Outstanding requests without a key; saturates.
    pub(super) unkeyed: u16,
    pub(super) first: First,
    /// Side that sends requests without keys; [`UNKNOWN`] before the first TSDU.
    pub(super) requester: u8,
    /// True if several requests without keys were outstanding at once since there were none, so
    /// that a reply has no unique request.
    pub(super) is_ambiguous: bool,
    /// Number of recent response times that are not in the distribution yet.
    pub(super) latest: u8,
}

/// Response times that are added to a distribution at once.
pub(super) const TOGETHER: usize = 32;
/// Bit that marks a response time of side 1.
pub(super) const OF_RESPONDER: u32 = 1 << 31;

/// Response times of both sides. The count of recent times is in the connection, so that recording
/// one writes to a cache line without reading it. The distributions are apart, so that the recent
/// times of many connections share few pages of memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Replies {
    /// Recent response times in nanoseconds, with [`OF_RESPONDER`].
    pub(super) latest: [u32; TOGETHER],
    /// Earlier response times of each side; none before the first are added up.
    pub(super) sides: Option<Box<[OfSide; 2]>>,
    /// Association, once the application is recognised as MMS.
    pub(super) association: Option<Box<Association>>,
}

/// Response times of a side.
#[derive(Clone, Debug, Default)]
pub(super) struct OfSide {
    pub(super) times: Distribution,
    pub(super) ambiguous: u64,
}

impl Replies {
    /// Adds the recent response times to the distributions.
    #[cold]
    pub(super) fn add_up(&mut self, count: u8) {
        let latest = self.latest.get(..count.into()).unwrap_or_default();
        let responders = latest.iter().fold(0, |sum, latest| sum + usize::from(latest >> 31 != 0));
        let [initiator, responder] = &mut **self.sides.get_or_insert_default();
        let mut times = self.latest.map(|latest| latest & !OF_RESPONDER);
        let times = times.get_mut(..latest.len()).unwrap_or_default();
        // Most connections have the replies of one side.
        if responders == 0 {
            return initiator.times.record_all(times);
        }
        if responders == latest.len() {
            return responder.times.record_all(times);
        }
        for (latest, nanos) in latest.iter().zip(times) {
            let side = if latest & OF_RESPONDER == 0 { &mut *initiator } else { &mut *responder };
            side.times.record_nanos((*nanos).into());
        }
    }

    /// Adds the recent response times, and one that is too long for their format.
    #[cold]
    pub(super) fn add_long(&mut self, count: u8, side: Side, nanos: u64) {
        self.add_up(count);
        self.side_mut(side).times.record_nanos(nanos);
    }

    /// Earlier response times of a side.
    pub(super) fn side(&self, side: Side) -> Option<&OfSide> {
        self.sides.as_ref().map(|sides| &sides[side])
    }

    pub(super) fn side_mut(&mut self, side: Side) -> &mut OfSide {
        &mut self.sides.get_or_insert_default()[side]
    }

    /// Recent response times of a side.
    pub(super) fn latest(&self, count: u8, side: Side) -> impl Iterator<Item = u64> {
        let of_side = if side == 0 { 0 } else { OF_RESPONDER };
        let latest = self.latest.iter().take(count.into());
        latest
            .filter(move |latest| **latest & OF_RESPONDER == of_side)
            .map(|latest| u64::from(latest & !OF_RESPONDER))
    }
}

impl Outstanding {
    /// No requests; `requester` if it is known.
    pub(super) const fn none(requester: Option<u8>) -> Self {
        let requester = match requester {
            Some(side) => side,
            None => UNKNOWN,
        };
        let (asked, first) = (PackedInstant::NEVER, First::NONE);
        Self { asked, reference: 0, unkeyed: 0, first, requester, is_ambiguous: false, latest: 0 }
    }

    /// No requests, because an association is followed; the recent response times stay.
    pub(super) const fn followed(before: Self) -> Self {
        Self { latest: before.latest, ..Self::none(Some(FOLLOWED)) }
    }

    /// No requests, with side 0 as requester; the recent response times stay, and so does an
    /// association.
    pub(super) const fn after(before: Self) -> Self {
        let requester = if before.requester == FOLLOWED { FOLLOWED } else { 0 };
        Self { latest: before.latest, ..Self::none(Some(requester)) }
    }

    /// True if the first request is that of a side with this reference.
    #[inline]
    pub(super) fn is_first(&self, side: Side, reference: u16) -> bool {
        self.first == First::of(side) && self.reference == reference
    }
}
