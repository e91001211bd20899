//! Hand-made cases: `tests/cases/*.toml`, each some frames and the expected measures.
//!
//! A line of `frames` is a time in milliseconds, the sending and the receiving station, and the
//! TPDUs in hexadecimal; blanks are ignored and `#` begins a remark. Such a frame is 802.3 with LLC
//! and the inactive network layer, padded to 60 octets as on the wire. If `frame` replaces the
//! stations, the octets are the whole frame. If `tcp` does, there follow two hosts 10.0.0.N with
//! their ports, flags (S, A, F, R), sequence and acknowledgement number, IP identification, and the
//! data: IPv4 on Ethernet, all checksums zero, padded too.
//!
//! `measures` lists the values relevant to the case; `oddities` lists all there are. `hosts` lists,
//! for hosts by address, values of what they sent and received. `connections` lists, for
//! connections by their ends, their properties and values of both directions, `there` and `back`; a
//! second connection between the same ends has the suffix 2, and evicted connections come last.
//! Each of these may have `metrics`, each the quotient of its formula. In a case with `whole =
//! true` they list every value; a value that is not listed is zero.

use core::time::Duration;
use meter::metric::{Metric, ratios};
use meter::registry::{self, Values};
use meter::{Connection, Direction, Host, Meter, Settings};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use toml::{Table, Value};
use wire::addr::Mac;
use wire::dissect::Link;
use wire::time::Instant;
use wire::tp::Kind;

/// Frame as on the wire, without FCS.
fn frame(from: u32, to: u32, tpdus: &[u8]) -> Vec<u8> {
    let length = u16::try_from(tpdus.len() + 4).unwrap();
    let mut octets = [Mac::local(to).0, Mac::local(from).0].concat();
    octets.extend(length.to_be_bytes());
    octets.extend([0xFE, 0xFE, 0x03, 0x00]);
    octets.extend(tpdus);
    octets.resize(octets.len().max(60), 0);
    octets
}

/// TCP segment on Ethernet, from the words of its line.
fn segment(words: &str) -> Vec<u8> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let [ends, flags, sequence, acknowledgement, identification, data @ ..] = &words[..] else {
        panic!("words are missing: {words:?}");
    };
    let (from, to) = ends.split_once('>').unwrap();
    let [from, to] = [from, to].map(|end| {
        let (host, port) = end.split_once(':').unwrap();
        (host.parse::<u8>().unwrap(), port.parse::<u16>().unwrap())
    });
    let data = octets(&data.concat());
    let total = u16::try_from(40 + data.len()).unwrap();
    let mut frame = [Mac::local(to.0.into()).0, Mac::local(from.0.into()).0].concat();
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(total.to_be_bytes());
    frame.extend(identification.parse::<u16>().unwrap().to_be_bytes());
    frame.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, from.0, 10, 0, 0, to.0]);
    frame.extend(from.1.to_be_bytes());
    frame.extend(to.1.to_be_bytes());
    frame.extend(sequence.parse::<u32>().unwrap().to_be_bytes());
    frame.extend(acknowledgement.parse::<u32>().unwrap().to_be_bytes());
    let bit = |flag| ["F", "S", "R", "P", "A"].iter().position(|name| *name == flag).unwrap();
    let bits = flags.split("").filter(|flag| !flag.is_empty()).map(|flag| 1 << bit(flag)).sum();
    frame.extend([0x50, bits, 0x20, 0, 0, 0, 0, 0]);
    frame.extend(data);
    frame.resize(frame.len().max(60), 0);
    frame
}

/// Octets of blank-separated hexadecimal.
fn octets(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hexadecimal.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    assert!(rest.is_empty(), "half an octet in {hexadecimal:?}");
    let octet = |pair: &[u8; 2]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16);
    pairs.iter().map(|pair| octet(pair).unwrap()).collect()
}

/// Time and octets of a line of `frames`.
fn line(text: &str) -> Option<(Instant, Vec<u8>)> {
    let text = text.split('#').next()?.trim();
    if text.is_empty() {
        return None;
    }
    let (at, rest) = text.split_once(' ').unwrap();
    let (route, tpdus) = rest.trim().split_once(' ').unwrap();
    let at = Instant::from_nanos(at.parse::<u64>().unwrap() * 1_000_000);
    match route {
        "frame" => return Some((at, octets(tpdus))),
        "tcp" => return Some((at, segment(tpdus))),
        _ => {}
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

/// Compares values with those that a case expects; if `whole`, those not listed are zero.
#[track_caller]
fn compare(what: &str, expected: Option<&Value>, values: &BTreeMap<String, u64>, whole: bool) {
    let expected = expected.and_then(|value| value.as_table());
    for (name, value) in expected.into_iter().flatten().filter(|(name, _)| *name != "metrics") {
        let value = u64::try_from(value.as_integer().unwrap()).unwrap();
        assert_eq!(values.get(name), Some(&value), "{what}: {name}");
    }
    let is_listed = |name: &str| expected.is_some_and(|expected| expected.contains_key(name));
    let more: Vec<_> =
        values.iter().filter(|(name, value)| **value > 0 && !is_listed(name)).collect();
    assert!(!whole || more.is_empty(), "{what}: not listed: {more:?}");
}

/// Compares metrics with the quotients that a case expects: all of them, if it has any.
#[track_caller]
fn compare_metrics(what: &str, expected: Option<&Value>, metrics: &[Metric]) {
    let Some(expected) = expected.and_then(|expected| expected.as_table()) else { return };
    assert_eq!(expected.len(), metrics.len(), "{what}: metrics");
    for metric in metrics {
        let symbol = metric.definition.symbol;
        let (dividend, divisor) = expected[symbol].as_str().unwrap().split_once('/').unwrap();
        let [dividend, divisor] = [dividend, divisor].map(|text| text.parse::<f64>().unwrap());
        let quotient = (divisor > 0.0).then(|| dividend / divisor);
        assert_eq!(metric.value, quotient, "{what}: {symbol}");
    }
}

fn is_whole(case: &Table) -> bool {
    case.get("whole").and_then(|whole| whole.as_bool()).unwrap_or(false)
}

fn owned(values: Values) -> BTreeMap<String, u64> {
    values.into_iter().map(|(measure, value)| (measure.to_string(), value)).collect()
}

/// Values without the totals of all kinds of TPDUs, each of which is the sum over the kinds.
fn without_totals(values: Values) -> BTreeMap<String, u64> {
    let mut values = owned(values);
    let counts = ["tpdus", "header_octets", "data_octets", "information_octets", "retransmissions"];
    for count in counts {
        let total = if count == "tpdus" { count.to_owned() } else { format!("tpdu_{count}") };
        let of_kinds =
            Kind::ALL.map(|kind| values[&format!("{}_{count}", kind.name().to_lowercase())]);
        assert_eq!(values.remove(&total), Some(of_kinds.iter().sum()), "{total}");
    }
    values
}

fn hosts(file: &str, case: &Table, meter: &Meter) {
    let Some(expected) = case.get("hosts").and_then(|value| value.as_table()) else { return };
    let found: BTreeMap<String, Host> =
        meter.each_host().map(|host| (host.address.unwrap().to_string(), host)).collect();
    for (address, values) in expected {
        let host = found.get(address).unwrap_or_else(|| panic!("{file}: {:?}", found.keys()));
        let [sent, received] = [&host.sent, &host.received]
            .map(|traffic| without_totals(registry::of_traffic(traffic)));
        let (whole, what) = (is_whole(case), format!("{file}: {address}"));
        compare(&format!("{what} sent"), values.get("sent"), &sent, whole);
        compare(&format!("{what} received"), values.get("received"), &received, whole);
        let metrics = ratios(&host.sent.transport, &host.received.transport);
        compare_metrics(&what, values.get("metrics"), &metrics);
    }
}

fn direction(direction: &Direction) -> BTreeMap<String, u64> {
    // Replies and numbers are compared elsewhere.
    let is_listed = |name: &str| !name.ends_with("_number") && !name.starts_with("window_closed");
    let is_quantile =
        |name: &str| ["response_min", "response_p"].iter().any(|of| name.starts_with(of));
    let mut values = without_totals(registry::of_direction(direction));
    values.retain(|name, _| is_listed(name) && !is_quantile(name));
    values
}

fn connections(file: &str, case: &Table, meter: &mut Meter) {
    let Some(expected) = case.get("connections").and_then(|value| value.as_table()) else { return };
    let name = |connection: &Connection| {
        let [from, to] = connection.ends.map(|(address, port)| match port {
            0 => address.to_string(),
            port => format!("{address}:{port}"),
        });
        format!("{from}>{to}")
    };
    let evicted: Vec<Connection> = core::iter::from_fn(|| meter.take_connection()).collect();
    let found: Vec<Connection> = meter.each_connection().chain(evicted).collect();
    let mut names: Vec<String> = Vec::new();
    for name in found.iter().map(name) {
        let second = format!("{name} 2");
        names.push(if names.contains(&name) { second } else { name });
    }
    for (ends, values) in expected {
        let place = names.iter().position(|name| name == ends);
        let place = place.unwrap_or_else(|| panic!("{file}: no {ends} among {names:?}"));
        let connection = &found[place];
        let history: Vec<String> = connection
            .history
            .iter()
            .map(|at| {
                at.map_or_else(|| "-".to_owned(), |at| (at.as_nanos() / 1_000_000).to_string())
            })
            .collect();
        let known = [
            ("state", connection.state.name().to_owned()),
            ("class", format!("{:?}", connection.class)),
            ("ending", format!("{:?}", connection.ending)),
            ("history_ms", history.join(" ")),
            ("user", format!("{} ({})", connection.user.name(), connection.confidence.name())),
        ];
        for (name, found) in known {
            if let Some(expected) = values.get(name) {
                assert_eq!(expected.as_str().unwrap(), found, "{file}: {ends}: {name}");
            }
        }
        let [there, back] = [0, 1].map(|side: usize| direction(&connection.directions[side]));
        let whole = is_whole(case);
        let ways = [("there", there), ("back", back)];
        let transports = connection.directions.each_ref().map(Direction::transport);
        for (side, (way, found)) in ways.iter().enumerate() {
            let (what, expected) = (format!("{file}: {ends}, {way}"), values.get(way));
            compare(&what, expected, found, whole);
            let metrics = ratios(&transports[side], &transports[1 - side]);
            let expected = expected.and_then(|expected| expected.get("metrics"));
            compare_metrics(&what, expected, &metrics);
        }
    }
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
    let mut values = owned(registry::of_network(&total.measures));
    values.remove("tpdu_retransmissions");
    compare(file, case.get("measures"), &values, is_whole(&case));
    compare_metrics(file, case.get("metrics"), &total.metrics);
    let oddities: BTreeMap<String, u64> = total
        .oddities
        .iter()
        .map(|(class, name, times)| (format!("{}: {name}", class.name()), times))
        .collect();
    assert_eq!(oddities, numbers(&case, "oddities"), "{file}: oddities");
    hosts(file, &case, &meter);
    connections(file, &case, &mut meter);
}

#[test]
fn every_case_has_the_expected_measures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert!(files.len() >= 15, "cases are missing: {files:?}");
    files.iter().for_each(|file| check(file));
}
