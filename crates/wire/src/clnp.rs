//! Connectionless network protocol (ISO 8473, RFC 994): the full header and the inactive subset.
//!
//! The inactive subset is one octet 00 in front of the NSDU: no addresses, no length, no checksum,
//! for stations of one LAN only. Left out: the meaning of options (they are kept), and the
//! functions of a router.

use crate::addr::{Names, Nsap};
use crate::checksum::Fletcher;
use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;
use core::time::Duration;

/// Network layer protocol identifier of the inactive subset.
pub const INACTIVE: u8 = 0x00;
/// Network layer protocol identifier of the full protocol.
pub const CLNP: u8 = 0x81;
/// Network layer protocol identifier of ES-IS (ISO 9542).
pub const ES_IS: u8 = 0x82;
/// Network layer protocol identifier of IS-IS (ISO 10589).
pub const IS_IS: u8 = 0x83;
/// Only version of the protocol (7.2.4).
pub const VERSION: u8 = 1;

/// Unit of the lifetime field (7.2.5).
pub const LIFETIME_UNIT: Duration = Duration::from_millis(500);

const SEGMENTATION_PERMITTED: u8 = 0x80;
const MORE_SEGMENTS: u8 = 0x40;
const ERROR_REPORT: u8 = 0x20;
/// Octets of the segmentation part.
const SEGMENTATION_OCTETS: usize = 6;
/// Octets before the addresses.
const FIXED_OCTETS: usize = 9;
/// Code of the padding option (7.5.2).
const PADDING: u8 = 0xCC;
/// Offset of the flags.
pub(crate) const FLAGS_AT: usize = 4;
/// Offset of the checksum.
pub(crate) const CHECKSUM_AT: usize = 7;

/// Type of a PDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// DT: data.
    Data,
    /// ER: error report.
    Error,
    /// A type code the protocol does not define.
    Other(u8),
}

/// Segmentation part: present if segmentation is permitted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Segmentation {
    /// Data unit identifier: common to all segments of an initial PDU.
    pub identifier: u16,
    /// Offset of the segment's data in the initial PDU, in octets.
    pub offset: u16,
    /// Length of the initial PDU, header included, in octets.
    pub total_octets: u16,
}

/// Result of verifying the header checksum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Checksum {
    /// Both octets are zero: the checksum is not used.
    Unused,
    /// The checksum is correct.
    Good,
    /// The checksum is wrong.
    Bad,
}

/// PDU with a full header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Version and protocol identifier extension; 1.
    pub version: u8,
    /// Remaining lifetime, in units of 500 ms.
    pub lifetime: u8,
    /// SP: the PDU may be segmented.
    pub segmentation_permitted: bool,
    /// MS: more segments follow.
    pub more_segments: bool,
    /// E/R: the source requests an error report if the PDU is discarded.
    pub error_report: bool,
    /// Type: DT or ER.
    pub kind: Kind,
    /// Octets of header and data of this segment.
    pub segment_octets: u16,
    /// Header checksum as received.
    pub checksum: [u8; 2],
    /// Destination address.
    pub destination: Nsap,
    /// Source address.
    pub source: Nsap,
    /// Segmentation part.
    pub segmentation: Option<Segmentation>,
    /// Options part as received: code, length and value of each option.
    pub options: &'a [u8],
    /// Captured data of this segment.
    pub data: &'a [u8],
    /// Octets of the header.
    pub header_octets: usize,
}

impl<'a> Pdu<'a> {
    /// Decodes the PDU in `octets`, which were captured completely.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        Self::decode_cut(octets, octets.len())
    }

    /// Decodes a PDU that was `original_octets` long and of which `octets` were captured.
    ///
    /// # Errors
    /// See [`Pdu::decode`]. If the header was not captured completely, the field is `header`.
    pub fn decode_cut(octets: &'a [u8], original_octets: usize) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        if reader.u8("network layer protocol identifier")? != CLNP {
            return Err(Malformed { field: "network layer protocol identifier", offset: 0 });
        }
        let at_length = reader.malformed("length indicator");
        let header_octets = usize::from(reader.u8("length indicator")?);
        // 7.2.3: 255 is reserved.
        if header_octets == 255 || header_octets > original_octets.max(octets.len()) {
            return Err(at_length);
        }
        let Some(header) = octets.get(..header_octets) else {
            return Err(Malformed { field: "header", offset: octets.len() });
        };
        let mut reader = Reader::new(header);
        reader.take("length indicator", 2)?;
        let version = reader.u8("version")?;
        let lifetime = reader.u8("lifetime")?;
        let flags = reader.u8("flags and type")?;
        let at_segment = reader.malformed("segment length");
        let segment_octets = reader.u16("segment length")?;
        let checksum = reader.array("checksum")?;
        let destination = address(&mut reader, "destination address")?;
        let source = address(&mut reader, "source address")?;
        let segmentation = match flags & SEGMENTATION_PERMITTED {
            0 => None,
            _ => Some(Segmentation {
                identifier: reader.u16("data unit identifier")?,
                offset: reader.u16("segment offset")?,
                total_octets: reader.u16("total length")?,
            }),
        };
        let length = usize::from(segment_octets);
        if length < header_octets || length > original_octets {
            return Err(at_segment);
        }
        let whole = octets.get(..length).unwrap_or(octets);
        Ok(Self {
            version,
            lifetime,
            segmentation_permitted: flags & SEGMENTATION_PERMITTED != 0,
            more_segments: flags & MORE_SEGMENTS != 0,
            error_report: flags & ERROR_REPORT != 0,
            kind: match flags & 0x1F {
                0x1C => Kind::Data,
                0x01 => Kind::Error,
                other => Kind::Other(other),
            },
            segment_octets,
            checksum,
            destination,
            source,
            segmentation,
            options: reader.rest(),
            data: whole.get(header_octets..).unwrap_or_default(),
            header_octets,
        })
    }

    /// Returns true for one segment of several, whose data is not a whole NSDU.
    #[must_use]
    pub fn is_segment(&self) -> bool {
        self.more_segments || self.segmentation.is_some_and(|part| part.offset > 0)
    }

    /// Verifies the checksum over `octets`, from which this PDU was decoded.
    #[must_use]
    pub fn verify(&self, octets: &[u8]) -> Checksum {
        if self.checksum == [0, 0] {
            return Checksum::Unused;
        }
        let header = octets.get(..self.header_octets).unwrap_or(octets);
        if Fletcher::of(header).is_good() { Checksum::Good } else { Checksum::Bad }
    }

    /// Length of the encoded header, in octets.
    #[must_use]
    pub fn encoded_header_octets(&self) -> usize {
        let addresses = 2 + self.destination.octets().len() + self.source.octets().len();
        let part = if self.segmentation.is_some() { SEGMENTATION_OCTETS } else { 0 };
        FIXED_OCTETS + addresses + part + self.options.len()
    }

    /// Writes header and data, with segment length and checksum as they are: see [`seal`].
    pub fn encode(&self, out: &mut impl BufMut) {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let kind = match self.kind {
            Kind::Data => 0x1C,
            Kind::Error => 0x01,
            Kind::Other(code) => code & 0x1F,
        };
        out.put_u8(CLNP);
        out.put_u8(self.encoded_header_octets().min(254) as u8);
        out.put_u8(self.version);
        out.put_u8(self.lifetime);
        out.put_u8(
            flag(self.segmentation.is_some(), SEGMENTATION_PERMITTED)
                | flag(self.more_segments, MORE_SEGMENTS)
                | flag(self.error_report, ERROR_REPORT)
                | kind,
        );
        out.put_u16(self.segment_octets);
        out.put_slice(&self.checksum);
        for address in [&self.destination, &self.source] {
            out.put_u8(address.octets().len() as u8);
            out.put_slice(address.octets());
        }
        if let Some(part) = self.segmentation {
            out.put_u16(part.identifier);
            out.put_u16(part.offset);
            out.put_u16(part.total_octets);
        }
        out.put_slice(self.options);
        out.put_slice(self.data);
    }
}

fn address(reader: &mut Reader<'_>, field: &'static str) -> Result<Nsap, Malformed> {
    let complaint = reader.malformed(field);
    let length = usize::from(reader.u8(field)?);
    Nsap::new(reader.take(field, length)?).ok_or(complaint)
}

/// Computes the checksum of a header whose checksum octets are zero, and writes it.
///
/// A checksum octet of 00 is written as FF, because two zero octets mean that the checksum is not
/// used.
pub fn seal(header: &mut [u8]) {
    let sums = Fletcher::of(header).octets(header.len().saturating_sub(CHECKSUM_AT));
    if let Some(slot) = header.get_mut(CHECKSUM_AT..CHECKSUM_AT + 2) {
        slot.copy_from_slice(&sums.map(|octet| if octet == 0 { 0xFF } else { octet }));
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Data => write!(f, "CLNP DT")?,
            Kind::Error => write!(f, "CLNP ER")?,
            Kind::Other(code) => write!(f, "CLNP ?{code:02x}")?,
        }
        write!(f, " {}>{} lifetime={}", self.source, self.destination, self.lifetime)?;
        if let Some(Segmentation { identifier, offset, total_octets }) = self.segmentation {
            write!(f, " unit={identifier} offset={offset} of {total_octets}")?;
        }
        if self.more_segments {
            f.write_str(" more")?;
        }
        if !self.options.is_empty() {
            write!(f, " options={}", self.options.len())?;
        }
        write!(f, " {} octets", self.data.len())
    }
}

/// Maps both addresses in a header, pads its options from `options` on (7.5.2), and keeps the checksum valid or
/// invalid as it was. None if the addresses exceed the header.
pub(crate) fn rewrite(names: &dyn Names, header: &mut [u8], options: usize) -> Option<()> {
    let checksum = *header.get(CHECKSUM_AT..)?.first_chunk::<2>()?;
    let was_good = Fletcher::of(header).is_good();
    let mut rest = header.get_mut(FIXED_OCTETS..)?;
    for _ in 0..2 {
        let (length, behind) = rest.split_first_mut()?;
        let (address, next) = behind.split_at_mut_checked(usize::from(*length))?;
        names.network(address);
        rest = next;
    }
    if let Some([code, length, rest @ ..]) = header.get_mut(options..) {
        (*code, *length) = (PADDING, rest.len() as u8);
        rest.fill(0);
    }
    if checksum != [0, 0] && was_good {
        header.get_mut(CHECKSUM_AT..CHECKSUM_AT + 2)?.fill(0);
        seal(header);
    } else if checksum != [0, 0] && Fletcher::of(header).is_good() {
        // An invalid checksum became valid by chance, as it does once in 65,025 times.
        *header.get_mut(CHECKSUM_AT)? ^= 1;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Built by hand from ISO 8473 clause 7: two NSAPs of 20 octets, a segmentation part, and the
    // TPDU 04f002028068656c6c6f; lifetime 64 (32 s). The checksum is checked with the definition.
    const WHOLE: &str = "81 37 01 40 bc 0041 fbc0 \
        13 47000580000000000000000000020000000221 \
        13 47000580000000000000000000020000000121 \
        0001 0000 0041 04f002028068656c6c6f";

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> =
            text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    #[test]
    fn a_data_pdu_reads_and_writes_back() {
        let octets = hex(WHOLE);
        let pdu = Pdu::decode(&octets).unwrap();
        assert_eq!(
            pdu.to_string(),
            "CLNP DT 47000580000000000000000000020000000121>\
             47000580000000000000000000020000000221 lifetime=64 unit=1 offset=0 of 65 10 octets"
        );
        assert!(pdu.error_report && !pdu.is_segment());
        assert_eq!(pdu.verify(&octets), Checksum::Good);
        let mut again = Vec::new();
        pdu.encode(&mut again);
        assert_eq!(again, octets);
    }

    #[test]
    fn sealing_makes_the_checksum_of_the_vector() {
        let octets = hex(WHOLE);
        let mut header = octets[..0x37].to_vec();
        header[7..9].fill(0);
        seal(&mut header);
        assert_eq!(header, octets[..0x37]);
    }

    #[test]
    fn a_wrong_octet_fails_the_checksum_and_two_zeros_switch_it_off() {
        let mut octets = hex(WHOLE);
        octets[3] = 0x3F;
        let verdict = |octets: &[u8]| Pdu::decode(octets).unwrap().verify(octets);
        assert_eq!(verdict(&octets), Checksum::Bad);
        octets[7..9].fill(0);
        assert_eq!(verdict(&octets), Checksum::Unused);
    }

    #[test]
    fn a_broken_header_names_the_field_and_the_octet() {
        let complaint = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut octets = hex(WHOLE);
            change(&mut octets);
            Pdu::decode(&octets).unwrap_err().to_string()
        };
        let malformed = |field, offset| Malformed { field, offset }.to_string();
        assert_eq!(complaint(&|o| o[1] = 0xFE), malformed("length indicator", 1));
        assert_eq!(complaint(&|o| o[1] = 4), malformed("flags and type", 4));
        assert_eq!(complaint(&|o| o[9] = 21), malformed("destination address", 9));
        assert_eq!(complaint(&|o| o[9] = 250), malformed("destination address", 10));
        assert_eq!(complaint(&|o| o[1] = 50), malformed("data unit identifier", 49));
        assert_eq!(complaint(&|o| o[5] = 1), malformed("segment length", 5));
        assert_eq!(complaint(&|o| o[6] = 3), malformed("segment length", 5));
        assert_eq!(complaint(&|o| o.truncate(1)), malformed("length indicator", 1));
    }
}
