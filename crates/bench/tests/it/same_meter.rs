//! One meter, three sources: a simulated wire, its capture, and a live wire over which the same
//! frames are replayed; and a live LAN within this process.

use crate::veth::Wire;
use crate::{QUIET, study};
use bench::run::{Watch, run_watched, tap};
use bench::sample::Sample;
use bench::scenario::Study;
use bench::session::local;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use meter::registry::{Measure, Unit, of_network};
use meter::{Meter, Report, Settings};
use std::io::Cursor;
use wire::capture::Capture;
use wire::dissect::Link;
use wire::pcapng::Writer;

fn meter() -> Meter {
    Meter::new(Settings::every(Duration::from_millis(100)))
}

/// Formats the complete contents of a report.
fn told(report: &Report) -> String {
    let metrics: Vec<_> = report.metrics.iter().map(|m| (m.definition.symbol, m.value)).collect();
    let (from, length) = (report.start, report.length);
    format!("{:?} {from} {length:?} {:?} {metrics:?}", report.index, of_network(&report.measures))
}

/// Settings with retransmissions, duplicates and frames out of order.
const BAD: [(&str, &str); 5] = [
    ("flow.status.messages", "50"),
    ("flow.status.service", "class-4"),
    ("faults.loss", "5 %"),
    ("faults.duplicate", "3 %"),
    ("faults.reorder", "3 %"),
];

#[test]
fn metering_a_simulated_wire_equals_metering_its_capture() {
    reads_the_same(&study(QUIET, &BAD));
}

#[test]
fn reassembly_on_a_wire_equals_reassembly_in_its_capture() {
    // Each report is a DT of some 5,000 octets in four segments. If a segment is lost, the DT is
    // never reassembled, so DTs counted twice are those whose AK was lost: T1 is short to have
    // some.
    let short = [("transport.t1", "25 ms")];
    reads_the_same(&study(QUIET, &[&BAD[..], &SEGMENTED, &short].concat()));
}

/// Settings with TPDUs longer than a frame.
const SEGMENTED: [(&str, &str); 3] =
    [("network.protocol", "clnp"), ("transport.tpdu", "8192 B"), ("flow.status.size", "5000 B")];

#[track_caller]
fn reads_the_same(study: &Study) {
    let mut direct = meter();
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface(Link::Ethernet, "simulated").unwrap();
    let (mut tap, mut frames) = (tap(&study.scenario().medium), 0);
    let mut watch = Watch {
        tap: Some(&mut |passage| {
            if let Some(seen) = tap.capture(passage) {
                frames += 1;
                direct.observe(seen.at, Link::Ethernet, seen.octets, seen.octets.len());
                writer.write(interface, seen.at, seen.octets, seen.octets.len(), "").unwrap();
            }
        }),
        is_interrupted: &|| false,
        messages: None,
        trace: None,
    };
    let sample = run_watched(&study.points[0], "hash", 0, &mut watch).unwrap();
    let mut capture = Capture::open(Cursor::new(writer.into_inner())).unwrap();
    let mut from_file = meter();
    while let Some(record) = capture.next().unwrap() {
        from_file.observe(record.at, record.link, record.octets, record.original_octets);
    }
    let (direct_total, file_total) = (direct.finish(), from_file.finish());
    assert_eq!(told(&direct_total), told(&file_total));
    loop {
        let (one, other) = (direct.take_interval(), from_file.take_interval());
        assert_eq!(one.as_deref().map(told), other.as_deref().map(told));
        if one.is_none() {
            break;
        }
    }
    // Fifty reports in a second, each one TSDU; the faults must have occurred for the test to mean
    // anything.
    let values = of_network(&direct_total.measures);
    let value = |name| values.iter().find(|(found, _)| *found == name).map(|(_, value)| *value);
    assert_eq!(value(Measure::Tsdus), Some(sample.flows[0].delivered));
    assert!(frames > 100 && value(Measure::DtRetransmissions) > Some(0));
}

/// Returns true for a time, and for a count per second, which depends on the clock of the wire.
fn is_of_time(measure: Measure) -> bool {
    measure.unit() == Unit::Nanoseconds || measure.is_peak()
}

#[test]
fn a_run_its_capture_and_its_live_replay_are_metered_alike() {
    let Some(mut wire) = Wire::make() else { return };
    let study = study(QUIET, &BAD);
    let hour = || Meter::new(Settings::every(Duration::from_secs(3_600)));
    let (mut direct, mut from_file, mut live) = (hour(), hour(), hour());
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface(Link::Ethernet, "simulated").unwrap();
    let mut tap = tap(&study.scenario().medium);
    let mut watch = Watch {
        tap: Some(&mut |passage| {
            if let Some(seen) = tap.capture(passage) {
                direct.observe(seen.at, Link::Ethernet, seen.octets, seen.octets.len());
                writer.write(interface, seen.at, seen.octets, seen.octets.len(), "").unwrap();
            }
        }),
        is_interrupted: &|| false,
        messages: None,
        trace: None,
    };
    run_watched(&study.points[0], "hash", 0, &mut watch).unwrap();
    let mut capture = Capture::open(Cursor::new(writer.into_inner())).unwrap();
    let mut frames = 0;
    while let Some(record) = capture.next().unwrap() {
        from_file.observe(record.at, record.link, record.octets, record.original_octets);
        let heard = wire.pass(record.octets);
        live.observe(heard.at, Link::Ethernet, &heard.octets, heard.original_octets);
        frames += 1;
    }
    let [direct, from_file, live] = [direct, from_file, live].map(|mut meter| meter.finish());
    assert_eq!(told(&direct), told(&from_file));
    let counts = |report: &Report| {
        let mut values = of_network(&report.measures);
        values.retain(|(measure, _)| !is_of_time(*measure));
        values
    };
    assert_eq!(counts(&direct), counts(&live));
    assert!(live.oddities.is_empty() == direct.oddities.is_empty());
    let dts = &live.measures.traffic.transport.data_and_acknowledgements()[0];
    assert!(dts.retransmissions > 0 && live.measures.delays.acknowledgement.count > 0);
    println!("seen: {} values of {frames} frames, read three times", counts(&live).len());
}

/// Messages of the first second, and another second for a slow host to send the last of them.
const FIFTY: [(&str, &str); 3] =
    [("flow.status.service", "class-4"), ("flow.status.messages", "50"), ("stop.after", "2 s")];

#[test]
fn a_local_live_lan_delivers_the_same_as_the_simulated_lan() {
    let (predicted, _) = live_as_simulated(&study(QUIET, &FIFTY));
    assert_eq!(predicted.flows[0].sent, 50);
}

#[test]
fn a_local_live_lan_carries_segments_like_the_simulated_lan() {
    let (predicted, measured) =
        live_as_simulated(&study(QUIET, &[&FIFTY[..], &SEGMENTED].concat()));
    // Four segments for each of fifty reports; retransmissions on a slow host add more.
    assert_eq!(predicted.counts["network.segments"], 200);
    assert!(measured.counts["network.segments"] >= 200);
    assert_eq!(measured.counts["network.discarded"], 0);
}

#[track_caller]
fn live_as_simulated(study: &Study) -> (Sample, Sample) {
    let point = &study.points[0];
    let predicted = bench::run::run(point, "hash", 0).unwrap();
    let measured = local::measure(point, "hash", 0, &AtomicBool::new(false)).unwrap();
    let fates = |sample: &Sample| {
        let flow = &sample.flows[0];
        (flow.sent, flow.delivered, flow.lost, flow.duplicated, flow.out_of_order, flow.damaged)
    };
    assert_eq!(fates(&predicted), fates(&measured));
    (predicted, measured)
}
