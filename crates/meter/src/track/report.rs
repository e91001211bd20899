//! What is known of a connection, spelled out for whoever asks.

use super::connection::{self, State};
use super::direction::Direction;
use super::sides::Kept;
use crate::host::{Address, Hosts};
use crate::sight::Ending;
use crate::user::{Confidence, User};
use wire::time::Instant;
use wire::tp::Reference;

/// A connection: side 0 sent the CR, where one was seen. Of one found under way over a network
/// without connections each half is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connection {
    /// Which connection of this meter it is, counted from 1.
    pub serial: u32,
    /// Who the sides are, with their ports; a port is zero where there are none.
    pub ends: [(Address, u16); 2],
    /// Their names for it; none where it is not known.
    pub references: [Option<Reference>; 2],
    /// What each side sent.
    pub directions: [Direction; 2],
    /// The class agreed on; none where that was not seen.
    pub class: Option<u8>,
    /// How far it has come.
    pub state: State,
    /// When it came to each state, in the order of [`State::ALL`].
    pub history: [Option<Instant>; 4],
    /// How it ended; none where it has not, or was refused.
    pub ending: Option<Ending>,
    /// When a TPDU of it was seen last.
    pub last: Instant,
    /// Until when this is so: a window that is closed counts until then.
    pub until: Instant,
    /// Who seems to be above.
    pub user: User,
    /// How sure that is.
    pub confidence: Confidence,
}

impl Connection {
    pub(super) fn of(
        known: &connection::Connection,
        (last, now): (Instant, Instant),
        hosts: &Hosts,
        kept: [Kept; 2],
    ) -> Self {
        let named = |reference| Some(reference).filter(|named| *named != Reference(0));
        Self {
            serial: known.serial,
            ends: [0, 1].map(|side: usize| {
                let end = known.senders[side].end();
                (*hosts.address(end.host), end.port)
            }),
            references: [0, 1].map(|side: usize| named(known.senders[side].reference)),
            directions: [0, 1].map(|side: usize| known.direction(side, &kept[side], now)),
            class: known.class(),
            state: known.state,
            history: known.history(),
            ending: known.ending,
            last,
            until: now,
            user: known.user,
            confidence: known.confidence,
        }
    }

    /// When it was seen first.
    #[must_use]
    pub fn start(&self) -> Instant {
        self.history.iter().flatten().min().copied().unwrap_or(self.last)
    }

    /// TPDUs both ways.
    #[must_use]
    pub fn tpdus(&self) -> u64 {
        self.directions.iter().map(|direction| direction.all().tpdus).sum()
    }
}
