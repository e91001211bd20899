//! Batches of TPDUs of one kind, counted together.
//!
//! Definition: most TPDUs are ordinary: a DT in turn, an AK with new information. TPDUs of one kind
//! and size class count in the same counters everywhere, and only their octets have to be summed.
//! Bias: none of its own; a batch has the same result as its TPDUs counted one by one.

use super::Traffic;
use crate::observation::Role;
use wire::tp::Kind;

/// Kind of an ordinary TPDU: no retransmission, of a known connection, within its credit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BatchKind {
    /// DT without EOT.
    Part,
    /// DT that completes its TSDU, of which every DT was seen.
    End,
    /// AK that acknowledges.
    Acknowledging,
    /// AK that changes the credit.
    Crediting,
}

impl BatchKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 4] = [Self::Part, Self::End, Self::Acknowledging, Self::Crediting];

    /// Kind of an AK with this role; none if it carries no new information.
    pub(crate) const fn of(role: Role) -> Option<Self> {
        match role {
            Role::Acknowledging => Some(Self::Acknowledging),
            Role::Crediting => Some(Self::Crediting),
            Role::Confirming | Role::KeepingAlive => None,
        }
    }

    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Part | Self::End => Kind::Dt,
            Self::Acknowledging | Self::Crediting => Kind::Ak,
        }
    }
}

/// Batch of TPDUs of one kind and in the same classes of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Batch {
    /// Classes of the TPDU, of its data, and of the TSDU that it completes, an octet each.
    classes: u32,
    /// Number of TPDUs.
    pub(crate) tpdus: u32,
    /// Octets of their headers.
    pub(crate) header_octets: u64,
    /// Octets of their user data.
    pub(crate) data_octets: u64,
    /// Octets of the TSDUs that they complete.
    pub(crate) tsdu_octets: u64,
}

impl Batch {
    /// Batch of one TPDU.
    #[inline]
    pub(crate) const fn one(
        [tpdu, data, tsdu]: [u8; 3],
        header_octets: u64,
        data_octets: u64,
        tsdu_octets: u64,
    ) -> Self {
        let classes = tpdu as u32 | (data as u32) << 8 | (tsdu as u32) << 16;
        Self { classes, tpdus: 1, header_octets, data_octets, tsdu_octets }
    }

    /// Classes of the TPDU, of its data, and of the TSDU that it completes.
    pub(crate) const fn classes(&self) -> [u8; 3] {
        let [tpdu, data, tsdu, _] = self.classes.to_le_bytes();
        [tpdu, data, tsdu]
    }

    /// Octets of their headers and their user data.
    pub(crate) const fn octets(&self) -> u64 {
        self.header_octets + self.data_octets
    }

    /// Adds another batch; returns false, without effect, if its classes differ or a counter would
    /// overflow.
    #[inline]
    pub(crate) fn add(&mut self, other: &Self) -> bool {
        let Some(tpdus) = self.tpdus.checked_add(other.tpdus) else { return false };
        if self.classes != other.classes {
            return false;
        }
        self.tpdus = tpdus;
        self.header_octets += other.header_octets;
        self.data_octets += other.data_octets;
        self.tsdu_octets += other.tsdu_octets;
        true
    }
}

impl Traffic {
    /// Counts a batch of TPDUs in a second.
    pub(crate) fn batch(&mut self, second: u64, kind: BatchKind, batch: &Batch) {
        self.peak.count(second, batch.tpdus.into(), batch.octets());
        self.transport.batch(kind, batch);
        self.tsdus.batch(kind, batch);
        self.sizes.batch(kind, batch);
        self.roles.batch(kind, batch);
    }
}
