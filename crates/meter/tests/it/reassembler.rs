//! Entry point of the fuzz target of the stream reassembler: a stream of packets and a script of
//! the fate of its segments. Nothing is lost for good, so every TPDU counts once and in order.
//!
//! The meter is where all segments pass. A segment may be cut anywhere, overtaken, copied, and
//! retransmitted with other bounds; the receiver acknowledges the octets that have passed; the
//! clock goes either way.

use crate::entry;
use core::ops::Range;
use core::time::Duration;
use meter::observation::Observation;
use meter::{Meter, Remarks, Settings};
use wire::dissect::Link;
use wire::time::Instant;
use wire::tp::Kind;

/// Documented limits of a direction beyond a gap, in segments and in octets.
const SEGMENTS: usize = 64;
const OCTETS: usize = 1 << 16;
/// Both directions, with one segment too many.
const HELD_OCTETS: usize = 2 * (OCTETS + 2_000);
/// Time of the first frame: earlier frames are not counted, because they lie before the first
/// interval.
const ORIGIN_NANOS: u64 = 1_000_000_000;
/// Longer than any script, so that no connection is evicted for silence.
const SILENCE: Duration = Duration::from_secs(1_000_000);
/// From host 1 to host 2, and back.
const THERE: u8 = 0b1001;
const BACK: u8 = 0b0110;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// Octets of a script in sequence; zeros after its end.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn next(&mut self) -> Option<usize> {
        let (octet, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(usize::from(*octet))
    }

    fn octet(&mut self) -> usize {
        self.next().unwrap_or(0)
    }
}

/// TCP connection under way, with its meter.
struct Wire {
    meter: Meter,
    remarks: Remarks,
    nanos: u64,
    stream: Vec<u8>,
    /// Number of the first octet of the stream.
    first: u32,
    /// Octets of the stream sent, and the ranges that have passed the meter.
    sent: usize,
    passed: Vec<bool>,
    in_order: usize,
    /// Segments sent that have not arrived.
    under_way: Vec<Range<usize>>,
    /// Segments that passed beyond a gap: the meter may hold as many.
    beyond: Vec<Range<usize>>,
    is_within_bounds: bool,
    /// DTs that the meter observed: octets of their headers and of their data.
    found: Vec<(u64, u64)>,
}

impl Wire {
    fn new(stream: Vec<u8>, first: u32) -> Self {
        let passed = vec![false; stream.len()];
        let settings = Settings { silence: SILENCE, ..Settings::every(Duration::from_secs(3_600)) };
        let mut wire = Self {
            meter: Meter::new(settings),
            remarks: Remarks::default(),
            nanos: ORIGIN_NANOS,
            stream,
            first,
            sent: 0,
            passed,
            in_order: 0,
            under_way: Vec::new(),
            beyond: Vec::new(),
            is_within_bounds: true,
            found: Vec::new(),
        };
        wire.observe(THERE, SYN, first.wrapping_sub(1), 0, 0..0);
        wire
    }

    fn observe(&mut self, ends: u8, flags: u8, sequence: u32, number: u32, part: Range<usize>) {
        let frame = entry::segment(ends, flags, sequence, number, &self.stream[part]);
        let at = Instant::from_nanos(self.nanos);
        let Self { meter, remarks, .. } = self;
        meter.observe_remarking(at, Link::Other(101), &frame, frame.len(), remarks);
        for observation in &remarks.observations {
            if let Observation::Tpdu(tpdu) = observation {
                assert_eq!(tpdu.kind, Kind::Dt, "the stream carries DTs alone");
                self.found.push((tpdu.header_octets, tpdu.data_octets));
            }
        }
        assert!(meter.held_octets() <= HELD_OCTETS, "{} octets are held", meter.held_octets());
        self.nanos += 20_000_000;
    }

    fn number(&self, place: usize) -> u32 {
        self.first.wrapping_add(place as u32)
    }

    /// Sends this number of octets, or the remaining ones.
    fn send(&mut self, octets: usize) {
        let end = (self.sent + octets).min(self.stream.len());
        if self.sent < end {
            self.under_way.push(self.sent..end);
            self.sent = end;
        }
    }

    /// Passes a segment at the meter.
    fn pass(&mut self, part: Range<usize>) {
        let number = self.number(part.start);
        self.observe(THERE, ACK, number, 1, part.clone());
        self.passed[part.clone()].fill(true);
        while self.passed.get(self.in_order) == Some(&true) {
            self.in_order += 1;
        }
        self.beyond.push(part);
        self.beyond.retain(|part| part.start > self.in_order);
        let octets: usize = self.beyond.iter().map(Range::len).sum();
        self.is_within_bounds &= self.beyond.len() <= SEGMENTS && octets <= OCTETS;
    }

    /// Acknowledges all octets that have passed in order.
    fn acknowledge(&mut self) {
        let number = self.number(self.in_order);
        self.observe(BACK, ACK, 1, number, 0..0);
    }

    fn step(&mut self, script: &mut Script<'_>, operation: usize) {
        let value = operation >> 3;
        match operation & 7 {
            0 => self.send(value + 1),
            1 => self.send((value + 1) * 45),
            2 | 3 if !self.under_way.is_empty() => {
                let part = self.under_way.remove(value % self.under_way.len());
                self.pass(part);
            }
            4 if !self.under_way.is_empty() => {
                let part = self.under_way[value % self.under_way.len()].clone();
                self.pass(part);
            }
            5 => {
                // Retransmission with other bounds.
                let start = (script.octet() << 8 | script.octet()) % (self.sent + 1);
                let end = (start + 1 + value * 45).min(self.sent);
                self.pass(start..end.max(start));
            }
            6 => self.acknowledge(),
            7 if value < 16 => {
                self.nanos = (self.nanos - value as u64 * 1_000_000).max(ORIGIN_NANOS);
            }
            7 => self.nanos += value as u64 * 100_000_000,
            _ => {}
        }
    }
}

/// DTs of class 0 in their packets, and for each the octets of its header and of its data. Most are
/// short; some are longer than the part kept of a packet, or than a segment.
fn packets(script: &mut Script<'_>) -> (Vec<u8>, Vec<(u64, u64)>) {
    let (mut stream, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..=script.octet() % 32 {
        let octet = script.octet();
        let data_octets = if octet < 0xE0 { octet / 2 } else { (octet - 0xDF) * 93 };
        stream.extend([3, 0]);
        stream.extend(u16::try_from(7 + data_octets).unwrap().to_be_bytes());
        stream.extend([2, 0xF0, if octet & 1 == 0 { 0 } else { 0x80 }]);
        // Octets like the beginning of a packet occur within packets too.
        let filler = [3, 0, 0, 7, 2, 0xF0, 0x80, 0x32].into_iter().cycle();
        stream.extend(filler.take(data_octets));
        expected.push((3, data_octets as u64));
    }
    (stream, expected)
}

/// Runs a script: number of the first octet of a stream, its packets, and the fate of its segments.
/// Returns true if all TPDUs had to be found, and were.
pub(crate) fn script(octets: &[u8]) -> bool {
    let mut script = Script(octets);
    let first = [(); 4].map(|()| script.octet() as u8);
    let (stream, expected) = packets(&mut script);
    let mut wire = Wire::new(stream, u32::from_be_bytes(first));
    while let Some(operation) = script.next() {
        wire.step(&mut script, operation);
    }
    // Segments that have not arrived do so now, in the order in which they were sent.
    while wire.sent < wire.stream.len() {
        wire.send(1_460);
    }
    for part in core::mem::take(&mut wire.under_way) {
        wire.pass(part);
    }
    wire.acknowledge();
    let Wire { mut meter, found, is_within_bounds, .. } = wire;
    let total = meter.finish();
    assert_eq!(meter.held_octets(), 0, "nothing is held at the end");
    assert_eq!(total.measures.traffic.transport.all().tpdus, found.len() as u64);
    if is_within_bounds {
        assert_eq!(found, expected, "every TPDU once and in order");
    }
    is_within_bounds
}
