//! Primitives of the session service (ISO 8326), parameters and notes.

use bytes::Bytes;
use core::time::Duration;
use wire::read::Malformed;
use wire::session::{Kind, VERSION_1, VERSION_2};

/// Longest user data of CN, AC, FN, DN and AB in version 1 (ISO 8327 8.3).
pub const LONGEST_IN_VERSION_1: usize = 512;
/// Longest user data of CN in version 2 without an overflow (ISO 8327 8.3.1.20).
pub const LONGEST_IN_VERSION_2: usize = 10_240;

/// Parameters of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Versions that are proposed and accepted: one bit each.
    pub versions: u8,
    /// True to keep the transport connection after an S-U-ABORT request.
    pub keeps_transport: bool,
    /// Time to wait for a T-DISCONNECT indication, an AA or a CN (TIM).
    pub patience: Duration,
}

impl Params {
    /// Version 1, for MAP 2.1.
    #[must_use]
    pub const fn version_1() -> Self {
        Self { versions: VERSION_1, ..Self::version_2() }
    }

    /// Version 2, for MAP 3.0 and MMS. Some peers refuse a CN that proposes version 1 as well.
    #[must_use]
    pub const fn version_2() -> Self {
        Self { versions: VERSION_2, keeps_transport: false, patience: Duration::from_secs(5) }
    }

    /// Longest user data of a CN.
    #[must_use]
    pub const fn longest(&self) -> usize {
        if self.versions & VERSION_2 == 0 { LONGEST_IN_VERSION_1 } else { LONGEST_IN_VERSION_2 }
    }
}

/// Primitive of the session service: a request or response of the user, or an indication or confirm
/// to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Primitive {
    /// S-CONNECT request and indication.
    Connect {
        /// Calling SSAP selector; empty for none.
        calling: Bytes,
        /// Called SSAP selector; empty for none.
        called: Bytes,
        /// User data.
        data: Bytes,
    },
    /// S-CONNECT response and confirm, accepting.
    Accept {
        /// User data.
        data: Bytes,
    },
    /// S-CONNECT response and confirm, refusing.
    Refuse {
        /// Reason (ISO 8327 8.3.5.10): 0 to 2 by the user, from 128 by the provider.
        reason: u8,
        /// User data.
        data: Bytes,
    },
    /// S-DATA request and indication.
    Data {
        /// SSDU.
        ssdu: Bytes,
    },
    /// S-RELEASE request and indication.
    Release {
        /// User data.
        data: Bytes,
    },
    /// S-RELEASE response and confirm.
    Released {
        /// User data.
        data: Bytes,
    },
    /// S-U-ABORT request and indication.
    Abort {
        /// User data.
        data: Bytes,
    },
    /// S-P-ABORT indication.
    ProviderAbort {
        /// Reason.
        reason: Reason,
    },
}

/// Reason of an S-P-ABORT.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// The transport connection was lost, or did not open.
    TransportLost,
    /// This side received an SPDU that is invalid or not permitted.
    ProtocolError,
    /// The peer reported a protocol error, or gave no reason.
    ByPeer,
    /// User data is longer than the version permits; the request had no other effect.
    TooLong,
}

impl Reason {
    /// Text of the reason.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::TransportLost => "transport connection lost",
            Self::ProtocolError => "session protocol error of the peer",
            Self::ByPeer => "aborted by the peer's session layer",
            Self::TooLong => "user data longer than the session version permits",
        }
    }
}

/// Transport connection below: its primitives in both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Below {
    /// Out: T-CONNECT request. In: T-CONNECT indication, accepted, or confirm.
    Connect,
    /// T-DATA: one TSDU.
    Data(Bytes),
    /// Out: T-DISCONNECT request. In: T-DISCONNECT indication.
    Disconnect,
}

/// Note for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A TSDU arrived that is no SPDU.
    Malformed(Malformed),
    /// An SPDU arrived that is not permitted in this state.
    OutOfPlace(Kind),
    /// A request of the user is not permitted in this state.
    Refused,
}
