//! State table of a connection: ISO 8073 clauses 6.5 to 6.8, 6.18 and 12.2.2 to 12.2.4.
//!
//! RFC 905 omits the standard's own tables (annex A); this one is compiled from its text. Events
//! without any effect have no row. The effects of DT and AK on the windows of an open connection
//! are in `window`.

/// State of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// No connection.
    Closed,
    /// A CR was sent; waiting for its CC.
    CrSent,
    /// A CR was indicated to the user; waiting for its answer.
    Indicated,
    /// A CC was sent; waiting for the third part of the handshake.
    CcSent,
    /// Data transfer.
    Open,
    /// A DR was sent; waiting for its DC.
    Closing,
    /// The connection has ended, but its reference must not be reused yet (6.18).
    Frozen,
}

/// Event of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// The user requests a connection.
    ConnectRequested,
    /// A CR was received.
    CrReceived,
    /// The user accepts.
    Accepted,
    /// A CC was received that completes the negotiation.
    CcReceived,
    /// A CC was received with invalid contents.
    BadCcReceived,
    /// A DT, AK, ED or EA was received.
    DataReceived,
    /// A DR was received.
    DrReceived,
    /// A DC was received.
    DcReceived,
    /// An ER was received.
    ErReceived,
    /// The peer exceeded the tolerated number of protocol violations.
    ProtocolErrors,
    /// The user requests the end.
    DisconnectRequested,
    /// T1 expired, with transmissions left.
    T1RanOut,
    /// The wait after the last transmission has ended.
    GaveUp,
    /// I expired: no TPDU arrived.
    InactivityRanOut,
    /// L expired.
    LRanOut,
}

/// Action on an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Send the CR and keep it.
    SendCr,
    /// Indicate the CR to the user.
    Indicate,
    /// Send the CC and keep it.
    SendCc,
    /// Retransmit the kept TPDU.
    SendAgain,
    /// Answer the CC with an AK and confirm the connection to the user.
    Confirm,
    /// Answer a repeated CC.
    Acknowledge,
    /// Complete the handshake; the contents of the TPDU apply from here.
    Establish,
    /// Apply the TPDU to the windows.
    Exchange,
    /// Send a DR that requires no confirmation, and delete the connection.
    Refuse,
    /// Send the DR and keep it.
    Release,
    /// Send the DR and keep it, and report the reason to the user.
    Abort,
    /// Answer with a DC, report the end to the user, freeze the reference.
    ConfirmRelease,
    /// Answer a repeated DR with a DC.
    ConfirmAgain,
    /// Report to the user that the connection did not open, freeze the reference.
    Fail,
    /// Freeze the reference.
    Freeze,
    /// Answer a CC for a frozen reference with a DR.
    Reject,
    /// Release the reference for reuse.
    Forget,
}

/// Next state and action for an event; `None` if the event has no effect.
#[must_use]
pub const fn transition(state: State, event: Event) -> Option<(State, Action)> {
    match state {
        State::Closed => closed(event),
        State::CrSent => cr_sent(event),
        State::Indicated => indicated(event),
        State::CcSent => cc_sent(event),
        State::Open => open(event),
        State::Closing => closing(event),
        State::Frozen => frozen(event),
    }
}

/// Rows of [`State::Closed`].
const fn closed(event: Event) -> Option<(State, Action)> {
    Some(match event {
        Event::ConnectRequested => (State::CrSent, Action::SendCr),
        Event::CrReceived => (State::Indicated, Action::Indicate),
        Event::Accepted
        | Event::CcReceived
        | Event::BadCcReceived
        | Event::DataReceived
        | Event::DrReceived
        | Event::DcReceived
        | Event::ErReceived
        | Event::ProtocolErrors
        | Event::DisconnectRequested
        | Event::T1RanOut
        | Event::GaveUp
        | Event::InactivityRanOut
        | Event::LRanOut => return None,
    })
}

/// Rows of [`State::CrSent`].
const fn cr_sent(event: Event) -> Option<(State, Action)> {
    Some(match event {
        Event::CcReceived => (State::Open, Action::Confirm),
        Event::BadCcReceived => (State::Closing, Action::Abort),
        Event::DrReceived => (State::Frozen, Action::ConfirmRelease),
        Event::ErReceived | Event::GaveUp => (State::Frozen, Action::Fail),
        Event::DisconnectRequested => (State::Closing, Action::Release),
        Event::T1RanOut => (State::CrSent, Action::SendAgain),
        Event::ConnectRequested
        | Event::CrReceived
        | Event::Accepted
        | Event::DataReceived
        | Event::DcReceived
        | Event::ProtocolErrors
        | Event::InactivityRanOut
        | Event::LRanOut => return None,
    })
}

/// Rows of [`State::Indicated`].
const fn indicated(event: Event) -> Option<(State, Action)> {
    Some(match event {
        Event::Accepted => (State::CcSent, Action::SendCc),
        // 6.6.3: the peer never received our reference, so it need not be frozen.
        Event::DisconnectRequested => (State::Closed, Action::Refuse),
        // 12.2.2.2 b 2: a repeated CR is ignored while the user's answer is pending.
        Event::DrReceived => (State::Frozen, Action::ConfirmRelease),
        Event::ConnectRequested
        | Event::CrReceived
        | Event::CcReceived
        | Event::BadCcReceived
        | Event::DataReceived
        | Event::DcReceived
        | Event::ErReceived
        | Event::ProtocolErrors
        | Event::T1RanOut
        | Event::GaveUp
        | Event::InactivityRanOut
        | Event::LRanOut => return None,
    })
}

/// Rows of [`State::CcSent`].
const fn cc_sent(event: Event) -> Option<(State, Action)> {
    Some(match event {
        Event::DataReceived => (State::Open, Action::Establish),
        Event::CrReceived | Event::T1RanOut => (State::CcSent, Action::SendAgain),
        Event::DrReceived => (State::Frozen, Action::ConfirmRelease),
        Event::ErReceived | Event::ProtocolErrors | Event::GaveUp | Event::InactivityRanOut => {
            (State::Closing, Action::Abort)
        }
        Event::DisconnectRequested => (State::Closing, Action::Release),
        Event::ConnectRequested
        | Event::Accepted
        | Event::CcReceived
        | Event::BadCcReceived
        | Event::DcReceived
        | Event::LRanOut => return None,
    })
}

/// Rows of [`State::Open`].
const fn open(event: Event) -> Option<(State, Action)> {
    Some(match event {
        Event::DataReceived => (State::Open, Action::Exchange),
        // 12.2.2.2 b 3: our AK to the first CC may have been lost.
        Event::CcReceived => (State::Open, Action::Acknowledge),
        Event::T1RanOut => (State::Open, Action::SendAgain),
        Event::DrReceived => (State::Frozen, Action::ConfirmRelease),
        Event::ErReceived | Event::ProtocolErrors | Event::GaveUp | Event::InactivityRanOut => {
            (State::Closing, Action::Abort)
        }
        Event::DisconnectRequested => (State::Closing, Action::Release),
        Event::ConnectRequested
        | Event::CrReceived
        | Event::Accepted
        | Event::BadCcReceived
        | Event::DcReceived
        | Event::LRanOut => return None,
    })
}

/// Rows of [`State::Closing`].
const fn closing(event: Event) -> Option<(State, Action)> {
    Some(match event {
        // 6.7.5: a DR that crosses ours confirms the release, like a DC.
        Event::DcReceived | Event::DrReceived | Event::ErReceived => {
            (State::Frozen, Action::Freeze)
        }
        Event::T1RanOut => (State::Closing, Action::SendAgain),
        Event::GaveUp => (State::Frozen, Action::Freeze),
        Event::ConnectRequested
        | Event::CrReceived
        | Event::Accepted
        | Event::CcReceived
        | Event::BadCcReceived
        | Event::DataReceived
        | Event::ProtocolErrors
        | Event::DisconnectRequested
        | Event::InactivityRanOut
        | Event::LRanOut => return None,
    })
}

/// Rows of [`State::Frozen`].
const fn frozen(event: Event) -> Option<(State, Action)> {
    Some(match event {
        Event::DrReceived => (State::Frozen, Action::ConfirmAgain),
        Event::CcReceived | Event::BadCcReceived => (State::Frozen, Action::Reject),
        Event::LRanOut => (State::Closed, Action::Forget),
        Event::ConnectRequested
        | Event::CrReceived
        | Event::Accepted
        | Event::DataReceived
        | Event::DcReceived
        | Event::ErReceived
        | Event::ProtocolErrors
        | Event::DisconnectRequested
        | Event::T1RanOut
        | Event::GaveUp
        | Event::InactivityRanOut => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::printed;

    const STATES: [State; 7] = [
        State::Closed,
        State::CrSent,
        State::Indicated,
        State::CcSent,
        State::Open,
        State::Closing,
        State::Frozen,
    ];
    const EVENTS: [Event; 15] = [
        Event::ConnectRequested,
        Event::CrReceived,
        Event::Accepted,
        Event::CcReceived,
        Event::BadCcReceived,
        Event::DataReceived,
        Event::DrReceived,
        Event::DcReceived,
        Event::ErReceived,
        Event::ProtocolErrors,
        Event::DisconnectRequested,
        Event::T1RanOut,
        Event::GaveUp,
        Event::InactivityRanOut,
        Event::LRanOut,
    ];

    #[test]
    fn the_table_prints_as_it_stands() {
        insta::assert_snapshot!(printed(&STATES, &EVENTS, transition));
    }

    #[test]
    fn every_state_but_closed_has_a_way_out_that_needs_no_peer() {
        // Indicated lasts until the user answers: the user gets one indication and must answer.
        let alone = [
            Event::GaveUp,
            Event::InactivityRanOut,
            Event::LRanOut,
            Event::Accepted,
            Event::DisconnectRequested,
        ];
        for state in STATES.into_iter().filter(|state| *state != State::Closed) {
            let out = alone.into_iter().filter_map(|event| transition(state, event));
            assert!(out.into_iter().any(|(next, _)| next != state), "{state:?} may last for ever");
        }
    }
}
