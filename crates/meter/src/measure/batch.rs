//! Batches of TPDUs of one kind, counted together.
//!
//! Definition: most TPDUs are ordinary: a DT in turn, an AK with new information. TPDUs of one kind
//! and size class count in the same counters everywhere, and only their octets have to be summed.
//! Bias: none of its own; a batch has the same result as its TPDUs counted one by one.

use super::Traffic;
use crate::observation::{Role, Tpdu};
use wire::tp::Kind;

/// Kind of an ordinary TPDU: of a known connection, within its credit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum BatchKind {
    /// DT that completes its TSDU, of which every DT was seen.
    End,
    /// DT without EOT.
    Part,
    /// Retransmitted DT.
    Again,
    /// DT without data and without EOT.
    Empty,
    /// AK that acknowledges.
    Acknowledging,
    /// AK that changes the credit.
    Crediting,
    /// AK that confirms the arrival of an AK.
    Confirming,
    /// AK without new information.
    KeepingAlive,
}

impl BatchKind {
    /// All kinds.
    const ALL: [Self; 8] = [
        Self::End,
        Self::Part,
        Self::Again,
        Self::Empty,
        Self::Acknowledging,
        Self::Crediting,
        Self::Confirming,
        Self::KeepingAlive,
    ];

    /// Number of places: a side has a pending batch in each.
    pub(crate) const PLACES: usize = 10;

    /// Kind of an AK with this role.
    #[inline]
    pub(crate) const fn of(role: Role) -> Self {
        match role {
            Role::Acknowledging => Self::Acknowledging,
            Role::Crediting => Self::Crediting,
            Role::Confirming => Self::Confirming,
            Role::KeepingAlive => Self::KeepingAlive,
        }
    }

    /// Kind of a TPDU of a known connection; none if it counts in more than a batch holds.
    pub(crate) fn of_tpdu(tpdu: &Tpdu) -> Option<Self> {
        let is_odd = tpdu.into_closed_window || tpdu.step.is_some();
        match (tpdu.kind, tpdu.finished_tsdus) {
            _ if is_odd => None,
            (_, finished) if tpdu.empty_part => {
                (finished == 0 && !tpdu.retransmitted).then_some(Self::Empty)
            }
            (Kind::Dt, 0) if tpdu.retransmitted => Some(Self::Again),
            (Kind::Dt, 0) => Some(Self::Part),
            (Kind::Dt, 1) if !tpdu.retransmitted => Some(Self::End),
            (Kind::Ak, 0) => tpdu.role.map(Self::of),
            _ => None,
        }
    }

    /// True for DTs.
    pub(crate) const fn is_data(self) -> bool {
        matches!(self, Self::End | Self::Part | Self::Again | Self::Empty)
    }

    /// True for TPDUs that count as retransmissions.
    pub(crate) const fn is_repeated(self) -> bool {
        matches!(self, Self::Again | Self::Confirming | Self::KeepingAlive)
    }
}

/// Batch of TPDUs of one kind, with headers of one length and in the same classes of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Batch {
    /// Classes of the TPDU and of its data, half an octet each; class of the TSDU that it completes,
    /// kind, and octets of its header, an octet each.
    common: u32,
    /// Number of TPDUs.
    pub(crate) tpdus: u32,
    /// Octets of their user data.
    data_octets: u32,
    /// Octets of the TSDUs that they complete, the lower half first: a batch is not aligned to more
    /// than four octets, so that two of them share a cache line with the side that they belong to.
    tsdu_octets: [u32; 2],
}

impl Batch {
    /// No TPDUs.
    pub(crate) const NONE: Self = Self { common: 0, tpdus: 0, data_octets: 0, tsdu_octets: [0; 2] };

    /// Batch of one TPDU, with the classes and the octets of its header, of its data, and of the
    /// TSDU that it completes; the first class is that of the whole TPDU. Its header has at most 255
    /// octets, its data fewer than 2^32.
    #[inline]
    pub(crate) const fn one(kind: BatchKind, classes: [u8; 3], octets: [u64; 3]) -> Self {
        let ([tpdu, data, tsdu], [header_octets, data_octets, tsdu_octets]) = (classes, octets);
        let common = u32::from_le_bytes([tpdu | data << 4, tsdu, kind as u8, header_octets as u8]);
        let tsdu_octets = [tsdu_octets as u32, (tsdu_octets >> 32) as u32];
        Self { common, tpdus: 1, data_octets: data_octets as u32, tsdu_octets }
    }

    /// Its place among the pending batches of a side. Sizes that often alternate have places of
    /// their own; kinds that seldom do share one.
    #[inline]
    pub(crate) const fn place(&self) -> usize {
        let [classes, ..] = self.common.to_le_bytes();
        let (whole, data) = (classes as usize & 1, classes as usize >> 4 & 3);
        match self.kind() {
            BatchKind::End => data,
            BatchKind::Part => 4,
            BatchKind::Again => 5,
            BatchKind::Acknowledging => 6 + whole,
            // Most empty DTs come in class 0, which has no AKs.
            BatchKind::Empty
            | BatchKind::Crediting
            | BatchKind::Confirming
            | BatchKind::KeepingAlive => 8 + whole,
        }
    }

    /// Kind of its TPDUs.
    #[inline]
    pub(crate) const fn kind(&self) -> BatchKind {
        let [_, _, kind, _] = self.common.to_le_bytes();
        BatchKind::ALL[kind as usize]
    }

    /// Sums that it adds to counters.
    pub(crate) const fn sums(&self) -> Sums {
        let [both, tsdu, _, header_octets] = self.common.to_le_bytes();
        let (kind, tpdus) = (self.kind(), self.tpdus as u64);
        let (header_octets, data_octets) = (header_octets as u64 * tpdus, self.data_octets as u64);
        Sums {
            kind,
            is_data: kind.is_data(),
            again: if kind.is_repeated() { tpdus } else { 0 },
            classes: [(both & 0x0F) as usize, (both >> 4) as usize, tsdu as usize],
            tpdus,
            header_octets,
            data_octets,
            tsdu_octets: self.tsdu_octets(),
        }
    }

    /// Octets of their headers and user data.
    #[inline]
    pub(crate) const fn octets(&self) -> u64 {
        let [.., header_octets] = self.common.to_le_bytes();
        header_octets as u64 * self.tpdus as u64 + self.data_octets as u64
    }

    /// Octets of the TSDUs that they complete.
    #[inline]
    const fn tsdu_octets(&self) -> u64 {
        let [lower, upper] = self.tsdu_octets;
        (upper as u64) << 32 | lower as u64
    }

    /// Adds another batch; returns false, without effect, if it differs in its kind, its
    /// header or its classes, or a counter would overflow.
    // Always inline: most common TPDUs need no more.
    #[inline(always)]
    pub(crate) fn add(&mut self, other: &Self) -> bool {
        let Some(data_octets) = self.data_octets.checked_add(other.data_octets) else {
            return false;
        };
        if self.common != other.common || self.tpdus > u32::MAX - other.tpdus {
            return false;
        }
        let tsdu_octets = self.tsdu_octets().wrapping_add(other.tsdu_octets());
        self.tpdus += other.tpdus;
        self.data_octets = data_octets;
        self.tsdu_octets = [tsdu_octets as u32, (tsdu_octets >> 32) as u32];
        true
    }
}

/// Sums of a batch: it is unpacked once for all counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    pub(crate) kind: BatchKind,
    /// True for DTs.
    pub(crate) is_data: bool,
    /// TPDUs that count as retransmissions: none of them, or all.
    pub(crate) again: u64,
    /// Classes of the TPDU, of its data, and of the TSDU that it completes.
    pub(crate) classes: [usize; 3],
    /// Number of TPDUs.
    pub(crate) tpdus: u64,
    /// Octets of their headers.
    pub(crate) header_octets: u64,
    /// Octets of their user data.
    pub(crate) data_octets: u64,
    /// Octets of the TSDUs that they complete.
    pub(crate) tsdu_octets: u64,
}

impl Traffic {
    /// Counts TPDUs in a second, for the busiest second alone.
    #[inline]
    pub(crate) fn pass(&mut self, second: u64, tpdus: u64, octets: u64) {
        self.peak.count(second, tpdus, octets);
    }

    /// Counts a batch of TPDUs, except for the busiest second.
    #[inline(always)]
    pub(crate) fn batch(&mut self, batch: &Sums) {
        self.transport.batch(batch);
        self.tsdus.batch(batch);
        self.sizes.batch(batch);
        self.roles.batch(batch);
    }
}
