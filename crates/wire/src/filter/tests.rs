//! Meaning of filter texts, and the errors for texts that are not filters.

use super::*;

const MAC: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
// Length 14: LLC fe fe 03, inactive 00, DT with five octets.
const DT: [u8; 16] = [0, 14, 0xFE, 0xFE, 3, 0, 4, 0xF0, 2, 2, 0x80, b'h', b'e', b'l', b'l', b'o'];
// Length 11: a CR of class 4 without parameters (ISO 8073 13.3): LI 6, CDT 1, references, class.
const CR: [u8; 13] = [0, 11, 0xFE, 0xFE, 3, 0, 6, 0xE1, 0, 0, 1, 1, 0x40];
// Length 3: LLC TEST to SAP 42.
const OTHER_LLC: [u8; 5] = [0, 3, 0x42, 0x42, 0xE3];

fn frame(rest: &[u8]) -> Vec<u8> {
    [&MAC[..], rest].concat()
}

/// 10.0.0.7:102 to 10.0.0.9:40000, with a class 0 DT in a TPKT (RFC 1006 6).
fn stream() -> Vec<u8> {
    let internet = [
        &[0x08, 0, 0x45, 0, 0, 47, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 7, 10, 0, 0, 9][..],
        &[0, 102, 0x9C, 0x40, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0],
        &[3, 0, 0, 7, 2, 0xF0, 0x80],
    ];
    frame(&internet.concat())
}

/// CLNP with a 1-octet destination 49 and a source 47 00 (ISO 8473 6.2), without data.
fn clnp() -> Vec<u8> {
    let header = [0x81, 14, 1, 64, 0x1C, 0, 14, 0, 0, 1, 0x49, 2, 0x47, 0];
    frame(&[&[0, 17, 0xFE, 0xFE, 3][..], &header].concat())
}

#[test]
fn conditions_test_the_decoded_layers() {
    check("host 02:00:00:00:00:01", &frame(&DT), true);
    check("from 02:00:00:00:00:02", &frame(&DT), false);
    check("to 02-00-00-00-00-02", &frame(&DT), true);
    check("llc", &frame(&DT), true);
    check("iso", &frame(&DT), true);
    check("llc", &frame(&OTHER_LLC), true);
    check("iso", &frame(&OTHER_LLC), false);
    check("tpdu dt", &frame(&DT), true);
    check("tpdu AK", &frame(&DT), false);
    check("class 4", &frame(&CR), true);
    check("class 2", &frame(&CR), false);
    check("class 4", &frame(&DT), false);
    check("host 10.0.0.7", &stream(), true);
    check("to 10.0.0.7", &stream(), false);
    check("host ::ffff:10.0.0.9", &stream(), true);
    check("host fe80::1", &stream(), false);
    check("ip tcp port 102", &stream(), true);
    check("to port 102", &stream(), false);
    check("tpdu dt", &stream(), true);
    check("iso", &stream(), false);
    check("nsap 49", &clnp(), true);
    check("from nsap 47*", &clnp(), true);
    check("from nsap 47", &clnp(), false);
    check("nsap 47.00", &clnp(), true);
}

#[test]
fn a_tag_is_a_vlan_and_hides_nothing() {
    let tagged = frame(&[&[0x88, 0xA8, 0, 9, 0x81, 0, 0xE0, 5][..], &DT].concat());
    check("vlan", &tagged, true);
    check("vlan 9", &tagged, true);
    check("vlan 5", &tagged, true);
    check("vlan 6", &tagged, false);
    check("vlan", &frame(&DT), false);
    check("vlan 5 and iso and tpdu dt", &tagged, true);
    // `vlan` takes only a number as its argument.
    check("vlan iso", &tagged, true);
}

#[test]
fn not_binds_tighter_than_and_and_that_tighter_than_or() {
    check("tpdu ak or tpdu dt and iso", &frame(&DT), true);
    check("(tpdu ak or tpdu dt) and tcp", &frame(&DT), false);
    check("not tpdu ak and not tcp", &frame(&DT), true);
    check("not (tpdu dt or tcp)", &frame(&DT), false);
    check("!tcp && !ip", &frame(&DT), true);
    check("! tcp && ! ip || llc", &stream(), false);
    check("from 02:00:00:00:00:01 to 02:00:00:00:00:02", &frame(&DT), true);
    check("from 02:00:00:00:00:01 to 02:00:00:00:00:03", &frame(&DT), false);
    check("", &[], true);
    check("all", &[1], true);
    check("not all", &frame(&DT), false);
}

#[test]
fn an_invalid_filter_reports_the_column() {
    let complaint = "iso and hosts 10.0.0.1".parse::<Filter>().unwrap_err();
    assert_eq!(
        complaint.to_string(),
        "column 9: not expected: \"hosts\"; expected a condition such as host, port, class, llc, \
         iso, tcp, vlan or tpdu\n  iso and hosts 10.0.0.1\n          ^^^^^"
    );
    for (text, column) in [
        ("host", 5),
        ("host 02:00", 6),
        ("host plant7", 6),
        ("port 65536", 6),
        ("port +1", 6),
        ("class 5", 7),
        ("vlan 4096", 6),
        ("nsap 4", 6),
        ("nsap 470", 6),
        ("nsap 000102030405060708090a0b0c0d0e0f1011121314", 6),
        ("tpdu xx", 6),
        ("from", 5),
        ("iso and", 8),
        ("iso or or tcp", 8),
        ("(iso", 1),
        ("iso )", 5),
        ("()", 2),
        ("not", 4),
        ("é and", 1),
    ] {
        let complaint = text.parse::<Filter>().unwrap_err();
        assert_eq!(complaint.column(), column, "{complaint}");
    }
    let deep = "(".repeat(40);
    assert_eq!(deep.parse::<Filter>().unwrap_err().problem(), "nested deeper than 32");
    let long = "not ".repeat(1_025);
    assert!(long.parse::<Filter>().unwrap_err().problem().starts_with("longer than 4096"));
}

#[test]
fn station_addresses_alone_exclude_other_stations() {
    let (a, b) = (Mac::local(1), Mac::local(2));
    for (text, expected) in [
        ("from 02:00:00:00:00:01", true),
        ("from 02:00:00:00:00:02", false),
        ("not host 02:00:00:00:00:02", false),
        ("tpdu dt", true),
        ("not tpdu dt", true),
        ("host 02:00:00:00:00:03 and tpdu dt", false),
    ] {
        let filter: Filter = text.parse().unwrap();
        assert_eq!(filter.may_match_stations(a, b), expected, "{text}");
    }
}

#[test]
fn a_filter_prints_as_it_was_written() {
    for (text, printed) in [("", "all"), (" iso  and(tcp) ", "iso and(tcp)")] {
        assert_eq!(text.parse::<Filter>().unwrap().to_string(), printed);
    }
}

#[test]
fn two_filters_together_read_as_they_print() {
    let both = |a: &str, b: &str| a.parse::<Filter>().unwrap().and(b.parse().unwrap()).to_string();
    assert_eq!(both("iso or tcp", "not vlan"), "(iso or tcp) not vlan");
    assert_eq!(both("all", "iso"), "iso");
    assert_eq!(both("iso", ""), "iso");
    let frame = frame(&DT);
    check("(iso or tcp) not vlan", &frame, true);
    let filter = "tcp or iso".parse::<Filter>().unwrap().and("tpdu ak".parse().unwrap());
    assert!(!filter.matches(Link::Ethernet, &frame, frame.len()));
}

#[test]
fn a_filter_for_all_or_too_long_for_the_kernel_passes_all() {
    let everything = Instruction { code: 6, jump_true: 0, jump_false: 0, operand: 96 };
    assert_eq!(Filter::all().program(96), [everything]);
    let many = vec!["host 10.0.0.1"; 150].join(" or ");
    assert_eq!(many.parse::<Filter>().unwrap().program(96), [everything]);
}

#[track_caller]
fn check(text: &str, octets: &[u8], expected: bool) {
    let filter: Filter = text.parse().unwrap_or_else(|complaint| panic!("{complaint}"));
    assert_eq!(filter.matches(Link::Ethernet, octets, octets.len()), expected, "{text}");
}
