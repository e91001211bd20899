//! Interfaces of the transport entity: to its users, its network and observers.

use core::fmt;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::tp::{Kind, Reference};

use bytes::Bytes;

/// Address of a peer's transport entity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Address {
    /// Station of this LAN, over the inactive subset of CLNP.
    Station(Mac),
}

/// Network service data unit to or from a peer: one TPDU, or several concatenated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nsdu {
    /// Destination or source.
    pub peer: Address,
    /// TPDUs of the NSDU.
    pub packet: Packet,
}

/// Transport connection endpoint: identifier of a user's end of a connection. Never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// Request of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// T-CONNECT request, for an endpoint from [`super::Entity::endpoint`].
    Connect {
        /// Endpoint for the connection.
        endpoint: Endpoint,
        /// Peer to be called.
        peer: Address,
        /// TSAP-ID of the called user, up to 32 octets.
        called: Bytes,
        /// TSAP-ID of the calling user, up to 32 octets.
        calling: Bytes,
        /// User data, up to 32 octets.
        data: Bytes,
    },
    /// T-CONNECT response: acceptance.
    Accept {
        /// Endpoint of the connect indication.
        endpoint: Endpoint,
        /// User data, up to 32 octets.
        data: Bytes,
    },
    /// T-DATA request: one TSDU of any length.
    Data {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// TSDU.
        tsdu: Bytes,
    },
    /// T-EXPEDITED-DATA request: 1 to 16 octets, delivered before any data sent after them.
    Expedited {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Expedited data.
        data: Bytes,
    },
    /// Withdraws unused receive buffers from a connection: credit is reduced. [`Request::GiveBack`]
    /// returns them.
    Withdraw {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Number of buffers.
        buffers: u32,
    },
    /// Returns receive buffers: those of consumed DTs, if the user holds them under
    /// [`super::Credit::is_by_user`], or withdrawn ones.
    GiveBack {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Number of buffers, one for each [`Indication::Data`].
        buffers: u32,
    },
    /// T-DISCONNECT request; also the refusal of a connect indication.
    Disconnect {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Reason from [`disconnect_reason`].
        reason: u8,
    },
}

/// Indication to a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// T-CONNECT indication: a peer requests a connection.
    Connect {
        /// Local endpoint of the connection.
        endpoint: Endpoint,
        /// Calling peer.
        peer: Address,
        /// Called TSAP-ID; empty if the CR has none.
        called: Bytes,
        /// Calling TSAP-ID; empty if the CR has none.
        calling: Bytes,
        /// User data.
        data: Bytes,
    },
    /// T-CONNECT confirm: the connection is open.
    Confirm {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// User data of the answer.
        data: Bytes,
    },
    /// At the accepting side: the handshake is complete.
    Established {
        /// Endpoint of the connection.
        endpoint: Endpoint,
    },
    /// T-DATA indication, one per DT in sequence.
    Data {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// User data of one DT.
        octets: Bytes,
        /// True if the TSDU ends with it.
        end: bool,
    },
    /// T-EXPEDITED-DATA indication.
    Expedited {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Expedited data.
        data: Bytes,
    },
    /// Expedited data was refused: it was not agreed, is not 1 to 16 octets long, or too much is
    /// waiting.
    ExpeditedRefused {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Returned data.
        data: Bytes,
    },
    /// A TSDU was not accepted because the queue is full. [`Indication::Ready`] follows when there
    /// is room.
    Full {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Returned TSDU.
        tsdu: Bytes,
    },
    /// There is room for more TSDUs.
    Ready {
        /// Endpoint of the connection.
        endpoint: Endpoint,
    },
    /// All data queued so far has been acknowledged.
    Drained {
        /// Endpoint of the connection.
        endpoint: Endpoint,
    },
    /// T-DISCONNECT indication: the connection has ended, or was never opened.
    Disconnect {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Reason of the end.
        reason: Reason,
    },
}

/// Reason of an end that this side did not request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// The peer sent a DR with this reason code.
    ByPeer(u8),
    /// The CR or CC was sent N times without an answer.
    NoAnswer,
    /// A DT was sent N times and not acknowledged.
    NotAcknowledged,
    /// No TPDU arrived for the inactivity time I.
    PeerSilent,
    /// The CC exceeded the proposal.
    NegotiationFailed,
    /// Protocol violation, reported by the peer (ER) or detected here.
    ProtocolError,
    /// This entity has the maximum number of connections.
    TooManyConnections,
}

impl Reason {
    /// Text of the reason.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::ByPeer(disconnect_reason::NORMAL) => "released by the peer",
            Self::ByPeer(disconnect_reason::CONGESTION_AT_CONNECT) => "refused: peer congested",
            Self::ByPeer(disconnect_reason::NEGOTIATION_FAILED) => "refused: negotiation failed",
            Self::ByPeer(disconnect_reason::ADDRESS_UNKNOWN) => "refused: no such TSAP",
            Self::ByPeer(disconnect_reason::MISMATCHED_REFERENCES) => {
                "disconnected by the peer: references do not match"
            }
            Self::ByPeer(_) => "disconnected by the peer",
            Self::NoAnswer => "no answer",
            Self::NotAcknowledged => "data not acknowledged",
            Self::PeerSilent => "peer silent",
            Self::NegotiationFailed => "negotiation failed",
            Self::ProtocolError => "protocol error",
            Self::TooManyConnections => "too many connections here",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByPeer(code) => write!(f, "{} (reason {code})", self.text()),
            _ => f.write_str(self.text()),
        }
    }
}

/// Reason codes of a DR (ISO 8073 13.5.3) that this entity sends.
pub mod disconnect_reason {
    /// Reason not specified.
    pub const NOT_SPECIFIED: u8 = 0;
    /// Unknown TSAP-ID.
    pub const ADDRESS_UNKNOWN: u8 = 3;
    /// Normal disconnect by the user.
    pub const NORMAL: u8 = 128;
    /// Congestion at connect: no further connection is possible now.
    pub const CONGESTION_AT_CONNECT: u8 = 129;
    /// Negotiation of class or options failed.
    pub const NEGOTIATION_FAILED: u8 = 130;
    /// Mismatched references.
    pub const MISMATCHED_REFERENCES: u8 = 132;
    /// Protocol error of the peer.
    pub const PROTOCOL_ERROR: u8 = 133;
    /// Invalid length of a header or parameter.
    pub const INVALID_LENGTH: u8 = 138;
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

/// Event counters of an entity.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// TPDUs sent, by kind in the order of [`Kind::ALL`], retransmissions included.
    pub sent: [u64; 10],
    /// TPDUs received that belonged to a connection, by kind.
    pub received: [u64; 10],
    /// Expiries of T1 that caused a retransmission.
    pub t1: u64,
    /// Retransmitted DTs.
    pub sent_again: u64,
    /// TPDUs abandoned after N transmissions.
    pub gave_up: u64,
    /// Expiries of W, which caused an AK.
    pub window_timer: u64,
    /// Expiries of I: connections with a silent peer.
    pub inactivity: u64,
    /// Times at which data was waiting without credit.
    pub closed_window: u64,
    /// Wraps of DT numbers to zero.
    pub sequence_wraps: u64,
    /// DTs delayed because their number had been used less than a lifetime ago.
    pub number_waits: u64,
    /// DTs received before one with a lower number.
    pub out_of_order: u64,
    /// Duplicate DTs received.
    pub duplicates: u64,
    /// DTs received beyond the credit.
    pub outside_window: u64,
    /// AKs received that are older than a previous one, or for DTs never sent.
    pub stale_acknowledgements: u64,
    /// TPDUs with a wrong checksum, or without the agreed checksum.
    pub bad_checksum: u64,
    /// TPDUs that could not be decoded.
    pub malformed: u64,
    /// TPDUs that violated the protocol with a correct checksum (6.22).
    pub protocol_errors: u64,
    /// AKs sent to confirm window information of the peer (12.2.3.9).
    pub confirmations: u64,
    /// AKs repeated because the peer might not have received that the window is open (12.2.3.8).
    pub acknowledgements_again: u64,
    /// AKs that reduced credit.
    pub credit_reductions: u64,
    /// Retransmitted EDs.
    pub expedited_again: u64,
    /// Duplicate EDs received.
    pub expedited_duplicates: u64,
    /// TPDUs joined to the NSDU of the one before.
    pub concatenated: u64,
    /// TPDUs for an unassigned reference, or from another peer than the connection's.
    pub unknown_reference: u64,
    /// TPDUs for a frozen reference.
    pub frozen_reference: u64,
    /// Connections refused by this entity.
    pub refusals: u64,
    /// Connections opened.
    pub opened: u64,
}
