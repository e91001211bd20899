//! Entry point of the fuzz target of two taps: octets as a script of the traffic that passes both,
//! with invariants checked.
//!
//! Hosts 1 and 3 are at the near tap, 2 and 4 at the far one. Their TPDUs are lost, duplicated,
//! delayed and retransmitted; clocks are set; taps are opened and closed; segments of a TCP stream
//! are recut on their way; and there are frames of random octets with any stamp.
//!
//! In every case, the copies of a TPDU at one tap are matched at most as often as it was seen at
//! the other, every copy is counted once, and memory is bounded. If no TPDU is sent twice and no
//! clock is set, the expected matches and the bounds of the offset are known.

use crate::entry;
use core::time::Duration;
use meter::transit::clock::{Clocks, Course};
use meter::transit::{Found, Limits, Matching, Stamps, Tap, Transit};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::dissect::Link;
use wire::time::Instant;

const MS: u64 = 1_000_000;
/// Start of the script, by a clock that is never set: so late that no clock is before the origin at
/// first.
const BEGIN_NS: u64 = 1 << 60;
/// Longest transit by one clock; slower copies are not matched.
const LONGEST: Duration = Duration::from_secs(2);
/// Senders and receivers of TPDUs; those of an odd sender pass the near tap first.
const WAYS: [[u32; 2]; 4] = [[1, 2], [2, 1], [3, 2], [4, 3]];
/// TCP sockets, from the near host to the far one.
const THERE: u8 = 0b1001;
const ACK: u8 = 0x10;
/// Packets of the TCP stream.
const PACKETS: usize = 300;
/// Limit of octets held of the streams of a tap: 64 KiB beyond a gap in each direction plus one
/// segment too many, and the records of 256 segments, some 24 octets each. One stream is the
/// script's; frames of random octets make few others.
const STREAM_OCTETS: usize = 2 * 2 * (65_536 + 2_000 + 256 * 24);

/// Key of a TPDU: direction, kind and number.
type Name = (usize, Kind, usize);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Dt,
    Ak,
    /// Packet of the TCP stream.
    Packet,
}

/// Frame that passes a tap.
#[derive(Clone)]
struct Passing {
    at_ns: u64,
    tap: Tap,
    /// Stamp that overrides the tap's clock.
    stamp: Option<u64>,
    link: Link,
    octets: Vec<u8>,
    names: Vec<Name>,
}

/// Fate of a frame between the taps.
#[derive(Clone, Copy)]
struct Fate {
    is_lost: bool,
    is_doubled: bool,
    /// True if an AK precedes the DT in it, or if a segment is cut in two.
    is_in_two: bool,
    transit_ns: u64,
}

/// Octets of the script in sequence; zeros after its end.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn next(&mut self) -> Option<u8> {
        let (octet, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*octet)
    }

    fn octet(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }

    fn size(&mut self) -> usize {
        usize::from(self.octet())
    }

    fn fate(&mut self, bits: u8) -> Fate {
        // Less than half a second in both directions together, so that nothing is settled before it
        // arrives.
        let transit_ns = 1 + u64::from(self.octet()) * 1_600_000;
        let [is_lost, is_doubled, is_in_two] = [1, 2, 4].map(|bit| bits & bit != 0);
        Fate { is_lost, is_doubled, is_in_two, transit_ns }
    }
}

/// Order in which both taps are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// By the turns of the matcher.
    Turn,
    /// By time.
    Time,
    /// One tap after the other.
    Apart,
}

/// Taps and the network between them.
struct World {
    limits: Limits,
    has_one_clock: bool,
    /// True if the initial clock difference is set in the matcher.
    is_lead_known: bool,
    order: Order,
    now_ns: u64,
    /// Lead of each clock from each time on, and the times at which each tap was closed or opened.
    clocks: [Vec<(u64, i64)>; 2],
    turned: [Vec<u64>; 2],
    passing: Vec<Passing>,
    /// TPDUs sent: direction, and whether an AK precedes them.
    sent: Vec<(usize, bool)>,
    /// Octets of the TCP stream, ends of its packets, octets sent, and number of segments.
    stream: Vec<u8>,
    packet_ends: Vec<usize>,
    streamed: usize,
    segments: u16,
    /// True if no TPDU is sent twice, no clock is set, and no frame has random octets.
    is_once: bool,
    is_steady: bool,
    is_known: bool,
}

impl World {
    fn new(script: &mut Script<'_>) -> Self {
        let (how, limits) = (script.octet(), script.size());
        let ahead = i64::from(i16::from_be_bytes([script.octet(), script.octet()]));
        let (mut stream, mut packet_ends) = (Vec::new(), Vec::new());
        for packet in 0..PACKETS {
            let data = vec![7; packet * 13 % 60];
            stream.extend([3, 0, 0, 7 + data.len() as u8, 2, 0xF0, 0x80]);
            stream.extend(data);
            packet_ends.push(stream.len());
        }
        let has_one_clock = how & 1 != 0;
        let ahead = ahead << [0, 10, 20, 30][usize::from(how >> 4 & 3)];
        Self {
            limits: Limits {
                waiting: [1, 4, 16, 1 << 12][limits & 3],
                pairs: [2, 5, 64, 1 << 12][limits >> 2 & 3],
            },
            has_one_clock,
            is_lead_known: how & 2 != 0,
            order: match how >> 2 & 3 {
                _ if has_one_clock => Order::Time,
                0 | 1 => Order::Turn,
                2 => Order::Time,
                _ => Order::Apart,
            },
            now_ns: BEGIN_NS,
            clocks: [vec![(0, 0)], vec![(0, if has_one_clock { 0 } else { ahead })]],
            turned: [Vec::new(), Vec::new()],
            passing: Vec::new(),
            sent: Vec::new(),
            stream,
            packet_ends,
            streamed: 0,
            segments: 0,
            is_once: true,
            is_steady: true,
            is_known: true,
        }
    }

    /// Runs a step: eight kinds, each with five bits of its own.
    fn step(&mut self, script: &mut Script<'_>, operation: u8) {
        let value = operation >> 3;
        match operation & 7 {
            0 => self.now_ns += u64::from(value) * MS,
            1 => self.now_ns += u64::from(value) * 200 * MS,
            2 => {
                self.sent.push((usize::from(value & 3), value & 16 != 0));
                let fate = script.fate(value >> 2);
                self.send(self.sent.len() - 1, fate);
            }
            3 if !self.sent.is_empty() => {
                let number = script.size() % self.sent.len();
                let fate = script.fate(value);
                self.is_once = false;
                self.send(number, fate);
            }
            4 => {
                let tap = if self.has_one_clock { 0 } else { usize::from(value & 1) };
                let scale = [0, 20, 30, 47][usize::from(value >> 1 & 3)];
                let by = i64::from(i16::from_be_bytes([script.octet(), script.octet()]));
                let (_, ahead) = self.clocks[tap][self.clocks[tap].len() - 1];
                self.is_steady = false;
                self.clocks[tap].push((self.now_ns, ahead.wrapping_add(by << scale)));
            }
            5 => self.turned[usize::from(value & 1)].push(self.now_ns),
            6 => {
                let begin = self.streamed.saturating_sub(script.size());
                let end = (begin + 1 + usize::from(value) * 7).min(self.stream.len());
                let bits = script.octet();
                let fate = script.fate(bits);
                self.stream(begin..end, fate);
            }
            7 => self.any_frame(script, value),
            _ => {}
        }
    }

    /// Sends a frame with an assigned number from its host.
    fn send(&mut self, number: usize, fate: Fate) {
        let (way, has_ak) = self.sent[number];
        let octets = frame(WAYS[way], number, has_ak);
        let mut names = vec![(way, Kind::Dt, number)];
        names.extend(has_ak.then_some((way, Kind::Ak, number)));
        let first = if WAYS[way][0] % 2 == 1 { Tap::Near } else { Tap::Far };
        let passing = Passing {
            at_ns: self.now_ns,
            tap: first,
            stamp: None,
            link: Link::Ethernet,
            octets,
            names,
        };
        self.pass(passing.clone(), &[passing], fate);
    }

    /// Passes a frame at the tap where it is sent, and its successors at the other one.
    fn pass(&mut self, first: Passing, others: &[Passing], fate: Fate) {
        let tap = if first.tap == Tap::Near { Tap::Far } else { Tap::Near };
        self.passing.push(first);
        let Fate { is_lost, is_doubled, transit_ns, .. } = fate;
        let once = (!is_lost).then_some(transit_ns);
        let twice = is_doubled.then_some(transit_ns + MS);
        for transit_ns in once.into_iter().chain(twice) {
            let at_ns = self.now_ns + transit_ns;
            let arrive = others.iter().map(|other| Passing { at_ns, tap, ..other.clone() });
            self.passing.extend(arrive);
        }
        self.is_once &= !is_doubled;
    }

    /// Sends a part of the stream, which is new, was sent before, or both.
    fn stream(&mut self, part: core::ops::Range<usize>, fate: Fate) {
        if part.is_empty() {
            return;
        }
        self.is_once = false;
        self.streamed = self.streamed.max(part.end);
        let mut segment = |begin: usize, end: usize| {
            self.segments = self.segments.wrapping_add(1);
            let sequence = 0xFFFF_F000_u32.wrapping_add(begin as u32);
            let mut octets = entry::segment(THERE, ACK, sequence, 1, &self.stream[begin..end]);
            octets[4..6].copy_from_slice(&self.segments.to_be_bytes());
            let ends = self.packet_ends.iter().enumerate();
            let within = ends.filter(|(_, last)| (begin..end).contains(&(*last - 1)));
            Passing {
                at_ns: self.now_ns,
                tap: Tap::Near,
                stamp: None,
                link: Link::Other(101),
                octets,
                names: within.map(|(packet, _)| (0, Kind::Packet, packet)).collect(),
            }
        };
        let whole = segment(part.start, part.end);
        let middle = part.start.midpoint(part.end);
        let others = if fate.is_in_two && middle > part.start {
            vec![segment(part.start, middle), segment(middle, part.end)]
        } else {
            vec![whole.clone()]
        };
        self.pass(whole, &others, fate);
    }

    /// Passes a frame of random octets, or an earlier frame, at either tap with any stamp.
    fn any_frame(&mut self, script: &mut Script<'_>, value: u8) {
        let tap = if value & 1 == 0 { Tap::Near } else { Tap::Far };
        let mut passing = Passing {
            at_ns: self.now_ns,
            tap,
            stamp: None,
            link: if value & 8 == 0 { Link::Ethernet } else { Link::Other(101) },
            octets: Vec::new(),
            names: Vec::new(),
        };
        if value & 2 != 0 && !self.passing.is_empty() {
            let place = script.size() % self.passing.len();
            let before = self.passing[place].clone();
            passing = Passing { at_ns: self.now_ns, tap, ..before };
            self.is_once = false;
        } else {
            passing.octets = (0..script.size()).map(|_| script.octet()).collect();
            self.is_known = false;
        }
        if value & 4 != 0 {
            passing.stamp = Some(u64::from_be_bytes([(); 8].map(|()| script.octet())));
            self.is_steady = false;
        }
        self.passing.push(passing);
    }
}

/// DT of class 4, with or without an AK before it, over LLC and the inactive subset.
fn frame(ends: [u32; 2], number: usize, has_ak: bool) -> Vec<u8> {
    let [high, low] = ((number >> 7) as u16).to_be_bytes();
    let in_connection = (number & 0x7F) as u8;
    let mut tpdus = Vec::new();
    if has_ak {
        tpdus.extend([4, 0x61, high, low, in_connection]);
    }
    tpdus.extend([4, 0xF0, high, low, 0x80 | in_connection, b'x']);
    let [from, to] = ends.map(|host| Mac::local(host).0);
    let length = (tpdus.len() as u16 + 4).to_be_bytes();
    let mut octets = [&to[..], &from, &length, &[0xFE, 0xFE, 3, 0], &tpdus].concat();
    octets.resize(60, 0);
    octets
}

/// Frame at a tap.
struct Heard {
    tap: Tap,
    stamp: Instant,
    passing: Passing,
}

/// Frames at both taps, in the order of time.
fn heard(world: &World) -> Vec<Heard> {
    let mut all: Vec<&Passing> = world.passing.iter().collect();
    all.sort_by_key(|passing| passing.at_ns);
    let mut heard = Vec::new();
    for passing in all {
        let tap = passing.tap as usize;
        let turned = world.turned[tap].iter().filter(|turned| **turned <= passing.at_ns).count();
        if turned % 2 == 1 {
            continue;
        }
        let clock = &world.clocks[if world.has_one_clock { 0 } else { tap }];
        let since = clock.iter().rfind(|(since, _)| *since <= passing.at_ns);
        let ahead = since.map_or(0, |(_, ahead)| *ahead);
        let stamp = passing.stamp.unwrap_or(passing.at_ns.wrapping_add_signed(ahead));
        let stamp = Instant::from_nanos(stamp);
        heard.push(Heard { tap: passing.tap, stamp, passing: passing.clone() });
    }
    heard
}

/// Matcher that processes frames, with invariants checked after each.
struct Shown<'a> {
    world: &'a World,
    transit: Transit,
    /// Counts of the intervals taken.
    taken: Vec<Matching>,
}

impl<'a> Shown<'a> {
    fn new(world: &'a World) -> Self {
        let stamps = match world.has_one_clock {
            true => Stamps::OneClock { longest: LONGEST },
            false => Stamps::TwoClocks,
        };
        let mut transit = Transit::new(stamps, world.limits);
        if world.is_lead_known {
            transit.clocks_are_apart(world.clocks[1][0].1);
        }
        Self { world, transit, taken: Vec::new() }
    }

    fn show(&mut self, heard: &Heard) {
        let Heard { tap, stamp, passing: Passing { link, octets, .. } } = heard;
        self.transit.observe(*tap, *stamp, *link, octets, octets.len());
        let (held, Limits { waiting, pairs }) = (self.transit.held(), self.world.limits);
        assert!(held.tpdus <= waiting && held.copies <= 4 * waiting, "{held:?}");
        assert!(held.hosts <= waiting && held.pairs < pairs + (pairs / 4).max(2), "{held:?}");
        assert!(held.stream_octets <= 2 * STREAM_OCTETS, "{held:?}");
        if self.world.has_one_clock && stamp.as_nanos() % 5 == 0 {
            self.transit.advance(*stamp);
            self.taken.push(self.transit.take_interval().matching);
        }
    }

    /// Processes all frames, and returns the result.
    fn all(mut self, heard: &[Heard]) -> Found {
        let of_tap = |tap: Tap| heard.iter().filter(move |heard| heard.tap == tap);
        match self.world.order {
            Order::Time => heard.iter().for_each(|heard| self.show(heard)),
            Order::Apart => {
                for tap in [Tap::Near, Tap::Far] {
                    of_tap(tap).for_each(|heard| self.show(heard));
                    self.transit.end(tap);
                }
            }
            Order::Turn => {
                let mut near = of_tap(Tap::Near).peekable();
                let mut far = of_tap(Tap::Far).peekable();
                loop {
                    let tap = match (near.peek().is_some(), far.peek().is_some()) {
                        (true, true) => self.transit.turn(),
                        (true, false) => Tap::Near,
                        (false, true) => Tap::Far,
                        (false, false) => break,
                    };
                    let frames: &mut dyn Iterator<Item = &Heard> = match tap {
                        Tap::Near => &mut near,
                        Tap::Far => &mut far,
                    };
                    frames.next().into_iter().for_each(|heard| self.show(heard));
                    [near.peek().is_none(), far.peek().is_none()]
                        .into_iter()
                        .zip([Tap::Near, Tap::Far])
                        .filter(|(is_over, _)| *is_over)
                        .for_each(|(_, tap)| self.transit.end(tap));
                }
            }
        }
        let found = self.transit.finish();
        let sum = |of: fn(&Matching) -> u64| {
            self.taken.iter().map(of).sum::<u64>() <= of(&found.matching)
        };
        let parts: [fn(&Matching) -> u64; 4] =
            [|of| of.matched, |of| of.tpdus[0], |of| of.unmatched[1], |of| of.ambiguous[0]];
        assert!(parts.into_iter().all(sum), "the intervals add up to the total");
        found
    }
}

/// Number of times that each tap saw each TPDU.
fn copies(heard: &[Heard]) -> BTreeMap<Name, [u64; 2]> {
    let mut copies: BTreeMap<Name, [u64; 2]> = BTreeMap::new();
    for Heard { tap, passing, .. } in heard {
        for name in &passing.names {
            copies.entry(*name).or_default()[*tap as usize] += 1;
        }
    }
    copies
}

/// Runs a script of octets: order of the taps, limits, lead of the far clock, and steps.
pub(crate) fn script(octets: &[u8]) {
    let mut script = Script(octets);
    let mut world = World::new(&mut script);
    while let Some(operation) = script.next() {
        world.step(&mut script, operation);
    }
    let heard = heard(&world);
    let found = Shown::new(&world).all(&heard);
    assert_eq!(found, Shown::new(&world).all(&heard), "a second run has the same result");
    let copies = copies(&heard);
    let Matching { tpdus, matched, unmatched, ambiguous, recut, .. } = found.matching;
    for tap in [0, 1] {
        let counted = matched + unmatched[tap] + ambiguous[tap] + recut[tap];
        assert_eq!(counted, tpdus[tap], "every copy counts once: {:?}", found.matching);
    }
    if world.is_known {
        let most: u64 = copies.values().map(|[near, far]| near.min(far)).sum();
        assert!(matched + recut[0] <= most, "{most} were at both taps: {:?}", found.matching);
        for tap in [0, 1] {
            let all: u64 = copies.values().map(|counts| counts[tap]).sum();
            let of_class_4 = copies.iter().filter(|((_, kind, _), _)| *kind != Kind::Packet);
            let least: u64 = of_class_4.map(|(_, counts)| counts[tap]).sum();
            assert!((least..=all).contains(&tpdus[tap]), "{least} to {all}: {:?}", found.matching);
        }
    }
    check_clocks(&world, &found);
    let all: u64 = copies.values().flatten().sum();
    let has_room = world.limits.waiting as u64 >= all;
    if world.is_known && world.is_once && world.is_steady && has_room {
        check_once(&world, &copies, &found);
    }
}

/// Checks that every pair has one direction or none.
fn check_clocks(world: &World, Found { matching, clocks, .. }: &Found) {
    assert_eq!(clocks.is_some(), matching.matched > 0, "{matching:?}");
    let Some(Clocks { course, unplaced, ways, .. }) = clocks else { return };
    if matches!(course, Course::Broken { .. }) {
        return;
    }
    let placed: u64 = ways.iter().flatten().map(|way| way.count).sum();
    assert_eq!(placed + unplaced, matching.matched, "{clocks:?}");
    for way in ways.iter().flatten() {
        assert!(way.least_ns <= way.median_ns && way.median_ns <= way.p99_ns, "{way:?}");
        assert!(way.p99_ns <= way.most_ns, "{way:?}");
        // Frames come in the order of the one clock as long as it is not set.
        if world.has_one_clock && world.is_steady {
            let longest_ns = i64::try_from(LONGEST.as_nanos()).unwrap();
            assert!(
                (0..=longest_ns).contains(&way.least_ns) && way.most_ns <= longest_ns,
                "{way:?}"
            );
        }
    }
}

/// Checks that TPDUs sent once, with clocks that are never set, are matched if both taps saw them,
/// and that the true clock difference lies within the bounds.
fn check_once(
    world: &World,
    copies: &BTreeMap<Name, [u64; 2]>,
    Found { matching, clocks, .. }: &Found,
) {
    let count = |counts: [u64; 2]| copies.values().filter(|of| **of == counts).count() as u64;
    let Matching { matched, unmatched, ambiguous, crowded, .. } = *matching;
    let expected = (count([1, 1]), [count([1, 0]), count([0, 1])], [0; 2], 0);
    assert_eq!((matched, unmatched, ambiguous, crowded), expected);
    let Some(Clocks { course, offset_ns, skew, ways, .. }) = clocks else { return };
    assert_eq!(*course, Course::Steady);
    if world.has_one_clock {
        let both = copies.iter().filter(|(_, counts)| **counts == [1, 1]);
        let is_there = both.map(|((way, ..), _)| WAYS[*way][0] % 2 == 1);
        let there = is_there.filter(|is_there| *is_there).count() as u64;
        assert_eq!(ways.map(|way| way.map_or(0, |way| way.count)), [there, matched - there]);
    } else if let (Some(offset), Some(skew)) = (offset_ns, skew) {
        let truth = world.clocks[1][0].1 as f64;
        assert!(offset.least <= truth && truth <= offset.most, "{truth} {offset:?}");
        assert!(skew.least <= 0.0 && 0.0 <= skew.most, "{skew:?}");
    }
}
