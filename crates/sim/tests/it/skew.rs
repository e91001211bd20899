//! Stations whose clocks run fast or slow.

use core::time::Duration;
use stack::machine::Deadline;
use stack::station::{Frame, Station, Transmission};
use wire::addr::Mac;
use wire::time::Instant;

/// Clock that runs fast by this many parts per million.
#[derive(Clone, Copy)]
pub(crate) struct Clock(pub(crate) i64);

impl Clock {
    pub(crate) fn reads(self, now: Instant) -> Instant {
        let nanos = i128::from(now.as_nanos());
        Instant::from_nanos((nanos + nanos * i128::from(self.0) / 1_000_000) as u64)
    }

    /// Earliest true time at which the clock reads `local` or later.
    pub(crate) fn when(self, local: Instant) -> Instant {
        let scaled = i128::from(local.as_nanos()) * 1_000_000 / (1_000_000 + i128::from(self.0));
        let mut at = Instant::from_nanos(scaled as u64);
        while self.reads(at) < local {
            at += Duration::from_nanos(1);
        }
        at
    }
}

/// Station driven by such a clock.
pub(crate) struct Skewed<S> {
    pub(crate) clock: Clock,
    pub(crate) station: S,
}

impl<S: Station> Station for Skewed<S> {
    fn addr(&self) -> Mac {
        self.station.addr()
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        self.station.receive(self.clock.reads(now), frame);
    }

    fn expire(&mut self, now: Instant) {
        self.station.expire(self.clock.reads(now));
    }

    fn deadline(&self) -> Option<Deadline> {
        let local = self.station.deadline()?;
        Some(Deadline { at: self.clock.when(local.at), ..local })
    }

    fn poll(&mut self) -> Option<Frame> {
        self.station.poll()
    }

    fn queue_of(&self, frame: &Frame) -> u8 {
        self.station.queue_of(frame)
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        self.station.transmitted(self.clock.reads(now), queue, outcome);
    }
}
