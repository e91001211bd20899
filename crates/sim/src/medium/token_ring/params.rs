//! What a token ring is like, and which rings there cannot be.
//!
//! Not modelled: what differs between the two kinds and is not a parameter here: how stations are
//! addressed, and how damaged frames are found.

use crate::medium::framing::data_octets;
use crate::medium::{PriorityOf, unprioritised};
use core::fmt;
use core::time::Duration;
use stack::profile::Framing;
use stack::station::Frame;
use wire::units::BitRate;

/// A signal in shielded twisted pair, in metres per second: two thirds of the speed of light.
pub const TWISTED_PAIR: f64 = 2.0e8;

/// What is sent on the ring, in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// The token.
    pub token_bits: u64,
    /// From a frame's first bit to the end of its source address, by which a station knows its own
    /// frame again.
    pub header_bits: u64,
    /// From a frame's first bit to the end of its reservation bits.
    pub reservation_bits: u64,
    /// All of a frame but its data.
    pub around_bits: u64,
}

impl Format {
    /// IEEE 802.5: the token is SD, AC and ED; a frame is SD, AC, FC, DA and SA, the data, FCS, ED
    /// and FS: 21 octets around the data.
    pub const IEEE_802_5: Self =
        Self { token_bits: 24, header_bits: 120, reservation_bits: 16, around_bits: 168 };

    /// ProNET-10: a frame is its begin (10 bits), two addresses of 8 bits, the data, its end (9
    /// bits), parity, and the refused bit. The token is taken to be as long as a frame's begin.
    pub const PRONET_10: Self =
        Self { token_bits: 10, header_bits: 26, reservation_bits: 26, around_bits: 37 };

    /// Bits of the frame that carries what this one carries: the data behind its 802.3 header.
    #[must_use]
    pub const fn frame_bits(&self, frame_octets: usize) -> u64 {
        self.around_bits.saturating_add((data_octets(frame_octets) as u64).saturating_mul(8))
    }
}

/// When a station that has sent its frames sends the token on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// When the header of the first of them has come round, and no sooner than the last is out.
    OwnHeader,
    /// As soon as the last is out: early token release.
    Early,
}

/// The priority in a frame's access control, for stations that make frames of 802.5.
#[must_use]
pub fn access_control(_station: usize, frame: &Frame) -> u8 {
    Framing::access_priority(frame)
}

/// What a token ring is like.
#[derive(Clone, Debug)]
pub struct Params {
    /// How fast it is.
    pub rate: BitRate,
    /// Where along the ring each station sits, in metres; the stations follow each other in this
    /// order, those of one place in the order of their numbers.
    pub positions_metres: Vec<f64>,
    /// All of the ring's cable, in metres, lobes included.
    pub length_metres: f64,
    /// How fast a signal travels, in metres per second.
    pub metres_per_second: f64,
    /// How many bits late each station repeats what it hears.
    pub station_latency_bits: u64,
    /// What one of the stations, the active monitor, adds so that the ring holds a token. It is the
    /// first along the ring.
    pub monitor_latency_bits: u64,
    /// What is sent on the ring.
    pub format: Format,
    /// When the token is sent on.
    pub release: Release,
    /// THT: how long a station may use the token. A frame that would take longer is not begun.
    pub token_holding_time: Duration,
    /// How many frames a station may send for each token; as many as THT allows if there is none.
    pub frames_per_token: Option<u32>,
    /// The most octets of data in a frame; longer ones are refused, and so are those that take
    /// longer than THT.
    pub maximum_data_octets: usize,
    /// How many stations there may be.
    pub maximum_stations: usize,
    /// How many frames a station may have waiting or on the ring; more are refused.
    pub queue_frames: usize,
    /// The priority of each frame; the medium's stations give it none themselves.
    pub priority_of: PriorityOf,
}

impl Params {
    /// IEEE 802.5 with `stations` at equal distances: each repeats a bit late, and the active
    /// monitor adds 24 bits. THT is 10 ms. The token goes on when the own header has returned.
    #[must_use]
    pub fn ieee_802_5(rate: BitRate, stations: usize, length_metres: f64) -> Self {
        let apart = length_metres / stations.max(1) as f64;
        Self {
            rate,
            positions_metres: (0..stations).map(|station| station as f64 * apart).collect(),
            length_metres,
            metres_per_second: TWISTED_PAIR,
            station_latency_bits: 1,
            monitor_latency_bits: 24,
            format: Format::IEEE_802_5,
            release: Release::OwnHeader,
            token_holding_time: Duration::from_millis(10),
            frames_per_token: None,
            maximum_data_octets: usize::MAX,
            maximum_stations: usize::MAX,
            queue_frames: 1_000,
            priority_of: unprioritised,
        }
    }

    /// ProNET-10 with `stations` at equal distances: 10 Mbit/s, at most 2,046 octets of data, one
    /// frame for each token, since the interface has one packet buffer. Assumed, for want of a
    /// source: that the token follows the frame at once, and every latency.
    #[must_use]
    pub fn pronet_10(stations: usize, length_metres: f64) -> Self {
        Self {
            format: Format::PRONET_10,
            release: Release::Early,
            monitor_latency_bits: Format::PRONET_10.token_bits,
            token_holding_time: Duration::MAX,
            frames_per_token: Some(1),
            maximum_data_octets: 2_046,
            // 8 bits of address, of which one value means everybody.
            maximum_stations: 255,
            ..Self::ieee_802_5(BitRate::mbps(10), stations, length_metres)
        }
    }

    /// Checks that there can be such a ring.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let speed = self.metres_per_second;
        if !(speed.is_finite() && speed > 0.0) {
            return Err(Invalid::Speed);
        }
        // What a year's light travels: beyond it, picoseconds would run over.
        let on_cable = |metres: &f64| (0.0..=1e16).contains(metres);
        if !on_cable(&self.length_metres) {
            return Err(Invalid::Length);
        }
        let on_ring = |metres: &f64| on_cable(metres) && *metres <= self.length_metres;
        if !self.positions_metres.iter().all(on_ring) {
            return Err(Invalid::Position);
        }
        if self.positions_metres.len() > self.maximum_stations {
            return Err(Invalid::Stations { at_most: self.maximum_stations });
        }
        if self.queue_frames == 0 {
            return Err(Invalid::Queue);
        }
        if self.frames_per_token == Some(0)
            || self.rate.bits(self.format.around_bits) > self.token_holding_time
        {
            return Err(Invalid::Holding);
        }
        Ok(())
    }
}

/// Why there cannot be such a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// The token would not fit: its first bit would come back before its last is out.
    Latency {
        /// Nanoseconds of the way round.
        round_nanos: u64,
        /// Nanoseconds of the token.
        token_nanos: u64,
    },
    /// A cable of no such length.
    Length,
    /// A place that is not on the ring.
    Position,
    /// A signal that does not move.
    Speed,
    /// More stations than there are addresses.
    Stations {
        /// How many there may be.
        at_most: usize,
    },
    /// No frame can be sent within THT, or with one token.
    Holding,
    /// Stations without room for a frame.
    Queue,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency { round_nanos, token_nanos } => write!(
                f,
                "the ring is too short: the way round takes {round_nanos} ns, the token \
                 {token_nanos} ns"
            ),
            Self::Length => f.write_str("the ring's length is not a number of metres"),
            Self::Position => f.write_str("a station's place is not on the ring"),
            Self::Speed => f.write_str("the signal's speed is not a positive number"),
            Self::Stations { at_most } => {
                write!(f, "the ring has addresses for {at_most} stations only")
            }
            Self::Holding => f.write_str("the token may not be held long enough for any frame"),
            Self::Queue => f.write_str("stations have no room for a frame"),
        }
    }
}

impl core::error::Error for Invalid {}
