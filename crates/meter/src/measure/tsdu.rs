//! Transport service data units: messages between the users.
//!
//! Definition: a TSDU counts when the last of its DTs to be seen for the first time is seen; its
//! octets are the user data of those DTs. Bias: a TSDU of which a DT was never seen (because the
//! capture began within it or missed the DT) is not counted here but among the oddities.

use super::{BatchKind, Sums};
use crate::observation::Tpdu;

counters! {
    /// TSDUs of which every DT was seen.
    pub struct Tsdus {
        /// Number of TSDUs.
        pub tsdus,
        /// Their octets.
        pub octets,
    }
}

impl Tsdus {
    /// Counts a TPDU.
    pub(super) fn tpdu(&mut self, tpdu: &Tpdu) {
        self.tsdus += tpdu.finished_tsdus;
        self.octets += tpdu.finished().iter().sum::<u64>();
    }

    /// Counts a batch of TPDUs.
    #[inline]
    pub(super) fn batch(&mut self, batch: &Sums) {
        if batch.kind == BatchKind::End {
            self.tsdus += batch.tpdus;
            self.octets += batch.tsdu_octets;
        }
    }
}
