//! What carries frames between stations, and the MAC entities at its ends.
//!
//! A medium holds the MAC entities of all its stations: their queues, and whatever their standard
//! makes them keep. It is driven like a machine: after each call, drain [`Medium::poll`]; time
//! never goes backwards; an early [`Medium::expire`] is harmless.
//!
//! Not modelled: here nothing; each medium says for itself what it leaves out.

pub mod csma_cd;
mod directory;
pub mod faulty;
pub mod framing;
pub mod ideal;
pub mod plca;
mod rotation;
pub mod switched;
pub mod token_bus;
pub mod token_ring;

use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{Frame, Transmission};
use wire::addr::Mac;
use wire::time::Instant;

/// A medium with the MAC entities of the stations on it, which are numbered from 0.
pub trait Medium {
    /// Connects one MAC entity for each address, in this order: called once, before all else.
    ///
    /// # Errors
    /// Where the medium was made for another number of stations.
    fn attach(&mut self, addresses: &[Mac]) -> Result<(), Misfit>;
    /// A station hands its MAC entity a frame to send.
    fn offer(&mut self, now: Instant, station: usize, frame: Frame);
    /// The time of [`Medium::deadline`] has come, or may have.
    fn expire(&mut self, now: Instant);
    /// When it next wants [`Medium::expire`] to be called, and why.
    fn deadline(&self) -> Option<Deadline>;
    /// What happened on it; `None` once it has told everything.
    fn poll(&mut self) -> Option<Event>;
    /// Whether the station's interface has a buffer for the next frame, from now on: a medium on
    /// which frames come back tells their senders of those that found none. On others it does not
    /// matter.
    fn set_receive_buffer(&mut self, _now: Instant, _station: usize, _has: bool) {}
    /// Whether there is an observer, as there is at first: without one a medium need not tell of
    /// passages. Nothing else may depend on it.
    fn set_observed(&mut self, _is_observed: bool) {}
}

/// The priority, 0 to 7, of a frame that this station sends. Higher numbers count as 7.
pub type PriorityOf = fn(station: usize, frame: &Frame) -> u8;

/// Every frame has priority 0.
#[must_use]
pub const fn unprioritised(_station: usize, _frame: &Frame) -> u8 {
    0
}

/// What happened on a medium.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A frame passes the observer, now or very soon. Passages come in the order of
    /// [`Passage::at`], and each is followed directly by its deliveries, but for those of a
    /// [`faulty::Faulty`] medium.
    Passage(Passage),
    /// A frame reaches a station it is meant for.
    Delivery(Delivery),
    /// The medium is done with the oldest frame in one of a station's MAC queues, or has refused the
    /// newest one for it.
    Transmitted {
        /// The station that gave it.
        station: usize,
        /// The queue: the frame's priority where the MAC queues by priority, and 0 else.
        queue: u8,
        /// What became of it.
        outcome: Transmission,
    },
}

/// A frame as an ideal observer on the medium sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passage {
    /// When its first bit, preamble included, reached the observer.
    pub started: Instant,
    /// When its last bit did.
    pub at: Instant,
    /// The station that sent it.
    pub source: usize,
    /// The frame, without the pad that the MAC adds.
    pub frame: Frame,
    /// What a bad path made of it; [`Fate::Whole`] on a medium without faults.
    pub fate: Fate,
}

/// A frame that reaches a station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// When its last bit arrives: now or later.
    pub at: Instant,
    /// The station it reaches.
    pub station: usize,
    /// The frame, without the pad that the MAC adds.
    pub frame: Frame,
}

/// A medium was made for another number of stations than it was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// How many stations have a place on it.
    pub places: usize,
    /// How many there are.
    pub stations: usize,
}

impl core::fmt::Display for Misfit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the medium has places for {} stations, not {}", self.places, self.stations)
    }
}

impl core::error::Error for Misfit {}
