//! LLC PDUs by purpose (IEEE 802.2): datagrams of type 1, connections of type 2, acknowledged
//! datagrams of type 3.
//!
//! Definition: an LPDU with an LLC header counts once, by its control field. Bias: type 2
//! connections are not followed, so a retransmitted I PDU counts again.

use wire::llc::Control;

counters! {
    /// LLC PDUs.
    pub struct Llc {
        /// UI: datagrams.
        pub datagrams,
        /// XID and TEST.
        pub exchanges,
        /// AC0 and AC1.
        pub acknowledged,
        /// I.
        pub information,
        /// RR, RNR and REJ.
        pub supervisory,
        /// SABME, DISC, UA, DM and FRMR.
        pub modes,
        /// U-format PDUs that 802.2 does not define.
        pub unknown,
    }
}

impl Llc {
    /// Counts an LLC PDU.
    pub(super) const fn lpdu(&mut self, control: Control) {
        let count = match control {
            Control::Ui => &mut self.datagrams,
            Control::Xid | Control::Test => &mut self.exchanges,
            Control::Ac0 | Control::Ac1 => &mut self.acknowledged,
            Control::Information { .. } => &mut self.information,
            Control::Supervisory { .. } => &mut self.supervisory,
            Control::Sabme | Control::Disc | Control::Ua | Control::Dm | Control::Frmr => {
                &mut self.modes
            }
            Control::Unknown(_) => &mut self.unknown,
        };
        *count += 1;
    }
}
