mod services;

use super::*;
use crate::{Record, Subset, item};
use core::iter;
use meter::measure::Volume;
use meter::observation::DelayKind;
use meter::registry::Measure;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use wire::capture::Capture;

/// Returns the items recorded from the capture of a cell with a bad path.
fn cell(measure: Duration, spans: Spans, top: usize) -> Vec<Item> {
    recorded("cell.pcapng", measure, spans, top)
}

/// Returns the items recorded from a capture of the repository.
fn recorded(name: &str, measure: Duration, spans: Spans, top: usize) -> Vec<Item> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures")).join(name);
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let mut recorder = Recorder::new(Settings::every(measure), spans, Details { top });
    let mut items = Vec::new();
    while let Some(record) = capture.next().unwrap() {
        recorder.observe(record.at, record.link, record.octets, record.original_octets);
        items.extend(iter::from_fn(|| recorder.take()));
    }
    recorder.finish(false, None);
    items.extend(iter::from_fn(|| recorder.take()));
    items
}

fn plain(report: Duration) -> Spans {
    Spans { report, sample: None, intervals: None }
}

/// TPDUs and data octets of an interval: by the aggregate, by hosts as sent and as received, and by
/// connections.
#[derive(Default, Debug)]
struct Sums {
    aggregate: (u64, u64),
    unassigned: u64,
    sent: (u64, u64),
    received: (u64, u64),
    connections: (u64, u64),
}

fn add(to: &mut (u64, u64), volume: Volume) {
    *to = (to.0 + volume.tpdus, to.1 + volume.data_octets);
}

fn sums(items: &[Item]) -> Vec<Sums> {
    let mut sums: Vec<Sums> = Vec::new();
    for item in items {
        if let Item::Interval(interval) = item {
            let mut sum = Sums::default();
            add(&mut sum.aggregate, interval.report.measures.traffic.transport.all());
            sum.unassigned = interval.report.measures.traffic.windows.unassigned;
            sums.push(sum);
        }
        let Some(sum) = sums.last_mut() else { continue };
        match item {
            Item::HostInterval(host) => {
                add(&mut sum.sent, host.traffic[0].transport.all());
                add(&mut sum.received, host.traffic[1].transport.all());
            }
            Item::ConnectionInterval(told) => {
                told.connection
                    .directions
                    .iter()
                    .for_each(|sent| add(&mut sum.connections, sent.all()));
            }
            Item::Rest(rest) => {
                rest.directions.iter().for_each(|sent| add(&mut sum.connections, sent.all()));
            }
            _ => {}
        }
    }
    sums
}

#[test]
fn hosts_and_connections_of_an_interval_add_up_to_the_aggregate() {
    for top in [1, 2, 20] {
        for measure in [300, 1_000, 7_000] {
            let measure = Duration::from_millis(measure);
            let items = cell(measure, plain(measure), top);
            for (index, sum) in sums(&items).iter().enumerate() {
                let told = format!("top {top}, {measure:?}, interval {index}: {sum:?}");
                assert_eq!(sum.sent, sum.aggregate, "{told}");
                assert_eq!(sum.received, sum.aggregate, "{told}");
                assert_eq!(sum.unassigned, 0, "{told}");
                assert_eq!(sum.connections, sum.aggregate, "{told}");
            }
        }
    }
}

#[test]
fn reports_within_an_interval_give_accumulated_values() {
    let items = cell(Duration::from_secs(4), plain(Duration::from_millis(700)), 2);
    let sums = sums(&items);
    assert!(sums.len() > 6, "{}", sums.len());
    assert!(sums.iter().all(|sum| sum.sent == sum.aggregate && sum.connections == sum.aggregate));
}

#[test]
fn intervals_of_a_connection_add_up_to_the_connection() {
    let items = cell(Duration::from_millis(500), plain(Duration::from_millis(500)), 50);
    let mut connections = 0;
    for item in &items {
        let Item::Connection(known) = item else { continue };
        for side in [0, 1] {
            let (mut dts, mut closed) = (Volume::default(), 0);
            for item in &items {
                let Item::ConnectionInterval(told) = item else { continue };
                if told.connection.serial == known.serial {
                    dts.add(told.connection.directions[side].of(wire::tp::Kind::Dt));
                    closed += told.connection.directions[side].waits.closed_window.total_ns;
                }
            }
            assert_eq!(dts, *known.directions[side].of(wire::tp::Kind::Dt), "{}", known.serial);
            let known_ns = known.directions[side].waits.closed_window.total_ns;
            assert_eq!(closed, known_ns, "{}", known.serial);
        }
        for side in [0, 1] {
            // Each interval reports the busiest second so far, so the last report is that of the
            // whole.
            let peaks = items.iter().filter_map(|item| match item {
                Item::ConnectionInterval(told) if told.connection.serial == known.serial => {
                    Some(told.connection.directions[side].peak.pdus()).filter(|pdus| *pdus > 0)
                }
                _ => None,
            });
            let peaks: Vec<u64> = peaks.collect();
            assert!(peaks.is_sorted_by(|before, after| before < after), "{peaks:?}");
            assert_eq!(peaks.last(), Some(&known.directions[side].peak.pdus()));
        }
        connections += 1;
    }
    assert_eq!(connections, 3, "the capture has three connections");
}

#[test]
fn samples_hold_every_frame_once_and_sequence_numbers() {
    let spans = Spans { sample: Some(Duration::from_millis(100)), ..plain(Duration::from_secs(1)) };
    let items = cell(Duration::from_secs(1), spans, 20);
    let samples: Vec<&item::Sample> = items
        .iter()
        .filter_map(|item| if let Item::Sample(sample) = item { Some(sample) } else { None })
        .collect();
    // The last frame comes 5.89 s after the first; frames after the last sample are in no sample.
    assert_eq!(samples.len(), 58);
    assert!(samples.is_sorted_by(|a, b| a.end == b.start));
    let frames: u64 = samples.iter().map(|sample| sample.frames).sum();
    assert!((560..=595).contains(&frames), "{frames} of 595");
    let places: Vec<&Place> = samples.iter().flat_map(|sample| &sample.places).collect();
    let numbers: Vec<_> = places.iter().flat_map(|place| place.numbers).flatten().collect();
    assert!(numbers.iter().all(|at| at.acknowledged.is_none_or(|next| next <= at.sent)));
    assert!(numbers.iter().any(|at| at.allowed.is_some_and(|allowed| allowed > at.sent)));
}

#[test]
fn times_of_tcp_in_all_intervals_come_to_those_of_the_whole() {
    let end = |host: u8, port: u16| (host, port);
    let (near, far) = (end(1, 1_025), end(2, 102));
    let cr = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0];
    let cc = [3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0];
    let dt = [3, 0, 0, 8, 2, 0xF0, 0x80, 9];
    let frames = [
        (0, segment([near, far], 0x02, [999, 0], &[])),
        (3, segment([far, near], 0x12, [4_999, 1_000], &[])),
        (4, segment([near, far], 0x10, [1_000, 5_000], &[])),
        (5, segment([near, far], 0x18, [1_000, 5_000], &cr)),
        (9, segment([far, near], 0x18, [5_000, 1_011], &cc)),
        (15, segment([near, far], 0x18, [1_011, 5_011], &dt)),
        // Only an ACK passes in the third interval: it acknowledges the DT sent at 2 s.
        (2_015, segment([far, near], 0x10, [5_011, 1_019], &[])),
        (3_500, segment([near, far], 0x18, [1_019, 5_011], &dt)),
    ];
    let items = items_of(&frames);
    // In each interval: round trips of data that host 1 sent, as a host and as a side of the
    // connection.
    let mut told: Vec<(Option<u64>, u64, u64)> = Vec::new();
    for item in &items {
        let (index, waits) = match item {
            Item::HostInterval(host) if host.address.unwrap().to_string() == "10.0.0.1" => {
                (host.index, host.traffic[0].waits)
            }
            Item::ConnectionInterval(told) => (told.index, told.connection.directions[0].waits),
            Item::Connection(known) => (None, known.directions[0].waits),
            Item::Host(host) if host.address.unwrap().to_string() == "10.0.0.1" => {
                (None, host.sent.waits)
            }
            _ => continue,
        };
        let mut trips = waits.round_trip;
        trips.add(&waits.delayed_ack);
        told.push((index, waits.caller_handshake.count, trips.total_ns / 1_000_000));
    }
    told.sort_unstable();
    // The whole is 2,004 ms: 4 of the CR, 2,000 of the DT.
    let twice = |of| [of, of];
    let expected =
        [twice((None, 1, 2_004)), twice((Some(0), 1, 4)), twice((Some(2), 0, 2_000))].concat();
    let silent = |told: &&(Option<u64>, u64, u64)| told.0 != Some(3);
    let told: Vec<_> = told.iter().filter(silent).copied().collect();
    assert_eq!(told, expected);
}

/// Items of frames at these times in milliseconds, with intervals of a second.
fn items_of(frames: &[(u64, Vec<u8>)]) -> Vec<Item> {
    let interval = Duration::from_secs(1);
    let mut recorder =
        Recorder::new(Settings::every(interval), plain(interval), Details { top: 5 });
    for (millis, octets) in frames {
        let at = Instant::from_nanos(millis * 1_000_000);
        recorder.observe(at, Link::Ethernet, octets, octets.len());
    }
    recorder.finish(false, None);
    iter::from_fn(|| recorder.take()).collect()
}

/// Returns a TCP segment over IPv4 on Ethernet with these ends, flags, sequence and acknowledgement
/// numbers, and data.
fn segment(ends: [(u8, u16); 2], flags: u8, numbers: [u32; 2], data: &[u8]) -> Vec<u8> {
    let [from, to] = ends;
    let octets = 40 + data.len() as u16;
    let mut frame = vec![2, 0, 0, 0, 0, to.0, 2, 0, 0, 0, 0, from.0, 8, 0, 0x45, 0];
    frame.extend(octets.to_be_bytes());
    frame.extend([numbers[0] as u8, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, from.0, 10, 0, 0, to.0]);
    frame.extend([from.1, to.1].iter().flat_map(|port| port.to_be_bytes()));
    frame.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    frame.extend([0x50, flags, 0x20, 0, 0, 0, 0, 0]);
    frame.extend(data);
    frame
}

#[test]
fn delays_of_all_hosts_add_up_to_those_of_the_network() {
    let items = cell(Duration::from_secs(2), plain(Duration::from_secs(2)), 5);
    let mut hosts = [meter::measure::Waits::default(); 2];
    let mut connections = meter::measure::Waits::default();
    let mut network = None;
    for item in &items {
        match item {
            Item::Host(host) => {
                hosts[0].add(&host.sent.waits);
                hosts[1].add(&host.received.waits);
            }
            Item::Connection(known) => {
                known.directions.iter().for_each(|sent| connections.add(&sent.waits));
            }
            Item::Total(total) => network = Some(&total.measures.delays),
            _ => {}
        }
    }
    let network = network.unwrap();
    assert_eq!(hosts, [connections; 2]);
    let pairs = [
        (hosts[0].acknowledgement, &network.acknowledgement),
        (hosts[0].response, &network.response),
        (hosts[0].set_up, &network.set_up),
        (hosts[0].closed_window, &network.closed_window),
    ];
    for (times, all) in pairs {
        assert_eq!((times.count, times.total_ns), (all.count, all.total_ns));
        // The maximum is rounded up to the next microsecond.
        assert!((all.max_ns..all.max_ns + 1_000).contains(&times.max_ns), "{times:?} {all:?}");
    }
    assert!(hosts[0].acknowledgement.count > 200, "the capture has 288");
}

/// Returns a class 4 TPDU over LLC in an Ethernet frame.
fn tpdu(from: u8, to: u8, octets: &[u8]) -> Vec<u8> {
    let length = octets.len() as u8 + 4;
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0, length, 0xFE, 0xFE, 3, 0];
    frame.extend(octets);
    frame
}

#[test]
fn a_window_closed_to_the_end_is_equal_in_every_record() {
    let interval = Duration::from_secs(10);
    let spans = plain(Duration::from_secs(1));
    let details = Details { top: 5 };
    let mut recorder = Recorder::new(Settings::every(interval), spans, details);
    let frames = [
        (0, tpdu(1, 2, &[6, 0xE1, 0, 0, 0, 1, 0x40])),
        (10, tpdu(2, 1, &[6, 0xD1, 0, 1, 0, 2, 0x40])),
        (20, tpdu(1, 2, &[4, 0xF0, 0, 2, 0x80, 0xAA])),
        // Credit 0.
        (1_000, tpdu(2, 1, &[4, 0x60, 0, 1, 1])),
        // The last frame belongs to another connection.
        (3_500, tpdu(3, 2, &[6, 0xE1, 0, 0, 0, 9, 0x40])),
    ];
    for (millis, octets) in &frames {
        let at = Instant::from_nanos(millis * 1_000_000);
        recorder.observe(at, Link::Ethernet, octets, octets.len());
    }
    recorder.finish(false, None);
    let items: Vec<Item> = core::iter::from_fn(|| recorder.take()).collect();
    let expected = (3_500 - 1_000) * 1_000_000;
    let mut told = [0; 3];
    for item in &items {
        match item {
            Item::Connection(known) if known.serial == 1 => {
                assert_eq!(known.directions[0].waits.closed_window.total_ns, expected);
                assert_eq!(known.until, Instant::from_nanos(3_500_000_000));
                told[0] += 1;
            }
            Item::Total(total) => {
                let closed = &total.measures.delays.closed_window;
                assert_eq!((closed.count, closed.max_ns), (1, 2_500_000_000));
                told[1] += 1;
            }
            _ => {}
        }
    }
    let last = items.iter().rev().find_map(|item| match item {
        Item::ConnectionInterval(told) if told.connection.serial == 1 => {
            Some(&told.connection.directions)
        }
        _ => None,
    });
    assert_eq!(last.unwrap()[0].waits.closed_window.total_ns, expected);
    told[2] += 1;
    assert_eq!(told, [1; 3]);
}

/// Returns the intervals of a recorder that received frames of no protocol at these times, in
/// milliseconds.
fn given(times: &[u64], measure: u64, spans: Spans) -> Vec<(Option<u64>, u64, bool, u64)> {
    let settings = Settings::every(Duration::from_millis(measure));
    let mut recorder = Recorder::new(settings, spans, Details { top: 5 });
    let mut told = Vec::new();
    let mut take = |recorder: &mut Recorder| {
        while let Some(item) = recorder.take() {
            if let Item::Interval(interval) = item {
                let item::Interval { report, is_over, frames, .. } = *interval;
                told.push((report.index, report.intervals, is_over, frames));
            }
        }
    };
    for at in times {
        let at = Instant::from_nanos(at * 1_000_000);
        recorder.observe(at, Link::Ethernet, &[0; 60], 60);
        take(&mut recorder);
    }
    recorder.finish(false, None);
    take(&mut recorder);
    told
}

#[test]
fn a_silence_of_a_year_is_passed_over() {
    let spans = Spans { sample: Some(Duration::from_millis(1)), ..plain(Duration::from_millis(5)) };
    let year = 365 * 86_400 * 1_000;
    let told = given(&[0, 3, year, year + 3, year + 12], 10, spans);
    // One report within the first interval; reports within a long silence are skipped.
    let over: Vec<_> = told.iter().filter(|(_, _, is_over, _)| *is_over).collect();
    assert_eq!(over.first(), Some(&&(Some(0), 1, true, 2)));
    let last = over.last().unwrap();
    assert_eq!((last.0, last.1, last.3), (Some(year / 10 + 1), 1, 1));
    let intervals: u64 = over.iter().map(|(_, intervals, ..)| intervals).sum();
    assert_eq!(intervals, year / 10 + 2, "every interval is recorded, if not individually");
    assert!(told.len() < 1_000, "{}", told.len());
}

#[test]
fn recording_ends_after_the_requested_number_of_intervals() {
    let spans = Spans { intervals: Some(2), ..plain(Duration::from_millis(10)) };
    let told = given(&[0, 5, 15, 25, 35], 10, spans);
    assert_eq!(told, [(Some(0), 1, true, 2), (Some(1), 1, true, 1)]);
}

#[test]
fn a_line_has_the_octets_that_serde_writes() {
    let second = Duration::from_secs(1);
    let only: crate::Subset = "dt_*,response_*,tpdus_to_64_octets".parse().unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    for name in ["cell.pcapng", "mms.pcapng"] {
        for (top, only) in
            [(20, &crate::Subset::default()), (1, &crate::Subset::default()), (2, &only)]
        {
            for item in recorded(name, second, plain(second / 4), top) {
                let record = crate::Record::of(&item, only);
                let mut line = Vec::new();
                record.write_line(&mut line).unwrap();
                let expected = format!("{}\n", serde_json::to_string(&record).unwrap());
                assert_eq!(String::from_utf8(line).unwrap(), expected);
                kinds.insert(expected.split('"').nth(3).unwrap().to_owned());
            }
        }
    }
    for kind in [
        "interval",
        "host-interval",
        "connection-interval",
        "connections-rest",
        "host",
        "connection",
        "services",
        "services-interval",
    ] {
        assert!(kinds.contains(kind), "{kind} is in no capture");
    }
}

#[test]
fn the_worst_few_are_the_first_of_all() {
    let all_of = |name: &str, top| -> Vec<(Vec<TransactionReport>, Vec<StreamRecord>)> {
        let measure = Duration::from_secs(1);
        let items = recorded(name, measure, plain(measure), top);
        let each = items.iter().filter_map(|item| match item {
            Item::TransactionsInterval(of) => {
                let both = [of.slowest.clone(), of.in_interval.clone()];
                assert!(both.iter().all(|reports| reports.len() <= top));
                Some((both.concat(), Vec::new()))
            }
            Item::CyclicStreams(of) => {
                let record = of.record();
                assert!(record.worst.len() <= top);
                Some((Vec::new(), record.worst))
            }
            _ => None,
        });
        each.collect()
    };
    for name in ["gateway.pcap", "cycles.pcap"] {
        let [few, all] = [1, 1_000].map(|top| all_of(name, top));
        assert!(!few.is_empty() && few.len() == all.len());
        for ((functions, streams), (all_functions, all_streams)) in few.iter().zip(&all) {
            assert!(functions.len() + streams.len() < all_functions.len() + all_streams.len());
            assert_eq!(functions.first(), all_functions.first(), "{name}");
            assert_eq!(streams.first(), all_streams.first(), "{name}");
        }
    }
}

#[test]
fn an_interval_in_brief_has_the_values_of_its_whole_record() {
    let wanted = [Measure::Lpdus, Measure::TpduDataOctets, Measure::DtRetransmissions];
    let delay = DelayKind::Acknowledgement.count();
    let mut compared = 0;
    for item in cell(Duration::from_secs(1), plain(Duration::from_millis(500)), 0) {
        let Item::Interval(interval) = &item else { continue };
        for (only, kept) in [("dt_*,U_C", 1), ("*", 3)] {
            let only: Subset = only.parse().unwrap();
            let Record::Interval(whole) = Record::of(&item, &only) else { unreachable!() };
            let brief = crate::Interval::brief(interval, &only, &[&wanted[..], &[delay]].concat());
            assert_eq!(brief.measures.0.len(), kept, "a delay is no count");
            for (measure, value) in &brief.measures.0 {
                assert_eq!(whole.measures.get(*measure), Some(*value), "{measure}");
            }
            let (measures, oddities) = (brief.measures.clone(), brief.oddities.clone());
            let (dropped_by_kernel, collection) = (None, None);
            let stamps = brief.stamps;
            let rest = crate::Interval {
                measures,
                oddities,
                dropped_by_kernel,
                collection,
                stamps,
                ..whole
            };
            assert_eq!(brief, rest);
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn a_connection_in_brief_has_what_is_wanted_or_judged_of_it() {
    let wanted = |measure| matches!(measure, Measure::Delay(DelayKind::Acknowledgement, _));
    let is_told = |measure: &Measure| wanted(*measure) || crate::findings::is_judged(*measure);
    let mut compared = 0;
    let brief = crate::BriefConnections::new(wanted);
    for item in cell(Duration::from_secs(1), plain(Duration::from_secs(1)), 0) {
        let Item::Connection(known) = &item else { continue };
        for only in ["dt_*,tpdus", "*"] {
            let only: Subset = only.parse().unwrap();
            let Record::Connection(whole) = Record::of(&item, &only) else { unreachable!() };
            let brief = brief.record(known, &only);
            assert_eq!(brief.connection, whole.connection);
            for (brief, mut whole) in brief.directions.into_iter().zip(whole.directions) {
                let all = whole.0.len();
                whole.0.retain(|(measure, _)| is_told(measure));
                assert_eq!(brief, whole);
                compared += usize::from(whole.0.len() > 5 && whole.0.len() < all);
            }
        }
    }
    assert!(compared >= 4, "{compared}");
}
