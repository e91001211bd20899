//! Primitives of the presentation service (ISO 8822), parameters and notes.

use crate::session;
use bytes::Bytes;
use wire::read::Malformed;

/// Name of an abstract syntax: the contents of an object identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Syntax(pub &'static [u8]);

impl Syntax {
    /// ACSE, 2.2.1.0.1.
    pub const ACSE: Self = Self(wire::acse::SYNTAX.0);
    /// MMS, 1.0.9506.2.1.
    pub const MMS: Self = Self(&[0x28, 0xCA, 0x22, 2, 1]);
}

/// Parameters of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Abstract syntaxes that are proposed, with the identifiers 1, 3, 5 and so on, and accepted.
    pub syntaxes: Vec<Syntax>,
}

impl Params {
    /// ACSE and MMS, in the order that all peers accept.
    #[must_use]
    pub fn mms() -> Self {
        Self { syntaxes: vec![Syntax::ACSE, Syntax::MMS] }
    }
}

/// Selectors of a service access point above transport; empty ones are absent.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Selectors {
    /// PSAP selector.
    pub presentation: Bytes,
    /// SSAP selector.
    pub session: Bytes,
}

/// Selectors of both ends.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Addresses {
    /// Calling end.
    pub calling: Selectors,
    /// Called end.
    pub called: Selectors,
}

/// Data value in its context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pdv {
    /// Presentation context; 0 without a presentation layer.
    pub context: i64,
    /// Octets in the transfer syntax.
    pub octets: Bytes,
}

/// Primitive of the presentation service: a request or response of the user, or an indication or
/// confirm to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Primitive {
    /// P-CONNECT request and indication.
    Connect {
        /// Selectors.
        addresses: Addresses,
        /// User data.
        data: Pdv,
    },
    /// P-CONNECT response and confirm, accepting.
    Accept {
        /// User data.
        data: Pdv,
    },
    /// P-CONNECT response and confirm, refusing. A response has the refusal by the user.
    Refuse {
        /// Source and reason.
        refusal: Refusal,
        /// User data.
        data: Option<Pdv>,
    },
    /// P-DATA request and indication.
    Data(Pdv),
    /// P-RELEASE request and indication.
    Release {
        /// User data.
        data: Option<Pdv>,
    },
    /// P-RELEASE response and confirm.
    Released {
        /// User data.
        data: Option<Pdv>,
    },
    /// P-U-ABORT request and indication.
    Abort {
        /// User data.
        data: Option<Pdv>,
    },
    /// P-P-ABORT indication.
    ProviderAbort {
        /// Reason.
        reason: Reason,
    },
}

/// Source and reason of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Refusal {
    /// User.
    User,
    /// Presentation entity, with the reason of the CPR (ISO 8823 8.2): 1 temporary congestion, 2
    /// local limit exceeded, 3 called address unknown, 4 version not supported, 5 default context
    /// not supported, 6 user data not readable, 7 no PSAP available.
    Presentation(i64),
    /// Session entity, with the reason of the RF.
    Session(u8),
}

/// Reason of a P-P-ABORT.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// S-P-ABORT.
    Session(session::Reason),
    /// This side received a PPDU that is invalid or not permitted, or data of an unknown context.
    ProtocolError,
    /// The peer sent an ARP with this reason, or none.
    ByPeer(Option<i64>),
}

/// Note for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// User data arrived that is no PPDU of its SPDU.
    Malformed(Malformed),
    /// Data arrived in a context that was not agreed.
    UnknownContext(i64),
    /// A request of the user is not permitted now.
    Refused,
}
