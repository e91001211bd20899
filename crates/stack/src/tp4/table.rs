//! The life of a connection as a table: ISO 8073 clauses 6.5 to 6.8, 6.18 and 12.2.2 to 12.2.4.
//!
//! RFC 905 leaves out the standard's own tables (annex A); this one is put together from its text.
//! Events that change neither the state nor anything else have no row. What DT and AK do to the windows
//! of an open connection is not here but in `window`.

/// Where a connection stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// There is none.
    Closed,
    /// A CR was sent; its CC is awaited.
    CrSent,
    /// A CR came in and the user was told; its answer is awaited.
    Indicated,
    /// A CC was sent; the third part of the handshake is awaited.
    CcSent,
    /// Data flows.
    Open,
    /// A DR was sent; its DC is awaited.
    Closing,
    /// It is over, but its reference may not be used again yet (6.18).
    Frozen,
}

/// What can happen to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// The user asks for a connection.
    ConnectRequested,
    /// A CR came in.
    CrReceived,
    /// The user accepts.
    Accepted,
    /// A CC came in that settles the negotiation.
    CcReceived,
    /// A CC came in that may not be what it says.
    BadCcReceived,
    /// A DT, AK, ED or EA came in.
    DataReceived,
    /// A DR came in.
    DrReceived,
    /// A DC came in.
    DcReceived,
    /// An ER came in.
    ErReceived,
    /// The peer broke the protocol more often than is borne.
    ProtocolErrors,
    /// The user asks for an end.
    DisconnectRequested,
    /// T1 ran out with transmissions left.
    T1RanOut,
    /// The wait after the last transmission is over.
    GaveUp,
    /// I ran out: nothing was heard.
    InactivityRanOut,
    /// L ran out.
    LRanOut,
}

/// What is done about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Send the CR and keep it.
    SendCr,
    /// Tell the user that somebody asks.
    Indicate,
    /// Send the CC and keep it.
    SendCc,
    /// Send again what is kept.
    SendAgain,
    /// Answer the CC with an AK and tell the user.
    Confirm,
    /// Answer a CC that came again.
    Acknowledge,
    /// The handshake is complete: what the TPDU carries counts from here.
    Establish,
    /// Let it act on the windows.
    Exchange,
    /// Send a DR that nobody needs to confirm, and forget the connection.
    Refuse,
    /// Send the DR and keep it.
    Release,
    /// Send the DR and keep it, and tell the user why.
    Abort,
    /// Answer with a DC, tell the user, freeze the reference.
    ConfirmRelease,
    /// Answer a DR that came again with a DC.
    ConfirmAgain,
    /// Tell the user that it never opened, freeze the reference.
    Fail,
    /// Freeze the reference.
    Freeze,
    /// Answer a CC for a frozen reference with a DR.
    Reject,
    /// The reference may be used again.
    Forget,
}

/// What happens to a connection in `state` upon `event`; `None` where nothing does.
#[must_use]
pub const fn transition(state: State, event: Event) -> Option<(State, Action)> {
    Some(match (state, event) {
        (State::Closed, Event::ConnectRequested) => (State::CrSent, Action::SendCr),
        (State::Closed, Event::CrReceived) => (State::Indicated, Action::Indicate),
        (State::Closed, _) => return None,

        (State::CrSent, Event::CcReceived) => (State::Open, Action::Confirm),
        (State::CrSent, Event::BadCcReceived) => (State::Closing, Action::Abort),
        (State::CrSent, Event::DrReceived) => (State::Frozen, Action::ConfirmRelease),
        (State::CrSent, Event::ErReceived | Event::GaveUp) => (State::Frozen, Action::Fail),
        (State::CrSent, Event::DisconnectRequested) => (State::Closing, Action::Release),
        (State::CrSent, Event::T1RanOut) => (State::CrSent, Action::SendAgain),
        (State::CrSent, _) => return None,

        (State::Indicated, Event::Accepted) => (State::CcSent, Action::SendCc),
        // 6.6.3: the peer was never told our reference, so nothing needs to freeze.
        (State::Indicated, Event::DisconnectRequested) => (State::Closed, Action::Refuse),
        // 12.2.2.2 b 2: a CR again while the user thinks it over is ignored.
        (State::Indicated, Event::DrReceived) => (State::Frozen, Action::ConfirmRelease),
        (State::Indicated, _) => return None,

        (State::CcSent, Event::DataReceived) => (State::Open, Action::Establish),
        (State::CcSent, Event::CrReceived | Event::T1RanOut) => (State::CcSent, Action::SendAgain),
        (State::CcSent, Event::DrReceived) => (State::Frozen, Action::ConfirmRelease),
        (
            State::CcSent,
            Event::ErReceived | Event::ProtocolErrors | Event::GaveUp | Event::InactivityRanOut,
        ) => (State::Closing, Action::Abort),
        (State::CcSent, Event::DisconnectRequested) => (State::Closing, Action::Release),
        (State::CcSent, _) => return None,

        (State::Open, Event::DataReceived) => (State::Open, Action::Exchange),
        // 12.2.2.2 b 3: our AK to the first CC may have been lost.
        (State::Open, Event::CcReceived) => (State::Open, Action::Acknowledge),
        (State::Open, Event::T1RanOut) => (State::Open, Action::SendAgain),
        (State::Open, Event::DrReceived) => (State::Frozen, Action::ConfirmRelease),
        (
            State::Open,
            Event::ErReceived | Event::ProtocolErrors | Event::GaveUp | Event::InactivityRanOut,
        ) => (State::Closing, Action::Abort),
        (State::Open, Event::DisconnectRequested) => (State::Closing, Action::Release),
        (State::Open, _) => return None,

        // 6.7.5: a DR that crosses ours confirms it as well as a DC does.
        (State::Closing, Event::DcReceived | Event::DrReceived | Event::ErReceived) => {
            (State::Frozen, Action::Freeze)
        }
        (State::Closing, Event::T1RanOut) => (State::Closing, Action::SendAgain),
        (State::Closing, Event::GaveUp) => (State::Frozen, Action::Freeze),
        (State::Closing, _) => return None,

        (State::Frozen, Event::DrReceived) => (State::Frozen, Action::ConfirmAgain),
        (State::Frozen, Event::CcReceived | Event::BadCcReceived) => {
            (State::Frozen, Action::Reject)
        }
        (State::Frozen, Event::LRanOut) => (State::Closed, Action::Forget),
        (State::Frozen, _) => return None,
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
        // Indicated lasts until the user answers: the user is told once and must.
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
