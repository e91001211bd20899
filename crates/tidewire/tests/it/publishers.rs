//! `watch --expect`: each difference between the publishers of an SCL file and those that were seen is
//! found, and named by its device.

use crate::cyclic::write;
use crate::page::Served;
use crate::{check_code, records, run, run_in, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use wire::{goose, sampled_values};

pub(crate) const SCD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/station.scd");
pub(crate) const CAPTURE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/station.pcap");

/// Values of a data set as the file has it: general, q, and Pos with stVal, q and t.
const VALUES: [u8; 29] = [
    0x83, 1, 0, 0x84, 3, 3, 0, 0, // Tr.general, Tr.q
    0xA2, 19, 0x84, 2, 6, 0x40, 0x84, 3, 3, 0, 0, 0x91, 8, 0, 0, 0, 0, 0, 0, 0, 0, // Pos
];

/// Publisher of GOOSE.
#[derive(Clone)]
struct Bay {
    source: u8,
    mac: u8,
    appid: u16,
    /// VLAN and priority.
    tag: Option<[u16; 2]>,
    block: String,
    id: String,
    set: String,
    revision: u32,
    entries: u32,
    /// Times of its frames in milliseconds.
    at_ms: Vec<u32>,
}

impl Bay {
    /// A bay as the file declares it.
    fn of(number: u8) -> Self {
        Self {
            source: number,
            mac: number,
            appid: 0x3000 + u16::from(number),
            tag: Some([10, 4]),
            block: format!("BAY{number}LD0/LLN0$GO$trip"),
            id: format!("BAY{number}-trip"),
            set: format!("BAY{number}LD0/LLN0$trips"),
            revision: if number == 3 { 2 } else { 1 },
            entries: 3,
            at_ms: (0..6).map(|n| n * 500 + u32::from(number)).collect(),
        }
    }

    fn frames(&self) -> Vec<(u32, Vec<u8>)> {
        let frame = |sequence: u32| {
            let pdu = goose::Pdu {
                appid: self.appid,
                reserved: [0; 2],
                control_block: self.block.as_bytes(),
                time_allowed_to_live_ms: 2_000,
                data_set: self.set.as_bytes(),
                identifier: Some(self.id.as_bytes()),
                time: goose::UtcTime::default(),
                state_number: 1,
                sequence_number: sequence,
                is_simulated: false,
                configuration_revision: self.revision,
                needs_commissioning: false,
                entries: self.entries,
                data: &VALUES,
            };
            let mut frame = vec![1, 0x0C, 0xCD, 1, 0, self.mac, 2, 0, 0, 0, 0, self.source];
            frame.extend(tag(self.tag));
            frame.extend([0x88, 0xB8]);
            frame.extend(pdu.encode());
            frame
        };
        let times = self.at_ms.iter().zip(1..);
        times.map(|(at_ms, sequence)| (at_ms * 1_000, frame(sequence))).collect()
    }
}

fn tag(tag: Option<[u16; 2]>) -> Vec<u8> {
    let octets =
        |[vlan, priority]: [u16; 2]| [[0x81, 0], (priority << 13 | vlan).to_be_bytes()].concat();
    tag.map(octets).unwrap_or_default()
}

/// Frames of the merging unit at the end of the capture, with `samples` samples each.
fn samples(id: &str, asdus: u16) -> Vec<(u32, Vec<u8>)> {
    let frame = |n: u16| {
        let sample = [0; 64];
        let asdu = |of: u16| sampled_values::Asdu {
            identifier: id.as_bytes(),
            data_set: None,
            sample_count: n * asdus + of,
            configuration_revision: 1,
            synchronisation: 2,
            rate: None,
            sample: &sample,
        };
        let all: Vec<_> = (0..asdus).map(asdu).collect();
        let mut frame = vec![1, 0x0C, 0xCD, 4, 0, 1, 2, 0, 0, 0, 0, 0x41];
        frame.extend(tag(Some([20, 4])));
        frame.extend([0x88, 0xBA]);
        frame.extend(sampled_values::Pdu::encode(0x4001, [0; 2], &all));
        frame
    };
    (0..200).map(|n| (2_460_000 + u32::from(n) * 250, frame(n))).collect()
}

fn all(bays: &[Bay], samples: Vec<(u32, Vec<u8>)>) -> Vec<(u32, Vec<u8>)> {
    let mut frames: Vec<_> = bays.iter().flat_map(Bay::frames).chain(samples).collect();
    frames.sort_by_key(|(at_us, _)| *at_us);
    frames
}

/// Six bays and a merging unit as the file declares them.
fn declared() -> Vec<Bay> {
    (1..=6).map(Bay::of).collect()
}

fn watch(frames: impl IntoIterator<Item = (u32, Vec<u8>)>, words: &[&str]) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("station.pcap");
    write(&path, frames);
    let path = path.display().to_string();
    run(&[&["watch", "-r", &path, "--expect", SCD], words].concat())
}

/// Publishers that are not as declared, each as `device, block, state, differences`.
fn found(frames: impl IntoIterator<Item = (u32, Vec<u8>)>) -> Vec<String> {
    let output = watch(frames, &["--json"]);
    check_code(&output, 0);
    let wrong = |it: &&Value| it["type"] == "publisher" && it["state"] != "as-declared";
    let text = |it: &Value| {
        let differences = it["differences"].as_array().unwrap().iter().map(|it| {
            let word = |key: &str| it[key].as_str().unwrap();
            format!("{} {} {}", word("field"), word("declared"), word("seen"))
        });
        let word = |key: &str| it[key].as_str().unwrap_or("-").to_owned();
        let head = [word("ied"), word("name"), word("state")];
        head.into_iter().chain(differences).collect::<Vec<_>>().join(", ")
    };
    records(&output).iter().filter(wrong).map(text).collect()
}

/// The findings of text and the publishers of records have this difference alone.
#[track_caller]
fn check(change: impl FnOnce(&mut Vec<Bay>), publisher: &str, finding: &str) {
    let mut bays = declared();
    change(&mut bays);
    let frames = all(&bays, samples("MU1-phases", 1));
    assert_eq!(found(frames.clone()), [publisher]);
    let output = watch(frames, &["--fail-on", "look"]);
    check_code(&output, 3);
    let text = stdout(&output);
    let findings = text.lines().skip_while(|line| !line.starts_with("  !"));
    let first: Vec<_> = findings.take(2).map(str::trim).collect();
    assert!(first.join(" ").contains(finding), "{finding}\n{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn publishers_as_declared_are_no_finding() {
    let frames = all(&declared(), samples("MU1-phases", 1));
    assert_eq!(found(frames.clone()), [] as [String; 0]);
    let output = watch(frames, &["--fail-on", "note"]);
    check_code(&output, 0);
    assert!(
        stdout(&output).contains("7 of 7 declared publishers match the file"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_publisher_that_was_never_seen_is_missing() {
    check(
        |bays| drop(bays.remove(1)),
        "BAY2, BAY2LD0/LLN0$GO$trip, not-seen",
        "!! 1 of 7 declared publishers missing: never seen \
         BAY2LD0/LLN0$GO$trip: 01:0c:cd:01:00:02 APPID 3002",
    );
}

#[test]
fn a_publisher_that_stopped_is_silent() {
    check(
        |bays| bays[5].at_ms.truncate(2),
        "BAY6, BAY6LD0/LLN0$GO$trip, silent",
        "!! 1 of 7 declared publishers fell silent BAY6LD0/LLN0$GO$trip: 2 frames",
    );
}

#[test]
fn a_publisher_that_the_file_lacks_is_unexpected() {
    let stranger = Bay { block: "TEST/LLN0$GO$gcb".into(), source: 0x99, mac: 0x99, ..Bay::of(1) };
    check(
        |bays| bays.push(stranger),
        "-, TEST/LLN0$GO$gcb, unexpected",
        "!! 1 publisher unexpected: not in the configuration \
         02:00:00:00:00:99 TEST/LLN0$GO$gcb: 01:0c:cd:01:00:99 APPID 3001",
    );
}

#[test]
fn a_second_source_of_a_control_block_is_unexpected() {
    check(
        |bays| bays.push(Bay { source: 0x98, ..Bay::of(1) }),
        "BAY1, BAY1LD0/LLN0$GO$trip, unexpected",
        "02:00:00:00:00:98 is a second source of BAY1LD0/LLN0$GO$trip, BAY1",
    );
}

#[test]
fn each_field_that_differs_is_named_with_both_values() {
    let name = "BAY4, BAY4LD0/LLN0$GO$trip, different";
    let seen = |change: fn(&mut Bay), difference: &str, finding: &str| {
        let change = |bays: &mut Vec<Bay>| change(&mut bays[3]);
        check(change, &format!("{name}, {difference}"), finding);
    };
    seen(|it| it.appid = 0x3014, "APPID 3004 3014", "!! 1 publisher with the wrong APPID BAY4LD0");
    seen(
        |it| it.mac = 0x77,
        "MAC 01:0c:cd:01:00:04 01:0c:cd:01:00:77",
        "!! 1 publisher with the wrong MAC BAY4LD0",
    );
    seen(|it| it.tag = Some([20, 4]), "VLAN 10 20", "VLAN BAY4LD0/LLN0$GO$trip: 10 declared");
    seen(|it| it.tag = Some([10, 1]), "priority 4 1", "!  1 publisher with the wrong priority");
    seen(|it| it.revision = 7, "confRev 1 7", "with the wrong confRev");
    seen(|it| it.id = "x".into(), "goID/svID BAY4-trip x", "with the wrong goID/svID");
    seen(
        |it| it.set = "BAY4LD0/LLN0$other".into(),
        "datSet BAY4LD0/LLN0$trips BAY4LD0/LLN0$other",
        "with the wrong datSet",
    );
    seen(|it| it.entries = 4, "numDatSetEntries 3 4", "with the wrong numDatSetEntries");
    seen(
        |it| it.block = "BAY4LD0/LLN0$GO$trop".into(),
        "gocbRef BAY4LD0/LLN0$GO$trip BAY4LD0/LLN0$GO$trop",
        "with the wrong gocbRef",
    );
    // 1,800 ms between frames; MaxTime is 1,000 ms, and frames allow 2,000 ms.
    seen(
        |it| it.at_ms = vec![4, 1_804],
        "MaxTime 1.00 s 1.80 s",
        "with a gap over 1.5 times the declared MaxTime",
    );
}

#[test]
fn streams_of_a_merging_unit_are_compared_too() {
    let bays = declared();
    let of = |id, asdus| found(all(&bays, samples(id, asdus)));
    let name = "MU1, MU1MU/LLN0$MS$MSVCB01, different";
    assert_eq!(of("MU1", 1), [format!("{name}, goID/svID MU1-phases MU1")]);
    assert_eq!(of("MU1-phases", 2), [format!("{name}, noASDU 1 2")]);
    let none = found(all(&bays, Vec::new()));
    assert_eq!(none, ["MU1, MU1MU/LLN0$MS$MSVCB01, not-seen"]);
}

#[test]
fn a_tag_that_was_not_seen_is_not_wrong() {
    let bays: Vec<_> = declared().into_iter().map(|it| Bay { tag: None, ..it }).collect();
    let frames = all(&bays, samples("MU1-phases", 1));
    assert_eq!(found(frames.clone()), [] as [String; 0]);
    let output = watch(frames, &["--fail-on", "look"]);
    check_code(&output, 0);
    let text = stdout(&output);
    let finding = "-  6 publishers without a VLAN tag: VLAN and priority not seen";
    assert!(text.contains(finding), "{text}");
}

#[test]
fn what_was_not_due_is_not_missing() {
    // In 0.9 s a publisher with a MaxTime of 1 s may be silent.
    let mut bays = declared();
    bays.remove(1);
    let frames = all(&bays, Vec::new()).into_iter().filter(|(at_us, _)| *at_us < 900_000);
    let name = "MU1, MU1MU/LLN0$MS$MSVCB01, not-due";
    assert_eq!(found(frames), ["BAY2, BAY2LD0/LLN0$GO$trip, not-due", name]);
}

#[test]
fn traffic_without_publishers_says_so() {
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/gateway.pcap");
    let output = run(&["watch", "-r", other, "--expect", SCD, "--fail-on", "wrong"]);
    check_code(&output, 3);
    let text = stdout(&output);
    let finding = "!! none of 7 declared publishers seen: no GOOSE or SV at this tap";
    assert!(text.contains(finding), "{text}");
}

#[test]
fn requirements_on_publishers_decide_the_exit_code() {
    let mut bays = declared();
    bays[3].appid = 0x3014;
    bays.remove(1);
    let frames = all(&bays, samples("MU1-phases", 1));
    for (required, code, counts, of) in [
        ("not-seen == 0", 3, [6, 1, 0], "BAY2LD0/LLN0$GO$trip"),
        ("not-seen(sv) == 0", 0, [1, 0, 0], ""),
        ("different(*) == 0", 3, [6, 1, 0], "BAY4LD0/LLN0$GO$trip"),
        ("different(BAY3) == 0", 0, [1, 0, 0], ""),
        ("unexpected == 0", 0, [7, 0, 0], ""),
        ("unexpected(profinet) == 0", 4, [0, 0, 0], ""),
    ] {
        let output = watch(frames.clone(), &["--json", "--require", required]);
        check_code(&output, code);
        let all = records(&output);
        let found = all.iter().find(|it| it["type"] == "requirement").unwrap();
        let verdicts = ["passed", "failed", "undecided"];
        assert_eq!(verdicts.map(|name| found[name].as_u64().unwrap()), counts, "{required}");
        let first = found["findings"].get(0).map_or("", |it| it["of"].as_str().unwrap());
        assert_eq!(first, of, "{required}");
    }
    // Half a second says nothing of a publisher with a MaxTime of 1 s.
    let short = frames.into_iter().filter(|(at_us, _)| *at_us < 500_000);
    check_code(&watch(short, &["--require", "not-seen(goose) == 0"]), 4);
    let output = run(&["watch", "-r", CAPTURE, "--require", "unexpected == 0"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("needs --expect: the SCL file"), "{}", stderr(&output));
}

#[test]
fn the_capture_of_the_guide_has_one_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("station.pcap");
    let mut bays = declared();
    bays[2].revision = 1;
    bays[3].appid = 0x3014;
    bays[4].tag = Some([20, 1]);
    bays[5].at_ms.truncate(2);
    bays.remove(1);
    bays.push(Bay { block: "TEST/LLN0$GO$gcb".into(), source: 0x99, mac: 0x99, ..Bay::of(1) });
    write(&made, all(&bays, samples("MU1-phases", 1)));
    if std::env::var_os("BLESS").is_some() {
        fs::copy(&made, CAPTURE).unwrap();
    }
    assert!(fs::read(&made).unwrap() == fs::read(CAPTURE).unwrap(), "BLESS=1 makes {CAPTURE} anew");
    let output = run(&["--json", "watch", "-r", CAPTURE, "--expect", SCD]);
    check_code(&output, 0);
    let all = records(&output);
    let totals = &all.iter().rfind(|it| it["type"] == "publishers").unwrap()["totals"];
    let counts = ["declared", "seen", "not_seen", "silent", "unexpected", "different"];
    assert_eq!(counts.map(|name| totals[name].as_u64().unwrap()), [7, 7, 1, 1, 1, 3]);
    let one = serde_json::json!({ "VLAN": 1, "APPID": 1, "confRev": 1, "priority": 1 });
    assert_eq!(totals["differences"], one);
    // The findings come in this order, in front of those on streams.
    let texts = all.iter().filter(|it| it["type"] == "finding");
    let texts: Vec<_> = texts.map(|it| it["text"].as_str().unwrap().to_owned()).collect();
    let words = ["missing", "silent", "unexpected", "VLAN", "APPID", "confRev", "fell silent"];
    assert!(texts.iter().zip(words).all(|(text, word)| text.contains(word)), "{texts:#?}");
}

/// A file is refused with this message.
#[track_caller]
fn refused(scl: &[u8], message: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.scd");
    fs::write(&path, scl).unwrap();
    let output = run(&["watch", "-r", CAPTURE, "--expect", path.to_str().unwrap()]);
    check_code(&output, 1);
    let printed = stderr(&output);
    assert!(printed.contains(message), "{printed}");
    assert!(printed.chars().all(|it| it == '\n' || wire::printable::is_printable(it)), "{printed}");
}

#[test]
fn bad_files_are_refused_with_the_line() {
    let scd = fs::read_to_string(SCD).unwrap();
    let with = |from: &str, to: &str| {
        assert!(scd.contains(from));
        scd.replacen(from, to, 1).into_bytes()
    };
    refused(b"", "bad.scd:1:1: no XML element: not an SCL file");
    refused(b"<html/>", "bad.scd:1:1: html: not the root of an SCL file");
    refused(b"<SCL/>", "declares no publisher of GOOSE or Sampled Values");
    let bomb = "<!DOCTYPE SCL [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]>";
    refused(&with("<SCL ", &format!("{bomb}\n<SCL ")), ":3:1: document type declaration");
    refused(&with(">3001<", ">&b;<"), ":14:29: an entity other than those of XML itself");
    refused(&with(">3001<", ">30G1<"), ":12:11: Address: APPID \"30G1\" is not valid");
    refused(&with(">00A<", ">100A<"), "VLAN-ID 100A is more than FFF");
    refused(&with("01-0C-CD-01-00-01", "01-0C-CD-01-00"), "MAC-Address \"01-0C-CD-01-00\" is not");
    refused(&with(">1000<", ">soon<"), "MaxTime: \"soon\" is no time in milliseconds");
    refused(&with("IED name=\"BAY2\"", "IED name=\"BAY1\""), "a second device of this name");
    refused(&with("</SCL>", "</SCL"), "bad.scd:346:1: syntax error");
    // Names of peers do not reach the terminal.
    let name = "IED name=\"B\u{202e}AY&#27;[2J1\"";
    refused(&with("IED name=\"BAY1\"", name), "is no name of up to 64 letters and digits");
    let long = vec![b' '; 100_000_001];
    refused(&long, "100000001 octets, more than 100000000");
}

#[test]
fn a_path_that_is_no_file_is_an_error() {
    let output = run(&[
        "watch",
        "-r",
        CAPTURE,
        "--expect",
        Path::new(SCD).parent().unwrap().to_str().unwrap(),
    ]);
    check_code(&output, 1);
    assert!(stderr(&output).contains("cannot read"), "{}", stderr(&output));
}

#[test]
fn publishers_are_a_table_in_each_form() {
    let folder = tempfile::tempdir().unwrap();
    let watch = ["watch", "-q", "-r", CAPTURE, "--expect", SCD, "--csv", "csv", "--zeek", "zeek"];
    check_code(&run_in(folder.path(), &watch), 0);
    let text = fs::read_to_string(folder.path().join("csv/publishers.csv")).unwrap();
    let mut lines = text.lines();
    let head = "protocol,ied,name,state,differences,without_tag,source,destination,appid,frames";
    assert_eq!(lines.next(), Some(head));
    // The worst first, as in records: their states are those of the record of each publisher.
    let all = records(&run(&["--json", "watch", "-r", CAPTURE, "--expect", SCD]));
    let each = all.iter().filter(|it| it["type"] == "publisher");
    let field = |it: &Value, name: &str| match &it[name] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let row = |it: &Value| {
        let differences = it["differences"].as_array().unwrap().iter().map(|it| {
            format!("{} {}, not {}", field(it, "field"), field(it, "seen"), field(it, "declared"))
        });
        let differences = differences.collect::<Vec<_>>().join("; ");
        let quoted =
            if differences.is_empty() { differences } else { format!("\"{differences}\"") };
        let names = ["protocol", "ied", "name", "state"].map(|name| field(it, name));
        let without_tag = if it["without_tag"] == true { "1" } else { "0" };
        let rest = ["source", "destination", "appid", "frames"].map(|name| field(it, name));
        format!("{},{quoted},{without_tag},{}", names.join(","), rest.join(","))
    };
    let expected: Vec<_> = each.map(row).collect();
    assert_eq!(lines.collect::<Vec<_>>(), expected);
    assert!(text.contains("GOOSE,BAY2,BAY2LD0/LLN0$GO$trip,not-seen,,0,,"), "{text}");
    assert!(text.contains(",different,\"APPID "), "{text}");
    let log = fs::read_to_string(folder.path().join("zeek/tidewire_publishers.log")).unwrap();
    assert_eq!(log.lines().filter(|line| !line.starts_with('#')).count(), expected.len());
}

#[test]
fn findings_are_on_the_page_and_in_the_report() {
    let mut served = Served::start(&["watch", "-r", CAPTURE, "--expect", SCD]);
    let out = BufReader::new(served.child.stdout.take().unwrap());
    // The process lives on, so its output has no end yet.
    assert!(out.lines().any(|line| line.unwrap().contains("\"type\":\"end\"")));
    let snapshot = served.snapshot();
    let texts = snapshot["findings"].as_array().unwrap().iter();
    let texts: Vec<_> = texts.map(|it| it["text"].as_str().unwrap()).collect();
    let missing = "1 of 7 declared publishers missing: never seen";
    assert_eq!(texts[0], missing);
    let panels = snapshot["panels"].as_array().unwrap();
    let panel = panels.iter().find(|panel| panel["id"] == "publishers").unwrap();
    let about = "7 publishers in the file, 7 seen; 1 not seen, 1 silent, 1 unexpected, 3 different";
    assert!(panel["about"].as_str().unwrap().starts_with(about), "{panel}");
    let first = panel["rows"][0].to_string();
    for text in ["not-seen", "BAY2LD0/LLN0$GO$trip"] {
        assert!(first.contains(text), "{text}: {first}");
    }
    let folder = tempfile::tempdir().unwrap();
    let watch = ["watch", "-q", "-r", CAPTURE, "--expect", SCD, "-o", "runs"];
    check_code(&run_in(folder.path(), &watch), 0);
    let output = run_in(folder.path(), &["report", "runs", "--output", "-"]);
    check_code(&output, 0);
    let report = stdout(&output);
    for text in [missing, "with the wrong APPID", "publishers compared with", "--expect"] {
        assert!(report.contains(text), "{text}\n{report}");
    }
}

#[test]
fn each_interval_has_the_publishers_so_far() {
    let json = ["--json", "watch", "-r", CAPTURE, "--expect", SCD, "--measure", "400 ms"];
    let all = records(&run(&json));
    let of = all.iter().filter(|it| it["type"] == "publishers");
    let counts =
        |it: &Value| ["not_due", "not_seen"].map(|name| it["totals"][name].as_u64().unwrap());
    let counts: Vec<_> = of.map(counts).collect();
    // BAY2 is missing after 1 s. The merging unit, which comes after 2.46 s, is late for its second. The last one
    // is that of the end.
    let wanted = [[2, 0], [2, 0], [0, 2], [0, 2], [0, 2], [0, 2], [0, 1], [0, 1]];
    assert_eq!(counts, wanted);
}
