//! Sampled Values (IEC 61850-9-2, profiles 9-2LE and IEC 61869-9): measurements that a merging unit
//! samples at a fixed rate, on Ethernet by its EtherType.
//!
//! ```text
//! 0  APPID 2, length 2 (this header included), reserved 2 (bit 15: simulated), reserved 2
//! 8  savPdu [APPLICATION 0], tags 60 80 ..: 80 noASDU, (81 security), A2 seqASDU
//!    ASDU, tag 30: 80 svID, (81 datSet), 82 smpCnt 2, 83 confRev 4, (84 refrTm 8), 85 smpSynch,
//!                  (86 smpRate 2), 87 sample, (88 smpMod 2)
//! ```
//!
//! The length of savPdu counts, not that of the header: there are merging units whose header leaves
//! out four octets.
//!
//! Left out: the values of the sample (they are kept), refrTm and smpMod. The form over UDP is in
//! [`crate::routable`].

use crate::ber::{Reader, Tag, Text, Writer};
use crate::leaf::{Cyclic, Leaf};
use crate::read::{self, Malformed};
use core::fmt;

/// Octets of APPID, length and the reserved fields.
pub const HEADER_OCTETS: usize = 8;
const SAV_PDU: Tag = Tag(0x60);
const SEQUENCE: Tag = Tag(0x30);
/// Bit of the first reserved field: the frame is simulated (Edition 2).
const SIMULATED: u16 = 0x8000;

/// Sampled Values as a leaf of the layering. svID and samples count as user data.
pub const LEAF: Leaf = Leaf {
    name: "SV",
    cyclic: Some(Cyclic::SampledValues),
    kind: |octets| {
        Pdu::decode(octets)?.asdus().try_for_each(|asdu| asdu.map(|_| ()))?;
        Ok("SV")
    },
    print: |octets, f| Pdu::decode(octets).map_or(Ok(()), |pdu| write!(f, "{pdu}")),
    headers_octets: |_| HEADER_OCTETS,
    rewrite: |_, _| HEADER_OCTETS,
};

/// Sampled Values PDU with its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu<'a> {
    /// APPID: identifies the application within the LAN.
    pub appid: u16,
    /// Reserved fields as received. Bit 15 of the first marks a simulated frame.
    pub reserved: [u16; 2],
    /// noASDU: number of ASDUs that the sender states.
    pub stated_asdus: u32,
    /// seqASDU: the encoded ASDUs.
    pub asdus: &'a [u8],
    /// Offset of the ASDUs in the PDU.
    at: usize,
}

/// One sample of a merging unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asdu<'a> {
    /// svID: identifier of the stream.
    pub identifier: &'a [u8],
    /// datSet: reference of the data set.
    pub data_set: Option<&'a [u8]>,
    /// smpCnt: number of the sample; a synchronised merging unit begins at 0 with each second.
    pub sample_count: u16,
    /// confRev: revision of the data set's configuration.
    pub configuration_revision: u32,
    /// smpSynch: 0 not synchronised, 1 by a local clock, 2 by a global one, 5 to 254 by this
    /// grandmaster.
    pub synchronisation: u8,
    /// smpRate: samples in a period of the power system, or in a second.
    pub rate: Option<u16>,
    /// The encoded values.
    pub sample: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the PDU at the start of `octets`; padding may follow it. [`Pdu::asdus`] decodes its
    /// samples.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut header = read::Reader::new(octets);
        let appid = header.u16("APPID")?;
        header.u16("SV length")?;
        let reserved = [header.u16("reserved 1")?, header.u16("reserved 2")?];
        Self::of_body(appid, reserved, Reader::at(header.rest(), HEADER_OCTETS))
    }

    /// Decodes the savPdu of a PDU with this header.
    #[inline]
    pub(crate) fn of_body(
        appid: u16,
        reserved: [u16; 2],
        mut body: Reader<'a>,
    ) -> Result<Self, Malformed> {
        let mut reader = body.expect("savPdu", SAV_PDU)?.reader();
        let stated = reader.expect("noASDU", Tag::primitive(0))?.unsigned("noASDU")?;
        reader.optional("security", Tag::constructed(1))?;
        let asdus = reader.expect("seqASDU", Tag::constructed(2))?;
        let at = asdus.reader().offset();
        Ok(Self { appid, reserved, stated_asdus: stated, asdus: asdus.content, at })
    }

    /// Returns true if the header marks the values as simulated.
    #[must_use]
    pub const fn is_simulated(&self) -> bool {
        self.reserved[0] & SIMULATED != 0
    }

    /// Offsets of smpCnt and of the sample in the decoded octets, of a PDU with one ASDU in which nothing
    /// else changes from one sample to the next: without refrTm. None for any other.
    #[must_use]
    pub fn repeating(&self) -> Option<[usize; 2]> {
        let mut list = Reader::at(self.asdus, self.at);
        let mut reader = list.expect("ASDU", SEQUENCE).ok()?.reader();
        reader.contents("svID", Tag::primitive(0)).ok()?;
        reader.optional_contents("datSet", Tag::primitive(1)).ok()?;
        let count = reader.expect("smpCnt", Tag::primitive(2)).ok()?;
        reader.contents("confRev", Tag::primitive(3)).ok()?;
        reader.contents("smpSynch", Tag::primitive(5)).ok()?;
        reader.optional_contents("smpRate", Tag::primitive(6)).ok()?;
        let sample = reader.expect("sample", Tag::primitive(7)).ok()?;
        let is_alone = list.is_empty() && count.content.len() == 2;
        is_alone.then_some([count.content_offset, sample.content_offset])
    }

    /// Decodes its ASDUs, one after the other, up to the first malformed one.
    pub fn asdus(&self) -> impl Iterator<Item = Result<Asdu<'a>, Malformed>> + Clone + use<'a> {
        let mut reader = Some(Reader::at(self.asdus, self.at));
        core::iter::from_fn(move || {
            let mut rest = reader.take()?;
            if rest.peek().is_none() && rest.is_empty() {
                return None;
            }
            let asdu = rest.expect("ASDU", SEQUENCE).and_then(|element| Asdu::of(element.reader()));
            if asdu.is_ok() {
                reader = Some(rest);
            }
            Some(asdu)
        })
    }

    /// Encodes a PDU with its header. The length field holds at most 65,535.
    #[must_use]
    pub fn encode(appid: u16, reserved: [u16; 2], asdus: &[Asdu<'_>]) -> Vec<u8> {
        let mut out = Writer::new();
        for asdu in asdus.iter().rev() {
            asdu.write(&mut out);
        }
        out.close(Tag::constructed(2), 0);
        out.integer(Tag::primitive(0), asdus.len() as i64);
        out.close(SAV_PDU, 0);
        let length = (out.octets().len() + HEADER_OCTETS).min(usize::from(u16::MAX)) as u16;
        let [first, second] = reserved;
        for field in [second, first, length, appid] {
            out.put(&field.to_be_bytes());
        }
        out.octets().to_vec()
    }
}

impl<'a> Asdu<'a> {
    fn of(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let identifier = reader.contents("svID", Tag::primitive(0))?;
        let data_set = reader.optional_contents("datSet", Tag::primitive(1))?;
        let fault = reader.malformed("smpCnt");
        let count = reader.contents("smpCnt", Tag::primitive(2))?;
        let sample_count = count.try_into().map(u16::from_be_bytes).map_err(|_| fault)?;
        let fault = reader.malformed("confRev");
        let revision = reader.contents("confRev", Tag::primitive(3))?;
        let revision = revision.try_into().map(u32::from_be_bytes).map_err(|_| fault)?;
        reader.optional_contents("refrTm", Tag::primitive(4))?;
        let fault = reader.malformed("smpSynch");
        let [synchronisation] = *reader.contents("smpSynch", Tag::primitive(5))? else {
            return Err(fault);
        };
        let fault = reader.malformed("smpRate");
        let rate = reader.optional_contents("smpRate", Tag::primitive(6))?;
        let rate = rate.map(|rate| rate.try_into().map(u16::from_be_bytes).map_err(|_| fault));
        Ok(Self {
            identifier,
            data_set,
            sample_count,
            configuration_revision: revision,
            synchronisation,
            rate: rate.transpose()?,
            sample: reader.contents("sample", Tag::primitive(7))?,
        })
    }

    /// Writes the ASDU in front of what is written.
    fn write(&self, out: &mut Writer) {
        let before = out.octets().len();
        out.element(Tag::primitive(7), self.sample);
        let rate = self.rate.map(u16::to_be_bytes);
        out.optional_element(Tag::primitive(6), rate.as_ref().map(<[u8; 2]>::as_slice));
        out.element(Tag::primitive(5), &[self.synchronisation]);
        out.element(Tag::primitive(3), &self.configuration_revision.to_be_bytes());
        out.element(Tag::primitive(2), &self.sample_count.to_be_bytes());
        out.optional_element(Tag::primitive(1), self.data_set);
        out.element(Tag::primitive(0), self.identifier);
        out.close(SEQUENCE, before);
    }
}

impl fmt::Display for Pdu<'_> {
    /// Prints the PDU on one line, without its values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SV appid={:04x} noASDU={}", self.appid, self.stated_asdus)?;
        for asdu in self.asdus().flatten() {
            write!(f, " {} smpCnt={}", Text(asdu.identifier), asdu.sample_count)?;
            write!(f, " smpSynch={}", asdu.synchronisation)?;
        }
        f.write_str(if self.is_simulated() { " simulation" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASDU: Asdu<'_> = Asdu {
        identifier: b"MU01",
        data_set: None,
        sample_count: 3_999,
        configuration_revision: 1,
        synchronisation: 2,
        rate: Some(80),
        sample: &[0; 64],
    };

    #[test]
    fn what_is_written_reads_back_and_prints() {
        let second = Asdu { sample_count: 0, rate: None, data_set: Some(b"set"), ..ASDU };
        let octets = [Pdu::encode(0x4001, [SIMULATED, 0], &[ASDU, second]), vec![0; 5]].concat();
        let pdu = Pdu::decode(&octets).unwrap();
        let asdus: Result<Vec<_>, _> = pdu.asdus().collect();
        assert_eq!(asdus, Ok(vec![ASDU, second]));
        assert_eq!(
            pdu.to_string(),
            "SV appid=4001 noASDU=2 \"MU01\" smpCnt=3999 smpSynch=2 \"MU01\" smpCnt=0 smpSynch=2 \
             simulation"
        );
    }

    #[test]
    fn a_pdu_that_repeats_has_one_sample_and_its_places() {
        let octets = Pdu::encode(0x4001, [0; 2], &[ASDU]);
        let [count, sample] = Pdu::decode(&octets).unwrap().repeating().unwrap();
        assert_eq!([octets[count], octets[count + 1], octets[sample - 1]], [0x0F, 0x9F, 64]);
        let two = Pdu::encode(0x4001, [0; 2], &[ASDU, ASDU]);
        assert_eq!(Pdu::decode(&two).unwrap().repeating(), None);
    }

    #[test]
    fn a_broken_sample_names_the_field_and_ends_the_list() {
        let mut octets = Pdu::encode(0x4001, [0; 2], &[ASDU, ASDU]);
        let at = octets.windows(4).position(|it| it == [0x82, 2, 0x0F, 0x9F]).unwrap();
        octets[at] = 0x92;
        let pdu = Pdu::decode(&octets).unwrap();
        let faults: Vec<_> = pdu.asdus().collect();
        let [Err(fault)] = &faults[..] else { panic!("{faults:?}") };
        assert_eq!(fault.to_string(), format!("malformed smpCnt at octet {at}"));
        assert_eq!((LEAF.kind)(&octets), Err(*fault));
        let cut = Pdu::decode(&octets[..30]).unwrap_err();
        assert_eq!(cut.to_string(), "malformed savPdu at octet 8");
    }
}
