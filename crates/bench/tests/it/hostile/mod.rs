//! Hostile peers of both ends of a session, in simulated time: the corpora of the fuzz targets
//! `serve` and `measure`, and random scripts.

mod bounded;

use bench::session::script::{self, Outcome};
use bounded::bounded;
use stats::rng::Stream;
use std::path::Path;

/// Number of random scripts of each kind.
const SCRIPTS: u64 = 300;
/// Length of a random script in octets.
const OCTETS: u64 = 600;

fn corpus(target: &str, run: fn(&[u8]) -> Outcome) -> Vec<(String, Outcome)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus")).join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let outcome = |path: std::path::PathBuf| {
        let octets = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, bounded(|| run(&octets)))
    };
    files.into_iter().map(outcome).collect()
}

fn named(outcomes: &[(String, Outcome)], name: &str) -> Outcome {
    outcomes.iter().find(|(found, _)| found == name).unwrap().1
}

/// Runs random scripts, each after an opening that begins a session.
fn at_random(opening: &[u8], run: fn(&[u8]) -> Outcome) -> u64 {
    let mut sessions = 0;
    for seed in 0..SCRIPTS {
        let mut stream = Stream::named(seed, "script");
        let octets: Vec<u8> = (0..OCTETS).map(|_| stream.u64() as u8).collect();
        println!("seed {seed}");
        sessions += bounded(|| run(&[opening, &octets].concat())).sessions;
    }
    sessions
}

#[test]
fn a_responder_withstands_every_script_of_its_corpus() {
    let outcomes = corpus("serve", script::serve);
    // One flow of 64 messages, as in the script.
    assert_eq!(
        named(&outcomes, "session"),
        Outcome { delivered: 64, sessions: 1, sent: named(&outcomes, "session").sent }
    );
    assert_eq!(named(&outcomes, "sequences").sessions, 1);
    assert_eq!(named(&outcomes, "versions").sessions, 0);
}

#[test]
fn an_initiator_withstands_every_script_of_its_corpus() {
    let outcomes = corpus("measure", script::measure);
    assert_eq!(named(&outcomes, "session").sessions, 1);
    assert_eq!(named(&outcomes, "refused").sessions, 0);
    assert_eq!(named(&outcomes, "beyond").sessions, 0, "an Agree beyond what was offered");
}

#[test]
fn scripts_at_random_end_within_bounds_at_both_ends() {
    let opened = at_random(&[1, 3, 16, 1, 2, 16, 1, 6, 16], script::serve);
    assert!(opened >= SCRIPTS, "{opened} sessions");
    let opened = at_random(&[1, 4, 0, 1, 6, 0], script::measure);
    assert!(opened > SCRIPTS / 2, "{opened} sessions");
}
