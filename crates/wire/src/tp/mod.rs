//! Transport protocol of ISO 8073 (RFC 905): all TPDUs of classes 0 to 4.
//!
//! A network service data unit carries one or more TPDUs, concatenated (6.4): any number without
//! user data, then at most one that may carry user data and extends to the end. [`tpdus`] separates
//! them; then [`Pdu::decode`] decodes each. RFC 905 prints the byte order of integers reversed
//! (13.2): they are big-endian, and EOT is the top bit of the sequence number.
//!
//! Left out: UD of the connectionless protocol (ISO 8602); the semantics of negotiation (see the
//! machines in `stack`).

mod encode;
mod parameter;
mod pdu;
mod rewrite;
mod selective;

pub use encode::{ShortHeader, seal};
pub(crate) use rewrite::rewrite;

pub use parameter::{FlowControlConfirmation, Parameter, ParameterBuffer, Parameters};
pub use pdu::{
    Acknowledgement, ClassOption, Connect, Data, Disconnect, DisconnectConfirm, Expedited,
    ExpeditedAcknowledgement, Format, Pdu, Rejected,
};
pub use selective::{selective_block, selective_blocks};

use crate::checksum::Fletcher;
use crate::read::Malformed;
use core::fmt;

/// Reference of a transport connection, assigned by one side (SRC-REF, DST-REF). Zero is
/// unassigned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Reference(pub u16);

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

/// The ten kinds of TPDU (ISO 8073 table 8), under their names in the standard's text.
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

    /// Returns the kind for a TPDU code octet; `None` for codes that ISO 8073 does not define.
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

    /// Code octet with a zero low half.
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

    /// Returns true if the TPDU may carry user data, and therefore extends to the end of the NSDU.
    #[must_use]
    pub const fn may_carry_data(self) -> bool {
        matches!(self, Self::Cr | Self::Cc | Self::Dr | Self::Dt | Self::Ed)
    }

    /// Two-letter name in the standard.
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

/// TPDU separated from its NSDU, not yet decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raw<'a> {
    /// Kind, from the code octet.
    pub kind: Kind,
    /// Octets from the length indicator to the end, user data included.
    pub octets: &'a [u8],
    /// Length of the header in octets, length indicator included.
    pub header_octets: usize,
    /// Offset in the NSDU.
    pub offset: usize,
}

/// Result of verifying the checksum parameter of a TPDU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Checksum {
    /// No checksum parameter.
    Absent,
    /// The checksum is correct.
    Good,
    /// The checksum is wrong: the TPDU is discarded (ISO 8073 6.17).
    Bad,
}

impl<'a> Raw<'a> {
    /// Header: length indicator, fixed and variable part.
    #[must_use]
    pub fn header(&self) -> &'a [u8] {
        self.octets.get(..self.header_octets).unwrap_or(self.octets)
    }

    /// User data.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.octets.get(self.header_octets..).unwrap_or_default()
    }

    /// DST-REF: the receiver's reference; `None` for a class 0 or 1 DT, which has none.
    #[must_use]
    pub fn destination_reference(&self) -> Option<Reference> {
        match self.header() {
            [_, _, high, low, ..] => Some(Reference(u16::from_be_bytes([*high, *low]))),
            _ => None,
        }
    }

    /// Verifies the sums over the octets, assuming that the TPDU has a checksum parameter.
    #[must_use]
    #[inline]
    pub fn sums(&self) -> Checksum {
        if Fletcher::of(self.octets).is_good() { Checksum::Good } else { Checksum::Bad }
    }

    /// Verifies the checksum if `parameters` of this TPDU contain one. `tail` is user data that
    /// follows `octets`.
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

/// Separates the TPDUs of an NSDU (ISO 8073 6.4).
#[must_use]
pub const fn tpdus(nsdu: &[u8]) -> Tpdus<'_> {
    Tpdus { rest: nsdu, offset: 0 }
}

/// Iterator over the TPDUs of an NSDU; ends after the first that cannot be separated.
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
