//! TCP segments one by one: retransmissions, octets held beyond gaps, and new connections.

use crate::entry;
use core::time::Duration;
use meter::measure::Distribution;
use meter::oddity::Class;
use meter::{Meter, Report, Settings};
use wire::dissect::Link;
use wire::time::Instant;

const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 0x10;
const FIN: u8 = 1;
/// From host 1 to host 2, and back.
const THERE: u8 = 0b1001;
const BACK: u8 = 0b0110;
const MILLISECOND: u64 = 1_000_000;

/// DT of class 0 that ends its TSDU, in a packet of this number of octets.
fn packet(octets: usize) -> Vec<u8> {
    let [.., high, low] = octets.to_be_bytes();
    let mut packet = vec![3, 0, high, low, 2, 0xF0, 0x80];
    packet.resize(octets, 0x55);
    packet
}

/// Meter of one TCP connection.
struct Wire {
    meter: Meter,
    nanos: u64,
}

impl Wire {
    /// Meter after the SYN of the caller, whose first octet has number 1,000.
    fn new() -> Self {
        let meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
        let mut wire = Self { meter, nanos: 0 };
        wire.passes(THERE, SYN, 999, 0, &[]);
        wire
    }

    fn passes(&mut self, ends: u8, flags: u8, sequence: u32, acknowledged: u32, data: &[u8]) {
        let frame = entry::segment(ends, flags, sequence, acknowledged, data);
        let at = Instant::from_nanos(self.nanos);
        self.meter.observe(at, Link::Other(101), &frame, frame.len());
        self.nanos += 20 * MILLISECOND;
    }

    /// Data of the caller.
    fn data(&mut self, sequence: u32, data: &[u8]) {
        self.passes(THERE, ACK, sequence, 1, data);
    }

    /// Number of DTs counted so far.
    fn dts(&self) -> u64 {
        let report = self.meter.under_way().unwrap();
        report.measures.table()[12].1
    }

    fn finish(mut self) -> Report {
        self.meter.finish()
    }
}

#[test]
fn octets_beyond_a_gap_are_held_once() {
    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    wire.data(1_040, &packet(30));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (1, 30));
    // The same segment once more, and a part of it.
    wire.data(1_040, &packet(30));
    wire.data(1_040, &packet(30)[..10]);
    assert_eq!(wire.meter.held_octets(), 30);
    // Before it, and after it.
    wire.data(1_030, &packet(10));
    wire.data(1_070, &packet(40));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (1, 80));
    wire.data(1_020, &packet(10));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (5, 0));
    let streams = wire.finish().measures.streams;
    assert_eq!((streams.ahead, streams.late), (5, 1));
}

#[test]
fn a_malformed_packet_counts_in_one_segment_and_in_two() {
    // 768 octets; the length indicator 0 is that of no TPDU.
    let packet_of_none = [&[3, 0, 3, 0][..], &[0; 764]].concat();
    for first in [768, 600] {
        let mut wire = Wire::new();
        wire.data(1_000, &packet(20));
        let (front, back) = packet_of_none.split_at(first);
        wire.data(1_020, front);
        wire.data(1_020 + first as u32, back);
        let oddities = wire.finish().oddities;
        assert_eq!(oddities.get(Class::Malformed, "length indicator"), 1, "{first}");
    }
}

#[test]
fn a_longer_copy_of_a_held_segment_is_held_too() {
    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    wire.data(1_040, &packet(30)[..10]);
    wire.data(1_040, &packet(30));
    assert_eq!(wire.meter.held_octets(), 40);
    wire.data(1_020, &packet(20));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (3, 0));
}

#[test]
fn a_gap_is_given_up_beyond_65536_octets_or_64_segments() {
    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    wire.data(2_000, &packet(40_000));
    wire.data(42_000, &packet(25_536));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (1, 65_536));
    wire.data(67_536, &packet(7));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (4, 0));

    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    for place in 0..64 {
        wire.data(2_000 + 10 * place, &packet(10));
    }
    assert_eq!((wire.dts(), wire.meter.held_octets()), (1, 640));
    wire.data(2_640, &packet(10));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (66, 0));
}

#[test]
fn an_acknowledged_gap_is_given_up_at_once() {
    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    wire.passes(BACK, ACK, 1, 1_020, &[]);
    // The missing octets were not captured, because the receiver has them; then an older ACK, which
    // takes nothing back.
    wire.passes(BACK, ACK, 1, 1_070, &[]);
    wire.passes(BACK, ACK, 1, 1_020, &[]);
    wire.data(1_070, &packet(30));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (2, 0));
    // The receiver does not have the next octets.
    wire.data(1_110, &packet(30));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (2, 30));
    // It has some of them, but not all.
    wire.passes(BACK, ACK, 1, 1_105, &[]);
    assert_eq!((wire.dts(), wire.meter.held_octets()), (3, 0));
}

#[test]
fn held_octets_count_when_the_connection_ends() {
    for flags in [FIN | ACK, RST] {
        let mut wire = Wire::new();
        wire.data(1_000, &packet(20));
        wire.data(1_040, &packet(30));
        assert_eq!(wire.meter.held_octets(), 30);
        wire.passes(THERE, flags, 1_070, 1, &[]);
        assert_eq!((wire.dts(), wire.meter.held_octets()), (2, 0));
        wire.finish();
    }
}

#[test]
fn a_syn_far_from_the_octets_sent_begins_another_connection() {
    // A retransmitted SYN, before more than 65,536 octets were sent.
    let sent = |octets: usize| {
        let mut wire = Wire::new();
        wire.data(1_000, &packet(octets - 30_000));
        wire.data(1_000 + octets as u32 - 30_000, &packet(30_000));
        wire.passes(THERE, SYN, 999, 0, &[]);
        // The next segment is in sequence for the old connection, and far ahead for a new one.
        wire.data(1_000 + octets as u32, &packet(20));
        wire.finish().measures.streams.ahead
    };
    assert_eq!((sent(65_536), sent(65_537)), (0, 1));
    // Another number.
    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    wire.passes(THERE, SYN, 499_999, 0, &[]);
    wire.data(500_000, &packet(20));
    let total = wire.finish();
    assert_eq!((total.measures.table()[12].1, total.measures.streams.ahead), (2, 0));
}

#[test]
fn a_repeated_syn_after_data_while_holding_is_a_new_connection() {
    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    wire.data(1_040, &packet(30));
    wire.passes(THERE, SYN, 999, 0, &[]);
    assert_eq!(wire.meter.held_octets(), 0, "the held octets of the old one are gone");
    wire.data(1_000, &packet(20));
    assert_eq!(wire.dts(), 2);
    // Only octets beyond the gap: a retransmitted SYN.
    let mut wire = Wire::new();
    wire.data(1_040, &packet(30));
    wire.passes(THERE, SYN, 999, 0, &[]);
    assert_eq!(wire.meter.held_octets(), 30);
    // Nothing held: a retransmitted SYN.
    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    wire.passes(THERE, SYN, 999, 0, &[]);
    wire.data(1_020, &packet(20));
    assert_eq!(wire.finish().measures.streams.ahead, 0);
}

#[test]
fn the_same_packet_is_a_copy_until_ten_milliseconds_have_passed() {
    for (nanos, copies) in [(10 * MILLISECOND - 1, 1), (10 * MILLISECOND, 0)] {
        let mut wire = Wire::new();
        wire.data(1_000, &packet(20));
        wire.nanos = wire.nanos - 20 * MILLISECOND + nanos;
        wire.data(1_000, &packet(20));
        let streams = wire.finish().measures.streams;
        assert_eq!((streams.copies, streams.again), (copies, 1 - copies), "{nanos} ns");
    }
}

/// Common TCP segment from host 1 to host 2 on Ethernet.
fn on_ethernet(sequence: u32, data: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend(entry::segment(THERE, ACK, sequence, 1, data));
    frame
}

#[test]
fn copies_of_acknowledgements_are_detected_on_ethernet_too() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    let data = on_ethernet(1_000, &packet(20));
    let silent = on_ethernet(1_020, &[]);
    for (at, frame) in [(0, &data), (20, &silent), (21, &silent), (41, &silent)] {
        meter.observe(Instant::from_nanos(at * MILLISECOND), Link::Ethernet, frame, frame.len());
    }
    let streams = meter.finish().measures.streams;
    // The third is a copy of the second; the fourth repeats it 20 ms later.
    assert_eq!((streams.segments, streams.copies, streams.again), (4, 1, 0));
}

/// DTs, and losses and recoveries of synchronisation, of consecutive segments on Ethernet.
fn counted(segments: &[&[u8]]) -> (u64, u64, u64) {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    let mut sequence = 1_000;
    for data in segments {
        let frame = on_ethernet(sequence, data);
        meter.observe(Instant::ZERO, Link::Ethernet, &frame, frame.len());
        sequence += data.len() as u32;
    }
    let total = meter.finish();
    let steps = |what| total.oddities.get(Class::Transport, what);
    let (lost, found) = ("TPKT stream lost its step", "TPKT stream found its step");
    (total.measures.table()[12].1, steps(lost), steps(found))
}

#[test]
fn a_header_within_a_packet_begins_no_packet() {
    // DT in two segments, the second of which looks like a whole packet.
    let outer = [&packet(40)[..20], &packet(20)].concat();
    let [first, inner] = [&outer[..20], &outer[20..]];
    assert_eq!(counted(&[&packet(20), first, inner, &packet(20)]), (3, 0, 0));
}

#[test]
fn a_packet_after_foreign_octets_restores_synchronisation() {
    assert_eq!(counted(&[&packet(20), &[9; 30], &packet(20), &packet(20)]), (3, 1, 1));
}

#[test]
fn an_end_within_a_packet_or_a_reset_is_abrupt() {
    // CR and CC of class 0, and the front of a DT.
    let cr = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 7, 0];
    let cc = [3, 0, 0, 11, 6, 0xD0, 0, 7, 0, 8, 0];
    let ends = |flags: u8, data: &[u8]| {
        let mut wire = Wire::new();
        wire.data(1_000, &cr);
        wire.passes(BACK, ACK, 1, 1_011, &cc);
        wire.data(1_011, data);
        wire.passes(THERE, flags, 1_011 + data.len() as u32, 12, &[]);
        let connections = wire.finish().measures.traffic.connections;
        (connections.graceful, connections.abrupt)
    };
    assert_eq!(ends(FIN | ACK, &packet(20)), (1, 0));
    assert_eq!(ends(FIN | ACK, &packet(20)[..15]), (0, 1));
    assert_eq!(ends(RST, &packet(20)), (0, 1));
}

#[test]
fn another_syn_ends_the_connection_abruptly() {
    let mut wire = Wire::new();
    wire.data(1_000, &[3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 7, 0]);
    wire.passes(BACK, ACK, 1, 1_011, &[3, 0, 0, 11, 6, 0xD0, 0, 7, 0, 8, 0]);
    wire.passes(THERE, SYN, 499_999, 0, &[]);
    assert_eq!(wire.finish().measures.traffic.connections.abrupt, 1);
}

#[test]
fn rdp_pdus_are_skipped_in_rdp_streams_only() {
    // Connect-Initial of T.125 identifies RDP; then a fast-path PDU of five octets.
    let initial = [3, 0, 0, 10, 2, 0xF0, 0x80, 0x7F, 0x65, 0];
    let fast = [0x44, 5, 1, 2, 3];
    assert_eq!(counted(&[&initial, &fast, &packet(20)]), (2, 0, 0));
    assert_eq!(counted(&[&packet(10), &fast, &packet(20)]), (2, 1, 1));
}

#[test]
fn a_direction_is_foreign_after_64_tries_unless_its_peer_is_not() {
    let found = |answer: &[u8]| {
        let mut wire = Wire::new();
        wire.passes(BACK, ACK, 1, 1_000, answer);
        for place in 0..100 {
            wire.data(1_000 + 10 * place, &[9; 10]);
        }
        wire.data(2_000, &packet(20));
        wire.dts()
    };
    assert_eq!((found(&[9; 20]), found(&packet(20))), (0, 2));
}

#[test]
fn sequence_numbers_may_be_reused_after_the_end() {
    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    wire.passes(THERE, FIN | ACK, 1_020, 1, &[]);
    wire.passes(THERE, SYN, 999, 0, &[]);
    wire.data(1_000, &packet(20));
    assert_eq!(wire.dts(), 2);
}

#[test]
fn octets_held_for_both_sides_count_at_the_end_of_measuring() {
    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    wire.passes(BACK, ACK, 1, 1_020, &packet(20));
    wire.data(1_040, &packet(20));
    wire.passes(BACK, ACK, 41, 1_020, &packet(20));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (2, 40));
    let total = wire.meter.finish();
    assert_eq!((total.measures.table()[12].1, wire.meter.held_octets()), (4, 0));
}

#[test]
fn a_stream_is_evicted_after_five_minutes_with_held_octets() {
    let mut wire = Wire::new();
    wire.data(1_000, &packet(20));
    wire.data(1_040, &packet(30));
    assert_eq!(wire.meter.held_octets(), 30);
    wire.nanos += 301_000 * MILLISECOND;
    // Far from the octets sent, and the first segment of a new stream.
    wire.data(700_000, &packet(20));
    assert_eq!((wire.dts(), wire.meter.held_octets()), (2, 0));
    assert_eq!(wire.finish().measures.streams.ahead, 1);
}

#[test]
fn a_handshake_is_timed_from_a_syn_that_was_seen() {
    let handshakes = |opening: &[(u8, u8, u32)]| {
        let meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
        let mut wire = Wire { meter, nanos: 0 };
        opening.iter().for_each(|(ends, flags, from)| wire.passes(*ends, *flags, *from, 0, &[]));
        wire.data(1_000, &packet(20));
        let delays = wire.finish().measures.delays;
        let of = |it: &Distribution| (it.count == 1).then_some(it.total_ns / MILLISECOND);
        (of(&delays.callee_handshake), of(&delays.caller_handshake))
    };
    let (syn, answer, ack) = ((THERE, SYN, 999), (BACK, SYN | ACK, 0), (THERE, ACK, 1_000));
    assert_eq!(handshakes(&[syn, answer, ack]), (Some(20), Some(20)));
    assert_eq!(handshakes(&[answer, ack]), (None, Some(20)));
    // With several SYNs, the answered one is unknown, for any number of them; and so is the
    // acknowledged answer.
    for times in 2..=5 {
        let opening = [vec![syn; times], vec![answer, ack]].concat();
        assert_eq!(handshakes(&opening), (None, Some(20)), "{times} times");
        let opening = [vec![syn], vec![answer; times], vec![ack]].concat();
        assert_eq!(handshakes(&opening), (Some(20), None), "{times} times");
    }
    // The one SYN was answered before it was retransmitted.
    assert_eq!(handshakes(&[syn, answer, syn, answer, ack]), (Some(20), None));
}

#[test]
fn all_streams_together_hold_16_mebibytes() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    let mut pass = |port: u16, sequence: u32, data: &[u8]| {
        let mut frame = entry::segment(THERE, ACK, sequence, 1, data);
        frame[20..22].copy_from_slice(&port.to_be_bytes());
        meter.observe(Instant::ZERO, Link::Other(101), &frame, frame.len());
        meter.held_octets()
    };
    // 256 streams hold the maximum each: 65,536 octets beyond a gap of one.
    for port in 1..=256 {
        pass(port, 1_000, &packet(20));
        pass(port, 1_021, &packet(40_000));
        assert_eq!(pass(port, 41_021, &packet(25_536)), usize::from(port) << 16);
    }
    pass(257, 1_000, &packet(20));
    // A further stream gives its own octets up.
    assert_eq!(pass(257, 1_021, &packet(10)), 16 << 20);
    let total = meter.finish();
    let oddity = total.oddities.get(Class::Meter, "segments given up for want of room");
    assert_eq!((total.measures.table()[12].1, oddity), (256 * 3 + 2, 1));
    assert_eq!(meter.held_octets(), 0);
}

#[test]
fn concurrent_streams_are_separate() {
    // On the fast path for Ethernet, and dissected for the other link.
    for link in [Link::Ethernet, Link::Other(101)] {
        let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
        for place in 0..5 {
            for (port, octets) in [(1_u16, 20), (2, 30)] {
                let mut frame = on_ethernet(1_000 + place * octets, &packet(octets as usize));
                frame[34..36].copy_from_slice(&port.to_be_bytes());
                let frame = if link == Link::Ethernet { &frame[..] } else { &frame[14..] };
                meter.observe(Instant::ZERO, link, frame, frame.len());
            }
        }
        let found: Vec<_> = meter
            .each_connection()
            .map(|it| (it.ends[0].1, it.tpdus(), it.directions[0].all().data_octets))
            .collect();
        // 13 and 23 octets of user data five times.
        assert_eq!(found, [(1, 5, 65), (2, 5, 115)], "{link:?}");
    }
}

#[test]
fn the_cached_side_of_an_evicted_stream_is_not_reused() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    let mut pass = |seconds: u64, port: u16, sequence: u32| {
        let mut frame = on_ethernet(sequence, &packet(20));
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        let at = Instant::from_nanos(seconds * 1_000 * MILLISECOND);
        meter.observe(at, Link::Ethernet, &frame, frame.len());
    };
    (0..3).for_each(|place| pass(0, 1, 1_000 + 20 * place));
    // Five minutes later another stream takes its place, with the sequence number at which the
    // first continued.
    pass(301, 2, 1_000);
    pass(301, 1, 1_020);
    let found: Vec<_> = meter.each_connection().map(|it| (it.ends[0].1, it.tpdus())).collect();
    assert_eq!(found, [(2, 1), (1, 1)]);
}

#[test]
fn a_connection_is_active_with_its_tpdus_and_at_its_end() {
    let mut wire = Wire::new();
    wire.passes(BACK, SYN | ACK, 0, 1_000, &[]);
    // CR and CC of class 0, at 40 and 60 ms.
    wire.data(1_000, &[3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0]);
    wire.passes(BACK, ACK, 1, 1_011, &[3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0]);
    let active = |wire: &Wire, since: u64| {
        let [since, now] = [since, 1_000].map(|millis| Instant::from_nanos(millis * MILLISECOND));
        wire.meter.each_active_connection(since, now).count()
    };
    assert_eq!([60, 61].map(|since| active(&wire, since)), [1, 0]);
    // A TCP ACK without data, at 80 ms, and the end, at 100 ms, which removes the stream.
    wire.passes(THERE, ACK, 1_011, 12, &[]);
    assert_eq!([80, 81].map(|since| active(&wire, since)), [1, 0]);
    wire.passes(THERE, RST, 1_011, 0, &[]);
    assert_eq!([100, 101].map(|since| active(&wire, since)), [1, 0]);
}

#[test]
fn a_connection_from_port_zero_has_its_tcp_delays() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    let mut nanos = 0;
    let mut passes = |ends: u8, flags: u8, sequence: u32, acknowledged: u32, data: &[u8]| {
        let mut frame = entry::segment(ends, flags, sequence, acknowledged, data);
        let port_at = if ends == THERE { 20 } else { 22 };
        frame[port_at..port_at + 2].fill(0);
        meter.observe(Instant::from_nanos(nanos), Link::Other(101), &frame, frame.len());
        nanos += 20 * MILLISECOND;
    };
    passes(THERE, SYN, 999, 0, &[]);
    passes(BACK, SYN | ACK, 0, 1_000, &[]);
    passes(THERE, ACK, 1_000, 1, &[3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0]);
    passes(BACK, ACK, 1, 1_011, &[3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0]);
    let connection = meter.each_connection().next().unwrap();
    let [there, back] = connection.directions.map(|sent| sent.waits);
    let spans = [there.round_trip, back.callee_handshake, there.caller_handshake]
        .map(|times| (times.count, times.total_ns));
    assert_eq!(spans, [(1, 20 * MILLISECOND); 3]);
}
