//! The contract every protocol machine keeps. Open this file first.
//!
//! ```text
//!            request ↓   ↑ Output::Deliver          the user above
//!                  ┌───────┐
//!   expire ──────▶ │machine│ ──▶ Output::Note        watchers
//!                  └───────┘
//!            receive ↑   ↓ Output::Send             the layer below
//! ```
//!
//! Three rules, and the whole of the contract: *after each call, drain [`Machine::poll`] to `None`;
//! time never goes backwards; calling [`Machine::expire`] early is harmless.* Machines do not fail: a
//! protocol error is an output. They read no clock, draw no chance but from their own seeded
//! generator, and are `Clone`, so that a run can be forked.

use wire::time::Instant;

/// A protocol machine: what one layer of one station does.
pub trait Machine {
    /// What the user above asks for: OSI's request and response primitives.
    type Request;
    /// What the user above is told: OSI's indication and confirm primitives.
    type Indication;
    /// What passes to and from the layer below.
    type Pdu;
    /// What watchers are told; never needed for the protocol to work.
    type Note;

    /// The user asks for something.
    fn request(&mut self, now: Instant, request: Self::Request);
    /// Something arrived from the layer below.
    fn receive(&mut self, now: Instant, pdu: Self::Pdu);
    /// The time of [`Machine::deadline`] has come, or may have.
    fn expire(&mut self, now: Instant);
    /// When the machine next wants [`Machine::expire`] to be called, and why.
    fn deadline(&self) -> Option<Deadline>;
    /// What the machine has to say; `None` once it has said everything.
    fn poll(&mut self) -> Option<Output<Self::Pdu, Self::Indication, Self::Note>>;
}

/// One thing a machine has to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output<P, I, N> {
    /// To the layer below.
    Send(P),
    /// To the user above.
    Deliver(I),
    /// To whoever watches.
    Note(N),
}

/// When something is due, and the standard's symbol for the timer, so that traces explain themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Deadline {
    /// The time it is due.
    pub at: Instant,
    /// The timer: `"T1"`, `"W"`, `"I"`.
    pub timer: &'static str,
}

impl Deadline {
    /// The earlier of two deadlines that may be missing.
    #[must_use]
    pub fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.at < one.at { other } else { one }),
            (one, other) => one.or(other),
        }
    }
}

/// A timer that may be running. Its symbol is fixed when it is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timer {
    symbol: &'static str,
    /// [`Instant::MAX`] while it is stopped, so that the earliest of several is found without a branch.
    due: Instant,
}

impl Timer {
    /// A stopped timer with the standard's symbol.
    #[must_use]
    pub const fn new(symbol: &'static str) -> Self {
        Self { symbol, due: Instant::MAX }
    }

    /// Starts it, or starts it anew.
    pub const fn start(&mut self, due: Instant) {
        self.due = due;
    }

    /// Stops it.
    pub const fn stop(&mut self) {
        self.due = Instant::MAX;
    }

    /// Whether it runs.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.due.as_nanos() != Instant::MAX.as_nanos()
    }

    /// Whether it has run out by `now`; if so, it is stopped.
    pub fn ran_out(&mut self, now: Instant) -> bool {
        let out = self.is_running() && self.due <= now;
        if out {
            self.stop();
        }
        out
    }

    /// When it runs out, without its symbol; [`Instant::MAX`] while it is stopped.
    #[must_use]
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// When it runs out.
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
