//! Parameters of an installation, with the symbols of the standard.

use super::policy::{Acknowledgement, Credit, Retransmission, RetransmissionTimer};
use core::time::Duration;

/// Parameters of a class 4 entity. Times of the network (M, E) are estimates for the installation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Propose the extended format: 31-bit numbers and 16-bit credit. In the normal format at most
    /// 113 DTs are sent within [`Params::nsdu_lifetime`], because a 7-bit number must not be reused
    /// while an old DT with it may be in transit.
    pub extended: bool,
    /// Request the checksum; it is omitted only if both sides agree.
    pub checksum: bool,
    /// Request expedited data; it is used only if both sides do.
    pub expedited: bool,
    /// Largest TPDU to propose, from 128 to 8,192 octets, header included. A size that is not a
    /// power of two is proposed as the preferred maximum size, in steps of 128 octets, in addition
    /// to the next lower power.
    pub tpdu_octets: usize,
    /// Largest NSDU of the network: 1,496 octets over LLC on 802.3. DTs are segmented to fit both
    /// limits.
    pub nsdu_octets: usize,
    /// Receive window: DTs the peer may have outstanding. At most 15 in the normal format.
    pub window: u16,
    /// Memory for received DTs in octets, from which all connections take their receive windows when
    /// they open; unlimited if `None`. A buffer holds the largest TPDU. A connection that finds less
    /// than its window has less credit, if need be none, until others have ended.
    pub memory_octets: Option<usize>,
    /// Policy for opening the window again.
    pub credit: Credit,
    /// Policy for acknowledging DTs in sequence.
    pub acknowledgement: Acknowledgement,
    /// Number of DTs in sequence after which [`Acknowledgement::Withhold`] sends an AK.
    pub acknowledge_every: u16,
    /// A_L: maximum delay of an acknowledgement.
    pub acknowledgement_delay: Duration,
    /// T1: time to wait for an acknowledgement before retransmission.
    pub retransmission_time: Duration,
    /// Source of T1: fixed, or adapted to the round trips.
    pub retransmission_timer: RetransmissionTimer,
    /// Policy for retransmission when T1 expires.
    pub retransmission: Retransmission,
    /// N: maximum number of transmissions of a TPDU.
    pub transmissions: u32,
    /// W: maximum interval between AKs.
    pub window_time: Duration,
    /// I: time without a TPDU from the peer after which the connection is released.
    pub inactivity_time: Duration,
    /// M: maximum lifetime of an NSDU in the network, in either direction (M_LR, M_RL).
    pub nsdu_lifetime: Duration,
    /// L: time for which a reference stays frozen after release.
    pub reference_time: Duration,
    /// Maximum octets that a user may have waiting on one connection; more are refused.
    pub queue_octets: usize,
    /// Maximum octets sent and not acknowledged, whatever the peer's credit.
    pub retained_octets: usize,
    /// Join TPDUs for one peer that are due at the same time into one NSDU (6.4).
    pub concatenate: bool,
    /// Maximum number of connections, frozen references included; further CRs are refused.
    pub connections: usize,
    /// Maximum number of them that peers opened and did not complete; further CRs are refused.
    pub half_open: usize,
}

/// Parameters of a receiver alone, which its peer may require.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Receiving {
    /// [`Params::window`].
    pub window: u16,
    /// [`Params::acknowledgement`].
    pub acknowledgement: Acknowledgement,
    /// [`Params::acknowledge_every`].
    pub acknowledge_every: u16,
    /// [`Params::acknowledgement_delay`].
    pub acknowledgement_delay: Duration,
    /// [`Params::connections`].
    pub connections: usize,
}

impl Params {
    /// The same with other parameters of a receiver.
    #[must_use]
    pub const fn with_receiving(self, receiving: Receiving) -> Self {
        let Receiving {
            window,
            acknowledgement,
            acknowledge_every,
            acknowledgement_delay,
            connections,
        } = receiving;
        Self {
            window,
            acknowledgement,
            acknowledge_every,
            acknowledgement_delay,
            connections,
            ..self
        }
    }

    /// Values for a LAN: T1 of 100 ms and N of 8 after RFC 1008, the rest from the standard's
    /// relations.
    #[must_use]
    pub const fn lan() -> Self {
        Self {
            extended: true,
            checksum: true,
            expedited: false,
            tpdu_octets: 1_024,
            nsdu_octets: 1_496,
            window: 15,
            memory_octets: None,
            credit: Credit::Automatic,
            acknowledgement: Acknowledgement::Withhold,
            acknowledge_every: 2,
            acknowledgement_delay: Duration::from_millis(10),
            retransmission_time: Duration::from_millis(100),
            retransmission_timer: RetransmissionTimer::Fixed,
            retransmission: Retransmission::First,
            transmissions: 8,
            window_time: Duration::from_secs(2),
            // I is about 2 N max(T1, W).
            inactivity_time: Duration::from_secs(32),
            nsdu_lifetime: Duration::from_millis(500),
            // L = M_LR + M_RL + R + A_R, with R = T1 N.
            reference_time: Duration::from_millis(1_900),
            queue_octets: 65_536,
            retained_octets: 1 << 20,
            concatenate: false,
            connections: 4_096,
            half_open: 1_024,
        }
    }
}
