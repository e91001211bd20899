//! GOOSE, generic object oriented substation events (IEC 61850-8-1, clause 18 and annex C).
//!
//! ```text
//! APPID | length | reserved 1, 2 | 61 IECGoosePdu: 80 gocbRef .. 8A numDatSetEntries, AB allData
//! ```
//!
//! Left out: the values of the data set (they are kept), and the security field behind the PDU. The form
//! over UDP is in [`crate::routable`].

use crate::ber::{Reader, Tag, Text, Writer};
use crate::leaf::{Cyclic, Leaf};
use crate::read::{self, Malformed};
use core::fmt;

/// Octets of APPID, length and the reserved fields.
pub const HEADER_OCTETS: usize = 8;
/// Tag of the `IECGoosePdu`.
pub(crate) const GOOSE_PDU: Tag = Tag(0x61);
/// Bit of the first reserved field: the frame is simulated (Edition 2).
const SIMULATED: u16 = 0x8000;

/// GOOSE as a leaf of the layering. Names of control block and data set count as user data.
pub const LEAF: Leaf = Leaf {
    name: "GOOSE",
    cyclic: Some(Cyclic::Goose),
    kind: |octets| Pdu::decode(octets).map(|_| "GOOSE"),
    print: |octets, f| Pdu::decode(octets).map_or(Ok(()), |pdu| write!(f, "{pdu}")),
    headers_octets: |_| HEADER_OCTETS,
    rewrite: |_, _| HEADER_OCTETS,
};

/// Time stamp of IEC 61850-7-2: seconds since 1970, a binary fraction, and the quality of the clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct UtcTime(pub [u8; 8]);

impl UtcTime {
    /// Seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        let Self([a, b, c, d, ..]) = self;
        u32::from_be_bytes([a, b, c, d])
    }

    /// Nanoseconds after the second; the fraction counts units of 2⁻²⁴ s.
    #[must_use]
    pub const fn nanoseconds(self) -> u32 {
        let Self([.., a, b, c, _]) = self;
        let fraction = u32::from_be_bytes([0, a, b, c]) as u64;
        ((fraction * 1_000_000_000) >> 24) as u32
    }

    /// Returns true if the clock of the sender has failed.
    #[must_use]
    pub const fn has_failed(self) -> bool {
        let Self([.., quality]) = self;
        quality & 0x40 != 0
    }

    /// Returns true if the clock of the sender is not synchronised.
    #[must_use]
    pub const fn is_unsynchronised(self) -> bool {
        let Self([.., quality]) = self;
        quality & 0x20 != 0
    }
}

/// GOOSE PDU with its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu<'a> {
    /// APPID: identifies the application within the LAN.
    pub appid: u16,
    /// Reserved fields as received. Bit 15 of the first marks a simulated frame.
    pub reserved: [u16; 2],
    /// gocbRef: reference of the control block.
    pub control_block: &'a [u8],
    /// timeAllowedToLive: the next frame follows within this time, in milliseconds.
    pub time_allowed_to_live_ms: u32,
    /// datSet: reference of the data set.
    pub data_set: &'a [u8],
    /// goID: identifier of the application.
    pub identifier: Option<&'a [u8]>,
    /// t: time of the last change of state.
    pub time: UtcTime,
    /// stNum: incremented by each change of state.
    pub state_number: u32,
    /// sqNum: incremented by each retransmission of a state; 0 in its first frame.
    pub sequence_number: u32,
    /// simulation (Edition 1: test): the values are not to be used by equipment in operation.
    pub is_simulated: bool,
    /// confRev: revision of the data set's configuration.
    pub configuration_revision: u32,
    /// ndsCom: the control block needs commissioning.
    pub needs_commissioning: bool,
    /// numDatSetEntries: number of values.
    pub entries: u32,
    /// allData: the encoded values.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the PDU at the start of `octets`; padding may follow it.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    #[inline]
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut header = read::Reader::new(octets);
        let appid = header.u16("APPID")?;
        let at_length = header.malformed("GOOSE length");
        let length = usize::from(header.u16("GOOSE length")?);
        let reserved = [header.u16("reserved 1")?, header.u16("reserved 2")?];
        let body = octets.get(HEADER_OCTETS..length).ok_or(at_length)?;
        Self::of_body(appid, reserved, Reader::at(body, HEADER_OCTETS))
    }

    /// Decodes the `IECGoosePdu` of a PDU with this header.
    #[inline]
    pub(crate) fn of_body(
        appid: u16,
        reserved: [u16; 2],
        mut body: Reader<'a>,
    ) -> Result<Self, Malformed> {
        let mut reader = body.expect("goosePdu", GOOSE_PDU)?.reader();
        let mut pdu = Self { appid, reserved, ..Self::empty() };
        pdu.control_block = reader.expect("gocbRef", Tag::primitive(0))?.content;
        pdu.time_allowed_to_live_ms = natural(&mut reader, "timeAllowedtoLive", 1)?;
        pdu.data_set = reader.expect("datSet", Tag::primitive(2))?.content;
        pdu.identifier = reader.optional("goID", Tag::primitive(3))?.map(|found| found.content);
        let time = reader.expect("t", Tag::primitive(4))?;
        pdu.time = UtcTime(time.content.try_into().map_err(|_| time.malformed("t"))?);
        pdu.state_number = natural(&mut reader, "stNum", 5)?;
        pdu.sequence_number = natural(&mut reader, "sqNum", 6)?;
        pdu.is_simulated = flag(&mut reader, "simulation", 7)?;
        pdu.configuration_revision = natural(&mut reader, "confRev", 8)?;
        pdu.needs_commissioning = flag(&mut reader, "ndsCom", 9)?;
        pdu.entries = natural(&mut reader, "numDatSetEntries", 10)?;
        pdu.data = reader.expect("allData", Tag::constructed(11))?.content;
        Ok(pdu)
    }

    const fn empty() -> Self {
        Self {
            appid: 0,
            reserved: [0; 2],
            control_block: &[],
            time_allowed_to_live_ms: 0,
            data_set: &[],
            identifier: None,
            time: UtcTime([0; 8]),
            state_number: 0,
            sequence_number: 0,
            is_simulated: false,
            configuration_revision: 0,
            needs_commissioning: false,
            entries: 0,
            data: &[],
        }
    }

    /// Returns true if the header or the PDU marks the values as simulated.
    #[must_use]
    pub const fn is_test(&self) -> bool {
        self.is_simulated || self.reserved[0] & SIMULATED != 0
    }

    /// Encodes the PDU with its header. The length field holds at most 65,535.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.element(Tag::constructed(11), self.data);
        out.integer(Tag::primitive(10), self.entries.into());
        out.boolean(Tag::primitive(9), self.needs_commissioning);
        out.integer(Tag::primitive(8), self.configuration_revision.into());
        out.boolean(Tag::primitive(7), self.is_simulated);
        out.integer(Tag::primitive(6), self.sequence_number.into());
        out.integer(Tag::primitive(5), self.state_number.into());
        out.element(Tag::primitive(4), &self.time.0);
        out.optional_element(Tag::primitive(3), self.identifier);
        out.element(Tag::primitive(2), self.data_set);
        out.integer(Tag::primitive(1), self.time_allowed_to_live_ms.into());
        out.element(Tag::primitive(0), self.control_block);
        out.close(GOOSE_PDU, 0);
        let length = (out.octets().len() + HEADER_OCTETS).min(usize::from(u16::MAX)) as u16;
        let [first, second] = self.reserved;
        for field in [second, first, length, self.appid] {
            out.put(&field.to_be_bytes());
        }
        out.octets().to_vec()
    }
}

/// Number under a context tag. Negative ones are not defined, so four octets with the highest bit
/// set, which some senders write without the leading zero, are read as positive.
fn natural(reader: &mut Reader<'_>, field: &'static str, tag: u32) -> Result<u32, Malformed> {
    let element = reader.expect(field, Tag::primitive(tag))?;
    match *element.content {
        [octet @ 0..=0x7F] => Ok(octet.into()),
        [high @ 1..=0x7F, low] => Ok(u16::from_be_bytes([high, low]).into()),
        [0, a, b, c, d] | [a, b, c, d] => Ok(u32::from_be_bytes([a, b, c, d])),
        _ => element.unsigned(field),
    }
}

/// BOOLEAN under a context tag.
fn flag(reader: &mut Reader<'_>, field: &'static str, tag: u32) -> Result<bool, Malformed> {
    reader.expect(field, Tag::primitive(tag))?.boolean(field)
}

impl fmt::Display for Pdu<'_> {
    /// Prints the PDU on one line, without its values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GOOSE appid={:04x} {}", self.appid, Text(self.control_block))?;
        write!(f, " stNum={} sqNum={}", self.state_number, self.sequence_number)?;
        write!(f, " timeAllowedtoLive={}ms", self.time_allowed_to_live_ms)?;
        write!(f, " confRev={}", self.configuration_revision)?;
        for (is_set, word) in [
            (self.is_test(), " simulation"),
            (self.needs_commissioning, " ndsCom"),
            (self.time.has_failed(), " clock-failure"),
            (self.time.is_unsynchronised(), " clock-not-synchronised"),
        ] {
            f.write_str(if is_set { word } else { "" })?;
        }
        write!(f, " {} entries", self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two BOOLEAN values, state 16, second frame of it.
    const SAMPLE: Pdu<'_> = Pdu {
        appid: 0x3FFE,
        reserved: [SIMULATED, 0],
        control_block: b"LD/LLN0$GO$gcb1",
        time_allowed_to_live_ms: 40_000,
        data_set: b"LD/LLN0$trips",
        identifier: Some(b"trips"),
        time: UtcTime([0x65, 0, 0, 0, 0x80, 0, 0, 0x2A]),
        state_number: 16,
        sequence_number: 1,
        is_simulated: false,
        configuration_revision: 128,
        needs_commissioning: false,
        entries: 2,
        data: &[0x83, 1, 1, 0x83, 1, 0],
    };

    #[test]
    fn what_is_written_reads_back_and_prints() {
        let octets = [SAMPLE.encode(), vec![0; 9]].concat();
        let read = Pdu::decode(&octets).unwrap();
        assert_eq!(read, SAMPLE);
        assert!(read.is_test());
        assert_eq!((read.time.seconds(), read.time.nanoseconds()), (0x6500_0000, 500_000_000));
        assert_eq!(
            read.to_string(),
            "GOOSE appid=3ffe \"LD/LLN0$GO$gcb1\" stNum=16 sqNum=1 timeAllowedtoLive=40000ms \
             confRev=128 simulation clock-not-synchronised 2 entries"
        );
    }

    #[test]
    fn a_broken_pdu_names_the_field() {
        let whole = SAMPLE.encode();
        let fault = |octets: &[u8]| Pdu::decode(octets).unwrap_err().to_string();
        assert_eq!(fault(&whole[..4]), "malformed reserved 1 at octet 4");
        assert_eq!(fault(&whole[..40]), "malformed GOOSE length at octet 2");
        let mut bent = whole.clone();
        // The length of gocbRef reaches past the end.
        bent[11] = 0x7F;
        assert_eq!(fault(&bent), "malformed gocbRef at octet 10");
    }
}
