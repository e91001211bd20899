use super::*;
use crate::ber::tests::hex;

#[track_caller]
fn check(text: &str, line: &str) {
    let octets = hex(text);
    let pdu = Pdu::decode(&octets).unwrap();
    assert_eq!(pdu.to_string(), line);
    let mut out = Writer::new();
    pdu.encode(&mut out);
    assert_eq!(out.octets(), octets);
}

/// Association and release of libiec61850.
#[test]
fn every_apdu_reads_and_writes_back() {
    check(
        "602a a107 0605 28ca220203 a207 0605 2901876701 a303 02010c a606 0604 29018767 \
         a703 02010c be04 2802 a000",
        "ACSE AARQ context=1.0.9506.2.3 called=1.1.1.999.1/12 calling=1.1.1.999/12 0 octets",
    );
    check(
        "611f a107 0605 28ca220203 a203 020100 a305 a103 020100 be08 2806 020103 8101 05",
        "ACSE AARE context=1.0.9506.2.3 result=0 user=0 context=3 1 octets",
    );
    check("6203 800100", "ACSE RLRQ reason=0");
    check("6300", "ACSE RLRE");
    check("6303 800100", "ACSE RLRE reason=0");
    check("6403 800100", "ACSE ABRT source=0");
    check("6406 800101 810102", "ACSE ABRT source=1 diagnostic=2");
}

#[test]
fn a_password_is_found_and_not_printed() {
    let octets =
        hex("6018 8a020480 8b03520301 ac0a 8008 7061737377643132".replace("6018", "6015").as_str());
    let pdu = Pdu::decode(&octets).unwrap();
    let Pdu::Aarq(request) = pdu else { panic!("{pdu}") };
    assert_eq!(request.authentication.password(), Some(&b"passwd12"[..]));
    assert_eq!(request.authentication.mechanism, Some(PASSWORD));
    assert!(request.authentication.requirements.is_some_and(|bits| bits.bit(0)));
    assert_eq!(pdu.to_string(), "ACSE AARQ mechanism=2.2.3.1 password of 8 octets");
    let mut out = Writer::new();
    pdu.encode(&mut out);
    assert_eq!(out.octets(), octets);
}

#[test]
fn user_information_has_a_direct_reference_or_none() {
    let octets = hex("600f be0d 280b 06025101 020103 a002 8b00");
    let pdu = Pdu::decode(&octets).unwrap();
    let external = pdu.information().iter().next().unwrap();
    assert_eq!(external.direct, Some(crate::presentation::BER));
    assert_eq!((external.indirect, external.value.octets()), (Some(3), &[0x8B, 0][..]));
    let mut out = Writer::new();
    pdu.encode(&mut out);
    assert_eq!(out.octets(), octets);
}

#[test]
fn an_invalid_field_is_named_with_its_offset() {
    for (text, complaint) in [
        ("", "malformed APDU at octet 0"),
        ("6203 8001", "malformed APDU at octet 0"),
        ("6500", "malformed APDU at octet 0"),
        ("6100", "malformed result at octet 0"),
        ("6105 a203 040100", "malformed result at octet 4"),
        ("610c a203 020100 a305 a303 020100", "malformed result source diagnostic at octet 9"),
        ("6004 a102 0600", "malformed application context name at octet 4"),
        ("6004 8a020f80", "malformed ACSE requirements at octet 2"),
        ("6004 be02 3000", "malformed user information at octet 4"),
    ] {
        assert_eq!(Pdu::decode(&hex(text)).unwrap_err().to_string(), complaint, "{text}");
    }
}
