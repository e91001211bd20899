//! The life of a connection as a table: ISO 8073 clauses 6.5 to 6.8 and 6.22 for classes 0 and 2.

/// The class a connection has, or is to have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Simple: the life of the network connection is that of the transport connection.
    Class0,
    /// Multiplexing: explicit release, and flow control where both want it.
    Class2 {
        /// Whether AKs grant credit. RFC 2126 has it never proposed over TCP.
        flow_control: bool,
    },
}

/// Where a connection stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// There is none.
    Idle,
    /// A network connection was asked for.
    NetworkOpening,
    /// A CR was sent; its CC is awaited.
    CrSent,
    /// A network connection came in; its CR is awaited.
    AwaitingCr,
    /// A CR came in and the user was told; its answer is awaited.
    Indicated,
    /// Data flows.
    Open,
    /// A DR was sent; its DC is awaited (class 2).
    Releasing,
    /// The connection is over, or was refused; the peer has to release the network connection.
    Ending,
    /// It is over.
    Closed,
}

/// What can happen to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// The user asks for a connection.
    ConnectRequested,
    /// The network connection is there.
    NetworkOpened,
    /// A CR came in that can be answered.
    CrReceived,
    /// A CR came in that asks for what is not done here.
    UnfitCrReceived,
    /// The user accepts.
    Accepted,
    /// A CC came in that settles the negotiation.
    CcReceived,
    /// A CC came in that asks for more than was offered.
    UnfitCcReceived,
    /// A DT came in that fits.
    DtReceived,
    /// An AK came in that fits.
    AkReceived,
    /// A DR came in.
    DrReceived,
    /// A DC came in.
    DcReceived,
    /// An ER came in.
    ErReceived,
    /// A TPDU came in that breaks the protocol.
    InvalidReceived,
    /// The user asks for an end.
    DisconnectRequested,
    /// The network connection is gone.
    NetworkClosed,
    /// TS ran out: the peer took too long.
    TimerRanOut,
}

/// What is done about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Ask for a network connection; start TS.
    OpenNetwork,
    /// Send the CR.
    SendCr,
    /// Start TS for the CR that has to come.
    AwaitCr,
    /// Tell the user that somebody asks; stop TS.
    Indicate,
    /// Send the CC.
    SendCc,
    /// Tell the user that it is open; stop TS.
    Confirm,
    /// Hand the user data on.
    Deliver,
    /// Take the credit.
    TakeCredit,
    /// Send a DR that nobody needs to confirm; start TS.
    Refuse,
    /// Send the DR; start TS.
    Release,
    /// Answer with a DC, tell the user; start TS.
    ConfirmRelease,
    /// Release the network connection.
    CloseNetwork,
    /// Release the network connection, and tell the user why.
    Abandon,
    /// Answer with an ER, release the network connection, and tell the user.
    Reject,
    /// Tell the user that it is over.
    Report,
    /// Nothing but the new state.
    Forget,
}

/// What happens to a connection of `class` in `state` upon `event`; `None` where nothing does.
///
/// Before a class is agreed on, `class` is the one preferred.
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

/// At the side that called.
const fn calling(state: State, event: Event) -> Option<(State, Action)> {
    let is_asked = matches!(state, State::CrSent);
    match event {
        Event::NetworkOpened if !is_asked => Some((State::CrSent, Action::SendCr)),
        Event::CcReceived if is_asked => Some((State::Open, Action::Confirm)),
        // 6.5.4, 6.6: refused, or answered as it may not be.
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

/// At the side that is called.
const fn called(state: State, event: Event) -> Option<(State, Action)> {
    let is_told = matches!(state, State::Indicated);
    match event {
        Event::CrReceived if !is_told => Some((State::Indicated, Action::Indicate)),
        Event::UnfitCrReceived if !is_told => Some((State::Ending, Action::Refuse)),
        Event::Accepted if is_told => Some((State::Open, Action::SendCc)),
        Event::DisconnectRequested if is_told => Some((State::Ending, Action::Refuse)),
        Event::DrReceived | Event::ErReceived if is_told => Some((State::Closed, Action::Abandon)),
        Event::NetworkClosed if is_told => Some((State::Closed, Action::Report)),
        Event::NetworkClosed => Some((State::Closed, Action::Forget)),
        // Whoever does not begin with a CR is not spoken to.
        Event::TimerRanOut | Event::DisconnectRequested | Event::DrReceived | Event::ErReceived
            if !is_told =>
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
            Some((State::Closed, if is_told { Action::Reject } else { Action::CloseNetwork }))
        }
        // How long a user takes to answer is the user's affair.
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
        // Class 0 has no DR in this state. Peers send it all the same to say goodbye.
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
        // 6.7.5: a DR that crosses ours confirms it as well as a DC does.
        Event::DcReceived | Event::DrReceived | Event::ErReceived
            if matches!(state, State::Releasing) =>
        {
            Some((State::Closed, Action::CloseNetwork))
        }
        // Whatever was on its way when the connection ended is of no use to anybody.
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
    fn no_state_in_which_only_the_peer_can_act_lasts_longer_than_ts() {
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
