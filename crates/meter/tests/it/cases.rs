//! Hand-made cases: `tests/cases/*.toml`, each some frames and what is to be measured in them.
//!
//! A line of `frames` is a time in milliseconds, the stations it goes from and to, and the TPDUs in
//! hexadecimal; blanks are for the reader and `#` begins a remark. Such a frame is 802.3 with LLC
//! and the inactive network layer, padded to 60 octets as on the wire; where `frame` stands in
//! place of the stations, the octets are the frame's own. `measures` lists the values that matter
//! to the case; `oddities` lists all there are.

use core::time::Duration;
use meter::{Meter, Settings};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use toml::Table;
use wire::addr::Mac;
use wire::dissect::Link;
use wire::time::Instant;

/// A frame as it stands on the wire, without FCS.
fn frame(from: u32, to: u32, tpdus: &[u8]) -> Vec<u8> {
    let length = u16::try_from(tpdus.len() + 4).unwrap();
    let mut octets = [Mac::local(to).0, Mac::local(from).0].concat();
    octets.extend(length.to_be_bytes());
    octets.extend([0xFE, 0xFE, 0x03, 0x00]);
    octets.extend(tpdus);
    octets.resize(octets.len().max(60), 0);
    octets
}

/// The octets that blank-separated hexadecimal stands for.
fn octets(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hexadecimal.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    assert!(rest.is_empty(), "half an octet in {hexadecimal:?}");
    let octet = |pair: &[u8; 2]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16);
    pairs.iter().map(|pair| octet(pair).unwrap()).collect()
}

/// A line of `frames`: time, octets.
fn line(text: &str) -> Option<(Instant, Vec<u8>)> {
    let text = text.split('#').next()?.trim();
    if text.is_empty() {
        return None;
    }
    let (at, rest) = text.split_once(' ').unwrap();
    let (route, tpdus) = rest.trim().split_once(' ').unwrap();
    let at = Instant::from_nanos(at.parse::<u64>().unwrap() * 1_000_000);
    if route == "frame" {
        return Some((at, octets(tpdus)));
    }
    let (from, to) = route.split_once('>').unwrap();
    Some((at, frame(from.parse().unwrap(), to.parse().unwrap(), &octets(tpdus))))
}

fn numbers(case: &Table, table: &str) -> BTreeMap<String, u64> {
    let entries = case.get(table).and_then(|value| value.as_table()).into_iter().flatten();
    entries
        .map(|(name, value)| (name.clone(), value.as_integer().unwrap().try_into().unwrap()))
        .collect()
}

#[track_caller]
fn check(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(file);
    let case: Table = fs::read_to_string(path).unwrap().parse().unwrap();
    let snapshot = case
        .get("snapshot_octets")
        .map_or(usize::MAX, |value| usize::try_from(value.as_integer().unwrap()).unwrap());
    let mut settings = Settings::every(Duration::from_secs(60));
    if let Some(maximum) = case.get("maximum_connections") {
        settings.maximum_connections = maximum.as_integer().unwrap().try_into().unwrap();
    }
    let mut meter = Meter::new(settings);
    for (at, octets) in case["frames"].as_str().unwrap().lines().filter_map(line) {
        let captured = &octets[..octets.len().min(snapshot)];
        meter.observe(at, Link::Ethernet, captured, octets.len());
    }
    let total = meter.finish();
    let values: BTreeMap<&str, u64> = total.measures.values().into_iter().collect();
    for (name, expected) in numbers(&case, "measures") {
        let measured = values.get(name.as_str());
        assert_eq!(measured, Some(&expected), "{file}: {name}");
    }
    let oddities: BTreeMap<String, u64> = total
        .oddities
        .iter()
        .map(|(class, name, times)| (format!("{}: {name}", class.name()), times))
        .collect();
    assert_eq!(oddities, numbers(&case, "oddities"), "{file}: oddities");
}

#[test]
fn every_case_comes_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert!(files.len() >= 15, "cases are missing: {files:?}");
    files.iter().for_each(|file| check(file));
}
