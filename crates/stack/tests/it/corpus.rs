//! The corpus of the fuzzer of classes 0 and 2, replayed, and scripts drawn at random.

use crate::entry;
use stats::rng::Stream;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus")).join("tp0")
}

/// A CR, a CC, DTs, a DR and an ER to reference 1, as a script carries them: operation 5 and a length
/// in fours, filled with zeros, which a class 0 DT takes for data.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
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
    // 0 the network opens; 1 a call; 2 accepted; 0xFB a TSDU of 12,400; 4 an end; 6 taken; 7 lost.
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

/// The seeds are in the corpus as they are made here; `BLESS=1` writes them there.
#[test]
fn the_corpus_begins_with_the_seeds() {
    for (name, octets) in seeds() {
        let path = folder().join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(folder()).unwrap();
            fs::write(&path, &octets).unwrap();
        }
        let found = fs::read(&path).unwrap_or_default();
        assert_eq!(found, octets, "{} is not what is made here", path.display());
    }
}

#[test]
fn every_file_of_the_corpus_keeps_its_claims() {
    let files = fs::read_dir(folder()).unwrap();
    let count = files.map(|file| entry::tp0(&fs::read(file.unwrap().path()).unwrap())).count();
    assert!(count >= seeds().len(), "only {count} files");
}

#[test]
fn scripts_with_octets_changed_keep_their_claims() {
    let mut chance = Stream::named(0x5EED, "scripts");
    let seeds = seeds();
    for round in 0..20_000_usize {
        let mut script = seeds[round % seeds.len()].1.clone();
        let other = &seeds[chance.below(seeds.len() as u64) as usize].1;
        script.extend_from_slice(&other[1..]);
        for _ in 0..=chance.below(3) {
            let place = chance.below(script.len() as u64) as usize;
            script[place] = chance.below(256) as u8;
        }
        entry::tp0(&script);
    }
}
