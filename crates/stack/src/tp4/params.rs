//! What an installation chooses, each under the standard's symbol.

use super::policy::{Acknowledgement, Credit, Retransmission, RetransmissionTimer};
use core::time::Duration;

/// The parameters of a class 4 entity. Times of the network (M, E) are the installation's estimate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Whether to propose the extended format: 31-bit numbers and 16-bit credit. In the normal format
    /// at most 113 DTs are sent in any [`Params::nsdu_lifetime`], since a 7-bit number must not come back
    /// while an old DT may still carry it.
    pub extended: bool,
    /// Whether to ask for the checksum; it is left out only if both sides agree to.
    pub checksum: bool,
    /// Whether to ask for expedited data; it is used only if both sides want it.
    pub expedited: bool,
    /// The largest TPDU to propose, from 128 to 8,192 octets, header included. One that is no power of
    /// two is proposed as the preferred maximum size, in steps of 128 octets, beside the next lower power.
    pub tpdu_octets: usize,
    /// The largest NSDU the network takes: 1,496 octets over LLC on 802.3. DTs are cut to fit both.
    pub nsdu_octets: usize,
    /// Receive window: DTs the peer may have outstanding. At most 15 in the normal format.
    pub window: u16,
    /// When the window opens again.
    pub credit: Credit,
    /// When DTs in sequence are acknowledged.
    pub acknowledgement: Acknowledgement,
    /// [`Acknowledgement::Withhold`] sends an AK after so many DTs in sequence.
    pub acknowledge_every: u16,
    /// A_L: the longest an acknowledgement is held back.
    pub acknowledgement_delay: Duration,
    /// T1: how long to wait for an acknowledgement before sending again.
    pub retransmission_time: Duration,
    /// Whether T1 follows the round trips seen.
    pub retransmission_timer: RetransmissionTimer,
    /// What is sent again when T1 runs out.
    pub retransmission: Retransmission,
    /// N: how often a TPDU is sent at the most.
    pub transmissions: u32,
    /// W: the longest a side goes without sending an AK.
    pub window_time: Duration,
    /// I: how long a peer may be silent before the connection is given up.
    pub inactivity_time: Duration,
    /// M: the longest an NSDU may live in the network, either way (M_LR, M_RL).
    pub nsdu_lifetime: Duration,
    /// L: how long a reference stays frozen after release.
    pub reference_time: Duration,
    /// Octets a user may have waiting to be sent on one connection; more is not taken.
    pub queue_octets: usize,
    /// Octets that may be sent and not acknowledged, whatever credit the peer gives.
    pub retained_octets: usize,
    /// Whether TPDUs for one peer that are due at the same time share an NSDU (6.4).
    pub concatenate: bool,
    /// The most connections at a time, frozen references included; further CRs are refused.
    pub connections: usize,
    /// The most of them that a peer began and has not completed; further CRs are refused.
    pub half_open: usize,
}

impl Params {
    /// Values for a LAN: T1 of 100 ms and N of 8 after RFC 1008, the rest by the standard's relations.
    #[must_use]
    pub const fn lan() -> Self {
        Self {
            extended: true,
            checksum: true,
            expedited: false,
            tpdu_octets: 1_024,
            nsdu_octets: 1_496,
            window: 15,
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
