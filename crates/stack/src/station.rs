//! Interface between a medium, simulated or live, and a station.

use crate::machine::Deadline;
use core::time::Duration;
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
    /// Next work that a layer requests of its machine; only for stations on a machine that takes
    /// time for it. Polled after each call, like [`Station::poll`].
    fn work(&mut self) -> Option<Work> {
        None
    }
    /// Reports that work from [`Station::work`] is done.
    fn worked(&mut self, _now: Instant, _work: Work) {}
    /// Reports that the station did not run for this time, because its process stood still: called before
    /// [`Station::expire`]. Silence of a peer in this time proves nothing, for the peer may have stood still with it.
    fn stood_still(&mut self, _for_time: Duration) {}
    /// Returns true if its interface has a buffer for the next frame; otherwise a ring refuses the
    /// frame on its behalf. Checked after each call.
    fn has_receive_buffer(&self) -> bool {
        true
    }
}

/// Work of a layer on one data unit. The station goes on with the data unit when it is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Work {
    /// Number, increasing.
    pub number: u64,
    /// Layer and kind.
    pub charge: Charge,
    /// Service access point of the LLC service that carries the data unit.
    pub sap: Sap,
    /// Length of the data unit in octets; for [`WorkKind::Access`], the number of values.
    pub octets: usize,
}

/// Layer and kind of work: the unit in which a machine charges time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Charge {
    /// Layer.
    pub at: WorkLayer,
    /// Kind.
    pub kind: WorkKind,
}

impl Charge {
    /// Message on its way from a user to its service, as between a host and a front end.
    pub const DOWN: Self = Self { at: WorkLayer::User, kind: WorkKind::Down };
    /// Message on its way from its service to a user.
    pub const UP: Self = Self { at: WorkLayer::User, kind: WorkKind::Up };
}

/// Layer that requests work. That of the link is charged by frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WorkLayer {
    /// User of the service.
    User,
    /// CASE.
    Case,
    /// MMS, with presentation and association control.
    Mms,
    /// Session.
    Session,
    /// Transport.
    Transport,
    /// Network.
    Network,
}

/// Kind of work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WorkKind {
    /// Data on its way down: at transport, a DT or ED.
    Down,
    /// Data on its way up.
    Up,
    /// At transport: a DT that does not end its TSDU, in addition to `Down`.
    Segment,
    /// At transport: an AK or EA that is sent.
    MakeAk,
    /// At transport: an AK or EA that arrived.
    TakeAk,
    /// At the user: notice that the service has taken a message.
    Confirm,
    /// PDU that opens a connection or an association.
    Open,
    /// PDU that ends one, or reports an error.
    Close,
    /// At an MMS server: each value that a read returns.
    Access,
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
