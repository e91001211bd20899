//! The transport protocol of ISO 8073 (RFC 905): every TPDU of classes 0 to 4.
//!
//! A network service data unit carries one or more TPDUs, concatenated (6.4): any number without user
//! data, then at most one that may carry some and reaches to the end. [`tpdus`] splits them; then
//! [`Pdu::decode`] gives each its meaning. RFC 905 prints the octet order of integers the wrong way
//! round (13.2): they are big-endian, and EOT is the top bit of the sequence number.
//!
//! Not here: UD of the connectionless protocol (ISO 8602); the meaning of negotiation (see the machines).

mod encode;
mod parameter;
mod pdu;

pub use encode::{ShortHeader, seal};
pub use parameter::{FlowControlConfirmation, Parameter, ParameterBuffer, Parameters};
pub use pdu::{
    Acknowledgement, ClassOption, Connect, Data, Disconnect, DisconnectConfirm, Expedited,
    ExpeditedAcknowledgement, Format, Pdu, Rejected,
};

use crate::checksum::Fletcher;
use crate::read::Malformed;
use core::fmt;

/// One side's name for a transport connection (SRC-REF, DST-REF). Zero is nobody's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Reference(pub u16);

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

/// The ten kinds of TPDU (ISO 8073 table 8), under the names the standard uses in its text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Connection request.
    Cr,
    /// Connection confirm.
    Cc,
    /// Disconnect request.
    Dr,
    /// Disconnect confirm.
    Dc,
    /// Data.
    Dt,
    /// Expedited data.
    Ed,
    /// Data acknowledgement.
    Ak,
    /// Expedited data acknowledgement.
    Ea,
    /// Reject (classes 1 and 3).
    Rj,
    /// TPDU error.
    Er,
}

impl Kind {
    /// All kinds, in the order of the standard's table.
    pub const ALL: [Self; 10] = [
        Self::Cr,
        Self::Cc,
        Self::Dr,
        Self::Dc,
        Self::Dt,
        Self::Ed,
        Self::Ak,
        Self::Ea,
        Self::Rj,
        Self::Er,
    ];

    /// The kind a TPDU code octet names; `None` for codes that ISO 8073 does not define.
    #[must_use]
    pub const fn of_code(code: u8) -> Option<Self> {
        Some(match (code & 0xF0, code & 0x0F) {
            (0xE0, _) => Self::Cr,
            (0xD0, _) => Self::Cc,
            (0x80, 0) => Self::Dr,
            (0xC0, 0) => Self::Dc,
            // F1 carries the request of acknowledgement of the 1995 edition.
            (0xF0, 0 | 1) => Self::Dt,
            (0x10, 0) => Self::Ed,
            (0x60, _) => Self::Ak,
            (0x20, 0) => Self::Ea,
            (0x50, _) => Self::Rj,
            (0x70, 0) => Self::Er,
            _ => return None,
        })
    }

    /// The code octet with a zero low half.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Cr => 0xE0,
            Self::Cc => 0xD0,
            Self::Dr => 0x80,
            Self::Dc => 0xC0,
            Self::Dt => 0xF0,
            Self::Ed => 0x10,
            Self::Ak => 0x60,
            Self::Ea => 0x20,
            Self::Rj => 0x50,
            Self::Er => 0x70,
        }
    }

    /// Whether the TPDU may carry user data, and so reaches to the end of the NSDU.
    #[must_use]
    pub const fn may_carry_data(self) -> bool {
        matches!(self, Self::Cr | Self::Cc | Self::Dr | Self::Dt | Self::Ed)
    }

    /// The standard's two letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cr => "CR",
            Self::Cc => "CC",
            Self::Dr => "DR",
            Self::Dc => "DC",
            Self::Dt => "DT",
            Self::Ed => "ED",
            Self::Ak => "AK",
            Self::Ea => "EA",
            Self::Rj => "RJ",
            Self::Er => "ER",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One TPDU cut out of its NSDU, not yet understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raw<'a> {
    /// What kind it says it is.
    pub kind: Kind,
    /// From its length indicator to its last octet, user data included.
    pub octets: &'a [u8],
    /// Octets of its header, length indicator included.
    pub header_octets: usize,
    /// Where it begins within the NSDU.
    pub offset: usize,
}

/// What the checksum parameter of a TPDU says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Checksum {
    /// There is none.
    Absent,
    /// The sums come out.
    Good,
    /// They do not: ISO 8073 6.17 has the TPDU discarded.
    Bad,
}

impl<'a> Raw<'a> {
    /// The header: length indicator, fixed and variable part.
    #[must_use]
    pub fn header(&self) -> &'a [u8] {
        self.octets.get(..self.header_octets).unwrap_or(self.octets)
    }

    /// The user data.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.octets.get(self.header_octets..).unwrap_or_default()
    }

    /// The peer's name for the connection; `None` for a class 0 or 1 DT, which carries none.
    #[must_use]
    pub fn destination_reference(&self) -> Option<Reference> {
        match self.header() {
            [_, _, high, low, ..] => Some(Reference(u16::from_be_bytes([*high, *low]))),
            _ => None,
        }
    }

    /// Whether the sums over its octets come out, as they do where it carries a checksum.
    #[must_use]
    pub fn sums(&self) -> Checksum {
        if Fletcher::of(self.octets).is_good() { Checksum::Good } else { Checksum::Bad }
    }

    /// Whether the checksum that `parameters` of this TPDU carries comes out, `tail` being user data
    /// that follows the octets at hand.
    #[must_use]
    pub fn checksum(&self, parameters: Parameters<'_>, tail: &[u8]) -> Checksum {
        if parameters.checksum().is_none() {
            return Checksum::Absent;
        }
        let mut sums = Fletcher::of(self.octets);
        sums.add(tail);
        if sums.is_good() { Checksum::Good } else { Checksum::Bad }
    }
}

/// Splits the TPDUs that an NSDU carries (separation, ISO 8073 6.4).
#[must_use]
pub const fn tpdus(nsdu: &[u8]) -> Tpdus<'_> {
    Tpdus { rest: nsdu, offset: 0 }
}

/// The TPDUs of an NSDU, first to last; ends after the first that cannot be cut out.
#[derive(Clone, Debug)]
pub struct Tpdus<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Tpdus<'a> {
    fn cut(&mut self) -> Result<Raw<'a>, Malformed> {
        let offset = self.offset;
        let complaint = |field, at| Malformed { field, offset: offset + at };
        let [indicator, code, ..] = *self.rest else {
            return Err(complaint("TPDU code", self.rest.len()));
        };
        let header_octets = usize::from(indicator) + 1;
        // 13.2.1: 255 is reserved; a TPDU has at least its code and one more octet.
        if indicator == 255 || indicator < 2 || header_octets > self.rest.len() {
            return Err(complaint("length indicator", 0));
        }
        let kind = Kind::of_code(code).ok_or_else(|| complaint("TPDU code", 1))?;
        let length = if kind.may_carry_data() { self.rest.len() } else { header_octets };
        let (octets, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, &[]));
        self.rest = rest;
        self.offset += octets.len();
        Ok(Raw { kind, octets, header_octets, offset })
    }
}

impl<'a> Iterator for Tpdus<'a> {
    type Item = Result<Raw<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let cut = self.cut();
        if cut.is_err() {
            self.rest = &[];
        }
        Some(cut)
    }
}

#[cfg(test)]
mod tests;
