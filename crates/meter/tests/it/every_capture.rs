//! Every shared capture, read to its end: `captures.txt` has the expected counts, and `tshark.toml`
//! gives the reason if tshark counts other TPDUs.
//!
//! A line of `captures.txt` is the file, its frames, then measures that are not zero, then
//! oddities, then the applications above its connections, then streams of cyclic data,
//! then requests and replies. `BLESS=1` rewrites it.

use crate::capture::shared;
use core::fmt::Write as _;
use core::time::Duration;
use meter::{Meter, Report, Settings};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use toml::Table;
use wire::capture::Capture;
use wire::tp::Kind;

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures.txt");
const DIFFERENCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tshark.toml");
/// tshark takes seconds for longer files.
const SHORT_OCTETS: u64 = 600_000;

/// Captures by their paths within the folder, in order; none if the folder is missing.
pub(crate) fn captures() -> Option<(PathBuf, Vec<String>)> {
    let folder = shared("captures", "INDEX.md")?.parent().unwrap().to_owned();
    let (mut files, mut folders) = (Vec::new(), vec![folder.clone()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension != "md") {
                files.push(path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files.sort();
    Some((folder, files))
}

/// Meters a capture to its end or to the position where the file is damaged.
fn metered(path: &Path) -> (u64, Meter, Report) {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    let mut frames = 0;
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    while let Ok(Some(record)) = capture.next() {
        frames += 1;
        meter.observe(record.at, record.link, record.octets, record.original_octets);
        while meter.take_interval().is_some() {}
    }
    let total = meter.finish();
    (frames, meter, total)
}

/// Total of a capture.
pub(crate) fn total(path: &Path) -> Report {
    metered(path).2
}

fn kinds(total: &Report) -> BTreeMap<&'static str, u64> {
    let kinds = total.measures.traffic.transport.by_kind();
    kinds.filter(|(_, v)| v.tpdus > 0).map(|(kind, v)| (kind.name(), v.tpdus)).collect()
}

fn summary(name: &str, path: &Path) -> String {
    let (frames, mut meter, total) = metered(path);
    let measures = &total.measures;
    let mut line = format!("{name}: {frames} frames");
    let [dt, _] = measures.traffic.transport.data_and_acknowledgements();
    let delays = &measures.delays;
    for (name, value) in [
        ("LPDUs", measures.link.lpdus),
        ("NPDUs", measures.network.npdus),
        ("LLC I", measures.llc.information),
        ("LLC S", measures.llc.supervisory),
        ("TSDUs", measures.traffic.tsdus.tsdus),
        ("DT again", dt.retransmissions),
        ("empty parts", measures.traffic.roles.empty_parts),
        ("segments", measures.streams.segments),
        ("segments again", measures.streams.again),
        ("segments late", measures.streams.late),
        ("copies", measures.streams.copies),
        ("AK delays", delays.acknowledgement.count),
        ("responses", delays.response.count),
        ("set-ups", delays.set_up.count),
        ("round trips", delays.round_trip.count),
        ("delayed ACKs", delays.delayed_ack.count),
        ("ambiguous responses", delays.ambiguous_responses),
    ] {
        if value > 0 {
            write!(line, ", {value} {name}").unwrap();
        }
    }
    for (kind, tpdus) in kinds(&total) {
        write!(line, ", {kind} {tpdus}").unwrap();
    }
    for (class, name, times) in total.oddities.iter() {
        write!(line, "; {}: {name} {times}", class.name()).unwrap();
    }
    let mut users: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let evicted: Vec<meter::Connection> = core::iter::from_fn(|| meter.take_connection()).collect();
    for connection in meter.each_connection().chain(evicted) {
        *users.entry((connection.user.name(), connection.confidence.name())).or_default() += 1;
    }
    for ((user, confidence), connections) in users {
        write!(line, " | {connections} {user} ({confidence})").unwrap();
    }
    let mut cyclic: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for report in meter.each_stream() {
        let (streams, frames) = cyclic.entry(report.key.protocol.name()).or_default();
        *streams += 1;
        *frames += report.frames + report.copies;
    }
    for (protocol, (streams, frames)) in cyclic {
        write!(line, " | {streams} streams of {protocol}, {frames} frames").unwrap();
    }
    let mut transactions: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for report in meter.each_transaction() {
        let counts = report.all.counts;
        let [functions, requests, replies] =
            transactions.entry(report.key.protocol.name()).or_default();
        *functions += 1;
        *requests += counts.requests;
        *replies += counts.replies;
    }
    for (protocol, [functions, requests, replies]) in transactions {
        let of = format!("{functions} functions of {protocol}");
        write!(line, " | {of}, {requests} requests, {replies} replies").unwrap();
    }
    line
}

#[test]
fn every_capture_has_the_expected_counts() {
    let Some((folder, files)) = captures() else { return };
    let lines: Vec<String> = files.iter().map(|name| summary(name, &folder.join(name))).collect();
    let text = lines.join("\n") + "\n";
    if std::env::var_os("BLESS").is_some() {
        fs::write(EXPECTED, &text).unwrap();
    }
    let expected = fs::read_to_string(EXPECTED).unwrap();
    for (found, expected) in text.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(text.lines().count(), expected.lines().count());
    println!("seen: {} captures", files.len());
}

/// TPDUs by kind, as tshark counts them; none if there is no tshark.
fn by_tshark(path: &Path) -> Option<BTreeMap<&'static str, u64>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-o", "clnp.always_decode_transport:TRUE", "--disable-protocol", "t125"]);
    tshark.args(["-Y", "cotp", "-T", "fields", "-e", "cotp.type", "-r"]).arg(path);
    let output = tshark.stderr(Stdio::null()).output().ok()?;
    let mut kinds = BTreeMap::new();
    for code in String::from_utf8(output.stdout).unwrap().split([',', '\n', '\t']) {
        let Some(code) = code.strip_prefix("0x") else { continue };
        let code = u8::from_str_radix(code, 16).unwrap() << 4;
        let kind = Kind::of_code(code).map_or("?", Kind::name);
        *kinds.entry(kind).or_default() += 1;
    }
    Some(kinds)
}

#[test]
fn tshark_counts_the_same_tpdus_except_for_known_differences() {
    let Some((folder, files)) = captures() else { return };
    let known: Table = fs::read_to_string(DIFFERENCES).unwrap().parse().unwrap();
    let (mut compared, mut differing) = (0, Vec::new());
    for name in &files {
        let path = folder.join(name);
        if fs::metadata(&path).unwrap().len() > SHORT_OCTETS {
            continue;
        }
        let Some(theirs) = by_tshark(&path) else {
            println!("skipped: no tshark to compare counts of TPDUs with");
            return;
        };
        let (_, _, total) = metered(&path);
        let ours = kinds(&total);
        compared += 1;
        if ours == theirs {
            assert!(!known.contains_key(name), "{name}: nothing differs any more");
            continue;
        }
        differing.push(name.clone());
        let Some(difference) = known.get(name) else {
            panic!("{name}: ours {ours:?}, tshark {theirs:?}, and tshark.toml has no reason");
        };
        assert_eq!(difference["tshark"].as_str().unwrap(), format!("{theirs:?}"), "{name}");
        assert!(difference["why"].as_str().unwrap().len() > 20, "{name}");
    }
    assert_eq!(differing.len(), known.len(), "{differing:?}");
    println!("seen: {compared} captures compared with tshark, {} differ", differing.len());
}
