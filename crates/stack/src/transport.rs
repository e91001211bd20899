//! Transport service (ISO 8072), the same above each class: requests and responses of a user,
//! indications and confirms to it, and the entity that provides the service.
//!
//! ```text
//!   T-CONNECT request, response, T-DATA, T-EXPEDITED-DATA, T-DISCONNECT request   Request  ↓
//!   T-CONNECT indication, confirm, T-DATA ..., T-DISCONNECT, drained, ready       Indication ↑
//!   ├ Class4 ── tp4::Entity, on a network without connections
//!   └ Network ── tp0::Entity, classes 0 and 2, one network connection each
//! ```
//!
//! "Drained" is no primitive of the standard. All data passed to a connection has then been
//! acknowledged, or, in a class without acknowledgements, accepted by the network. A layer above
//! works over [`Transport`], or over requests and indications alone.

pub mod service;

pub use service::*;

use crate::machine::{Deadline, Machine};
use crate::messaging::Priority;
use crate::{tp0, tp4};
use wire::time::Instant;

/// Transport entity of a host: one variant for each protocol that provides the service.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a host has one, and reads it for each TPDU")]
pub enum Transport {
    /// Class 4.
    Class4(tp4::Entity),
    /// Classes 0 and 2.
    Network(tp0::Entity),
}

impl Transport {
    /// Endpoint for a connection that this side is about to request, with the priority of its
    /// TPDUs; network connections have none.
    pub fn endpoint(&mut self, priority: Priority) -> Endpoint {
        match self {
            Self::Class4(entity) => {
                let endpoint = entity.endpoint();
                entity.prioritise(endpoint, priority);
                endpoint
            }
            Self::Network(entity) => entity.endpoint(),
        }
    }

    /// Processes a request of a user.
    #[inline]
    pub fn request(&mut self, now: Instant, request: Request) {
        match self {
            Self::Class4(entity) => entity.request(now, request),
            Self::Network(entity) => entity.request(now, request),
        }
    }

    /// Returns true if a TSDU of this length fits the queue of a connection, or its queue is empty.
    /// If not, [`Indication::Ready`] follows as soon as it does.
    #[inline]
    pub fn has_room(&mut self, endpoint: Endpoint, octets: usize) -> bool {
        match self {
            Self::Class4(entity) => entity.has_room(endpoint, octets),
            Self::Network(entity) => entity.has_room(endpoint, octets),
        }
    }

    /// Returns true if at most this number of octets of a connection wait in the transport. If not,
    /// [`Indication::Ready`] follows as soon as that is so.
    pub fn has_at_most_queued(&mut self, endpoint: Endpoint, most: usize) -> bool {
        match self {
            Self::Class4(entity) => entity.has_at_most_queued(endpoint, most),
            Self::Network(entity) => entity.is_idle(endpoint),
        }
    }

    /// Returns true if no data of a connection waits to be passed to a network connection.
    #[must_use]
    pub fn is_idle(&self, endpoint: Endpoint) -> bool {
        match self {
            Self::Class4(_) => true,
            Self::Network(entity) => entity.is_idle(endpoint),
        }
    }

    /// Returns true if [`Indication::Closed`] reports the end of each connection.
    #[must_use]
    pub const fn reports_close(&self) -> bool {
        matches!(self, Self::Network(_))
    }

    /// Returns true if the user holds the receive buffers, one for each [`Indication::Data`].
    #[must_use]
    pub fn is_credit_by_user(&self) -> bool {
        matches!(self, Self::Class4(entity) if entity.params().credit.is_by_user())
    }

    /// Returns true if a message keeps a receive buffer of limited memory until its user has it.
    #[must_use]
    pub fn keeps_buffers(&self) -> bool {
        let is_limited = |entity: &tp4::Entity| entity.params().memory_octets.is_some();
        self.is_credit_by_user() && matches!(self, Self::Class4(entity) if is_limited(entity))
    }

    /// Processes expired timers.
    pub fn expire(&mut self, now: Instant) {
        match self {
            Self::Class4(entity) => entity.expire(now),
            Self::Network(entity) => entity.expire(now),
        }
    }

    /// Time and timer of the next [`Transport::expire`].
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::Class4(entity) => entity.deadline(),
            Self::Network(entity) => entity.deadline(),
        }
    }

    /// Event counters; zero where a class has none.
    #[must_use]
    pub fn counters(&self) -> Counters {
        match self {
            Self::Class4(entity) => entity.counters().clone(),
            Self::Network(entity) => entity.counters(),
        }
    }

    /// Number of connections in any state, including frozen references.
    #[must_use]
    pub fn connections(&self) -> usize {
        match self {
            Self::Class4(entity) => entity.connections(),
            Self::Network(entity) => entity.connections(),
        }
    }
}
