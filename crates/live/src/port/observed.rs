//! A port whose frames somebody looks at: for captures, and for a meter beside the station.
//!
//! Above a [`super::Faulty`] port the observer sees what the receiver sees, behind the faults;
//! beneath it, what was on the wire.

use super::{Arrival, Counts, Port, PortError};
use crate::clock;
use stack::station::{Frame, Transmission};
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Which way a frame passes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// To the station.
    Incoming,
    /// From the station.
    Outgoing,
}

/// A frame that passes a port.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// When it came in, or was handed over to go out.
    pub at: Instant,
    /// Which way.
    pub direction: Direction,
    /// The frame. One that goes out may still have to be padded.
    pub frame: &'a Frame,
}

/// Who looks. It is called by the station's own thread, so it should be quick.
pub type Observer = Box<dyn FnMut(Passing<'_>) + Send>;

/// A port whose frames somebody looks at.
pub struct Observed<P> {
    inner: P,
    observer: Observer,
}

impl<P: Port> Observed<P> {
    /// Lets `observer` see what passes a port. Frames given up by the port are not shown.
    #[must_use]
    pub fn new(inner: P, observer: Observer) -> Self {
        Self { inner, observer }
    }

    /// The port beneath.
    #[must_use]
    pub const fn inner(&self) -> &P {
        &self.inner
    }

    /// The port beneath, to change its limits say.
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
