//! State table of the sending side of an association.
//!
//! The standard requires a resynchronization of V(SI) by a command without LSDU; the two idle
//! states here state explicitly when it is due.

/// State of the sending side of an association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Nothing is outstanding, and the receiver's variable may differ from V(SI).
    Unsure,
    /// Nothing is outstanding, and the receiver expects V(SI), or has no variable.
    Sure,
    /// A command without LSDU is outstanding, which synchronizes the receiver's variable.
    Synchronizing,
    /// A command for the user is outstanding.
    Exchanging,
    /// The outstanding command was cancelled by the user.
    Abandoned,
}

/// Event of the sending side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// The user has a command to send.
    Requested,
    /// The response to the outstanding command arrived.
    Acknowledged,
    /// The user cancelled the outstanding command.
    Cancelled,
    /// T1 expired, with transmissions left.
    T1RanOut,
    /// The MAC reported that the receiver's interface refused the command, with several
    /// transmissions left.
    Refused,
    /// T1 expired after the last transmission.
    GaveUp,
    /// T3 expired: the receiver's variable may have been discarded and created anew.
    T3RanOut,
}

/// Action on an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Send a command without LSDU.
    Synchronize,
    /// Send the first waiting command.
    Send,
    /// Retransmit the outstanding command.
    SendAgain,
    /// Toggle V(SI).
    Toggle,
    /// Toggle V(SI), and report the response to the user.
    Confirm,
    /// Report to the user that no response arrived.
    Fail,
    /// Report the cancellation to the user, but still wait for the response or T1: the outstanding
    /// command must not meet another command with the same number.
    Abandon,
    /// Clear the outstanding command.
    Settle,
}

/// Next state and action for an event; `None` if the event has no effect.
#[must_use]
pub const fn transition(state: State, event: Event) -> Option<(State, Action)> {
    Some(match (state, event) {
        (State::Unsure, Event::Requested) => (State::Synchronizing, Action::Synchronize),
        (State::Unsure, Event::Acknowledged | Event::Cancelled | Event::T1RanOut) => return None,
        (State::Unsure, Event::Refused | Event::GaveUp | Event::T3RanOut) => return None,

        (State::Sure, Event::Requested) => (State::Exchanging, Action::Send),
        (State::Sure, Event::T3RanOut) => (State::Unsure, Action::Settle),
        (State::Sure, Event::Acknowledged | Event::Cancelled | Event::T1RanOut) => return None,
        (State::Sure, Event::Refused | Event::GaveUp) => return None,

        (State::Synchronizing, Event::Acknowledged) => (State::Sure, Action::Toggle),
        (State::Synchronizing, Event::T1RanOut | Event::Refused) => {
            (State::Synchronizing, Action::SendAgain)
        }
        (State::Synchronizing, Event::GaveUp) => (State::Unsure, Action::Fail),
        // A request that is still waiting is cancelled without a change of state.
        (State::Synchronizing, Event::Requested | Event::Cancelled) => return None,
        (State::Synchronizing, Event::T3RanOut) => return None,

        (State::Exchanging, Event::Acknowledged) => (State::Sure, Action::Confirm),
        (State::Exchanging, Event::Cancelled) => (State::Abandoned, Action::Abandon),
        (State::Exchanging, Event::T1RanOut | Event::Refused) => {
            (State::Exchanging, Action::SendAgain)
        }
        // The receiver may have the command: perhaps only the response was lost.
        (State::Exchanging, Event::GaveUp) => (State::Unsure, Action::Fail),
        (State::Exchanging, Event::Requested | Event::T3RanOut) => return None,

        (State::Abandoned, Event::Acknowledged) => (State::Sure, Action::Toggle),
        (State::Abandoned, Event::T1RanOut | Event::GaveUp) => (State::Unsure, Action::Settle),
        (State::Abandoned, Event::Requested | Event::Cancelled) => return None,
        (State::Abandoned, Event::Refused | Event::T3RanOut) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::printed;

    const STATES: [State; 5] =
        [State::Unsure, State::Sure, State::Synchronizing, State::Exchanging, State::Abandoned];
    const EVENTS: [Event; 7] = [
        Event::Requested,
        Event::Acknowledged,
        Event::Cancelled,
        Event::T1RanOut,
        Event::Refused,
        Event::GaveUp,
        Event::T3RanOut,
    ];

    #[test]
    fn the_table_prints_as_it_stands() {
        insta::assert_snapshot!(printed(&STATES, &EVENTS, transition));
    }

    #[test]
    fn every_busy_state_ends_without_the_peer() {
        for state in [State::Synchronizing, State::Exchanging, State::Abandoned] {
            let next = transition(state, Event::GaveUp).map(|(next, _)| next);
            assert_eq!(next, Some(State::Unsure), "{state:?}");
        }
    }

    #[test]
    fn no_user_command_is_sent_before_synchronization() {
        let sends = |state| matches!(transition(state, Event::Requested), Some((_, Action::Send)));
        assert_eq!(STATES.map(sends), [false, true, false, false, false]);
    }
}
