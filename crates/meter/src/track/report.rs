//! Report of a connection.

use super::connection::{self, State};
use super::counter_store::SideCounters;
use super::direction::Direction;
use crate::follow::Follower as _;
use crate::follow::association::AssociationReport;
use crate::host::{Address, Hosts};
use crate::observation::Ending;
use crate::user::{Confidence, User};
use std::sync::Arc;
use wire::time::Instant;
use wire::tp::Reference;

/// Report of a connection; side 0 sent the CR, if one was seen. Over a network without connections,
/// each half of a connection found under way is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connection {
    /// Number of the connection in this meter, counted from 1.
    pub serial: u32,
    /// Addresses and ports of the sides; a port is zero if there are no ports.
    pub ends: [(Address, u16); 2],
    /// References of the sides; none if unknown.
    pub references: [Option<Reference>; 2],
    /// Traffic of each side. Boxed, because a report is moved several times.
    pub directions: Box<[Direction; 2]>,
    /// Class agreed on; none if the CC was not seen.
    pub class: Option<u8>,
    /// Current state.
    pub state: State,
    /// Time of entry into each state, in the order of [`State::ALL`].
    pub history: [Option<Instant>; 4],
    /// Kind of end; none if it has not ended, or was refused.
    pub ending: Option<Ending>,
    /// Time of its last TPDU.
    pub last: Instant,
    /// Time of this report; a closed window counts up to it.
    pub until: Instant,
    /// Application above transport.
    pub user: User,
    /// Confidence in the recognised application.
    pub confidence: Confidence,
    /// Association and its services; none unless the application is MMS.
    pub association: Option<Arc<AssociationReport>>,
}

impl Connection {
    pub(super) fn of(
        known: &connection::Connection,
        (last, now): (Instant, Instant),
        hosts: &Hosts,
        kept: &[SideCounters; 2],
    ) -> Self {
        let named = |reference| Some(reference).filter(|named| *named != Reference(0));
        Self {
            serial: known.serial,
            ends: [0, 1].map(|side: usize| {
                let end = known.senders[side].end();
                (*hosts.address(end.host), end.port)
            }),
            references: [0, 1].map(|side: usize| named(known.senders[side].reference)),
            directions: Box::new([
                known.direction(0, &kept[0], now),
                known.direction(1, &kept[1], now),
            ]),
            class: known.class(),
            state: known.state,
            history: known.history(),
            ending: known.ending,
            last,
            until: now,
            user: known.user,
            confidence: known.confidence,
            association: known
                .replies
                .as_ref()
                .and_then(|replies| replies.association.as_ref())
                .and_then(|association| association.report(now, &()).next())
                .map(Arc::new),
        }
    }

    /// Time at which it was first seen.
    #[must_use]
    pub fn start(&self) -> Instant {
        self.history.iter().flatten().min().copied().unwrap_or(self.last)
    }

    /// TPDUs of both directions.
    #[must_use]
    pub fn tpdus(&self) -> u64 {
        self.directions.iter().map(|direction| direction.all().tpdus).sum()
    }
}
