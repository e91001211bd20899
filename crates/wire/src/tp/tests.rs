//! Vectors: octets and their decoded line, in both directions.
//!
//! Layouts from ISO 8073 clause 13. The octets were built by hand from it, their checksums with the
//! formulas of annex B, and each was decoded by an independent dissector.

use super::*;

#[test]
fn every_tpdu_reads_and_writes_back() {
    check(
        "1b e1 0000 0101 40 c0 01 0a c1 02 0001 c2 02 0002 c4 01 01 c6 01 02 c3 02 ce44",
        "TP CR 0x0101>0x0000 class=4 credit=1 tpdu-size=1024 calling=0001 called=0002 version=1 options=02 checksum",
    );
    check(
        "10 d8 0101 0202 42 c0 01 0a c6 01 01 c3 02 5420",
        "TP CC 0x0202>0x0101 class=4 credit=8 extended tpdu-size=1024 options=01 checksum",
    );
    check("04 f0 0202 80 68656c6c6f", "TP DT 0x0202 nr=0 eot 5 octets");
    check("08 f0 0202 80 c3 02 198d 68656c6c6f", "TP DT 0x0202 nr=0 eot checksum 5 octets");
    check("07 f0 0202 80000001 68656c6c6f", "TP DT 0x0202 nr=1 eot 5 octets");
    check("0b f0 0202 80000002 c3 02 772a 68656c6c6f", "TP DT 0x0202 nr=2 eot checksum 5 octets");
    check("08 63 0101 02 c3 02 a525", "TP AK 0x0101 nr=2 credit=3 checksum");
    check("04 63 0101 02", "TP AK 0x0101 nr=2 credit=3");
    check(
        "16 63 0101 02 8a 02 0001 8c 08 00000002 0001 0003 c3 02 5143",
        "TP AK 0x0101 nr=2 credit=3 subsequence=1 confirms=2/1/3 checksum",
    );
    check("0d 60 0101 00000002 0007 c3 02 457c", "TP AK 0x0101 nr=2 credit=7 checksum");
    check("09 60 0101 00000002 0007", "TP AK 0x0101 nr=2 credit=7");
    check("08 10 0101 80 c3 02 b8f9 585044", "TP ED 0x0101 nr=0 checksum 3 octets");
    check("0b 10 0101 80000000 c3 02 c7e7 585044", "TP ED 0x0101 nr=0 checksum 3 octets");
    check("08 20 0101 00 c3 02 848b", "TP EA 0x0101 nr=0 checksum");
    check("0b 20 0101 00000000 c3 02 e428", "TP EA 0x0101 nr=0 checksum");
    check("0a 80 0101 0202 80 c3 02 a088", "TP DR 0x0202>0x0101 reason=128 checksum");
    check("09 c0 0101 0202 c3 02 3a30", "TP DC 0x0202>0x0101 checksum");
    check("0c 70 0101 02 c1 06 05f002028000", "TP ER 0x0101 cause=2 invalid=05f002028000");
    check("04 55 0101 02", "TP RJ 0x0101 nr=2 credit=5");
    check("02 f0 80", "TP DT 0x0000 nr=0 eot 0 octets");
    check("04 f1 0202 83 00", "TP DT 0x0202 nr=3 eot roa 1 octets");
}

#[test]
fn the_cookie_of_an_rdp_client_is_header() {
    // \[MS-RDPBCGR\] 4.1.1: LI 27, CR, the cookie with CR LF, and a negotiation request.
    let cookie = "436f6f6b69653a206d737473686173683d656c746f6e730d0a";
    check(
        &format!("27 e0 0000 0000 00 {cookie} 0100080000000000"),
        "TP CR 0x0000>0x0000 class=0 credit=0 RDP \"Cookie: mstshash=eltons\" and 8 octets of negotiation",
    );
    // A name may contain terminal control sequences.
    let escaped = "436f6f6b69653a206d737473686173683d1b5d303b0d0a";
    check(
        &format!("1d e0 0000 0000 00 {escaped}"),
        "TP CR 0x0000>0x0000 class=0 credit=0 RDP \"Cookie: mstshash=\\u{1b}]0;\"",
    );
}

#[test]
fn every_parameter_reads_and_is_put_together_again() {
    // ISO 8073 13.3.4 to 13.12.4, and 8F and F2 of the 1995 edition.
    let cr = [
        ("c0 01 0a", "tpdu-size=1024"),
        ("c1 02 0001", "calling=0001"),
        ("c2 02 0002", "called=0002"),
        ("c3 02 1234", "checksum=1234"),
        ("c4 01 01", "version=1"),
        ("c5 03 010203", "protection=010203"),
        ("c6 01 03", "options=03"),
        ("c7 02 2030", "alternatives=2030"),
        ("85 02 000a", "ack-time=10ms"),
        ("86 03 060507", "error-rate=060507"),
        ("87 02 0001", "priority=1"),
        ("88 08 0001000200030004", "transit-delay=1,2,3,4ms"),
        ("89 0c 000102030405060708090a0b", "throughput=000102030405060708090a0b"),
        ("8b 02 0014", "reassignment-time=20s"),
        ("f0 01 08", "preferred-size=1024"),
        ("f0 02 0100", "preferred-size=32768"),
        ("f2 04 000003e8", "inactivity-time=1000ms"),
        ("8a 02 0001", "?8a=0001"),
        ("c4 02 0101", "?c4=0101"),
        ("89 0b 000102030405060708090a", "?89=000102030405060708090a"),
        ("f0 05 0000000008", "?f0=0000000008"),
    ];
    let others = [
        (Kind::Er, "c1 02 04f0", "invalid=04f0"),
        (Kind::Dr, "e0 02 0102", "information=0102"),
        (Kind::Ak, "8a 02 0001", "subsequence=1"),
        (Kind::Ak, "8c 08 0000000200010003", "confirms=2/1/3"),
        (Kind::Ak, "8f 04 00020003", "selective=00020003"),
        (Kind::Ak, "8f 03 000200", "?8f=000200"),
        (Kind::Dt, "e0 00", "?e0="),
        (Kind::Dr, "c0 01 0a", "?c0=0a"),
    ];
    for (kind, octets, line) in
        cr.map(|(octets, line)| (Kind::Cr, octets, line)).iter().chain(&others)
    {
        let octets = hex(octets);
        let parameter = Parameter::decode(*kind, octets[0], &octets[2..]);
        assert_eq!(parameter.to_string(), *line);
        let mut again = ParameterBuffer::new();
        again.push(&parameter).unwrap();
        assert_eq!(again.parameters(*kind).octets(), octets, "{line}");
    }
}

#[test]
fn parameters_are_limited_to_the_room_of_the_header() {
    // 13.2.1: of 254 octets after the length indicator ten may be fixed (those of an AK are at most
    // nine).
    let mut buffer = ParameterBuffer::new();
    let too_long = [7; 243];
    assert_eq!(buffer.push(&Parameter::CallingTsap(&too_long)), None);
    assert_eq!(buffer.push(&Parameter::CallingTsap(&too_long[1..])), Some(()));
    assert_eq!(buffer.parameters(Kind::Cr).octets().len(), 244);
    assert_eq!(buffer.push(&Parameter::CallingTsap(b"")), None);
}

#[test]
fn a_format_is_guessed_though_a_parameter_is_unknown() {
    let line = |text: &str| {
        let octets = hex(text);
        let raw = tpdus(&octets).next().unwrap().unwrap();
        Pdu::decode(&raw, None).unwrap().to_string()
    };
    // After 4 octets a whole parameter follows, after 7 none; and the other way round.
    assert_eq!(line("08 f0 0202 85 3f 02 0102"), "TP DT 0x0202 nr=5 eot ?3f=0102 0 octets");
    assert_eq!(line("0b f0 0202 80000005 3f 02 0102"), "TP DT 0x0202 nr=5 eot ?3f=0102 0 octets");
}

#[test]
fn a_class_0_dt_is_recognised_in_any_format() {
    let octets = hex("02 f0 80");
    let raw = tpdus(&octets).next().unwrap().unwrap();
    let pdu = Pdu::decode(&raw, Some(Format::Normal)).unwrap();
    assert_eq!(pdu.to_string(), "TP DT 0x0000 nr=0 eot 0 octets");
}

#[test]
fn an_odd_parameter_does_not_make_a_normal_dt_extended() {
    // A normal DT with a checksum, and one whose length indicator is an extended DT's.
    check("08 f0 0202 05 c3 02 af88", "TP DT 0x0202 nr=5 checksum 0 octets");
    let octets = hex("07 f0 0202 85 c3 01 00");
    let raw = tpdus(&octets).next().unwrap().unwrap();
    assert_eq!(
        Format::guess(&raw),
        Some(Format::Extended),
        "the only information is the TPDU itself"
    );
    let pdu = Pdu::decode(&raw, Some(Format::Normal)).unwrap();
    assert_eq!(pdu.to_string(), "TP DT 0x0202 nr=5 eot ?c3=00 0 octets");
}

#[test]
fn concatenated_tpdus_come_apart() {
    let octets = hex("04 63 0101 02 09 60 0303 00000002 0007 04 f0 0202 80 6869");
    let lines: Vec<_> =
        tpdus(&octets).map(|raw| Pdu::decode(&raw.unwrap(), None).unwrap().to_string()).collect();
    assert_eq!(
        lines,
        [
            "TP AK 0x0101 nr=2 credit=3",
            "TP AK 0x0303 nr=2 credit=7",
            "TP DT 0x0202 nr=0 eot 2 octets"
        ]
    );
}

#[test]
fn checksums_are_absent_good_or_bad() {
    let verdict = |text: &str| {
        let octets = hex(text);
        let raw = tpdus(&octets).next().unwrap().unwrap();
        let pdu = Pdu::decode(&raw, None).unwrap();
        raw.checksum(pdu.parameters(), &[])
    };
    assert_eq!(verdict("08 f0 0202 80 c3 02 198d 68656c6c6f"), Checksum::Good);
    assert_eq!(verdict("08 f0 0202 80 c3 02 198d 68656c6c6e"), Checksum::Bad);
    assert_eq!(verdict("04 f0 0202 80 68656c6c6f"), Checksum::Absent);
}

#[test]
fn sealing_makes_the_octets_of_the_vectors() {
    for text in [
        "1b e1 0000 0101 40 c0 01 0a c1 02 0001 c2 02 0002 c4 01 01 c6 01 02 c3 02 ce44",
        "08 63 0101 02 c3 02 a525",
        "0b 10 0101 80000000 c3 02 c7e7",
        "16 63 0101 02 8a 02 0001 8c 08 00000002 0001 0003 c3 02 5143",
    ] {
        let expected = hex(text);
        let data: &[u8] = if expected[1] == 0x10 { b"XPD" } else { b"" };
        let mut sealed = expected.clone();
        let at = sealed.len() - 2;
        sealed[at..].fill(0);
        seal(&mut sealed, at, data);
        assert_eq!(sealed, expected, "{text}");
    }
}

#[test]
fn a_broken_tpdu_names_the_field_and_the_octet() {
    complain("", &[]);
    complain("04", &["malformed TPDU code at octet 1"]);
    complain("ff f0 0202 80", &["malformed length indicator at octet 0"]);
    complain("05 f0 0202 80", &["malformed length indicator at octet 0"]);
    complain("04 30 0202 80", &["malformed TPDU code at octet 1"]);
    complain("04 63 0101 02 04 9f 0101 02", &["ok", "malformed TPDU code at octet 6"]);
    complain("04 10 0101 00 41", &["malformed EOT at octet 4"]);
    complain("05 e1 0000 0101", &["malformed length indicator at octet 0"]);
    complain("09 e1 0000 0101 40 c0 02 0a", &["malformed parameter value at octet 9"]);
    // 13.2.1: nothing after an invalid indicator is interpreted.
    complain("01 60 04 63 0101 02", &["malformed length indicator at octet 0"]);
    complain(&format!("ff f0 {}", "00".repeat(300)), &["malformed length indicator at octet 0"]);
}

#[test]
fn a_broken_parameter_of_a_dt_is_named_by_its_octet_in_the_tpdu() {
    for (text, format, at) in [
        ("07 f0 0202 80 c3 02 00", Format::Normal, 7),
        ("0a f0 0202 80000000 c3 02 00", Format::Extended, 10),
    ] {
        let octets = hex(text);
        let raw = tpdus(&octets).next().unwrap().unwrap();
        let fault = Malformed { field: "parameter value", offset: at };
        assert_eq!(Pdu::decode(&raw, Some(format)), Err(fault));
    }
}

#[track_caller]
fn check(octets: &str, line: &str) {
    let octets = hex(octets);
    let raw = tpdus(&octets).next().unwrap().unwrap();
    let pdu = Pdu::decode(&raw, None).unwrap();
    assert_eq!(pdu.to_string(), line);
    let mut again = Vec::new();
    pdu.encode(&mut again);
    assert_eq!(again, octets, "encoding is not the inverse of decoding");
    assert_eq!(pdu.header_octets(), raw.header_octets);
    check_short(&octets, raw.header_octets);
}

/// Checks that a short header is the same in registers, and that its checksum is restored.
#[track_caller]
fn check_short(octets: &[u8], header_octets: usize) {
    let mut unsealed = octets.to_vec();
    if let [.., 0xC3, 2, x, y] = &mut unsealed[..header_octets] {
        (*x, *y) = (0, 0);
    }
    let raw = tpdus(&unsealed).next().unwrap().unwrap();
    let pdu = Pdu::decode(&raw, None).unwrap();
    let header = ShortHeader::new(&pdu, pdu.data());
    assert_eq!(header.is_some(), header_octets <= 16);
    if let Some(header) = header {
        assert_eq!(header.len(), header_octets);
        assert!(!header.is_empty());
        let all = header.octets();
        let (zeros, written) = all.split_at(16 - header_octets);
        assert_eq!((zeros, written), (&[0; 16][header_octets..], &octets[..header_octets]));
    }
}

#[track_caller]
fn complain(octets: &str, readings: &[&str]) {
    let octets = hex(octets);
    let found: Vec<_> = tpdus(&octets)
        .map(|raw| raw.and_then(|raw| Pdu::decode(&raw, None)))
        .map(|pdu| pdu.map_or_else(|complaint| complaint.to_string(), |_| "ok".to_owned()))
        .collect();
    assert_eq!(found, readings);
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
