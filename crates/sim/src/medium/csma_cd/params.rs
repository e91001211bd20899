//! What a shared bus is like, and which buses there cannot be.
//!
//! Not modelled: carrier extension and bursts (half duplex at 1 Gbit/s).

use crate::medium::framing::Framing;
use crate::medium::plca::BALANCED_PAIR;
use core::fmt;
use wire::units::BitRate;

/// The constants of IEEE 802.3 that shape contention, in bit times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// slotTime: the unit of backoff, and the longest a collision may take to be noticed.
    pub slot_bits: u64,
    /// interFrameSpacingPart1: the part of the gap in which a carrier begins it anew. The rest of
    /// the gap ([`Framing::gap_bits`]) is part 2.
    pub gap_part_1_bits: u64,
    /// jamSize: sent after a collision was noticed, once the preamble is out.
    pub jam_bits: u64,
    /// attemptLimit: after so many collisions a frame is given up.
    pub attempt_limit: u32,
    /// backoffLimit: after so many collisions the range of the backoff no longer grows.
    pub backoff_limit: u32,
}

impl Timing {
    /// The values for 10 and 100 Mbit/s.
    pub const IEEE_802_3: Self = Self {
        slot_bits: 512,
        gap_part_1_bits: 64,
        jam_bits: 32,
        attempt_limit: 16,
        backoff_limit: 10,
    };
}

/// A signal in thick coaxial cable, in metres per second: 0.77 of the speed of light.
pub const THICK_COAX: f64 = 2.31e8;

/// What a shared bus is like.
#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    /// How fast it is.
    pub rate: BitRate,
    /// Where each station sits, in metres from one end of the cable.
    pub positions_metres: Vec<f64>,
    /// Where the observer sits, in metres from the same end.
    pub tap_metres: f64,
    /// How fast a signal travels, in metres per second.
    pub metres_per_second: f64,
    /// How many frames a station may have waiting or in transmission; more are refused.
    pub queue_frames: usize,
    /// What is put around each frame.
    pub framing: Framing,
    /// The constants of contention.
    pub timing: Timing,
    /// What seeds the backoff; each station's stream is named `csma-cd/ADDRESS/backoff`.
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

    /// `stations` at equal distances on a 10BASE-T1S segment (IEEE 802.3cg) without PLCA: 10 Mbit/s,
    /// half duplex, on a balanced pair. The standard promises 8 stations and 25 m, and allows more.
    #[must_use]
    pub fn t1s(stations: usize, length_metres: f64, seed: u64) -> Self {
        let metres_per_second = BALANCED_PAIR;
        Self { metres_per_second, ..Self::spread(stations, length_metres, seed) }
    }

    /// Each place on the cable as the time a signal takes from its end, in whole nanoseconds, so
    /// that delays along the cable add up exactly. The observer's place is the last.
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

    /// Checks what the standard demands of a bus whose ends are `length_nanos` apart.
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

/// Why there cannot be such a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// A signal goes to the far end and back in more than a slot: collisions could come late.
    RoundTrip {
        /// Nanoseconds from one end to the other and back.
        round_trip_nanos: u64,
        /// Nanoseconds of a slot.
        slot_nanos: u64,
    },
    /// The shortest frame could be over before its collision was noticed.
    ShortestFrame {
        /// Bits of the shortest frame, preamble included.
        shortest_bits: u64,
        /// Bits of a slot.
        slot_bits: u64,
    },
    /// Part 1 of the gap is longer than the gap, or no attempt is allowed.
    Timing,
    /// A place that is not on the cable.
    Position,
    /// A signal that does not move.
    Speed,
    /// Stations without room for a frame.
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
            Self::Position => f.write_str("a station's place is not on the cable"),
            Self::Speed => f.write_str("the signal's speed is not a positive number"),
            Self::Queue => f.write_str("stations have no room for a frame"),
        }
    }
}

impl core::error::Error for Invalid {}
