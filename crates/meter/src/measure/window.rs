//! Flow control: DTs into closed windows, and unassigned TPDUs.
//!
//! Definition: a DT is sent *into a closed window* if its number is at or beyond the number
//! expected next plus the credit that its receiver granted last (ISO 8073 12.2.3.8). A TPDU is
//! *unassigned* if it belongs to no known connection and reveals none. Durations of closed windows
//! are among the delays.
//! Bias: the credit is that of the AK seen at the tap; the AK may have been lost on its way, or may
//! not have reached the sender yet. Classes 0 and 1, and class 2 without flow control, have no
//! window.

use crate::observation::Tpdu;

counters! {
    /// DTs into closed windows, and TPDUs without a connection.
    pub struct Windows {
        /// DTs beyond the credit.
        pub into_closed,
        /// TPDUs that belong to no known connection.
        pub unassigned,
    }
}

impl Windows {
    /// Counts a TPDU.
    pub(super) fn tpdu(&mut self, tpdu: &Tpdu) {
        self.into_closed += u64::from(tpdu.into_closed_window);
        self.unassigned += u64::from(tpdu.unassigned);
    }
}
