//! Policy of a receiver of class 4 in a session: an initiator requires that of its scenario, and a
//! responder follows it while the session lasts.
//!
//! A responder of an earlier version follows its own, that of [`tp4::Params::lan`]. So a scenario
//! that says the same works against it, and another is refused.

use core::time::Duration;
use stack::tp4::{Acknowledgement, Params, Receiving};
use wire::control::{Acknowledge, ReceivePolicy};
use wire::time::nanos;

/// Maximum number of class 4 connections of a session at a time, with windows up to the default.
/// Together they bound the memory used by one peer.
pub(super) const CONNECTIONS: usize = 1_024;
/// Receive buffers of a session: the window of each of its connections.
pub(super) const BUFFERS: u32 = CONNECTIONS as u32 * Params::lan().window as u32;

/// Policy of these parameters.
pub(super) fn of(params: &Params) -> ReceivePolicy {
    ReceivePolicy {
        acknowledge: match params.acknowledgement {
            Acknowledgement::Each => Acknowledge::Each,
            Acknowledgement::Withhold => Acknowledge::Withhold,
            Acknowledgement::Delay => Acknowledge::Delay,
            Acknowledgement::OnRequest => Acknowledge::OnRequest,
        },
        acknowledge_every: params.acknowledge_every,
        acknowledgement_delay_ns: nanos(params.acknowledgement_delay),
        window: params.window,
    }
}

/// Parameters that follow a policy, with as many connections as have buffers.
pub(super) fn receiving(policy: &ReceivePolicy) -> Receiving {
    let ReceivePolicy { acknowledge, acknowledge_every, acknowledgement_delay_ns, window } =
        *policy;
    let most = BUFFERS as usize / usize::from(window.max(1));
    Receiving {
        window,
        acknowledgement: match acknowledge {
            Acknowledge::Each => Acknowledgement::Each,
            Acknowledge::Withhold => Acknowledgement::Withhold,
            Acknowledge::Delay => Acknowledgement::Delay,
            Acknowledge::OnRequest => Acknowledgement::OnRequest,
        },
        acknowledge_every,
        acknowledgement_delay: Duration::from_nanos(acknowledgement_delay_ns),
        connections: most.min(CONNECTIONS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_follow_from_their_policy_again() {
        for acknowledgement in [
            Acknowledgement::Each,
            Acknowledgement::Withhold,
            Acknowledgement::Delay,
            Acknowledgement::OnRequest,
        ] {
            let delay = Duration::from_micros(1_500);
            let given = Receiving {
                window: 7,
                acknowledgement,
                acknowledge_every: 3,
                acknowledgement_delay: delay,
                connections: CONNECTIONS,
            };
            let params = Params::lan().with_receiving(given);
            assert_eq!(receiving(&of(&params)), given);
        }
    }

    #[test]
    fn wider_windows_leave_buffers_for_fewer_connections() {
        let connections =
            |window| receiving(&ReceivePolicy { window, ..of(&Params::lan()) }).connections;
        // 15,360 buffers: 1,024 windows of 15, 60 of 256, and one of 15,360.
        let found = [0, 1, 15, 256, 15_360, u16::MAX].map(connections);
        assert_eq!(found, [1_024, 1_024, 1_024, 60, 1, 0]);
    }
}
