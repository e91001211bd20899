//! State table of an association: ISO 8650 (X.227) annex A.
//!
//! The states have the numbers of the standard. An APDU that is not permitted in a state aborts the
//! association. Requests of the user that are not permitted have no row, and have no effect.

/// State of an association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Idle: unassociated.
    Sta0,
    /// Waiting for the AARE.
    Sta1,
    /// Waiting for the A-ASSOCIATE response.
    Sta2,
    /// Waiting for the RLRE.
    Sta3,
    /// Waiting for the A-RELEASE response.
    Sta4,
    /// Associated.
    Sta5,
    /// RLRQs have crossed; the initiator of the association waits for the A-RELEASE response.
    Sta6,
    /// RLRQs have crossed; the other side waits for the RLRE.
    Sta7,
}

impl State {
    /// All, in the order of the standard.
    pub const ALL: [Self; 8] = [
        Self::Sta0,
        Self::Sta1,
        Self::Sta2,
        Self::Sta3,
        Self::Sta4,
        Self::Sta5,
        Self::Sta6,
        Self::Sta7,
    ];
}

/// Event of an association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// A-ASSOCIATE request.
    AssociateRequested,
    /// A-ASSOCIATE response, accepting.
    Accepted,
    /// A-ASSOCIATE response, rejecting.
    Rejected,
    /// A-RELEASE request.
    ReleaseRequested,
    /// A-RELEASE response.
    ReleaseAccepted,
    /// A-ABORT request.
    AbortRequested,
    /// AARQ that can be accepted.
    AarqReceived,
    /// AARQ without a version in common.
    AarqUnacceptable,
    /// AARE that accepts.
    AareAccepting,
    /// AARE that rejects, with a refused presentation connection.
    AareRejecting,
    /// AARE that rejects, with an accepted presentation connection.
    AareRejectingLate,
    /// Presentation connection refused without an AARE.
    PresentationRefused,
    /// RLRQ at the initiator of the association.
    RlrqByResponder,
    /// RLRQ at the other side.
    RlrqByInitiator,
    /// RLRE.
    RlreReceived,
    /// ABRT, or P-U-ABORT indication without one.
    AbrtReceived,
    /// P-P-ABORT indication.
    ProviderAborted,
    /// Octets that are no APDU, or an APDU in the wrong primitive.
    Invalid,
}

impl Event {
    /// All.
    pub const ALL: [Self; 18] = [
        Self::AssociateRequested,
        Self::Accepted,
        Self::Rejected,
        Self::ReleaseRequested,
        Self::ReleaseAccepted,
        Self::AbortRequested,
        Self::AarqReceived,
        Self::AarqUnacceptable,
        Self::AareAccepting,
        Self::AareRejecting,
        Self::AareRejectingLate,
        Self::PresentationRefused,
        Self::RlrqByResponder,
        Self::RlrqByInitiator,
        Self::RlreReceived,
        Self::AbrtReceived,
        Self::ProviderAborted,
        Self::Invalid,
    ];
}

/// Action on an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// P-CONNECT request with AARQ.
    SendAarq,
    /// A-ASSOCIATE indication.
    IndicateAssociate,
    /// P-CONNECT response with AARE, accepting.
    SendAareAccepting,
    /// P-CONNECT response with AARE, refusing.
    SendAareRejecting,
    /// The same by the provider: no version in common.
    RejectByProvider,
    /// A-ASSOCIATE confirm, accepted.
    ConfirmAssociate,
    /// A-ASSOCIATE confirm, rejected.
    ConfirmRejection,
    /// A-ASSOCIATE confirm, rejected; P-U-ABORT request.
    ConfirmRejectionAndAbort,
    /// P-RELEASE request with RLRQ.
    SendRlrq,
    /// A-RELEASE indication.
    IndicateRelease,
    /// P-RELEASE response with RLRE.
    SendRlre,
    /// A-RELEASE confirm.
    ConfirmRelease,
    /// P-U-ABORT request with ABRT.
    SendAbrt,
    /// A-ABORT indication.
    IndicateAbort,
    /// A-P-ABORT indication.
    IndicateProviderAbort,
    /// A-ABORT indication; P-U-ABORT request with ABRT.
    ProtocolError,
}

/// Next state and action for an event; `None` if the event has no effect.
#[must_use]
pub const fn transition(state: State, event: Event) -> Option<(State, Action)> {
    match state {
        State::Sta0 => sta0(event),
        State::Sta1 => sta1(event),
        State::Sta2 => sta2(event),
        State::Sta3 => sta3(event),
        State::Sta4 => sta4(event),
        State::Sta5 => sta5(event),
        State::Sta6 => sta6(event),
        State::Sta7 => sta7(event),
    }
}

/// Rows of [`State::Sta0`]. Below, the presentation connection has ended or does not exist yet.
const fn sta0(event: Event) -> Option<(State, Action)> {
    match event {
        Event::AssociateRequested => Some((State::Sta1, Action::SendAarq)),
        Event::AarqReceived => Some((State::Sta2, Action::IndicateAssociate)),
        Event::AarqUnacceptable => Some((State::Sta0, Action::RejectByProvider)),
        Event::Invalid => Some((State::Sta0, Action::SendAbrt)),
        Event::Accepted
        | Event::Rejected
        | Event::ReleaseRequested
        | Event::ReleaseAccepted
        | Event::AbortRequested
        | Event::AareAccepting
        | Event::AareRejecting
        | Event::AareRejectingLate
        | Event::PresentationRefused
        | Event::RlrqByResponder
        | Event::RlrqByInitiator
        | Event::RlreReceived
        | Event::AbrtReceived
        | Event::ProviderAborted => None,
    }
}

/// Rows that all states but the first have in common.
const fn common(event: Event) -> Option<(State, Action)> {
    match event {
        Event::AbortRequested => Some((State::Sta0, Action::SendAbrt)),
        Event::AbrtReceived => Some((State::Sta0, Action::IndicateAbort)),
        Event::ProviderAborted => Some((State::Sta0, Action::IndicateProviderAbort)),
        Event::AarqReceived
        | Event::AarqUnacceptable
        | Event::AareAccepting
        | Event::AareRejecting
        | Event::AareRejectingLate
        | Event::PresentationRefused
        | Event::RlrqByResponder
        | Event::RlrqByInitiator
        | Event::RlreReceived
        | Event::Invalid => Some((State::Sta0, Action::ProtocolError)),
        Event::AssociateRequested
        | Event::Accepted
        | Event::Rejected
        | Event::ReleaseRequested
        | Event::ReleaseAccepted => None,
    }
}

/// Rows of [`State::Sta1`].
const fn sta1(event: Event) -> Option<(State, Action)> {
    match event {
        Event::AareAccepting => Some((State::Sta5, Action::ConfirmAssociate)),
        Event::AareRejecting | Event::PresentationRefused => {
            Some((State::Sta0, Action::ConfirmRejection))
        }
        Event::AareRejectingLate => Some((State::Sta0, Action::ConfirmRejectionAndAbort)),
        other => common(other),
    }
}

/// Rows of [`State::Sta2`].
const fn sta2(event: Event) -> Option<(State, Action)> {
    match event {
        Event::Accepted => Some((State::Sta5, Action::SendAareAccepting)),
        Event::Rejected => Some((State::Sta0, Action::SendAareRejecting)),
        other => common(other),
    }
}

/// Rows of [`State::Sta3`].
const fn sta3(event: Event) -> Option<(State, Action)> {
    match event {
        Event::RlreReceived => Some((State::Sta0, Action::ConfirmRelease)),
        Event::RlrqByResponder => Some((State::Sta6, Action::IndicateRelease)),
        Event::RlrqByInitiator => Some((State::Sta7, Action::IndicateRelease)),
        other => common(other),
    }
}

/// Rows of [`State::Sta4`].
const fn sta4(event: Event) -> Option<(State, Action)> {
    match event {
        Event::ReleaseAccepted => Some((State::Sta0, Action::SendRlre)),
        other => common(other),
    }
}

/// Rows of [`State::Sta5`].
const fn sta5(event: Event) -> Option<(State, Action)> {
    match event {
        Event::ReleaseRequested => Some((State::Sta3, Action::SendRlrq)),
        Event::RlrqByResponder | Event::RlrqByInitiator => {
            Some((State::Sta4, Action::IndicateRelease))
        }
        other => common(other),
    }
}

/// Rows of [`State::Sta6`].
const fn sta6(event: Event) -> Option<(State, Action)> {
    match event {
        Event::ReleaseAccepted => Some((State::Sta3, Action::SendRlre)),
        other => common(other),
    }
}

/// Rows of [`State::Sta7`].
const fn sta7(event: Event) -> Option<(State, Action)> {
    match event {
        Event::RlreReceived => Some((State::Sta4, Action::ConfirmRelease)),
        other => common(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::printed;

    #[test]
    fn the_table_prints_as_it_stands() {
        insta::assert_snapshot!(printed(&State::ALL, &Event::ALL, transition));
    }

    #[test]
    fn an_abort_ends_every_association() {
        for state in State::ALL.into_iter().filter(|state| *state != State::Sta0) {
            for event in [Event::AbortRequested, Event::AbrtReceived, Event::ProviderAborted] {
                let next = transition(state, event).map(|(next, _)| next);
                assert_eq!(next, Some(State::Sta0), "{state:?}");
            }
        }
    }
}
