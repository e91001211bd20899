//! Measures and metrics of a few frames: `cargo run -p tidewire-meter --example measure_a_capture`.

use core::time::Duration;
use meter::{Meter, Settings};
use wire::dissect::Link;
use wire::time::Instant;

/// Milliseconds and frames: a DT of three octets, its AK, and the retransmitted DT.
const FRAMES: [(u64, &[u8]); 3] = [
    (0, b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\0\x0C\xFE\xFE\x03\0\x04\xF0\0\x02\x80abc"),
    (7, b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\0\x09\xFE\xFE\x03\0\x04\x61\0\x01\x01"),
    (200, b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\0\x0C\xFE\xFE\x03\0\x04\xF0\0\x02\x80abc"),
];

fn main() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    for (milliseconds, octets) in FRAMES {
        let at = Instant::from_nanos(milliseconds * 1_000_000);
        meter.observe(at, Link::Ethernet, octets, octets.len());
    }
    let total = meter.finish();
    for (name, value) in total.measures.table() {
        println!("{name:>24} {value}");
    }
    for metric in total.metrics {
        let value = metric.value.map_or("n/a".to_owned(), |value| format!("{value:.6}"));
        println!("{:>24} {value} {}", metric.definition.symbol, metric.definition.unit);
    }
    for (class, name, times) in total.oddities.iter() {
        println!("{:>24} {name}: {times}", class.name());
    }
}
