//! TSDUs that are passed upwards, against those that are counted.

use crate::every_capture::captures;
use core::time::Duration;
use meter::{Meter, Report, Settings, Tsdu, TsduLimits};
use std::fs::File;
use std::path::Path;
use wire::capture::Capture;

/// More than any capture needs.
const LIMITS: TsduLimits = TsduLimits { octets_each: 1 << 20, octets_total: 1 << 30 };

fn metered(path: &Path, passes: bool) -> (Report, Vec<Tsdu>) {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    if passes {
        meter.pass_tsdus(|_| true, LIMITS);
    }
    let mut tsdus = Vec::new();
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    while let Ok(Some(record)) = capture.next() {
        meter.observe(record.at, record.link, record.octets, record.original_octets);
        tsdus.extend(core::iter::from_fn(|| meter.take_tsdu()));
        while meter.take_interval().is_some() {}
    }
    (meter.finish(), tsdus)
}

/// Counts of TSDUs and their octets: those of the meter, and those that it passed.
fn both(path: &Path) -> [(u64, u64); 2] {
    let (plain, none) = metered(path, false);
    let (total, tsdus) = metered(path, true);
    assert!(none.is_empty());
    let same = format!("{plain:?}") == format!("{total:?}");
    assert!(same, "{}: passing TSDUs changes a count", path.display());
    let counted = &total.measures.traffic.tsdus;
    let octets = tsdus.iter().map(|tsdu| tsdu.length).sum();
    [(counted.tsdus, counted.octets), (tsdus.len() as u64, octets)]
}

#[test]
fn every_counted_tsdu_of_our_capture_is_passed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/cell.pcapng");
    let [counted, passed] = both(&path);
    assert_eq!(counted, passed);
    assert!(counted.0 > 0);
}

#[test]
fn every_counted_tsdu_of_public_captures_is_passed() {
    let Some((folder, files)) = captures() else { return };
    let mut all = 0;
    for name in files {
        let [counted, passed] = both(&folder.join(&name));
        assert_eq!(counted, passed, "{name}");
        all += passed.0;
    }
    assert!(all > 0);
}
