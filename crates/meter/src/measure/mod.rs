//! Measures of NBSIR 85-3104, section III, and those that the paper left out: one per file, listed
//! here.
//!
//! Definition: each measure receives every observation, counts those it concerns, can be added to
//! another of its kind, and lists its values under their names. [`Measures`] is the set for a
//! network, [`Traffic`] the set for what a host sent or received. Ordinary TPDUs are counted in
//! batches: `batch`. Bias: stated in each file.

/// Defines counters that can be added and subtracted field by field.
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $name { $($(#[$doc])* pub $field: u64,)* }

        impl $name {
            /// Adds the counts of another.
            #[inline]
            pub const fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// Ends a time that began with these counts: they become those in it. `now` is their later state.
            #[inline]
            pub const fn end(&mut self, now: &Self) {
                $(self.$field = now.$field - self.$field;)*
            }
        }
    };
}
mod batch;
mod connection;
mod delay;
mod histogram;
mod link;
mod llc;
mod mms;
mod network;
mod peak;
mod role;
mod size;
mod stream;
mod transport;
mod tsdu;
mod wait;
mod window;

pub(crate) use batch::{Batch, BatchKind, Sums};
pub use connection::Connections;
pub use delay::{Delays, Distribution, Summary};
pub use link::Link;
pub use llc::Llc;
pub use mms::{Mms, ServiceCounts};
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

use crate::observation::{Observation, Tpdu};
pub(crate) use size::Places;
use wire::llc::Control;
use wire::time::Instant;

/// Measures of a network over some time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Measures {
    /// Link PDUs.
    pub link: Link,
    /// Network PDUs.
    pub network: Network,
    /// Transport PDUs, TSDUs and connections.
    pub traffic: Traffic,
    /// Busiest second at the link level.
    pub peak: Peak,
    /// LLC PDUs by purpose.
    pub llc: Llc,
    /// TCP streams that carry TPKTs.
    pub streams: Streams,
    /// Delays.
    pub delays: Delays,
    /// Associations and their services.
    pub mms: Mms,
}

impl Measures {
    /// Empty measures, with these upper bounds of the size classes.
    #[must_use]
    pub fn new(bounds_octets: [u64; 9]) -> Self {
        Self { traffic: Traffic::new(bounds_octets), ..Self::default() }
    }

    /// Counts an observation.
    pub fn observe(&mut self, observation: &Observation) {
        match observation {
            Observation::Lpdu { at, octets, llc } => self.lpdu(*at, *octets, *llc),
            Observation::Npdu { octets } => self.network.npdu(*octets),
            Observation::Segment(_) => self.streams.observe(observation),
            Observation::Step(_) => self.traffic.connections.observe(observation),
            Observation::Span(..) | Observation::AmbiguousResponse => {
                self.delays.observe(observation)
            }
            Observation::WindowClosed | Observation::Stream(_) | Observation::Placed(_) => {}
            Observation::Mms(event) => {
                self.mms.observe(event);
                self.delays.mms(event);
            }
            Observation::Tpdu(tpdu) => self.traffic.observe(tpdu),
        }
    }

    /// Counts an LPDU.
    fn lpdu(&mut self, at: Instant, octets: u64, llc: Option<Control>) {
        self.link.lpdu(octets);
        self.peak.count(second(at), 1, octets);
        if let Some(control) = llc {
            self.llc.lpdu(control);
        }
    }

    /// Adds the measures of another time.
    pub fn add(&mut self, other: &Self) {
        self.link.add(&other.link);
        self.network.add(&other.network);
        self.traffic.add(&other.traffic);
        self.peak.add(&other.peak);
        self.llc.add(&other.llc);
        self.streams.add(&other.streams);
        self.delays.add(&other.delays);
        self.mms.add(&other.mms);
    }
}

/// Traffic in one direction: sent or received by a host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// TPDUs by kind.
    pub transport: Transport,
    /// TSDUs.
    pub tsdus: Tsdus,
    /// Steps of connections, by the sender of the TPDU that caused them.
    pub connections: Connections,
    /// Busiest second of TPDUs.
    pub peak: Peak,
    /// TPDUs and TSDUs by size.
    pub sizes: Sizes,
    /// AKs by role.
    pub roles: Roles,
    /// Flow control.
    pub windows: Windows,
    /// Delays; of hosts only, because the network has their distributions in [`Delays`].
    pub waits: Waits,
}

impl Traffic {
    /// Empty counts, with these upper bounds of the size classes.
    #[must_use]
    pub fn new(bounds_octets: [u64; 9]) -> Self {
        Self { sizes: Sizes::new(bounds_octets), ..Self::default() }
    }

    /// Ends a time that began with these counts: they become those in it. `now` is their later state.
    pub fn end(&mut self, now: &Self) {
        self.transport.end(&now.transport);
        self.tsdus.end(&now.tsdus);
        self.connections.end(&now.connections);
        self.peak.end(&now.peak);
        self.sizes.end(&now.sizes);
        self.roles.end(&now.roles);
        self.windows.end(&now.windows);
        self.waits.end(&now.waits);
    }

    /// Adds the traffic of another direction or time.
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

    /// Counts a TPDU.
    pub fn observe(&mut self, tpdu: &Tpdu) {
        self.sized(tpdu, self.sizes.places(tpdu));
    }

    /// Counts a TPDU whose size classes are known.
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
}
