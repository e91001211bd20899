//! Parameters of a 10BASE-T1S segment with PLCA, and their validation.
//!
//! Not modelled: line coding, and stubs.

use crate::medium::framing::Framing;
use core::fmt;
use core::time::Duration;
use wire::units::BitRate;

/// Bit rate of 10BASE-T1S.
pub const RATE: BitRate = BitRate::mbps(10);
/// Framing overhead of each frame.
pub const FRAMING: Framing = Framing::IEEE_802_3;
/// Signal speed in a balanced pair, in metres per second: two thirds of the speed of light.
pub const BALANCED_PAIR: f64 = 2.0e8;
/// Bit at 10 Mbit/s, in nanoseconds.
pub(super) const BIT_NANOS: u64 = 100;
/// Maximum number of nodes: their identifiers are 0 to 254.
const MOST_NODES: u64 = 255;
/// Maximum of the configurable timers, in bit times: registers of eight bits.
const LONGEST_TIMER_BITS: u64 = 255;

/// Parameters of a segment.
#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    /// Position of each station, in metres from one end of the pair. The station's index is its
    /// node identifier: 0 is the coordinator.
    pub positions_metres: Vec<f64>,
    /// Signal speed, in metres per second.
    pub metres_per_second: f64,
    /// plcaNodeCount: number of opportunities in a cycle; there need not be a station for each.
    pub node_count: u64,
    /// beacon_timer: duration of the coordinator's beacon, in bit times.
    pub beacon_bits: u64,
    /// to_timer: duration of an unused opportunity, in bit times.
    pub opportunity_bits: u64,
    /// max_bc: maximum number of frames that a station may send in one opportunity after the first.
    pub maximum_burst: u64,
    /// burst_timer: time for which a station holds its opportunity for one more frame, in bit
    /// times.
    pub burst_bits: u64,
    /// Maximum number of frames waiting or in transmission per station; further frames are refused.
    pub queue_frames: usize,
}

impl Params {
    /// `stations` at equal distances from end to end, with the default values of IEEE 802.3cg: a
    /// beacon of 20 bit times, opportunities of 32, no bursts.
    #[must_use]
    pub fn spread(stations: usize, length_metres: f64) -> Self {
        let apart = length_metres / stations.saturating_sub(1).max(1) as f64;
        Self {
            positions_metres: (0..stations).map(|station| station as f64 * apart).collect(),
            metres_per_second: BALANCED_PAIR,
            node_count: stations as u64,
            beacon_bits: 20,
            opportunity_bits: 32,
            maximum_burst: 0,
            burst_bits: 128,
            queue_frames: 1_000,
        }
    }

    /// Duration of a cycle in which no node sends.
    #[must_use]
    pub const fn idle_cycle(&self) -> Duration {
        bits(self.beacon_bits + self.node_count * self.opportunity_bits)
    }

    /// Maximum time for which a station holds its opportunity, if no frame exceeds `frame_octets`,
    /// FCS not counted: a whole burst of such frames, each begun as late as possible, and a gap.
    #[must_use]
    pub fn longest_opportunity(&self, frame_octets: usize) -> Duration {
        let frame = FRAMING.wire_bits(frame_octets);
        let between = self.burst_bits.max(FRAMING.gap_bits);
        bits(frame + self.maximum_burst * (frame + between) + FRAMING.gap_bits)
    }

    /// Maximum waiting time of the first frame of a station's queue, if no frame exceeds
    /// `frame_octets`, FCS not counted. In the worst case the frame becomes first just after its
    /// opportunity was yielded, or at the end of the last frame of a burst, and all other stations
    /// send their maximum. A frame behind others of its own station waits for each of them in turn.
    #[must_use]
    pub fn longest_access(&self, frame_octets: usize) -> Duration {
        let others = self.positions_metres.len().saturating_sub(1);
        self.longest_access_behind(&vec![Some(frame_octets); others])
    }

    /// Like [`Params::longest_access`], with the maximum frame length in octets of each other
    /// station; `None` for one that sends no frames.
    #[must_use]
    pub fn longest_access_behind(&self, others: &[Option<usize>]) -> Duration {
        let stations = others.len() as u64 + 1;
        let unused = self.node_count.saturating_sub(stations) * self.opportunity_bits;
        let missed = self.opportunity_bits.max(FRAMING.gap_bits);
        let turn = |longest: &Option<usize>| match longest {
            Some(octets) => self.longest_opportunity(*octets).max(bits(self.opportunity_bits)),
            None => bits(self.opportunity_bits),
        };
        bits(missed + self.beacon_bits + unused) + others.iter().map(turn).sum::<Duration>()
    }

    /// Positions on the pair as propagation delays from its end, in whole nanoseconds.
    pub(super) fn places(&self) -> Result<Vec<u64>, Invalid> {
        if !(self.metres_per_second.is_finite() && self.metres_per_second > 0.0) {
            return Err(Invalid::Speed);
        }
        let nanos = |metres: &f64| {
            let nanos = metres / self.metres_per_second * 1e9;
            let on_pair = nanos.is_finite() && *metres >= 0.0;
            if on_pair { Ok(nanos.round() as u64) } else { Err(Invalid::Position) }
        };
        self.positions_metres.iter().map(nanos).collect()
    }

    /// Checks the parameters for stations at these places.
    pub(super) fn check(&self, places: &[u64]) -> Result<(), Invalid> {
        let (nodes, stations) = (self.node_count, places.len() as u64);
        if !(1..=MOST_NODES).contains(&nodes) || nodes < stations {
            return Err(Invalid::Nodes { nodes, stations });
        }
        let timers = [self.beacon_bits, self.opportunity_bits, self.burst_bits];
        let too_many = self.maximum_burst > LONGEST_TIMER_BITS;
        if too_many || timers.iter().any(|bits| !(1..=LONGEST_TIMER_BITS).contains(bits)) {
            return Err(Invalid::Timer);
        }
        if self.maximum_burst > 0 && self.burst_bits < FRAMING.gap_bits {
            return Err(Invalid::Burst);
        }
        let length = places.iter().max().unwrap_or(&0) - places.iter().min().unwrap_or(&0);
        let round_trip_nanos = length.saturating_mul(2);
        let opportunity_nanos = self.opportunity_bits * BIT_NANOS;
        if round_trip_nanos >= opportunity_nanos {
            return Err(Invalid::RoundTrip { round_trip_nanos, opportunity_nanos });
        }
        if self.queue_frames == 0 { Err(Invalid::Queue) } else { Ok(()) }
    }
}

/// Duration of `bits` bits.
pub(super) const fn bits(bits: u64) -> Duration {
    Duration::from_nanos(bits * BIT_NANOS)
}

/// Reason why a segment is not allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// There are more stations than opportunities in a cycle, or more opportunities than
    /// identifiers.
    Nodes {
        /// Opportunities in a cycle.
        nodes: u64,
        /// Stations.
        stations: u64,
    },
    /// A timer is 0 or exceeds its register, or the burst limit exceeds its register.
    Timer,
    /// The burst timer expires before the gap between two frames is over.
    Burst,
    /// An opportunity ends before every node can detect that it was used.
    RoundTrip {
        /// Round trip from one end to the other and back, in nanoseconds.
        round_trip_nanos: u64,
        /// Opportunity in nanoseconds.
        opportunity_nanos: u64,
    },
    /// A position is not on the pair.
    Position,
    /// The signal speed is not positive and finite.
    Speed,
    /// Stations have no room for a frame.
    Queue,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes { nodes, stations } => write!(
                f,
                "a cycle of {nodes} opportunities does not serve {stations} stations (at most \
                 {MOST_NODES})"
            ),
            Self::Timer => write!(
                f,
                "a timer of PLCA is from 1 to {LONGEST_TIMER_BITS} bit times, and a burst has at \
                 most {LONGEST_TIMER_BITS} further frames"
            ),
            Self::Burst => write!(
                f,
                "a burst timer below the gap of {} bit times ends every burst",
                FRAMING.gap_bits
            ),
            Self::RoundTrip { round_trip_nanos, opportunity_nanos } => write!(
                f,
                "the segment is too long: a round trip takes {round_trip_nanos} ns, an opportunity \
                 {opportunity_nanos} ns"
            ),
            Self::Position => f.write_str("a station's position is not on the segment"),
            Self::Speed => f.write_str("the signal speed is not a positive number"),
            Self::Queue => f.write_str("stations have no room for a frame"),
        }
    }
}

impl core::error::Error for Invalid {}
