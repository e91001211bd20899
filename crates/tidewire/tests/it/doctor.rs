//! `doctor` always ends well, and leaves nothing behind.

use crate::{check_code, records, run_in, stdout};
use std::fs;

#[test]
fn each_check_is_a_line_that_says_how_it_went() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["doctor"]);
    check_code(&output, 0);
    let text = stdout(&output);
    for line in text.lines() {
        let status = line.split_whitespace().next().unwrap();
        assert!(["ok", "warn", "fail"].contains(&status), "{line}");
    }
    for what in ["CAP_NET_RAW", "interface lo: loopback", "core", "run folders", "UDP"] {
        assert!(text.contains(what), "{what} is missing:\n{text}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn where_run_folders_cannot_be_written_it_says_so_and_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("runs"), "in the way").unwrap();
    let output = run_in(folder.path(), &["doctor", "--json"]);
    check_code(&output, 0);
    let records = records(&output);
    let folders = records
        .iter()
        .find(|r| r["what"].as_str().is_some_and(|what| what.starts_with("run folders")))
        .unwrap();
    assert_eq!(folders["status"], "warn");
    assert!(folders["fix"].as_str().unwrap().contains("--output"));
    assert_eq!(records.last().unwrap()["type"], "end");
}
