//! Port with a bad path behind it: live frames are subject to the same faults as simulated ones.
//!
//! Frames of the control session are spared, see [`super::is_rendezvous`]. The faults are described
//! in [`stack::fault`].
//!
//! Not modelled: faults closer to the wire than this port. The receiver's interface has already
//! checked the FCS of a frame that is damaged here. Delays are as punctual as the thread's wake-up.

use super::{Arrival, Counts, MOST_PASSED_OVER, Port, PortError, Stamp, is_rendezvous};
use crate::clock;
use stack::fault::{self, Fate, Faults};
use stack::station::{Frame, Transmission};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Faults for each direction.
#[derive(Clone, Debug)]
pub struct FaultyParams {
    /// Faults of incoming frames.
    pub receiving: Option<Faults>,
    /// Faults of outgoing frames.
    pub sending: Option<Faults>,
    /// Maximum number of frames held at a time, in both directions together; further frames are
    /// dropped.
    pub held_frames: usize,
}

/// Frame on its way over the bad path.
#[derive(Clone, Debug)]
enum Held {
    Incoming(Stamp, Frame),
    Outgoing(Frame),
}

/// Port behind a bad path.
#[derive(Debug)]
pub struct Faulty<P> {
    inner: P,
    params: FaultyParams,
    /// Frames by the time they leave the path, then by serial number.
    held: BTreeMap<(Instant, u64), Held>,
    turn: u64,
    counts: Counts,
}

impl<P: Port> Faulty<P> {
    /// Puts a bad path before a port.
    #[must_use]
    pub const fn new(inner: P, params: FaultyParams) -> Self {
        Self { inner, params, held: BTreeMap::new(), turn: 0, counts: NOTHING }
    }

    /// Fault counters of incoming frames.
    #[must_use]
    pub fn received(&self) -> fault::Counts {
        self.params.receiving.as_ref().map_or_else(fault::Counts::default, |f| *f.counts())
    }

    /// Fault counters of outgoing frames.
    #[must_use]
    pub fn sent(&self) -> fault::Counts {
        self.params.sending.as_ref().map_or_else(fault::Counts::default, |f| *f.counts())
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

    /// Holds a frame until `at`; returns whether there was room.
    fn hold(&mut self, at: Instant, held: Held) -> bool {
        if self.held.len() >= self.params.held_frames {
            return false;
        }
        self.turn += 1;
        self.held.insert((at, self.turn), held);
        true
    }

    /// Sends the frames that are due, up to one that is for the station, which is returned.
    fn release(&mut self, now: Instant) -> Result<Option<Arrival>, PortError> {
        while let Some(entry) = self.held.first_entry()
            && entry.key().0 <= now
        {
            let (at, _) = *entry.key();
            match entry.remove() {
                Held::Incoming(stamp, frame) => {
                    return Ok(Some(Arrival { at, taken: now, stamp, frame }));
                }
                Held::Outgoing(frame) => {
                    self.inner.send(&frame)?;
                }
            }
        }
        Ok(None)
    }

    /// Applies the faults to an incoming frame.
    fn apply(&mut self, arrival: Arrival) {
        let Arrival { at, stamp, frame, .. } = arrival;
        let outcomes = match &mut self.params.receiving {
            Some(faults) if !is_rendezvous(&frame) => faults.apply(at, frame),
            _ => {
                // Spared frames are held even if there is no room.
                self.turn += 1;
                self.held.insert((at, self.turn), Held::Incoming(stamp, frame));
                return;
            }
        };
        for outcome in outcomes.into_iter().filter(|outcome| outcome.fate.arrives()) {
            if !self.hold(outcome.at, Held::Incoming(stamp, outcome.frame)) {
                self.counts.overrun += 1;
            }
        }
    }
}

const NOTHING: Counts = Counts { sent: 0, received: 0, not_sent: 0, overrun: 0, foreign: 0 };

impl<P: Port> Port for Faulty<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn addr(&self) -> Mac {
        self.inner.addr()
    }

    /// Sends a frame. A frame that is lost on the bad path counts as sent.
    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        let now = clock::now();
        let outcomes = match &mut self.params.sending {
            Some(faults) if !is_rendezvous(frame) => faults.apply(now, frame.clone()),
            _ => return self.inner.send(frame),
        };
        let mut result = Transmission::Sent;
        for outcome in outcomes.into_iter().filter(|outcome| outcome.fate.arrives()) {
            if outcome.at <= now {
                result = result.max(self.inner.send(&outcome.frame)?);
            } else if !self.hold(outcome.at, Held::Outgoing(outcome.frame)) {
                self.counts.not_sent += 1;
                if outcome.fate != Fate::Copied {
                    result = Transmission::GivenUp;
                }
            }
        }
        Ok(result)
    }

    fn takes_several(&self) -> bool {
        self.params.sending.is_none() && self.inner.takes_several()
    }

    fn send_several(
        &mut self,
        frames: &[Frame],
        outcomes: &mut Vec<Transmission>,
    ) -> Result<(), PortError> {
        if self.params.sending.is_none() {
            return self.inner.send_several(frames, outcomes);
        }
        for frame in frames {
            outcomes.push(self.send(frame)?);
        }
        Ok(())
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        if self.params.receiving.is_none() && self.held.is_empty() {
            return self.inner.receive(until);
        }
        for passed_over in 0_u64.. {
            if let Some(arrival) = self.release(clock::now())? {
                return Ok(Some(arrival));
            }
            let due = self.held.first_key_value().map(|((at, _), _)| *at);
            let wake = due.map_or(until, |due| due.min(until));
            let arrival = self.inner.receive(wake)?;
            let is_last = arrival.is_none() || passed_over >= MOST_PASSED_OVER;
            if let Some(arrival) = arrival {
                self.apply(arrival);
            }
            if is_last && clock::now() >= until {
                break;
            }
        }
        self.release(clock::now())
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
        let counts = self.inner.counts();
        Counts {
            not_sent: counts.not_sent + self.counts.not_sent,
            overrun: counts.overrun + self.counts.overrun,
            ..counts
        }
    }
}
