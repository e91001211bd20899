//! I/O data of EtherNet/IP: against tshark's fields, on a capture with known losses, and by frames made
//! here.
//!
//! The definition, applied to tshark's fields: a stream is a sender, a receiver and a connection. The
//! encapsulation sequence numbers from the first to the last that did not arrive are missing. A frame
//! with the sequence count of the frame before repeats old data.

use crate::capture::shared;
use crate::cyclic::{nanos, streams};
use core::time::Duration;
use meter::{Meter, Protocol, Settings, StreamReport};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use wire::cip_io::Pdu;
use wire::dissect::Link;
use wire::time::Instant;

const FIELDS: [&str; 6] =
    ["frame.time_epoch", "ip.src", "ip.dst", "enip.cpf.sai.connid", "enip.cpf.sai.seq", "cip.seq"];

/// Time, sequence number and count of each frame of the streams; none without tshark.
fn by_tshark(path: &Path) -> Option<BTreeMap<String, Vec<[u64; 3]>>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-Y", "enip.cpf.sai.connid", "-T", "fields"]);
    tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = tshark.arg("-r").arg(path).stderr(Stdio::null()).output().ok()?;
    let mut streams = BTreeMap::<String, Vec<[u64; 3]>>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let [at, source, destination, connection, sequence, count] = fields[..] else {
            panic!("{line}");
        };
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
            // tshark leaves out what it takes for malformed.
            None => text.parse().unwrap_or(0),
        };
        let key = format!("{source} {destination} {:08x}", number(connection));
        let of = [nanos(at), number(sequence), number(count)];
        streams.entry(key).or_default().push(of);
    }
    Some(streams)
}

fn of_cip_io(path: &Path) -> Vec<StreamReport> {
    let mut all = streams(path);
    all.retain(|report| report.key.protocol == Protocol::CipIo);
    all
}

#[test]
fn frames_and_old_data_are_those_of_tshark() {
    let Some(folder) = shared("captures", "cyclic/enip") else { return };
    for (name, expected) in
        [("own-class1.pcapng", 2), ("cip_io.pcap", 2), ("baseline_io_adapter.pcap", 0)]
    {
        let path = folder.join(name);
        let Some(mut theirs) = by_tshark(&path) else {
            println!("skipped: no tshark to compare I/O data of EtherNet/IP with");
            return;
        };
        if expected == 0 {
            // The encapsulation of TCP in datagrams: no connection.
            theirs.clear();
        }
        let ours = of_cip_io(&path);
        assert_eq!((ours.len(), theirs.len()), (expected, expected), "{name}");
        for report in &ours {
            let meter::StreamKey { source, destination, identifier, .. } = &report.key;
            let frames = &theirs[&format!("{source} {destination} {identifier:08x}")];
            let ahead = |pair: &[[u64; 3]]| (pair[1][1] as u32).wrapping_sub(pair[0][1] as u32);
            let missing = frames.windows(2).map(|pair| u64::from(ahead(pair)) - 1).sum::<u64>();
            let gaps = frames.windows(2).map(|pair| pair[1][0] - pair[0][0]);
            assert_eq!(report.frames, frames.len() as u64, "{name}");
            assert_eq!(report.order.missing, missing, "{name}");
            assert_eq!(report.gaps.total_ns, gaps.clone().sum::<u64>(), "{name}");
            assert_eq!(report.gaps.max_ns, gaps.max().unwrap_or(0), "{name}");
            if name == "own-class1.pcapng" {
                let old = frames.windows(2).filter(|pair| pair[0][2] == pair[1][2]).count();
                assert_eq!(report.extra.stalled, old as u64, "{name}");
            }
        }
    }
}

#[test]
fn losses_and_stalls_of_a_made_connection_are_found() {
    let Some(path) = shared("captures", "cyclic/enip/own-class1.pcapng") else { return };
    let all = of_cip_io(&path);
    let of = |identifier| all.iter().find(|it| it.key.identifier == identifier).unwrap();
    let output = of(0x00AB_0001);
    // 100 to 107 and 350 are missing: a gap of 90 ms, of 160 that the Forward_Open allows.
    assert_eq!((output.frames, output.order.missing, output.silences), (591, 9, 0));
    assert_eq!((output.allowed_ns, output.worst.allowed_ns), (160_000_000, 160_000_000));
    assert_eq!(output.gaps.max_ns / 1_000_000, 89, "89.997 ms");
    // Twenty frames from 450 on say that the originator is idle.
    assert_eq!((output.invalid, output.order.state_changes), (20, 2));
    let input = of(0x0002_0001);
    assert_eq!((input.frames, input.order.missing, input.invalid), (600, 0, 0));
    assert_eq!((input.extra.stalled, output.extra.stalled), (30, 0));
    assert_eq!(input.deviations.unwrap().late.max_ns / 100_000, 69, "6.999 ms of 7");
}

/// Datagram of UDP between two stations of 10.0.0.0/24.
fn datagram(ends: [u8; 2], port: u16, payload: &[u8]) -> Vec<u8> {
    let ports = [port.to_be_bytes(), port.to_be_bytes()].concat();
    let length = (payload.len() as u16 + 8).to_be_bytes();
    let udp = [&ports[..], &length, &[0, 0], payload].concat();
    let [high, low] = (udp.len() as u16 + 20).to_be_bytes();
    let head = [0x45, 0, high, low, 0, 0, 0x40, 0, 64, 17, 0, 0];
    let addresses = [10, 0, 0, ends[0], 10, 0, 0, ends[1]];
    [&[2; 12][..], &[8, 0], &head, &addresses, &udp].concat()
}

/// Message of a TCP connection to port 44818, whole in a segment.
fn explicit(from: u8, sequence: u32, cip: &[u8]) -> Vec<u8> {
    let items =
        [&[0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0xB2, 0, cip.len() as u8, 0][..], cip].concat();
    let mut octets = vec![0x6F, 0, items.len() as u8, 0, 7, 0, 0, 0, 0, 0, 0, 0];
    octets.extend([1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0]);
    octets.extend(items);
    let (client, server) = (50_000_u16.to_be_bytes(), 44_818_u16.to_be_bytes());
    let ports = if from == 1 { [client, server] } else { [server, client] }.concat();
    let numbers = [sequence.to_be_bytes(), [0; 4]].concat();
    let tcp = [&ports[..], &numbers, &[0x50, 0x18, 0x20, 0, 0, 0, 0, 0], &octets].concat();
    let [high, low] = (tcp.len() as u16 + 20).to_be_bytes();
    let head = [0x45, 0, high, low, 0, 0, 0x40, 0, 64, 6, 0, 0];
    let addresses = [10, 0, 0, from, 10, 0, 0, 3 - from];
    [&[2; 12][..], &[8, 0], &head, &addresses, &tcp].concat()
}

/// Set-up of a connection of 10 ms, with this multiplier, by a request of station 1 and a reply of 2.
fn set_up(multiplier: u8, has_request: bool) -> Vec<Vec<u8>> {
    let request = [
        0x54, 2, 0x20, 6, 0x24, 1, 10, 14, 0, 0, 0, 0, 1, 0, 2, 0, 0x55, 0, 0x37, 0x13, 0xFE, 0xCA,
        0, 0, multiplier, 0, 0, 0, 0x10, 0x27, 0, 0, 0x16, 0x48, 0x10, 0x27, 0, 0, 0x12, 0x48, 1,
        4,
    ];
    let reply = [
        0xD4, 0, 0, 0, 1, 0, 0xAB, 0, 1, 0, 2, 0, 0x55, 0, 0x37, 0x13, 0xFE, 0xCA, 0, 0, 0x10,
        0x27, 0, 0, 0x10, 0x27, 0, 0, 0, 0,
    ];
    let request = has_request.then(|| explicit(1, 1_000, &request));
    request.into_iter().chain([explicit(2, 9_000, &reply)]).collect()
}

/// Output data of station 1 each 10 ms behind a set-up.
fn metered(before: &[Vec<u8>], frames: u32) -> (StreamReport, Meter) {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    for (n, octets) in before.iter().enumerate() {
        meter.observe(Instant::from_nanos(n as u64), Link::Ethernet, octets, octets.len());
    }
    for n in 0..frames {
        let count = (n as u16).to_le_bytes();
        let data = [count[0], count[1], 1, 0, 0, 0, 9, 9];
        let pdu = Pdu { connection: 0x00AB_0001, sequence: Some(n), data: &data };
        let octets = datagram([1, 2], 2_222, &pdu.encode());
        let at = Instant::from_nanos(1_000_000 + u64::from(n) * 10_000_000);
        meter.observe(at, Link::Ethernet, &octets, octets.len());
    }
    let [report] = &meter.each_stream()[..] else { panic!("one stream") };
    (report.clone(), meter)
}

#[test]
fn a_forward_open_sets_the_watchdog_within_limits() {
    let allowed = |before: &[Vec<u8>]| metered(before, 20).0.allowed_ns;
    assert_eq!(allowed(&set_up(0, true)), 40_000_000);
    assert_eq!(allowed(&set_up(7, true)), 5_120_000_000);
    // Forged: a reply without a request, and a multiplier that is not defined.
    assert_eq!(allowed(&set_up(0, false)), 0);
    assert_eq!(allowed(&set_up(200, true)), 0);
    let (report, mut meter) = metered(&set_up(200, true), 100);
    // Three learnt periods stand for it.
    assert_eq!(report.allowed_ns, 30_000_000);
    let oddities = meter.finish().oddities;
    let name = "Forward_Open with a watchdog beyond limits";
    assert!(oddities.iter().any(|(_, known, times)| known == name && times == 1));
}

#[test]
fn a_connection_that_was_closed_is_not_silent() {
    let late = Instant::from_nanos(60_000_000_000);
    let (report, mut meter) = metered(&set_up(0, true), 20);
    assert!(report.is_silent(late));
    let serial = [0x55, 0, 0x37, 0x13, 0xFE, 0xCA, 0, 0];
    let reply = [&[0xCE, 0, 0, 0][..], &serial, &[0, 0]].concat();
    let octets = explicit(2, 9_070, &reply);
    meter.observe(Instant::from_nanos(1_000_000_000), Link::Ethernet, &octets, octets.len());
    meter.finish();
    let [report] = &meter.each_stream()[..] else { panic!("one stream") };
    assert!(!report.is_silent(late), "{report:?}");
}
