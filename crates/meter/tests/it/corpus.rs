//! Corpora of the fuzzers: scripts of TCP segments and frames, equal to those generated here.

use crate::association_entry::{self, Followed};
use crate::{Draws, cyclic_entry, entry, ordinary, reassembler, transactions_entry, two_taps};
use std::fs;
use std::path::Path;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const FIN: u8 = 0x11;
/// From the calling socket to the called one, and back.
const THERE: u8 = 4;
const BACK: u8 = 1;

/// TCP segment 10 ms after the one before it.
fn segment(ends: u8, flags: u8, sequence: u16, data: &[u8]) -> Vec<u8> {
    let [high, low] = sequence.to_be_bytes();
    let head = [1, ends, flags, high, low, 0, 10, u8::try_from(data.len()).unwrap()];
    [&head[..], data].concat()
}

/// Ethernet frame, `cut` ms after the previous step, with an octet missing for each 16 of them.
fn frame(cut: u8, octets: &[u8]) -> Vec<u8> {
    let head = [0, 0, 0, 0, 0, 0, cut, u8::try_from(octets.len()).unwrap()];
    [&head[..], octets].concat()
}

/// Class 4 TPDU over LLC and the inactive subset, from station 1 to 2.
fn class4(tpdu: &[u8]) -> Vec<u8> {
    let stations = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    let length = [0, u8::try_from(4 + tpdu.len()).unwrap()];
    [&stations[..], &length, &[0xFE, 0xFE, 3, 0], tpdu].concat()
}

/// CR and CC of class 0, and two DTs of which one ends a TSDU, each in its TPKT.
const CR: [u8; 11] = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0];
const CC: [u8; 11] = [3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0];
const PART: [u8; 9] = [3, 0, 0, 9, 2, 0xF0, 0, 0x32, 0x01];
const LAST: [u8; 9] = [3, 0, 0, 9, 2, 0xF0, 0x80, 0x32, 0x01];

fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let opened = [
        segment(THERE, SYN, 0, &[]),
        segment(BACK, SYN | ACK, 0, &[]),
        segment(THERE, ACK, 1, &CR),
        segment(BACK, ACK, 1, &CC),
    ]
    .concat();
    let data = [segment(THERE, ACK, 12, &PART), segment(THERE, ACK, 21, &LAST)].concat();
    let swapped = [segment(THERE, ACK, 21, &LAST), segment(THERE, ACK, 12, &PART)].concat();
    let with = |parts: &[&[u8]]| [&[&opened[..]], parts].concat().concat();
    let request = class4(&[6, 0xE1, 0, 0, 0, 1, 0x40]);
    let confirmation = class4(&[6, 0xD1, 0, 1, 0, 2, 0x40]);
    let numbered = class4(&[4, 0xF0, 0, 2, 0x80, 0xAA]);
    let acknowledged = class4(&[4, 0x61, 0, 1, 1]);
    vec![
        ("data", with(&[&data])),
        ("out-of-order", with(&[&swapped])),
        ("twice", with(&[&data, &data])),
        ("one-octet-segments", {
            let octets = CR.iter().zip(1_u16..);
            octets.flat_map(|(octet, at)| segment(THERE, ACK, at, &[*octet])).collect()
        }),
        ("gap-and-resynchronisation", with(&[&segment(THERE, ACK, 300, &LAST)])),
        ("closed", with(&[&data, &segment(THERE, FIN, 30, &[]), &segment(BACK, FIN, 12, &[])])),
        ("class4", [frame(1, &request), frame(1, &confirmation), frame(1, &numbered)].concat()),
        (
            "class4-twice",
            [frame(1, &request), frame(9, &request), frame(1, &acknowledged)].concat(),
        ),
        ("class4-cut", [frame(1, &request), frame(0x21, &numbered)].concat()),
        ("ordinary", ordinary::script(1, 40)),
        ("ordinary-long", ordinary::script(2, 400)),
    ]
}

/// Stream from this number on of ten packets of 0 to 90 octets and one of 1,000, and its script.
fn reassembled(first: u32, operations: &[u8]) -> Vec<u8> {
    let lengths = (0..10).map(|packet| packet * 20).chain([0xE9]);
    let packets: Vec<u8> = [10].into_iter().chain(lengths).collect();
    [&first.to_be_bytes()[..], &packets, operations].concat()
}

/// Scripts of a stream: 8n sends n + 1 octets, 8n + 1 45 times as many; 8n + 2 delivers one of the
/// segments under way, 8n + 4 a copy of it; 8n + 5 retransmits; 6 acknowledges; 8n + 7 moves the
/// clock.
fn reassembler_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let in_order = [0x19, 2].repeat(12);
    let each_octet = [0, 2].repeat(200);
    let overtaken = [9, 9, 9, 9, 9, 0x22, 0x1A, 6, 0x12, 0x0A, 2, 6].repeat(3);
    let copied = [0x19, 4, 4, 2, 0xFF, 6].repeat(9);
    let repeats = [0x29, 2, 0x0D, 0, 40, 0x15, 0, 200, 6].repeat(6);
    let late = [0x51, 0x51, 0x0A, 0x4F, 0x0D, 0, 9, 2].repeat(4);
    vec![
        ("in-order", reassembled(1_000, &in_order)),
        ("each-octet", reassembled(7, &each_octet)),
        ("overtaken", reassembled(0x8000_0000, &overtaken)),
        ("copied", reassembled(0x7FFF_FF00, &copied)),
        ("again", reassembled(1, &repeats)),
        ("late", reassembled(77, &late)),
        ("numbers-begin-anew", reassembled(u32::MAX - 700, &[&overtaken[..], &repeats].concat())),
        ("all-at-once", reassembled(0, &[])),
        (
            "clock-put-back",
            reassembled(5, &[[0x7F; 9], [0, 2, 0x77, 0x19, 2, 0x7F, 1, 2, 6]].concat()),
        ),
    ]
}

/// Scripts of two taps: the order in which both are read, the limits (15 for the maximum), and the
/// lead of the far clock, in steps of about a second if the order has 0x30.
fn two_taps_seeds() -> Vec<(&'static str, Vec<u8>)> {
    // Each direction at 2 ms: 8w + 2 sends in direction w; 0x20 more is lost, 0x80 more with an AK;
    // 0x10 waits 2 ms.
    let each_way = [0x02, 9, 0x10, 0x0A, 3, 0x10, 0x12, 200, 0x10, 0x1A, 90, 0x10].repeat(8);
    let some_lost = [0x02, 9, 0x29, 0x2A, 3, 0x10, 0x92, 200, 0x89, 0xBA, 90, 0x10].repeat(8);
    // 3 retransmits the n-th; with 0x08 it is lost, with 0x10 duplicated. 0x29 is a second, and so
    // four go by.
    let repeats = [0x02, 9, 0x10, 0x0A, 3, 0x0B, 0, 7, 0x29, 0x13, 1, 9, 0x03, 0, 99].repeat(8);
    let comes_back = [0x02, 9, 0x29, 0x29, 0x03, 0, 5, 0x29, 0x29, 0x29, 0x03, 0, 50].repeat(8);
    // 0x24 and 0x2C set a clock by about that number of seconds; 5 and 0x0D close a tap or open it.
    let set = [&each_way[..], &[0x24, 0, 7], &each_way, &[0x2C, 0xFF, 3]].concat().repeat(2);
    let late = [&[0x0D], &some_lost[..], &[0x0D], &some_lost, &[0x05], &each_way].concat();
    // 6: a multiple of 7 octets of a stream, its distance back, its fate, and its delay.
    let stream =
        [0x5E, 0, 0, 9, 0x10, 0x66, 0, 1, 9, 0x51, 0x7E, 80, 0, 20, 0x4E, 0, 4, 7].repeat(9);
    // 7: octets that are no frame, the first frame at the far tap once more, and with the greatest
    // stamp.
    let odd = [0x07, 3, 1, 2, 3, 0x1F, 0, 0x3F, 0, 255, 255, 255, 255, 255, 255, 255, 255];
    let odd = [&each_way[..], &odd, &each_way, &odd, &repeats].concat();
    // 0x29 is a second with little traffic; the near tap ends with a frame under way.
    let seldom = [&[0x02, 9, 0x29, 0x2A, 3][..], &[0x29; 8], &[0x2A, 3, 0x10, 0x92, 16]].concat();
    // Traffic between the other hosts is never answered.
    let unanswered = [[0x1A, 9, 0x10].repeat(8), [0x02, 9, 0x10, 0x0A, 3, 0x10].repeat(8)].concat();
    let with = |head: [u8; 4], steps: &[u8]| [&head[..], steps].concat();
    vec![
        ("seldom", with([0x02, 15, 0, 9], &seldom)),
        ("unanswered", with([0x20, 7, 0x10, 0], &unanswered)),
        ("each-way", with([0, 15, 0, 9], &each_way)),
        ("some-lost", with([0x32, 15, 0x0E, 0x10], &some_lost)),
        ("one-clock", with([1, 15, 0, 0], &[&some_lost[..], &repeats].concat())),
        ("again", with([0x20, 11, 0x80, 0], &repeats)),
        ("comes-back", with([0x08, 15, 0, 0], &comes_back)),
        ("clocks-are-set", with([0x30, 3, 0, 1], &set)),
        ("begins-later-and-ends-earlier", with([0x32, 15, 0xFF, 0xF0], &late)),
        ("one-after-the-other", with([0x0C, 15, 0, 200], &late)),
        ("little-room", with([0, 0, 0, 0], &[&repeats[..], &some_lost].concat())),
        ("stream", with([0, 15, 0, 50], &stream)),
        ("stream-by-one-clock", with([1, 2, 0, 0], &stream)),
        ("any-frames", with([0x0A, 14, 1, 1], &odd)),
    ]
}

/// Scripts of associations: 8n sends a TSDU of an opening or end from the client, 8n + 1 one from the
/// server; 8n + 2 and 8n + 3 an MMS PDU with the invoke identifier that follows; 6 and 7 move the
/// clock and change the way.
fn follower_seeds() -> Vec<(&'static str, Vec<u8>)> {
    // CR of the client, CC of the server, CN, AC.
    let open = [0x0F, 0x07, 0x17, 0x00, 0x09];
    let reads =
        [0x02, 1, 0x02, 2, 0x02, 3, 0x26, 0x43, 3, 0x26, 0x83, 1, 0x8B, 2, 0x43, 9, 0x43, 3];
    let report = [0xB3, 1, 0x1E, 0xB3, 1, 0xB3, 2];
    let ends = [0x02, 7, 0x02, 8, 0x93, 7, 0x9B, 0, 0xA2, 8, 0xAB, 0, 0x20, 0x29];
    let pieces = [0x67, 0x00, 0x6F, 0x09, 0x02, 1, 0x7F, 0x43, 1];
    let holes = [0x02, 1, 0x2F, 0x43, 1, 0x3F, 0x02, 2, 0x43, 2, 0x37, 0x43, 2];
    let with = |parts: &[&[u8]]| [&[&open[..]], parts].concat().concat();
    vec![
        ("reads", with(&[&reads, &report, &ends])),
        ("under-way", [&reads[..], &report].concat()),
        ("pieces", [&open[..3], &pieces[..], &reads[..]].concat()),
        ("holes", with(&[&holes, &reads])),
        ("aborted", with(&[&[0x02, 1, 0x30], &open[3..], &[0x02, 1, 0x39], &[0x1F, 0x27]])),
        ("refused", with(&[&[0x00, 0x11, 0x00, 0x19, 0x00, 0x1F]])),
        ("changed", with(&[&[0x25, 0x40, 0x02, 1, 0x35, 9, 0x43, 1], &reads])),
        ("wrong-context", with(&[&[0xFA, 1, 0xFB, 2], &reads])),
    ]
}

/// Scripts of a thousand frames: of each protocol alone, of all of them, and with numbers at random.
fn cyclic_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let steps = |kind: fn(u16) -> u8, number: fn(u16) -> u16| {
        let step = move |n: u16| {
            let [high, low] = number(n).to_be_bytes();
            [kind(n), 1, 0, 250, high, low, (n / 400) as u8, 16, 0, 0]
        };
        (0..1_000).flat_map(step).collect()
    };
    vec![
        ("goose", steps(|_| 0, |n| n % 400)),
        ("samples", steps(|_| 1, |n| n * 2 % 800)),
        ("cycles", steps(|_| 2, |n| n.wrapping_mul(64))),
        ("all-with-changes", steps(|n| n as u8, |n| n / 3)),
        ("at-random", steps(|n| n as u8 % 3, |n| n.wrapping_mul(40_503))),
        ("redundant", redundant()),
    ]
}

/// Frames of GOOSE twice: 500 on both LANs of PRP, then 500 both ways round a ring of HSR.
fn redundant() -> Vec<u8> {
    let step = |n: u16| {
        let [high, low] = (n / 2).to_be_bytes();
        [if n < 1_000 { 20 } else { 40 }, 1, 0, 250 + (n & 1) as u8, high, low, 0, 16, 0, 0]
    };
    (0..2_000).flat_map(step).collect()
}

/// Scripts of a thousand segments with requests and replies: answered each, sent again, beyond gaps,
/// cut, with connections that begin and end, and at random.
fn transaction_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let steps = |step: fn(u16) -> [u8; 8]| (0..1_000).flat_map(step).collect();
    vec![
        ("answered", steps(|n| [n as u8 & 1, 0, 5, (n / 2) as u8, 1, n as u8 & 4, 0, 0])),
        ("pipelined", steps(|n| [(n / 4) as u8 & 1, 1, 2, n as u8 & 3, 0x12, n as u8, 0, 0])),
        ("one-identifier", steps(|n| [u8::from(n % 3 == 1), 2, 90, 0, 3, n as u8 & 2, 0, 0])),
        ("again", steps(|n| [n as u8 & 3, 0, 60, (n / 4) as u8, 0xE1, 1, 0, 0])),
        (
            "every-protocol",
            steps(|n| [(n / 8) as u8 & 1, n as u8 & 7, 1, (n / 16) as u8, 0x21, 1, 0, 0]),
        ),
        (
            "many-functions",
            steps(|n| [(n / 4) as u8 & 1, n as u8 & 7, 3, (n / 9) as u8, n as u8, 2, 0, 0]),
        ),
        ("numbered", steps(|n| [n as u8 & 1, 2, 9, (n / 2) as u8, 0x20, (n / 2) as u8, 0, 0])),
        ("gaps-and-ends", steps(|n| [n as u8 & 7, n as u8 & 0x73, 250, 1, 2, 3, 0, (n / 7) as u8])),
        ("late", steps(|n| [n as u8 & 1, 0x80, 120, (n / 8) as u8, 1, 1, 0, 0])),
        ("divided", steps(|n| [8 | n as u8 & 0x31, 3, 9, n as u8, n as u8, 0, n as u8, 9])),
        (
            "at-random",
            steps(|n| n.wrapping_mul(40_503).to_be_bytes().repeat(4).try_into().unwrap()),
        ),
    ]
}

#[test]
fn scripts_of_requests_and_replies_keep_their_claims() {
    let seeds = transaction_seeds();
    let mut draws = Draws(25);
    for _ in 0..400 {
        let (_, mut script) = seeds[draws.below(seeds.len())].clone();
        for _ in 0..draws.below(600) {
            let place = draws.below(script.len());
            script[place] = draws.octet();
        }
        transactions_entry::transactions(&script);
    }
}

#[test]
fn scripts_of_cyclic_frames_keep_their_claims() {
    let seeds = cyclic_seeds();
    let mut draws = Draws(24);
    for _ in 0..300 {
        let mut script = seeds[draws.below(seeds.len())].1.clone();
        script.extend_from_slice(&seeds[draws.below(seeds.len())].1);
        for _ in 0..=draws.below(200) {
            let place = draws.below(script.len());
            script[place] = draws.octet();
        }
        cyclic_entry::cyclic(&script);
    }
}

/// Runs the seeds with octets changed; the seeds together reach each end of a request.
#[test]
fn scripts_of_associations_keep_their_claims() {
    let seeds = follower_seeds();
    let all: Vec<_> = seeds.iter().map(|it| association_entry::association(&it.1)).collect();
    let sum = |count: fn(&Followed) -> u64| all.iter().map(count).sum::<u64>();
    let seen = [
        ("answers", sum(|it| it.answers)),
        ("errors", sum(|it| it.errors)),
        ("rejects", sum(|it| it.rejects)),
        ("unanswered", sum(|it| it.unanswered)),
        ("reports", sum(|it| it.reports)),
        ("unrequested", sum(|it| it.unrequested)),
        ("repeated", sum(|it| it.repeated)),
    ];
    let never: Vec<_> = seen.iter().filter(|(_, count)| *count == 0).collect();
    assert!(never.is_empty(), "no seed reaches {never:?}");
    let mut draws = Draws(20);
    for _ in 0..4_000 {
        let mut script = seeds[draws.below(seeds.len())].1.clone();
        script.extend_from_slice(&seeds[draws.below(seeds.len())].1);
        for _ in 0..=draws.below(4) {
            let place = draws.below(script.len());
            script[place] = draws.octet();
        }
        association_entry::association(&script);
    }
}

#[test]
fn corpora_contain_the_seeds_and_every_file_holds_its_claims() {
    check("meter", seeds(), &entry::script);
    check("transit", two_taps_seeds(), &two_taps::script);
    check("follower", follower_seeds(), &|octets| {
        association_entry::association(octets);
    });
    check("cyclic", cyclic_seeds(), &cyclic_entry::cyclic);
    check("transactions", transaction_seeds(), &transactions_entry::transactions);
    check("reassembler", reassembler_seeds(), &|octets| {
        reassembler::script(octets);
    });
}

#[test]
fn every_tpdu_of_the_reassembler_seeds_is_found() {
    for (name, octets) in reassembler_seeds() {
        assert!(reassembler::script(&octets), "{name} asks for more room than there is");
    }
}

#[track_caller]
fn check(target: &str, seeds: Vec<(&str, Vec<u8>)>, run: &dyn Fn(&[u8])) {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus")).join(target);
    for (name, octets) in seeds {
        let path = folder.join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &octets).unwrap();
        }
        let found = fs::read(&path).unwrap_or_default();
        assert_eq!(
            found,
            octets,
            "{} differs from the script that this test generates",
            path.display()
        );
    }
    for file in fs::read_dir(folder).unwrap() {
        run(&fs::read(file.unwrap().path()).unwrap());
    }
}
