//! Cost of a frame in the meter: class 4 traffic of many connections, from memory.
//!
//! Every connection opens, then a DT of 128 octets and an AK alternate, round robin over all
//! connections, so each frame finds its connection in as cold a CPU cache as that many connections
//! cause.

use core::time::Duration;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use meter::{Meter, Settings};
use std::hint::black_box;
use wire::addr::Mac;
use wire::dissect::Link;
use wire::time::Instant;

/// DTs and AKs on each connection.
const TURNS: u8 = 64;

fn frame(from: Mac, to: Mac, tpdu: &[u8], data_octets: usize) -> Vec<u8> {
    let length = u16::try_from(tpdu.len() + data_octets + 4).expect("frames are short");
    let mut octets = [to.0, from.0].concat();
    octets.extend(length.to_be_bytes());
    octets.extend([0xFE, 0xFE, 0x03, 0x00]);
    octets.extend(tpdu);
    octets.resize((octets.len() + data_octets).max(60), 0x5A);
    octets
}

/// Trace in which this number of connections are open at once.
fn trace(connections: u16) -> Vec<Vec<u8>> {
    let ends = |n: u16| (Mac::local(u32::from(n % 50)), Mac::local(100 + u32::from(n % 7)));
    let mut frames = Vec::new();
    for n in 1..=connections {
        let ((from, to), [high, low]) = (ends(n), n.to_be_bytes());
        frames.push(frame(from, to, &[6, 0xE1, 0, 0, high, low, 0x40], 0));
        frames.push(frame(to, from, &[6, 0xD1, high, low, high, low, 0x40], 0));
    }
    for turn in 0..TURNS {
        for n in 1..=connections {
            let ((from, to), [high, low]) = (ends(n), n.to_be_bytes());
            frames.push(frame(from, to, &[4, 0xF0, high, low, 0x80 | turn], 128));
            frames.push(frame(to, from, &[4, 0x61, high, low, turn + 1], 0));
        }
    }
    frames
}

fn observe(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("observe");
    for connections in [10, 1_000] {
        let frames = trace(connections);
        group.throughput(Throughput::Elements(frames.len() as u64));
        let id = BenchmarkId::from_parameter(connections);
        group.bench_with_input(id, &frames, |bencher, frames| {
            bencher.iter(|| {
                let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
                let mut nanos = 0;
                for octets in frames {
                    nanos += 100_000;
                    let at = Instant::from_nanos(nanos);
                    meter.observe(at, Link::Ethernet, octets, octets.len());
                }
                let total = meter.finish();
                assert_eq!(total.measures.traffic.connections.established, u64::from(connections));
                black_box(total)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, observe);
criterion_main!(benches);
