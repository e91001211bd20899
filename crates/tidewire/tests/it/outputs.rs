//! No output destroys an input, whatever names the two have.

use crate::export::CELL;
use crate::{command, run_in, stderr};
use std::fs::{self, File};
use std::path::Path;

/// A folder with a capture under three names, a key, and a scenario.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::copy(CELL, at("x.pcapng")).unwrap();
    fs::hard_link(at("x.pcapng"), at("hard.pcapng")).unwrap();
    std::os::unix::fs::symlink("x.pcapng", at("soft.pcapng")).unwrap();
    fs::write(at("key"), "00".repeat(32)).unwrap();
    let copied = run_in(folder.path(), &["scenarios", "copy", "status-short", "mine.toml"]);
    assert!(copied.status.success(), "{}", stderr(&copied));
    fs::hard_link(at("mine.toml"), at("mine.csv")).unwrap();
    folder
}

fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// Runs a command that names an input as its output: it is refused, and no file changes.
#[track_caller]
fn check(arguments: &[&str]) {
    let folder = folder();
    let before = contents(folder.path());
    let output = run_in(folder.path(), arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    assert!(stderr(&output).contains("is also read"), "{}", stderr(&output));
    assert!(contents(folder.path()) == before, "{arguments:?} changed a file");
}

#[test]
fn capture_refuses_to_write_what_it_reads() {
    for name in ["x.pcapng", "./x.pcapng", "hard.pcapng", "soft.pcapng"] {
        check(&["capture", "-r", "x.pcapng", "-w", name]);
    }
}

#[test]
fn watch_refuses_to_write_what_it_reads() {
    for option in ["--annotate", "--events"] {
        for name in ["x.pcapng", "hard.pcapng", "soft.pcapng"] {
            check(&["watch", "-r", "x.pcapng", option, name]);
        }
        let anonymous = ["watch", "-r", "x.pcapng", "--anonymize", "--anonymize-key", "key"];
        check(&[&anonymous[..], &[option, "key"]].concat());
    }
}

#[test]
fn predict_and_measure_refuse_to_write_their_scenario() {
    check(&["predict", "mine.toml", "--no-save", "--capture", "mine.toml"]);
    let peer = ["--to", "02:00:00:00:00:01", "-i", "lo"];
    let capture = ["measure", "mine.toml", "--no-save", "--capture", "mine.toml"];
    check(&[&capture[..], &peer].concat());
    for verb in ["predict", "measure"] {
        for more in ["--no-save", "--dry-run"] {
            check(&[verb, "mine.toml", more, "--each-message", "mine.csv"]);
        }
    }
}

#[test]
fn capture_refuses_standard_output_that_is_its_input() {
    let folder = folder();
    let before = contents(folder.path());
    let path = folder.path().join("x.pcapng");
    let append = File::options().append(true).open(&path).unwrap();
    let arguments = ["capture", "-r", "hard.pcapng"];
    let run = command(&arguments).current_dir(folder.path()).stdout(append).status().unwrap();
    assert_eq!(run.code(), Some(2));
    assert!(contents(folder.path()) == before);
}

/// An older file is replaced only by a whole one, and its other names keep what they had.
#[test]
fn a_new_capture_replaces_one_name_of_an_older_file() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("old.pcapng"), "old").unwrap();
    fs::hard_link(at("old.pcapng"), at("older.pcapng")).unwrap();
    let arguments = ["capture", "-r", "x.pcapng", "-w", "old.pcapng"];
    let output = run_in(folder.path(), &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(fs::read(at("older.pcapng")).unwrap(), b"old");
    assert!(fs::read(at("old.pcapng")).unwrap().len() > 1_000);
    assert!(contents(folder.path()).iter().all(|(name, _)| !name.ends_with(".part")));
}
