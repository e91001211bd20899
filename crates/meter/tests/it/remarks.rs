//! The remarks of all frames add up to the measures of the meter.

use crate::every_capture::captures;
use core::time::Duration;
use meter::measure::Measures;
use meter::observation::{Observation, Placed};
use meter::oddity::{Class, Oddities};
use meter::{Meter, Remarks, Settings};
use std::fs::File;
use std::path::{Path, PathBuf};
use wire::capture::Capture;
use wire::dissect::Link;
use wire::time::Instant;
use wire::tp::Kind;

/// Meters a capture with and without remarks, and compares the sum; returns the number of
/// observations.
fn check(path: &Path) -> usize {
    let settings = Settings::every(Duration::from_secs(7));
    let (mut silent, mut meter) = (Meter::new(settings.clone()), Meter::new(settings));
    let (mut sum, mut oddities) = (Measures::default(), Oddities::default());
    let (mut remarks, mut observations) = (Remarks::default(), 0);
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    while let Ok(Some(record)) = capture.next() {
        let (at, octets, original) = (record.at, record.octets, record.original_octets);
        silent.observe(at, record.link, octets, original);
        meter.observe_remarking(at, record.link, octets, original, &mut remarks);
        remarks.observations.iter().for_each(|observation| sum.observe(observation));
        check_places(&remarks.observations, &path.display());
        oddities.merge(&remarks.oddities);
        observations += remarks.observations.len();
    }
    // Segments released at the end of a capture belong to no frame: they are in no remark.
    let mut measured = Measures::default();
    let mut met = Oddities::default();
    let mut under_way = meter.under_way();
    for report in
        core::iter::from_fn(|| meter.take_interval().or_else(|| under_way.take().map(Box::new)))
    {
        measured.add(&report.measures);
        met.merge(&report.oddities);
    }
    let name = path.display();
    assert_eq!(sum.traffic.transport, measured.traffic.transport, "{name}");
    assert_eq!(sum.traffic.tsdus, measured.traffic.tsdus, "{name}");
    assert_eq!(sum.traffic.connections, measured.traffic.connections, "{name}");
    assert_eq!(sum.traffic.roles, measured.traffic.roles, "{name}");
    assert_eq!(sum.traffic.windows, measured.traffic.windows, "{name}");
    assert_eq!(oddities, met, "{name}");
    // Handshakes count once a stream is known to carry TPKTs, together with its earlier segments.
    assert_eq!(sum.delays, measured.delays, "{name}");
    let (total, alone) = (meter.finish(), silent.finish());
    assert_eq!((total.measures, total.oddities), (alone.measures, alone.oddities), "{name}");
    observations
}

/// Behind each TPDU of a known connection stands its place, and behind no other.
fn check_places(observations: &[Observation], name: &impl std::fmt::Display) {
    for (nth, observation) in observations.iter().enumerate() {
        let before = nth.checked_sub(1).and_then(|nth| observations.get(nth));
        match (observation, observations.get(nth + 1)) {
            (Observation::Tpdu(tpdu), next) => {
                let is_placed = matches!(next, Some(Observation::Placed(_)));
                assert_eq!(is_placed, !tpdu.unassigned, "{name}: {tpdu:?}");
            }
            (Observation::Placed(_), _) => {
                assert!(matches!(before, Some(Observation::Tpdu(_))), "{name}: {before:?}");
            }
            _ => {}
        }
    }
}

/// Places of the TPDUs of a capture, with their kinds.
fn places(path: &Path) -> Vec<(Kind, Placed)> {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(7)));
    let (mut remarks, mut places, mut kind) = (Remarks::default(), Vec::new(), None);
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    while let Ok(Some(record)) = capture.next() {
        let (octets, original) = (record.octets, record.original_octets);
        meter.observe_remarking(record.at, record.link, octets, original, &mut remarks);
        for observation in &remarks.observations {
            match observation {
                Observation::Tpdu(tpdu) => kind = Some(tpdu.kind),
                Observation::Placed(placed) => places.push((kind.unwrap(), *placed)),
                _ => {}
            }
        }
    }
    places
}

#[test]
fn places_of_tpdus_have_their_connection_side_number_and_credit() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng");
    let places = places(Path::new(path));
    let of = |number| places.iter().filter(move |(_, it)| it.connection == number);
    let place = |side, number: Option<u32>, credit| Placed {
        connection: 1,
        side,
        number,
        // The CR asks for the extended formats (0x42).
        modulus: if number.is_some() { 1 << 31 } else { 1 },
        credit,
    };
    // Frames 1, 4, 6, 7, 11 and 14 as tshark 4.0.17 decodes them.
    let first: Vec<(Kind, Placed)> = of(1).take(6).copied().collect();
    let expected = [
        (Kind::Cr, place(0, None, Some(15))),
        (Kind::Cc, place(1, None, Some(15))),
        (Kind::Ak, place(0, Some(0), Some(15))),
        (Kind::Dt, place(0, Some(0), None)),
        (Kind::Ak, place(1, Some(1), Some(15))),
        (Kind::Dt, place(0, Some(1), None)),
    ];
    assert_eq!(first, expected);
    // tshark has 149 DTs from 02:00:00:00:00:02, 122 from :03 and 22 from :01, each in one connection.
    let dts = |number| of(number).filter(|(kind, _)| *kind == Kind::Dt).count();
    assert_eq!([1, 2, 3].map(dts), [149, 122, 22]);
}

#[test]
fn remarks_add_up_to_the_measures() {
    let cell = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng");
    assert!(check(Path::new(cell)) > 100);
    let Some((folder, files)) = captures() else { return };
    let paths: Vec<PathBuf> = files.iter().map(|name| folder.join(name)).collect();
    let short = |path: &&PathBuf| path.metadata().unwrap().len() < 2_000_000;
    let observations: usize = paths.iter().filter(short).map(|path| check(path)).sum();
    println!("seen: {observations} observations");
    assert!(observations > 10_000);
}

#[test]
fn a_frame_without_transport_clears_the_observations() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    let mut remarks = Remarks::default();
    remarks.observations.push(Observation::Npdu { octets: 1 });
    let frame = [0xFF; 60];
    meter.observe_remarking(
        wire::time::Instant::ZERO,
        wire::dissect::Link::Ethernet,
        &frame,
        60,
        &mut remarks,
    );
    assert!(remarks.observations.is_empty());
    assert_eq!(remarks.oddities.iter().count(), 1);
}

#[test]
fn a_cut_frame_causes_no_oddity_in_the_next_remarks() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(10)));
    // DTs to reference 7, 20 octets of user data each, of which the capture kept none.
    let frame = |number: u8| {
        let above_mac = [0, 29, 0xFE, 0xFE, 3, 0, 4, 0xF0, 0, 7, 0x80 | number];
        [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], &above_mac].concat()
    };
    let at = |millis| Instant::from_nanos(millis * 1_000_000);
    for number in 0..4 {
        meter.observe(at(10 * u64::from(number)), Link::Ethernet, &frame(number), 60);
    }
    let mut remarks = Remarks::default();
    meter.observe_remarking(at(1_500), Link::Ethernet, &frame(4), 60, &mut remarks);
    assert_eq!(remarks.oddities.get(Class::Truncated, "user data"), 1);
    assert_eq!(meter.finish().oddities.get(Class::Truncated, "user data"), 5);
}
