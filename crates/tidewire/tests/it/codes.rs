//! Exit codes are those that are documented, and each error says what it is about.

use crate::{check_code, command, records, run, run_in, stderr, stdout};
use std::fs;

#[test]
fn what_cannot_be_meant_ends_with_2() {
    check(&[], 2, "Usage: tidewire");
    check(&["no-such-verb"], 2, "unrecognized subcommand");
    check(&["help", "nothing"], 2, "fix: one of scenario, profiles, units");
    check(&["watch"], 2, "--read");
    check(&["watch", "-r", "a.pcap", "-i", "lo"], 2, "cannot be used with");
    check(&["watch", "-r", "a.pcap", "--measure", "15"], 2, "the unit is missing");
    check(&["watch", "-r", "a.pcap", "--measure", "0 s"], 2, "an interval takes some time");
    check(&["watch", "-r", "a.pcap", "--channel", "0 bit/s"], 2, "above zero");
    check(&["watch", "-r", "a.pcap", "--start", "noon"], 2, "1984-06-13T21:16:00Z");
    check(&["watch", "-r", "a.pcap", "-t", "1 s"], 2, "a file has its own");
    check(&["dissect", "02 0g"], 2, "'g' in octet 1 is no digit");
    check(&["scenarios", "show", "bulkk"], 2, "did you mean bulk?");
    check(&["predict", "status-shrt"], 2, "did you mean status-short?");
    check(&["predict", "bulk", "-n", "0"], 2, "at least one run");
}

#[test]
fn what_cannot_be_done_ends_with_1() {
    check(&["watch", "-r", "missing.pcap"], 1, "cannot open missing.pcap");
    check(&["watch", "-r", "."], 1, "a folder, not a capture");
    check(&["watch", "-i", "nosuchif0", "-t", "1 s"], 1, "no such interface");
    check(&["dissect", "-r", "missing.pcap"], 1, "cannot open missing.pcap");
    check(&["predict", "missing.toml"], 1, "cannot read missing.toml");
    check(&["compare", "missing-a", "missing-b"], 1, "cannot read missing-a");
}

#[test]
fn a_misspelt_key_is_shown_with_a_caret_and_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let text = bench::scenarios::get("bulk").unwrap().text;
    let line = text.lines().position(|line| line.starts_with("medium =")).unwrap() + 1;
    let text = text.replace("medium =", "mediun =");
    fs::write(folder.path().join("typo.toml"), text).unwrap();
    let output = run_in(folder.path(), &["predict", "typo.toml"]);
    check_code(&output, 2);
    let said = stderr(&output);
    assert!(said.contains(&format!("--> typo.toml:{line}:1")), "{said}");
    assert!(said.contains("\n  | ^^^^^^ expected"), "{said}");
    assert!(said.contains("help: did you mean `medium`?"), "{said}");
    assert!(!folder.path().join("runs").exists(), "a run that cannot begin leaves no folder");
}

#[test]
fn help_and_version_end_with_0_on_standard_output() {
    for arguments in [&["--help"][..], &["watch", "--help"], &["help"], &["help", "units"]] {
        let output = run(arguments);
        check_code(&output, 0);
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{arguments:?}");
    }
    let version = run(&["--version"]);
    assert_eq!(stdout(&version), format!("tidewire {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    // The pipe is closed before anything is written.
    let mut child = command(&["scenarios", "schema"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn piped_output_has_no_escape_codes() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["--help"][..],
        &["no-such-verb"],
        &["help", "metrics"],
        &["doctor"],
        &["scenarios", "list"],
        &["predict", "status-short", "-n", "1"],
        &["watch", "-r", "missing.pcap"],
    ] {
        let output = run_in(folder.path(), arguments);
        let escape = [output.stdout, output.stderr].concat().contains(&0x1B);
        assert!(!escape, "{arguments:?}");
    }
}

#[test]
fn with_json_standard_output_is_records_and_nothing_else() {
    for arguments in [
        &["--json", "doctor"][..],
        &["scenarios", "list", "--json"],
        &["scenarios", "show", "bulk", "--json"],
        &["scenarios", "schema", "--json"],
        &["predict", "bulk", "--print-scenario", "--json"],
        &["watch", "-r", "missing.pcap", "--json"],
        &["dissect", "0200", "--json"],
    ] {
        assert!(!records(&run(arguments)).is_empty(), "{arguments:?}");
    }
}

#[track_caller]
fn check(arguments: &[&str], code: i32, said: &str) {
    let output = run(arguments);
    check_code(&output, code);
    let error = stderr(&output);
    assert!(error.contains(said), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?}: {}", stdout(&output));
}
