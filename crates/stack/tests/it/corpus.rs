//! Replay of the fuzz corpora of the machines, and random mutations of their scripts.

use crate::association_entry::{self, Reached};
use crate::session_entry::{self, Passed};
use crate::{entry, hostile};
use stack::tp4::Counters;
use stats::rng::Stream;
use std::fs;
use std::path::{Path, PathBuf};

/// Fuzz target of this crate: its name, its seeds, and its entry point.
struct Target {
    name: &'static str,
    seeds: fn() -> Vec<(&'static str, Vec<u8>)>,
    run: fn(&[u8]),
    /// Number of mutated seeds that are run.
    mutated: usize,
}

const TARGETS: [Target; 4] = [
    Target { name: "tp0", seeds: tp0, run: entry::tp0, mutated: 20_000 },
    Target { name: "tp4_machine", seeds: tp4, run: hostile_tp4, mutated: 20_000 },
    Target { name: "association", seeds: association, run: hostile_association, mutated: 4_000 },
    Target { name: "session_machine", seeds: session, run: hostile_session, mutated: 20_000 },
];

fn folder(target: &Target) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus")).join(target.name)
}

/// A CR, a CC, DTs, a DR and an ER to reference 1 in script form: operation 5 and a length in units
/// of four octets, filled with zeros, which a class 0 DT accepts as data.
fn tp0() -> Vec<(&'static str, Vec<u8>)> {
    let nsdu = |octets: &[u8]| {
        let fours = octets.len().div_ceil(4);
        let mut script = vec![(fours as u8) << 3 | 5];
        script.extend_from_slice(octets);
        script.resize(1 + fours * 4, 0);
        script
    };
    let cr = nsdu(&[6, 0xE0, 0, 0, 0, 9, 0, 0]);
    let cr2 = nsdu(&[6, 0xE3, 0, 0, 0, 9, 0x20, 0]);
    let cr4 = nsdu(&[6, 0xE0, 0, 0, 0, 9, 0x42, 0]);
    let cc = nsdu(&[6, 0xD0, 0, 1, 0, 9, 0, 0]);
    let cc2 = nsdu(&[6, 0xD2, 0, 1, 0, 9, 0x20, 0]);
    let dt = nsdu(&[2, 0xF0, 0x80, 1]);
    let dt2 = nsdu(&[4, 0xF0, 0, 1, 0x80, 1, 2, 3]);
    let ak = nsdu(&[4, 0x6F, 0, 1, 1]);
    let dr = nsdu(&[6, 0x80, 0, 1, 0, 9, 128, 0]);
    let dc = nsdu(&[5, 0xC0, 0, 1, 0, 9, 0, 0]);
    let er = nsdu(&[4, 0x70, 0, 1, 1, 0, 0, 0]);
    let script = |parts: &[&[u8]]| parts.concat();
    // 0 the network opens; 1 a call; 2 accepted; 0xFB a TSDU of 12,400; 4 a release; 6 accepted by
    // the network; 7 lost.
    vec![
        ("answered", script(&[&[0, 0], &cr, &[2], &dt, &[0xFB, 6, 4, 7]])),
        ("called", script(&[&[0, 1, 0], &cc, &[0xFB, 6], &dt, &[7]])),
        ("credit", script(&[&[3, 1, 0], &cc2, &[0xFB, 0xFB, 6], &ak, &dt2, &[6], &dr])),
        ("granted", script(&[&[4, 0], &cr2, &[2], &dt2, &[0xFB, 6, 4], &dc])),
        ("refused", script(&[&[8, 0], &cr4, &[7]])),
        ("turned-down", script(&[&[0, 0], &cr, &[4, 0xFF]])),
        ("error", script(&[&[0, 1, 0], &cc, &er])),
        ("silent", vec![0, 0, 0xFF]),
        ("not-a-cr", script(&[&[0, 0], &dt])),
    ]
}

/// Words of the class 4 seeds: operation in the low four bits, argument in the high. A TPDU of the
/// peer reads the indices of its two references and two further octets.
const WORDS: [(&str, &[u8]); 30] = [
    // CRs from reference 1 in the extended and the normal format, and from 2 in the normal; a CC.
    ("cr", &[0x11, 0, 1, 0, 0x03]),
    ("cr-normal", &[0x11, 0, 1, 0x40, 0x03]),
    ("second-cr", &[0x11, 0, 2, 0x40, 0x03]),
    ("third-cr", &[0x11, 0, 3, 0x40, 0x03]),
    ("cc", &[0x12, 0, 1, 0x40, 0x03]),
    ("accept", &[0x0A, 0]),
    ("second-accept", &[0x0A, 1]),
    ("connect", &[9, 2, 3, 3]),
    // AKs for numbers 0 and 1, and one that closes the window; for three DTs; to the second reference.
    ("ak", &[3, 0, 1, 0, 8]),
    ("ak1", &[3, 0, 1, 1, 8]),
    ("ak1-closed", &[0x43, 0, 1, 1, 0]),
    ("ak3-closed", &[3, 0, 1, 3, 0]),
    ("ak3", &[3, 0, 1, 3, 4]),
    ("second-ak", &[3, 1, 1, 0, 8]),
    ("ak-reduced", &[0x43, 0, 1, 0, 0x10]),
    // DTs with numbers 0 and 1 that end their TSDUs; to the second reference.
    ("dt", &[4, 0, 1, 0, 0x85]),
    ("dt1", &[4, 0, 1, 1, 0x85]),
    ("second-dt", &[4, 1, 1, 0, 0x85]),
    ("ed", &[5, 0, 1, 0, 4]),
    ("ea", &[6, 0, 1, 0, 0]),
    // TSDUs of 256 and 3,840 octets; two octets of expedited data.
    ("data", &[0x1B, 0]),
    ("long", &[0xFB, 0]),
    ("expedite", &[0x1C, 0]),
    ("dr", &[7, 0, 1, 128, 0]),
    ("dc", &[8, 0, 1, 0, 0]),
    ("errors", &[0x28, 0, 1, 0, 0, 0, 5, 4, 0xF0, 0, 1, 0x80, 0x18, 0, 1, 1, 0]),
    ("end", &[0xDD, 0]),
    ("withdraw", &[0x8D, 0x40]),
    ("give", &[0x0D, 0x40]),
    // The next timer expires.
    ("due", &[0x0E]),
];

/// Openings, transfers and releases of class 4, after two octets of parameters.
fn tp4() -> Vec<(&'static str, Vec<u8>)> {
    [
        ("accepted", "04 00 cr-normal accept ak dt data ak1 end dc"),
        ("called", "04 20 connect cc data due ak1 ed expedite ae ea dr"),
        ("extended", "07 10 cr accept ak long ak1 due due dr"),
        ("reordered", "00 01 cr-normal accept ak dt1 dt dt due ae"),
        ("credit", "00 08 cr-normal accept ak withdraw due give dt ae"),
        ("closed", "40 00 cr-normal accept ak long ak1-closed ae ak1"),
        ("confirmed", "00 00 cr-normal accept ak data ak3-closed ak3"),
        (
            "shared",
            "08 00 cr-normal accept ak second-cr second-accept second-ak ak-reduced 8f ak-reduced \
             second-dt",
        ),
        ("errors", "00 00 cr-normal accept ak errors dr dr"),
        ("joined", "08 00 cr-normal accept 8f ak dt data due"),
        ("damaged", "02 00 cr accept 4f ak ak 4f dt dt ae"),
        ("crossed", "00 00 connect end cc dr connect cr-normal accept end"),
        ("flood", "00 00 cr second-cr third-cr ae"),
    ]
    .map(|(name, text)| {
        let octets = |word: &str| match WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, octets)) => octets.to_vec(),
            None => vec![u8::from_str_radix(word, 16).unwrap()],
        };
        (name, text.split(' ').flat_map(octets).collect())
    })
    .to_vec()
}

/// Words of the seeds of associations: operation in the low four bits, argument in the high.
const ASSOCIATION_WORDS: [(&str, u8); 59] = [
    ("open", 0x01),
    ("cn", 0x02),
    ("small-cn", 0x12),
    ("ac", 0x22),
    ("small-ac", 0x32),
    ("rf", 0x42),
    ("fn", 0x52),
    ("dn", 0x62),
    ("ab", 0x72),
    ("aa", 0x82),
    ("ab-keeping", 0xA2),
    ("fn-keeping", 0xB2),
    ("too-long", 0xF2),
    ("read", 0x03),
    ("read-much", 0x13),
    ("write", 0x23),
    ("write-denied", 0x33),
    ("enable", 0x43),
    ("disable", 0x53),
    ("interrogate", 0x63),
    ("period", 0x73),
    ("names", 0x83),
    ("attributes", 0x93),
    ("define", 0xA3),
    ("read-list", 0xB3),
    ("delete", 0xC3),
    ("file-open", 0xD3),
    ("file-read", 0xE3),
    ("file-close", 0xF3),
    ("directory", 0x04),
    ("identify", 0x14),
    ("data-set", 0x24),
    ("other", 0x34),
    ("define-in-domain", 0x44),
    ("cancel", 0x54),
    ("conclude", 0x64),
    ("concluded", 0xE4),
    ("report", 0xD4),
    ("due", 0x0B),
    ("lost", 0x0D),
    ("taken", 0x80),
    ("answer", 0x0F),
    ("answer-last", 0x1F),
    ("flood", 0xF9),
    ("associate", 0x0A),
    ("call", 0x8A),
    ("calls", 0xAA),
    ("end", 0xBA),
    ("break-off", 0xDA),
    ("hang-up", 0xFA),
    ("b-enable", 0x0F),
    ("b-disable", 0x1F),
    ("b-interrogate", 0x2F),
    ("b-resume", 0x3F),
    ("b-oldest", 0x4F),
    ("b-purge", 0x6F),
    ("b-time", 0x7F),
    ("b-period", 0x9F),
    ("b-read", 0xFF),
];

/// Associations that are opened, used and ended: by a peer of the server, and by a peer of the
/// client, whose scripts begin with 01 and whose user acts by operation A.
fn association() -> Vec<(&'static str, Vec<u8>)> {
    let mut seeds = [
        ("reads", "00 open cn read write write-denied names attributes taken conclude fn lost"),
        ("reports", "00 open cn period enable interrogate 3a due due taken disable due ab"),
        (
            "buffered",
            "00 open cn write write b-enable due due due due due due due due b-interrogate lost \
             open cn write b-resume b-enable write b-disable b-time write due b-read b-oldest \
             b-enable b-period b-disable b-purge b-enable",
        ),
        (
            "lists",
            "FA open small-cn define define read-list delete define-in-domain data-set enable \
                   delete 2a due fn-keeping cn read",
        ),
        ("files", "00 open cn file-open file-read file-read file-close directory file-read"),
        ("flood", "FC open cn flood read-much flood attributes flood read"),
        (
            "congested",
            "FC open cn flood attributes flood attributes flood attributes flood attributes flood \
             attributes flood attributes flood attributes flood attributes flood attributes flood \
             attributes flood attributes flood attributes flood attributes flood attributes flood \
             attributes flood attributes flood attributes flood attributes flood attributes",
        ),
        ("crowd", "00 open cn 10 open cn 20 open cn read 00 lost 20 ab open cn read too-long"),
        ("changed", "00 open cn 05 14 ff read read 00 lost open 05 30 01 cn read"),
        ("services", "00 open cn identify other cancel ab-keeping aa cn identify hang-up"),
        (
            "called",
            "01 associate open ac 4a 5a 6a answer-last answer answer end answer concluded dn",
        ),
        ("silent", "01 associate open ac call calls due due due end due due due due"),
        ("refused", "01 associate open rf associate open ab associate due due call"),
        (
            "released",
            "03 associate open small-ac call report conclude fn associate open ac call lost",
        ),
        (
            "aborted",
            "01 associate break-off associate open ac calls answer break-off ab associate open ac \
             hang-up",
        ),
    ]
    .map(|(name, text)| {
        let octet = |word: &str| match ASSOCIATION_WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, octet)) => *octet,
            None => u8::from_str_radix(word, 16).unwrap(),
        };
        (name, text.split_whitespace().map(octet).collect())
    })
    .to_vec();
    // More changes of a variable than a buffered block keeps, before it is enabled and taken.
    seeds.push((
        "overflow",
        [&[0, 0x01, 0x02][..], &[0x0A, 0x1A].repeat(70), &[0x0F, 0x80]].concat(),
    ));
    seeds
}

/// Sessions in each state: operation in the low three bits, argument in the high five.
fn session() -> Vec<(&'static str, Vec<u8>)> {
    [
        // T-CONNECT indication, CN, accept, DT, FN, response, TIM.
        ("called", "00 00 02 0E 8A 1E 4A 2E 07"),
        // S-CONNECT request, T-CONNECT confirm, AC, data, release, DN.
        ("calling", "00 06 00 0A 9E 8A 26 5A"),
        // Releases cross at the caller: it answers, then the DN arrives.
        ("crossed", "00 06 00 0A 26 4A 2E 5A"),
        // Releases cross at the other side: the DN arrives before the answer.
        ("crossed-called", "00 00 02 0E 26 4A 5A 2E"),
        // Refusals of each side, and of parameters.
        ("refused", "02 00 02 16 07 01 06 00 3A 01 00 22 07 01 00 32 07"),
        // Aborts that keep the transport connection, AA, reuse.
        ("kept", "04 00 02 0E 36 82 02 0E 52 2E 02 0E 6A 02"),
        // Protocol errors and damage, TIM.
        ("errors", "01 06 00 1A 5A 07 00 25 01 12 0E 24 19 FF 01 00 12 0E 02 07"),
        // Requests that are not permitted.
        ("not-permitted", "00 0E 16 1E 26 2E 36 3E 06 06 00 0E 0A 0E 3E 01"),
    ]
    .map(|(name, text)| {
        let octets = text.split(' ').map(|octet| u8::from_str_radix(octet, 16).unwrap());
        (name, octets.collect())
    })
    .to_vec()
}

/// Checks that the corpus contains the seeds of this file; `BLESS=1` writes them.
#[test]
fn the_corpora_begin_with_the_seeds() {
    for target in TARGETS {
        for (name, octets) in (target.seeds)() {
            let path = folder(&target).join(name);
            if std::env::var_os("BLESS").is_some() {
                fs::create_dir_all(folder(&target)).unwrap();
                fs::write(&path, &octets).unwrap();
            }
            let found = fs::read(&path).unwrap_or_default();
            assert_eq!(found, octets, "{} differs from the seed in this file", path.display());
        }
    }
}

#[test]
fn every_file_of_the_corpora_keeps_its_claims() {
    for target in TARGETS {
        let files = fs::read_dir(folder(&target)).unwrap();
        let scripts = files.map(|file| fs::read(file.unwrap().path()).unwrap());
        let count = scripts.map(|script| (target.run)(&script)).count();
        println!("seen: {count} scripts of the corpus {}", target.name);
        assert!(count >= (target.seeds)().len(), "only {count} files");
    }
}

#[test]
fn scripts_with_octets_changed_keep_their_claims() {
    let mut chance = Stream::named(0x5EED, "scripts");
    for target in TARGETS {
        let seeds = (target.seeds)();
        for round in 0..target.mutated {
            let mut script = seeds[round % seeds.len()].1.clone();
            let other = &seeds[chance.below(seeds.len() as u64) as usize].1;
            script.extend_from_slice(&other[1..]);
            for _ in 0..=chance.below(3) {
                let place = chance.below(script.len() as u64) as usize;
                script[place] = chance.below(256) as u8;
            }
            (target.run)(&script);
        }
    }
}

/// Runs random octets, most of them invalid, half of them behind the first octets of a seed, which
/// open a connection. `TIDEWIRE_SCRIPTS` sets the number of scripts.
#[test]
fn scripts_drawn_at_random_keep_their_claims() {
    let count = std::env::var("TIDEWIRE_SCRIPTS").ok().and_then(|text| text.parse().ok());
    let count: u64 = count.unwrap_or(5_000);
    for target in TARGETS {
        let seeds = (target.seeds)();
        for seed in 0..count {
            let mut chance = Stream::named(seed, "script");
            let length = 16 + chance.below(240);
            let (_, opening) = &seeds[chance.below(seeds.len() as u64) as usize];
            let opening = if seed % 2 == 0 { &[][..] } else { &opening[..opening.len().min(4)] };
            let mut script = opening.to_vec();
            script.extend((0..length).map(|_| chance.below(256) as u8));
            let run = std::panic::catch_unwind(|| (target.run)(&script));
            assert!(run.is_ok(), "{}: the script of seed {seed:#x}", target.name);
        }
        println!("seen: {count} random scripts for {}", target.name);
    }
}

/// Checks that the seeds reach all events; otherwise the claims of class 4 would hold vacuously.
#[test]
fn the_seeds_of_class_4_go_far() {
    let all: Vec<_> = tp4().iter().map(|(_, script)| hostile::tp4(script)).collect();
    let sum = |count: fn(&Counters) -> u64| all.iter().map(count).sum::<u64>();
    let seen = [
        ("opened", sum(|it| it.opened)),
        ("refusals", sum(|it| it.refusals)),
        ("t1", sum(|it| it.t1)),
        ("gave_up", sum(|it| it.gave_up)),
        ("out_of_order", sum(|it| it.out_of_order)),
        ("duplicates", sum(|it| it.duplicates)),
        ("closed_window", sum(|it| it.closed_window)),
        ("credit_reductions", sum(|it| it.credit_reductions)),
        ("confirmations", sum(|it| it.confirmations)),
        ("protocol_errors", sum(|it| it.protocol_errors)),
        ("bad_checksum", sum(|it| it.bad_checksum)),
        ("concatenated", sum(|it| it.concatenated)),
        ("expedited_again", sum(|it| it.expedited_again)),
        ("frozen_reference", sum(|it| it.frozen_reference)),
        ("inactivity", sum(|it| it.inactivity)),
    ];
    println!("seen: over the seeds {seen:?}");
    let never: Vec<_> = seen.iter().filter(|(_, count)| *count == 0).collect();
    assert!(never.is_empty(), "no seed reaches {never:?}");
}

fn hostile_tp4(script: &[u8]) {
    hostile::tp4(script);
}

/// Checks that the seeds reach each end of an association and of a call.
#[test]
fn the_seeds_of_associations_go_far() {
    let seeds = association();
    let all: Vec<_> = seeds.iter().map(|it| association_entry::association(&it.1)).collect();
    let sum = |count: fn(&Reached) -> u32| all.iter().map(count).sum::<u32>();
    let seen = [
        ("opened", sum(|it| it.opened)),
        ("answers", sum(|it| it.answers)),
        ("reports", sum(|it| it.reports)),
        ("buffered", sum(|it| it.buffered)),
        ("overflows", sum(|it| it.overflows)),
        ("ended", sum(|it| it.ended)),
        ("timed_out", sum(|it| it.timed_out)),
        ("lost", sum(|it| it.lost)),
        ("released", sum(|it| it.released)),
    ];
    println!("seen: over the seeds {seen:?}");
    let never: Vec<_> = seen.iter().filter(|(_, count)| *count == 0).collect();
    assert!(never.is_empty(), "no seed reaches {never:?}");
}

fn hostile_association(script: &[u8]) {
    association_entry::association(script);
}

/// Checks that the seeds reach each way of a session.
#[test]
fn the_seeds_of_sessions_go_far() {
    let all: Vec<_> = session().iter().map(|it| session_entry::session(&it.1)).collect();
    let sum = |count: fn(&Passed) -> u32| all.iter().map(count).sum::<u32>();
    let seen = [
        ("opened", sum(|it| it.opened)),
        ("received", sum(|it| it.received)),
        ("released", sum(|it| it.released)),
        ("crossed", sum(|it| it.crossed)),
        ("aborted", sum(|it| it.aborted)),
        ("refused", sum(|it| it.refused)),
        ("errors", sum(|it| it.errors)),
        ("timed_out", sum(|it| it.timed_out)),
    ];
    println!("seen: over the seeds {seen:?}");
    let never: Vec<_> = seen.iter().filter(|(_, count)| *count == 0).collect();
    assert!(never.is_empty(), "no seed reaches {never:?}");
}

fn hostile_session(script: &[u8]) {
    session_entry::session(script);
}
