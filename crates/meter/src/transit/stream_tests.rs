//! Hand-computed cases of TPDUs in TCP streams, with times in nanoseconds.

use super::*;
use crate::draw::Draw;
use crate::trial::over_ipv4;
use Tap::{Far, Near};
use wire::tcp;
use wire::tcp::Flags;

/// TPKT with a DT of class 0 that ends its TSDU: 7 octets of headers, then this user data.
pub(super) fn packet(data: &[u8]) -> Vec<u8> {
    [&[3, 0, 0, 7 + data.len() as u8, 2, 0xF0, 0x80][..], data].concat()
}

/// Segment of the stream between two hosts, which stand for their addresses.
#[derive(Clone)]
pub(super) struct Sent {
    from: u8,
    to: u8,
    sequence: u32,
    acknowledgement: u32,
    data: Vec<u8>,
}

impl Sent {
    /// Frame; each has its own identification, else it would be a copy by a mirror port.
    pub(super) fn frame(&self, identification: u16) -> Vec<u8> {
        let port = |host: u8| if host == 2 { 102 } else { 1_024 };
        let (ports, numbers) =
            ([self.from, self.to].map(port), [self.sequence, self.acknowledgement]);
        let segment = tcp::Pdu::between(ports, Flags::ACK, numbers, &self.data);
        over_ipv4(&segment, [self.from, self.to], identification, &[])
    }
}

/// Segment from the caller, host 1, to host 2, port 102.
pub(super) fn there(sequence: u32, data: Vec<u8>) -> Sent {
    Sent { from: 1, to: 2, sequence, acknowledgement: 1, data }
}

fn back(sequence: u32, data: Vec<u8>) -> Sent {
    Sent { from: 2, to: 1, sequence, acknowledgement: 1, data }
}

/// Result of these frames, in the order in which they are processed.
#[track_caller]
fn found(stamps: Stamps, seen: &[(Tap, u64, Sent)]) -> Found {
    let mut transit = Transit::new(stamps, Limits::USUAL);
    for (number, (tap, nanos, sent)) in seen.iter().enumerate() {
        let (at, frame) = (Instant::from_nanos(*nanos), sent.frame(number as u16));
        transit.observe(*tap, at, Link::Ethernet, &frame, frame.len());
    }
    transit.finish()
}

/// Transits of both directions: number, minimum, maximum.
fn ways(found: &Found) -> [Option<(u64, i64, i64)>; 2] {
    let ways = found.clocks.as_ref().unwrap().ways;
    ways.map(|way| way.map(|way| (way.count, way.least_ns, way.most_ns)))
}

#[test]
fn offset_and_transits_are_those_of_class_4() {
    // The far clock is 1,000 ahead. Forward: 100 and 140; back: 100 and 160. Each packet is 9
    // octets.
    let data = || packet(&[7; 2]);
    let found = found(
        Stamps::TwoClocks,
        &[
            (Near, 10_000, there(1, data())),
            (Far, 11_100, there(1, data())),
            (Far, 12_900, back(1, data())),
            (Near, 12_000, back(1, data())),
            (Near, 20_000, there(10, data())),
            (Far, 21_140, there(10, data())),
            (Far, 22_840, back(10, data())),
            (Near, 22_000, back(10, data())),
        ],
    );
    assert_eq!((found.matching.matched, found.matching.tpdus), (4, [4, 4]));
    assert_eq!(ways(&found), [Some((2, 100, 140)), Some((2, 100, 160))]);
    let offset = found.clocks.unwrap().offset_ns.unwrap();
    assert!((offset.value - 1_000.0).abs() < 1e-6, "{offset:?}");
}

#[test]
fn a_retransmitted_segment_is_never_taken_for_the_original() {
    let one = |sequence| there(sequence, packet(&[7; 2]));
    // The second of three is lost between the taps and retransmitted 80,000 later. Meanwhile the
    // far tap holds the third, whose beginning is known only then.
    let found = found(
        Stamps::TwoClocks,
        &[
            (Near, 10_000, one(1)),
            (Near, 10_010, one(10)),
            (Near, 10_020, one(19)),
            (Far, 10_100, one(1)),
            (Far, 10_120, one(19)),
            (Near, 90_010, one(10)),
            (Far, 90_110, one(10)),
            (Far, 95_000, back(1, packet(&[]))),
            (Near, 95_100, back(1, packet(&[]))),
        ],
    );
    let matching = found.matching;
    assert_eq!((matching.matched, matching.tpdus), (3, [5, 4]), "{matching:?}");
    assert_eq!((matching.ambiguous, matching.unmatched), ([2, 1], [0, 0]));
    assert_eq!(ways(&found), [Some((2, 100, 100)), Some((1, 100, 100))]);
}

#[test]
fn a_tpdu_passes_with_the_segment_of_its_last_octet() {
    let long = packet(&[7; 40]);
    let (front, rest) = long.split_at(30);
    // Two short ones and the front of a long one; its rest with another.
    let first = [packet(&[1]), packet(&[2]), front.to_vec()].concat();
    let second = [rest, &packet(&[3])].concat();
    let next = 1 + first.len() as u32;
    let found = found(
        Stamps::TwoClocks,
        &[
            (Near, 10_000, there(1, first.clone())),
            (Near, 10_050, there(next, second.clone())),
            (Far, 10_200, there(1, first)),
            (Far, 10_450, there(next, second)),
            (Far, 20_000, back(1, packet(&[]))),
            (Near, 20_200, back(1, packet(&[]))),
        ],
    );
    assert_eq!((found.matching.matched, found.matching.tpdus), (5, [5, 5]));
    // The short ones take 200, the long one and the last 400; back 200.
    assert_eq!(ways(&found), [Some((4, 200, 400)), Some((1, 200, 200))]);
}

#[test]
fn segments_recut_by_a_middlebox_are_counted_and_not_matched() {
    let two = [packet(&[1]), packet(&[2])].concat();
    let (first, second) = two.split_at(8);
    let found = found(
        Stamps::TwoClocks,
        &[
            (Near, 10_000, there(1, two.clone())),
            (Far, 10_100, there(1, first.to_vec())),
            (Far, 10_150, there(9, second.to_vec())),
            (Near, 11_000, there(17, packet(&[3]))),
            (Far, 11_100, there(17, packet(&[3]))),
        ],
    );
    let matching = found.matching;
    assert_eq!((matching.recut, matching.matched), ([2, 2], 1), "{matching:?}");
    assert_eq!((matching.tpdus, matching.unmatched), ([3, 3], [0, 0]));
}

#[test]
fn numbers_may_wrap_and_one_clock_gives_each_transit() {
    let longest = Duration::from_secs(10);
    // 9 octets from 4 before the end of all numbers; the second begins at 5.
    let (first, second) = (there(u32::MAX - 3, packet(&[7; 2])), there(5, packet(&[7; 2])));
    let found = found(
        Stamps::OneClock { longest },
        &[
            (Near, 10_000, first.clone()),
            (Far, 10_300, first.clone()),
            (Near, 10_400, second.clone()),
            (Far, 11_300, second),
            (Far, 20_000, back(1, packet(&[]))),
            (Near, 20_700, back(1, packet(&[]))),
            // The first once more, which the far tap had seen.
            (Near, 30_000, first),
        ],
    );
    assert_eq!((found.matching.matched, found.matching.tpdus), (3, [3, 3]));
    assert_eq!(ways(&found), [Some((2, 300, 900)), Some((1, 700, 700))]);
}

#[test]
fn duplicates_by_a_mirror_port_count_once() {
    let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
    let mut see = |tap, nanos, identification, sent: &Sent| {
        let frame = sent.frame(identification);
        transit.observe(tap, Instant::from_nanos(nanos), Link::Ethernet, &frame, frame.len());
    };
    let tpdu = there(1, packet(&[1]));
    see(Near, 10_000, 1, &tpdu);
    see(Near, 10_005, 1, &tpdu);
    see(Far, 10_100, 1, &tpdu);
    let web = Sent { from: 3, ..there(1, b"GET / HTTP/1.1\r\n\r\n".to_vec()) };
    see(Near, 11_000, 2, &web);
    see(Far, 11_100, 2, &web);
    let matching = transit.finish().matching;
    assert_eq!((matching.tpdus, matching.matched), ([1, 1], 1), "{matching:?}");
}

#[test]
fn segments_after_a_gap_that_is_never_filled_are_matched() {
    for first in [1, 0x9000_0000] {
        // The far tap did not capture the first of two segments after the beginning.
        let one = |number: u32| there(first + 9 * number, packet(&[7; 2]));
        let mut seen = vec![(Near, 10_000, one(0)), (Far, 10_100, one(0))];
        seen.extend([(Near, 10_200, one(1)), (Near, 10_400, one(2)), (Far, 10_500, one(2))]);
        let matching = found(Stamps::TwoClocks, &seen).matching;
        assert_eq!((matching.matched, matching.unmatched), (2, [1, 0]), "{matching:?}");
    }
}

#[test]
fn held_segments_are_not_matched_beyond_the_longest_transit() {
    let one = |number: u32| there(1 + 9 * number, packet(&[7; 2]));
    let other = Sent { from: 3, ..there(1, packet(&[])) };
    // One tap misses the second packet until that is retransmitted, and holds the third meanwhile.
    // Its observation of another stream waits before both. The third arrives at the other tap
    // 13,000 after it passed, and 3,000 after it was released.
    for [here, there] in [[Near, Far], [Far, Near]] {
        let seen = [
            (here, 10_000, one(0)),
            (there, 10_100, one(0)),
            (here, 20_000, one(2)),
            (here, 28_000, other.clone()),
            (here, 30_000, one(1)),
            (there, 32_000, one(1)),
            (there, 33_000, one(2)),
        ];
        let found = found(Stamps::OneClock { longest: Duration::from_nanos(10_000) }, &seen);
        let Matching { matched, unmatched, .. } = found.matching;
        let [is_here, is_there] = [Near, Far].map(|tap| u64::from(tap == here) + 1);
        assert_eq!((matched, unmatched), (2, [is_here, is_there]), "{here:?}: {found:?}");
    }
}

#[test]
fn truncated_frames_and_other_links_give_the_same_packets() {
    // Links of Ethernet, 14 octets, and of IP alone (LINKTYPE_RAW, 101).
    let links = [(Link::Ethernet, 0), (Link::Other(101), 14)];
    for (far, skipped) in links {
        for kept in [usize::MAX, 54 + 7] {
            let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
            let mut next = u32::MAX - 900;
            for number in 0..20_u16 {
                let sent = there(next, packet(&vec![7; 90 + usize::from(number)]));
                next = next.wrapping_add(sent.data.len() as u32);
                let (at, frame) =
                    (Instant::from_nanos(1_000 * u64::from(number)), sent.frame(number));
                transit.observe(Near, at, Link::Ethernet, &frame, frame.len());
                // Not captured at the far tap.
                if number != 9 {
                    let octets = &frame[skipped..frame.len().min(kept)];
                    transit.observe(Far, at, far, octets, frame.len() - skipped);
                }
            }
            let matching = transit.finish().matching;
            let Matching { tpdus, matched, unmatched, .. } = matching;
            assert_eq!((tpdus, matched, unmatched), ([20, 19], 19, [1, 0]), "{far:?} {kept}");
        }
    }
}

#[test]
fn every_copy_is_counted_once_and_memory_is_bounded() {
    let mut pairs = 0;
    for seed in 1..=60_u64 {
        let mut draw = Draw(0x2026_1122 + seed);
        let limits = Limits { waiting: 40, pairs: 200 };
        let stamps = match seed % 2 {
            0 => Stamps::TwoClocks,
            _ => Stamps::OneClock { longest: Duration::from_nanos(3_000) },
        };
        let mut transit = Transit::new(stamps, limits);
        let stream: Vec<u8> =
            (0..60).flat_map(|_| packet(&vec![7; draw.below(30) as usize])).collect();
        for nanos in 0..1_500 {
            let tap = [Near, Far][draw.below(2) as usize];
            // Mostly in order with equal boundaries, sometimes anywhere and of any length, and with
            // octets that are no packet.
            let around = nanos as usize * stream.len() / 1_500;
            let (begin, octets) = match draw.below(20) {
                0 => (draw.below(stream.len() as u64) as usize, draw.below(80) as usize),
                _ => ((around + draw.below(80) as usize) / 40 * 40, 40),
            };
            let [begin, end] = [begin, begin + octets].map(|place| place.min(stream.len()));
            let mut data = stream[begin..end].to_vec();
            if draw.below(50) == 0 {
                data.iter_mut().for_each(|octet| *octet ^= 0x55);
            }
            let sequence = (begin as u32).wrapping_sub(300);
            let sent = Sent { acknowledgement: draw.below(900), ..there(sequence, data) };
            let sent = Sent { from: [1, 1, 1, 3][draw.below(4) as usize], ..sent };
            let frame = sent.frame(draw.below(4) as u16);
            let captured = frame.len() - draw.below(20) as usize * usize::from(draw.below(9) == 0);
            let at = Instant::from_nanos(nanos * 10);
            transit.observe(tap, at, Link::Ethernet, &frame[..captured], frame.len());
            let [tpdus, copies] = transit.pairing.window.counts();
            assert!(tpdus <= 40 && copies <= 160, "{tpdus} {copies}");
        }
        let Matching { tpdus, matched, unmatched, ambiguous, recut, .. } =
            transit.finish().matching;
        for tap in [0, 1] {
            let sum = matched + unmatched[tap] + ambiguous[tap] + recut[tap];
            assert_eq!(sum, tpdus[tap], "seed {seed}");
        }
        pairs += matched;
    }
    assert!(pairs > 1_000, "{pairs}");
}
