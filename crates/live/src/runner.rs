//! Drives one station on one port: the loop in which a clock that ticks takes the place of `sim`'s.
//!
//! Each wake-up first takes what has arrived, then lets deadlines expire, then asks the user. In
//! this order a process that was stopped for a while does not take a peer for dead whose frames are
//! there.
//!
//! A frame that the port fails on is given up, and the station is told so, before the run ends with
//! the port's error: a station that is run again goes on where it was. A frame longer than the port
//! carries is given up and counted, and the run goes on.

use crate::clock;
use crate::port::{Port, PortError};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use stack::station::{Frame, Station, Transmission};
use wire::time::Instant;

/// Frames taken at one wake-up, or sent, before deadlines are looked at again.
const BATCH: usize = 64;
/// Frames handed to the port at a time, of a station that has several.
const TOGETHER: usize = 16;
/// How long the loop may not look at its stop flag.
const STOP_LATENCY: Duration = Duration::from_millis(20);

/// What the user wants after a wake-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop: the run has what it wanted.
    Stop,
}

/// Why a run stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// Its time was over.
    Ended,
    /// The stop flag was set.
    Flagged,
    /// The user had enough.
    Satisfied,
}

/// What comes of a run while its interface is down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnDown {
    /// It ends with [`PortError::Down`].
    #[default]
    End,
    /// It goes on: each frame is given up, nothing arrives, and all is well when it is up again.
    Outlast,
}

/// What a runner has done so far, and how well it kept time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Frames given to the station.
    pub received: u64,
    /// Frames the port took.
    pub sent: u64,
    /// Frames the port did not take.
    pub given_up: u64,
    /// Times that the port was down when it was used.
    pub down: u64,
    /// Frames that the port cannot carry, given up.
    pub too_long: u64,
    /// Deadlines that came.
    pub deadlines: u64,
    /// The latest that a deadline was looked at.
    pub latest: Duration,
}

/// Drives stations on ports.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    on_down: OnDown,
    counts: Counts,
    /// Frames that were polled and not yet handed over, and what became of them: empty between calls.
    frames: Vec<Frame>,
    outcomes: Vec<Transmission>,
}

impl Runner {
    /// A runner that has done nothing yet, and whose runs end when the interface is down.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A runner that has done nothing yet.
    #[must_use]
    pub fn with(on_down: OnDown) -> Self {
        Self { on_down, ..Self::default() }
    }

    /// What it has done so far, in all runs.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Drives `station` on `port` until `until`, until `stop` is set, or until `on_wake` has
    /// enough.
    ///
    /// `on_wake` is called once at the start and after each wake-up; what it makes the station want
    /// to send is sent at once. May be called again to go on.
    ///
    /// # Errors
    /// What the port said.
    pub fn run<S: Station>(
        &mut self,
        station: &mut S,
        port: &mut dyn Port,
        until: Instant,
        stop: &AtomicBool,
        mut on_wake: impl FnMut(&mut S, Instant) -> Control,
    ) -> Result<Stopped, PortError> {
        clock::be_punctual();
        loop {
            let now = clock::now();
            self.expire(station, now);
            self.transmit(station, port)?;
            let control = on_wake(station, now);
            let is_silent = self.transmit(station, port)?;
            if control == Control::Stop {
                return Ok(Stopped::Satisfied);
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Stopped::Flagged);
            }
            if now >= until {
                return Ok(Stopped::Ended);
            }
            let due = station.deadline().map_or(Instant::MAX, |deadline| deadline.at);
            let due = if is_silent { due } else { Instant::ZERO };
            let due = due.min(departure(port));
            self.receive(station, port, due.min(until).min(now + STOP_LATENCY))?;
        }
    }

    /// One round, for a user with a loop of its own: sends what the station wants sent, takes what
    /// has arrived, and lets deadlines expire. Waits until `until` or the next deadline at the
    /// longest.
    ///
    /// # Errors
    /// What the port said.
    pub fn round<S: Station>(
        &mut self,
        station: &mut S,
        port: &mut dyn Port,
        until: Instant,
    ) -> Result<(), PortError> {
        let is_silent = self.transmit(station, port)?;
        let due = station.deadline().map_or(Instant::MAX, |deadline| deadline.at);
        let due = if is_silent { due } else { Instant::ZERO };
        let due = due.min(departure(port));
        self.receive(station, port, due.min(until))?;
        self.expire(station, clock::now());
        self.transmit(station, port).map(drop)
    }

    /// Waits for frames until `wake`, and takes all that are there, up to a batch.
    fn receive<S: Station>(
        &mut self,
        station: &mut S,
        port: &mut dyn Port,
        wake: Instant,
    ) -> Result<(), PortError> {
        let mut wait = wake;
        for _ in 0..BATCH {
            let arrival = match port.receive(wait) {
                Ok(Some(arrival)) => arrival,
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.outlast(error)?;
                    clock::sleep_until(wait.min(clock::now() + STOP_LATENCY));
                    return Ok(());
                }
            };
            // The station is told the time at which it is called, not when the frame arrived, since its
            // time may not go backwards.
            station.receive(arrival.taken, arrival.frame);
            self.counts.received += 1;
            self.transmit(station, port)?;
            wait = Instant::ZERO;
        }
        Ok(())
    }

    fn expire<S: Station>(&mut self, station: &mut S, now: Instant) {
        if let Some(deadline) = station.deadline().filter(|deadline| deadline.at <= now) {
            self.counts.deadlines += 1;
            self.counts.latest = self.counts.latest.max(now - deadline.at);
            station.expire(now);
        }
    }

    /// Sends what the station wants to send, up to a batch, so that one that always has more still
    /// hears and keeps its deadlines; says whether that was all.
    ///
    /// # Errors
    /// What the port said.
    pub fn transmit<S: Station>(
        &mut self,
        station: &mut S,
        port: &mut dyn Port,
    ) -> Result<bool, PortError> {
        tell(station, port);
        let takes_several = port.takes_several();
        let mut count = 0;
        while count < BATCH {
            let Some(frame) = station.poll() else { return Ok(true) };
            let next = if takes_several { station.poll() } else { None };
            let failure = if let Some(next) = next {
                self.frames.extend([frame, next]);
                let rest = core::iter::from_fn(|| station.poll());
                self.frames.extend(rest.take(TOGETHER - 2));
                count += self.frames.len();
                self.send_several(station, port)
            } else {
                count += 1;
                self.send_one(station, port, &frame)
            };
            match failure {
                None => {}
                // A peer may ask for a reply that no frame carries: that is no fault of the port.
                Some(PortError::TooLong { .. }) => self.counts.too_long += 1,
                // Not at once again: what is given up may be tried without end.
                Some(error) => return self.outlast(error).map(|()| true),
            }
        }
        Ok(false)
    }

    /// Hands over one frame, and tells the station what became of it unless the port holds it back.
    fn send_one<S: Station>(
        &mut self,
        station: &mut S,
        port: &mut dyn Port,
        frame: &Frame,
    ) -> Option<PortError> {
        let held_back = port.held_back();
        let (outcome, error) = match port.send(frame) {
            Ok(outcome) => (outcome, None),
            Err(error) => (Transmission::GivenUp, Some(error)),
        };
        self.count(outcome);
        if outcome != Transmission::Sent && held_back > 0 {
            // It is the last one, and those before it still wait.
            station.transmitted(clock::now(), 0, Transmission::NotTaken);
        } else if port.held_back() <= held_back {
            station.transmitted(clock::now(), 0, outcome);
        }
        error
    }

    /// Hands over the frames that were polled, and tells the station what became of each. Where the port
    /// fails on one, those behind it are tried all the same, since they were polled; the first failure
    /// is returned.
    fn send_several<S: Station>(
        &mut self,
        station: &mut S,
        port: &mut dyn Port,
    ) -> Option<PortError> {
        let mut outcomes = core::mem::take(&mut self.outcomes);
        let mut failure = None;
        while let Some(rest) = self.frames.get(outcomes.len()..).filter(|rest| !rest.is_empty()) {
            let Err(error) = port.send_several(rest, &mut outcomes) else { break };
            outcomes.push(Transmission::GivenUp);
            failure.get_or_insert(error);
        }
        outcomes.resize(self.frames.len(), Transmission::GivenUp);
        self.frames.clear();
        let now = clock::now();
        for outcome in outcomes.drain(..) {
            self.count(outcome);
            station.transmitted(now, 0, outcome);
        }
        self.outcomes = outcomes;
        failure
    }

    const fn count(&mut self, outcome: Transmission) {
        match outcome {
            Transmission::Sent => self.counts.sent += 1,
            Transmission::GivenUp | Transmission::NotTaken | Transmission::Refused => {
                self.counts.given_up += 1;
            }
        }
    }

    fn outlast(&mut self, error: PortError) -> Result<(), PortError> {
        match (self.on_down, error) {
            (OnDown::Outlast, PortError::Down(_)) => {
                self.counts.down += 1;
                Ok(())
            }
            (_, error) => Err(error),
        }
    }
}

/// When the first of the frames that the port holds back may go.
fn departure(port: &mut dyn Port) -> Instant {
    port.departs().unwrap_or(Instant::MAX)
}

/// Tells the station of the frames that the port held back and does not any more.
fn tell<S: Station>(station: &mut S, port: &mut dyn Port) {
    (0..port.departed()).for_each(|_| station.transmitted(clock::now(), 0, Transmission::Sent));
}
