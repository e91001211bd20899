//! What a token bus is like, and which buses there cannot be.
//!
//! Not modelled: how bits become signals; a broadband bus differs from a carrierband one in its way
//! by the head end alone.

use super::{Change, Kind, Maintenance};
use crate::medium::{PriorityOf, unprioritised};
use core::fmt;
use core::time::Duration;
use stack::profile::Framing;
use stack::station::Frame;
use wire::units::BitRate;

/// A signal in coaxial cable, in metres per second: two thirds of the speed of light.
pub const COAX: f64 = 2.0e8;
/// Octets of a frame beside preamble and data: SD, FC, two addresses of 6 octets, FCS, ED.
const FIELDS_OCTETS: u64 = 1 + 1 + 12 + 4 + 1;
/// Octets of the address that set_successor and who_follows carry.
pub(super) const ADDRESS_OCTETS: usize = 6;
/// The shortest preamble.
const PREAMBLE: Duration = Duration::from_micros(2);
/// The longest slot time, in octets: 13 bits.
const MOST_SLOT_OCTETS: u128 = 8_191;
/// FC to FCS may have 8,191 octets, of which 17 are not data (IEEE 802.4; RFC 1042).
const MAXIMUM_DATA_OCTETS: usize = 8_191 - 17;

/// What a token bus is like.
#[derive(Clone, Debug)]
pub struct Params {
    /// How fast it is: 1, 5 or 10 Mbit/s in the standard.
    pub rate: BitRate,
    /// Where along the cable each station sits, in metres.
    pub positions_metres: Vec<f64>,
    /// How fast a signal travels, in metres per second.
    pub metres_per_second: f64,
    /// Through what signals pass on a broadband bus; on a carrierband bus they go the direct way.
    pub head_end: Option<HeadEnd>,
    /// From the last bit of a token that a station hears to the first that it sends.
    pub station_delay: Duration,
    /// Which frames a station may send when it has the token.
    pub service: Service,
    /// LLC priority of each frame. Two priorities make an access class: 7 and 6 are of class 6. Without
    /// classes a station sends the frames of the highest priority first.
    pub priority_of: PriorityOf,
    /// The most octets of data in a frame; longer ones are refused.
    pub maximum_data_octets: usize,
    /// How many frames a station may have waiting, its classes together; more are refused.
    pub queue_frames: usize,
    /// How stations let others into the ring; never if not given.
    pub maintenance: Option<Maintenance>,
    /// Whether frames may ask for a response at once, and how often such a request may be sent again
    /// where none comes: at most [`super::MOST_RETRIES`]. If not given, all frames are without response.
    pub request_with_response: Option<u32>,
    /// What befalls stations.
    pub changes: Vec<Change>,
}

/// What receives on one channel of a broadband cable and sends on the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HeadEnd {
    /// Where along the cable it is, in metres.
    pub position_metres: f64,
    /// How much later it sends what it hears.
    pub delay: Duration,
}

/// Which frames a station may send when it has the token, and for how long.
#[derive(Clone, Copy, Debug)]
pub enum Service {
    /// Without the priority option: all frames are of class 6, and a station sends them by priority. A
    /// frame is begun while the token has not been held for this long, and then finished.
    HoldingTime(Duration),
    /// The priority option: four access classes.
    Classes {
        /// How long class 6 may begin frames.
        holding_time: Duration,
        /// The target rotation times of the classes 4, 2 and 0: each may begin frames for as long
        /// as less than this has passed since it was served the time before.
        target_rotation_times: [Duration; 3],
    },
}

/// The priority in a frame's FC, for stations that make frames of 802.4.
#[must_use]
pub fn frame_control(_station: usize, frame: &Frame) -> u8 {
    Framing::data_priority(frame)
}

impl Params {
    /// A carrierband bus with `stations` at equal distances from end to end, without the priority
    /// option. Its stations take four octet times to send after what they hear, which is an assumption.
    #[must_use]
    pub fn carrierband(rate: BitRate, stations: usize, length_metres: f64) -> Self {
        let apart = length_metres / stations.saturating_sub(1).max(1) as f64;
        Self {
            rate,
            positions_metres: (0..stations).map(|station| station as f64 * apart).collect(),
            metres_per_second: COAX,
            head_end: None,
            station_delay: rate.bits(32),
            service: Service::HoldingTime(Duration::from_millis(10)),
            priority_of: unprioritised,
            maximum_data_octets: MAXIMUM_DATA_OCTETS,
            queue_frames: 1_000,
            maintenance: None,
            request_with_response: None,
            changes: Vec::new(),
        }
    }

    /// Octets of preamble: no less than one, and no less than 2 us.
    #[must_use]
    pub fn preamble_octets(&self) -> u64 {
        let bits = PREAMBLE.as_nanos() * u128::from(self.rate.bits_per_second());
        u64::try_from(bits.div_ceil(8 * 1_000_000_000)).unwrap_or(u64::MAX).max(1)
    }

    /// Bits of a frame with so many octets of data, preamble included: a token has none.
    #[must_use]
    pub fn frame_bits(&self, data_octets: usize) -> u64 {
        let around = self.preamble_octets().saturating_add(FIELDS_OCTETS);
        around.saturating_add(data_octets as u64).saturating_mul(8)
    }

    /// How long who asks listens for an answer: the way and a station's delay twice, rounded up to whole
    /// octets as the standard has it (slot_time), without its safety margin.
    #[must_use]
    pub fn slot_time(&self) -> Duration {
        let there = self.longest_way().saturating_add(self.station_delay);
        let octet = self.octet_nanos();
        let nanos = (2 * there.as_nanos()).div_ceil(octet) * octet;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How long an octet lasts, rounded up to a nanosecond.
    fn octet_nanos(&self) -> u128 {
        8_000_000_000_u128.div_ceil(u128::from(self.rate.bits_per_second()).max(1))
    }

    /// Checks that there can be such a bus.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let speed = self.metres_per_second;
        if !(speed.is_finite() && speed > 0.0) {
            return Err(Invalid::Speed);
        }
        // What a year's light travels: beyond it, picoseconds would run over.
        let on_cable = |metres: &f64| (0.0..=1e16).contains(metres);
        let head_end = self.head_end.iter().map(|head_end| &head_end.position_metres);
        if !self.positions_metres.iter().chain(head_end).all(on_cable) {
            return Err(Invalid::Position);
        }
        let octets = self.slot_time().as_nanos() / self.octet_nanos();
        if octets > MOST_SLOT_OCTETS {
            return Err(Invalid::Slot { octets });
        }
        let maintained = self.maintenance.map(|it| it.tokens_between_windows);
        let joins = self.changes.iter().any(|change| change.kind == Kind::Join);
        if maintained == Some(0) || maintained.is_none() && joins {
            return Err(Invalid::Windows);
        }
        if self.changes.iter().any(|change| change.station >= self.positions_metres.len()) {
            return Err(Invalid::Station);
        }
        if self.request_with_response.is_some_and(|retries| retries > super::MOST_RETRIES) {
            return Err(Invalid::Retries);
        }
        if self.queue_frames == 0 {
            return Err(Invalid::Queue);
        }
        let holding_time = match self.service {
            Service::HoldingTime(holding_time) | Service::Classes { holding_time, .. } => {
                holding_time
            }
        };
        // A class 0 whose target is none would never be served; that is for the user to choose.
        if holding_time.is_zero() {
            return Err(Invalid::Holding);
        }
        Ok(())
    }
}

/// Why there cannot be such a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// A place that is not on the cable.
    Position,
    /// A signal that does not move.
    Speed,
    /// No frame of class 6 may ever be begun.
    Holding,
    /// A slot time, which has the longest way and a station's delay in it twice, that is longer than the
    /// standard counts.
    Slot {
        /// In octets.
        octets: u128,
    },
    /// A request that is sent again more often than the standard's counter counts.
    Retries,
    /// Stations without room for a frame.
    Queue,
    /// Stations that nobody ever lets into the ring.
    Windows,
    /// A change of a station that is not there.
    Station,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slot { octets } => {
                return write!(
                    f,
                    "a slot, the longest way and the station's delay twice, has {octets} octets; \
                     {MOST_SLOT_OCTETS} are the most"
                );
            }
            Self::Position => "a place on the cable is not a number of metres from its end",
            Self::Speed => "the signal's speed is not a positive number",
            Self::Holding => "the token may not be held long enough for any frame",
            Self::Retries => "a request is sent again at most 7 times",
            Self::Windows => "nobody ever opens a window for stations that want to enter",
            Self::Station => "something befalls a station that is not there",
            Self::Queue => "stations have no room for a frame",
        })
    }
}

impl core::error::Error for Invalid {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_22_octets_beside_its_data_and_fewer_where_the_preamble_is_shorter() {
        let bus = |mbps| Params::carrierband(BitRate::mbps(mbps), 2, 0.0);
        // 2 us are 20 bits, 10 bits and 2 bits.
        assert_eq!([bus(10), bus(5), bus(1)].map(|bus| bus.preamble_octets()), [3, 2, 1]);
        assert_eq!([bus(10), bus(5), bus(1)].map(|bus| bus.frame_bits(0)), [176, 168, 160]);
        assert_eq!(bus(10).frame_bits(1_000), 8 * 1_022);
    }

    #[test]
    fn a_bus_that_cannot_be_is_refused() {
        let good = Params::carrierband(BitRate::mbps(10), 2, 100.0);
        assert_eq!(good.check(), Ok(()));
        let bad = |change: fn(&mut Params)| {
            let mut params = good.clone();
            change(&mut params);
            params.check().unwrap_err()
        };
        assert_eq!(bad(|bus| bus.metres_per_second = 0.0), Invalid::Speed);
        assert_eq!(bad(|bus| bus.positions_metres[1] = -1.0), Invalid::Position);
        assert_eq!(bad(|bus| bus.queue_frames = 0), Invalid::Queue);
        assert_eq!(bad(|bus| bus.service = Service::HoldingTime(Duration::ZERO)), Invalid::Holding);
        // 655 km there and back are 6,550 us, and 8 octets of delay 6.4 us: 8,196 octets of 800 ns.
        assert_eq!(bad(|bus| bus.positions_metres[1] = 655_000.0), Invalid::Slot { octets: 8_196 });
        let head_end = HeadEnd { position_metres: f64::NAN, delay: Duration::ZERO };
        let params = Params { head_end: Some(head_end), ..good.clone() };
        assert_eq!(params.check(), Err(Invalid::Position));
    }
}
