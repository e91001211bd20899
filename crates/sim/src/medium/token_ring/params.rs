//! Parameters of a token ring, and their validation.
//!
//! Not modelled: the differences between the two kinds that are not parameters here: addressing,
//! and the detection of damaged frames.

use crate::medium::framing::data_octets;
use crate::medium::{PriorityOf, unprioritised};
use core::fmt;
use core::time::Duration;
use stack::profile::Framing;
use stack::station::Frame;
use wire::units::BitRate;

/// Signal speed in shielded twisted pair, in metres per second: two thirds of the speed of light.
pub const TWISTED_PAIR: f64 = 2.0e8;

/// Frame and token formats of a ring, in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Token.
    pub token_bits: u64,
    /// From a frame's first bit to the end of its source address, by which a station recognises its
    /// own frame.
    pub header_bits: u64,
    /// From a frame's first bit to the end of its reservation bits.
    pub reservation_bits: u64,
    /// Frame without its data.
    pub around_bits: u64,
}

impl Format {
    /// IEEE 802.5. The token is SD, AC and ED; a frame is SD, AC, FC, DA and SA, the data, FCS, ED and
    /// FS: 21 octets around the data.
    pub const IEEE_802_5: Self =
        Self { token_bits: 24, header_bits: 120, reservation_bits: 16, around_bits: 168 };

    /// ProNET-10. A frame is its begin delimiter (10 bits), two addresses of 8 bits, the data, its
    /// end delimiter (9 bits), parity, and the refused bit. Assumed: the token is as long as a
    /// frame's begin delimiter.
    pub const PRONET_10: Self =
        Self { token_bits: 10, header_bits: 26, reservation_bits: 26, around_bits: 37 };

    /// Bits on the ring of a frame with the data of this one, which has an 802.3 header.
    #[must_use]
    pub const fn frame_bits(&self, frame_octets: usize) -> u64 {
        self.around_bits.saturating_add((data_octets(frame_octets) as u64).saturating_mul(8))
    }
}

/// Time at which a station that has sent its frames releases the token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// After the header of its first frame is back, and not before its last frame is out.
    OwnHeader,
    /// As soon as its last frame is out: early token release.
    Early,
}

/// Priority in a frame's access control, for stations that make frames of 802.5.
#[must_use]
pub fn access_control(_station: usize, frame: &Frame) -> u8 {
    Framing::access_priority(frame)
}

/// Parameters of a token ring.
#[derive(Clone, Debug)]
pub struct Params {
    /// Bit rate.
    pub rate: BitRate,
    /// Position of each station along the ring, in metres. The stations follow each other in this
    /// order; stations at one position follow in the order of their indices.
    pub positions_metres: Vec<f64>,
    /// Total cable of the ring, in metres, lobes included.
    pub length_metres: f64,
    /// Signal speed, in metres per second.
    pub metres_per_second: f64,
    /// Latency with which each station repeats the signal, in bits.
    pub station_latency_bits: u64,
    /// Latency in bits that the active monitor adds so that the ring holds a token. The monitor is
    /// the first station along the ring.
    pub monitor_latency_bits: u64,
    /// Frame and token formats.
    pub format: Format,
    /// Time of release of the token.
    pub release: Release,
    /// THT: maximum time for which a station may use the token. A frame that would take longer is
    /// not begun.
    pub token_holding_time: Duration,
    /// Maximum number of frames per token; if `None`, THT alone limits it.
    pub frames_per_token: Option<u32>,
    /// Maximum number of data octets in a frame. Longer frames are refused, and so are those that
    /// take longer than THT.
    pub maximum_data_octets: usize,
    /// Maximum number of stations.
    pub maximum_stations: usize,
    /// Maximum number of frames waiting or on the ring per station; further frames are refused.
    pub queue_frames: usize,
    /// Priority of each frame; the medium's stations assign none themselves.
    pub priority_of: PriorityOf,
}

impl Params {
    /// IEEE 802.5 with `stations` at equal distances: each has a latency of one bit, and the active
    /// monitor adds 24 bits. THT is 10 ms. The token is released when the station's own header has
    /// returned.
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

    /// ProNET-10 with `stations` at equal distances: 10 Mbit/s, at most 2,046 octets of data, and
    /// one frame per token, because the interface has one packet buffer. Assumed, for lack of a
    /// source: the token follows the frame at once, and every latency.
    #[must_use]
    pub fn pronet_10(stations: usize, length_metres: f64) -> Self {
        Self {
            format: Format::PRONET_10,
            release: Release::Early,
            monitor_latency_bits: Format::PRONET_10.token_bits,
            token_holding_time: Duration::MAX,
            frames_per_token: Some(1),
            maximum_data_octets: 2_046,
            // 8 bits of address, of which one value is the broadcast address.
            maximum_stations: 255,
            ..Self::ieee_802_5(BitRate::mbps(10), stations, length_metres)
        }
    }

    /// Checks the parameters.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let speed = self.metres_per_second;
        if !(speed.is_finite() && speed > 0.0) {
            return Err(Invalid::Speed);
        }
        // About a light-year; beyond it, times in picoseconds would overflow.
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

/// Reason why a ring is not allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// The token would not fit: its first bit would return before its last is out.
    Latency {
        /// Ring latency in nanoseconds.
        round_nanos: u64,
        /// Token in nanoseconds.
        token_nanos: u64,
    },
    /// The length of the cable is out of range.
    Length,
    /// A position is not on the ring.
    Position,
    /// The signal speed is not positive and finite.
    Speed,
    /// There are more stations than addresses.
    Stations {
        /// Maximum number of stations.
        at_most: usize,
    },
    /// No frame can be sent within THT, or with one token.
    Holding,
    /// Stations have no room for a frame.
    Queue,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency { round_nanos, token_nanos } => write!(
                f,
                "the ring is too short: its latency is {round_nanos} ns, the token takes \
                 {token_nanos} ns"
            ),
            Self::Length => f.write_str("the ring's length is not a number of metres"),
            Self::Position => f.write_str("a station's position is not on the ring"),
            Self::Speed => f.write_str("the signal speed is not a positive number"),
            Self::Stations { at_most } => {
                write!(f, "the ring has addresses for {at_most} stations only")
            }
            Self::Holding => f.write_str("the token holding time is too short for any frame"),
            Self::Queue => f.write_str("stations have no room for a frame"),
        }
    }
}

impl core::error::Error for Invalid {}
