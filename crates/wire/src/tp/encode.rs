//! Encoder of TPDUs.

use super::{Acknowledgement, ClassOption, Connect, Format, Kind, Pdu};
use crate::checksum::Fletcher;
use bytes::BufMut;

impl Pdu<'_> {
    /// Length of the header in octets, length indicator included.
    #[must_use]
    pub const fn header_octets(&self) -> usize {
        1 + self.fixed_octets() + self.parameters().octets().len()
    }

    /// Writes header and user data. A checksum parameter is written as it is: see [`seal`].
    pub fn encode(&self, out: &mut impl BufMut) {
        self.encode_header(out);
        out.put_slice(self.data());
    }

    /// Writes the header alone.
    #[inline]
    pub fn encode_header(&self, out: &mut impl BufMut) {
        self.write_header(out);
    }

    #[inline(always)]
    fn write_header(&self, out: &mut impl Sink) {
        // Decoding limits the variable part by the length indicator, the parameter buffer by its
        // size.
        out.u8((self.header_octets() - 1).min(254) as u8);
        match self {
            Self::Cr(pdu) | Self::Cc(pdu) => connect(self.kind(), pdu, out),
            Self::Dr(pdu) => {
                out.u8(Kind::Dr.code());
                out.u16(pdu.destination_reference.0);
                out.u16(pdu.source_reference.0);
                out.u8(pdu.reason);
            }
            Self::Dc(pdu) => {
                out.u8(Kind::Dc.code());
                out.u16(pdu.destination_reference.0);
                out.u16(pdu.source_reference.0);
            }
            Self::Dt(pdu) => {
                out.u8(Kind::Dt.code() | u8::from(pdu.acknowledgement_requested));
                if pdu.format != Format::Class0 {
                    out.u16(pdu.destination_reference.0);
                }
                number(pdu.format, pdu.number, pdu.end_of_tsdu, out);
            }
            Self::Ed(pdu) => {
                out.u8(Kind::Ed.code());
                out.u16(pdu.destination_reference.0);
                number(pdu.format, pdu.number, true, out);
            }
            Self::Ak(pdu) | Self::Rj(pdu) => acknowledgement(self.kind(), pdu, out),
            Self::Ea(pdu) => {
                out.u8(Kind::Ea.code());
                out.u16(pdu.destination_reference.0);
                number(pdu.format, pdu.number, false, out);
            }
            Self::Er(pdu) => {
                out.u8(Kind::Er.code());
                out.u16(pdu.destination_reference.0);
                out.u8(pdu.cause);
            }
        }
        out.octets(self.parameters().octets());
    }
}

fn connect(kind: Kind, pdu: &Connect<'_>, out: &mut impl Sink) {
    out.u8(kind.code() | pdu.credit & 0x0F);
    out.u16(pdu.destination_reference.0);
    out.u16(pdu.source_reference.0);
    out.u8(ClassOption::to_octet(pdu.class));
}

#[inline]
fn acknowledgement(kind: Kind, pdu: &Acknowledgement<'_>, out: &mut impl Sink) {
    let extended = pdu.format == Format::Extended;
    out.u8(kind.code() | if extended { 0 } else { pdu.credit.min(15) as u8 });
    out.u16(pdu.destination_reference.0);
    number(pdu.format, pdu.next, false, out);
    if extended {
        out.u16(pdu.credit);
    }
}

#[inline]
fn number(format: Format, number: u32, top: bool, out: &mut impl Sink) {
    let number = number % format.modulus();
    if format == Format::Extended {
        out.u32(number | u32::from(top) << 31);
    } else {
        out.u8(number as u8 | u8::from(top) << 7);
    }
}

/// Destination of an encoded header, written field by field.
trait Sink {
    fn u8(&mut self, octet: u8);
    fn u16(&mut self, number: u16);
    fn u32(&mut self, number: u32);
    fn octets(&mut self, octets: &[u8]);
}

impl<T: BufMut> Sink for T {
    #[inline]
    fn u8(&mut self, octet: u8) {
        self.put_u8(octet);
    }

    #[inline]
    fn u16(&mut self, number: u16) {
        self.put_u16(number);
    }

    #[inline]
    fn u32(&mut self, number: u32) {
        self.put_u32(number);
    }

    #[inline]
    fn octets(&mut self, octets: &[u8]) {
        self.put_slice(octets);
    }
}

/// Header of at most 16 octets in one integer, built and moved in registers. If octets were written
/// one by one and then moved together, the processor would stall.
///
/// The last octet of the header is the lowest. The first, the length indicator, is never zero, so
/// the integer determines its own length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShortHeader(u128);

impl ShortHeader {
    /// Encodes the header of `pdu`. If its last parameter is a checksum of zero, the checksum is
    /// computed, with `data` after the header. `None` for a header of more than 16 octets.
    #[must_use]
    #[inline(always)]
    pub fn new(pdu: &Pdu<'_>, data: &[u8]) -> Option<Self> {
        if pdu.header_octets() > size_of::<u128>() {
            return None;
        }
        let mut header = Self(0);
        pdu.write_header(&mut header);
        if let [.., 0xC3, 2, 0, 0] = pdu.parameters().octets() {
            let mut sums = Fletcher::of(&header.0.to_be_bytes());
            sums.add(data);
            header.0 |= u128::from(u16::from_be_bytes(sums.octets(data.len() + 2)));
        }
        Some(header)
    }

    /// Length of the header in octets.
    #[must_use]
    #[inline]
    pub const fn len(self) -> usize {
        size_of::<u128>() - self.0.leading_zeros() as usize / 8
    }

    /// Returns true for a header without octets, which never occurs.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Octets of the header, preceded by zeros.
    #[must_use]
    #[inline]
    pub const fn octets(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl Sink for ShortHeader {
    #[inline]
    fn u8(&mut self, octet: u8) {
        self.0 = self.0 << 8 | u128::from(octet);
    }

    #[inline]
    fn u16(&mut self, number: u16) {
        self.0 = self.0 << 16 | u128::from(number);
    }

    #[inline]
    fn u32(&mut self, number: u32) {
        self.0 = self.0 << 32 | u128::from(number);
    }

    #[inline]
    fn octets(&mut self, octets: &[u8]) {
        match octets {
            [] => {}
            [a, b, c, d] => self.u32(u32::from_be_bytes([*a, *b, *c, *d])),
            _ => octets.iter().for_each(|octet| self.u8(*octet)),
        }
    }
}

/// Computes the checksum over `header` and the user data after it, and writes it into the header.
///
/// `at` is the offset of the two checksum octets in `header`; they must be zero on entry. Does
/// nothing if they do not lie within the header.
pub fn seal(header: &mut [u8], at: usize, data: &[u8]) {
    let mut sums = Fletcher::of(header);
    sums.add(data);
    let from_end = (header.len() + data.len()).saturating_sub(at);
    if let Some(slot) = header.get_mut(at..at + 2) {
        slot.copy_from_slice(&sums.octets(from_end));
    }
}
