//! TPDUs that are alike, to be counted at once.
//!
//! Most TPDUs are ordinary: a DT that comes in its turn, an AK that tells something new. Those of one sort count
//! in the same places wherever they count, and only their octets have to be added up. Bias: none of its own; it
//! counts what the measures would count one by one.

use super::Traffic;
use crate::sight::Role;
use wire::tp::Kind;

/// What an ordinary TPDU is: sent for the first time, of a connection that is known, within its credit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    /// A DT whose TSDU goes on.
    Part,
    /// A DT that ends its TSDU, all of which was seen.
    End,
    /// An AK that acknowledges.
    Acknowledging,
    /// An AK that changes the credit.
    Crediting,
}

impl Sort {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Part, Self::End, Self::Acknowledging, Self::Crediting];

    /// The sort of an AK with this role; none where it tells nothing new.
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

/// So many TPDUs of one sort, in the same classes of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Alike {
    /// The classes of the TPDU, of its data, and of the TSDU that it ends, an octet each.
    classes: u32,
    /// How many.
    pub(crate) tpdus: u32,
    /// Octets of their headers.
    pub(crate) header_octets: u64,
    /// Octets of their user data.
    pub(crate) data_octets: u64,
    /// Octets of the TSDUs that they end.
    pub(crate) tsdu_octets: u64,
}

impl Alike {
    /// One.
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

    /// The classes of the TPDU, of its data, and of the TSDU that it ends.
    pub(crate) const fn classes(&self) -> [u8; 3] {
        let [tpdu, data, tsdu, _] = self.classes.to_le_bytes();
        [tpdu, data, tsdu]
    }

    /// Octets of their headers and their user data.
    pub(crate) const fn octets(&self) -> u64 {
        self.header_octets + self.data_octets
    }

    /// Adds others; whether they are in the same classes, and there is room.
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
    /// Takes notice of TPDUs of one sort that went this way in a second.
    pub(crate) fn alike(&mut self, second: u64, sort: Sort, alike: &Alike) {
        self.peak.count(second, alike.tpdus.into(), alike.octets());
        self.transport.alike(sort, alike);
        self.tsdus.alike(sort, alike);
        self.sizes.alike(sort, alike);
        self.roles.alike(sort, alike);
    }
}
