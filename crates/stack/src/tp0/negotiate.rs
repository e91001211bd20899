//! Negotiation by CR and CC: class, flow control, TPDU size (ISO 8073 6.5.4; RFC 1006 5, RFC 2126
//! 6.4).

use super::service::Params;
use super::table::Class;
use bytes::BytesMut;
use wire::packet::Packet;
use wire::tp::{
    ClassOption, Connect, Kind, Parameter, ParameterBuffer, Parameters, Pdu, Reference,
};
use wire::tpkt::LONGEST_TPDU;

/// Maximum length of a TSAP-ID.
const TSAP_OCTETS: usize = 32;
/// Code of 128 octets. The codes of the standard end at 11 for class 0, 2,048 octets, and at 13 for
/// the others.
const SMALLEST_CODE: u8 = 7;
/// Code used by some peers for the longest TPDU of RFC 1006.
const LONGEST_CODE: u8 = 16;

/// Agreement of the two sides, or the proposal of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Agreement {
    pub(super) class: Class,
    pub(super) tpdu_octets: usize,
    /// Code of the size; under RFC 1006 its absence means the longest TPDU.
    size_code: Option<u8>,
}

/// Code of the largest TPDU size of at most `octets` octets, up to code `most`.
fn size_code(octets: usize, most: u8) -> u8 {
    (SMALLEST_CODE..=most).rev().find(|code| size_of_code(*code) <= octets).unwrap_or(SMALLEST_CODE)
}

fn size_of_code(code: u8) -> usize {
    match code {
        SMALLEST_CODE..=15 => 1 << code,
        LONGEST_CODE => LONGEST_TPDU,
        // Undefined code: the smallest size is safe.
        _ => 128,
    }
}

/// Code of the stated TPDU size.
fn stated_code(parameters: Parameters<'_>) -> Option<u8> {
    match parameters.value(0xC0) {
        Some([code]) => Some(*code),
        Some(_) => Some(SMALLEST_CODE),
        None => None,
    }
}

/// Code of the largest size that this side accepts, within the codes of the standard (13.3.4 b).
fn standard_code(class: Class, octets: usize) -> Option<u8> {
    let most = match class {
        Class::Class0 => 11,
        Class::Class2 { .. } => 13,
    };
    (octets < LONGEST_TPDU).then(|| size_code(octets, most))
}

/// Class of a CLASS OPTION octet; `None` if it is not supported.
const fn class_of(option: ClassOption) -> Option<Class> {
    match option.class {
        0 => Some(Class::Class0),
        2 => Some(Class::Class2 { flow_control: !option.without_flow_control }),
        _ => None,
    }
}

/// CLASS OPTION octet of a class: with 7-bit numbers, if there are numbers.
const fn option_of(class: Class) -> ClassOption {
    let (class, without_flow_control) = match class {
        Class::Class0 => (0, false),
        Class::Class2 { flow_control } => (2, !flow_control),
    };
    ClassOption { class, extended: false, without_flow_control, reserved: 0 }
}

impl Agreement {
    fn of(class: Class, size_code: Option<u8>) -> Self {
        Self { class, tpdu_octets: size_code.map_or(LONGEST_TPDU, size_of_code), size_code }
    }

    /// Proposal of this side: the contents of its CR.
    pub(super) fn proposed(params: &Params) -> Self {
        Self::of(params.class, standard_code(params.class, params.tpdu_octets()))
    }

    /// Answer to a CR; `None` if no acceptable class is supported.
    ///
    /// RFC 905 table 3: classes 3 and 4 may be answered with class 2, and class 1 with class 0,
    /// even if the CR names no alternative.
    pub(super) fn answer(params: &Params, cr: &Connect<'_>) -> Option<Self> {
        let alternatives = cr.parameters.value(0xC7).unwrap_or_default();
        let names = |class: u8| {
            cr.class.class == class || alternatives.iter().any(|octet| octet >> 4 == class)
        };
        let takes2 = names(2) || matches!(cr.class.class, 3 | 4);
        let class = if takes2 && params.accepts_class2 {
            // Only class 2 itself uses the bit for non-use of flow control.
            let without = cr.class.class == 2 && cr.class.without_flow_control;
            Class::Class2 { flow_control: !without }
        } else if names(0) || names(1) {
            Class::Class0
        } else {
            return None;
        };
        // A caller that states a size beyond the standard's for its class gets a size in the same
        // range.
        let octets = params.tpdu_octets();
        let size_code = match stated_code(cr.parameters) {
            Some(stated) => Some(size_code(octets.min(size_of_code(stated)), LONGEST_CODE)),
            None => standard_code(class, octets),
        };
        Some(Self::of(class, size_code))
    }

    /// Agreement after a CC to this proposal; `None` if the CC exceeds the proposal.
    pub(super) fn settle(self, cc: &Connect<'_>) -> Option<Self> {
        let class = class_of(cc.class)?;
        let is_offered = match class {
            Class::Class0 => true,
            Class::Class2 { .. } => self.class != Class::Class0 && !cc.class.extended,
        };
        let settled = Self::of(class, stated_code(cc.parameters).or(self.size_code));
        let fits = is_offered && settled.tpdu_octets <= self.tpdu_octets;
        fits.then_some(settled)
    }
}

/// Contents of a CR or CC in addition to the agreement.
pub(super) struct Ends<'a> {
    pub(super) destination_reference: Reference,
    pub(super) source_reference: Reference,
    pub(super) credit: u8,
    pub(super) calling: &'a [u8],
    pub(super) called: &'a [u8],
}

/// Encodes a CR or CC; `None` if a TSAP-ID is too long.
pub(super) fn connect_tpdu(kind: Kind, ends: &Ends<'_>, agreed: Agreement) -> Option<Packet> {
    if ends.calling.len().max(ends.called.len()) > TSAP_OCTETS {
        return None;
    }
    let mut buffer = ParameterBuffer::new();
    if let Some(code) = agreed.size_code {
        buffer.push(&Parameter::TpduSize(code))?;
    }
    if !ends.calling.is_empty() {
        buffer.push(&Parameter::CallingTsap(ends.calling))?;
    }
    if !ends.called.is_empty() {
        buffer.push(&Parameter::CalledTsap(ends.called))?;
    }
    if let Class::Class2 { .. } = agreed.class {
        // No expedited data: without the parameter it would be selected.
        buffer.push(&Parameter::AdditionalOptions(0))?;
        if kind == Kind::Cr {
            buffer.push(&Parameter::AlternativeClasses(&[0]))?;
        }
    }
    let connect = Connect {
        credit: ends.credit,
        destination_reference: ends.destination_reference,
        source_reference: ends.source_reference,
        class: option_of(agreed.class),
        parameters: buffer.parameters(kind),
        data: &[],
    };
    let pdu = if kind == Kind::Cr { Pdu::Cr(connect) } else { Pdu::Cc(connect) };
    let mut octets = BytesMut::with_capacity(pdu.header_octets());
    pdu.encode(&mut octets);
    Some(Packet::new(octets.freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::tp::tpdus;

    const FREE: Class = Class::Class2 { flow_control: false };
    const EXPLICIT: Class = Class::Class2 { flow_control: true };

    fn ends() -> Ends<'static> {
        Ends {
            destination_reference: Reference(0),
            source_reference: Reference(1),
            credit: 0,
            calling: &[0, 1],
            called: &[0, 1],
        }
    }

    fn cr(class: u8, alternatives: &[u8], size: Option<u8>, params: &Params) -> Option<Agreement> {
        let mut buffer = ParameterBuffer::new();
        if let Some(size) = size {
            buffer.push(&Parameter::TpduSize(size)).unwrap();
        }
        if !alternatives.is_empty() {
            buffer.push(&Parameter::AlternativeClasses(alternatives)).unwrap();
        }
        let connect = Connect {
            credit: 0,
            destination_reference: Reference(0),
            source_reference: Reference(1),
            class: ClassOption::from_octet(class),
            parameters: buffer.parameters(Kind::Cr),
            data: &[],
        };
        Agreement::answer(params, &connect)
    }

    #[test]
    fn a_class_0_cr_has_eighteen_octets_and_no_size_above_2048() {
        // Length indicator 17, class 0, TSAPs; C0 with 11 for 2,048 octets, the most of class 0.
        let expected =
            [0x11, 0xE0, 0, 0, 0, 1, 0, 0xC0, 1, 0x0B, 0xC1, 2, 0, 1, 0xC2, 2, 0, 1].as_slice();
        for octets in [2_048, 8_192, 65_530] {
            let params = Params { tpdu_octets: octets, ..Params::class0() };
            let packet = connect_tpdu(Kind::Cr, &ends(), Agreement::proposed(&params));
            assert_eq!(packet.unwrap().payload(), expected, "{octets} octets");
        }
        // RFC 1006: no C0 stands for 65,531 octets.
        let packet = connect_tpdu(Kind::Cr, &ends(), Agreement::proposed(&Params::class0()));
        assert_eq!(packet.unwrap().payload()[7..], expected[10..]);
    }

    #[test]
    fn the_class_answered_is_one_of_table_3_and_never_class_4() {
        let whole = Params::class0();
        let only0 = Params { accepts_class2: false, ..Params::class0() };
        for (class, alternatives, with2, without2) in [
            (0x00, &[][..], Some(Class::Class0), Some(Class::Class0)),
            (0x10, &[][..], Some(Class::Class0), Some(Class::Class0)),
            (0x20, &[][..], Some(EXPLICIT), None),
            (0x21, &[][..], Some(FREE), None),
            (0x21, &[0x00][..], Some(FREE), Some(Class::Class0)),
            (0x40, &[][..], Some(EXPLICIT), None),
            (0x42, &[0x20, 0x00][..], Some(EXPLICIT), Some(Class::Class0)),
            (0x50, &[][..], None, None),
        ] {
            let answered = |params| cr(class, alternatives, None, params).map(|a| a.class);
            assert_eq!(answered(&whole), with2, "class option {class:02x}");
            assert_eq!(answered(&only0), without2, "class option {class:02x}, class 0 alone");
        }
    }

    #[test]
    fn the_size_answered_is_never_above_what_either_side_stated() {
        let size = |code, octets| {
            let params = Params { tpdu_octets: octets, ..Params::class0() };
            cr(0, &[], code, &params).unwrap().tpdu_octets
        };
        // RFC 1006: no size means 65,531 octets. S7 stations state 1,024; an MMS client states
        // 8,192, although class 0 has at most 2,048; a Java client states 65,531 as 16.
        assert_eq!(size(None, 65_531), 65_531);
        assert_eq!(size(None, 8_192), 2_048, "the most of class 0");
        assert_eq!(size(Some(10), 65_531), 1_024);
        assert_eq!(size(Some(13), 65_531), 8_192);
        assert_eq!(size(Some(16), 65_531), 65_531);
        assert_eq!(size(Some(16), 5_000), 4_096);
        assert_eq!(size(Some(3), 65_531), 128, "not a size of the standard");
        assert_eq!(size(Some(7), 100), 128, "the smallest size");
    }

    #[test]
    fn a_cc_beyond_the_offer_is_rejected() {
        let settled = |offered: Class, class: u8, size: Option<u8>| {
            let mut buffer = ParameterBuffer::new();
            if let Some(size) = size {
                buffer.push(&Parameter::TpduSize(size)).unwrap();
            }
            let cc = Connect {
                credit: 0,
                destination_reference: Reference(1),
                source_reference: Reference(2),
                class: ClassOption::from_octet(class),
                parameters: buffer.parameters(Kind::Cc),
                data: &[],
            };
            let found = Agreement::of(offered, Some(10)).settle(&cc);
            found.map(|agreed| (agreed.class, agreed.tpdu_octets))
        };
        assert_eq!(settled(Class::Class0, 0, None), Some((Class::Class0, 1_024)));
        assert_eq!(settled(Class::Class0, 0, Some(9)), Some((Class::Class0, 512)));
        assert_eq!(settled(Class::Class0, 0, Some(11)), None, "2,048 octets were not offered");
        assert_eq!(settled(Class::Class0, 0x20, None), None, "class 2 was not offered");
        assert_eq!(settled(FREE, 0, None), Some((Class::Class0, 1_024)));
        assert_eq!(settled(FREE, 0x21, None), Some((FREE, 1_024)));
        assert_eq!(settled(FREE, 0x23, None), None, "extended formats were not offered");
        assert_eq!(settled(FREE, 0x40, None), None, "class 4 is never offered");
    }

    #[test]
    fn a_class_2_cr_offers_class_0_and_no_expedited_data() {
        let agreed = Agreement::of(FREE, Some(7));
        let packet = connect_tpdu(Kind::Cr, &ends(), agreed).unwrap();
        let raw = tpdus(packet.payload()).next().unwrap().unwrap();
        let Ok(Pdu::Cr(cr)) = Pdu::decode(&raw, None) else { panic!("not a CR") };
        assert_eq!(cr.class.to_octet(), 0x21);
        assert_eq!(cr.parameters.value(0xC7), Some(&[0][..]));
        assert_eq!(cr.parameters.value(0xC6), Some(&[0][..]));
        let long = Ends { called: &[1; 33], ..ends() };
        assert!(connect_tpdu(Kind::Cr, &long, agreed).is_none(), "a TSAP-ID has 32 octets at most");
    }
}
