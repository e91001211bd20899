//! Flow control: DTs into closed windows, and TPDUs that belong nowhere.
//!
//! Definition: a DT is sent *into a closed window* if its number lies at or beyond the number
//! expected next plus the credit that its receiver told last (ISO 8073 12.2.3.8). A TPDU is
//! *unassigned* if it names no connection that is known and is none to learn one from. How long
//! windows were closed is among the delays.
//! Bias: what the receiver told is what was seen here; on its way the AK may have been lost, or may
//! not have reached the sender yet. Classes 0 and 1, and class 2 without flow control, have no window.

use super::{Measure, Values};
use crate::sight::{Sight, Tpdu};

/// DTs into closed windows, and TPDUs without a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Windows {
    /// DTs beyond the credit.
    pub into_closed: u64,
    /// TPDUs that belong to no connection.
    pub unassigned: u64,
}

impl Windows {
    /// What was counted since an earlier count of the same.
    pub(super) const fn since(&self, earlier: &Self) -> Self {
        Self {
            into_closed: self.into_closed - earlier.into_closed,
            unassigned: self.unassigned - earlier.unassigned,
        }
    }

    /// Takes notice of a TPDU.
    pub(super) fn tpdu(&mut self, tpdu: &Tpdu) {
        self.into_closed += u64::from(tpdu.into_closed_window);
        self.unassigned += u64::from(tpdu.unassigned);
    }
}

impl Measure for Windows {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Tpdu(tpdu) = sight {
            self.tpdu(tpdu);
        }
    }

    fn add(&mut self, other: &Self) {
        self.into_closed += other.into_closed;
        self.unassigned += other.unassigned;
    }

    fn values(&self) -> Values {
        vec![
            ("dt_into_closed_window".into(), self.into_closed),
            ("unassigned_tpdus".into(), self.unassigned),
        ]
    }
}
