//! Drives one station on one port: the counterpart of `sim`'s loop, with the system clock.
//!
//! Each wake-up first takes the frames that have arrived, then lets deadlines expire, then calls
//! the user. In this order a process that was stopped for a while does not declare a peer lost
//! whose frames are already there. The station learns of the standstill: if a whole host stood
//! still, the frames of a peer on it are not there yet.
//!
//! If the port fails on a frame, the frame is discarded and reported to the station before the run
//! ends with the port's error; a later run of the station continues where this one ended. A frame
//! longer than the port carries is discarded and counted, and the run goes on.

use crate::clock;
use crate::port::{Port, PortError};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use stack::station::{Frame, Station, Transmission};
use wire::time::Instant;

/// Maximum number of frames received or sent at one wake-up before deadlines are checked.
const BATCH: usize = 64;
/// Maximum number of frames handed to the port at a time, if the station has several.
const TOGETHER: usize = 16;
/// Maximum time between two checks of the stop flag.
pub(crate) const STOP_LATENCY: Duration = Duration::from_millis(20);
/// Minimum standstill that is reported to the station: no work between two wake-ups takes as long.
const STANDSTILL: Duration = Duration::from_millis(80);

/// Time for which the process stood still between two wake-ups; `None` below [`STANDSTILL`].
pub(crate) fn stood_still(before: Instant, now: Instant) -> Option<Duration> {
    let beyond = now.since(before).saturating_sub(STOP_LATENCY);
    (beyond >= STANDSTILL).then_some(beyond)
}

/// User's decision after a wake-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop: the run has reached its aim.
    Stop,
}

/// Reason why a run stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// The time was over.
    Ended,
    /// The stop flag was set.
    Flagged,
    /// The user returned [`Control::Stop`].
    Satisfied,
}

/// Behaviour of a run while its interface is down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnDown {
    /// The run ends with [`PortError::Down`].
    #[default]
    End,
    /// The run goes on: frames are discarded and none arrive until the interface is up again.
    Outlast,
}

/// Counters of a runner, and its punctuality.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Frames given to the station.
    pub received: u64,
    /// Frames that the port accepted.
    pub sent: u64,
    /// Frames that the port did not accept.
    pub given_up: u64,
    /// Number of times the port was down when it was used.
    pub down: u64,
    /// Frames discarded because they exceed the port's maximum length.
    pub too_long: u64,
    /// Deadlines that expired.
    pub deadlines: u64,
    /// Maximum delay of a deadline's handling.
    pub latest: Duration,
}

/// Drives stations on ports.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    on_down: OnDown,
    counts: Counts,
    /// Frames polled and not yet handed over, and their outcomes: empty between calls.
    frames: Vec<Frame>,
    outcomes: Vec<Transmission>,
}

impl Runner {
    /// Creates a runner whose runs end when the interface is down.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a runner.
    #[must_use]
    pub fn with(on_down: OnDown) -> Self {
        Self { on_down, ..Self::default() }
    }

    /// Counters of all runs so far.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Drives `station` on `port` until `until`, until `stop` is set, or until `on_wake` returns
    /// [`Control::Stop`].
    ///
    /// `on_wake` is called once at the start and after each wake-up; frames that the station then
    /// has are sent at once. May be called again to continue.
    ///
    /// # Errors
    /// Errors of the port.
    pub fn run<S: Station>(
        &mut self,
        station: &mut S,
        port: &mut dyn Port,
        until: Instant,
        stop: &AtomicBool,
        mut on_wake: impl FnMut(&mut S, Instant) -> Control,
    ) -> Result<Stopped, PortError> {
        clock::be_punctual();
        let mut before = clock::now();
        loop {
            let now = clock::now();
            if let Some(time) = stood_still(before, now) {
                station.stood_still(time);
            }
            before = now;
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

    /// Runs one round, for a user with a loop of its own: sends the station's frames, takes those
    /// that have arrived, and lets deadlines expire. Waits at most until `until` or the next
    /// deadline.
    ///
    /// # Errors
    /// Errors of the port.
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

    /// Waits for frames until `wake`, and takes all available frames, up to a batch.
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
            // The station gets the time of the call, not that of the arrival, because its time may
            // not go backwards.
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

    /// Sends the station's frames, up to a batch, so that a station that always has more still
    /// receives and keeps its deadlines. Returns whether all frames were sent.
    ///
    /// # Errors
    /// Errors of the port.
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
                // A peer may request a reply that no frame can carry; that is not a fault of the
                // port.
                Some(PortError::TooLong { .. }) => self.counts.too_long += 1,
                // No immediate retry: a discarded frame may be retried without end.
                Some(error) => return self.outlast(error).map(|()| true),
            }
        }
        Ok(false)
    }

    /// Hands over one frame and reports its outcome to the station, unless the port holds the frame
    /// back.
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
            // This is the newest frame, and those before it still wait.
            station.transmitted(clock::now(), 0, Transmission::NotTaken);
        } else if port.held_back() <= held_back {
            station.transmitted(clock::now(), 0, outcome);
        }
        error
    }

    /// Hands over the polled frames and reports each outcome to the station. If the port fails on a
    /// frame, the later ones are still tried, because they were polled; the first failure is
    /// returned.
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

/// Time at which the first frame held back by the port may leave.
fn departure(port: &mut dyn Port) -> Instant {
    port.departs().unwrap_or(Instant::MAX)
}

/// Reports to the station the frames that the port held back and has now sent.
fn tell<S: Station>(station: &mut S, port: &mut dyn Port) {
    (0..port.departed()).for_each(|_| station.transmitted(clock::now(), 0, Transmission::Sent));
}
