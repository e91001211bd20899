//! Roles of AKs, which the paper could not distinguish, and empty DTs.
//!
//! Definition: an AK *acknowledges* if its number is ahead of the last AK's; else it *credits* if
//! it changes the credit; else it *confirms* if it has the flow control confirmation parameter (ISO
//! 8073 13.9.4 c); else it *keeps alive*. The first two roles are the paper's original AKs, the
//! others its retransmissions. An *empty part* is a DT without data and without EOT, as some S7
//! stacks send one per exchange.
//! Bias: an AK that both acknowledges and credits counts as acknowledging; an AK that answers a
//! duplicate DT counts as keeping alive.

use super::{BatchKind, Sums};
use crate::observation::{Role, Tpdu};

counters! {
    /// AKs by role, and empty DTs.
    pub struct Roles {
        /// AKs that acknowledge new data.
        pub acknowledging,
        /// AKs that change the credit.
        pub crediting,
        /// AKs that confirm the arrival of an AK.
        pub confirming,
        /// AKs without new information.
        pub keeping_alive,
        /// DTs without data and without EOT.
        pub empty_parts,
    }
}

impl Roles {
    /// Counts a TPDU.
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

    /// Counts a batch of TPDUs.
    #[inline]
    pub(super) fn batch(&mut self, batch: &Sums) {
        match batch.kind {
            BatchKind::Part | BatchKind::End | BatchKind::Again => {}
            BatchKind::Empty => self.empty_parts += batch.tpdus,
            BatchKind::Acknowledging => self.acknowledging += batch.tpdus,
            BatchKind::Crediting => self.crediting += batch.tpdus,
            BatchKind::Confirming => self.confirming += batch.tpdus,
            BatchKind::KeepingAlive => self.keeping_alive += batch.tpdus,
        }
    }
}
