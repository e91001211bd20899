//! Interfaces of a connection: to its user, its network and observers.

use super::table::Class;
use bytes::Bytes;
use core::fmt;
use core::time::Duration;
use wire::packet::Packet;
use wire::read::Malformed;
use wire::tp::Kind;
use wire::tpkt;

pub use crate::tp4::disconnect_reason;

/// Parameters of a connection. All of them are local to this side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Preferred class when calling; class 0 is always named as the alternative to class 2.
    pub class: Class,
    /// True to accept class 2 from a caller that prefers it. Otherwise it gets class 0, if
    /// acceptable to it.
    pub accepts_class2: bool,
    /// Maximum TPDU size, 128 octets to 65,531. A caller of class 0 proposes the longest, or at
    /// most 2,048, the limit of the standard.
    pub tpdu_octets: usize,
    /// Maximum octets of TSDUs waiting to be sent.
    pub queue_octets: usize,
    /// Maximum octets passed to the network and not yet accepted by it.
    pub network_octets: usize,
    /// Number of DTs that the peer may send ahead, 1 to 15 (class 2 with explicit flow control).
    pub credit: u8,
    /// Maximum time for the peer to open the network connection, to send a CR, to answer one, and
    /// to release (TS).
    pub patience: Duration,
}

impl Params {
    /// Class 0 over RFC 1006: TPDUs as long as a packet permits, and ten seconds for the peer.
    #[must_use]
    pub const fn class0() -> Self {
        Self {
            class: Class::Class0,
            accepts_class2: true,
            tpdu_octets: tpkt::LONGEST_TPDU,
            queue_octets: 256 * 1_024,
            network_octets: 64 * 1_024,
            credit: 15,
            patience: Duration::from_secs(10),
        }
    }

    /// TPDU size, limited to the valid range.
    pub(super) fn tpdu_octets(&self) -> usize {
        self.tpdu_octets.clamp(128, tpkt::LONGEST_TPDU)
    }
}

/// Interface between a connection and its network connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Network {
    /// Out: N-CONNECT request. In: the network connection exists, requested by either side.
    Connect,
    /// N-DATA: one NSDU, which is one TPDU or, in class 2, several concatenated.
    Data(Packet),
    /// In: the network has accepted octets of the NSDUs passed to it, and has room for more.
    Taken {
        /// Number of octets, without headers of the network.
        octets: usize,
    },
    /// Out: N-DISCONNECT request, to be executed after all data was delivered. In: the network
    /// connection is gone.
    Disconnect,
}

/// Request of the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// T-CONNECT request.
    Connect {
        /// TSAP-ID of the called user, up to 32 octets; omitted if empty.
        called: Bytes,
        /// TSAP-ID of the calling user, up to 32 octets; omitted if empty.
        calling: Bytes,
    },
    /// T-CONNECT response: acceptance.
    Accept,
    /// T-DATA request: one TSDU of at least one octet.
    Data {
        /// TSDU.
        tsdu: Bytes,
    },
    /// T-DISCONNECT request; also the refusal of a connect indication. Waiting TSDUs are lost.
    Disconnect {
        /// Reason from [`disconnect_reason`]; an open class 0 connection cannot transmit it.
        reason: u8,
    },
}

/// Called user, calling user and class of a CR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Called {
    /// Called TSAP-ID; empty if the CR has none.
    pub called: Bytes,
    /// Calling TSAP-ID; empty if the CR has none.
    pub calling: Bytes,
    /// Class that will be used.
    pub class: Class,
}

/// Indication to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// T-CONNECT indication: a peer requests a connection.
    Connect(Called),
    /// T-CONNECT confirm: the connection is open.
    Confirm {
        /// Agreed class.
        class: Class,
    },
    /// T-DATA indication, one per DT received.
    Data {
        /// User data of one DT.
        octets: Bytes,
        /// True if the TSDU ends with it.
        end: bool,
    },
    /// A TSDU was not accepted because the queue is full. [`Indication::Ready`] follows when there
    /// is room.
    Full {
        /// Returned TSDU.
        tsdu: Bytes,
    },
    /// There is room for more TSDUs.
    Ready,
    /// The network has accepted all data passed to it so far. This is not an acknowledgement by the
    /// peer: these classes have none.
    Drained,
    /// T-DISCONNECT indication: the connection has ended, or was never opened.
    Disconnect {
        /// Reason of the end.
        reason: Reason,
    },
}

/// Reason of an end that this side did not request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// The peer sent a DR with this reason code.
    ByPeer(u8),
    /// The network connection was released: the regular release in class 0.
    Released,
    /// The network connection ended before the connection was open, or without the DR that class 2
    /// requires.
    NetworkLost,
    /// The peer exceeded TS.
    NoAnswer,
    /// The CC exceeded the offer.
    NegotiationFailed,
    /// The peer reported a protocol error (ER).
    ErReceived,
    /// The peer violated the protocol.
    ProtocolError,
}

impl Reason {
    /// Text of the reason.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::ByPeer(code) => crate::tp4::Reason::ByPeer(code).text(),
            Self::Released => "released by the peer",
            Self::NetworkLost => "network connection lost",
            Self::NoAnswer => "no answer",
            Self::NegotiationFailed => "negotiation failed",
            Self::ErReceived => "the peer reports a protocol error",
            Self::ProtocolError => "protocol error of the peer",
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

/// Note for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Octets arrived that are not a TPDU.
    Malformed(Malformed),
    /// A TPDU arrived that is not permitted in this state or class.
    OutOfPlace(Kind),
    /// A TPDU was longer than agreed, or outside the credit.
    Excess(Kind),
    /// A TPDU arrived for another connection.
    Misdirected(Kind),
}

/// Counters of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// TPDUs sent, by kind.
    pub sent: [u64; 10],
    /// TPDUs received, by kind.
    pub received: [u64; 10],
    /// NSDUs that contained an invalid TPDU.
    pub malformed: u64,
    /// Number of times a DT had to wait for credit.
    pub closed_window: u64,
}
