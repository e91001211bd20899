//! The measures of NBSIR 85-3104, section III, and those it had to leave out: one per file, listed
//! here.
//!
//! Each takes notice of every sight, keeps what concerns it, can be added to another of its kind,
//! and lists its values under their names. [`Measures`] is the list for a network, [`Traffic`] the
//! one for what a host sent or received. Ordinary TPDUs are counted many at once: `alike`.

mod alike;
mod connection;
mod delay;
mod frames;
mod histogram;
mod link;
mod llc;
mod network;
mod peak;
mod role;
mod size;
mod stream;
mod transport;
mod tsdu;
mod wait;
mod window;

pub(crate) use alike::{Alike, Sort};
pub use connection::Connections;
pub use delay::{Delays, Distribution, Summary};
pub(crate) use frames::Frames;
pub use link::Link;
pub use llc::Llc;
pub use network::Network;
pub use peak::Peak;
pub(crate) use peak::second;
pub use role::Roles;
pub use size::{BOUNDS_OCTETS, NO_BOUND_OCTETS, SizeClass, Sizes};
pub use stream::Streams;
pub use transport::{Transport, Volume};
pub use tsdu::Tsdus;
pub(crate) use wait::DelaySum;
pub use wait::{Times, Waits};
pub use window::Windows;

use crate::sight::{Sight, Tpdu};
pub(crate) use size::Places;
use std::borrow::Cow;
use wire::llc::Control;
use wire::time::Instant;

/// Values under their names.
pub type Values = Vec<(Cow<'static, str>, u64)>;

/// One measure.
pub trait Measure: Clone + Default {
    /// Takes notice of something that was seen.
    fn observe(&mut self, sight: &Sight);
    /// Adds what another measured over another time.
    fn add(&mut self, other: &Self);
    /// Its values under their names, in the order of the paper's table.
    fn values(&self) -> Values;
}

/// All measures over some time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Measures {
    /// At the link level.
    pub link: Link,
    /// At the network level.
    pub network: Network,
    /// At the transport level, and what its users sent each other.
    pub traffic: Traffic,
    /// The busiest second at the link level.
    pub peak: Peak,
    /// LLC PDUs by what they are for.
    pub llc: Llc,
    /// TCP streams that carry TPKTs.
    pub streams: Streams,
    /// How long things take.
    pub delays: Delays,
}

impl Measures {
    /// Nothing yet, with these bounds of the classes of sizes.
    #[must_use]
    pub fn new(bounds_octets: [u64; 9]) -> Self {
        Self { traffic: Traffic::new(bounds_octets), ..Self::default() }
    }

    /// Takes notice of something that was seen.
    pub fn observe(&mut self, sight: &Sight) {
        match sight {
            Sight::Lpdu { at, octets, llc } => self.lpdu(*at, *octets, *llc),
            Sight::Npdu { octets } => self.network.npdu(*octets),
            Sight::Segment(_) => self.streams.observe(sight),
            Sight::Step(_) => self.traffic.connections.observe(sight),
            Sight::Span(..) | Sight::AmbiguousResponse => self.delays.observe(sight),
            Sight::WindowClosed => {}
            Sight::Tpdu(tpdu) => self.traffic.observe(tpdu),
        }
    }

    /// Takes notice of an LPDU.
    fn lpdu(&mut self, at: Instant, octets: u64, llc: Option<Control>) {
        self.link.lpdu(octets);
        self.peak.count(second(at), 1, octets);
        if let Some(control) = llc {
            self.llc.lpdu(control);
        }
    }

    /// Whether the value of this name counts what the tap cannot see, so that it is unknown and not zero.
    #[must_use]
    pub fn is_unseen(&self, name: &str) -> bool {
        let is_of = |parts: &[&str]| parts.iter().any(|part| name.starts_with(part));
        self.link.unseen > 0 && is_of(&["lpdu", "peak_second_lpdu", "llc_"])
            || self.network.unseen > 0 && is_of(&["npdu"])
    }

    /// Adds what was measured over another time.
    pub fn add(&mut self, other: &Self) {
        self.link.add(&other.link);
        self.network.add(&other.network);
        self.traffic.add(&other.traffic);
        self.peak.add(&other.peak);
        self.llc.add(&other.llc);
        self.streams.add(&other.streams);
        self.delays.add(&other.delays);
    }

    /// The rows of the paper's Table 4, in its order.
    #[must_use]
    pub fn table(&self) -> [(&'static str, u64); 17] {
        let Traffic { transport, tsdus, connections, .. } = &self.traffic;
        let (all, [dt, ak]) = (transport.all(), transport.data_and_acknowledgements());
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
            ("tsdus", tsdus.tsdus),
            ("tsdu_octets", tsdus.octets),
            ("dt_tpdus", dt.tpdus),
            ("dt_retransmissions", dt.retransmissions),
            ("ak_tpdus", ak.tpdus),
            ("ak_retransmissions", ak.retransmissions),
            ("transport_connections", connections.established),
        ]
    }

    /// Every value of every measure under its name: Table 4's rows first, then the others.
    #[must_use]
    pub fn values(&self) -> Values {
        let mut values: Values =
            self.table().into_iter().map(|(name, value)| (name.into(), value)).collect();
        let rows = values.len();
        // The times of hosts are among those of the network.
        let Traffic { transport, tsdus, connections, peak, sizes, roles, windows, waits: _ } =
            &self.traffic;
        let more = [
            self.link.values(),
            self.network.values(),
            transport.values(),
            tsdus.values(),
            connections.values(),
            self.peak.of_lpdus(),
            peak.of_tpdus(),
            sizes.values(),
            roles.values(),
            windows.values(),
            self.llc.values(),
            self.streams.values(),
            self.delays.values(),
        ];
        for value in more.into_iter().flatten() {
            if values.iter().take(rows).all(|(name, _)| *name != value.0) {
                values.push(value);
            }
        }
        values
    }
}

/// What went one way: sent or received by a host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// TPDU by TPDU.
    pub transport: Transport,
    /// TSDUs.
    pub tsdus: Tsdus,
    /// Steps in the lives of connections, by who sent the TPDU that made them.
    pub connections: Connections,
    /// The busiest second of TPDUs.
    pub peak: Peak,
    /// TPDUs and TSDUs by size.
    pub sizes: Sizes,
    /// What AKs are for.
    pub roles: Roles,
    /// Flow control.
    pub windows: Windows,
    /// How long things took; of hosts alone, since the network has more of it in [`Delays`].
    pub waits: Waits,
}

impl Traffic {
    /// Nothing yet, with these bounds of the classes of sizes.
    #[must_use]
    pub fn new(bounds_octets: [u64; 9]) -> Self {
        Self { sizes: Sizes::new(bounds_octets), ..Self::default() }
    }

    /// What went this way since an earlier count of the same.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            transport: self.transport.since(&earlier.transport),
            tsdus: self.tsdus.since(&earlier.tsdus),
            connections: self.connections.since(&earlier.connections),
            peak: self.peak.since(&earlier.peak),
            sizes: self.sizes.since(&earlier.sizes),
            roles: self.roles.since(&earlier.roles),
            windows: self.windows.since(&earlier.windows),
            waits: self.waits.since(&earlier.waits),
        }
    }

    /// Adds what went another way, or at another time.
    pub fn add(&mut self, other: &Self) {
        self.transport.add(&other.transport);
        self.tsdus.add(&other.tsdus);
        self.connections.add(&other.connections);
        self.peak.add(&other.peak);
        self.sizes.add(&other.sizes);
        self.roles.add(&other.roles);
        self.windows.add(&other.windows);
        self.waits.add(&other.waits);
    }

    /// Takes notice of a TPDU that went this way.
    pub fn observe(&mut self, tpdu: &Tpdu) {
        self.sized(tpdu, self.sizes.places(tpdu));
    }

    /// Takes notice of a TPDU that went this way, its classes of sizes known.
    #[inline]
    pub(crate) fn sized(&mut self, tpdu: &Tpdu, places: Places) {
        self.transport.tpdu(tpdu);
        self.tsdus.tpdu(tpdu);
        self.connections.step(tpdu.step);
        self.peak.count(second(tpdu.at), 1, tpdu.header_octets + tpdu.data_octets);
        self.sizes.count(tpdu, places);
        self.roles.tpdu(tpdu);
        self.windows.tpdu(tpdu);
    }

    /// Every value under its name.
    #[must_use]
    pub fn values(&self) -> Values {
        let all = [
            self.transport.values(),
            self.tsdus.values(),
            self.connections.values(),
            self.peak.of_tpdus(),
            self.sizes.values(),
            self.roles.values(),
            self.windows.values(),
            self.waits.values(),
        ];
        all.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_one_name() {
        let values = Measures::default().values();
        let mut names: Vec<&str> = values.iter().map(|(name, _)| name.as_ref()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        // 17 rows, 9 more steps of connections, 2 of each of 2 peak seconds, 5 of each of 10 kinds less
        // the 4 that are rows already, 4 of each of 10 sizes, 5 roles, 2 of windows, 7 of LLC, 7 of
        // TCP, 6 of each of 8 delays, and ambiguous responses.
        assert_eq!(count, 17 + 9 + 4 + 50 - 4 + 40 + 5 + 2 + 7 + 7 + 48 + 1);
    }
}
