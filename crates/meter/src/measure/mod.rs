//! The measures of NBSIR 85-3104, section III: one per file, listed here.
//!
//! Each takes notice of every sight, keeps what concerns it, can be added to another of its kind,
//! and lists its values under their names. [`Measures`] is the list.

mod connection;
mod link;
mod network;
mod peak;
mod size;
mod transport;
mod tsdu;

pub use connection::Connections;
pub use link::Link;
pub use network::Network;
pub use peak::Peak;
pub use size::{BOUNDS_OCTETS, SizeClass, Sizes};
pub use transport::{Transport, Volume};
pub use tsdu::Tsdus;

use crate::sight::Sight;

/// One measure.
pub trait Measure: Clone + Default {
    /// Takes notice of something that was seen.
    fn observe(&mut self, sight: &Sight);
    /// Adds what another measured over another time.
    fn add(&mut self, other: &Self);
    /// Its values under their names, in the order of the paper's table.
    fn values(&self) -> Vec<(&'static str, u64)>;
}

/// All measures over some time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Measures {
    /// At the link level.
    pub link: Link,
    /// At the network level.
    pub network: Network,
    /// At the transport level, TPDU by TPDU.
    pub transport: Transport,
    /// What the transport users sent each other.
    pub tsdus: Tsdus,
    /// The lives of transport connections.
    pub connections: Connections,
    /// The busiest second at the link level.
    pub peak: Peak,
    /// DTs by size.
    pub sizes: Sizes,
}

impl Measures {
    /// Takes notice of something that was seen.
    pub fn observe(&mut self, sight: &Sight) {
        self.link.observe(sight);
        self.network.observe(sight);
        self.transport.observe(sight);
        self.tsdus.observe(sight);
        self.connections.observe(sight);
        self.peak.observe(sight);
        self.sizes.observe(sight);
    }

    /// Adds what was measured over another time.
    pub fn add(&mut self, other: &Self) {
        self.link.add(&other.link);
        self.network.add(&other.network);
        self.transport.add(&other.transport);
        self.tsdus.add(&other.tsdus);
        self.connections.add(&other.connections);
        self.peak.add(&other.peak);
        self.sizes.add(&other.sizes);
    }

    /// The rows of the paper's Table 4, in its order.
    #[must_use]
    pub fn table(&self) -> [(&'static str, u64); 17] {
        let (all, [dt, ak]) = (self.transport.all(), self.transport.data_and_acknowledgements());
        [
            ("lpdus", self.link.lpdus),
            ("lpdu_octets", self.link.octets),
            ("npdus", self.network.npdus),
            ("npdu_octets", self.network.octets),
            ("tpdus", all.tpdus),
            ("tpdu_information_octets", all.information_octets),
            ("tpdu_overhead_octets", all.overhead_octets()),
            ("tpdu_header_octets", all.header_octets),
            ("tpdu_data_octets", all.data_octets),
            ("tpdu_total_octets", all.total_octets()),
            ("tsdus", self.tsdus.tsdus),
            ("tsdu_octets", self.tsdus.octets),
            ("dt_tpdus", dt.tpdus),
            ("dt_retransmissions", dt.retransmissions),
            ("ak_tpdus", ak.tpdus),
            ("ak_retransmissions", ak.retransmissions),
            ("transport_connections", self.connections.established),
        ]
    }

    /// Every value of every measure under its name: Table 4's rows first, then the others.
    #[must_use]
    pub fn values(&self) -> Vec<(&'static str, u64)> {
        let mut values = self.table().to_vec();
        let more = [
            self.link.values(),
            self.network.values(),
            self.transport.values(),
            self.tsdus.values(),
            self.connections.values(),
            self.peak.values(),
            self.sizes.values(),
        ];
        for value in more.into_iter().flatten() {
            if values.iter().all(|(name, _)| *name != value.0) {
                values.push(value);
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_one_name() {
        let mut names: Vec<&str> = Measures::default().values().iter().map(|(n, _)| *n).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        // 17 rows, 4 more steps of connections, 2 of the peak second, 5 of each of 10 kinds less
        // the 4 that are rows already, and 2 of each of 10 sizes.
        assert_eq!(count, 17 + 4 + 2 + 50 - 4 + 20);
    }
}
