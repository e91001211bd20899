//! State table of a control session.

/// State of the session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// No session.
    Idle,
    /// Initiator: a Hello was sent; waiting for the answer.
    Calling,
    /// Responder: an Accept was sent; waiting for the initiator's first KeepAlive.
    Agreed,
    /// The agreement is confirmed on both sides: load may be sent.
    Open,
    /// A Stop was sent; waiting for the peer's final counts.
    Stopping,
    /// A Stop was received; waiting for the final counts of this side's user.
    Reporting,
    /// The final counts were sent; they are retransmitted for a repeated Stop.
    Reported,
}

/// Event of the session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// The user requests a session.
    OpenRequested,
    /// The user requests the end.
    StopRequested,
    /// The user provides interim counts.
    CountsRequested,
    /// The user provides final counts.
    FinalRequested,
    /// A Hello was received that this side's policy permits, while there is no session.
    HelloReceived,
    /// The Hello of this session was received again.
    HelloAgain,
    /// An Accept within the offer was received.
    AcceptReceived,
    /// An Accept was received that exceeds the offer or is below the minimum.
    BadAgreeReceived,
    /// A Refuse was received.
    RefuseReceived,
    /// An KeepAlive was received.
    KeepAliveReceived,
    /// A Stop was received.
    StopReceived,
    /// Interim counts were received.
    CountsReceived,
    /// Final counts were received.
    FinalReceived,
    /// The repetition timer expired, with transmissions left.
    RepeatRanOut,
    /// The repetition timer expired after the last transmission.
    GaveUp,
    /// The next KeepAlive is due.
    AliveRanOut,
    /// The silence timer expired.
    SilenceRanOut,
    /// The linger timer of an ended session expired.
    LingerRanOut,
    /// A Challenge was received for the first time.
    ChallengeReceived,
    /// The user has read the results of the session.
    DoneRequested,
    /// A Done was received.
    DoneReceived,
}

/// Action on an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Send the Hello.
    Call,
    /// Retransmit the Hello or the Stop.
    Repeat,
    /// Send the Hello with the cookie of the Challenge.
    Prove,
    /// Send the Accept, and indicate to the user that load may arrive.
    Accept,
    /// Retransmit the Accept.
    AgreeAgain,
    /// Send an KeepAlive at once, and indicate to the user that it may send.
    Confirm,
    /// Indicate to the user that it may send.
    Establish,
    /// Send an KeepAlive.
    Live,
    /// Report the refusal to the user.
    Refused,
    /// Report to the user that there is no answer.
    NoAnswer,
    /// Send the Stop.
    Stop,
    /// Send the final counts; if the user has not provided them yet, ask it to stop and to provide
    /// them.
    Answer,
    /// Send interim counts.
    SendCounts,
    /// Send the final counts.
    SendFinal,
    /// Deliver the peer's interim counts to the user.
    Deliver,
    /// Deliver the peer's final counts to the user, and report the end.
    Finish,
    /// Report to the user that the peer is lost: everything must stop.
    Lose,
    /// Delete the session.
    Forget,
    /// Send a Done and delete the session.
    SendDone,
}

/// Next state and action for an event; `None` if the event has no effect.
#[must_use]
pub const fn transition(state: State, event: Event) -> Option<(State, Action)> {
    match state {
        State::Idle => idle(event),
        State::Calling => calling(event),
        State::Agreed => agreed(event),
        State::Open => open(event),
        State::Stopping => stopping(event),
        State::Reporting => reporting(event),
        State::Reported => reported(event),
    }
}

/// Rows of [`State::Idle`].
const fn idle(event: Event) -> Option<(State, Action)> {
    Some(match event {
        Event::OpenRequested => (State::Calling, Action::Call),
        Event::HelloReceived => (State::Agreed, Action::Accept),
        Event::StopRequested
        | Event::CountsRequested
        | Event::FinalRequested
        | Event::HelloAgain
        | Event::AcceptReceived
        | Event::BadAgreeReceived
        | Event::RefuseReceived
        | Event::KeepAliveReceived
        | Event::StopReceived
        | Event::CountsReceived
        | Event::FinalReceived
        | Event::RepeatRanOut
        | Event::GaveUp
        | Event::AliveRanOut
        | Event::SilenceRanOut
        | Event::LingerRanOut
        | Event::ChallengeReceived
        | Event::DoneRequested
        | Event::DoneReceived => return None,
    })
}

/// Rows of [`State::Calling`].
const fn calling(event: Event) -> Option<(State, Action)> {
    Some(match event {
        Event::AcceptReceived => (State::Open, Action::Confirm),
        Event::BadAgreeReceived | Event::RefuseReceived => (State::Idle, Action::Refused),
        Event::ChallengeReceived => (State::Calling, Action::Prove),
        Event::RepeatRanOut => (State::Calling, Action::Repeat),
        Event::GaveUp => (State::Idle, Action::NoAnswer),
        Event::StopRequested => (State::Idle, Action::Forget),
        Event::OpenRequested
        | Event::CountsRequested
        | Event::FinalRequested
        | Event::HelloReceived
        | Event::HelloAgain
        | Event::KeepAliveReceived
        | Event::StopReceived
        | Event::CountsReceived
        | Event::FinalReceived
        | Event::AliveRanOut
        | Event::SilenceRanOut
        | Event::LingerRanOut
        | Event::DoneRequested
        | Event::DoneReceived => return None,
    })
}

/// Rows of [`State::Agreed`].
const fn agreed(event: Event) -> Option<(State, Action)> {
    Some(match event {
        // The Accept may have been lost, or the KeepAlive that answers it.
        Event::HelloAgain => (State::Agreed, Action::AgreeAgain),
        Event::KeepAliveReceived => (State::Open, Action::Establish),
        Event::StopReceived => (State::Reporting, Action::Answer),
        Event::StopRequested => (State::Stopping, Action::Stop),
        Event::SilenceRanOut => (State::Idle, Action::Lose),
        Event::OpenRequested
        | Event::CountsRequested
        | Event::FinalRequested
        | Event::HelloReceived
        | Event::AcceptReceived
        | Event::BadAgreeReceived
        | Event::RefuseReceived
        | Event::CountsReceived
        | Event::FinalReceived
        | Event::RepeatRanOut
        | Event::GaveUp
        | Event::AliveRanOut
        | Event::LingerRanOut
        | Event::ChallengeReceived
        | Event::DoneRequested
        | Event::DoneReceived => return None,
    })
}

/// Rows of [`State::Open`].
const fn open(event: Event) -> Option<(State, Action)> {
    Some(match event {
        // The initiator's last Hello may have crossed the Accept that answered the one before.
        Event::HelloAgain => (State::Open, Action::AgreeAgain),
        Event::AliveRanOut => (State::Open, Action::Live),
        Event::CountsRequested => (State::Open, Action::SendCounts),
        Event::CountsReceived => (State::Open, Action::Deliver),
        Event::StopRequested => (State::Stopping, Action::Stop),
        Event::StopReceived => (State::Reporting, Action::Answer),
        Event::SilenceRanOut => (State::Idle, Action::Lose),
        Event::OpenRequested
        | Event::FinalRequested
        | Event::HelloReceived
        | Event::AcceptReceived
        | Event::BadAgreeReceived
        | Event::RefuseReceived
        | Event::KeepAliveReceived
        | Event::FinalReceived
        | Event::RepeatRanOut
        | Event::GaveUp
        | Event::LingerRanOut
        | Event::ChallengeReceived
        | Event::DoneRequested
        | Event::DoneReceived => return None,
    })
}

/// Rows of [`State::Stopping`].
const fn stopping(event: Event) -> Option<(State, Action)> {
    Some(match event {
        // Two Stops cross: both sides end the session, and each owes the other its counts.
        Event::StopReceived => (State::Stopping, Action::Answer),
        Event::FinalRequested => (State::Stopping, Action::SendFinal),
        Event::FinalReceived => (State::Reported, Action::Finish),
        Event::RepeatRanOut => (State::Stopping, Action::Repeat),
        Event::GaveUp | Event::SilenceRanOut => (State::Idle, Action::Lose),
        Event::OpenRequested
        | Event::StopRequested
        | Event::CountsRequested
        | Event::HelloReceived
        | Event::HelloAgain
        | Event::AcceptReceived
        | Event::BadAgreeReceived
        | Event::RefuseReceived
        | Event::KeepAliveReceived
        | Event::CountsReceived
        | Event::AliveRanOut
        | Event::LingerRanOut
        | Event::ChallengeReceived
        | Event::DoneRequested
        | Event::DoneReceived => return None,
    })
}

/// Rows of [`State::Reporting`].
const fn reporting(event: Event) -> Option<(State, Action)> {
    Some(match event {
        Event::FinalRequested => (State::Reported, Action::SendFinal),
        // While the user waits for late messages, the peer must not consider it lost.
        Event::AliveRanOut => (State::Reporting, Action::Live),
        Event::SilenceRanOut => (State::Idle, Action::Lose),
        Event::OpenRequested
        | Event::StopRequested
        | Event::CountsRequested
        | Event::HelloReceived
        | Event::HelloAgain
        | Event::AcceptReceived
        | Event::BadAgreeReceived
        | Event::RefuseReceived
        | Event::KeepAliveReceived
        | Event::StopReceived
        | Event::CountsReceived
        | Event::FinalReceived
        | Event::RepeatRanOut
        | Event::GaveUp
        | Event::LingerRanOut
        | Event::ChallengeReceived
        | Event::DoneRequested
        | Event::DoneReceived => return None,
    })
}

/// Rows of [`State::Reported`].
const fn reported(event: Event) -> Option<(State, Action)> {
    Some(match event {
        Event::StopReceived => (State::Reported, Action::Answer),
        Event::FinalRequested => (State::Reported, Action::SendFinal),
        Event::OpenRequested => (State::Calling, Action::Call),
        Event::DoneRequested => (State::Idle, Action::SendDone),
        Event::DoneReceived | Event::LingerRanOut => (State::Idle, Action::Forget),
        Event::StopRequested
        | Event::CountsRequested
        | Event::HelloReceived
        | Event::HelloAgain
        | Event::AcceptReceived
        | Event::BadAgreeReceived
        | Event::RefuseReceived
        | Event::KeepAliveReceived
        | Event::CountsReceived
        | Event::FinalReceived
        | Event::RepeatRanOut
        | Event::GaveUp
        | Event::AliveRanOut
        | Event::SilenceRanOut
        | Event::ChallengeReceived => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::printed;

    const STATES: [State; 7] = [
        State::Idle,
        State::Calling,
        State::Agreed,
        State::Open,
        State::Stopping,
        State::Reporting,
        State::Reported,
    ];
    const EVENTS: [Event; 21] = [
        Event::OpenRequested,
        Event::StopRequested,
        Event::CountsRequested,
        Event::FinalRequested,
        Event::HelloReceived,
        Event::HelloAgain,
        Event::AcceptReceived,
        Event::BadAgreeReceived,
        Event::RefuseReceived,
        Event::KeepAliveReceived,
        Event::StopReceived,
        Event::CountsReceived,
        Event::FinalReceived,
        Event::RepeatRanOut,
        Event::GaveUp,
        Event::AliveRanOut,
        Event::SilenceRanOut,
        Event::LingerRanOut,
        Event::ChallengeReceived,
        Event::DoneRequested,
        Event::DoneReceived,
    ];

    #[test]
    fn the_table_prints_as_it_stands() {
        insta::assert_snapshot!(printed(&STATES, &EVENTS, transition));
    }

    #[test]
    fn every_state_but_idle_ends_by_time_alone() {
        let alone = [Event::GaveUp, Event::SilenceRanOut, Event::LingerRanOut];
        for state in STATES.into_iter().filter(|state| *state != State::Idle) {
            let mut ends = alone.into_iter().filter_map(|event| transition(state, event));
            assert!(ends.any(|(next, _)| next == State::Idle), "{state:?} may last for ever");
        }
    }

    #[test]
    fn no_state_is_open_before_both_have_agreed() {
        // Only the Accept to a Hello and the KeepAlive that confirms an Accept lead to Open.
        for state in STATES.into_iter().filter(|state| *state != State::Open) {
            for event in EVENTS {
                let opens = matches!(transition(state, event), Some((State::Open, _)));
                let may = matches!(
                    (state, event),
                    (State::Calling, Event::AcceptReceived)
                        | (State::Agreed, Event::KeepAliveReceived)
                );
                assert_eq!(opens, may, "{state:?} + {event:?}");
            }
        }
    }
}
