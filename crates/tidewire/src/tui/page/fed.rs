//! Models for tests of pages.

use records::state::Model;
use records::{Counts, Head, Interval, Named, Record, SCHEMA};

/// Returns a model of one complete interval of a second with these measures and oddities.
pub(in crate::tui) fn fed(
    measures: &[(&'static str, u64)],
    oddities: &[(&'static str, u64)],
    dropped_by_kernel: Option<u64>,
    frames: u64,
) -> Model {
    let oddities = oddities.iter().map(|(name, times)| ((*name).into(), *times)).collect();
    let mut model = Model::new(Head {
        schema: SCHEMA.to_owned(),
        source: "a.pcap".to_owned(),
        files: Some(vec!["a.pcap".to_owned()]),
        measure_ns: 1_000_000_000,
        report_ns: 1_000_000_000,
        sample_ns: None,
        channel_bits_per_second: 10_000_000,
        bounds_octets: vec![64, 128],
        top: 5,
        only: None,
        expect: None,
    });
    model.take(Record::Interval(Interval {
        index: Some(0),
        intervals: 1,
        start_ns: 0,
        length_ns: 1_000_000_000,
        complete: true,
        frames,
        dropped_by_kernel,
        collection: None,
        stamps: None,
        measures: Counts::named(measures).unwrap(),
        metrics: Named::default(),
        oddities: Named(oddities),
        histograms: None,
    }));
    model
}
