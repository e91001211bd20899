//! Parameters of a shared bus, and their validation.
//!
//! Not modelled: carrier extension and bursts (half duplex at 1 Gbit/s).

use crate::medium::framing::Framing;
use crate::medium::plca::BALANCED_PAIR;
use core::fmt;
use wire::units::BitRate;

/// Constants of IEEE 802.3 that govern contention, in bit times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// slotTime: unit of backoff, and maximum time to detect a collision.
    pub slot_bits: u64,
    /// interFrameSpacingPart1: part of the gap in which a carrier restarts it. The rest of the gap
    /// ([`Framing::gap_bits`]) is part 2.
    pub gap_part_1_bits: u64,
    /// jamSize: jam sent after a collision is detected and the preamble is out.
    pub jam_bits: u64,
    /// attemptLimit: number of collisions after which a frame is discarded.
    pub attempt_limit: u32,
    /// backoffLimit: number of collisions after which the range of the backoff no longer grows.
    pub backoff_limit: u32,
}

impl Timing {
    /// Values for 10 and 100 Mbit/s.
    pub const IEEE_802_3: Self = Self {
        slot_bits: 512,
        gap_part_1_bits: 64,
        jam_bits: 32,
        attempt_limit: 16,
        backoff_limit: 10,
    };
}

/// Signal speed in thick coaxial cable, in metres per second: 0.77 of the speed of light.
pub const THICK_COAX: f64 = 2.31e8;

/// Parameters of a shared bus.
#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    /// Bit rate.
    pub rate: BitRate,
    /// Position of each station, in metres from one end of the cable.
    pub positions_metres: Vec<f64>,
    /// Position of the observer, in metres from the same end.
    pub tap_metres: f64,
    /// Signal speed, in metres per second.
    pub metres_per_second: f64,
    /// Maximum number of frames waiting or in transmission per station; further frames are refused.
    pub queue_frames: usize,
    /// Framing overhead of each frame.
    pub framing: Framing,
    /// Contention constants.
    pub timing: Timing,
    /// Seed of the backoffs; each station's stream is named `csma-cd/ADDRESS/backoff`.
    pub seed: u64,
}

impl Params {
    /// `stations` at equal distances on 10 Mbit/s coaxial cable, the first and the last at its
    /// ends.
    #[must_use]
    pub fn spread(stations: usize, length_metres: f64, seed: u64) -> Self {
        let apart = length_metres / stations.saturating_sub(1).max(1) as f64;
        Self {
            rate: BitRate::mbps(10),
            positions_metres: (0..stations).map(|station| station as f64 * apart).collect(),
            tap_metres: 0.0,
            metres_per_second: THICK_COAX,
            queue_frames: 1_000,
            framing: Framing::IEEE_802_3,
            timing: Timing::IEEE_802_3,
            seed,
        }
    }

    /// `stations` at equal distances on a 10BASE-T1S segment (IEEE 802.3cg) without PLCA: 10
    /// Mbit/s, half duplex, on a balanced pair. The standard guarantees 8 stations and 25 m, and
    /// allows more.
    #[must_use]
    pub fn t1s(stations: usize, length_metres: f64, seed: u64) -> Self {
        let metres_per_second = BALANCED_PAIR;
        Self { metres_per_second, ..Self::spread(stations, length_metres, seed) }
    }

    /// Positions on the cable as propagation delays from its end, in whole nanoseconds, so that
    /// delays along the cable add up exactly. The last entry is the observer's.
    pub(super) fn places(&self) -> Result<Vec<u64>, Invalid> {
        if !(self.metres_per_second.is_finite() && self.metres_per_second > 0.0) {
            return Err(Invalid::Speed);
        }
        let all = self.positions_metres.iter().chain([&self.tap_metres]);
        all.map(|metres| {
            let nanos = metres / self.metres_per_second * 1e9;
            let on_cable = nanos.is_finite() && *metres >= 0.0;
            if on_cable { Ok(nanos.round() as u64) } else { Err(Invalid::Position) }
        })
        .collect()
    }

    /// Checks the standard's requirements for a bus whose ends are `length_nanos` apart.
    pub(super) fn check(&self, length_nanos: u64) -> Result<(), Invalid> {
        let Timing { slot_bits, gap_part_1_bits, jam_bits, attempt_limit, .. } = self.timing;
        let shortest_bits = self.framing.wire_bits(0);
        if gap_part_1_bits > self.framing.gap_bits || attempt_limit == 0 {
            return Err(Invalid::Timing);
        }
        if slot_bits + jam_bits > shortest_bits {
            return Err(Invalid::ShortestFrame { shortest_bits, slot_bits });
        }
        let slot_nanos = wire::time::nanos(self.rate.bits(slot_bits));
        let round_trip_nanos = length_nanos.saturating_mul(2);
        if round_trip_nanos > slot_nanos {
            return Err(Invalid::RoundTrip { round_trip_nanos, slot_nanos });
        }
        if self.queue_frames == 0 { Err(Invalid::Queue) } else { Ok(()) }
    }
}

/// Reason why a bus is not allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// A round trip takes longer than a slot: late collisions would be possible.
    RoundTrip {
        /// Round trip from one end to the other and back, in nanoseconds.
        round_trip_nanos: u64,
        /// Slot, in nanoseconds.
        slot_nanos: u64,
    },
    /// The shortest frame could end before its collision is detected.
    ShortestFrame {
        /// Shortest frame in bits, preamble included.
        shortest_bits: u64,
        /// Slot in bits.
        slot_bits: u64,
    },
    /// Part 1 of the gap is longer than the gap, or the attempt limit is 0.
    Timing,
    /// A position is not on the cable.
    Position,
    /// The signal speed is not positive and finite.
    Speed,
    /// Stations have no room for a frame.
    Queue,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundTrip { round_trip_nanos, slot_nanos } => write!(
                f,
                "the bus is too long: a round trip takes {round_trip_nanos} ns, a slot \
                 {slot_nanos} ns"
            ),
            Self::ShortestFrame { shortest_bits, slot_bits } => write!(
                f,
                "the shortest frame ({shortest_bits} bits) does not outlast a slot of {slot_bits} \
                 bits and the jam"
            ),
            Self::Timing => f.write_str(
                "part 1 of the interframe gap is longer than the gap, or the attempt limit is zero",
            ),
            Self::Position => f.write_str("a station's position is not on the cable"),
            Self::Speed => f.write_str("the signal speed is not a positive number"),
            Self::Queue => f.write_str("stations have no room for a frame"),
        }
    }
}

impl core::error::Error for Invalid {}
