//! Transport connections: asked for, established, refused, ended.
//!
//! Definition: a connection is asked for by its first CR, established by its first CC, refused by a
//! DR that answers the CR, not agreed on where a DR gives negotiation as the reason, and ended by
//! its first DR otherwise. Bias: whether the CC ever reached the other side is not seen;
//! connections found under way count as ended when they end, but never as established.

use super::Measure;
use crate::sight::{Sight, Step};

/// Steps in the lives of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Connections {
    /// Asked for.
    pub requested: u64,
    /// Established.
    pub established: u64,
    /// Refused.
    pub refused: u64,
    /// Given up because the sides could not agree.
    pub not_agreed: u64,
    /// Ended.
    pub ended: u64,
}

impl Measure for Connections {
    fn observe(&mut self, sight: &Sight) {
        let Sight::Tpdu(tpdu) = sight else { return };
        match tpdu.step {
            None => {}
            Some(Step::Requested) => self.requested += 1,
            Some(Step::Established) => self.established += 1,
            Some(Step::Refused) => self.refused += 1,
            Some(Step::NotAgreed) => self.not_agreed += 1,
            Some(Step::Ended) => self.ended += 1,
        }
    }

    fn add(&mut self, other: &Self) {
        self.requested += other.requested;
        self.established += other.established;
        self.refused += other.refused;
        self.not_agreed += other.not_agreed;
        self.ended += other.ended;
    }

    fn values(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("transport_connections", self.established),
            ("connection_attempts", self.requested),
            ("connection_refusals", self.refused),
            ("connection_negotiation_failures", self.not_agreed),
            ("connection_ends", self.ended),
        ]
    }
}
