//! Messenger with the program that uses it: the same source runs simulated and live.

use super::Messenger;
use crate::machine::Deadline;
use crate::station::{Frame, Station, Transmission};
use wire::addr::Mac;
use wire::time::Instant;

/// Station that runs a program.
///
/// The program is called once at the start, after every event of the station, and at the time that
/// it last returned. It uses the messenger, and returns the latest time of its next call.
#[derive(Clone, Debug)]
pub struct Programmed<F> {
    messenger: Messenger,
    program: F,
    /// Time of the program's next call.
    wake: Option<Instant>,
}

impl<F: FnMut(&mut Messenger, Instant) -> Option<Instant>> Programmed<F> {
    /// Creates a station with this program.
    pub const fn new(messenger: Messenger, program: F) -> Self {
        Self { messenger, program, wake: Some(Instant::ZERO) }
    }

    /// Read access to its messenger.
    #[must_use]
    pub const fn messenger(&self) -> &Messenger {
        &self.messenger
    }

    fn call(&mut self, now: Instant) {
        self.wake = (self.program)(&mut self.messenger, now);
    }
}

impl<F: FnMut(&mut Messenger, Instant) -> Option<Instant>> Station for Programmed<F> {
    fn addr(&self) -> Mac {
        self.messenger.addr()
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        self.messenger.receive(now, frame);
        self.call(now);
    }

    fn expire(&mut self, now: Instant) {
        self.messenger.expire(now);
        self.call(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let program = self.wake.map(|at| Deadline { at, timer: "program" });
        Deadline::earlier(self.messenger.deadline(), program)
    }

    fn poll(&mut self) -> Option<Frame> {
        self.messenger.poll()
    }

    fn queue_of(&self, frame: &Frame) -> u8 {
        self.messenger.queue_of(frame)
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        self.messenger.transmitted(now, queue, outcome);
        self.call(now);
    }
}
