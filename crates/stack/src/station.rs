//! What a medium sees of a station, simulated or live.

use crate::machine::Deadline;
use wire::addr::{Mac, Sap};
use wire::packet::Packet;
use wire::time::Instant;

/// A MAC frame from destination address to the end of its data, padding included where the MAC pads;
/// without preamble and FCS. Its first twelve octets are the destination and source address.
pub type Frame = Packet;

/// The destination address of a frame.
#[must_use]
pub fn destination(frame: &Frame) -> Option<Mac> {
    frame.first::<6>().map(Mac)
}

/// The source address of a frame.
#[must_use]
pub fn source(frame: &Frame) -> Option<Mac> {
    frame.first::<12>().map(|[_, _, _, _, _, _, a, b, c, d, e, f]| Mac([a, b, c, d, e, f]))
}

/// A station on a LAN: a stack of machines under some users, seen from the medium.
///
/// Driven like a machine: after each call, drain [`Station::poll`]; time never goes backwards; an early
/// [`Station::expire`] is harmless.
pub trait Station {
    /// Its address: the medium hands it frames for this address and for groups.
    fn addr(&self) -> Mac;
    /// A frame arrived whole: its FCS was right.
    fn receive(&mut self, now: Instant, frame: Frame);
    /// The time of [`Station::deadline`] has come, or may have.
    fn expire(&mut self, now: Instant);
    /// When it next wants [`Station::expire`] to be called, and why.
    fn deadline(&self) -> Option<Deadline>;
    /// The next frame it wants sent.
    fn poll(&mut self) -> Option<Frame>;
    /// MAC queue that a frame of this station waits in: its priority, 0 to 7, on a medium whose MAC has a
    /// queue for each; 0 on all others.
    fn queue_of(&self, _frame: &Frame) -> u8 {
        0
    }
    /// What became of a frame it gave to the medium: called once for each, when the medium is done with
    /// it. Frames of one MAC queue come in the order in which they were polled, but for those that the
    /// medium did not take.
    fn transmitted(&mut self, _now: Instant, _queue: u8, _outcome: Transmission) {}
    /// The next user data that has to cross to or from a front-end processor: only stations whose user
    /// and protocols are on different processors have any. Asked for after each call, like
    /// [`Station::poll`].
    fn crossing(&mut self) -> Option<Crossing> {
        None
    }
    /// User data from [`Station::crossing`] is on the other side.
    fn crossed(&mut self, _now: Instant, _crossing: Crossing) {}
    /// Whether its interface has a buffer for the next frame: where not, a ring refuses the frame
    /// on its behalf. Asked after each call.
    fn has_receive_buffer(&self) -> bool {
        true
    }
}

/// User data on its way between a user and the protocols that serve it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Crossing {
    /// Which one: later ones have higher numbers.
    pub number: u64,
    /// Which way it goes.
    pub way: Way,
    /// The service access point of the LLC service that carries it.
    pub sap: Sap,
    /// Its octets.
    pub octets: usize,
}

/// Which way user data goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Way {
    /// From the user down.
    Down,
    /// Up to the user.
    Up,
}

/// Queues of a station's MAC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MacQueues {
    /// One queue, first in, first out. A station that has messages of several priorities gives it one
    /// frame at a time, the most urgent first.
    One,
    /// One queue for each priority (IEEE 802.5, traffic classes of 802.1Q) or for two priorities each
    /// (access classes of IEEE 802.4). A station gives it every frame at once.
    ByPriority,
}

/// Priorities of a MAC: 0 to 7.
pub const PRIORITIES: usize = 8;

/// What became of a frame given to a medium.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Transmission {
    /// It went out whole.
    Sent,
    /// The MAC gave it up: 16 collisions, say.
    GivenUp,
    /// There was no room for it, or it was too long: it is the frame of its queue that was polled last.
    NotTaken,
    /// It went out whole and came back, but no interface that it was meant for had a buffer for it:
    /// recognised and not copied (802.5), or refused (ProNET-10).
    Refused,
}
