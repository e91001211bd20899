//! Reasons for discarding PDUs (ISO 8473 7.9.1.4), their counters, and their encoding in error
//! reports.

use core::fmt;
use std::collections::BTreeMap;

/// Option of an error report that contains the reason.
const OPTION: u8 = 0xC1;

/// Reason for discarding a PDU: an error type code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reason(pub u8);

impl Reason {
    /// Reason not specified.
    pub const NOT_SPECIFIED: Self = Self(0x00);
    /// Protocol procedure error.
    pub const PROTOCOL_PROCEDURE_ERROR: Self = Self(0x01);
    /// Incorrect checksum.
    pub const INCORRECT_CHECKSUM: Self = Self(0x02);
    /// Discarded due to congestion.
    pub const CONGESTION: Self = Self(0x03);
    /// The header cannot be parsed.
    pub const HEADER_SYNTAX_ERROR: Self = Self(0x04);
    /// The destination address is unknown.
    pub const DESTINATION_UNKNOWN: Self = Self(0x81);
    /// The lifetime expired while the data unit was in transit.
    pub const LIFETIME_EXPIRED_IN_TRANSIT: Self = Self(0xA0);
    /// The lifetime expired during reassembly.
    pub const LIFETIME_EXPIRED_IN_REASSEMBLY: Self = Self(0xA1);
    /// The version of the protocol is not supported.
    pub const UNSUPPORTED_VERSION: Self = Self(0xB1);
    /// A segment is inconsistent with the others of its data unit.
    pub const REASSEMBLY_INTERFERENCE: Self = Self(0xC0);
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NOT_SPECIFIED => f.write_str("reason not specified"),
            Self::PROTOCOL_PROCEDURE_ERROR => f.write_str("protocol procedure error"),
            Self::INCORRECT_CHECKSUM => f.write_str("incorrect checksum"),
            Self::CONGESTION => f.write_str("congestion"),
            Self::HEADER_SYNTAX_ERROR => f.write_str("header syntax error"),
            Self::DESTINATION_UNKNOWN => f.write_str("destination address unknown"),
            Self::LIFETIME_EXPIRED_IN_TRANSIT => f.write_str("lifetime expired in transit"),
            Self::LIFETIME_EXPIRED_IN_REASSEMBLY => f.write_str("lifetime expired in reassembly"),
            Self::UNSUPPORTED_VERSION => f.write_str("unsupported protocol version"),
            Self::REASSEMBLY_INTERFERENCE => f.write_str("reassembly interference"),
            Self(code) => write!(f, "discarded for reason {code:02x}"),
        }
    }
}

/// Encodes a reason as an option; the error is not localised to a field.
pub(super) const fn option(Reason(code): Reason) -> [u8; 4] {
    [OPTION, 2, code, 0]
}

/// Returns the reason in the options of an error report.
pub(super) fn reason_of(mut options: &[u8]) -> Reason {
    while let [code, length, rest @ ..] = options {
        let Some((value, behind)) = rest.split_at_checked(usize::from(*length)) else { break };
        if let (OPTION, [reason, ..]) = (*code, value) {
            return Reason(*reason);
        }
        options = behind;
    }
    Reason::NOT_SPECIFIED
}

/// Event counters of the network layer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// PDUs discarded, by reason.
    pub discarded: BTreeMap<Reason, u64>,
    /// Error reports received on PDUs sent from here, by reason.
    pub reported: BTreeMap<Reason, u64>,
    /// Segments sent of segmented NSDUs.
    pub segments_sent: u64,
    /// NSDUs too long to be sent.
    pub too_long: u64,
    /// Error reports sent.
    pub reports_sent: u64,
    /// PDUs of other or unknown network layer protocols.
    pub foreign: u64,
}

impl Counters {
    pub(super) const fn new() -> Self {
        Self {
            discarded: BTreeMap::new(),
            reported: BTreeMap::new(),
            segments_sent: 0,
            too_long: 0,
            reports_sent: 0,
            foreign: 0,
        }
    }

    pub(super) fn discard(&mut self, reason: Reason) {
        *self.discarded.entry(reason).or_default() += 1;
    }
}
