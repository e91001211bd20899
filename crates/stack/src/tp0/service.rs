//! Parameters of the connections, and notes for observers.

use super::table::Class;
use core::time::Duration;
use wire::read::Malformed;
use wire::tp::Kind;
use wire::tpkt;

/// Parameters of a connection. All of them are local to this side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Maximum number of connections, in any state.
    pub connections: usize,
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
            connections: 256,
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
