use super::*;
use crate::ber::tests::hex;
use crate::ber::{Item, List};

#[track_caller]
fn check(text: &str, line: &str) {
    let octets = hex(text);
    let pdu = Pdu::decode(&octets).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    assert_eq!(pdu.to_string(), line);
    let mut out = Writer::new();
    pdu.encode(&mut out);
    assert_eq!(out.octets(), octets, "{out:02x?}");
    check_cuts(&octets);
}

/// Checks that each beginning of a PDU is refused by name, and that its head agrees with the whole.
#[track_caller]
fn check_cuts(octets: &[u8]) {
    let whole = Head::of_pdu(3, octets).unwrap();
    let pdu = Pdu::decode(octets).unwrap();
    assert_eq!((whole.kind, whole.invoke), (pdu.kind(), pdu.invoke()));
    if let Some(service) = pdu.service() {
        assert_eq!(whole.service, Some(service));
    }
    for end in 0..octets.len() {
        let fault = Pdu::decode(&octets[..end]).unwrap_err();
        assert_eq!((fault.field, fault.offset), ("MMS PDU", 0), "cut to {end}");
        let Some(head) = Head::of_pdu(3, &octets[..end]) else {
            assert_eq!(end, 0);
            continue;
        };
        assert_eq!(head.kind, whole.kind);
        assert!(head.invoke.is_none() || head.invoke == whole.invoke, "cut to {end}");
        assert!(head.service.is_none() || head.service == whole.service, "cut to {end}");
        assert!(head.failure.is_none() || head.failure == whole.failure, "cut to {end}");
        if let Some(report) = head.report {
            assert_eq!(Some(report.list), whole.report.map(|it| it.list), "cut to {end}");
            let name = whole.report.and_then(|it| it.identifier);
            assert!(report.identifier.is_none() || report.identifier == name, "cut to {end}");
        }
    }
}

/// Octets of libiec61850, and of the standard's grammar for PDUs that it does not send.
#[test]
fn every_pdu_without_a_service_reads_and_writes_back() {
    check(
        "a826 800300fde8 810105 820105 83010a a416 800101 810305f100 820c03ee1c00000408000079ef18",
        "MMS initiate-request version=1 pdu=65000 outstanding=5/5 nesting=10 \
         parameters=11110001000 services=ee1c00000408000079ef18/85",
    );
    check("8b00", "MMS conclude-request");
    check("8c00", "MMS conclude-response");
    check("ad05 a003 890101", "MMS conclude-error conclude/1");
    check("aa05 a003 880102", "MMS initiate-error initiate/2");
    check("850105", "MMS cancel-request invoke=5");
    check("86020100", "MMS cancel-response invoke=256");
    check("a70a 800105 a105 a003 8a0101", "MMS cancel-error invoke=5 cancel/1");
    check("a406 800107 810101", "MMS reject invoke=7 1/1 (unrecognized-service)");
    check("a403 850101", "MMS reject 5/1 (invalid-pdu)");
    check("a20d 800103 810102 a205 a003 870103", "MMS error invoke=3 access/3");
    check(
        "a211 800103 a20c a003 870103 810105 82026f6b",
        "MMS error invoke=3 access/3 additional=5 \"ok\"",
    );
}

#[test]
fn requests_of_variables_read_and_write_back() {
    check("a006 020101 800100", "MMS request invoke=1 status");
    check("a005 020101 8200", "MMS request invoke=1 identify");
    check(
        "a013 020102 a10e a003 800109 a102 8000 8203 616263",
        "MMS request invoke=2 getNameList class=9 scope=vmd after=\"abc\"",
    );
    check(
        "a018 020104 a413 a111 a00f 300d a00b a109 1a026c64 1a03 612462",
        "MMS request invoke=4 read \"ld\"/\"a$b\"",
    );
    check(
        "a014 020104 a40f 800101 a10a a108 8006 612462246324",
        "MMS request invoke=4 read list \"a$b$c$\"",
    );
    check(
        "a01a 020107 a515 a00b 3009 a005 8003 616263 a500 a006 830101 850107",
        "MMS request invoke=7 write \"abc\"() = true, 7",
    );
    check(
        "a00c 020108 a607 a005 8003 616263",
        "MMS request invoke=8 getVariableAccessAttributes \"abc\"",
    );
    check(
        "a013 020109 ab0e 8202 6473 a008 3006 a004 8002 6162",
        "MMS request invoke=9 defineNamedVariableList @\"ds\" = \"ab\"",
    );
    check(
        "a009 02010a ac04 8202 6473",
        "MMS request invoke=10 getNamedVariableListAttributes @\"ds\"",
    );
    check(
        "a00e 02010b ad09 800100 a104 8202 6473",
        "MMS request invoke=11 deleteNamedVariableList scope=0 @\"ds\"",
    );
    check("a009 02010c 9f5003 616263", "MMS request invoke=12 service-80 616263");
}

#[test]
fn responses_of_variables_read_and_write_back() {
    check("a10b 020101 a006 800100 810102", "MMS response invoke=1 status logical=0 physical=2");
    check(
        "a11a 020101 a215 80024d5a 8108 626173696320696f 8205 312e342e32",
        "MMS response invoke=1 identify \"MZ\" \"basic io\" \"1.4.2\"",
    );
    check("a10e 020102 a109 a004 1a02 6162 810100", "MMS response invoke=2 getNameList \"ab\"");
    check("a10e 020104 a409 a107 8705 083f64262b", "MMS response invoke=4 read 0.8912074");
    check("a10a 020106 a405 a103 80010a", "MMS response invoke=6 read object-non-existent");
    check("a107 020107 a502 8100", "MMS response invoke=7 write success");
    check(
        "a10a 020107 a505 800103 8100",
        "MMS response invoke=7 write object-access-denied, success",
    );
    check(
        "a117 020108 a612 800100 a20d a20b a109 3007 8001 61 a102 8300",
        "MMS response invoke=8 getVariableAccessAttributes {\"a\": boolean}",
    );
    check("a105 020109 8b00", "MMS response invoke=9 defineNamedVariableList");
    check(
        "a112 02010a ac0d 800101 a108 3006 a004 8002 6162",
        "MMS response invoke=10 getNamedVariableListAttributes \"ab\" deletable",
    );
    check(
        "a10b 02010b ad06 800101 810100",
        "MMS response invoke=11 deleteNamedVariableList matched=1 deleted=0",
    );
}

#[test]
fn services_of_files_and_domains_read_and_write_back() {
    check(
        "a00e 020101 bf4808 a003 1901 61 810100",
        "MMS request invoke=1 fileOpen \"a\" position=0",
    );
    check(
        "a10e 020101 bf4808 800102 a103 800109",
        "MMS response invoke=1 fileOpen frsm=2 9 octets",
    );
    check("a007 020102 9f490102", "MMS request invoke=2 fileRead 2");
    check("a10d 020102 bf4907 8002 6162 810100", "MMS response invoke=2 fileRead 2 octets");
    check("a007 020103 9f4a0102", "MMS request invoke=3 fileClose 2");
    check("a106 020103 9f4a00", "MMS response invoke=3 fileClose");
    check(
        "a010 020104 bf4b0a a003 190161 a103 190162",
        "MMS request invoke=4 fileRename \"a\" to \"b\"",
    );
    check("a009 020105 bf4c03 190161", "MMS request invoke=5 fileDelete \"a\"");
    check("a00b 020106 bf4d05 a003 190161", "MMS request invoke=6 fileDirectory \"a\"");
    check(
        "a117 020106 bf4d11 a00f 300d 300b a003 190161 a104 80020100",
        "MMS response invoke=6 fileDirectory \"a\" 256 octets",
    );
    check(
        "a115 020106 bf4d0f a00d 300b a003 190161 a104 80020100",
        "MMS response invoke=6 fileDirectory \"a\" 256 octets",
    );
    check(
        "a010 020107 bf2e0a a103 190161 a203 190162",
        "MMS request invoke=7 obtainFile \"a\" to \"b\"",
    );
    check(
        "a00f 020108 ba0a 8001 64 a102 1a00 820101",
        "MMS request invoke=8 initiateDownloadSequence \"d\" \"\" sharable",
    );
    check("a006 020109 9b01 64", "MMS request invoke=9 downloadSegment \"d\"");
    check("a10c 020109 bb07 8002 6162 810100", "MMS response invoke=9 downloadSegment 2 octets");
    check("a008 02010a bc03 8001 64", "MMS request invoke=10 terminateDownloadSequence \"d\"");
    check("a006 02010b 9d01 64", "MMS request invoke=11 initiateUploadSequence \"d\"");
    check("a10a 02010b bd05 800101 a100", "MMS response invoke=11 initiateUploadSequence ulsm=1 ");
    check("a006 02010c 9e0101", "MMS request invoke=12 uploadSegment 1");
    check("a109 02010c be04 8002 6162", "MMS response invoke=12 uploadSegment 2 octets more");
    check("a007 02010d 9f1f0101", "MMS request invoke=13 terminateUploadSequence 1");
}

#[test]
fn a_report_is_named_by_its_list_and_its_identifier() {
    let text = "a318 a016 a106 8004 52505431".to_owned() + " a00c 8a03 616263 84020640 860107";
    check(&text, "MMS unconfirmed informationReport list \"RPT1\": \"abc\", b01, 7");
    let octets = hex(&text);
    let report = Head::of_pdu(3, &octets).unwrap().report.unwrap();
    assert_eq!(report, Report { list: ObjectName::Vmd(b"RPT1"), identifier: Some(b"abc") });
    check(
        "a316 a014 a00d 300b a009 a107 1a0164 1a0269 74 a003 800103",
        "MMS unconfirmed informationReport \"d\"/\"it\": object-access-denied",
    );
    check("a308 a106 800100 810100", "MMS unconfirmed unsolicitedStatus logical=0 physical=0");
    check("a304 a202 8000", "MMS unconfirmed eventNotification 8000");
}

#[test]
fn data_of_every_type_print_and_write_back() {
    for (text, line) in [
        ("830101", "true"),
        ("830100", "false"),
        ("8301ff", "?83=ff"),
        ("84020640", "b01"),
        ("8501ff", "-1"),
        ("85020001", "?85=0001"),
        ("850980000000000000000f", "?85=80000000000000000f"),
        ("8609 00ffffffffffffffff", "18446744073709551615"),
        ("8601ff", "?86=ff"),
        ("8705 0842c80000", "100"),
        ("8709 0b3ff8000000000000", "1.5"),
        ("8702 0840", "float 0840"),
        ("89020102", "x0102"),
        ("8a026f6b", "\"ok\""),
        ("8c0400000001", "time 00000001"),
        ("8f022a03", "1.2.3"),
        ("9002c3a9", "\"\u{e9}\""),
        ("9108 0000000100000000", "utc 0000000100000000"),
        ("a206 830101 850105", "{true, 5}"),
        ("a10a a203 850101 a203 850102", "[{1}, {2}]"),
        ("8e00", "?8E="),
    ] {
        let octets = hex(text);
        let mut reader = Reader::new(&octets);
        let data = Data::take(&mut reader).unwrap();
        assert!(reader.is_empty(), "{text}");
        assert_eq!(data.to_string(), line, "{text}");
        let mut out = Writer::new();
        data.put(&mut out);
        assert_eq!(out.octets(), octets, "{text}");
    }
    for value in [0, 1, 127, 128, 255, 256, 0x7FFF_FFFF, u64::from(u32::MAX), u64::MAX] {
        let mut out = Writer::new();
        Data::Unsigned(value).put(&mut out);
        assert_eq!(Data::take(&mut Reader::new(out.octets())), Ok(Data::Unsigned(value)));
    }
}

/// Structures that lie in each other, with nothing in the innermost.
fn nested(levels: usize) -> Vec<u8> {
    let mut out = Writer::new();
    for _ in 0..levels {
        out.close(Tag(0xA2), 0);
    }
    out.octets().to_vec()
}

#[test]
fn nested_data_are_bounded() {
    let fits = nested(DEEPEST_DATA);
    let data = Data::take(&mut Reader::new(&fits)).unwrap();
    assert_eq!(data.to_string(), "{".repeat(32) + &"}".repeat(32));
    for levels in [DEEPEST_DATA + 1, 10_000] {
        let octets = nested(levels);
        let fault = Data::take(&mut Reader::new(&octets)).unwrap_err();
        assert_eq!(fault.field, "data nested too deeply");
        assert!(fault.offset >= 32 * 2, "{fault}");
    }
    let mut out = Writer::new();
    for _ in 0..10_000 {
        // A structure of one component, of this type.
        let before = 0;
        out.close(Tag(0xA1), before);
        out.close(Tag::SEQUENCE, before);
        out.close(Tag(0xA1), before);
        out.close(Tag(0xA2), before);
    }
    let fault = TypeDescription::take(&mut Reader::new(out.octets())).unwrap_err();
    assert_eq!(fault.field, "type nested too deeply");
}

#[test]
fn a_list_is_made_of_items() {
    let (mut room, mut out) = (Writer::new(), Writer::new());
    let data = [Data::Integer(5), Data::Visible(b"abc")];
    let list = List::encode(&data, &mut room);
    assert_eq!(list.iter().collect::<Vec<_>>(), data);
    Data::Structure(list).put(&mut out);
    assert_eq!(out.octets(), hex("a208 850105 8a03616263"));
}

#[test]
fn an_invalid_field_is_named_with_its_offset() {
    for (text, complaint) in [
        ("", "malformed MMS PDU at octet 0"),
        ("ae00", "malformed MMS PDU at octet 0"),
        ("8000", "malformed MMS PDU at octet 0"),
        ("a000", "malformed invoke identifier at octet 2"),
        ("a003 0201ff", "malformed invoke identifier at octet 2"),
        ("a003 020101", "malformed confirmed service request at octet 5"),
        ("a005 020101 3000", "malformed confirmed service request at octet 7"),
        ("a005 020101 0200", "malformed confirmed service request at octet 5"),
        ("a005 020101 a400", "malformed variable access specification at octet 7"),
        ("a009 020101 a404 a102 3000", "malformed variable access specification at octet 9"),
        ("a10b 020101 a406 a104 30020000", "malformed data at octet 9"),
        ("a105 020101 a400", "malformed list of access results at octet 7"),
        ("a200", "malformed invoke identifier at octet 2"),
        ("a203 800101", "malformed service error at octet 5"),
        ("a400", "malformed reject reason at octet 2"),
        ("8b0100", "malformed conclude request at octet 0"),
        ("8600", "malformed original invoke identifier at octet 0"),
        ("a803 800101", "malformed max serv outstanding calling at octet 5"),
        ("a300", "malformed unconfirmed service at octet 2"),
    ] {
        assert_eq!(Pdu::decode(&hex(text)).unwrap_err().to_string(), complaint, "{text}");
    }
}

#[test]
fn the_head_of_a_tsdu_gives_the_context() {
    let octets = hex("01000100 610e 300c 020103 a007 a005 020101 8200");
    let head = Head::decode(&octets).unwrap();
    assert_eq!((head.context, head.kind, head.invoke), (3, Kind::ConfirmedRequest, Some(1)));
    assert_eq!(head.service.map(|it| it.to_string()), Some("identify".to_owned()));
    let octets = hex("01000100 6112 3010 06025101 020103 a007 a005 020101 8200");
    assert_eq!(Head::decode(&octets).unwrap().context, 3, "with a transfer syntax name");
    // An invocation of ROSE has an integer in the place of a service.
    let rose = hex("01000100 610f 300d 020105 a008 a106 020101 020102");
    assert_eq!(Head::decode(&rose), None);
    assert_eq!(Head::decode(&hex("0900")), None);
}
