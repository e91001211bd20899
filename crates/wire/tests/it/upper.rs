//! Layers above transport in the shared captures: MMS PDUs against tshark's counts, and every TSDU
//! against its own encoding.
//!
//! `mms.txt` has tshark's counts, and says from which version; `BLESS=1` writes it.
//! `mms-differences.txt` has the counts that differ here, each below its reason.

use crate::captures::{all, shared};
use crate::seeds::hex;
use crate::tsdus::each_tsdu;
use crate::upper_seeds::{self, CN, TSDUS};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wire::acse::{Entity, External};
use wire::ber::{BitString, List, Writer};
use wire::mms::{
    ConfirmedRequest, Head, Initiate, Kind, ObjectName, Pdu, ReadRequest, Request, Service,
    Specification, UnconfirmedService, Variable, VariableAccess,
};
use wire::presentation::{Context, Name, Pdv, UserData, Value};
use wire::upper::Upper;
use wire::{acse, mms, presentation, session};

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mms.txt");
const DIFFERENCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mms-differences.txt");
/// Number of PDUs by kind and service.
type Counts = BTreeMap<String, u64>;

/// Captures with their names in the folder.
fn captures() -> Option<Vec<(String, PathBuf)>> {
    let folder = shared("")?;
    let name = |path: &PathBuf| path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
    Some(all()?.into_iter().map(|path| (name(&path), path)).collect())
}

/// Name under which a PDU is counted.
fn name(pdu: &Pdu<'_>) -> String {
    match (pdu, pdu.service()) {
        (Pdu::Unconfirmed(it), _) => format!("{}/{}", pdu.kind(), it.service()),
        (_, Some(service)) => format!("{}/{service}", pdu.kind()),
        (_, None) => pdu.kind().to_string(),
    }
}

fn counted(path: &Path) -> Counts {
    let mut counts = Counts::new();
    each_tsdu(path, |tsdu| {
        let Ok(upper) = Upper::decode(tsdu) else { return };
        let Some(octets) = upper.mms else { return };
        let pdu = Pdu::decode(octets).unwrap();
        *counts.entry(name(&pdu)).or_default() += 1;
        if upper.session.kind == session::Kind::Dt {
            check_head(tsdu, &pdu);
        }
    });
    counts
}

/// Checks that the first octets of a TSDU, as few as there may be, never give another value than
/// the whole; and that 64 of them give all.
fn check_head(tsdu: &[u8], pdu: &Pdu<'_>) {
    for octets in 0..tsdu.len().min(200) {
        let Some(head) = Head::decode(&tsdu[..octets]) else {
            assert!(octets < 32, "no head in {octets} octets of {tsdu:02x?}");
            continue;
        };
        assert_eq!(head.kind, pdu.kind());
        assert!(head.invoke.is_none() || head.invoke == pdu.invoke());
        if octets >= 64 || octets + 1 == tsdu.len() {
            assert_eq!(head.invoke, pdu.invoke(), "{pdu}");
        }
        if head.kind == Kind::ConfirmedRequest && octets >= 64 {
            assert_eq!(head.service, pdu.service(), "{pdu}");
        }
    }
}

/// Fields of tshark for the kinds of PDU, in the order of their numbers.
const KINDS: [&str; 14] = [
    "confirmed_RequestPDU_element",
    "confirmed_ResponsePDU_element",
    "confirmed_ErrorPDU_element",
    "unconfirmed_PDU_element",
    "rejectPDU_element",
    "cancel_RequestPDU",
    "cancel_ResponsePDU",
    "cancel_ErrorPDU_element",
    "initiate_RequestPDU_element",
    "initiate_ResponsePDU_element",
    "initiate_ErrorPDU_element",
    "conclude_RequestPDU_element",
    "conclude_ResponsePDU_element",
    "conclude_ErrorPDU_element",
];
/// Fields of tshark for the services of requests, responses and unconfirmed PDUs.
const SERVICES: [&str; 3] =
    ["confirmedServiceRequest", "confirmedServiceResponse", "unconfirmedService"];

/// Counts of tshark; `None` if it is missing.
fn tshark(path: &Path) -> Option<Counts> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-Y", "mms", "-T", "fields", "-E", "separator=;"]);
    for field in KINDS.iter().chain(&SERVICES) {
        tshark.arg("-e").arg(format!("mms.{field}"));
    }
    let output = tshark.output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let mut counts = Counts::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let items = |at: usize| fields[at].split(',').filter(|it| !it.is_empty());
        let mut add = |name: String| *counts.entry(name).or_default() += 1;
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            let service = match kind {
                Kind::ConfirmedRequest => Some(14),
                Kind::ConfirmedResponse => Some(15),
                Kind::Unconfirmed => Some(16),
                _ => None,
            };
            let Some(at) = service else {
                items(number).for_each(|_| add(kind.to_string()));
                continue;
            };
            let pdus = items(number).count();
            let services: Vec<u32> = items(at).map(|it| it.parse().unwrap()).collect();
            for service in &services {
                add(match kind {
                    Kind::Unconfirmed => format!("{kind}/{}", UnconfirmedService(*service)),
                    _ => format!("{kind}/{}", Service(*service)),
                });
            }
            (services.len()..pdus).for_each(|_| add(format!("{kind}/none")));
        }
    }
    Some(counts)
}

fn bless() {
    let Some(files) = captures() else { return };
    let version = Command::new("tshark").arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let version = version.split_whitespace().nth(2).unwrap();
    let mut text = format!("# MMS PDUs that tshark {version} counts\n");
    for (name, path) in files {
        for (kind, count) in tshark(&path).unwrap() {
            text += &format!("{name} {kind} {count}\n");
        }
    }
    fs::write(EXPECTED, text).unwrap();
}

/// Expected counts by file: those of tshark, corrected by the table of differences.
fn expected() -> BTreeMap<String, Counts> {
    let mut expected = BTreeMap::<String, Counts>::new();
    for line in fs::read_to_string(EXPECTED).unwrap().lines().skip(1) {
        let [file, kind, count] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let counts = expected.entry(file.to_owned()).or_default();
        counts.insert(kind.to_owned(), count.parse().unwrap());
    }
    let mut has_reason = false;
    for line in fs::read_to_string(DIFFERENCES).unwrap().lines() {
        if line.starts_with("# ") {
            has_reason = true;
            continue;
        }
        assert!(has_reason, "a reason is above each difference");
        let [file, kind, count] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let counts = expected.entry(file.to_owned()).or_default();
        let count = count.parse().unwrap();
        assert_ne!(counts.insert(kind.to_owned(), count), Some(count), "{line} is no difference");
    }
    for counts in expected.values_mut() {
        counts.retain(|_, count| *count > 0);
    }
    expected
}

#[test]
fn the_mms_pdus_of_every_capture_are_those_of_tshark() {
    if std::env::var_os("BLESS").is_some() {
        bless();
    }
    let Some(files) = captures() else { return };
    let expected = expected();
    let (mut all, mut wrong) = (0, Vec::new());
    for (name, path) in files {
        let found = counted(&path);
        all += found.values().sum::<u64>();
        let expected = expected.get(&name).cloned().unwrap_or_default();
        if found != expected {
            wrong.push(format!("{name}: found {found:?}, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("seen: {all} MMS PDUs");
    assert!(all > 5_000, "{all} PDUs");
}

/// Layers of a TSDU that do not encode to the octets they were decoded from.
fn differing(tsdu: &[u8], upper: &Upper<'_>) -> Vec<String> {
    let mut differing = Vec::new();
    let mut out = Writer::new();
    let mut compare = |layer: &str, out: &mut Writer, octets: &[u8]| {
        if out.octets() != octets {
            differing.push(format!("{layer}: {octets:02x?} became {:02x?}", out.octets()));
        }
        out.clear();
    };
    upper.session.encode(&mut out);
    compare("session", &mut out, tsdu);
    if let Some(pdu) = upper.presentation {
        pdu.encode(&mut out);
        assert_eq!(presentation::Pdu::decode(upper.session.kind, out.octets()), Ok(pdu));
        compare("presentation", &mut out, upper.session.ssdu());
    }
    if let Some(octets) = upper.acse {
        let pdu = acse::Pdu::decode(octets).unwrap();
        pdu.encode(&mut out);
        assert_eq!(acse::Pdu::decode(out.octets()), Ok(pdu));
        compare("acse", &mut out, octets);
    }
    if let Some(octets) = upper.mms {
        let pdu = Pdu::decode(octets).unwrap();
        pdu.encode(&mut out);
        assert_eq!(Pdu::decode(out.octets()), Ok(pdu));
        assert_eq!(pdu.to_string().lines().count(), 1);
        compare("mms", &mut out, octets);
    }
    differing
}

#[test]
fn every_tsdu_of_libiec61850_encodes_to_itself() {
    let files = [
        "acse-auth.pcap",
        "mms-abort.pcap",
        "mms-life.pcap",
        "mms-over-tp4-llc.pcap",
        "mms-report.pcap",
        "mms-segmented.pcap",
    ];
    for name in files {
        let mut tsdus = 0;
        let Some(path) = shared(name) else { return };
        each_tsdu(&path, |tsdu| {
            let upper = Upper::decode(tsdu).unwrap();
            assert_eq!((upper.fault, upper.is_clear()), (None, true), "{name}: {tsdu:02x?}");
            assert_eq!(differing(tsdu, &upper), [""; 0], "{name}");
            tsdus += 1;
        });
        println!("seen: {tsdus} TSDUs of {name}");
        assert!(tsdus >= 5, "{tsdus} TSDUs of {name}");
    }
}

#[test]
fn every_tsdu_of_any_device_decodes_from_its_encoding() {
    let Some(files) = all() else { return };
    let (mut clear, mut same) = (0_u64, 0_u64);
    for path in files {
        each_tsdu(&path, |tsdu| {
            let Ok(upper) = Upper::decode(tsdu) else { return };
            if upper.is_clear() {
                clear += 1;
                let differing = differing(tsdu, &upper);
                same += u64::from(differing.is_empty());
            }
        });
    }
    println!("seen: {clear} TSDUs, {same} of them encode to the same octets");
    assert!(clear > 5_000 && same * 10 > clear * 9, "{same} of {clear}");
}

/// Seeds that are good decode entirely; cut at any octet, they are refused by name, or nothing but
/// user data of an SPDU is lost.
#[test]
fn a_tsdu_cut_at_any_octet_is_refused_by_name() {
    for seed in upper_seeds::all() {
        let whole = Upper::decode(&seed.octets).unwrap();
        assert_eq!(whole.fault, None, "{}", seed.name);
        for end in 0..seed.octets.len() {
            let cut = &seed.octets[..end];
            let fault = match Upper::decode(cut) {
                Err(fault) => Some(fault),
                Ok(upper) if upper.is_clear() => panic!("{} cut to {end} octets", seed.name),
                Ok(upper) => upper.fault,
            };
            assert!(fault.is_none_or(|fault| fault.offset <= end), "{} cut to {end}", seed.name);
        }
    }
}

/// Initiate request of libiec61850, as its user sets it.
fn initiate() -> Pdu<'static> {
    Pdu::InitiateRequest(Initiate {
        local_detail: Some(65_000),
        outstanding_calling: 5,
        outstanding_called: 5,
        nesting: Some(10),
        version: 1,
        parameters: BitString { unused: 5, octets: &[0xF1, 0] },
        services: BitString {
            unused: 3,
            octets: &[0xEE, 0x1C, 0, 0, 4, 8, 0, 0, 0x79, 0xEF, 0x18],
        },
        further: &[],
    })
}

#[test]
fn a_cn_is_made_from_its_parameters() {
    let [mut pdu, mut list, mut names, mut contexts, mut data] =
        core::array::from_fn(|_| Writer::new());
    let mut out = Writer::new();
    initiate().encode(&mut pdu);
    let information = External {
        direct: None,
        indirect: Some(3),
        descriptor: None,
        value: Value::Single(pdu.octets()),
    };
    let called = Entity { title: Some(&[6, 5, 0x29, 1, 0x87, 0x67, 1]), ..qualifier(&[2, 1, 12]) };
    let calling = Entity { title: Some(&[6, 4, 0x29, 1, 0x87, 0x67]), ..qualifier(&[2, 1, 12]) };
    let aarq = acse::Pdu::Aarq(acse::Request {
        context_name: Some(mms::CONTEXT_NAME),
        called,
        calling,
        information: List::encode(&[information], &mut list),
        ..acse::Request::default()
    });
    aarq.encode(&mut out);
    let transfer_syntaxes = List::encode(&[Name(presentation::BER)], &mut names);
    let context =
        |identifier, abstract_syntax| Context { identifier, abstract_syntax, transfer_syntaxes };
    let both = [context(1, acse::SYNTAX), context(3, mms::SYNTAX)];
    let pdv = Pdv { transfer: None, context: 1, value: Value::Single(out.octets()) };
    let cp = presentation::Pdu::Cp(presentation::Parameters {
        calling: Some(&[0, 0, 0, 1]),
        called: Some(&[0, 0, 0, 1]),
        contexts: List::encode(&both, &mut contexts),
        user_data: Some(UserData::Full(List::encode(&[pdv], &mut data))),
        ..presentation::Parameters::default()
    });
    let mut ppdu = Writer::new();
    cp.encode(&mut ppdu);
    let cn = session::Parameters {
        options: Some(0),
        version: Some(session::VERSION_2),
        requirements: Some(session::DUPLEX),
        calling: Some(&[0, 1]),
        called: Some(&[0, 1]),
        user_data: Some(ppdu.octets()),
        ..session::Parameters::default()
    };
    let mut tsdu = Writer::new();
    session::Pdu::new(session::Kind::Cn, cn).encode(&mut tsdu);
    assert_eq!(tsdu.octets(), hex(CN));
}

fn qualifier(qualifier: &[u8]) -> Entity<'_> {
    Entity { qualifier: Some(qualifier), ..Entity::default() }
}

/// Overhead of a read of one variable: 4 octets of session and 9 of presentation for 58 of MMS.
#[test]
fn a_read_is_made_in_one_buffer() {
    let mut room = Writer::new();
    let name = ObjectName::Domain { domain: b"simpleIOGenericIO", item: b"GGIO1$MX$AnIn1$mag$f" };
    let variable = Variable { specification: Specification::Name(name), alternate: None };
    let variables = VariableAccess::Variables(List::encode(&[variable], &mut room));
    let read = ReadRequest { with_specification: None, variables };
    let pdu = Pdu::ConfirmedRequest(ConfirmedRequest {
        invoke: 4,
        modifiers: None,
        service: Request::Read(read),
        detail: &[],
    });
    let mut out = Writer::new();
    pdu.encode(&mut out);
    assert_eq!(out.len(), 58);
    presentation::wrap(3, 0, &mut out);
    out.put(&session::DATA);
    assert_eq!(out.len(), 4 + 9 + 58);
    let (_, expected) = TSDUS.iter().find(|(name, _)| *name == "read").unwrap();
    assert_eq!(out.octets(), hex(expected));
}

#[test]
fn no_tsdu_of_another_protocol_is_taken_for_session() {
    let Some(files) = captures() else { return };
    let others = ["s7/", "rdp-tpkt/", "h323-tpkt/", "tp0/", "tp4/", "ncc84-exact"];
    let mut tsdus = 0_u64;
    for (name, path) in files {
        if !others.iter().any(|other| name.starts_with(other)) {
            continue;
        }
        each_tsdu(&path, |tsdu| {
            tsdus += 1;
            let is_clear = Upper::decode(tsdu).is_ok_and(|upper| upper.is_clear());
            assert!(!is_clear && Head::decode(tsdu).is_none(), "{name}: {tsdu:02x?}");
        });
    }
    println!("seen: {tsdus} TSDUs of other protocols");
    assert!(tsdus > 40_000, "{tsdus} TSDUs");
}
