//! `watch --anonymize`: no output knows who it was, and all else is as it was.

use crate::export::CELL;
use crate::watch::shared;
use crate::{check_code, records, run_in, stdout};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use wire::capture::Capture;

const KEY: &str = "15f2";

/// Everything that is written about a capture, under the names of the files.
fn outputs(capture: &Path, more: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("key"), KEY.repeat(16)).unwrap();
    let files =
        ["--csv", "c", "--zeek", "z", "--events", "c/events", "--annotate", "c/seen.pcapng"];
    fs::create_dir(folder.path().join("c")).unwrap();
    let mut arguments = vec!["watch", "-r", capture.to_str().unwrap(), "--json"];
    arguments.extend(files);
    arguments.extend(more);
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 0);
    let mut all = BTreeMap::from([("stdout".to_owned(), output.stdout)]);
    for part in ["c", "z"] {
        for entry in fs::read_dir(folder.path().join(part)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            all.insert(name, fs::read(path).unwrap());
        }
    }
    all
}

/// The hosts, in the order in which they were met.
fn hosts(stdout: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(stdout).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let hosts = records.filter(|record| record["type"] == "host");
    hosts.map(|record| record["host"].as_str().unwrap().to_owned()).collect()
}

/// Returns true if an address stands among the headers of a frame of a capture: in its first 34 octets, those
/// of Ethernet and IPv4. Behind them numbers of TPDUs may look like one.
fn is_in_a_header(capture: &[u8], address: &[u8]) -> bool {
    let mut capture = Capture::open(std::io::Cursor::new(capture.to_vec())).unwrap();
    while let Some(record) = capture.next().unwrap() {
        let headers = &record.octets[..record.octets.len().min(34)];
        if headers.windows(address.len()).any(|window| window == address) {
            return true;
        }
    }
    false
}

/// The octets of the addresses of a host: a MAC address, or one of IPv4.
fn octets(host: &str) -> Vec<u8> {
    match host.parse::<std::net::Ipv4Addr>() {
        Ok(address) => address.octets().to_vec(),
        Err(_) => host.split(':').map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect(),
    }
}

fn check(capture: &Path) {
    let (open, masked) =
        (outputs(capture, &[]), outputs(capture, &["--anonymize", "--anonymize-key", "key"]));
    let (before, after) = (hosts(&open["stdout"]), hosts(&masked["stdout"]));
    assert_eq!(before.len(), after.len());
    assert!(before.len() >= 2);
    let is_there = |host: &String| is_in_a_header(&open["seen.pcapng"], &octets(host));
    assert!(before.iter().all(is_there), "what is looked for would be found");
    let unchanged: Vec<_> = before.iter().filter(|host| after.contains(host)).collect();
    assert!(unchanged.is_empty(), "{unchanged:?}");
    assert_eq!(after.iter().collect::<BTreeSet<_>>().len(), after.len(), "two became one");
    assert_eq!(open.keys().collect::<Vec<_>>(), masked.keys().collect::<Vec<_>>());
    for (name, masked) in &masked {
        for host in &before {
            // A shorter address may be the front of a longer one that is another.
            let is_text = name != "seen.pcapng";
            let whole = |text: &[u8]| {
                let text = String::from_utf8_lossy(text).into_owned();
                text.split(|c: char| !(c.is_ascii_hexdigit() || ".:".contains(c))).any(|word| {
                    word == host || word.strip_prefix(host).is_some_and(|it| it.starts_with(':'))
                })
            };
            assert!(!(is_text && whole(masked)), "{name}: {host}");
            assert!(is_text || !is_in_a_header(masked, &octets(host)), "{name}: {host}");
        }
        if name == "seen.pcapng" {
            continue;
        }
        // With the old addresses put back it is what it was.
        let mut text = String::from_utf8(masked.clone()).unwrap();
        for (place, new) in after.iter().enumerate() {
            text = text.replace(new, &format!("<{place}>"));
        }
        for (place, old) in before.iter().enumerate() {
            text = text.replace(&format!("<{place}>"), old);
        }
        assert!(text.as_bytes() == open[name], "{name} differs in more than addresses");
    }
    assert!(masked["seen.pcapng"].len() < open["seen.pcapng"].len());
    println!("seen: {} hosts in {}", before.len(), capture.display());
}

#[test]
fn anonymised_output_has_no_real_address_and_equal_counts() {
    check(Path::new(CELL));
    if let Some(trace) = shared("captures", "ncc84-exact.pcap") {
        check(&trace);
    }
}

/// Names of MMS objects are user data.
#[test]
fn anonymised_output_has_no_names_of_control_blocks() {
    const MMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/mms.pcapng");
    let has_name =
        |octets: &Vec<u8>| octets.windows(4).any(|name| name.eq_ignore_ascii_case(b"urcb"));
    let named = |more: &[&str]| -> Vec<String> {
        let all = outputs(Path::new(MMS), more);
        all.into_iter().filter(|(_, octets)| has_name(octets)).map(|(name, _)| name).collect()
    };
    assert!(named(&[]).contains(&"stdout".to_owned()), "the capture has a control block");
    assert_eq!(named(&["--anonymize", "--anonymize-key", "key"]), Vec::<String>::new());
}

#[test]
fn an_annotated_capture_without_addresses_opens_in_tshark() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["watch", "-r", CELL, "--json", "--anonymize", "--annotate", "a.pcapng"];
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 0);
    let frames = records(&output).last().unwrap()["frames"].as_u64().unwrap();
    let tshark = Command::new("tshark").arg("-r").arg(folder.path().join("a.pcapng")).output();
    let Ok(tshark) = tshark else {
        println!("skipped: no tshark");
        return;
    };
    assert!(tshark.status.success());
    assert_eq!(stdout(&tshark).lines().count() as u64, frames);
}

#[test]
fn what_is_no_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("key"), "secret").unwrap();
    let arguments = ["watch", "-r", CELL, "--anonymize", "--anonymize-key", "key"];
    check_code(&run_in(folder.path(), &arguments), 2);
}
