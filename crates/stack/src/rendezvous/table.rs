//! The life of a rendezvous session as a table.

/// Where the session stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// There is none.
    Idle,
    /// Initiator: a Hello was sent; its answer is awaited.
    Calling,
    /// Responder: an Agree was sent; the initiator's first Alive is awaited.
    Agreed,
    /// Both know that both agree: load may be sent.
    Open,
    /// A Stop was sent; the peer's final counts are awaited.
    Stopping,
    /// A Stop came in; this side's user has yet to say its final counts.
    Reporting,
    /// The final counts were sent; they are sent again if the Stop comes again.
    Reported,
}

/// What can happen to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// The user asks for a session.
    OpenRequested,
    /// The user wants it to end.
    StopRequested,
    /// The user says interim counts.
    CountsRequested,
    /// The user says final counts.
    FinalRequested,
    /// A Hello came in that this side's policy can meet and that no session stands against.
    HelloReceived,
    /// The Hello that began this session came in again.
    HelloAgain,
    /// An Agree came in within what was asked.
    AgreeReceived,
    /// An Agree came in that gives more than was offered or less than is needed.
    BadAgreeReceived,
    /// A Refuse came in.
    RefuseReceived,
    /// An Alive came in.
    AliveReceived,
    /// A Stop came in.
    StopReceived,
    /// Interim counts came in.
    CountsReceived,
    /// Final counts came in.
    FinalReceived,
    /// The repetition timer ran out with transmissions left.
    RepeatRanOut,
    /// The repetition timer ran out after the last transmission.
    GaveUp,
    /// It is time for the next Alive.
    AliveRanOut,
    /// The peer has been silent for too long.
    SilenceRanOut,
    /// The session has been over for long enough to be forgotten.
    LingerRanOut,
    /// A Challenge came in for the first time.
    ChallengeReceived,
    /// The user has read what it wanted of the session.
    DoneRequested,
    /// A Done came in.
    DoneReceived,
}

/// What is done about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Send the Hello.
    Call,
    /// Send the Hello or the Stop again.
    Repeat,
    /// Send the Hello with the cookie of the Challenge.
    Prove,
    /// Send the Agree and tell the user to expect load.
    Agree,
    /// Send the Agree again.
    AgreeAgain,
    /// Send an Alive at once and tell the user that it may send.
    Confirm,
    /// Tell the user that it may send.
    Establish,
    /// Send an Alive.
    Live,
    /// Tell the user that the peer does not take part.
    Refused,
    /// Tell the user that nobody answers.
    NoAnswer,
    /// Send the Stop.
    Stop,
    /// Send the final counts; where the user has not said them yet, ask it to stop and to say them.
    Answer,
    /// Send interim counts.
    SendCounts,
    /// Send the final counts.
    SendFinal,
    /// Tell the user the peer's interim counts.
    Deliver,
    /// Tell the user the peer's final counts, and that it is over.
    Finish,
    /// Tell the user that the peer is gone: everything must stop.
    Lose,
    /// Forget the session.
    Forget,
    /// Send a Done and forget the session.
    SendDone,
}

/// What happens to a session in `state` upon `event`; `None` where nothing does.
#[must_use]
pub const fn transition(state: State, event: Event) -> Option<(State, Action)> {
    Some(match (state, event) {
        (State::Idle, Event::OpenRequested) => (State::Calling, Action::Call),
        (State::Idle, Event::HelloReceived) => (State::Agreed, Action::Agree),
        (State::Idle, _) => return None,

        (State::Calling, Event::AgreeReceived) => (State::Open, Action::Confirm),
        (State::Calling, Event::BadAgreeReceived | Event::RefuseReceived) => {
            (State::Idle, Action::Refused)
        }
        (State::Calling, Event::ChallengeReceived) => (State::Calling, Action::Prove),
        (State::Calling, Event::RepeatRanOut) => (State::Calling, Action::Repeat),
        (State::Calling, Event::GaveUp) => (State::Idle, Action::NoAnswer),
        (State::Calling, Event::StopRequested) => (State::Idle, Action::Forget),
        (State::Calling, _) => return None,

        // The Agree may have been lost, or the Alive that answers it.
        (State::Agreed, Event::HelloAgain) => (State::Agreed, Action::AgreeAgain),
        (State::Agreed, Event::AliveReceived) => (State::Open, Action::Establish),
        (State::Agreed, Event::StopReceived) => (State::Reporting, Action::Answer),
        (State::Agreed, Event::StopRequested) => (State::Stopping, Action::Stop),
        (State::Agreed, Event::SilenceRanOut) => (State::Idle, Action::Lose),
        (State::Agreed, _) => return None,

        // The initiator's last Hello may have crossed the Agree that answered the one before.
        (State::Open, Event::HelloAgain) => (State::Open, Action::AgreeAgain),
        (State::Open, Event::AliveRanOut) => (State::Open, Action::Live),
        (State::Open, Event::CountsRequested) => (State::Open, Action::SendCounts),
        (State::Open, Event::CountsReceived) => (State::Open, Action::Deliver),
        (State::Open, Event::StopRequested) => (State::Stopping, Action::Stop),
        (State::Open, Event::StopReceived) => (State::Reporting, Action::Answer),
        (State::Open, Event::SilenceRanOut) => (State::Idle, Action::Lose),
        (State::Open, _) => return None,

        // Two Stops that cross: both sides want to end, and each owes the other its counts.
        (State::Stopping, Event::StopReceived) => (State::Stopping, Action::Answer),
        (State::Stopping, Event::FinalRequested) => (State::Stopping, Action::SendFinal),
        (State::Stopping, Event::FinalReceived) => (State::Reported, Action::Finish),
        (State::Stopping, Event::RepeatRanOut) => (State::Stopping, Action::Repeat),
        (State::Stopping, Event::GaveUp | Event::SilenceRanOut) => (State::Idle, Action::Lose),
        (State::Stopping, _) => return None,

        (State::Reporting, Event::FinalRequested) => (State::Reported, Action::SendFinal),
        // While the user waits for stragglers the peer must not take it for dead.
        (State::Reporting, Event::AliveRanOut) => (State::Reporting, Action::Live),
        (State::Reporting, Event::SilenceRanOut) => (State::Idle, Action::Lose),
        (State::Reporting, _) => return None,

        (State::Reported, Event::StopReceived) => (State::Reported, Action::Answer),
        (State::Reported, Event::FinalRequested) => (State::Reported, Action::SendFinal),
        (State::Reported, Event::OpenRequested) => (State::Calling, Action::Call),
        (State::Reported, Event::DoneRequested) => (State::Idle, Action::SendDone),
        (State::Reported, Event::DoneReceived | Event::LingerRanOut) => {
            (State::Idle, Action::Forget)
        }
        (State::Reported, _) => return None,
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
        Event::AgreeReceived,
        Event::BadAgreeReceived,
        Event::RefuseReceived,
        Event::AliveReceived,
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
        // Into Open lead the Agree to a Hello and the Alive that confirms an Agree; nothing else.
        for state in STATES.into_iter().filter(|state| *state != State::Open) {
            for event in EVENTS {
                let opens = matches!(transition(state, event), Some((State::Open, _)));
                let may = matches!(
                    (state, event),
                    (State::Calling, Event::AgreeReceived) | (State::Agreed, Event::AliveReceived)
                );
                assert_eq!(opens, may, "{state:?} + {event:?}");
            }
        }
    }
}
