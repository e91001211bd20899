//! Interface between a medium, simulated or live, and a station.

use crate::machine::Deadline;
use wire::addr::{Mac, Sap};
use wire::packet::Packet;
use wire::time::Instant;

/// MAC frame from destination address to the end of its data, including padding on MACs that pad;
/// without preamble and FCS. Its first twelve octets are the destination and source address.
pub type Frame = Packet;

/// Destination address of a frame.
#[must_use]
pub fn destination(frame: &Frame) -> Option<Mac> {
    frame.first::<6>().map(Mac)
}

/// Source address of a frame.
#[must_use]
pub fn source(frame: &Frame) -> Option<Mac> {
    frame.first::<12>().map(|[_, _, _, _, _, _, a, b, c, d, e, f]| Mac([a, b, c, d, e, f]))
}

/// Station on a LAN: a stack of machines and users, from the point of view of the medium.
///
/// It is driven like a machine: after each call, drain [`Station::poll`]; time never goes
/// backwards; an early [`Station::expire`] is harmless.
pub trait Station {
    /// MAC address: the medium delivers frames for this address and for groups.
    fn addr(&self) -> Mac;
    /// Processes a frame received with a correct FCS.
    fn receive(&mut self, now: Instant, frame: Frame);
    /// Processes expired timers; called at or after [`Station::deadline`].
    fn expire(&mut self, now: Instant);
    /// Time and timer of the next call of [`Station::expire`].
    fn deadline(&self) -> Option<Deadline>;
    /// Next frame to be transmitted.
    fn poll(&mut self) -> Option<Frame>;
    /// MAC queue of a frame of this station: its priority, 0 to 7, if the MAC has a queue for each;
    /// otherwise 0.
    fn queue_of(&self, _frame: &Frame) -> u8 {
        0
    }
    /// Reports the fate of a frame: called once per frame, when the medium has finished with it.
    /// Frames of one MAC queue are reported in the order in which they were polled, except for
    /// those that the medium did not accept.
    fn transmitted(&mut self, _now: Instant, _queue: u8, _outcome: Transmission) {}
    /// Next user data to cross to or from a front-end processor; only for stations whose users and
    /// protocols run on different processors. Polled after each call, like [`Station::poll`].
    fn crossing(&mut self) -> Option<Crossing> {
        None
    }
    /// Reports that user data from [`Station::crossing`] has arrived on the other side.
    fn crossed(&mut self, _now: Instant, _crossing: Crossing) {}
    /// Returns true if its interface has a buffer for the next frame; otherwise a ring refuses the
    /// frame on its behalf. Checked after each call.
    fn has_receive_buffer(&self) -> bool {
        true
    }
}

/// Transfer of user data between a user and its protocols.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Crossing {
    /// Number of the transfer, increasing.
    pub number: u64,
    /// Direction of the transfer.
    pub way: Way,
    /// Service access point of the LLC service that carries it.
    pub sap: Sap,
    /// Length in octets.
    pub octets: usize,
}

/// Direction of user data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Way {
    /// From the user down to the protocols.
    Down,
    /// From the protocols up to the user.
    Up,
}

/// Queues of a station's MAC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MacQueues {
    /// One queue, first in, first out. A station with messages of several priorities passes it one
    /// frame at a time, the most urgent first.
    One,
    /// One queue for each priority (IEEE 802.5, traffic classes of 802.1Q), or for each two
    /// priorities (access classes of IEEE 802.4). A station passes it every frame at once.
    ByPriority,
}

/// Number of MAC priorities: 0 to 7.
pub const PRIORITIES: usize = 8;

/// Fate of a frame passed to a medium.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Transmission {
    /// It was transmitted completely.
    Sent,
    /// The MAC dropped it, for example after 16 collisions.
    GivenUp,
    /// It was not accepted for lack of room, or because it was too long. It is the frame of its
    /// queue that was polled last.
    NotTaken,
    /// It was transmitted completely and returned, but no addressed interface had a buffer for it:
    /// recognised and not copied (802.5), or refused (ProNET-10).
    Refused,
}
