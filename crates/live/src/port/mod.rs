//! Ports to a LAN, and the layers around them.
//!
//! ```text
//!   Runner ─▶ Observed ─▶ Faulty ─▶ Paced ─▶ AfPacket | AfXdp | Udp | InProcess
//!             what the     faults    the      the wire
//!             station sees           governor
//! ```
//!
//! Every layer is a [`Port`], so a station does not depend on the layers in use. The governor lies
//! beneath the faults, because copies made by faults are load as well.

mod af_packet;
mod af_xdp;
mod faulty;
mod governor;
mod in_process;
mod observed;
mod paced;
mod udp;

pub use af_packet::{AfPacket, AfPacketParams};
pub use af_xdp::{AfXdp, AfXdpParams};
pub use faulty::{Faulty, FaultyParams};
pub use governor::{Bucket, Governor, Verdict, default_limits};
pub use in_process::{Hub, HubTap, InProcess};
pub use observed::{Direction, Observed, Observer, Passing};
pub use paced::{Cap, Paced};
pub use udp::{Reach, Udp, UdpParams};

pub use crate::clock::Stamp;
pub use crate::socket::Wait;

use crate::hardware_clock::HardwareStamps;
use stack::station::{Frame, Transmission};
use std::io;
use wire::addr::Mac;
use wire::control;
use wire::time::Instant;
use wire::units::BitRate;

/// Frame that arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Arrival time, on the clock of [`crate::clock::now`].
    pub at: Instant,
    /// Time at which the port handed it out, on the same clock: not earlier than any reading
    /// before.
    pub taken: Instant,
    /// Source of the arrival time.
    pub stamp: Stamp,
    /// Frame without FCS.
    pub frame: Frame,
}

/// Returns whether a frame belongs to the control session: an 802.3 frame with its SAP at both
/// ends.
///
/// Such frames bypass faults and queues. They control the instrument and are not measured: a lost
/// Alive must mean a lost peer.
#[must_use]
pub fn is_rendezvous(frame: &Frame) -> bool {
    let Some([.., high, low, destination, source]) = frame.first::<16>() else { return false };
    let is_length = u16::from_be_bytes([high, low]) <= 1_500;
    is_length && destination == control::SAP.0 && source == control::SAP.0
}

/// Counters of a port so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Frames sent.
    pub sent: u64,
    /// Frames received for this station.
    pub received: u64,
    /// Frames not sent because a queue was full.
    pub not_sent: u64,
    /// Received frames dropped because a queue was full.
    pub overrun: u64,
    /// Received frames or datagrams that are no frame of this LAN.
    pub foreign: u64,
}

/// Error that prevents a port from being opened, or from being used further.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// There is no interface of this name.
    #[error("no such interface: {0:?}")]
    NoSuchInterface(String),
    /// There is no network namespace of this name.
    #[error("no such network namespace: {0:?}")]
    NoSuchNamespace(String),
    /// The interface does not stamp the frames that it receives.
    #[error("no hardware stamps on {interface}: {why}")]
    NoHardwareStamps {
        /// Interface.
        interface: String,
        /// Reason.
        why: HardwareStamps,
    },
    /// The clock with which the interface stamps frames cannot be read.
    #[error("the clock of {interface}, /dev/ptp{clock}, cannot be read: {source}")]
    HardwareClock {
        /// Interface.
        interface: String,
        /// Number of the clock.
        clock: u32,
        /// The system's error.
        source: io::Error,
    },
    /// The process lacks a capability.
    #[error("not permitted on {place}: {capability} is needed")]
    NotPermitted {
        /// Interface or namespace.
        place: String,
        /// Missing capability.
        capability: &'static str,
    },
    /// AF_XDP cannot be used on the interface.
    #[error("no AF_XDP on {interface}: {reason}")]
    NotForXdp {
        /// Interface.
        interface: String,
        /// Reason.
        reason: String,
    },
    /// The interface is down, was switched off, or was removed meanwhile.
    #[error("interface {0} is down")]
    Down(String),
    /// An address that other hosts reach, although only this host was allowed.
    #[error("{0} is not a loopback address; other hosts must be allowed explicitly")]
    NotLoopback(core::net::SocketAddr),
    /// A frame longer than the port can carry.
    #[error("a frame of {octets} octets does not fit: {limit} at most")]
    TooLong {
        /// Length of the frame in octets.
        octets: usize,
        /// Maximum length in octets.
        limit: usize,
    },
    /// The two sides of a relay are connected by another path.
    #[error("{0} is on both sides of the relay; frames would loop")]
    Loop(String),
    /// System error.
    #[error("cannot {doing}: {source}")]
    System {
        /// Operation that failed.
        doing: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

impl PortError {
    /// Wraps a system error that occurred while `doing`.
    pub(crate) fn system(doing: &'static str) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::System { doing, source }
    }

    /// Wraps a system error from opening something that requires a capability.
    pub(crate) fn from_opening(place: &str, capability: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => {
                Self::NotPermitted { place: place.to_owned(), capability }
            }
            _ => Self::System { doing: "open a socket", source },
        }
    }
}

/// Maximum number of frames for other stations that a port skips once the time to wait is over.
pub const MOST_PASSED_OVER: u64 = 1_000;

/// Station's access to a LAN.
pub trait Port: Send {
    /// Display name: an interface's name, or a socket's address.
    fn name(&self) -> &str;

    /// Address for which it accepts frames, in addition to groups.
    fn addr(&self) -> Mac;

    /// Hands a frame over. [`Transmission::GivenUp`] means that a queue was full and the frame is
    /// lost.
    ///
    /// # Errors
    /// [`PortError::TooLong`], or an error if the port can no longer be used.
    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError>;

    /// Returns whether [`Port::send_several`] is cheaper than the same number of calls of
    /// [`Port::send`]. Such a port holds no frame back.
    fn takes_several(&self) -> bool {
        false
    }

    /// Hands several frames over, in order, and appends the outcome of each.
    ///
    /// # Errors
    /// Those of [`Port::send`], for the first frame without an outcome; later frames are not tried.
    fn send_several(
        &mut self,
        frames: &[Frame],
        outcomes: &mut Vec<Transmission>,
    ) -> Result<(), PortError> {
        for frame in frames {
            outcomes.push(self.send(frame)?);
        }
        Ok(())
    }

    /// Returns the next frame for this station, or `None` if there is none by `until`; a time in
    /// the past does not wait. At most [`MOST_PASSED_OVER`] frames for other stations are skipped
    /// once the time is over, so that a flood of them does not hold up the station. Frames held
    /// back are sent meanwhile.
    ///
    /// # Errors
    /// Fails if the port can no longer be used.
    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError>;

    /// Returns true if it receives frames with an EtherType, or does so after [`Port::follow`].
    fn takes_typed(&self) -> bool {
        true
    }

    /// From now on receives the frames with an EtherType of this station too, also to groups; with `None`
    /// those of no station. Without effect on a port that receives all of them anyway.
    ///
    /// # Errors
    /// The system's error.
    fn follow(&mut self, _station: Option<Mac>) -> Result<(), PortError> {
        Ok(())
    }

    /// Bit rate of the link, if known.
    fn link_rate(&self) -> Option<BitRate>;

    /// Returns whether load on the port can affect this host only.
    fn is_unbounded(&self) -> bool;

    /// Counters so far.
    fn counts(&self) -> Counts;

    /// Number of frames that it has accepted and holds back: the newest ones, including those that
    /// overtook others. Frames held back by the system are not counted.
    fn held_back(&self) -> usize {
        0
    }

    /// Time at which the first of them may leave; it leaves at the next call of [`Port::receive`].
    fn departs(&mut self) -> Option<Instant> {
        None
    }

    /// Number of frames held back that have left, or were discarded, since the last call.
    fn departed(&mut self) -> usize {
        0
    }
}

impl Port for Box<dyn Port> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn addr(&self) -> Mac {
        (**self).addr()
    }

    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        (**self).send(frame)
    }

    fn takes_several(&self) -> bool {
        (**self).takes_several()
    }

    fn send_several(
        &mut self,
        frames: &[Frame],
        outcomes: &mut Vec<Transmission>,
    ) -> Result<(), PortError> {
        (**self).send_several(frames, outcomes)
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        (**self).receive(until)
    }

    fn takes_typed(&self) -> bool {
        (**self).takes_typed()
    }

    fn follow(&mut self, station: Option<Mac>) -> Result<(), PortError> {
        (**self).follow(station)
    }

    fn link_rate(&self) -> Option<BitRate> {
        (**self).link_rate()
    }

    fn is_unbounded(&self) -> bool {
        (**self).is_unbounded()
    }

    fn counts(&self) -> Counts {
        (**self).counts()
    }

    fn held_back(&self) -> usize {
        (**self).held_back()
    }

    fn departs(&mut self) -> Option<Instant> {
        (**self).departs()
    }

    fn departed(&mut self) -> usize {
        (**self).departed()
    }
}
