//! Counts of NBSIR 85-3104, interval by interval: the cells of its Table 4.
//!
//! The scan of the paper shows some cells upside down or mirrored. Here they have the values that
//! the sums of the table require: each row adds up to its total, and in each interval LPDU octets
//! are 17 and NPDU octets 1 per PDU above the TPDU octets, which are information plus overhead as
//! well as header plus data. Two cells of interval 3 contradict the others and are kept: see
//! [`VOLUMES`].

/// Counts of an interval of 15 minutes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Volumes {
    /// TPDUs, each in a frame of its own.
    pub(super) tpdus: u64,
    /// User data sent for the first time, in octets.
    pub(super) information_octets: u64,
    /// Headers, in octets.
    pub(super) header_octets: u64,
    /// User data, in octets.
    pub(super) data_octets: u64,
    /// TSDUs.
    pub(super) tsdus: u64,
    /// TSDUs, in octets.
    pub(super) tsdu_octets: u64,
    /// DTs.
    pub(super) dts: u64,
    /// Retransmitted DTs.
    pub(super) repeated_dts: u64,
    /// AKs.
    pub(super) aks: u64,
    /// AKs without new information.
    pub(super) repeated_aks: u64,
    /// Connections.
    pub(super) connections: u64,
}

impl Volumes {
    /// Counts in the order of the fields.
    const fn of(cells: [u64; 11]) -> Self {
        let [tpdus, information_octets, header_octets, data_octets, tsdus, tsdu_octets, ..] = cells;
        let [.., dts, repeated_dts, aks, repeated_aks, connections] = cells;
        Self {
            tpdus,
            information_octets,
            header_octets,
            data_octets,
            tsdus,
            tsdu_octets,
            dts,
            repeated_dts,
            aks,
            repeated_aks,
            connections,
        }
    }

    /// DTs sent for the first time.
    pub(super) const fn original_dts(&self) -> u64 {
        self.dts - self.repeated_dts
    }

    /// Retransmitted CRs: the TPDUs minus the CR, CC, DR and DC of each connection.
    pub(super) const fn repeated_crs(&self) -> u64 {
        self.tpdus - self.dts - self.aks - 4 * self.connections
    }

    /// AKs that are neither retransmissions, nor the one for each DT, nor the third of each
    /// handshake.
    pub(super) const fn further_aks(&self) -> u64 {
        self.aks - self.repeated_aks - self.original_dts() - self.connections
    }

    /// Octets of a TSDU that is never finished: in DTs, but in no TSDU. In interval 3 they are
    /// 1,012, which fit into one DT.
    pub(super) const fn unfinished_octets(&self) -> u64 {
        self.information_octets - self.tsdu_octets
    }

    /// DTs of TSDUs that are never finished.
    pub(super) const fn unfinished_dts(&self) -> u64 {
        if self.unfinished_octets() > 0 { 1 } else { 0 }
    }

    /// TSDUs that a trace can have: a DT ends at most one, so interval 3 cannot have its published
    /// 1,783 TSDUs in 1,769 original DTs.
    pub(super) fn possible_tsdus(&self) -> u64 {
        self.tsdus.min(self.original_dts() - self.unfinished_dts())
    }
}

/// 13 June 1984, 5:16 to 7:16 p.m., in intervals of 15 minutes.
pub(super) const VOLUMES: [Volumes; 8] = [
    Volumes::of([4_524, 184_464, 53_235, 221_112, 1_847, 184_464, 1_932, 52, 2_355, 114, 45]),
    Volumes::of([4_296, 136_103, 51_850, 165_158, 1_739, 136_103, 1_791, 49, 2_296, 123, 50]),
    Volumes::of([4_258, 197_170, 54_006, 258_322, 1_483, 197_170, 1_560, 77, 2_461, 145, 54]),
    Volumes::of([5_223, 204_145, 63_729, 261_196, 1_783, 203_133, 1_840, 71, 3_144, 116, 51]),
    Volumes::of([3_169, 61_188, 59_680, 61_188, 1_027, 61_188, 1_027, 0, 2_133, 70, 2]),
    Volumes::of([302, 5_570, 5_874, 5_570, 70, 5_570, 70, 0, 194, 77, 6]),
    Volumes::of([579, 55_460, 11_325, 55_460, 111, 55_460, 164, 0, 394, 116, 5]),
    Volumes::of([785, 107_648, 11_084, 107_648, 100, 107_648, 266, 0, 470, 125, 12]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_sums_to_its_total() {
        let sum = |field: fn(&Volumes) -> u64| VOLUMES.iter().map(field).sum::<u64>();
        assert_eq!(sum(|v| v.tpdus), 23_136);
        assert_eq!(sum(|v| v.information_octets), 951_748);
        assert_eq!(sum(|v| v.header_octets), 310_783);
        assert_eq!(sum(|v| v.data_octets), 1_135_654);
        assert_eq!(sum(|v| v.tsdus), 8_160);
        assert_eq!(sum(|v| v.tsdu_octets), 950_736);
        assert_eq!(sum(|v| v.dts), 8_650);
        assert_eq!(sum(|v| v.repeated_dts), 249);
        assert_eq!(sum(|v| v.aks), 13_447);
        assert_eq!(sum(|v| v.repeated_aks), 886);
        assert_eq!(sum(|v| v.connections), 225);
    }

    #[test]
    fn only_interval_3_has_more_tsdus_than_original_dts() {
        for (interval, volumes) in VOLUMES.iter().enumerate() {
            let has_more = volumes.tsdus > volumes.original_dts();
            assert_eq!(has_more, interval == 3, "interval {interval}");
            let is_other = volumes.tsdu_octets != volumes.information_octets;
            assert_eq!(is_other, interval == 3, "interval {interval}");
        }
    }
}
