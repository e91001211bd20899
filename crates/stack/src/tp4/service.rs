//! What passes between the transport entity, its users, its network and its watchers.

use core::fmt;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::tp::{Kind, Reference};

use bytes::Bytes;

/// Where a peer's transport entity is reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Address {
    /// A station of this LAN, over the inactive subset of CLNP.
    Station(Mac),
}

/// A network service data unit to or from a peer: one TPDU, or several concatenated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nsdu {
    /// Whom it goes to or comes from.
    pub peer: Address,
    /// The TPDUs.
    pub packet: Packet,
}

/// A transport connection endpoint: a user's name for its end of a connection. Never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// What a user asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// T-CONNECT request, for an endpoint from [`super::Entity::endpoint`].
    Connect {
        /// The endpoint the connection shall have.
        endpoint: Endpoint,
        /// The peer.
        peer: Address,
        /// The TSAP-ID of the user called, up to 32 octets.
        called: Bytes,
        /// The TSAP-ID of the user that calls, up to 32 octets.
        calling: Bytes,
        /// User data, up to 32 octets.
        data: Bytes,
    },
    /// T-CONNECT response: yes.
    Accept {
        /// The endpoint indicated.
        endpoint: Endpoint,
        /// User data, up to 32 octets.
        data: Bytes,
    },
    /// T-DATA request: one TSDU of any length.
    Data {
        /// The connection.
        endpoint: Endpoint,
        /// The TSDU.
        tsdu: Bytes,
    },
    /// T-EXPEDITED-DATA request: 1 to 16 octets that overtake what is sent after them.
    Expedited {
        /// The connection.
        endpoint: Endpoint,
        /// The octets.
        data: Bytes,
    },
    /// The user takes buffers away from a connection that nobody has filled: credit is reduced.
    /// [`Request::GiveBack`] returns them.
    Withdraw {
        /// The connection.
        endpoint: Endpoint,
        /// Buffers.
        buffers: u32,
    },
    /// The user gives back buffers: of DTs it has consumed, where [`super::Credit::is_by_user`] says that
    /// it holds them, or those it withdrew.
    GiveBack {
        /// The connection.
        endpoint: Endpoint,
        /// Buffers, one for each [`Indication::Data`].
        buffers: u32,
    },
    /// T-DISCONNECT request; also the answer no to a connect indication.
    Disconnect {
        /// The connection.
        endpoint: Endpoint,
        /// A reason from [`disconnect_reason`].
        reason: u8,
    },
}

/// What a user is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// T-CONNECT indication: somebody wants a connection.
    Connect {
        /// The endpoint it has here.
        endpoint: Endpoint,
        /// Who asks.
        peer: Address,
        /// The TSAP-ID called; empty where the CR names none.
        called: Bytes,
        /// The TSAP-ID of the caller; empty where the CR names none.
        calling: Bytes,
        /// User data.
        data: Bytes,
    },
    /// T-CONNECT confirm: it is open.
    Confirm {
        /// The connection.
        endpoint: Endpoint,
        /// User data of the answer.
        data: Bytes,
    },
    /// At the side that accepted: the handshake is complete.
    Established {
        /// The connection.
        endpoint: Endpoint,
    },
    /// T-DATA indication, piece by piece: each DT as it comes into sequence.
    Data {
        /// The connection.
        endpoint: Endpoint,
        /// User data of one DT.
        octets: Bytes,
        /// Whether the TSDU ends with it.
        end: bool,
    },
    /// T-EXPEDITED-DATA indication.
    Expedited {
        /// The connection.
        endpoint: Endpoint,
        /// The octets.
        data: Bytes,
    },
    /// Expedited data was not taken: it was not agreed on, is not of 1 to 16 octets, or too much waits.
    ExpeditedRefused {
        /// The connection.
        endpoint: Endpoint,
        /// The octets, handed back.
        data: Bytes,
    },
    /// A TSDU was not taken: the queue is full. [`Indication::Ready`] follows when it is not.
    Full {
        /// The connection.
        endpoint: Endpoint,
        /// The TSDU, handed back.
        tsdu: Bytes,
    },
    /// There is room for more TSDUs.
    Ready {
        /// The connection.
        endpoint: Endpoint,
    },
    /// Everything handed over so far has been acknowledged.
    Drained {
        /// The connection.
        endpoint: Endpoint,
    },
    /// T-DISCONNECT indication: it is over, or never was.
    Disconnect {
        /// The connection.
        endpoint: Endpoint,
        /// Why.
        reason: Reason,
    },
}

/// Why a connection ended without this side asking.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// The peer sent a DR with this reason code.
    ByPeer(u8),
    /// The CR or CC was sent N times and nothing came back.
    NoAnswer,
    /// A DT was sent N times and not acknowledged.
    NotAcknowledged,
    /// Nothing was heard for the inactivity time I.
    PeerSilent,
    /// The CC asked for what was not offered.
    NegotiationFailed,
    /// One side broke the protocol: the peer said so (ER), or did so here.
    ProtocolError,
    /// This entity has as many connections as it may.
    TooManyConnections,
}

impl Reason {
    /// In words.
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

/// The reason codes of a DR (ISO 8073 13.5.3) that this entity sends.
pub mod disconnect_reason {
    /// No reason given.
    pub const NOT_SPECIFIED: u8 = 0;
    /// No user has this TSAP-ID.
    pub const ADDRESS_UNKNOWN: u8 = 3;
    /// The user is done.
    pub const NORMAL: u8 = 128;
    /// The entity cannot take another connection now.
    pub const CONGESTION_AT_CONNECT: u8 = 129;
    /// Class or options cannot be agreed on.
    pub const NEGOTIATION_FAILED: u8 = 130;
    /// The references are not those of a connection here.
    pub const MISMATCHED_REFERENCES: u8 = 132;
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: u8 = 133;
    /// A header or parameter has an invalid length.
    pub const INVALID_LENGTH: u8 = 138;
}

/// What watchers are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A TPDU was sent again.
    SentAgain {
        /// The connection.
        endpoint: Endpoint,
        /// What.
        kind: Kind,
    },
    /// A TPDU was thrown away.
    Discarded {
        /// To whom it was addressed.
        reference: Option<Reference>,
        /// Why.
        reason: &'static str,
    },
}

/// How often things happened in an entity since it was made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// TPDUs sent, by kind in the order of [`Kind::ALL`], retransmissions included.
    pub sent: [u64; 10],
    /// TPDUs received that belonged to a connection, by kind.
    pub received: [u64; 10],
    /// T1 ran out: something was sent again.
    pub t1: u64,
    /// DTs sent again.
    pub sent_again: u64,
    /// Something was sent N times and given up.
    pub gave_up: u64,
    /// W ran out: an AK was sent to keep the peer informed.
    pub window_timer: u64,
    /// I ran out: the peer was silent.
    pub inactivity: u64,
    /// There was data to send and no credit to send it.
    pub closed_window: u64,
    /// DT numbers started over at zero.
    pub sequence_wraps: u64,
    /// A DT had to wait because its number had been in use less than a lifetime ago.
    pub number_waits: u64,
    /// DTs that arrived before one with a lower number.
    pub out_of_order: u64,
    /// DTs that had arrived before.
    pub duplicates: u64,
    /// DTs beyond the credit granted.
    pub outside_window: u64,
    /// AKs older than one already seen, or for DTs never sent.
    pub stale_acknowledgements: u64,
    /// TPDUs whose checksum did not come out, or was missing though agreed on.
    pub bad_checksum: u64,
    /// TPDUs that could not be decoded.
    pub malformed: u64,
    /// TPDUs that were as the peer sent them and broke the protocol (6.22).
    pub protocol_errors: u64,
    /// AKs sent to confirm what the peer said of its window (12.2.3.9).
    pub confirmations: u64,
    /// AKs sent again because the peer might not know that the window is open (12.2.3.8).
    pub acknowledgements_again: u64,
    /// AKs that took credit back.
    pub credit_reductions: u64,
    /// EDs sent again.
    pub expedited_again: u64,
    /// EDs that had arrived before.
    pub expedited_duplicates: u64,
    /// TPDUs that shared the NSDU of the one before.
    pub concatenated: u64,
    /// TPDUs for a reference nobody has, or from another peer than its connection's.
    pub unknown_reference: u64,
    /// TPDUs for a frozen reference.
    pub frozen_reference: u64,
    /// Connections refused here.
    pub refusals: u64,
    /// Connections that opened.
    pub opened: u64,
}
