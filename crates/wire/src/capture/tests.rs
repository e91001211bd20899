#[path = "../../tests/it/laid.rs"]
mod laid;

use super::*;
use crate::dissect::Link;
use crate::time::Instant;
use flate2::{Compression, write::GzEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Write as _;

/// Record and its octets: time in nanoseconds, link type, octets, original octets, interface.
pub(crate) type Seen = (u64, u32, Vec<u8>, usize, u32);

pub(crate) fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|octet| u8::from_str_radix(octet, 16).unwrap()).collect()
}

/// Records, and the error after them if any.
type AllSeen = (Vec<Seen>, Option<CaptureError>);

fn seen(r: &Record<'_>) -> Seen {
    (r.at.as_nanos(), r.link.dlt(), r.octets.to_vec(), r.original_octets, r.interface)
}

/// Reads record by record.
fn read_on(capture: &mut Capture) -> AllSeen {
    let mut all = Vec::new();
    loop {
        match capture.next() {
            Ok(Some(record)) => all.push(seen(&record)),
            Ok(None) => return (all, None),
            Err(error) => return (all, Some(error)),
        }
    }
}

/// Has records passed, and stops after every third.
fn read_each(capture: &mut Capture) -> AllSeen {
    let mut all = Vec::new();
    loop {
        let passed = capture.each(|record| {
            all.push(seen(&record));
            all.len() % 3 != 0
        });
        match passed {
            Ok(true) => {}
            Ok(false) => return (all, None),
            Err(error) => return (all, Some(error)),
        }
    }
}

/// All records, and the error after them if any. Checks that reading and mapping give the same, one
/// by one and passed.
pub(crate) fn read(octets: &[u8]) -> AllSeen {
    let ways: [fn(&mut Capture) -> AllSeen; 2] = [read_on, read_each];
    let [first, others @ ..] = ways.map(|read| {
        let buffered = Capture::open(io::Cursor::new(octets.to_vec()));
        let mapped = Capture::open_mapped(laid::Laid::new(octets, 7));
        let [first, other] = [buffered, mapped].map(|capture| match capture {
            Ok(mut capture) => read(&mut capture),
            Err(error) => (Vec::new(), Some(error)),
        });
        assert!(first == other, "{:?} and {:?}", first.1, other.1);
        first
    });
    assert!(others.iter().all(|other| *other == first), "{:?} and {:?}", first.1, others[0].1);
    first
}

/// Truncates a file at each of its octets: whole records come first, then the error names the
/// incomplete part. `ends` are the offsets at which the file may end, each but the first one record
/// further.
#[track_caller]
pub(crate) fn check_cuts(octets: &[u8], ends: &[(usize, usize)]) {
    let (all, end) = read(octets);
    assert_eq!(end, None);
    assert_eq!(ends.last(), Some(&(octets.len(), all.len())));
    for cut in 4..octets.len() {
        let (seen, error) = read(&octets[..cut]);
        let (end, records) = ends.iter().rev().find(|(end, _)| *end <= cut).unwrap();
        assert_eq!(seen, all[..*records], "cut at {cut}");
        let expected = (*end < cut).then_some(CaptureError::CutShort { offset: *end as u64 });
        assert_eq!(error, expected, "cut at {cut}");
    }
}

/// 300 frames, the longest longer than a decompressor's first block.
fn many() -> Vec<u8> {
    let mut writer = pcap::Writer::new(Vec::new(), Link::Ethernet).unwrap();
    for i in 0..300_usize {
        let octets: Vec<u8> = (0..i * 13).map(|place| (place * place + i) as u8).collect();
        writer.write(Instant::from_nanos(i as u64), &octets, octets.len()).unwrap();
    }
    writer.into_inner()
}

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

fn zstd(octets: &[u8]) -> Vec<u8> {
    compress_to_vec(octets, CompressionLevel::Fastest)
}

#[test]
fn a_compressed_capture_reads_like_the_plain_one() {
    let plain = many();
    let expected = read(&plain);
    assert_eq!((expected.0.len(), &expected.1), (300, &None));
    // A file may consist of several compressed members, one after the other.
    let (a, b) = plain.split_at(plain.len() / 3);
    // RFC 8878 3.1.2: a frame to be skipped, of 3 octets.
    let skipped = hex("53 2a 4d 18 03 00 00 00 aa bb cc");
    for packed in [
        gzip(&plain),
        [gzip(a), gzip(b)].concat(),
        zstd(&plain),
        [skipped.clone(), zstd(a), skipped, zstd(b)].concat(),
    ] {
        assert!(read(&packed) == expected);
    }
}

#[test]
fn a_zstd_frame_built_by_hand_is_unpacked() {
    let plain = hex("4d 3c b2 a1 02 00 04 00 00 00 00 00 00 00 00 00 00 00 04 00 01 00 00 00");
    // RFC 8878 3.1.1: magic, descriptor, window of 1 KiB; the last block, raw: 1 + 24 << 3 =
    // c1.
    let packed = [hex("28 b5 2f fd 00 00 c1 00 00"), plain].concat();
    assert_eq!(read(&packed), (vec![], None));
}

#[test]
fn a_truncated_compressed_capture_yields_its_whole_records() {
    let plain = many();
    let (all, _) = read(&plain);
    for packed in [gzip(&plain), zstd(&plain)] {
        let mut most = 0;
        for cut in (20..packed.len()).step_by(997) {
            let (seen, error) = read(&packed[..cut]);
            assert!(seen == all[..seen.len()], "cut at {cut}");
            assert!(seen.len() >= most, "cut at {cut}: more octets gave fewer records");
            most = seen.len();
            let error = error.expect("a truncated file ends in an error");
            assert!(matches!(error, CaptureError::CutShort { .. }), "cut at {cut}: {error}");
        }
        assert!(most > 250, "only {most} records of 300 before the last cut");
        // Only the trailer is missing: all records are there, and the file still counts as
        // truncated.
        let (seen, error) = read(&packed[..packed.len() - 1]);
        assert!(matches!(error, Some(CaptureError::CutShort { .. })), "{error:?}");
        assert!(seen == all[..seen.len()]);
    }
}

#[test]
fn corrupt_compression_is_reported_on_every_call() {
    let mut packed = gzip(&many());
    let crc = packed.len() - 8;
    packed[crc] ^= 1;
    let mut capture = Capture::open(io::Cursor::new(packed)).unwrap();
    let (seen, error) = read_on(&mut capture);
    assert!(matches!(error, Some(CaptureError::Unreadable { .. })), "{error:?}");
    assert_eq!(seen.len(), 300, "decompressed records come first");
    assert_eq!(read_on(&mut capture), (vec![], error));
}

#[test]
fn foreign_files_show_their_first_octets() {
    let (_, error) = read(b"GET / HTTP/1.1\r\n\r\n");
    let shown = "not a capture file: begins with 47 45 54 20 2f 20 48 54 54 50 2f 31 2e 31 0d 0a";
    assert_eq!(error.unwrap().to_string(), shown);
    assert_eq!(read(&[]).1.unwrap().to_string(), "not a capture file: empty");
    let (_, error) = read(&gzip(b"abc"));
    assert_eq!(error.unwrap().to_string(), "not a capture file: begins with 61 62 63");
}

/// Yields one octet at a time and is interrupted before each.
struct Slow(io::Cursor<Vec<u8>>, bool);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.0.read(buffer.get_mut(..1).unwrap_or_default())
    }
}

#[test]
fn the_sizes_of_reads_do_not_matter() {
    let plain = many();
    let mut slow = Capture::open(Slow(io::Cursor::new(plain.clone()), false)).unwrap();
    assert!(read_on(&mut slow) == read(&plain));
}

#[test]
fn a_length_alone_costs_no_memory() {
    // A record of 200 MiB of which 4 octets are there.
    let octets = hex("a1 b2 c3 d4 00 02 00 04 00 00 00 00 00 00 00 00 00 04 00 00 00 00 00 01
         00 00 00 00 00 00 00 00 0c 80 00 00 0c 80 00 00 01 02 03 04");
    let mut capture = Capture::open(io::Cursor::new(octets)).unwrap();
    assert_eq!(capture.next(), Err(CaptureError::CutShort { offset: 24 }));
    assert_eq!(capture.source.room(), 512 << 10);
}

#[test]
fn every_power_of_a_clock_becomes_nanoseconds() {
    assert_eq!(Resolution::Decimal(0).nanos(3), 3_000_000_000);
    assert_eq!(Resolution::MICRO.nanos(1_700_000_000_123_456), 1_700_000_000_123_456_000);
    assert_eq!(Resolution::NANO.nanos(7), 7);
    assert_eq!(Resolution::Decimal(12).nanos(5_999), 5);
    assert_eq!(Resolution::Decimal(28).nanos(u64::MAX), 1, "2^64 / 10^19 = 1.8");
    assert_eq!(Resolution::Decimal(127).nanos(u64::MAX), 0);
    assert_eq!(Resolution::Binary(0).nanos(2), 2_000_000_000);
    assert_eq!(Resolution::Binary(10).nanos(1_536), 1_500_000_000);
    // 2^64 - 1 steps of 2^-32 s are 2^32 s less one step of 0.23 ns.
    assert_eq!(Resolution::Binary(32).nanos(u64::MAX), 4_294_967_295_999_999_999);
    assert_eq!(Resolution::Binary(127).nanos(u64::MAX), 0);
    assert_eq!(Resolution::Decimal(0).nanos(u64::MAX), u64::MAX);
}

#[test]
fn public_captures_hold_as_many_packets_as_their_index() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures");
    let Ok(index) = std::fs::read_to_string(format!("{folder}/INDEX.md")) else {
        println!("skipped: no ../shared/captures");
        return;
    };
    let mut files = 0;
    for row in index.lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, file, _, packets, ..] = cells[..] else { continue };
        let Ok(packets) = packets.parse::<usize>() else { continue };
        let octets = std::fs::read(format!("{folder}/{file}")).expect(file);
        let (seen, error) = read(&octets);
        assert_eq!((seen.len(), error), (packets, None), "{file}");
        files += 1;
    }
    assert!(files > 60, "the index could not be parsed: {files} files");
}
