//! What CR and CC settle: class, format, TPDU size, checksum (ISO 8073 6.5.4, 13.3, 13.4).

use super::params::Params;
use bytes::{Bytes, BytesMut};
use wire::tp::{
    ClassOption, Connect, Kind, Parameter, ParameterBuffer, Parameters, Pdu, Reference, seal,
};

/// Additional options (C6): expedited data wanted. The default where the parameter is absent.
const USE_EXPEDITED: u8 = 0x01;
/// Additional options (C6): the checksum is **not** wanted.
const NO_CHECKSUM: u8 = 0x02;
/// The largest CR there may be (6.5.4), and the most user data in CR and CC.
const CR_OCTETS: usize = 128;
pub(super) const CONNECT_DATA_OCTETS: usize = 32;

/// What the two sides agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Agreement {
    pub(super) extended: bool,
    pub(super) checksum: bool,
    pub(super) tpdu_octets: usize,
}

/// The exponent of the largest TPDU size of the standard that is not above `octets`.
fn size_exponent(octets: usize) -> u8 {
    (7..=13).rev().find(|exponent| 1 << exponent <= octets).unwrap_or(7)
}

/// The TPDU size a CR or CC states; 128 octets where it states none or one the standard does not have.
fn stated_octets(parameters: Parameters<'_>) -> usize {
    match parameters.value(0xC0) {
        Some([exponent @ 7..=13]) => 1 << exponent,
        _ => 128,
    }
}

fn options(parameters: Parameters<'_>) -> u8 {
    match parameters.value(0xC6) {
        Some([options]) => *options,
        _ => USE_EXPEDITED,
    }
}

impl Agreement {
    /// What this side would like: the contents of its CR.
    pub(super) fn proposed(params: &Params) -> Self {
        Self {
            extended: params.extended,
            checksum: params.checksum,
            tpdu_octets: 1 << size_exponent(params.tpdu_octets),
        }
    }

    /// What to answer to a CR; `None` where class 4 was neither preferred nor an alternative.
    pub(super) fn answer(params: &Params, cr: &Connect<'_>) -> Option<Self> {
        let alternatives = cr.parameters.value(0xC7).unwrap_or_default();
        let class4 = cr.class.class == 4 || alternatives.iter().any(|octet| octet >> 4 == 4);
        if !class4 {
            return None;
        }
        let wanted = Self::proposed(params);
        Some(Self {
            extended: wanted.extended && cr.class.extended,
            checksum: wanted.checksum || options(cr.parameters) & NO_CHECKSUM == 0,
            tpdu_octets: wanted.tpdu_octets.min(stated_octets(cr.parameters)),
        })
    }

    /// What a CC settles of this proposal; `None` where it asks for more than was offered.
    pub(super) fn settle(self, cc: &Connect<'_>) -> Option<Self> {
        let settled = Self {
            extended: cc.class.extended,
            checksum: self.checksum || options(cc.parameters) & NO_CHECKSUM == 0,
            tpdu_octets: stated_octets(cc.parameters),
        };
        let offered = cc.class.class == 4
            && (self.extended || !settled.extended)
            && settled.tpdu_octets <= self.tpdu_octets;
        offered.then_some(settled)
    }
}

/// What a CR or CC to be sent says beside the agreement.
pub(super) struct Ends<'a> {
    pub(super) destination_reference: Reference,
    pub(super) source_reference: Reference,
    pub(super) credit: u8,
    pub(super) calling: &'a [u8],
    pub(super) called: &'a [u8],
    pub(super) acknowledge_ms: u16,
    pub(super) data: &'a [u8],
}

/// A CR or CC as octets; `None` where TSAP-IDs and user data are too long for one.
pub(super) fn connect_tpdu(kind: Kind, ends: &Ends<'_>, agreed: Agreement) -> Option<Bytes> {
    let mut buffer = ParameterBuffer::new();
    buffer.push(&Parameter::TpduSize(size_exponent(agreed.tpdu_octets)))?;
    if !ends.calling.is_empty() {
        buffer.push(&Parameter::CallingTsap(ends.calling))?;
    }
    if !ends.called.is_empty() {
        buffer.push(&Parameter::CalledTsap(ends.called))?;
    }
    if kind == Kind::Cr {
        buffer.push(&Parameter::Version(1))?;
    }
    let options = if agreed.checksum { 0 } else { NO_CHECKSUM };
    buffer.push(&Parameter::AdditionalOptions(options))?;
    buffer.push(&Parameter::AcknowledgeTime(ends.acknowledge_ms))?;
    // 6.17.3: a CR always carries the checksum, since nothing is agreed yet.
    let sealed = kind == Kind::Cr || agreed.checksum;
    if sealed {
        buffer.push(&Parameter::Checksum([0, 0]))?;
    }
    let connect = Connect {
        credit: ends.credit,
        destination_reference: ends.destination_reference,
        source_reference: ends.source_reference,
        class: ClassOption::class4(agreed.extended),
        parameters: buffer.parameters(kind),
        data: ends.data,
    };
    let pdu = if kind == Kind::Cr { Pdu::Cr(connect) } else { Pdu::Cc(connect) };
    let mut octets = BytesMut::with_capacity(CR_OCTETS);
    pdu.encode(&mut octets);
    let header = pdu.header_octets();
    if octets.len() > CR_OCTETS || ends.data.len() > CONNECT_DATA_OCTETS {
        return None;
    }
    if sealed {
        let (header, data) = octets.split_at_mut(header);
        let at = header.len() - 2;
        seal(header, at, data);
    }
    Some(octets.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::tp::{Checksum, tpdus};

    fn ends<'a>(data: &'a [u8]) -> Ends<'a> {
        Ends {
            destination_reference: Reference(0),
            source_reference: Reference(7),
            credit: 15,
            calling: b"a",
            called: b"b",
            acknowledge_ms: 10,
            data,
        }
    }

    fn proposal(extended: bool, checksum: bool, tpdu_octets: usize) -> Agreement {
        Agreement { extended, checksum, tpdu_octets }
    }

    /// Sends `proposed` as a CR to a side with `params` and its CC back; what each side ends up with.
    fn negotiate(proposed: Agreement, params: &Params) -> (Agreement, Option<Agreement>) {
        let cr = connect_tpdu(Kind::Cr, &ends(b""), proposed).unwrap();
        let raw = tpdus(&cr).next().unwrap().unwrap();
        let Ok(Pdu::Cr(cr)) = Pdu::decode(&raw, None) else { panic!("not a CR") };
        let answer = Agreement::answer(params, &cr).unwrap();
        let cc = connect_tpdu(Kind::Cc, &ends(b""), answer).unwrap();
        let raw = tpdus(&cc).next().unwrap().unwrap();
        let Ok(Pdu::Cc(cc)) = Pdu::decode(&raw, None) else { panic!("not a CC") };
        (answer, proposed.settle(&cc))
    }

    #[test]
    fn both_sides_settle_on_the_same_and_never_upwards() {
        for extended in [false, true] {
            for checksum in [false, true] {
                for octets in [128, 1_024, 8_192] {
                    let params = Params { extended, checksum, tpdu_octets: 2_048, ..Params::lan() };
                    let (answer, settled) = negotiate(proposal(true, false, octets), &params);
                    assert_eq!(settled, Some(answer));
                    let expected = proposal(extended, checksum, octets.min(2_048));
                    assert_eq!(answer, expected);
                }
            }
        }
    }

    #[test]
    fn the_checksum_is_left_out_only_if_both_want_it_so() {
        let with = Params::lan();
        let without = Params { checksum: false, ..Params::lan() };
        let uses =
            |proposed, params| negotiate(proposal(false, proposed, 1_024), params).0.checksum;
        assert!(uses(true, &with) && uses(true, &without) && uses(false, &with));
        assert!(!uses(false, &without));
    }

    #[test]
    fn a_cc_that_asks_for_more_than_was_offered_is_refused() {
        let offered = proposal(false, true, 1_024);
        let cc = |class, exponent| {
            let mut buffer = ParameterBuffer::new();
            buffer.push(&Parameter::TpduSize(exponent)).unwrap();
            let connect = Connect {
                credit: 1,
                destination_reference: Reference(7),
                source_reference: Reference(9),
                class: ClassOption::from_octet(class),
                parameters: buffer.parameters(Kind::Cc),
                data: &[],
            };
            offered.settle(&connect)
        };
        assert!(cc(0x40, 10).is_some());
        assert_eq!(cc(0x42, 10), None, "extended formats were not offered");
        assert_eq!(cc(0x20, 10), None, "class 2 was not offered");
        assert_eq!(cc(0x40, 11), None, "2,048 octets were not offered");
    }

    #[test]
    fn a_cr_is_sealed_and_at_most_128_octets_long() {
        // 7 fixed; sizes, options, acknowledge time, version 3 + 3 + 4 + 3; TSAPs 3 + 3; checksum 4.
        let cr = connect_tpdu(Kind::Cr, &ends(&[7; 32]), proposal(true, false, 128)).unwrap();
        assert_eq!(cr.len(), 7 + 13 + 6 + 4 + 32);
        let raw = tpdus(&cr).next().unwrap().unwrap();
        let pdu = Pdu::decode(&raw, None).unwrap();
        assert_eq!(raw.checksum(pdu.parameters(), &[]), Checksum::Good);
        assert_eq!(connect_tpdu(Kind::Cr, &ends(&[7; 33]), proposal(true, true, 128)), None);
        let long = Ends { called: &[1; 100], ..ends(&[]) };
        assert_eq!(connect_tpdu(Kind::Cr, &long, proposal(true, true, 128)), None);
    }
}
