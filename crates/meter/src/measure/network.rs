//! Network PDUs: number and octets.
//!
//! Definition: payloads of link PDUs for the ISO network layer (SAP FE), which are CLNP, full or
//! inactive, and IP packets; each with header and payload. Bias: routing PDUs of ES-IS and IS-IS
//! count too, and every IP packet whatever its payload; segments and fragments count one by one;
//! the checksum of the header is not verified.

counters! {
    /// Network PDUs.
    pub struct Network {
        /// Number of network PDUs.
        pub npdus,
        /// Their octets (N_b).
        pub octets,
        /// Frames decoded from the transport layer on: the tap cannot see their network layer.
        pub unseen,
    }
}

impl Network {
    /// Counts an NPDU.
    pub(super) const fn npdu(&mut self, octets: u64) {
        self.npdus += 1;
        self.octets += octets;
    }
}
