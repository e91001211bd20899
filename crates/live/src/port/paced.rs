//! Port with a governor.

use super::{Arrival, Counts, Governor, Port, PortError, Verdict, default_limits};
use crate::clock;
use stack::station::{Frame, Transmission};
use wire::addr::Mac;
use wire::control::Limits;
use wire::time::Instant;
use wire::units::BitRate;

/// Limits that the governor enforces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cap {
    /// [`default_limits`] of the link; none if the port is unbounded.
    Unagreed,
    /// Limits agreed by both ends, on any port.
    Agreed(Limits),
}

/// Port with a limited rate. Frames that exceed the limits wait in a bounded queue, which is served
/// while the station receives. Frames of the control session overtake those that wait.
#[derive(Debug)]
pub struct Paced<P> {
    inner: P,
    governor: Option<Governor>,
    queue_frames: usize,
    dropped: u64,
    /// Frames that waited and have left, and have not been reported.
    departed: usize,
    /// Frames that overtook waiting ones; they are reported to the station in turn.
    overtaking: usize,
}

impl<P: Port> Paced<P> {
    /// Puts the governor above a port.
    #[must_use]
    pub fn new(inner: P, cap: Cap, queue_frames: usize) -> Self {
        let mut paced =
            Self { inner, governor: None, queue_frames, dropped: 0, departed: 0, overtaking: 0 };
        paced.cap(cap);
        paced
    }

    /// Changes the limits from now on. Waiting frames stay queued under the new limits; without
    /// limits they are discarded.
    pub fn cap(&mut self, cap: Cap) {
        let limits = match cap {
            Cap::Unagreed if self.inner.is_unbounded() => None,
            Cap::Unagreed => Some(default_limits(self.inner.link_rate())),
            Cap::Agreed(limits) => Some(limits),
        };
        let now = clock::now();
        let queue_frames = self.queue_frames;
        if limits.is_none() {
            self.discard();
        }
        match (&mut self.governor, limits) {
            (Some(governor), Some(limits)) => governor.set(now, limits),
            (governor, limits) => {
                *governor = limits.map(|limits| Governor::new(now, limits, queue_frames));
            }
        }
    }

    /// Limits in force; `None` if there are none.
    #[must_use]
    pub fn limits(&self) -> Option<Limits> {
        self.governor.as_ref().map(Governor::limits)
    }

    /// Number of waiting frames.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.governor.as_ref().map_or(0, Governor::waiting)
    }

    /// Discards the waiting frames and counts them as not sent. To be used when the peer is lost or
    /// has stopped the load.
    pub fn discard(&mut self) {
        let discarded = self.governor.as_mut().map_or(0, Governor::discard);
        self.dropped += discarded as u64;
        self.departed += discarded;
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

impl<P: Port> Port for Paced<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn addr(&self) -> Mac {
        self.inner.addr()
    }

    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        let Some(governor) = &mut self.governor else { return self.inner.send(frame) };
        match governor.offer(clock::now(), frame) {
            Verdict::Go => {
                let outcome = self.inner.send(frame)?;
                let overtakes = governor.waiting() > 0 && outcome == Transmission::Sent;
                self.overtaking += usize::from(overtakes);
                Ok(outcome)
            }
            Verdict::Queued => Ok(Transmission::Sent),
            Verdict::Dropped => {
                self.dropped += 1;
                Ok(Transmission::GivenUp)
            }
        }
    }

    fn takes_several(&self) -> bool {
        self.governor.is_none() && self.inner.takes_several()
    }

    fn send_several(
        &mut self,
        frames: &[Frame],
        outcomes: &mut Vec<Transmission>,
    ) -> Result<(), PortError> {
        if self.governor.is_none() {
            return self.inner.send_several(frames, outcomes);
        }
        for frame in frames {
            outcomes.push(self.send(frame)?);
        }
        Ok(())
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        loop {
            let now = clock::now();
            let mut wake = until;
            if let Some(governor) = &mut self.governor {
                while let Some(frame) = governor.release(now) {
                    self.departed += 1;
                    self.inner.send(&frame)?;
                }
                wake = governor.due(now).map_or(until, |due| due.min(until));
            }
            let arrival = self.inner.receive(wake)?;
            if arrival.is_some() || clock::now() >= until {
                return Ok(arrival);
            }
        }
    }

    fn held_back(&self) -> usize {
        self.waiting() + self.overtaking
    }

    fn departs(&mut self) -> Option<Instant> {
        self.governor.as_mut().and_then(|governor| governor.due(clock::now()))
    }

    fn departed(&mut self) -> usize {
        if self.waiting() == 0 {
            self.departed += core::mem::take(&mut self.overtaking);
        }
        core::mem::take(&mut self.departed)
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
        let counts = self.inner.counts();
        Counts { not_sent: counts.not_sent + self.dropped, ..counts }
    }
}
