//! Link PDUs: how many, how long.
//!
//! Definition: frames with an LLC header, and frames that carry IP or OSI without one. Octets are
//! those of the link header, the LLC header and what they carry, so a transport frame without VLAN
//! tags has 17 octets of link header, as in NBSIR 85-3104; one of IP on Ethernet has 14.
//! Bias: preamble, pad, FCS and the gap between frames are left out, and so are frames of other
//! protocols, so the medium is busier than this.

use super::{Measure, Values};
use crate::sight::Sight;

/// Link PDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Link {
    /// How many.
    pub lpdus: u64,
    /// Their octets (L_b).
    pub octets: u64,
    /// Frames whose transport was read without their link layer: the tap cannot see it.
    pub unseen: u64,
}

impl Link {
    /// Takes notice of an LPDU.
    pub(super) const fn lpdu(&mut self, octets: u64) {
        self.lpdus += 1;
        self.octets += octets;
    }
}

impl Measure for Link {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Lpdu { octets, .. } = sight {
            self.lpdu(*octets);
        }
    }

    fn add(&mut self, other: &Self) {
        self.lpdus += other.lpdus;
        self.octets += other.octets;
        self.unseen += other.unseen;
    }

    fn values(&self) -> Values {
        vec![("lpdus".into(), self.lpdus), ("lpdu_octets".into(), self.octets)]
    }
}
