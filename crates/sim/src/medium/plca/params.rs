//! What a 10BASE-T1S segment with PLCA is like, and which segments there cannot be.
//!
//! Not modelled: how bits become signals, and stubs.

use crate::medium::framing::Framing;
use core::fmt;
use core::time::Duration;
use wire::units::BitRate;

/// What 10BASE-T1S carries.
pub const RATE: BitRate = BitRate::mbps(10);
/// What is put around each frame.
pub const FRAMING: Framing = Framing::IEEE_802_3;
/// A signal in a balanced pair, in metres per second: two thirds of the speed of light.
pub const BALANCED_PAIR: f64 = 2.0e8;
/// A bit at 10 Mbit/s.
pub(super) const BIT_NANOS: u64 = 100;
/// The most nodes: their numbers are 0 to 254.
const MOST_NODES: u64 = 255;
/// The longest the timers that a station is told can be: registers of eight bits.
const LONGEST_TIMER_BITS: u64 = 255;

/// What a segment is like.
#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    /// Where each station sits, in metres from one end of the pair. Their numbers are their node
    /// identifiers: 0 is the coordinator.
    pub positions_metres: Vec<f64>,
    /// How fast a signal travels, in metres per second.
    pub metres_per_second: f64,
    /// plcaNodeCount: how many opportunities there are in a cycle, whether or not there is a
    /// station for each.
    pub node_count: u64,
    /// beacon_timer: how long the coordinator's beacon lasts, in bit times.
    pub beacon_bits: u64,
    /// to_timer: how long an opportunity lasts that is not taken, in bit times.
    pub opportunity_bits: u64,
    /// max_bc: how many frames a station may send in one opportunity after the first.
    pub maximum_burst: u64,
    /// burst_timer: how long a station holds its opportunity for one more frame, in bit times.
    pub burst_bits: u64,
    /// How many frames a station may have waiting or in transmission; more are refused.
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

    /// How long a cycle lasts in which nobody sends.
    #[must_use]
    pub const fn idle_cycle(&self) -> Duration {
        bits(self.beacon_bits + self.node_count * self.opportunity_bits)
    }

    /// The longest that a station holds its opportunity, where no frame has more octets than this,
    /// FCS not counted: a whole burst of such frames, each begun as late as may be, and a gap.
    #[must_use]
    pub fn longest_opportunity(&self, frame_octets: usize) -> Duration {
        let frame = FRAMING.wire_bits(frame_octets);
        let between = self.burst_bits.max(FRAMING.gap_bits);
        bits(frame + self.maximum_burst * (frame + between) + FRAMING.gap_bits)
    }

    /// The longest that the first frame of a station's queue waits until it is sent, where no frame
    /// has more octets than this, FCS not counted: it comes just after its opportunity was given
    /// up, or at the end of the last frame there was room for, and all others send what they may. A
    /// frame behind others of its own station waits in turn for each.
    #[must_use]
    pub fn longest_access(&self, frame_octets: usize) -> Duration {
        let others = self.positions_metres.len().saturating_sub(1);
        self.longest_access_behind(&vec![Some(frame_octets); others])
    }

    /// As [`Params::longest_access`], where each of the other stations has frames of no more octets
    /// than its own entry says, or none at all.
    #[must_use]
    pub fn longest_access_behind(&self, others: &[Option<usize>]) -> Duration {
        let stations = others.len() as u64 + 1;
        let nobody = self.node_count.saturating_sub(stations) * self.opportunity_bits;
        let missed = self.opportunity_bits.max(FRAMING.gap_bits);
        let turn = |longest: &Option<usize>| match longest {
            Some(octets) => self.longest_opportunity(*octets).max(bits(self.opportunity_bits)),
            None => bits(self.opportunity_bits),
        };
        bits(missed + self.beacon_bits + nobody) + others.iter().map(turn).sum::<Duration>()
    }

    /// Each place on the pair as the time a signal takes from its end, in whole nanoseconds.
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

    /// Checks that there can be such a segment whose stations are at these places.
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

/// How long so many bits last.
pub(super) const fn bits(bits: u64) -> Duration {
    Duration::from_nanos(bits * BIT_NANOS)
}

/// Why there cannot be such a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// More stations than opportunities in a cycle, or more opportunities than identifiers.
    Nodes {
        /// Opportunities in a cycle.
        nodes: u64,
        /// Stations.
        stations: u64,
    },
    /// A timer or a burst of none, or beyond what their registers hold.
    Timer,
    /// The burst timer runs out before the gap between two frames is over.
    Burst,
    /// An opportunity is over before everybody could hear that it was taken.
    RoundTrip {
        /// Nanoseconds from one end to the other and back.
        round_trip_nanos: u64,
        /// Nanoseconds of an opportunity.
        opportunity_nanos: u64,
    },
    /// A place that is not on the pair.
    Position,
    /// A signal that does not move.
    Speed,
    /// Stations without room for a frame.
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
            Self::Position => f.write_str("a station's place is not on the segment"),
            Self::Speed => f.write_str("the signal's speed is not a positive number"),
            Self::Queue => f.write_str("stations have no room for a frame"),
        }
    }
}

impl core::error::Error for Invalid {}
