//! Network PDUs: how many, how long.
//!
//! Definition: what link PDUs carry for the ISO network layer (SAP FE): CLNP, full or inactive, or
//! as a packet of IP: header and what it carries. Bias: routing PDUs of ES-IS and IS-IS count too, and
//! every IP packet whatever it carries; segments and fragments count one by one; the checksum of the
//! header is not verified.

use super::{Measure, Values};
use crate::sight::Sight;

/// Network PDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Network {
    /// How many.
    pub npdus: u64,
    /// Their octets (N_b).
    pub octets: u64,
    /// Frames whose transport was read without their network layer: the tap cannot see it.
    pub unseen: u64,
}

impl Network {
    /// Takes notice of an NPDU.
    pub(super) const fn npdu(&mut self, octets: u64) {
        self.npdus += 1;
        self.octets += octets;
    }
}

impl Measure for Network {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Npdu { octets } = sight {
            self.npdu(*octets);
        }
    }

    fn add(&mut self, other: &Self) {
        self.npdus += other.npdus;
        self.octets += other.octets;
        self.unseen += other.unseen;
    }

    fn values(&self) -> Values {
        vec![("npdus".into(), self.npdus), ("npdu_octets".into(), self.octets)]
    }
}
