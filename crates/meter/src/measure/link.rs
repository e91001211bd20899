//! Link PDUs: number and octets.
//!
//! Definition: frames with an LLC header, and frames that carry IP or OSI without one. Octets are
//! those of the link header, the LLC header and the payload. So a transport frame without VLAN tags
//! has 17 octets of link header, as in NBSIR 85-3104; a frame of IP on Ethernet has 14.
//! Bias: preamble, pad, FCS and the interframe gap are not counted, nor are frames of other
//! protocols, so the medium is busier than this measure shows.

counters! {
    /// Link PDUs.
    pub struct Link {
        /// Number of link PDUs.
        pub lpdus,
        /// Their octets (L_b).
        pub octets,
        /// Frames decoded from the transport layer on: the tap cannot see their link layer.
        pub unseen,
    }
}

impl Link {
    /// Counts an LPDU.
    pub(super) const fn lpdu(&mut self, octets: u64) {
        self.lpdus += 1;
        self.octets += octets;
    }
}
