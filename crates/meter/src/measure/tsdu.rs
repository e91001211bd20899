//! Transport service data units: what the users sent each other.
//!
//! Definition: a TSDU counts when the last of its DTs to be seen for the first time is seen, its
//! octets being the user data of those DTs. Bias: a TSDU of which a DT was never seen (because the
//! capture began within it or missed the DT) is left out; such TSDUs are counted among the
//! oddities.

use super::{Alike, Measure, Sort, Values};
use crate::sight::{Sight, Tpdu};

/// TSDUs that were seen whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tsdus {
    /// How many.
    pub tsdus: u64,
    /// Their octets.
    pub octets: u64,
}

impl Tsdus {
    /// What was counted since an earlier count of the same.
    pub(super) const fn since(&self, earlier: &Self) -> Self {
        Self { tsdus: self.tsdus - earlier.tsdus, octets: self.octets - earlier.octets }
    }

    /// Takes notice of a TPDU.
    pub(super) fn tpdu(&mut self, tpdu: &Tpdu) {
        self.tsdus += tpdu.finished_tsdus;
        self.octets += tpdu.finished().iter().sum::<u64>();
    }

    /// Takes notice of TPDUs of one sort.
    pub(super) fn alike(&mut self, sort: Sort, alike: &Alike) {
        if sort == Sort::End {
            self.tsdus += u64::from(alike.tpdus);
            self.octets += alike.tsdu_octets;
        }
    }
}

impl Measure for Tsdus {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Tpdu(tpdu) = sight {
            self.tpdu(tpdu);
        }
    }

    fn add(&mut self, other: &Self) {
        self.tsdus += other.tsdus;
        self.octets += other.octets;
    }

    fn values(&self) -> Values {
        vec![("tsdus".into(), self.tsdus), ("tsdu_octets".into(), self.octets)]
    }
}
