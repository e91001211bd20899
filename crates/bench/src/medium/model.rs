//! Media as the simulator knows them.

use sim::medium::csma_cd::{self, CsmaCd};
use sim::medium::ideal::{self, Ideal};
use sim::medium::plca::{self, Plca};
use sim::medium::switched::{self, Switched};
use sim::medium::token_bus::{self, TokenBus};
use sim::medium::token_ring::{self, TokenRing};
use wire::mac::HEADER_OCTETS;

/// Maximum number of frames that wait at a station's MAC.
const QUEUE_FRAMES: usize = 1_000;

/// The stations of a medium, and what happens to them.
#[derive(Clone, Default, Debug)]
pub struct Site {
    /// Their positions, in metres, in the order of the layout.
    pub positions_metres: Vec<f64>,
    /// The seed of the medium's random numbers.
    pub seed: u64,
    /// The changes of a logical ring's members.
    pub changes: Vec<token_bus::Change>,
}

impl Site {
    /// Two stations, one at each end of a cable.
    pub(super) fn ends(&self, length_metres: f64) -> Self {
        Self { positions_metres: vec![0.0, length_metres], ..self.clone() }
    }

    /// The same number of stations, the last at the far end of a cable.
    pub(super) fn spanning(&self, length_metres: f64) -> Self {
        let mut site = self.clone();
        site.positions_metres.last_mut().into_iter().for_each(|last| *last = length_metres);
        site
    }
}

/// A medium with its stations, before its simulator is made.
#[derive(Clone, Debug)]
pub enum Model {
    /// A separate wire for each station.
    Ideal(ideal::Params),
    /// A bus on which stations contend.
    CsmaCd(csma_cd::Params),
    /// A segment on which stations take turns.
    Plca(plca::Params),
    /// A token bus.
    TokenBus(token_bus::Params),
    /// A token ring.
    TokenRing(token_ring::Params),
    /// Links and switches.
    Switched(switched::Params),
}

/// Reason why the simulator refuses a medium.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Invalid {
    /// Of a bus on which stations contend.
    #[error(transparent)]
    CsmaCd(#[from] csma_cd::Invalid),
    /// Of a segment on which stations take turns.
    #[error(transparent)]
    Plca(#[from] plca::Invalid),
    /// Of a token bus.
    #[error(transparent)]
    TokenBus(#[from] token_bus::Invalid),
    /// Of a token ring.
    #[error(transparent)]
    TokenRing(#[from] token_ring::Invalid),
    /// Of links and switches.
    #[error(transparent)]
    Switched(#[from] switched::Invalid),
}

impl Invalid {
    /// The path of the key that is probably wrong.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Plca(plca::Invalid::Nodes { .. })
            | Self::TokenRing(token_ring::Invalid::Stations { .. }) => "stations.count",
            Self::Plca(plca::Invalid::Timer) => "medium.to-timer",
            Self::Plca(plca::Invalid::Burst) => "medium.burst-timer",
            Self::TokenBus(token_bus::Invalid::Holding) => "medium.holding-time",
            Self::TokenBus(token_bus::Invalid::Windows) => "medium.maintenance",
            Self::TokenBus(token_bus::Invalid::Retries) => "medium.request-with-response.retries",
            Self::TokenRing(token_ring::Invalid::Holding) => "medium.rate",
            Self::Switched(switched::Invalid::Queue) => "medium.buffer",
            Self::CsmaCd(_)
            | Self::Plca(_)
            | Self::TokenBus(_)
            | Self::TokenRing(_)
            | Self::Switched(_) => "medium.length",
        }
    }
}

/// Theory that bounds the delay of frames on a medium, with the parameters that it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Theory<'a> {
    /// None: stations may find the medium occupied without limit.
    Contention,
    /// Each station sends its frames one after the other.
    OwnWire(&'a ideal::Params),
    /// Stations take turns.
    Turns(&'a plca::Params),
    /// A token visits the stations in the order of their addresses.
    BusRotation(&'a token_bus::Params),
    /// A token goes around a ring.
    RingRotation(&'a token_ring::Params),
    /// Frames queue at each port on their path.
    Ports(&'a switched::Params),
}

/// Something that is done with the simulator of a medium, whatever its type.
pub(crate) trait Visitor {
    /// Its result.
    type Output;
    /// Does it.
    fn visit<M: sim::medium::Medium>(self, medium: M) -> Self::Output;
}

impl Model {
    /// Makes the simulator and hands it to `visitor`.
    pub(crate) fn visit<V: Visitor>(self, visitor: V) -> Result<V::Output, Invalid> {
        let queue_frames = QUEUE_FRAMES;
        Ok(match self {
            Self::Ideal(it) => visitor.visit(Ideal::new(ideal::Params { queue_frames, ..it })),
            Self::CsmaCd(it) => visitor.visit(CsmaCd::new(csma_cd::Params { queue_frames, ..it })?),
            Self::Plca(it) => visitor.visit(Plca::new(plca::Params { queue_frames, ..it })?),
            Self::TokenBus(it) => {
                visitor.visit(TokenBus::new(token_bus::Params { queue_frames, ..it })?)
            }
            Self::TokenRing(it) => {
                visitor.visit(TokenRing::new(token_ring::Params { queue_frames, ..it })?)
            }
            Self::Switched(it) => {
                visitor.visit(Switched::new(switched::Params { queue_frames, ..it })?)
            }
        })
    }

    /// Checks that the simulator accepts the medium.
    ///
    /// # Errors
    /// Fails with the reason why it does not.
    pub fn check(self) -> Result<(), Invalid> {
        struct Nothing;
        impl Visitor for Nothing {
            type Output = ();
            fn visit<M: sim::medium::Medium>(self, _: M) {}
        }
        self.visit(Nothing)
    }

    /// The theory that bounds the delay of its frames.
    pub(crate) const fn theory(&self) -> Theory<'_> {
        match self {
            Self::Ideal(it) => Theory::OwnWire(it),
            Self::CsmaCd(_) => Theory::Contention,
            Self::Plca(it) => Theory::Turns(it),
            Self::TokenBus(it) => Theory::BusRotation(it),
            Self::TokenRing(it) => Theory::RingRotation(it),
            Self::Switched(it) => Theory::Ports(it),
        }
    }

    /// Bits of a frame with `data_octets` octets of data, if it differs from an Ethernet frame.
    pub(super) fn frame_bits(&self, data_octets: usize) -> Option<u64> {
        match self {
            Self::TokenBus(bus) => Some(bus.frame_bits(data_octets)),
            Self::TokenRing(ring) => {
                Some(ring.format.frame_bits(data_octets.saturating_add(HEADER_OCTETS)))
            }
            Self::Ideal(_) | Self::CsmaCd(_) | Self::Plca(_) | Self::Switched(_) => None,
        }
    }

    /// The most octets of data in a frame, if it differs from that of Ethernet.
    pub(super) fn most_data_octets(&self) -> Option<u64> {
        match self {
            Self::TokenBus(bus) => Some(bus.maximum_data_octets as u64),
            Self::TokenRing(ring) => {
                let rate = u128::from(ring.rate.bits_per_second());
                let bits = ring.token_holding_time.as_nanos() * rate / 1_000_000_000;
                let bits = u64::try_from(bits).unwrap_or(u64::MAX);
                let held = bits.saturating_sub(ring.format.around_bits) / 8;
                Some(held.min(ring.maximum_data_octets as u64))
            }
            Self::Ideal(_) | Self::CsmaCd(_) | Self::Plca(_) | Self::Switched(_) => None,
        }
    }
}
