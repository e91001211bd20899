//! Port with an observer, for captures and for a meter next to the station.
//!
//! Above a [`super::Faulty`] port the observer sees the same as the receiver, behind the faults;
//! beneath it, the frames on the wire.

use super::{Arrival, Counts, Port, PortError};
use crate::clock;
use stack::station::{Frame, Transmission};
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Direction of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// To the station.
    Incoming,
    /// From the station.
    Outgoing,
}

/// Frame that passes a port.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// Time of its arrival, or of its hand-over to the port.
    pub at: Instant,
    /// Direction.
    pub direction: Direction,
    /// Frame; an outgoing one may still have to be padded.
    pub frame: &'a Frame,
}

/// Observer callback. It is called by the station's own thread, so it should be fast.
pub type Observer = Box<dyn FnMut(Passing<'_>) + Send>;

/// Port with an observer.
pub struct Observed<P> {
    inner: P,
    observer: Observer,
}

impl<P: Port> Observed<P> {
    /// Calls `observer` for each frame that passes a port. Frames discarded by the port are not
    /// shown.
    #[must_use]
    pub fn new(inner: P, observer: Observer) -> Self {
        Self { inner, observer }
    }

    /// Port beneath.
    #[must_use]
    pub const fn inner(&self) -> &P {
        &self.inner
    }

    /// Mutable access to the port beneath, for example to change its limits.
    #[must_use]
    pub const fn inner_mut(&mut self) -> &mut P {
        &mut self.inner
    }
}

impl<P: Port> Port for Observed<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn addr(&self) -> Mac {
        self.inner.addr()
    }

    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        let at = clock::now();
        let outcome = self.inner.send(frame)?;
        if outcome == Transmission::Sent {
            (self.observer)(Passing { at, direction: Direction::Outgoing, frame });
        }
        Ok(outcome)
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        let arrival = self.inner.receive(until)?;
        if let Some(Arrival { at, frame, .. }) = &arrival {
            (self.observer)(Passing { at: *at, direction: Direction::Incoming, frame });
        }
        Ok(arrival)
    }

    fn held_back(&self) -> usize {
        self.inner.held_back()
    }

    fn departs(&mut self) -> Option<Instant> {
        self.inner.departs()
    }

    fn departed(&mut self) -> usize {
        self.inner.departed()
    }

    fn takes_typed(&self) -> bool {
        self.inner.takes_typed()
    }

    fn follow(&mut self, station: Option<Mac>) -> Result<(), PortError> {
        self.inner.follow(station)
    }

    fn link_rate(&self) -> Option<BitRate> {
        self.inner.link_rate()
    }

    fn is_unbounded(&self) -> bool {
        self.inner.is_unbounded()
    }

    fn counts(&self) -> Counts {
        self.inner.counts()
    }
}
