//! One PDU with all that is known of it: what measures are made from.

use wire::time::Instant;
use wire::tp::Kind;

/// Something that was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// A link PDU.
    Lpdu {
        /// When.
        at: Instant,
        /// MAC and LLC header and what they carry; neither pad nor FCS.
        octets: u64,
    },
    /// A network PDU.
    Npdu {
        /// Network header and what it carries.
        octets: u64,
    },
    /// A transport PDU.
    Tpdu(Tpdu),
}

/// A TPDU and its place in its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tpdu {
    /// What it is.
    pub kind: Kind,
    /// Length indicator, fixed and variable part.
    pub header_octets: u64,
    /// User data.
    pub data_octets: u64,
    /// Whether it had been sent before (for an AK: whether it says nothing new).
    pub retransmitted: bool,
    /// TSDUs of which it was the last part to be seen.
    pub finished_tsdus: u64,
    /// User data of those TSDUs.
    pub finished_tsdu_octets: u64,
    /// What it did to its connection.
    pub step: Option<Step>,
}

/// A step in the life of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// A CR asked for it.
    Requested,
    /// A CC confirmed it.
    Established,
    /// A DR refused it.
    Refused,
    /// A DR ended it, or its opening, because the two sides could not agree (reason 130).
    NotAgreed,
    /// A DR ended it.
    Ended,
}
