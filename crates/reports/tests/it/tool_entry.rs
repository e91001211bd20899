//! Entries of the fuzz targets of files that other tools wrote: octets in, claims checked.

use reports::glossary::Glossary;
use reports::hgrm::read::{Percentiles, TimeUnit};
use reports::of_percentiles::{QUANTILES, of_percentiles};
use reports::tool::{Format, iperf3, sockperf};

/// Largest number of a result of iperf3, in its own unit or in nanoseconds.
const MOST: f64 = 1e24;

/// Reads octets as a result of `iperf3 -J`; returns true if they are one. Checks that its numbers are finite and not
/// below zero.
pub(crate) fn iperf3(octets: &[u8]) -> bool {
    let _ = Format::of(octets);
    let Ok(text) = core::str::from_utf8(octets) else { return false };
    match iperf3::read(text) {
        Ok(test) => {
            let iperf3::Test { received, intervals, jitter_ns, lost, rtt_ns, .. } = test;
            assert!(!intervals.is_empty());
            let lost = lost.into_iter().flat_map(|it| [it.lost, it.of]);
            let single = [received, jitter_ns, rtt_ns].into_iter().flatten();
            for number in intervals.into_iter().chain(single).chain(lost) {
                assert!((0.0..=MOST).contains(&number), "{number}");
            }
            true
        }
        Err(error) => {
            assert!(!error.is_empty());
            false
        }
    }
}

/// Reads octets as a log of `sockperf --full-log`; returns true if they are one. Checks its distributions.
pub(crate) fn sockperf(octets: &[u8]) -> bool {
    let _ = Format::of(octets);
    let Ok(text) = core::str::from_utf8(octets) else { return false };
    match sockperf::read("log", text) {
        Ok(servers) => {
            let lines = text.lines().count() as u64;
            let counts = servers.iter().map(|server| {
                let halves = server.halves();
                assert_eq!(halves.count(), server.round_trips.count());
                check(&halves);
                check(&server.round_trips);
                server.round_trips.count()
            });
            assert!(counts.sum::<u64>() < lines);
            true
        }
        Err(error) => {
            assert!(!error.is_empty());
            false
        }
    }
}

/// Reads octets as a file of percentiles, in each unit; returns true if they are one. Checks its distribution, and
/// makes a report of two such files.
pub(crate) fn hgrm(octets: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(octets) else { return false };
    let units =
        [TimeUnit::Nanoseconds, TimeUnit::Microseconds, TimeUnit::Milliseconds, TimeUnit::Seconds];
    let lines = text.lines().count();
    let units = [None].into_iter().chain(units.map(Some));
    let read = units.map(|unit| match reports::hgrm::read::read("file", text, unit) {
        Ok(file) => {
            check(&file);
            let files = [file.clone(), file];
            let document = of_percentiles(&files, Default::default(), &Glossary::read(""));
            assert_eq!((document.tables.len(), document.pictures.len()), (1, 1));
            true
        }
        Err(error) => {
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error}");
            false
        }
    });
    read.filter(|is_read| *is_read).count() > 0
}

/// Checks that quantiles rise, and end with the longest time.
fn check(file: &Percentiles) {
    assert!(file.count() > 0);
    assert!(file.classes.keys().all(|nanos| *nanos <= file.longest));
    let quantiles: Vec<u64> =
        QUANTILES.iter().filter_map(|(share, _)| file.quantile(*share)).collect();
    assert!(quantiles.is_sorted(), "{quantiles:?}");
    assert_eq!(quantiles.last(), file.classes.last_key_value().map(|(nanos, _)| nanos));
}
