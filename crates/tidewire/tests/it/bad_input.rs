//! Input that is bad and output that takes no more: counted, said, survived.

use crate::export::CELL;
use crate::watch::data;
use crate::{check_code, command, records, run, run_in, stderr};
use serde_json::json;
use std::fs::{self, File};
use std::path::Path;
use wire::dissect::Link;
use wire::pcapng::Writer;
use wire::time::Instant;

/// Writes frames to a file: interface, time in milliseconds, what was captured and how long it was.
fn capture(path: &Path, links: &[u32], frames: &[(u32, u64, &[u8], usize)]) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for link in links {
        writer.interface(Link::from_dlt(*link), "").unwrap();
    }
    for (interface, at_ms, octets, original) in frames {
        let at = Instant::from_nanos(at_ms * 1_000_000);
        writer.write(*interface, at, octets, *original, "").unwrap();
    }
    fs::write(path, writer.into_inner()).unwrap();
}

#[test]
fn frames_of_which_one_octet_was_kept_are_counted_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    capture(&path, &[1], &[(0, 1, &[2], 128), (0, 2, &[2], 128), (0, 3, &[], 60)]);
    let output = run(&["watch", "-r", path.to_str().unwrap(), "--json"]);
    check_code(&output, 0);
    let end = records(&output).pop().unwrap();
    assert_eq!(end["frames"], 3);
    assert_eq!(end["oddities"], json!({ "foreign: headers not captured": 3 }));
    let annotated = ["watch", "-r", "a.pcapng", "--annotate", "b.pcapng"];
    check_code(&run_in(folder.path(), &annotated), 0);
    check_code(&run_in(folder.path(), &["dissect", "-r", "b.pcapng"]), 0);
}

#[test]
fn one_capture_may_have_four_link_types_and_times_run_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    // IPv4 that carries eight octets of UDP, alone and behind 16 octets of Linux cooked capture.
    let packet = [
        0x45, 0, 0, 28, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 4, 0, 0, 9, 0, 8, 0,
        0,
    ];
    let cooked = [&[0; 14][..], &[8, 0], &packet].concat();
    let (first, second) = (data(0), data(1));
    capture(
        &path,
        &[1, 101, 113, 999],
        &[
            (0, 100_000, &first, 128),
            (1, 101_000, &packet, 28),
            (2, 102_000, &cooked, 44),
            (3, 103_000, b"xyz", 3),
            // Before the first frame, and before the last.
            (0, 40_000, &second, 128),
            (0, 101_500, &second, 128),
        ],
    );
    let output = run(&["watch", "-r", path.to_str().unwrap(), "--json"]);
    // One frame of six is in no measure.
    check_code(&output, 4);
    let said = "warning: 1 frame of 6 is earlier than the first, and in no measure";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    let told = records(&output);
    let end = told.last().unwrap();
    assert_eq!(end["frames"], 6);
    for (name, times) in [
        ("foreign: UDP", 2),
        ("foreign: link type", 1),
        ("time: frame before the origin", 1),
        ("time: time ran backwards", 1),
    ] {
        assert_eq!(end["oddities"][name], times, "{name}: {}", end["oddities"]);
    }
    let total = told.iter().find(|record| record["type"] == "total").unwrap();
    assert_eq!(total["measures"]["dt_tpdus"], 2, "one that is early is left out, one late is not");
    assert!(stderr(&output).contains("link type 999 is not understood"), "{}", stderr(&output));
}

#[test]
fn a_standard_output_that_takes_no_more_is_named() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        println!("skipped: no /dev/full");
        return;
    };
    for arguments in [
        &["watch", "-r", CELL][..],
        &["watch", "-r", CELL, "--json"],
        &["dissect", "-r", CELL],
        &["scenarios", "list"],
        &["scenarios", "list", "--json"],
    ] {
        let stdout = full.try_clone().unwrap();
        let output = command(arguments).stdout(stdout).output().unwrap();
        check_code(&output, 1);
        let said = stderr(&output);
        let expected = "error: cannot write to standard output: No space left on device";
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_capture_without_its_option_is_answered_with_it() {
    for (words, fix) in [
        (&["watch", "-"][..], "fix: -r - reads a capture from standard input"),
        (&["capture", "a.pcapng", "-w", "b.pcapng"], "fix: -r a.pcapng reads a capture"),
        (&["dissect", CELL], "fix: tidewire dissect -r "),
        // The missing unit is an error of its own, whatever else is wrong.
        (&["watch", "--demo", "-t", "10"], "the unit is missing"),
    ] {
        let output = run(words);
        check_code(&output, 2);
        assert!(stderr(&output).contains(fix), "{words:?}: {}", stderr(&output));
    }
    for words in [&["watch", "--nosuch"][..], &["dissect", "02zz"]] {
        assert!(!stderr(&run(words)).contains("-r "), "{words:?}");
    }
}
