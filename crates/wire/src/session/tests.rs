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

/// Octets from implementations of the protocol, and from the standard's tables.
#[test]
fn every_spdu_of_the_kernel_reads_and_writes_back() {
    check(
        "0d 17 0506130100160102 14020002 33020001 34020001 c101aa",
        "session CN v2 duplex calling=0001 called=0001 1 octets",
    );
    check("0e 0e 0100 0506130100160101 14020002", "session AC v1 duplex");
    check("0c06 110101 320181", "session RF disconnect=01 reason=129 (session selector unknown)");
    check(
        "0c0b 110101 160102 320302aabb",
        "session RF v2 disconnect=01 reason=2 (rejected by the called user, with data) 2 octets",
    );
    check("0900", "session FN");
    check("0908 110101 c10361aabb", "session FN disconnect=01 3 octets");
    check("0a00", "session DN");
    check("1907 11010b c102aabb", "session AB disconnect=0b 2 octets");
    check("1a00", "session AA");
    check("0100", "session GT");
    check("0203 100101", "session PT tokens=01");
    check("0100 0100 616263", "session DT 3 octets");
    check("0103100101 0103190103 61", "session DT tokens=01 enclosure=03 1 octets");
    check("e8 02 61", "session short e8 2 octets");
    check("0f 03 190101", "session other 0f 4 octets");
    check("0100 2100 61", "session other 21 2 octets");
}

#[test]
fn long_user_data_has_long_lengths_and_another_identifier() {
    // Code and length in front of the data: 2 octets up to 254, then 4.
    for (octets, length, code) in
        [(254, 256, 0xC1), (255, 259, 0xC1), (512, 516, 0xC1), (513, 517, 0xC2)]
    {
        let user_data = vec![7; octets];
        let parameters = Parameters { user_data: Some(&user_data), ..Default::default() };
        let pdu = Pdu::new(Kind::Cn, parameters);
        let mut out = Writer::new();
        pdu.encode(&mut out);
        let [high, low] = u16::to_be_bytes(length);
        assert_eq!(out.octets()[..5], [0x0D, 0xFF, high, low, code]);
        assert_eq!(Pdu::decode(out.octets()), Ok(pdu));
    }
}

#[test]
fn an_invalid_field_is_named_with_its_offset() {
    for (text, complaint) in [
        ("", "malformed SPDU identifier at octet 0"),
        ("0d", "malformed SPDU length indicator at octet 1"),
        ("0dff01", "malformed SPDU length indicator at octet 1"),
        ("0d05 0502", "malformed SPDU length indicator at octet 1"),
        ("0900 00", "malformed SPDU length indicator at octet 1"),
        ("0d04 0502 1301", "malformed parameter length at octet 5"),
        ("0d05 0506 130100", "malformed parameter length at octet 3"),
        ("0d03 140102", "malformed session user requirements at octet 4"),
        ("0c02 3200", "malformed reason code at octet 4"),
        ("0100 0103", "malformed SPDU length indicator at octet 3"),
    ] {
        assert_eq!(Pdu::decode(&hex(text)).unwrap_err().to_string(), complaint, "{text}");
    }
}

#[test]
fn unknown_parameters_are_skipped() {
    let octets = hex("0d0b 7f02abcd 05055301aa1601 02");
    assert!(Pdu::decode(&octets).is_err(), "a length of the group that ends within");
    let octets = hex("0d0c 7f02abcd 05065301aa160102");
    assert_eq!(Pdu::decode(&octets).unwrap().to_string(), "session CN v2");
}
