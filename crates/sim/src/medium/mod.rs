//! Media that carry frames between stations, with the MAC entities of those stations.
//!
//! A medium holds the MAC entities of all its stations, with their queues and the state that their
//! standard requires. It is driven like a machine: after each call, drain [`Medium::poll`]; time
//! never goes backwards; an early [`Medium::expire`] is harmless.
//!
//! Not modelled: each medium lists its own omissions.

pub mod csma_cd;
mod directory;
pub mod faulty;
pub mod framing;
pub mod ideal;
pub mod plca;
mod round_robin;
pub mod switched;
pub mod token_bus;
pub mod token_ring;
pub mod trace;

use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{Frame, Transmission};
use wire::addr::Mac;
use wire::time::Instant;

/// Medium with the MAC entities of its stations, which are numbered from 0.
pub trait Medium {
    /// Connects one MAC entity for each address, in this order. Called once, before all other
    /// methods.
    ///
    /// # Errors
    /// Fails if the medium was made for another number of stations.
    fn attach(&mut self, addresses: &[Mac]) -> Result<(), Misfit>;
    /// Queues a frame of `station` at its MAC entity.
    fn offer(&mut self, now: Instant, station: usize, frame: Frame);
    /// Handles the deadline of [`Medium::deadline`]; an early call is harmless.
    fn expire(&mut self, now: Instant);
    /// Next time at which [`Medium::expire`] must be called, and the timer's name.
    fn deadline(&self) -> Option<Deadline>;
    /// Returns the next event; `None` when all events have been returned.
    fn poll(&mut self) -> Option<Event>;
    /// Sets whether the interface of `station` has a buffer for the next frame from now on. A
    /// medium on which frames return to their sender reports frames that found no buffer; other
    /// media ignore this.
    fn set_receive_buffer(&mut self, _now: Instant, _station: usize, _has: bool) {}
    /// Sets whether there is an observer; initially there is. Without one, a medium may omit
    /// passages. Nothing else may depend on it.
    fn set_observed(&mut self, _is_observed: bool) {}

    /// Moves the observer to the stations that send: it sees each frame as it leaves its station, and not
    /// as it reaches another. Returns false, without effect, on a medium where these are one place.
    fn observe_senders(&mut self) -> bool {
        false
    }
    /// Place for a trace of who sends, collides or holds the token; initially there is none. A trace
    /// changes nothing else. `None` on a medium that keeps no traces.
    fn trace(&mut self) -> Option<&mut trace::Slot> {
        None
    }
    /// Adds to the trace what an unused token, or unused opportunities, did until `now`. It is called
    /// once, at the end.
    fn complete_trace(&mut self, _now: Instant) {}
    /// Calls `count` with the name and value of each counter of the run so far: `medium.sent`. Times
    /// are in nanoseconds, and their names end in `-ns`.
    fn counts(&self, count: &mut dyn FnMut(&str, u64));
}

/// Priority, 0 to 7, of a frame that this station sends. Higher numbers count as 7.
pub type PriorityOf = fn(station: usize, frame: &Frame) -> u8;

/// Priority function that gives every frame priority 0.
#[must_use]
pub const fn unprioritised(_station: usize, _frame: &Frame) -> u8 {
    0
}

/// Event on a medium.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A frame passes the observer, now or very soon. Passages come in the order of
    /// [`Passage::at`]. Except on a [`faulty::Faulty`] medium, each is followed directly by its
    /// deliveries.
    Passage(Passage),
    /// A frame reaches a station it is addressed to.
    Delivery(Delivery),
    /// The medium is done with the oldest frame in one of a station's MAC queues, or has refused
    /// the newest frame for that queue.
    Transmitted {
        /// Station that sent the frame.
        station: usize,
        /// MAC queue: the frame's priority if the MAC queues by priority, otherwise 0.
        queue: u8,
        /// Outcome of the transmission.
        outcome: Transmission,
    },
}

/// Frame as an ideal observer on the medium sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passage {
    /// Time at which the first bit, preamble included, reached the observer.
    pub started: Instant,
    /// Time at which the last bit reached the observer.
    pub at: Instant,
    /// Station that sent it.
    pub source: usize,
    /// Frame without the MAC's pad.
    pub frame: Frame,
    /// Effect of a bad path on the frame; [`Fate::Whole`] on a medium without faults.
    pub fate: Fate,
}

/// Frame that reaches a station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Time at which the last bit arrives: now or later.
    pub at: Instant,
    /// Receiving station.
    pub station: usize,
    /// Frame without the MAC's pad.
    pub frame: Frame,
}

/// Error: the medium was made for another number of stations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// Number of stations that the medium has places for.
    pub places: usize,
    /// Number of stations to attach.
    pub stations: usize,
}

impl core::fmt::Display for Misfit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the medium has places for {} stations, not {}", self.places, self.stations)
    }
}

impl core::error::Error for Misfit {}
