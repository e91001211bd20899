//! A TPDU as octets again.

use super::{Acknowledgement, ClassOption, Connect, Format, Kind, Pdu};
use crate::checksum::Fletcher;
use bytes::BufMut;

impl Pdu<'_> {
    /// Octets of the header, length indicator included.
    #[must_use]
    pub const fn header_octets(&self) -> usize {
        1 + self.fixed_octets() + self.parameters().octets().len()
    }

    /// Writes header and user data. A checksum parameter is written as it stands: see [`seal`].
    pub fn encode(&self, out: &mut impl BufMut) {
        self.encode_header(out);
        out.put_slice(self.data());
    }

    /// Writes the header alone.
    #[inline]
    pub fn encode_header(&self, out: &mut impl BufMut) {
        // Decoding bounds the variable part by the length indicator, the parameter buffer by its size.
        out.put_u8((self.header_octets() - 1).min(254) as u8);
        match self {
            Self::Cr(pdu) | Self::Cc(pdu) => connect(self.kind(), pdu, out),
            Self::Dr(pdu) => {
                out.put_u8(Kind::Dr.code());
                out.put_u16(pdu.destination_reference.0);
                out.put_u16(pdu.source_reference.0);
                out.put_u8(pdu.reason);
            }
            Self::Dc(pdu) => {
                out.put_u8(Kind::Dc.code());
                out.put_u16(pdu.destination_reference.0);
                out.put_u16(pdu.source_reference.0);
            }
            Self::Dt(pdu) => {
                out.put_u8(Kind::Dt.code() | u8::from(pdu.acknowledgement_requested));
                if pdu.format != Format::Class0 {
                    out.put_u16(pdu.destination_reference.0);
                }
                number(pdu.format, pdu.number, pdu.end_of_tsdu, out);
            }
            Self::Ed(pdu) => {
                out.put_u8(Kind::Ed.code());
                out.put_u16(pdu.destination_reference.0);
                number(pdu.format, pdu.number, true, out);
            }
            Self::Ak(pdu) | Self::Rj(pdu) => acknowledgement(self.kind(), pdu, out),
            Self::Ea(pdu) => {
                out.put_u8(Kind::Ea.code());
                out.put_u16(pdu.destination_reference.0);
                number(pdu.format, pdu.number, false, out);
            }
            Self::Er(pdu) => {
                out.put_u8(Kind::Er.code());
                out.put_u16(pdu.destination_reference.0);
                out.put_u8(pdu.cause);
            }
        }
        out.put_slice(self.parameters().octets());
    }
}

fn connect(kind: Kind, pdu: &Connect<'_>, out: &mut impl BufMut) {
    out.put_u8(kind.code() | pdu.credit & 0x0F);
    out.put_u16(pdu.destination_reference.0);
    out.put_u16(pdu.source_reference.0);
    out.put_u8(ClassOption::to_octet(pdu.class));
}

#[inline]
fn acknowledgement(kind: Kind, pdu: &Acknowledgement<'_>, out: &mut impl BufMut) {
    let extended = pdu.format == Format::Extended;
    out.put_u8(kind.code() | if extended { 0 } else { pdu.credit.min(15) as u8 });
    out.put_u16(pdu.destination_reference.0);
    number(pdu.format, pdu.next, false, out);
    if extended {
        out.put_u16(pdu.credit);
    }
}

#[inline]
fn number(format: Format, number: u32, top: bool, out: &mut impl BufMut) {
    let number = number % format.modulus();
    if format == Format::Extended {
        out.put_u32(number | u32::from(top) << 31);
    } else {
        out.put_u8(number as u8 | u8::from(top) << 7);
    }
}

/// Computes the checksum over `header` and the user data behind it, and writes it where it belongs.
///
/// `at` is where in `header` the two checksum octets stand; they must be zero until now. Does nothing
/// where they do not lie within the header.
pub fn seal(header: &mut [u8], at: usize, data: &[u8]) {
    let mut sums = Fletcher::of(header);
    sums.add(data);
    let from_end = (header.len() + data.len()).saturating_sub(at);
    if let Some(slot) = header.get_mut(at..at + 2) {
        slot.copy_from_slice(&sums.octets(from_end));
    }
}
