use super::*;
use crate::ber::tests::hex;
use session::Kind;

#[track_caller]
fn check(kind: Kind, text: &str, line: &str) {
    let octets = hex(text);
    let pdu = Pdu::decode(kind, &octets).unwrap();
    assert_eq!(pdu.to_string(), line);
    let mut out = Writer::new();
    pdu.encode(&mut out);
    assert_eq!(out.octets(), octets);
}

/// Association of libiec61850, without its application data; abort with a context list.
#[test]
fn every_ppdu_of_the_kernel_reads_and_writes_back() {
    check(
        Kind::Cn,
        "31 4c a003800101 a245 8104 00000001 8204 00000001 a423 \
         300f 020101 0604 52010001 3004 06025101 3010 020103 0605 28ca220201 3004 06025101 \
         6112 3010 020101 a00b 6009 a107 0605 28ca220203",
        "presentation CP calling=00000001 called=00000001 1=2.2.1.0.1 3=1.0.9506.2.1 context=1 \
         11 octets",
    );
    check(
        Kind::Ac,
        "312a a003800101 a223 8304 00000001 a512 3007 800100 81025101 3007 800100 81025101 \
         6107 3005 020101 a000",
        "presentation CPA responding=00000001 accepted accepted context=1 0 octets",
    );
    check(
        Kind::Rf,
        "3012 a50d 3006 800102 820101 3003 800100 8a0102",
        "presentation CPR rejected=2/1 accepted reason=2",
    );
    check(
        Kind::Ab,
        "a019 a009 3007 020101 06025101 610c 300a 020101 a005 6403800100",
        "presentation ARU 1=2.1.1 context=1 5 octets",
    );
    check(Kind::Ab, "3006 800101 810102", "presentation ARP reason=1 event=2");
    check(
        Kind::Dt,
        "6120 300c 020103 a007 a005 020101 8200 3010 06025101 020105 8107 61626364656667",
        "presentation TD context=3 7 octets context=5 transfer=2.1.1 7 octets",
    );
    check(Kind::Dt, "4003616263", "presentation TD simple 3 octets");
    check(Kind::Cn, "3107 a003800100 a100", "presentation X.410 mode 9 octets");
    check(Kind::Short(0xE8), "0261", "presentation short 2 octets");
}

#[test]
fn the_header_of_data_grows_with_the_length() {
    for (from, to, header) in [
        (0, 120, 9),
        (121, 122, 10),
        (123, 127, 11),
        (128, 246, 12),
        (247, 249, 13),
        (250, 255, 14),
        (256, 65_523, 15),
    ] {
        for octets in [from, from + 1, to - 1, to] {
            let mut out = Writer::new();
            out.put(&vec![7; octets]);
            wrap(3, 0, &mut out);
            assert_eq!(out.len() - octets, header, "{octets} octets");
            let data = Pdu::decode(Kind::Dt, out.octets()).unwrap().user_data().unwrap();
            let pdv = data.first().unwrap();
            assert_eq!((pdv.context, pdv.value.octets().len()), (3, octets));
        }
    }
}

#[test]
fn members_may_have_any_order_and_unknown_ones_are_skipped() {
    let usual = hex("310f a003800101 a208 81020001 82020002");
    let usual = Pdu::decode(Kind::Cn, &usual).unwrap();
    let swapped = hex("3112 a20b 82020002 8f0100 81020001 a003800101");
    assert_eq!(Pdu::decode(Kind::Cn, &swapped), Ok(usual));
    let requirements = hex("310b a204 88020600 a003800101");
    let Ok(Pdu::Cp(parameters)) = Pdu::decode(Kind::Cn, &requirements) else { panic!() };
    assert_eq!(parameters.requirements, Some(BitString { unused: 6, octets: &[0] }));
}

#[test]
fn an_indefinite_length_is_read() {
    let octets = hex("6180 3080 020103 a080 a005 0201018200 0000 0000 0000");
    let data = Pdu::decode(Kind::Dt, &octets).unwrap().user_data().unwrap();
    assert_eq!(data.first().unwrap().value.octets(), hex("a0050201018200"));
}

#[test]
fn an_invalid_field_is_named_with_its_offset() {
    for (kind, text, complaint) in [
        (Kind::Dt, "", "malformed PPDU at octet 0"),
        (Kind::Dt, "6105 3003 0201", "malformed PPDU at octet 0"),
        (Kind::Dt, "6100 00", "malformed PPDU at octet 2"),
        (Kind::Dt, "3100", "malformed PPDU at octet 0"),
        (Kind::Dt, "6102 3100", "malformed PDV list at octet 2"),
        (Kind::Dt, "6104 3002 0400", "malformed presentation context identifier at octet 4"),
        (Kind::Dt, "6107 3005 020101 a300", "malformed presentation data value at octet 7"),
        (Kind::Cn, "3102 a200", "malformed mode selector at octet 0"),
        (Kind::Cn, "3105 a003800102", "malformed mode value at octet 4"),
        (
            Kind::Cn,
            "310b a003800101 a204 a4023100",
            "malformed presentation context definition at octet 11",
        ),
    ] {
        assert_eq!(Pdu::decode(kind, &hex(text)).unwrap_err().to_string(), complaint, "{text}");
    }
}
