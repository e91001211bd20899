//! What passes between a connection, its user, its network and its watchers.

use super::table::Class;
use bytes::Bytes;
use core::fmt;
use core::time::Duration;
use wire::packet::Packet;
use wire::read::Malformed;
use wire::tp::Kind;
use wire::tpkt;

pub use crate::tp4::disconnect_reason;

/// How a connection behaves. All of it is a matter of this side alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// The class preferred when calling; class 0 is always named as the alternative to class 2.
    pub class: Class,
    /// Whether a caller that prefers class 2 gets it. Else it gets class 0, if that will do.
    pub accepts_class2: bool,
    /// The largest TPDU, 128 octets to 65,531. A caller of class 0 proposes the longest or, as the
    /// standard has no more for it, 2,048 at most.
    pub tpdu_octets: usize,
    /// Octets of TSDUs that may wait to be sent.
    pub queue_octets: usize,
    /// Octets that may be handed to the network and not be taken by it yet.
    pub network_octets: usize,
    /// DTs that the peer may send ahead, 1 to 15 (class 2 with explicit flow control).
    pub credit: u8,
    /// How long the peer may take to open the network connection, to send a CR, to answer one, and to
    /// release (TS).
    pub patience: Duration,
}

impl Params {
    /// Class 0 as RFC 1006 has it: TPDUs as long as a packet takes, a peer that has ten seconds.
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

    /// The TPDU size, brought within what there is.
    pub(super) fn tpdu_octets(&self) -> usize {
        self.tpdu_octets.clamp(128, tpkt::LONGEST_TPDU)
    }
}

/// What passes between a connection and its network connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Network {
    /// Out: N-CONNECT request. In: the network connection is there, asked for or not.
    Connect,
    /// N-DATA: one NSDU, which is one TPDU or, in class 2, several concatenated.
    Data(Packet),
    /// In: the network has taken so many octets of the NSDUs handed to it, and has room for more.
    Taken {
        /// Octets, headers of the network not counted.
        octets: usize,
    },
    /// Out: N-DISCONNECT request, once what was handed over is through. In: it is gone.
    Disconnect,
}

/// What a user asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// T-CONNECT request.
    Connect {
        /// The TSAP-ID of the user called, up to 32 octets; none where empty.
        called: Bytes,
        /// The TSAP-ID of the user that calls, up to 32 octets; none where empty.
        calling: Bytes,
    },
    /// T-CONNECT response: yes.
    Accept,
    /// T-DATA request: one TSDU of at least one octet.
    Data {
        /// The TSDU.
        tsdu: Bytes,
    },
    /// T-DISCONNECT request; also the answer no to a connect indication. TSDUs that wait are lost.
    Disconnect {
        /// A reason from [`disconnect_reason`]; class 0 has no way to tell it once it is open.
        reason: u8,
    },
}

/// Whom a CR names, and what it offers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Called {
    /// The TSAP-ID called; empty where the CR names none.
    pub called: Bytes,
    /// The TSAP-ID of the caller; empty where the CR names none.
    pub calling: Bytes,
    /// The class there will be.
    pub class: Class,
}

/// What a user is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// T-CONNECT indication: somebody wants a connection.
    Connect(Called),
    /// T-CONNECT confirm: it is open.
    Confirm {
        /// The class agreed on.
        class: Class,
    },
    /// T-DATA indication, piece by piece: each DT as it comes.
    Data {
        /// User data of one DT.
        octets: Bytes,
        /// Whether the TSDU ends with it.
        end: bool,
    },
    /// A TSDU was not taken: the queue is full. [`Indication::Ready`] follows when it is not.
    Full {
        /// The TSDU, handed back.
        tsdu: Bytes,
    },
    /// There is room for more TSDUs.
    Ready,
    /// The network has taken everything handed over so far. Nobody has acknowledged it: these classes
    /// have no way to.
    Drained,
    /// T-DISCONNECT indication: it is over, or never was.
    Disconnect {
        /// Why.
        reason: Reason,
    },
}

/// Why a connection ended without this side asking.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// The peer sent a DR with this reason code.
    ByPeer(u8),
    /// The network connection was released: class 0's way to say goodbye.
    Released,
    /// The network connection was gone before the connection was open, or without the DR that class 2
    /// asks for.
    NetworkLost,
    /// The peer took longer than TS.
    NoAnswer,
    /// The CC asked for what was not offered.
    NegotiationFailed,
    /// The peer reported a protocol error (ER).
    ErReceived,
    /// The peer broke the protocol.
    ProtocolError,
}

impl Reason {
    /// In words.
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

/// What watchers are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Octets came in that are no TPDU.
    Malformed(Malformed),
    /// A TPDU came in that has no business where it came.
    OutOfPlace(Kind),
    /// A DT was longer than agreed, or outside the credit given.
    Excess(Kind),
    /// A TPDU came for another connection.
    Misdirected(Kind),
}

/// What a connection has counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// TPDUs sent, by kind.
    pub sent: [u64; 10],
    /// TPDUs received, by kind.
    pub received: [u64; 10],
    /// NSDUs in which something was no TPDU.
    pub malformed: u64,
    /// Times a DT had to wait for credit.
    pub closed_window: u64,
}
