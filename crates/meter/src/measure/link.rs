//! Link PDUs: how many, how long.
//!
//! Definition: frames with an LLC header. Octets are those of MAC header, LLC header and what they
//! carry, so a transport frame without VLAN tags has 17 octets of link header, as in NBSIR 85-3104.
//! Bias: preamble, pad, FCS and the gap between frames are left out, so the medium is busier than
//! this.

use super::Measure;
use crate::sight::Sight;

/// Link PDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Link {
    /// How many.
    pub lpdus: u64,
    /// Their octets (L_b).
    pub octets: u64,
}

impl Measure for Link {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Lpdu { octets, .. } = sight {
            self.lpdus += 1;
            self.octets += octets;
        }
    }

    fn add(&mut self, other: &Self) {
        self.lpdus += other.lpdus;
        self.octets += other.octets;
    }

    fn values(&self) -> Vec<(&'static str, u64)> {
        vec![("lpdus", self.lpdus), ("lpdu_octets", self.octets)]
    }
}
