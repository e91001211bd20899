//! Replay of the fuzzers' corpus: seeds and past findings stay decodable.

use crate::upper_entry::tsdu;
use crate::{entry, kernel, seeds, upper_seeds};
use std::fs;
use std::path::{Path, PathBuf};

fn folder(target: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus")).join(target)
}

/// Checks that the corpus contains the seeds of [`seeds`]; `BLESS=1` writes them.
#[test]
fn the_corpus_begins_with_the_seeds() {
    for seed in seeds::all().into_iter().chain(seeds::filters()).chain(upper_seeds::all()) {
        let path = folder(seed.target).join(seed.name);
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(folder(seed.target)).unwrap();
            fs::write(&path, &seed.octets).unwrap();
        }
        let found = fs::read(&path).unwrap_or_default();
        assert_eq!(found, seed.octets, "{} differs from the seed in seeds.rs", path.display());
    }
}

#[test]
fn every_file_of_the_corpus_keeps_its_claims() {
    type Entry = fn(&[u8]);
    let filter = |octets: &[u8]| {
        kernel::script(octets);
    };
    let targets: [(&str, Entry); 6] = [
        ("dissect", entry::frame),
        ("round_trip", entry::round_trip),
        ("capture_file", entry::file),
        ("tpkt", entry::tpkt),
        ("filter", filter),
        ("upper", tsdu),
    ];
    for (target, entry) in targets {
        let mut files = 0;
        for file in fs::read_dir(folder(target)).unwrap() {
            entry(&fs::read(file.unwrap().path()).unwrap());
            files += 1;
        }
        assert!(files >= 8, "only {files} files for {target}");
    }
}
