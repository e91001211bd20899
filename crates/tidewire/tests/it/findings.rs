//! The commands that findings name: they run as they are printed.

use crate::watch::{capture, data};
use crate::{check_code, command, records, run_in, stdout};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a command of a finding in a shell, as a user pastes it.
pub(crate) fn paste(folder: &Path, line: &str) -> std::process::Output {
    let rest = line.strip_prefix("tidewire ").unwrap();
    let line = format!("'{}' {rest}", env!("CARGO_BIN_EXE_tidewire"));
    Command::new("sh").args(["-c", &line]).current_dir(folder).output().unwrap()
}

#[test]
fn the_command_of_a_finding_names_the_capture_and_runs() {
    // A DT that is found under way, and a DT whose header was not captured.
    let frames = [(0, data(0)), (1_000, data(1))];
    for name in ["plain.pcap", "a b.pcap", "it's $HOME.pcap", "-r.pcap", "capture"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), capture(&frames)).unwrap();
        let read = format!("--read={name}");
        let output = run_in(folder.path(), &["watch", &read, "--json"]);
        check_code(&output, 0);
        let records = records(&output);
        assert_eq!(records[0]["files"][0], name);
        let findings: Vec<_> = records.iter().filter(|it| it["type"] == "finding").collect();
        assert!(!findings.is_empty(), "{name}");
        for finding in findings {
            let line = finding["command"].as_str().unwrap();
            assert!(!line.contains("FILE"), "{line}");
            if line.ends_with("--screen measures") {
                continue;
            }
            check_code(&paste(folder.path(), line), 0);
        }
        let text = stdout(&command(&["watch", &read]).current_dir(folder.path()).output().unwrap());
        assert!(text.contains("more: tidewire dissect -r ") && !text.contains("FILE"), "{text}");
    }
}
