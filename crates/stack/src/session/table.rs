//! State table of a session connection: ISO 8327 (X.225) annex A, kernel and duplex.
//!
//! The states have the numbers of the standard. An SPDU that is not permitted in a state aborts the
//! connection. Requests of the user that are not permitted have no row, and have no effect. "Keeping"
//! says that the transport connection stays for another session connection.

/// State of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// No transport connection.
    Sta01,
    /// Waiting for the AA to an AB that keeps the transport connection.
    Sta01A,
    /// Waiting for the T-CONNECT confirm.
    Sta01B,
    /// Transport connection without a session connection.
    Sta01C,
    /// Waiting for the AC.
    Sta02A,
    /// Waiting for the DN.
    Sta03,
    /// Waiting for the S-CONNECT response.
    Sta08,
    /// Waiting for the S-RELEASE response.
    Sta09,
    /// Waiting for the T-DISCONNECT indication.
    Sta16,
    /// Data transfer.
    Sta713,
}

impl State {
    /// All, in the order of the standard.
    pub const ALL: [Self; 10] = [
        Self::Sta01,
        Self::Sta01A,
        Self::Sta01B,
        Self::Sta01C,
        Self::Sta02A,
        Self::Sta03,
        Self::Sta08,
        Self::Sta09,
        Self::Sta16,
        Self::Sta713,
    ];
}

/// Event of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// S-CONNECT request.
    ConnectRequested,
    /// S-CONNECT response, accepting.
    Accepted,
    /// S-CONNECT response, refusing.
    Refused,
    /// S-DATA request.
    DataRequested,
    /// S-RELEASE request.
    ReleaseRequested,
    /// S-RELEASE response.
    ReleaseAccepted,
    /// S-RELEASE response to an FN that keeps the transport connection.
    ReleaseAcceptedKeeping,
    /// S-RELEASE response after FNs crossed, at the side that opened the connection.
    ReleaseAcceptedByCaller,
    /// S-RELEASE response after FNs crossed, at the other side, which has not received the DN yet.
    ReleaseAcceptedByCalled,
    /// S-U-ABORT request.
    AbortRequested,
    /// S-U-ABORT request that keeps the transport connection.
    AbortRequestedKeeping,
    /// T-CONNECT indication or confirm.
    TransportConnected,
    /// T-DISCONNECT indication.
    TransportDisconnected,
    /// TIM expired.
    TimRanOut,
    /// CN that can be accepted, at the side that was called.
    CnReceived,
    /// CN without a version or functional unit in common.
    CnUnacceptable,
    /// AC within the proposal.
    AcReceived,
    /// RF.
    RfReceived,
    /// RF that keeps the transport connection.
    RfReceivedKeeping,
    /// DT.
    DtReceived,
    /// FN.
    FnReceived,
    /// DN.
    DnReceived,
    /// DN after FNs crossed, and before the S-RELEASE response of this side.
    DnInCollision,
    /// DN after FNs crossed, and after the S-RELEASE response of this side.
    DnAfterResponse,
    /// AB.
    AbReceived,
    /// AB that keeps the transport connection.
    AbReceivedKeeping,
    /// AA.
    AaReceived,
    /// Octets that are no SPDU, an SPDU of another functional unit, a CN for the calling side, an AC
    /// beyond the proposal.
    Invalid,
}

impl Event {
    /// All.
    pub const ALL: [Self; 28] = [
        Self::ConnectRequested,
        Self::Accepted,
        Self::Refused,
        Self::DataRequested,
        Self::ReleaseRequested,
        Self::ReleaseAccepted,
        Self::ReleaseAcceptedKeeping,
        Self::ReleaseAcceptedByCaller,
        Self::ReleaseAcceptedByCalled,
        Self::AbortRequested,
        Self::AbortRequestedKeeping,
        Self::TransportConnected,
        Self::TransportDisconnected,
        Self::TimRanOut,
        Self::CnReceived,
        Self::CnUnacceptable,
        Self::AcReceived,
        Self::RfReceived,
        Self::RfReceivedKeeping,
        Self::DtReceived,
        Self::FnReceived,
        Self::DnReceived,
        Self::DnInCollision,
        Self::DnAfterResponse,
        Self::AbReceived,
        Self::AbReceivedKeeping,
        Self::AaReceived,
        Self::Invalid,
    ];
}

/// Action on an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// T-CONNECT request.
    ConnectTransport,
    /// Start TIM, and wait for a CN.
    AwaitCn,
    /// Send CN.
    SendCn,
    /// S-CONNECT indication.
    IndicateConnect,
    /// Send AC.
    SendAc,
    /// Send RF with the user's reason, start TIM.
    SendRf,
    /// Send RF with a reason of the provider, start TIM.
    RefuseByProvider,
    /// S-CONNECT confirm, accepted.
    ConfirmConnect,
    /// S-CONNECT confirm, refused; T-DISCONNECT request.
    ConfirmRefusal,
    /// S-CONNECT confirm, refused.
    ConfirmRefusalKeeping,
    /// Send GT and DT.
    SendDt,
    /// S-DATA indication.
    IndicateData,
    /// Send FN.
    SendFn,
    /// S-RELEASE indication.
    IndicateRelease,
    /// S-RELEASE indication, while this side has requested a release as well.
    IndicateCollision,
    /// Send DN, start TIM.
    SendDn,
    /// Send DN.
    SendDnKeeping,
    /// Send DN, and wait for that of the peer.
    SendDnFirst,
    /// Keep the response until the DN of the peer arrives.
    HoldDn,
    /// S-RELEASE confirm; T-DISCONNECT request.
    ConfirmRelease,
    /// S-RELEASE confirm; the response of this side is awaited.
    ConfirmInCollision,
    /// S-RELEASE confirm; send the DN that was held, start TIM.
    ConfirmAndSendDn,
    /// Send AB, start TIM.
    SendAb,
    /// Send AB that keeps the transport connection, start TIM.
    SendAbKeeping,
    /// S-U-ABORT or S-P-ABORT indication; T-DISCONNECT request.
    IndicateAbort,
    /// S-U-ABORT or S-P-ABORT indication; send AA.
    IndicateAbortKeeping,
    /// S-P-ABORT indication; send AB, start TIM.
    ProtocolError,
    /// S-P-ABORT indication: the transport connection was lost.
    IndicateLoss,
    /// Send AA.
    SendAa,
    /// T-DISCONNECT request.
    DisconnectTransport,
    /// Stop TIM: the transport connection is free for another session connection.
    Reuse,
    /// Stop TIM.
    End,
}

/// Next state and action for an event; `None` if the event has no effect.
#[must_use]
pub const fn transition(state: State, event: Event) -> Option<(State, Action)> {
    match state {
        State::Sta01 => sta01(event),
        State::Sta01A => sta01a(event),
        State::Sta01B => sta01b(event),
        State::Sta01C => sta01c(event),
        State::Sta02A => sta02a(event),
        State::Sta03 => sta03(event),
        State::Sta08 => sta08(event),
        State::Sta09 => sta09(event),
        State::Sta16 => sta16(event),
        State::Sta713 => sta713(event),
    }
}

/// Rows of [`State::Sta01`].
const fn sta01(event: Event) -> Option<(State, Action)> {
    match event {
        Event::ConnectRequested => Some((State::Sta01B, Action::ConnectTransport)),
        Event::TransportConnected => Some((State::Sta01C, Action::AwaitCn)),
        Event::Accepted
        | Event::Refused
        | Event::DataRequested
        | Event::ReleaseRequested
        | Event::ReleaseAccepted
        | Event::ReleaseAcceptedKeeping
        | Event::ReleaseAcceptedByCaller
        | Event::ReleaseAcceptedByCalled
        | Event::AbortRequested
        | Event::AbortRequestedKeeping
        | Event::TransportDisconnected
        | Event::TimRanOut
        | Event::CnReceived
        | Event::CnUnacceptable
        | Event::AcReceived
        | Event::RfReceived
        | Event::RfReceivedKeeping
        | Event::DtReceived
        | Event::FnReceived
        | Event::DnReceived
        | Event::DnInCollision
        | Event::DnAfterResponse
        | Event::AbReceived
        | Event::AbReceivedKeeping
        | Event::AaReceived
        | Event::Invalid => None,
    }
}

/// Rows of [`State::Sta01A`]: SPDUs that the peer sent before it received the AB are ignored.
const fn sta01a(event: Event) -> Option<(State, Action)> {
    match event {
        // Two ABs that cross confirm each other.
        Event::AaReceived | Event::AbReceivedKeeping => Some((State::Sta01C, Action::Reuse)),
        Event::AbReceived | Event::TimRanOut => Some((State::Sta01, Action::DisconnectTransport)),
        Event::TransportDisconnected => Some((State::Sta01, Action::End)),
        Event::ConnectRequested
        | Event::Accepted
        | Event::Refused
        | Event::DataRequested
        | Event::ReleaseRequested
        | Event::ReleaseAccepted
        | Event::ReleaseAcceptedKeeping
        | Event::ReleaseAcceptedByCaller
        | Event::ReleaseAcceptedByCalled
        | Event::AbortRequested
        | Event::AbortRequestedKeeping
        | Event::TransportConnected
        | Event::CnReceived
        | Event::CnUnacceptable
        | Event::AcReceived
        | Event::RfReceived
        | Event::RfReceivedKeeping
        | Event::DtReceived
        | Event::FnReceived
        | Event::DnReceived
        | Event::DnInCollision
        | Event::DnAfterResponse
        | Event::Invalid => None,
    }
}

/// Rows of [`State::Sta01B`].
const fn sta01b(event: Event) -> Option<(State, Action)> {
    match event {
        Event::TransportConnected => Some((State::Sta02A, Action::SendCn)),
        Event::TransportDisconnected => Some((State::Sta01, Action::IndicateLoss)),
        Event::AbortRequested | Event::AbortRequestedKeeping => {
            Some((State::Sta01, Action::DisconnectTransport))
        }
        Event::ConnectRequested
        | Event::Accepted
        | Event::Refused
        | Event::DataRequested
        | Event::ReleaseRequested
        | Event::ReleaseAccepted
        | Event::ReleaseAcceptedKeeping
        | Event::ReleaseAcceptedByCaller
        | Event::ReleaseAcceptedByCalled
        | Event::TimRanOut
        | Event::CnReceived
        | Event::CnUnacceptable
        | Event::AcReceived
        | Event::RfReceived
        | Event::RfReceivedKeeping
        | Event::DtReceived
        | Event::FnReceived
        | Event::DnReceived
        | Event::DnInCollision
        | Event::DnAfterResponse
        | Event::AbReceived
        | Event::AbReceivedKeeping
        | Event::AaReceived
        | Event::Invalid => None,
    }
}

/// Rows of [`State::Sta01C`].
const fn sta01c(event: Event) -> Option<(State, Action)> {
    match event {
        Event::ConnectRequested => Some((State::Sta02A, Action::SendCn)),
        Event::CnReceived => Some((State::Sta08, Action::IndicateConnect)),
        Event::CnUnacceptable => Some((State::Sta16, Action::RefuseByProvider)),
        Event::AbReceivedKeeping => Some((State::Sta01C, Action::SendAa)),
        Event::TransportDisconnected => Some((State::Sta01, Action::End)),
        Event::TimRanOut
        | Event::AcReceived
        | Event::RfReceived
        | Event::RfReceivedKeeping
        | Event::DtReceived
        | Event::FnReceived
        | Event::DnReceived
        | Event::DnInCollision
        | Event::DnAfterResponse
        | Event::AbReceived
        | Event::AaReceived
        | Event::Invalid => Some((State::Sta01, Action::DisconnectTransport)),
        Event::Accepted
        | Event::Refused
        | Event::DataRequested
        | Event::ReleaseRequested
        | Event::ReleaseAccepted
        | Event::ReleaseAcceptedKeeping
        | Event::ReleaseAcceptedByCaller
        | Event::ReleaseAcceptedByCalled
        | Event::AbortRequested
        | Event::AbortRequestedKeeping
        | Event::TransportConnected => None,
    }
}

/// Rows that all states with a session connection have in common.
const fn with_connection(event: Event) -> Option<(State, Action)> {
    match event {
        Event::AbortRequested => Some((State::Sta16, Action::SendAb)),
        Event::AbortRequestedKeeping => Some((State::Sta01A, Action::SendAbKeeping)),
        Event::TransportDisconnected => Some((State::Sta01, Action::IndicateLoss)),
        Event::AbReceived => Some((State::Sta01, Action::IndicateAbort)),
        Event::AbReceivedKeeping => Some((State::Sta01C, Action::IndicateAbortKeeping)),
        Event::CnReceived
        | Event::CnUnacceptable
        | Event::AcReceived
        | Event::RfReceived
        | Event::RfReceivedKeeping
        | Event::DtReceived
        | Event::FnReceived
        | Event::DnReceived
        | Event::DnInCollision
        | Event::DnAfterResponse
        | Event::AaReceived
        | Event::Invalid => Some((State::Sta16, Action::ProtocolError)),
        Event::ConnectRequested
        | Event::Accepted
        | Event::Refused
        | Event::DataRequested
        | Event::ReleaseRequested
        | Event::ReleaseAccepted
        | Event::ReleaseAcceptedKeeping
        | Event::ReleaseAcceptedByCaller
        | Event::ReleaseAcceptedByCalled
        | Event::TransportConnected
        | Event::TimRanOut => None,
    }
}

/// Rows of [`State::Sta02A`].
const fn sta02a(event: Event) -> Option<(State, Action)> {
    match event {
        Event::AcReceived => Some((State::Sta713, Action::ConfirmConnect)),
        Event::RfReceived => Some((State::Sta01, Action::ConfirmRefusal)),
        Event::RfReceivedKeeping => Some((State::Sta01C, Action::ConfirmRefusalKeeping)),
        other => with_connection(other),
    }
}

/// Rows of [`State::Sta03`]: data still arrives until the DN.
const fn sta03(event: Event) -> Option<(State, Action)> {
    match event {
        Event::DtReceived => Some((State::Sta03, Action::IndicateData)),
        Event::DnReceived | Event::DnAfterResponse => Some((State::Sta01, Action::ConfirmRelease)),
        Event::FnReceived => Some((State::Sta09, Action::IndicateCollision)),
        other => with_connection(other),
    }
}

/// Rows of [`State::Sta08`].
const fn sta08(event: Event) -> Option<(State, Action)> {
    match event {
        Event::Accepted => Some((State::Sta713, Action::SendAc)),
        Event::Refused => Some((State::Sta16, Action::SendRf)),
        other => with_connection(other),
    }
}

/// Rows of [`State::Sta09`]: data is still sent until the DN.
const fn sta09(event: Event) -> Option<(State, Action)> {
    match event {
        Event::DataRequested => Some((State::Sta09, Action::SendDt)),
        Event::ReleaseAccepted => Some((State::Sta16, Action::SendDn)),
        Event::ReleaseAcceptedKeeping => Some((State::Sta01C, Action::SendDnKeeping)),
        Event::ReleaseAcceptedByCaller => Some((State::Sta03, Action::SendDnFirst)),
        Event::ReleaseAcceptedByCalled => Some((State::Sta09, Action::HoldDn)),
        Event::DnInCollision => Some((State::Sta09, Action::ConfirmInCollision)),
        Event::DnAfterResponse => Some((State::Sta16, Action::ConfirmAndSendDn)),
        other => with_connection(other),
    }
}

/// Rows of [`State::Sta16`]: SPDUs that the peer sent before it received ours are ignored.
const fn sta16(event: Event) -> Option<(State, Action)> {
    match event {
        Event::TransportDisconnected => Some((State::Sta01, Action::End)),
        Event::TimRanOut | Event::AaReceived | Event::AbReceived | Event::AbReceivedKeeping => {
            Some((State::Sta01, Action::DisconnectTransport))
        }
        Event::ConnectRequested
        | Event::Accepted
        | Event::Refused
        | Event::DataRequested
        | Event::ReleaseRequested
        | Event::ReleaseAccepted
        | Event::ReleaseAcceptedKeeping
        | Event::ReleaseAcceptedByCaller
        | Event::ReleaseAcceptedByCalled
        | Event::AbortRequested
        | Event::AbortRequestedKeeping
        | Event::TransportConnected
        | Event::CnReceived
        | Event::CnUnacceptable
        | Event::AcReceived
        | Event::RfReceived
        | Event::RfReceivedKeeping
        | Event::DtReceived
        | Event::FnReceived
        | Event::DnReceived
        | Event::DnInCollision
        | Event::DnAfterResponse
        | Event::Invalid => None,
    }
}

/// Rows of [`State::Sta713`].
const fn sta713(event: Event) -> Option<(State, Action)> {
    match event {
        Event::DataRequested => Some((State::Sta713, Action::SendDt)),
        Event::DtReceived => Some((State::Sta713, Action::IndicateData)),
        Event::ReleaseRequested => Some((State::Sta03, Action::SendFn)),
        Event::FnReceived => Some((State::Sta09, Action::IndicateRelease)),
        other => with_connection(other),
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
    fn an_invalid_spdu_aborts_every_session_connection() {
        let with_connection =
            [State::Sta02A, State::Sta03, State::Sta08, State::Sta09, State::Sta713];
        for state in with_connection {
            let found = transition(state, Event::Invalid);
            assert_eq!(found, Some((State::Sta16, Action::ProtocolError)), "{state:?}");
        }
    }

    #[test]
    fn the_loss_of_transport_ends_every_state() {
        for state in State::ALL.into_iter().filter(|state| *state != State::Sta01) {
            let next = transition(state, Event::TransportDisconnected).map(|(next, _)| next);
            assert_eq!(next, Some(State::Sta01), "{state:?}");
        }
    }
}
