//! The sending side of an association as a table.
//!
//! The standard asks for a resynchronization of V(SI) by a command without LSDU; when it is due is
//! made explicit here by the two idle states.

/// Where the sending side of an association stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Nothing is under way, and the receiver's variable may differ from V(SI).
    Unsure,
    /// Nothing is under way, and the receiver expects V(SI), or has no variable.
    Sure,
    /// A command without LSDU is under way, which makes the receiver's variable known.
    Synchronizing,
    /// A command for the user is under way.
    Exchanging,
    /// The user no longer wants the command that is under way.
    Abandoned,
}

/// What can happen to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// The user has something to send.
    Requested,
    /// The response to the command under way came in.
    Acknowledged,
    /// The user no longer wants what is under way.
    Cancelled,
    /// T1 ran out with transmissions left.
    T1RanOut,
    /// The MAC says that the receiver's interface did not take it, with several transmissions left.
    Refused,
    /// T1 ran out after the last transmission.
    GaveUp,
    /// T3 ran out: the receiver's variable may be gone and come again.
    T3RanOut,
}

/// What is done about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Send a command without LSDU.
    Synchronize,
    /// Send the first command that waits.
    Send,
    /// Send again what is under way.
    SendAgain,
    /// Change V(SI).
    Toggle,
    /// Change V(SI), and tell the user what the response says.
    Confirm,
    /// Tell the user that no response came.
    Fail,
    /// Tell the user that it is cancelled, and wait for the response or T1 all the same: what is
    /// under way must not meet a command of the same number.
    Abandon,
    /// Nothing is left of it.
    Settle,
}

/// What happens to an association in `state` upon `event`; `None` where nothing does.
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
        // A request that only waits is taken back without a change of state.
        (State::Synchronizing, Event::Requested | Event::Cancelled) => return None,
        (State::Synchronizing, Event::T3RanOut) => return None,

        (State::Exchanging, Event::Acknowledged) => (State::Sure, Action::Confirm),
        (State::Exchanging, Event::Cancelled) => (State::Abandoned, Action::Abandon),
        (State::Exchanging, Event::T1RanOut | Event::Refused) => {
            (State::Exchanging, Action::SendAgain)
        }
        // Whether the receiver has it is not known: its response may be what was lost.
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
    fn nothing_is_sent_for_a_user_before_the_receivers_variable_is_known() {
        let sends = |state| matches!(transition(state, Event::Requested), Some((_, Action::Send)));
        assert_eq!(STATES.map(sends), [false, true, false, false, false]);
    }
}
