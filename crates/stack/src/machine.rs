//! Contract of every protocol machine. Start reading here.
//!
//! ```text
//!            request ↓   ↑ Output::Deliver          the user above
//!                  ┌───────┐
//!   expire ──────▶ │machine│ ──▶ Output::Note        watchers
//!                  └───────┘
//!            receive ↑   ↓ Output::Send             the layer below
//! ```
//!
//! The contract has three rules: *after each call, drain [`Machine::poll`] to `None`; time never
//! goes backwards; calling [`Machine::expire`] early is harmless.* Machines do not fail: a protocol
//! error is an output. They read no clock, use no random numbers except from their own seeded
//! generator, and are `Clone`, so that a run can be forked.

use core::time::Duration;
use wire::time::Instant;

/// Protocol machine: behaviour of one layer of one station.
pub trait Machine {
    /// Input from the user above: OSI's request and response primitives.
    type Request;
    /// Output to the user above: OSI's indication and confirm primitives.
    type Indication;
    /// Data unit to and from the layer below.
    type Pdu;
    /// Information for observers; not needed by the protocol.
    type Note;

    /// Processes a request of the user.
    fn request(&mut self, now: Instant, request: Self::Request);
    /// Processes a PDU from the layer below.
    fn receive(&mut self, now: Instant, pdu: Self::Pdu);
    /// Processes expired timers; called at or after [`Machine::deadline`].
    fn expire(&mut self, now: Instant);
    /// Time and timer of the next call of [`Machine::expire`].
    fn deadline(&self) -> Option<Deadline>;
    /// Returns the next output; `None` if there is none.
    fn poll(&mut self) -> Option<Output<Self::Pdu, Self::Indication, Self::Note>>;
}

/// Output of a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output<P, I, N> {
    /// To the layer below.
    Send(P),
    /// To the user above.
    Deliver(I),
    /// To observers.
    Note(N),
}

/// Time at which a timer is due, with the standard's symbol of the timer for traces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Deadline {
    /// Due time.
    pub at: Instant,
    /// Symbol of the timer: `"T1"`, `"W"`, `"I"`.
    pub timer: &'static str,
}

impl Deadline {
    /// Returns the earlier of two optional deadlines.
    #[must_use]
    pub fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.at < one.at { other } else { one }),
            (one, other) => one.or(other),
        }
    }
}

/// Timer that may be running. Its symbol is fixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timer {
    symbol: &'static str,
    /// [`Instant::MAX`] while stopped, so that the minimum of several timers is found without a
    /// branch.
    due: Instant,
}

impl Timer {
    /// Creates a stopped timer with the standard's symbol.
    #[must_use]
    pub const fn new(symbol: &'static str) -> Self {
        Self { symbol, due: Instant::MAX }
    }

    /// Starts or restarts the timer.
    pub const fn start(&mut self, due: Instant) {
        self.due = due;
    }

    /// Puts the expiry off by this time. A stopped timer stays stopped.
    pub fn put_off(&mut self, by: Duration) {
        if self.is_running() {
            self.due += by;
        }
    }

    /// Stops the timer.
    pub const fn stop(&mut self) {
        self.due = Instant::MAX;
    }

    /// Returns true if the timer is running.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.due.as_nanos() != Instant::MAX.as_nanos()
    }

    /// Returns true if the timer has expired by `now`, and stops it.
    pub fn ran_out(&mut self, now: Instant) -> bool {
        let out = self.is_running() && self.due <= now;
        if out {
            self.stop();
        }
        out
    }

    /// Expiry time without the symbol; [`Instant::MAX`] while stopped.
    #[must_use]
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// Expiry time with the symbol, if running.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        self.is_running().then_some(Deadline { at: self.due, timer: self.symbol })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_runs_out_once() {
        let mut timer = Timer::new("T1");
        timer.start(Instant::from_nanos(10));
        assert!(!timer.ran_out(Instant::from_nanos(9)), "expiring early is harmless");
        assert!(timer.ran_out(Instant::from_nanos(10)));
        assert!(!timer.ran_out(Instant::from_nanos(11)));
    }

    #[test]
    fn the_earlier_deadline_wins_and_the_first_one_on_a_tie() {
        let at = |at, timer| Some(Deadline { at: Instant::from_nanos(at), timer });
        assert_eq!(Deadline::earlier(at(5, "T1"), at(4, "W")), at(4, "W"));
        assert_eq!(Deadline::earlier(at(5, "T1"), at(5, "W")), at(5, "T1"));
        assert_eq!(Deadline::earlier(None, at(5, "W")), at(5, "W"));
    }
}
