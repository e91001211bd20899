//! Common TPDU: one DT or AK that fills its NSDU, read at fixed offsets.

use crate::track::transfer::{AkFields, DtFields};
use wire::tp::{Checksum, Format, Kind, Pdu, Raw, Reference};

/// Octets up to the parameters of a DT or AK of the normal format.
pub(super) const FRONT_OCTETS: usize = 5;

/// DT or AK that fills its NSDU; only user data may be cut.
#[derive(Clone, Copy)]
pub(crate) struct CommonTpdu<'a> {
    front: &'a [u8; FRONT_OCTETS],
    pub(super) kind: Kind,
    pub(super) header_octets: usize,
    /// TPDU, as far as captured.
    octets: &'a [u8],
    /// Octets of user data that were not captured.
    missing_octets: usize,
}

impl<'a> CommonTpdu<'a> {
    /// Parses the NSDU of which `octets` were captured, with its first octets; none if it must be
    /// dissected.
    #[inline]
    pub(super) fn of(
        front: &'a [u8; FRONT_OCTETS],
        octets: &'a [u8],
        missing_octets: usize,
    ) -> Option<Self> {
        let header_octets = usize::from(front[0]) + 1;
        let kind = match front[1] {
            0xF0 | 0xF1 if header_octets <= octets.len() => Kind::Dt,
            0x60..=0x6F if header_octets == octets.len() + missing_octets => Kind::Ak,
            _ => return None,
        };
        // 255 is reserved (ISO 8073 13.2.1).
        let is_common = (FRONT_OCTETS..=255).contains(&header_octets)
            && (missing_octets == 0 || kind == Kind::Dt);
        is_common.then_some(Self { front, kind, header_octets, octets, missing_octets })
    }

    /// Parses an NSDU of which `octets` were captured.
    pub(super) fn in_nsdu(octets: &'a [u8], missing_octets: usize) -> Option<Self> {
        Self::of(octets.first_chunk()?, octets, missing_octets)
    }

    /// Octets as far as captured, and the number of the others.
    #[inline]
    pub(super) const fn parts(&self) -> (&'a [u8], usize) {
        (self.octets, self.missing_octets)
    }

    /// True if user data was not captured.
    #[inline]
    pub(crate) const fn is_cut(self) -> bool {
        self.missing_octets > 0
    }

    /// DST-REF.
    #[inline]
    pub(super) const fn reference(self) -> Reference {
        Reference(u16::from_be_bytes([self.front[2], self.front[3]]))
    }

    /// Fields of a DT; none if it needs the full decoder.
    #[inline]
    pub(super) fn dt_fields(self, format: Format) -> Option<DtFields<'a>> {
        let fixed = fixed_octets(format, [5, 8])?;
        if self.header_octets.checked_sub(fixed)? != 0 && !self.has_good_checksum(fixed) {
            return None;
        }
        let (number, ends) = self.number(format);
        let octets = self.octets.get(self.header_octets..)?;
        let data_octets = (octets.len() + self.missing_octets) as u64;
        Some(DtFields { number, ends, octets, data_octets })
    }

    /// Fields of an AK, likewise.
    #[inline]
    pub(super) fn ak_fields(self, format: Format) -> Option<AkFields> {
        let fixed = fixed_octets(format, [5, 10])?;
        let parameters = self.octets.get(fixed..self.header_octets)?;
        let is_plain = parameters.is_empty() || self.has_good_checksum(fixed);
        let (subsequence, confirms) =
            if is_plain { (0, false) } else { self.of_parameters(parameters)? };
        let (next, _) = self.number(format);
        let credit = match self.octets.get(8..10) {
            Some(&[high, low]) if format == Format::Extended => u16::from_be_bytes([high, low]),
            _ => u16::from(self.front[1] & 0x0F),
        };
        Some(AkFields { next, credit, subsequence, confirms })
    }

    /// Subsequence number of a whole AK with these parameters, 0 if it has none, and true if it
    /// confirms flow control. None if its checksum is wrong, or it needs the full decoder.
    // Never inline: most AKs have no parameters, and should not pay for its registers.
    #[inline(never)]
    fn of_parameters(self, mut parameters: &[u8]) -> Option<(u16, bool)> {
        let (mut subsequence, mut confirms, mut has_checksum) = (0, false, false);
        while let [code, length, rest @ ..] = parameters {
            let (value, rest) = rest.split_at_checked(usize::from(*length))?;
            match (*code, value) {
                (0xC3, [_, _]) => has_checksum = true,
                (0xC3, _) => return None,
                (0x8A, [high, low]) => subsequence = u16::from_be_bytes([*high, *low]),
                (0x8C, [_, _, _, _, _, _, _, _]) => confirms = true,
                _ => {}
            }
            parameters = rest;
        }
        let is_good = !has_checksum || self.raw().sums() == Checksum::Good;
        (parameters.is_empty() && is_good).then_some((subsequence, confirms))
    }

    /// TPDU-NR and the bit on top of it.
    #[inline]
    fn number(self, format: Format) -> (u32, bool) {
        let shift = if format == Format::Extended { 0 } else { 24 };
        // Both formats have the same bit on top of the number; a short number has the seven bits
        // below it.
        let word = match self.octets.get(4..8) {
            Some(&[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
            _ => u32::from(self.front[4]) << 24,
        };
        ((word & 0x7FFF_FFFF) >> shift, word >> 31 != 0)
    }

    /// True if `fixed` octets of the header are followed by a checksum alone and it is correct. The
    /// checksum of a truncated TPDU cannot be verified.
    #[inline]
    fn has_good_checksum(self, fixed: usize) -> bool {
        let parameters = self.octets.get(fixed..self.header_octets);
        matches!(parameters, Some([0xC3, 2, _, _]))
            && (self.is_cut() || self.raw().sums() == Checksum::Good)
    }

    const fn raw(self) -> Raw<'a> {
        let Self { kind, header_octets, octets, .. } = self;
        Raw { kind, octets, header_octets, offset: 0 }
    }

    /// Fields with any parameters; none if the TPDU is malformed or its checksum is wrong.
    pub(super) fn decoded(self, format: Format) -> Option<Decoded<'a>> {
        if format == Format::Class0 {
            return None;
        }
        let raw = self.raw();
        let pdu = Pdu::decode(&raw, Some(format)).ok()?;
        if !self.is_cut() && raw.checksum(pdu.parameters(), &[]) == Checksum::Bad {
            return None;
        }
        match pdu {
            Pdu::Dt(dt) => {
                let data_octets = (dt.data.len() + self.missing_octets) as u64;
                let (number, ends) = (dt.number, dt.end_of_tsdu);
                Some(Decoded::Dt(DtFields { number, ends, octets: dt.data, data_octets }))
            }
            Pdu::Ak(ak) => Some(Decoded::Ak(AkFields::from(&ak))),
            _ => None,
        }
    }
}

/// Length of the fixed part of a numbered TPDU, of those in the two formats.
#[inline]
const fn fixed_octets(format: Format, [normal, extended]: [usize; 2]) -> Option<usize> {
    match format {
        Format::Class0 => None,
        Format::Normal => Some(normal),
        Format::Extended => Some(extended),
    }
}

/// Fields of a DT or an AK.
pub(super) enum Decoded<'a> {
    Dt(DtFields<'a>),
    Ak(AkFields),
}
