//! Copies of a capture as the benchmark of foreign traffic makes them.

#[path = "../../benches/foreign/copies.rs"]
mod generator;

use core::time::Duration;
use generator::{Addresses, Source};
use meter::{Meter, Report, Settings};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Cursor;
use wire::capture::Capture;
use wire::dissect::Link;
use wire::mac;
use wire::pcap::Writer;
use wire::time::Instant;

const CELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng");
const COPIES: usize = 3;

fn cell() -> Source {
    Source::read(&mut Capture::open(File::open(CELL).unwrap()).unwrap()).unwrap()
}

fn copies(of: &Source, count: usize, addresses: Addresses) -> Capture {
    let mut octets = Vec::new();
    of.repeat(count as u64, addresses, &mut octets).unwrap();
    Capture::open(Cursor::new(octets)).unwrap()
}

fn times(mut capture: Capture) -> Vec<u64> {
    let mut times = Vec::new();
    while let Some(record) = capture.next().unwrap() {
        times.push(record.at.as_nanos());
    }
    times
}

fn metered(mut capture: Capture) -> Report {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    while let Some(record) = capture.next().unwrap() {
        meter.observe(record.at, record.link, record.octets, record.original_octets);
        while meter.take_interval().is_some() {}
    }
    meter.finish()
}

/// Returns a source of one frame of 60 zeros at each of these times.
fn at(times: &[u64]) -> Source {
    let mut writer = Writer::new(Vec::new(), Link::Ethernet).unwrap();
    for at in times {
        writer.write(Instant::from_nanos(*at), &[0; 60], 90).unwrap();
    }
    Source::read(&mut Capture::open(Cursor::new(writer.into_inner())).unwrap()).unwrap()
}

#[test]
fn copies_follow_each_other_by_the_mean_gap() {
    // From 100 to 160 with three gaps of 20 on average: the second copy begins at 180.
    let copied = times(copies(&at(&[100, 110, 130, 160]), 2, Addresses::Same));
    assert_eq!(copied, [100, 110, 130, 160, 180, 190, 210, 240]);
}

#[test]
fn times_never_go_backwards_where_those_of_the_source_do() {
    // 110 and 90 are late: they take the time before them. The greatest time is 200, and there are
    // four gaps of 25 on average.
    let copied = times(copies(&at(&[100, 200, 110, 90, 200]), 2, Addresses::Same));
    assert_eq!(copied, [100, 200, 200, 200, 200, 225, 325, 325, 325, 325]);
}

#[test]
fn link_type_and_original_lengths_stay() {
    let mut capture = copies(&at(&[1, 2]), 2, Addresses::New);
    let mut frames = 0;
    while let Some(record) = capture.next().unwrap() {
        frames += 1;
        assert_eq!((record.link, record.octets.len()), (Link::Ethernet, 60));
        assert_eq!(record.original_octets, 90);
    }
    assert_eq!(frames, 4);
}

#[test]
fn each_copy_has_stations_of_its_own() {
    let source = cell();
    let mut capture = copies(&source, COPIES, Addresses::New);
    let mut stations = vec![BTreeSet::new(); COPIES];
    let mut frames = 0;
    while let Some(record) = capture.next().unwrap() {
        let frame = mac::Pdu::decode(record.octets).unwrap();
        stations[frames / source.len()].extend([frame.source, frame.destination]);
        frames += 1;
    }
    assert_eq!(frames, COPIES * source.len());
    // Supervisor, robot and conveyor; no frame of the cell goes to a group.
    assert!(stations.iter().all(|stations| stations.len() == 3), "{stations:?}");
    assert_eq!(stations.iter().flatten().collect::<BTreeSet<_>>().len(), 3 * COPIES);
}

#[test]
fn n_copies_have_n_times_the_connections_and_tpdus() {
    let source = cell();
    let one = metered(copies(&source, 1, Addresses::Same));
    let all = metered(copies(&source, COPIES, Addresses::New));
    let times = COPIES as u64;
    let [one, all] = [&one, &all].map(|report| report.measures.traffic.clone());
    assert!(one.connections.established > 0);
    assert_eq!(all.connections.established, times * one.connections.established);
    let [one, all] = [one.transport.all(), all.transport.all()];
    assert_eq!(all.tpdus, times * one.tpdus);
    assert_eq!(all.retransmissions, times * one.retransmissions);
}
