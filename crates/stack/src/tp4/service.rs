//! Interfaces of the transport entity: to its network and observers.

use crate::transport::service::{Address, Endpoint};
use wire::packet::Packet;
use wire::tp::{Kind, Reference};

/// Network service data unit to or from a peer: one TPDU, or several concatenated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nsdu {
    /// Destination or source.
    pub peer: Address,
    /// TPDUs of the NSDU.
    pub packet: Packet,
}

/// Note for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A TPDU was retransmitted.
    SentAgain {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Kind of the TPDU.
        kind: Kind,
    },
    /// A TPDU was discarded.
    Discarded {
        /// Destination reference.
        reference: Option<Reference>,
        /// Reason for discarding it.
        reason: &'static str,
    },
}
