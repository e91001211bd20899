//! Ways onto a LAN, and what may be put around them.
//!
//! ```text
//!   Runner ─▶ Observed ─▶ Faulty ─▶ Paced ─▶ AfPacket | AfXdp | Udp | InProcess
//!             what the     faults    the      the wire
//!             station sees           governor
//! ```
//!
//! Every layer is a [`Port`], so that a station never knows which there are. The governor lies
//! beneath the faults: copies that the faults make are load as well.

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

pub use crate::socket::Wait;

use stack::station::{Frame, Transmission};
use std::io;
use wire::addr::Mac;
use wire::rendezvous;
use wire::time::Instant;
use wire::units::BitRate;

/// Who told when a frame arrived.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stamp {
    /// The kernel, when the frame reached the host's network stack.
    Kernel,
    /// This process: on a hub when the frame was sent, else when it was taken, later by the
    /// wake-up.
    User,
}

/// A frame that arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When, on the clock of [`crate::clock::now`].
    pub at: Instant,
    /// When the port handed it out, on the same clock: no earlier than any reading before.
    pub taken: Instant,
    /// Who says so.
    pub stamp: Stamp,
    /// The frame, without FCS.
    pub frame: Frame,
}

/// Whether a frame belongs to the rendezvous: an 802.3 frame with its SAP at both ends.
///
/// Such frames go past faults and queues. They are how the instrument is controlled, not what is
/// measured: a lost Alive must mean a lost peer.
#[must_use]
pub fn is_rendezvous(frame: &Frame) -> bool {
    let Some([.., high, low, destination, source]) = frame.first::<16>() else { return false };
    let is_length = u16::from_be_bytes([high, low]) <= 1_500;
    is_length && destination == rendezvous::SAP.0 && source == rendezvous::SAP.0
}

/// What a port has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Frames that went out.
    pub sent: u64,
    /// Frames that came in for this station.
    pub received: u64,
    /// Frames that were to go out and did not, since a queue was full.
    pub not_sent: u64,
    /// Frames that came in and were dropped, since a queue was full.
    pub overrun: u64,
    /// Octets that came in and are no frame of this LAN.
    pub foreign: u64,
}

/// Why a port cannot be opened, or no longer be used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// There is no interface of this name.
    #[error("no such interface: {0:?}")]
    NoSuchInterface(String),
    /// There is no network namespace of this name.
    #[error("no such network namespace: {0:?}")]
    NoSuchNamespace(String),
    /// The process may not do this.
    #[error("not permitted on {place}: {capability} is needed")]
    NotPermitted {
        /// Where.
        place: String,
        /// The capability that would allow it.
        capability: &'static str,
    },
    /// The interface has no AF_XDP.
    #[error("no AF_XDP on {interface}: {reason}")]
    NotForXdp {
        /// Which.
        interface: String,
        /// Why not.
        reason: String,
    },
    /// The interface is switched off, or was switched off or taken away meanwhile.
    #[error("interface {0} is down")]
    Down(String),
    /// An address that other hosts reach, where only this host was asked for.
    #[error("{0} is not a loopback address; other hosts must be allowed explicitly")]
    NotLoopback(core::net::SocketAddr),
    /// A frame longer than the port can carry.
    #[error("a frame of {octets} octets does not fit: {limit} at most")]
    TooLong {
        /// Its octets.
        octets: usize,
        /// The most there may be.
        limit: usize,
    },
    /// What goes out at one side of a relay comes in at the other by another way.
    #[error("{0} is on both sides of the relay; frames would go round")]
    Loop(String),
    /// The system said no.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl PortError {
    /// Turns what the system said while `doing` into an error.
    pub(crate) fn system(doing: &'static str) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::System { doing, source }
    }

    /// What the system said when something was opened that takes a capability.
    pub(crate) fn from_opening(place: &str, capability: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => {
                Self::NotPermitted { place: place.to_owned(), capability }
            }
            _ => Self::System { doing: "open a socket", source },
        }
    }
}

/// How many frames that are not for the station a port passes over once the time to wait is up.
pub const MOST_PASSED_OVER: u64 = 1_000;

/// A station's way onto a LAN.
pub trait Port: Send {
    /// What to call it: an interface's name, a socket's address.
    fn name(&self) -> &str;

    /// The address it takes frames for, beside groups.
    fn addr(&self) -> Mac;

    /// Hands a frame over. [`Transmission::GivenUp`] means that a queue was full and the frame is
    /// lost.
    ///
    /// # Errors
    /// [`PortError::TooLong`], or where the port can no longer be used.
    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError>;

    /// Whether [`Port::send_several`] is less work than as many calls of [`Port::send`]. Such a port holds
    /// no frame back.
    fn takes_several(&self) -> bool {
        false
    }

    /// Hands several frames over, in order, and adds what became of each.
    ///
    /// # Errors
    /// As [`Port::send`], for the first frame of which it is not said what became; none behind it is tried.
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

    /// The next frame for this station; waits for one until `until`, at the longest, and not at all
    /// where that is past: then `None` says that there is none. (So that a flood of frames for
    /// others does not hold up the station, at most [`MOST_PASSED_OVER`] are passed over once time
    /// is up.) Queues that hold back what was sent are served meanwhile.
    ///
    /// # Errors
    /// Where the port can no longer be used.
    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError>;

    /// The rate of the link, where one is known.
    fn link_rate(&self) -> Option<BitRate>;

    /// Whether nobody but this host can be harmed by load on it.
    fn is_unbounded(&self) -> bool;

    /// What it has done so far.
    fn counts(&self) -> Counts;

    /// How many frames it has taken and holds back: those it took last, and those among them that have
    /// overtaken others. What the system holds back is not known.
    fn held_back(&self) -> usize {
        0
    }

    /// When the first of them may go; it goes when the port is next asked for what has arrived.
    fn departs(&mut self) -> Option<Instant> {
        None
    }

    /// How many frames that it had held back have gone, or were thrown away, since this was asked last.
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
