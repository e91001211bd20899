//! Primitives of CASE, parameters and notes.

use crate::{acse, session, upper};
use bytes::Bytes;
use wire::read::Malformed;

/// Maximum number of requests that wait for the acknowledgement of a message with EOT.
pub const MOST_HELD: usize = 64;

/// Parameters of an association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Layers below.
    pub joint: upper::Params,
}

impl Params {
    /// MAP 2.1: session version 1 and null presentation.
    #[must_use]
    pub const fn map_2_1() -> Self {
        let context_name = acse::ContextName::CASE;
        Self {
            joint: upper::Params {
                session: session::Params::version_1(),
                presentation: None,
                association: acse::Params { context_name, context: 0 },
            },
        }
    }
}

/// Request or response of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// A-ASSOCIATE, A-RELEASE or A-ABORT.
    Association(acse::Primitive),
    /// A-TRANSFER.
    Transfer {
        /// User data: at most [`wire::case::LONGEST`] octets.
        data: Bytes,
        /// End Of Transmission: later requests wait until the transport has acknowledged it.
        eot: bool,
    },
}

/// Indication or confirm to a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// A-ASSOCIATE, A-RELEASE, A-ABORT or A-P-ABORT.
    Association(acse::Primitive),
    /// A-TRANSFER.
    Transfer {
        /// User data.
        data: Bytes,
    },
    /// The transport has acknowledged a message with EOT.
    Acknowledged,
}

/// Note for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Layer below.
    Below(upper::Note),
    /// Octets arrived that are no APDU of CASE.
    Malformed(Malformed),
    /// An APDU of association control arrived as data.
    OutOfPlace,
    /// A request is not permitted in this state.
    Refused,
    /// The data of a request is longer than an A-TRANSFER permits.
    TooLong,
    /// [`MOST_HELD`] requests wait already: this one is dropped.
    Full,
    /// The association ended, and this number of held requests is dropped.
    Dropped(usize),
}
