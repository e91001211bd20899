//! State table of a connection: RFC 9293 3.3.2, without LISTEN and simultaneous opening.

/// State of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// SYN-SENT: a SYN was sent.
    SynSent,
    /// SYN-RECEIVED: a SYN arrived and was answered.
    SynReceived,
    /// ESTABLISHED: data in both directions.
    Established,
    /// FIN-WAIT-1: this side has closed, and its FIN is not acknowledged.
    FinWait1,
    /// FIN-WAIT-2: this side has closed, and the peer has not.
    FinWait2,
    /// CLOSE-WAIT: the peer has closed, and this side has not.
    CloseWait,
    /// CLOSING: both have closed, and this side's FIN is not acknowledged.
    Closing,
    /// LAST-ACK: both have closed, the peer first, and this side's FIN is not acknowledged.
    LastAck,
    /// TIME-WAIT: both have closed; a FIN that arrives again is answered.
    TimeWait,
    /// CLOSED: no connection.
    Closed,
}

/// Event of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// The peer has acknowledged the SYN, and sent its own.
    SynAcknowledged,
    /// The user closes its direction.
    ReleaseRequested,
    /// The peer has acknowledged the FIN.
    FinAcknowledged,
    /// The peer's FIN arrived, and all data before it.
    FinReceived,
    /// A RST arrived, or the peer does not acknowledge.
    Broken,
    /// The user aborts.
    AbortRequested,
    /// TIME-WAIT is over.
    TimeRanOut,
}

/// Action on an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Report the open connection to the user.
    Open,
    /// Send a FIN behind the data that waits.
    SendFin,
    /// Report the peer's end to the user, and acknowledge the FIN.
    ReportEnd,
    /// Report the peer's end, acknowledge the FIN, and start TIME-WAIT.
    ReportEndAndWait,
    /// Acknowledge the FIN again.
    Acknowledge,
    /// Start TIME-WAIT.
    Wait,
    /// Report the loss to the user.
    ReportLoss,
    /// Send a RST.
    Reset,
    /// Change the state only.
    Forget,
}

/// Next state and action for an event; `None` if the event has no effect.
#[must_use]
pub const fn transition(state: State, event: Event) -> Option<(State, Action)> {
    match state {
        State::SynSent | State::SynReceived => opening(event),
        State::Established | State::CloseWait => open(state, event),
        State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck => {
            closing(state, event)
        }
        State::TimeWait => match event {
            Event::FinReceived => Some((State::TimeWait, Action::Acknowledge)),
            Event::TimeRanOut | Event::Broken | Event::AbortRequested => {
                Some((State::Closed, Action::Forget))
            }
            Event::SynAcknowledged | Event::ReleaseRequested | Event::FinAcknowledged => None,
        },
        State::Closed => None,
    }
}

const fn opening(event: Event) -> Option<(State, Action)> {
    match event {
        Event::SynAcknowledged => Some((State::Established, Action::Open)),
        // Nothing was sent that has to arrive.
        Event::ReleaseRequested | Event::AbortRequested => Some((State::Closed, Action::Reset)),
        Event::Broken => Some((State::Closed, Action::ReportLoss)),
        Event::FinAcknowledged | Event::FinReceived | Event::TimeRanOut => None,
    }
}

const fn open(state: State, event: Event) -> Option<(State, Action)> {
    let has_ended = matches!(state, State::CloseWait);
    match event {
        Event::ReleaseRequested if has_ended => Some((State::LastAck, Action::SendFin)),
        Event::ReleaseRequested => Some((State::FinWait1, Action::SendFin)),
        Event::FinReceived if has_ended => Some((state, Action::Acknowledge)),
        Event::FinReceived => Some((State::CloseWait, Action::ReportEnd)),
        Event::Broken => Some((State::Closed, Action::ReportLoss)),
        Event::AbortRequested => Some((State::Closed, Action::Reset)),
        Event::SynAcknowledged | Event::FinAcknowledged | Event::TimeRanOut => None,
    }
}

const fn closing(state: State, event: Event) -> Option<(State, Action)> {
    match event {
        Event::FinAcknowledged => match state {
            State::FinWait1 => Some((State::FinWait2, Action::Forget)),
            State::Closing => Some((State::TimeWait, Action::Wait)),
            State::LastAck => Some((State::Closed, Action::Forget)),
            State::SynSent
            | State::SynReceived
            | State::Established
            | State::FinWait2
            | State::CloseWait
            | State::TimeWait
            | State::Closed => None,
        },
        Event::FinReceived => match state {
            State::FinWait1 => Some((State::Closing, Action::ReportEnd)),
            State::FinWait2 => Some((State::TimeWait, Action::ReportEndAndWait)),
            State::SynSent
            | State::SynReceived
            | State::Established
            | State::CloseWait
            | State::Closing
            | State::LastAck
            | State::TimeWait
            | State::Closed => Some((state, Action::Acknowledge)),
        },
        Event::Broken => Some((State::Closed, Action::ReportLoss)),
        Event::AbortRequested => Some((State::Closed, Action::Reset)),
        Event::SynAcknowledged | Event::ReleaseRequested | Event::TimeRanOut => None,
    }
}
