//! `doctor` always ends well, and leaves nothing behind.

use crate::watch::may_listen;
use crate::{check_code, records, run_in, stdout};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn each_check_is_a_line_that_says_how_it_went() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["doctor"]);
    check_code(&output, 0);
    let text = stdout(&output);
    // A line that begins with blanks continues the one before, or holds its fix.
    for line in text.lines().filter(|line| !line.starts_with(' ')) {
        let status = line.split_whitespace().next().unwrap();
        assert!(["ok", "warn", "fail"].contains(&status), "{line}");
    }
    for what in
        ["CAP_NET_RAW", "tidewire-tap", "interface lo: loopback", "core", "run folders", "UDP"]
    {
        assert!(text.contains(what), "{what} is missing:\n{text}");
    }
    assert!(!text.contains(" — fix:"), "a fix has its own line:\n{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_unwritable_run_folder_is_reported_with_a_fix() {
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

/// Output of `doctor` about the helper next to the program in this folder.
fn of_helper(folder: &Path) -> serde_json::Value {
    let output = Command::new(folder.join("tidewire"))
        .args(["doctor", "--json"])
        .current_dir(folder)
        .output();
    let output = output.unwrap();
    check_code(&output, 0);
    let is_of_helper = |record: &serde_json::Value| {
        record["what"].as_str().is_some_and(|what| what.starts_with("tidewire-tap: "))
    };
    records(&output).into_iter().find(is_of_helper).unwrap()
}

#[test]
fn doctor_reports_the_helper_its_right_and_the_fix() {
    // Links, and a file that a process of its own writes: what this process has open for writing, no
    // other test that starts a program at that moment lets be run.
    let program = Path::new(env!("CARGO_BIN_EXE_tidewire"));
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    fs::hard_link(program, folder.path().join("tidewire")).unwrap();
    let helper = folder.path().join("tidewire-tap");
    let missing = of_helper(folder.path());
    let expected = if may_listen() { "ok" } else { "warn" };
    assert_eq!(missing["status"], expected, "{missing}");
    assert!(missing["what"].as_str().unwrap().contains(" is missing"), "{missing}");
    // As tidewire-tap ends where it may not listen: with 5.
    let script = r#"printf '\043!/bin/sh\necho no >&2\nexit 5\n' > "$1"; chmod 755 "$1""#;
    let written = Command::new("sh").args(["-c", script, "sh"]).arg(&helper).status().unwrap();
    assert!(written.success());
    let told = of_helper(folder.path());
    assert_eq!(told["status"], "warn", "{told}");
    let fix = told["fix"].as_str().unwrap();
    assert!(fix.starts_with("sudo setcap cap_net_raw=ep /"), "{fix}");
    assert!(fix.ends_with("/tidewire-tap"), "{fix}");
    let built = program.with_file_name("tidewire-tap");
    if !built.exists() || !may_listen() {
        println!("skipped: no tidewire-tap next to tidewire, or no CAP_NET_RAW to give it");
        return;
    }
    fs::remove_file(&helper).unwrap();
    fs::hard_link(built, &helper).unwrap();
    let told = of_helper(folder.path());
    assert!(told["what"].as_str().unwrap().ends_with(" may listen"), "{told}");
}
