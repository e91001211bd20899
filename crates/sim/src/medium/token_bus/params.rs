//! Parameters of a token bus, and their validation.
//!
//! Not modelled: line coding; a broadband bus differs from a carrierband one only in its path by
//! the head end.

use super::{Change, Kind, Maintenance};
use crate::medium::{PriorityOf, unprioritised};
use core::fmt;
use core::time::Duration;
use stack::profile::Framing;
use stack::station::Frame;
use wire::units::BitRate;

/// Signal speed in coaxial cable, in metres per second: two thirds of the speed of light.
pub const COAX: f64 = 2.0e8;
/// Octets of a frame other than preamble and data: SD, FC, two addresses of 6 octets, FCS, ED.
const FIELDS_OCTETS: u64 = 1 + 1 + 12 + 4 + 1;
/// Octets of the address in set_successor and who_follows.
pub(super) const ADDRESS_OCTETS: usize = 6;
/// Minimum duration of the preamble.
const PREAMBLE: Duration = Duration::from_micros(2);
/// Maximum slot time, in octets: 13 bits.
const MOST_SLOT_OCTETS: u128 = 8_191;
/// Maximum data octets: FC to FCS may have 8,191 octets, of which 17 are not data (IEEE 802.4; RFC
/// 1042).
const MAXIMUM_DATA_OCTETS: usize = 8_191 - 17;

/// Parameters of a token bus.
#[derive(Clone, Debug)]
pub struct Params {
    /// Bit rate: 1, 5 or 10 Mbit/s in the standard.
    pub rate: BitRate,
    /// Position of each station along the cable, in metres.
    pub positions_metres: Vec<f64>,
    /// Signal speed, in metres per second.
    pub metres_per_second: f64,
    /// Head end that relays all signals on a broadband bus; `None` on a carrierband bus.
    pub head_end: Option<HeadEnd>,
    /// Delay from the last bit of a received token to the first bit sent.
    pub station_delay: Duration,
    /// Service of the classes while a station holds the token.
    pub service: Service,
    /// LLC priority of each frame. Two priorities make an access class: 7 and 6 belong to class 6.
    /// Without classes a station sends the frames of the highest priority first.
    pub priority_of: PriorityOf,
    /// Maximum number of data octets in a frame; longer frames are refused.
    pub maximum_data_octets: usize,
    /// Maximum number of frames waiting per station, in all classes together; further frames are
    /// refused.
    pub queue_frames: usize,
    /// Admission of stations to the ring; none if `None`.
    pub maintenance: Option<Maintenance>,
    /// Maximum number of repetitions of a request whose response does not come, at most
    /// [`super::MOST_RETRIES`]. If `None`, all frames are without response.
    pub request_with_response: Option<u32>,
    /// Changes of stations during the run.
    pub changes: Vec<Change>,
}

/// Head end, which receives on one channel of a broadband cable and sends on the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HeadEnd {
    /// Position along the cable, in metres.
    pub position_metres: f64,
    /// Delay from reception to retransmission.
    pub delay: Duration,
}

/// Rules for the frames that the holder of the token may send, and their time limits.
#[derive(Clone, Copy, Debug)]
pub enum Service {
    /// Without the priority option: all frames belong to class 6, and a station sends them by
    /// priority. A frame may begin while the token has been held for less than this time, and is
    /// then completed.
    HoldingTime(Duration),
    /// The priority option: four access classes.
    Classes {
        /// Time for which class 6 may begin frames.
        holding_time: Duration,
        /// Target rotation times of classes 4, 2 and 0. Each may begin frames while less than this
        /// has passed since its previous service.
        target_rotation_times: [Duration; 3],
    },
}

/// Priority in a frame's FC, for stations that make frames of 802.4.
#[must_use]
pub fn frame_control(_station: usize, frame: &Frame) -> u8 {
    Framing::data_priority(frame)
}

impl Params {
    /// Carrierband bus with `stations` at equal distances from end to end, without the priority
    /// option. The station delay of four octet times is an assumption.
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

    /// Octets of preamble: at least one, and at least 2 us.
    #[must_use]
    pub fn preamble_octets(&self) -> u64 {
        let bits = PREAMBLE.as_nanos() * u128::from(self.rate.bits_per_second());
        u64::try_from(bits.div_ceil(8 * 1_000_000_000)).unwrap_or(u64::MAX).max(1)
    }

    /// Bits of a frame with `data_octets` of data, preamble included. A token has no data.
    #[must_use]
    pub fn frame_bits(&self, data_octets: usize) -> u64 {
        let around = self.preamble_octets().saturating_add(FIELDS_OCTETS);
        around.saturating_add(data_octets as u64).saturating_mul(8)
    }

    /// Slot time, for which a demander listens for a response: twice the longest propagation and a
    /// station's delay, rounded up to whole octets as the standard requires (slot_time), without
    /// its safety margin.
    #[must_use]
    pub fn slot_time(&self) -> Duration {
        let there = self.longest_way().saturating_add(self.station_delay);
        let octet = self.octet_nanos();
        let nanos = (2 * there.as_nanos()).div_ceil(octet) * octet;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Duration of an octet, rounded up to a nanosecond.
    fn octet_nanos(&self) -> u128 {
        8_000_000_000_u128.div_ceil(u128::from(self.rate.bits_per_second()).max(1))
    }

    /// Checks the parameters.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let speed = self.metres_per_second;
        if !(speed.is_finite() && speed > 0.0) {
            return Err(Invalid::Speed);
        }
        // About a light-year; beyond it, times in picoseconds would overflow.
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
        // A class 0 with target 0 would never be served; that choice is left to the user.
        if holding_time.is_zero() {
            return Err(Invalid::Holding);
        }
        Ok(())
    }
}

/// Reason why a bus is not allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// A position is not on the cable.
    Position,
    /// The signal speed is not positive and finite.
    Speed,
    /// No frame of class 6 could ever begin.
    Holding,
    /// The slot time, twice the longest propagation and a station's delay, exceeds the standard's
    /// counter.
    Slot {
        /// Slot time in octets.
        octets: u128,
    },
    /// The number of repetitions of a request exceeds the standard's counter.
    Retries,
    /// Stations have no room for a frame.
    Queue,
    /// Stations request membership, but no station opens windows.
    Windows,
    /// A change names a station that does not exist.
    Station,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slot { octets } => {
                return write!(
                    f,
                    "the slot time, twice the longest propagation and station delay, is {octets} \
                     octets; the maximum is {MOST_SLOT_OCTETS}"
                );
            }
            Self::Position => "a position on the cable is not a number of metres from its end",
            Self::Speed => "the signal speed is not a positive number",
            Self::Holding => "the token holding time is too short for any frame",
            Self::Retries => "a request may be repeated at most 7 times",
            Self::Windows => "stations request to join, but no station opens a window",
            Self::Station => "a change names a station that does not exist",
            Self::Queue => "stations have no room for a frame",
        })
    }
}

impl core::error::Error for Invalid {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_adds_22_octets_to_its_data_fewer_at_lower_rates() {
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
        // 655 km there and back take 6,550 us, and 8 octets of delay 6.4 us: 8,196 octets of 800
        // ns.
        assert_eq!(bad(|bus| bus.positions_metres[1] = 655_000.0), Invalid::Slot { octets: 8_196 });
        let head_end = HeadEnd { position_metres: f64::NAN, delay: Duration::ZERO };
        let params = Params { head_end: Some(head_end), ..good.clone() };
        assert_eq!(params.check(), Err(Invalid::Position));
    }
}
