//! Primitives of the transport service (ISO 8072), with addresses, endpoints and reasons.

use crate::network::NetworkConnectionId;
use bytes::Bytes;
use core::fmt;
use wire::addr::Mac;

/// Address of a peer's transport entity. On a network with connections, it is a number that stands
/// for the peer, because the driver selects the remote end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Address {
    /// Station of this LAN.
    Station(Mac),
}

/// Transport connection endpoint: identifier of a user's end of a connection. Never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl Endpoint {
    /// Network connection of an endpoint of class 0 or 2.
    pub(crate) const fn line(self) -> NetworkConnectionId {
        NetworkConnectionId(self.slot)
    }
}

impl From<NetworkConnectionId> for Endpoint {
    /// Endpoint of the transport connection on a network connection.
    fn from(line: NetworkConnectionId) -> Self {
        Self { slot: line.0, generation: 0 }
    }
}

/// Request of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// T-CONNECT request, for an endpoint from [`Transport::endpoint`](super::Transport::endpoint).
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
        /// User data, up to 32 octets; omitted in class 0.
        data: Bytes,
    },
    /// T-DATA request: one TSDU of any length, at least one octet.
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
    /// Withdraws unused receive buffers from a connection of class 4: credit is reduced. [`Request::GiveBack`]
    /// returns them.
    Withdraw {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Number of buffers.
        buffers: u32,
    },
    /// Returns receive buffers: those of consumed DTs, if the user holds them under
    /// [`tp4::Credit::is_by_user`](crate::tp4::Credit::is_by_user), or withdrawn ones.
    GiveBack {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Number of buffers, one for each [`Indication::Data`].
        buffers: u32,
    },
    /// T-DISCONNECT request; also the refusal of a connect indication. Waiting TSDUs are lost. An
    /// open connection of class 0 cannot transmit the reason.
    Disconnect {
        /// Endpoint of the connection.
        endpoint: Endpoint,
        /// Reason from [`disconnect_reason`].
        reason: u8,
    },
}

impl Request {
    /// Endpoint of the connection.
    #[must_use]
    pub const fn endpoint(&self) -> Endpoint {
        match self {
            Self::Connect { endpoint, .. }
            | Self::Accept { endpoint, .. }
            | Self::Data { endpoint, .. }
            | Self::Expedited { endpoint, .. }
            | Self::Withdraw { endpoint, .. }
            | Self::GiveBack { endpoint, .. }
            | Self::Disconnect { endpoint, .. } => *endpoint,
        }
    }
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
    /// All data passed so far has been acknowledged; in class 0 and 2, accepted by the network.
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
    /// In class 0 and 2: the network connection has ended, after whichever request. All data passed
    /// to it was delivered or is lost. No other indication of the endpoint follows.
    Closed {
        /// Endpoint of the connection.
        endpoint: Endpoint,
    },
}

/// Reason of an end that this side did not request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// The peer sent a DR with this reason code.
    ByPeer(u8),
    /// In class 0, the regular release: the network connection was released.
    Released,
    /// The network connection ended before the connection was open, or without the DR that class 2
    /// requires.
    NetworkLost,
    /// The CR or CC was sent N times without an answer; in class 0 and 2, the peer exceeded TS.
    NoAnswer,
    /// A DT was sent N times and not acknowledged.
    NotAcknowledged,
    /// No TPDU arrived for the inactivity time I.
    PeerSilent,
    /// The CC exceeded the proposal.
    NegotiationFailed,
    /// Protocol violation, reported by the peer (ER) or detected here.
    ProtocolError,
    /// In class 0 and 2: the peer reported a protocol error (ER).
    ErReceived,
    /// In class 0 and 2: the peer sent a TPDU that violates the protocol.
    InvalidTpdu,
    /// This entity has the maximum number of connections.
    TooManyConnections,
}

impl Reason {
    /// Text of the reason.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::ByPeer(disconnect_reason::NORMAL) | Self::Released => "released by the peer",
            Self::ByPeer(disconnect_reason::CONGESTION_AT_CONNECT) => "refused: peer congested",
            Self::ByPeer(disconnect_reason::NEGOTIATION_FAILED) => "refused: negotiation failed",
            Self::ByPeer(disconnect_reason::ADDRESS_UNKNOWN) => "refused: no such TSAP",
            Self::ByPeer(disconnect_reason::MISMATCHED_REFERENCES) => {
                "disconnected by the peer: references do not match"
            }
            Self::ByPeer(_) => "disconnected by the peer",
            Self::NetworkLost => "network connection lost",
            Self::NoAnswer => "no answer",
            Self::NotAcknowledged => "data not acknowledged",
            Self::PeerSilent => "peer silent",
            Self::NegotiationFailed => "negotiation failed",
            Self::ProtocolError => "protocol error",
            Self::ErReceived => "the peer reports a protocol error",
            Self::InvalidTpdu => "protocol error of the peer",
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

/// Event counters of an entity.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// TPDUs sent, by kind in the order of [`wire::tp::Kind::ALL`], retransmissions included.
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
