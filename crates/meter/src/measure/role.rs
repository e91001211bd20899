//! The four roles of AKs, which the paper could not tell apart, and DTs that say nothing.
//!
//! Definition: an AK *acknowledges* if its number is ahead of the last one's; else it *credits* if it
//! changes the credit; else it *confirms* if it has the parameter that does (ISO 8073 13.9.4 c);
//! else it *keeps alive*. The first two are the paper's original AKs, the others its retransmissions.
//! An *empty part* is a DT without data and without EOT, as some S7 stacks send one per exchange.
//! Bias: an AK that both acknowledges and credits counts as acknowledging; one that answers a
//! duplicate DT looks as if it kept the connection alive.

use super::{Alike, Measure, Sort, Values};
use crate::sight::{Role, Sight, Tpdu};

/// What AKs are for, and empty parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Roles {
    /// AKs that acknowledge new data.
    pub acknowledging: u64,
    /// AKs that change the credit.
    pub crediting: u64,
    /// AKs that confirm that one arrived.
    pub confirming: u64,
    /// AKs that say nothing new.
    pub keeping_alive: u64,
    /// DTs that carry nothing and end nothing.
    pub empty_parts: u64,
}

impl Roles {
    /// What was counted since an earlier count of the same.
    pub(super) const fn since(&self, earlier: &Self) -> Self {
        Self {
            acknowledging: self.acknowledging - earlier.acknowledging,
            crediting: self.crediting - earlier.crediting,
            confirming: self.confirming - earlier.confirming,
            keeping_alive: self.keeping_alive - earlier.keeping_alive,
            empty_parts: self.empty_parts - earlier.empty_parts,
        }
    }

    /// Takes notice of a TPDU.
    pub(super) fn tpdu(&mut self, tpdu: &Tpdu) {
        self.empty_parts += u64::from(tpdu.empty_part);
        match tpdu.role {
            None => {}
            Some(Role::Acknowledging) => self.acknowledging += 1,
            Some(Role::Crediting) => self.crediting += 1,
            Some(Role::Confirming) => self.confirming += 1,
            Some(Role::KeepingAlive) => self.keeping_alive += 1,
        }
    }

    /// Takes notice of TPDUs of one sort.
    pub(super) fn alike(&mut self, sort: Sort, alike: &Alike) {
        match sort {
            Sort::Part | Sort::End => {}
            Sort::Acknowledging => self.acknowledging += u64::from(alike.tpdus),
            Sort::Crediting => self.crediting += u64::from(alike.tpdus),
        }
    }
}

impl Measure for Roles {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Tpdu(tpdu) = sight {
            self.tpdu(tpdu);
        }
    }

    fn add(&mut self, other: &Self) {
        self.acknowledging += other.acknowledging;
        self.crediting += other.crediting;
        self.confirming += other.confirming;
        self.keeping_alive += other.keeping_alive;
        self.empty_parts += other.empty_parts;
    }

    fn values(&self) -> Values {
        vec![
            ("ak_acknowledging".into(), self.acknowledging),
            ("ak_crediting".into(), self.crediting),
            ("ak_confirming".into(), self.confirming),
            ("ak_keeping_alive".into(), self.keeping_alive),
            ("dt_empty_parts".into(), self.empty_parts),
        ]
    }
}
