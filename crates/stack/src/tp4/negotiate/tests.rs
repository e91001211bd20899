//! Agreements of two sides, and refusals.

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
    Agreement {
        extended,
        checksum,
        expedited: false,
        requests: false,
        selective: false,
        tpdu_octets,
        preferred: !tpdu_octets.is_power_of_two(),
        priority: Priority::LOWEST,
    }
}

/// Sends `proposed` as a CR to a side with `params` and its CC back; returns the agreements of
/// both.
fn negotiate(proposed: Agreement, params: &Params) -> (Agreement, Result<Agreement, Reason>) {
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
fn both_sides_agree_on_the_same_and_never_upwards() {
    for extended in [false, true] {
        for checksum in [false, true] {
            for octets in [128, 1_024, 8_192] {
                let params = Params { extended, checksum, tpdu_octets: 2_048, ..Params::lan() };
                let (answer, settled) = negotiate(proposal(true, false, octets), &params);
                assert_eq!(settled, Ok(answer));
                let expected = proposal(extended, checksum, octets.min(2_048));
                assert_eq!(answer, expected);
            }
        }
    }
}

#[test]
fn both_sides_use_the_priority_of_the_cr_or_else_the_lowest() {
    let named = |level: Option<u16>| {
        let mut buffer = ParameterBuffer::new();
        if let Some(level) = level {
            buffer.push(&Parameter::Priority(level)).unwrap();
        }
        super::priority(buffer.parameters(Kind::Cr)).number()
    };
    // ISO 8073: 0 is the highest; there are more levels than a MAC has.
    let levels = [Some(0), Some(6), Some(7), Some(8), Some(u16::MAX), None];
    assert_eq!(levels.map(named), [7, 1, 0, 0, 0, 0]);
    for number in 0..=7 {
        let priority = Priority::new(number).unwrap();
        let proposed = Agreement { priority, ..proposal(true, true, 1_024) };
        let (answer, settled) = negotiate(proposed, &Params::lan());
        assert_eq!((answer.priority, settled), (priority, Ok(answer)));
        let cr = connect_tpdu(Kind::Cr, &ends(b""), proposed).unwrap();
        let plain = connect_tpdu(Kind::Cr, &ends(b""), proposal(true, true, 1_024)).unwrap();
        assert_eq!(cr.len() - plain.len(), if number == 0 { 0 } else { 4 });
    }
}

#[test]
fn the_checksum_is_omitted_only_if_both_sides_agree() {
    let with = Params::lan();
    let without = Params { checksum: false, ..Params::lan() };
    let uses = |proposed, params| negotiate(proposal(false, proposed, 1_024), params).0.checksum;
    assert!(uses(true, &with) && uses(true, &without) && uses(false, &with));
    assert!(!uses(false, &without));
}

#[test]
fn a_cc_beyond_the_proposal_is_refused() {
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
    assert!(cc(0x40, 10).is_ok());
    let broken = Err(Reason::ProtocolError);
    assert_eq!(cc(0x42, 10), broken, "extended formats were not offered");
    assert_eq!(cc(0x20, 10), Err(Reason::NegotiationFailed), "class 2 is valid, but not supported");
    assert_eq!([cc(0x00, 10), cc(0x10, 10), cc(0x30, 10), cc(0x50, 10)], [broken; 4]);
    assert_eq!(cc(0x40, 11), broken, "2,048 octets were not offered");
    assert_eq!(cc(0x40, 14), broken, "there is no such size");
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

/// Answer to a CR of this class from reference 7 with these parameters.
fn answer_to(class: u8, parameters: &[u8], params: &Params) -> Result<Agreement, u8> {
    let mut octets = vec![6 + parameters.len() as u8, 0xE1, 0, 0, 0, 7, class];
    octets.extend_from_slice(parameters);
    let raw = tpdus(&octets).next().unwrap().unwrap();
    let Ok(Pdu::Cr(cr)) = Pdu::decode(&raw, None) else { panic!("not a CR") };
    Agreement::answer(params, &cr)
}

#[test]
fn valid_responses_are_those_of_table_3() {
    // ISO 8073 table 3, row by row: preferred class, then alternatives 0 to 4 and none; classes as digits.
    let table = [
        (0, ["", "", "", "", "", "0"]),
        (1, ["10", "10", "", "", "", "10"]),
        (2, ["20", "", "2", "", "", "2"]),
        (3, ["320", "3210", "32", "32", "", "32"]),
        (4, ["420", "4210", "42", "432", "42", "42"]),
    ];
    for (preferred, row) in table {
        for (alternative, classes) in row.into_iter().enumerate() {
            let alternatives = [alternative as u8];
            let given = if alternative < 5 { &alternatives[..] } else { &[] };
            let valid = valid_responses(preferred, given);
            let found: String =
                (0..5).rev().filter(|c| valid & 1 << c != 0).map(|c| c.to_string()).collect();
            assert_eq!(found, classes, "class {preferred}, alternative {given:?}");
        }
    }
    assert_eq!(valid_responses(5, &[]), 0);
}

#[test]
fn class_4_is_accepted_only_where_it_is_preferred() {
    let params = Params::lan();
    for class in [0x00, 0x10, 0x20, 0x30] {
        assert_eq!(answer_to(class, &[], &params), Err(130), "class {class:02x}");
    }
    assert!(answer_to(0x40, &[0xC7, 2, 0x20, 0x30], &params).is_ok(), "alternatives do not matter");
    assert_eq!(
        answer_to(0x30, &[0xC7, 1, 0x40], &params),
        Err(133),
        "no alternative may be above the class"
    );
    assert_eq!(answer_to(0x40, &[0xC7, 1, 0x21], &params), Err(133), "a class with options");
    assert_eq!(answer_to(0x50, &[], &params), Err(133), "there is no class 5");
}

#[test]
fn absent_and_invalid_parameters_of_a_cr_take_their_default() {
    let params = Params { expedited: true, checksum: false, ..Params::lan() };
    let bare = answer_to(0x40, &[], &params).unwrap();
    // 13.3.4: 128 octets, expedited data used, checksum used.
    assert_eq!((bare.tpdu_octets, bare.expedited, bare.checksum), (128, true, true));
    for ignored in [&[0xC0, 1, 14][..], &[0xC0, 2, 0, 10], &[0xC4, 1, 9], &[0x3F, 1, 0]] {
        assert_eq!(answer_to(0x40, ignored, &params), Ok(bare), "{ignored:02x?}");
    }
    assert_eq!(answer_to(0x40, &[0xC6, 2, 0, 0], &params), Err(133));
    let duplicate = answer_to(0x40, &[0xC0, 1, 13, 0xC0, 1, 8], &params).unwrap();
    assert_eq!(duplicate.tpdu_octets, 256, "of duplicates the last counts");
}

#[test]
fn expedited_data_is_used_only_if_both_sides_agree() {
    for (ours, theirs) in [(false, false), (false, true), (true, false), (true, true)] {
        let proposed = Agreement { expedited: ours, ..proposal(true, true, 1_024) };
        let params = Params { expedited: theirs, ..Params::lan() };
        let (answer, settled) = negotiate(proposed, &params);
        assert_eq!(settled, Ok(answer));
        assert_eq!(answer.expedited, ours && theirs);
    }
}

#[test]
fn a_preferred_size_falls_back_to_a_power_of_two() {
    let params = Params { tpdu_octets: 1_480, ..Params::lan() };
    let proposed = Agreement::proposed(&params);
    assert_eq!((proposed.tpdu_octets, proposed.preferred), (1_408, true), "11 x 128");
    let (answer, settled) = negotiate(proposed, &params);
    assert_eq!((answer.tpdu_octets, settled), (1_408, Ok(answer)));
    let smaller = Params { tpdu_octets: 512, ..Params::lan() };
    let (answer, settled) = negotiate(proposed, &smaller);
    assert_eq!((answer.tpdu_octets, settled), (512, Ok(answer)));
    // A side without F0 sees only C0 and answers with it.
    let old = answer_to(0x40, &[0xC0, 1, 10], &params).unwrap();
    assert_eq!((old.tpdu_octets, old.preferred), (1_024, false));
    let cc = connect_tpdu(Kind::Cc, &ends(b""), old).unwrap();
    let raw = tpdus(&cc).next().unwrap().unwrap();
    let Ok(Pdu::Cc(cc)) = Pdu::decode(&raw, None) else { panic!("not a CC") };
    assert_eq!(proposed.settle(&cc).map(|agreed| agreed.tpdu_octets), Ok(1_024));
}

#[test]
fn the_additional_options_are_always_sent() {
    // Their sense is inverted for the checksum (bit 2 set: not used), and their default is 01, so a CR
    // that left them out would ask for expedited data.
    for (checksum, expedited, octet) in [(true, false, 0), (false, false, 2), (true, true, 1)] {
        let agreed = Agreement { expedited, ..proposal(false, checksum, 128) };
        let cr = connect_tpdu(Kind::Cr, &ends(b""), agreed).unwrap();
        let raw = tpdus(&cr).next().unwrap().unwrap();
        let pdu = Pdu::decode(&raw, None).unwrap();
        assert_eq!(pdu.parameters().value(0xC6), Some(&[octet][..]));
        assert!(pdu.parameters().checksum().is_some(), "whatever is proposed");
    }
}
