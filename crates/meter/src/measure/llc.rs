//! LLC PDUs by what they are for (IEEE 802.2): the datagrams of type 1, the connections of type 2,
//! the acknowledged datagrams of type 3.
//!
//! Definition: an LPDU with an LLC header counts once, by its control field. Bias: type 2 connections
//! are not followed, so an I PDU that is sent again counts again.

use super::{Measure, Values};
use crate::sight::Sight;
use wire::llc::Control;

/// LLC PDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Llc {
    /// UI: datagrams.
    pub datagrams: u64,
    /// XID and TEST.
    pub exchanges: u64,
    /// AC0 and AC1.
    pub acknowledged: u64,
    /// I.
    pub information: u64,
    /// RR, RNR and REJ.
    pub supervisory: u64,
    /// SABME, DISC, UA, DM and FRMR.
    pub modes: u64,
    /// U-format PDUs that 802.2 does not define.
    pub unknown: u64,
}

impl Llc {
    /// Takes notice of an LLC PDU.
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

impl Measure for Llc {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Lpdu { llc: Some(control), .. } = sight {
            self.lpdu(*control);
        }
    }

    fn add(&mut self, other: &Self) {
        self.datagrams += other.datagrams;
        self.exchanges += other.exchanges;
        self.acknowledged += other.acknowledged;
        self.information += other.information;
        self.supervisory += other.supervisory;
        self.modes += other.modes;
        self.unknown += other.unknown;
    }

    fn values(&self) -> Values {
        vec![
            ("llc_datagrams".into(), self.datagrams),
            ("llc_exchanges".into(), self.exchanges),
            ("llc_acknowledged".into(), self.acknowledged),
            ("llc_information".into(), self.information),
            ("llc_supervisory".into(), self.supervisory),
            ("llc_modes".into(), self.modes),
            ("llc_unknown".into(), self.unknown),
        ]
    }
}
