//! State table of a connection: ISO 8073 clauses 6.5 to 6.8 and 6.22 for classes 0 and 2.

/// Class of a connection, agreed or preferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Simple class: the transport connection lives as long as its network connection.
    Class0,
    /// Multiplexing class: explicit release, and flow control if both sides choose it.
    Class2 {
        /// True if AKs grant credit. Under RFC 2126 it is never proposed over TCP.
        flow_control: bool,
    },
}

/// State of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// No connection.
    Idle,
    /// A network connection was requested.
    NetworkOpening,
    /// A CR was sent; waiting for its CC.
    CrSent,
    /// A network connection was accepted; waiting for its CR.
    AwaitingCr,
    /// A CR was indicated to the user; waiting for its answer.
    Indicated,
    /// Data transfer.
    Open,
    /// A DR was sent; waiting for its DC (class 2).
    Releasing,
    /// The connection has ended, or was refused; the peer has to release the network connection.
    Ending,
    /// The connection has ended.
    Closed,
}

/// Event of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// The user requests a connection.
    ConnectRequested,
    /// The network connection is open.
    NetworkOpened,
    /// An acceptable CR was received.
    CrReceived,
    /// A CR was received that requires an unsupported class.
    UnfitCrReceived,
    /// The user accepts.
    Accepted,
    /// A CC was received that completes the negotiation.
    CcReceived,
    /// A CC was received that exceeds the offer.
    UnfitCcReceived,
    /// A valid DT was received.
    DtReceived,
    /// A valid AK was received.
    AkReceived,
    /// A DR was received.
    DrReceived,
    /// A DC was received.
    DcReceived,
    /// An ER was received.
    ErReceived,
    /// A TPDU was received that violates the protocol.
    InvalidReceived,
    /// The user requests the end.
    DisconnectRequested,
    /// The network connection has ended.
    NetworkClosed,
    /// TS expired: the peer took too long.
    TimerRanOut,
}

/// Action on an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Request a network connection; start TS.
    OpenNetwork,
    /// Send the CR.
    SendCr,
    /// Start TS for the expected CR.
    AwaitCr,
    /// Indicate the CR to the user; stop TS.
    Indicate,
    /// Send the CC.
    SendCc,
    /// Confirm the connection to the user; stop TS.
    Confirm,
    /// Deliver the user data.
    Deliver,
    /// Apply the credit.
    TakeCredit,
    /// Send a DR that requires no confirmation; start TS.
    Refuse,
    /// Send the DR; start TS.
    Release,
    /// Answer with a DC, report the end to the user; start TS.
    ConfirmRelease,
    /// Release the network connection.
    CloseNetwork,
    /// Release the network connection, and report the reason to the user.
    Abandon,
    /// Answer with an ER, release the network connection, and report the end to the user.
    Reject,
    /// Report the end to the user.
    Report,
    /// Change the state only.
    Forget,
}

/// Next state and action for an event; `None` if the event has no effect.
///
/// Before a class is agreed, `class` is the preferred one.
#[must_use]
pub const fn transition(class: Class, state: State, event: Event) -> Option<(State, Action)> {
    match state {
        State::Idle => idle(event),
        State::NetworkOpening | State::CrSent => calling(state, event),
        State::AwaitingCr | State::Indicated => called(state, event),
        State::Open => open(class, event),
        State::Releasing | State::Ending => ending(state, event),
        State::Closed => None,
    }
}

const fn idle(event: Event) -> Option<(State, Action)> {
    match event {
        Event::ConnectRequested => Some((State::NetworkOpening, Action::OpenNetwork)),
        Event::NetworkOpened => Some((State::AwaitingCr, Action::AwaitCr)),
        Event::CrReceived
        | Event::UnfitCrReceived
        | Event::Accepted
        | Event::CcReceived
        | Event::UnfitCcReceived
        | Event::DtReceived
        | Event::AkReceived
        | Event::DrReceived
        | Event::DcReceived
        | Event::ErReceived
        | Event::InvalidReceived
        | Event::DisconnectRequested
        | Event::NetworkClosed
        | Event::TimerRanOut => None,
    }
}

/// Calling side.
const fn calling(state: State, event: Event) -> Option<(State, Action)> {
    let is_asked = matches!(state, State::CrSent);
    match event {
        Event::NetworkOpened if !is_asked => Some((State::CrSent, Action::SendCr)),
        Event::CcReceived if is_asked => Some((State::Open, Action::Confirm)),
        // 6.5.4, 6.6: refused, or an answer that is not permitted.
        Event::UnfitCcReceived | Event::DrReceived | Event::ErReceived | Event::InvalidReceived
            if is_asked =>
        {
            Some((State::Closed, Action::Abandon))
        }
        Event::CrReceived
        | Event::UnfitCrReceived
        | Event::DtReceived
        | Event::AkReceived
        | Event::DcReceived
            if is_asked =>
        {
            Some((State::Closed, Action::Reject))
        }
        Event::TimerRanOut => Some((State::Closed, Action::Abandon)),
        Event::DisconnectRequested => Some((State::Closed, Action::CloseNetwork)),
        Event::NetworkClosed => Some((State::Closed, Action::Report)),
        Event::ConnectRequested
        | Event::Accepted
        | Event::NetworkOpened
        | Event::CrReceived
        | Event::UnfitCrReceived
        | Event::CcReceived
        | Event::UnfitCcReceived
        | Event::DtReceived
        | Event::AkReceived
        | Event::DrReceived
        | Event::DcReceived
        | Event::ErReceived
        | Event::InvalidReceived => None,
    }
}

/// Called side.
const fn called(state: State, event: Event) -> Option<(State, Action)> {
    let is_indicated = matches!(state, State::Indicated);
    match event {
        Event::CrReceived if !is_indicated => Some((State::Indicated, Action::Indicate)),
        Event::UnfitCrReceived if !is_indicated => Some((State::Ending, Action::Refuse)),
        Event::Accepted if is_indicated => Some((State::Open, Action::SendCc)),
        Event::DisconnectRequested if is_indicated => Some((State::Ending, Action::Refuse)),
        Event::DrReceived | Event::ErReceived if is_indicated => {
            Some((State::Closed, Action::Abandon))
        }
        Event::NetworkClosed if is_indicated => Some((State::Closed, Action::Report)),
        Event::NetworkClosed => Some((State::Closed, Action::Forget)),
        // A peer that does not start with a CR gets no answer.
        Event::TimerRanOut | Event::DisconnectRequested | Event::DrReceived | Event::ErReceived
            if !is_indicated =>
        {
            Some((State::Closed, Action::CloseNetwork))
        }
        Event::CrReceived
        | Event::UnfitCrReceived
        | Event::CcReceived
        | Event::UnfitCcReceived
        | Event::DtReceived
        | Event::AkReceived
        | Event::DcReceived
        | Event::InvalidReceived => {
            Some((State::Closed, if is_indicated { Action::Reject } else { Action::CloseNetwork }))
        }
        // The user's time to answer is not limited.
        Event::TimerRanOut
        | Event::DisconnectRequested
        | Event::DrReceived
        | Event::ErReceived
        | Event::ConnectRequested
        | Event::NetworkOpened
        | Event::Accepted => None,
    }
}

const fn open(class: Class, event: Event) -> Option<(State, Action)> {
    let is_explicit = matches!(class, Class::Class2 { .. });
    let has_credit = matches!(class, Class::Class2 { flow_control: true });
    match event {
        Event::DtReceived => Some((State::Open, Action::Deliver)),
        Event::AkReceived if has_credit => Some((State::Open, Action::TakeCredit)),
        // 6.7.3 and 6.7.5: class 0 is released by N-DISCONNECT, class 2 by DR and DC.
        Event::DisconnectRequested if is_explicit => Some((State::Releasing, Action::Release)),
        Event::DisconnectRequested => Some((State::Closed, Action::CloseNetwork)),
        Event::DrReceived if is_explicit => Some((State::Ending, Action::ConfirmRelease)),
        // Class 0 has no DR in this state, but some peers send one to release the connection.
        Event::DrReceived | Event::ErReceived => Some((State::Closed, Action::Abandon)),
        Event::NetworkClosed => Some((State::Closed, Action::Report)),
        Event::CrReceived
        | Event::UnfitCrReceived
        | Event::CcReceived
        | Event::UnfitCcReceived
        | Event::AkReceived
        | Event::DcReceived
        | Event::InvalidReceived => Some((State::Closed, Action::Reject)),
        Event::ConnectRequested | Event::NetworkOpened | Event::Accepted | Event::TimerRanOut => {
            None
        }
    }
}

const fn ending(state: State, event: Event) -> Option<(State, Action)> {
    match event {
        Event::NetworkClosed => Some((State::Closed, Action::Forget)),
        Event::TimerRanOut | Event::InvalidReceived => Some((State::Closed, Action::CloseNetwork)),
        // 6.7.5: a DR that crosses ours confirms the release, like a DC.
        Event::DcReceived | Event::DrReceived | Event::ErReceived
            if matches!(state, State::Releasing) =>
        {
            Some((State::Closed, Action::CloseNetwork))
        }
        // TPDUs that were in transit when the connection ended are ignored.
        Event::CrReceived
        | Event::UnfitCrReceived
        | Event::CcReceived
        | Event::UnfitCcReceived
        | Event::DtReceived
        | Event::AkReceived
        | Event::DrReceived
        | Event::DcReceived
        | Event::ErReceived
        | Event::ConnectRequested
        | Event::NetworkOpened
        | Event::Accepted
        | Event::DisconnectRequested => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    const CLASSES: [Class; 3] = [
        Class::Class0,
        Class::Class2 { flow_control: false },
        Class::Class2 { flow_control: true },
    ];
    const STATES: [State; 9] = [
        State::Idle,
        State::NetworkOpening,
        State::CrSent,
        State::AwaitingCr,
        State::Indicated,
        State::Open,
        State::Releasing,
        State::Ending,
        State::Closed,
    ];
    const EVENTS: [Event; 16] = [
        Event::ConnectRequested,
        Event::NetworkOpened,
        Event::CrReceived,
        Event::UnfitCrReceived,
        Event::Accepted,
        Event::CcReceived,
        Event::UnfitCcReceived,
        Event::DtReceived,
        Event::AkReceived,
        Event::DrReceived,
        Event::DcReceived,
        Event::ErReceived,
        Event::InvalidReceived,
        Event::DisconnectRequested,
        Event::NetworkClosed,
        Event::TimerRanOut,
    ];

    #[test]
    fn the_table_prints_as_it_stands() {
        let mut table = String::new();
        for state in STATES {
            for event in EVENTS {
                let rows = CLASSES.map(|class| transition(class, state, event));
                for (place, row) in rows.iter().enumerate() {
                    let Some((next, action)) = row else { continue };
                    let all = rows.iter().all(|other| other == row);
                    if all && place > 0 {
                        continue;
                    }
                    let class = if all { String::new() } else { format!("{:?}: ", CLASSES[place]) };
                    let _ = writeln!(table, "{class}{state:?} + {event:?} -> {next:?}: {action:?}");
                }
            }
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn every_state_ends_when_the_network_connection_does() {
        for class in CLASSES {
            for state in STATES {
                let next = transition(class, state, Event::NetworkClosed).map(|(next, _)| next);
                let is_none = matches!(state, State::Idle | State::Closed);
                assert_eq!(next, (!is_none).then_some(State::Closed), "{state:?}");
            }
        }
    }

    #[test]
    fn no_state_that_waits_for_the_peer_lasts_longer_than_ts() {
        for class in CLASSES {
            for state in STATES {
                let waits =
                    !matches!(state, State::Idle | State::Indicated | State::Open | State::Closed);
                let next = transition(class, state, Event::TimerRanOut).map(|(next, _)| next);
                assert_eq!(next, waits.then_some(State::Closed), "{state:?}");
            }
        }
    }

    #[test]
    fn class_0_never_confirms_a_release() {
        for state in STATES {
            for event in EVENTS {
                let action = transition(Class::Class0, state, event).map(|(_, action)| action);
                let explicit = matches!(action, Some(Action::Release | Action::ConfirmRelease));
                assert!(!explicit, "{state:?} + {event:?}");
            }
        }
    }
}
