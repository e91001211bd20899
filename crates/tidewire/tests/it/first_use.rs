//! What a first try meets: examples that run, lines that fit a terminal, files that stay, errors with a fix.

use crate::export::CELL;
use crate::watch::{capture as pcap, data};
use crate::{check_code, command, run, run_in, stderr, stdout};
use std::fs;

/// Asserts that no line is wider than a terminal.
#[track_caller]
fn check_width(text: &str) {
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

/// Asserts that a command fails with this code and says this.
#[track_caller]
fn check_error(arguments: &[&str], code: i32, expected: &str) {
    let output = run(arguments);
    check_code(&output, code);
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
}

#[test]
fn the_range_in_the_help_of_predict_is_one_that_it_takes() {
    let help = stdout(&run(&["help", "predict"]));
    let range = help.split('"').find(|text| text.starts_with("stations.ied.count=")).unwrap();
    let output = run(&["predict", "ieds", "--vary", range, "--print-scenario"]);
    check_code(&output, 0);
    let example = help.lines().find_map(|line| line.split("ieds --vary ").nth(1)).unwrap();
    let range = example.split_whitespace().next().unwrap();
    let output = run(&["predict", "ieds", "--no-save", "--vary", range]);
    check_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("limit  stations.ied.count: always met at 20 to 40"), "{text}");
}

#[test]
fn reports_fit_a_terminal() {
    for arguments in [
        &["predict", "ieds", "--no-save", "--vary", "stations.ied.count=20,120"][..],
        &["predict", "substation", "--no-save"],
        &["predict", "status-short", "--no-save", "--require", "max(status) < 20 ms"],
        &["scenarios", "list"],
        &["reproduce"],
    ] {
        check_width(&stdout(&run(arguments)));
    }
}

#[test]
fn intervals_fit_a_terminal_after_years_of_silence() {
    let folder = tempfile::tempdir().unwrap();
    let years = 6 * 365 * 86_400 * 1_000_000_000;
    let capture = pcap(&[(0, data(0)), (years + 1, data(1))]);
    fs::write(folder.path().join("a.pcap"), capture).unwrap();
    for channel in ["10 Mbit/s", "1 Gbit/s", "100 Gbit/s"] {
        let output = run_in(folder.path(), &["watch", "-r", "a.pcap", "--channel", channel]);
        check_code(&output, 0);
        let text = stdout(&output);
        assert!(text.lines().any(|line| line.starts_with("18921600 ")), "{text}");
        check_width(&text);
    }
}

#[test]
fn an_older_file_stays_where_no_capture_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("empty.pcap"), "").unwrap();
    fs::write(at("old"), "older").unwrap();
    fs::create_dir(at("tables")).unwrap();
    fs::write(at("tables/hosts.csv"), "older").unwrap();
    for input in ["none.pcap", "empty.pcap", "tables"] {
        for arguments in [
            &["capture", "-r", input, "-w", "old"][..],
            &["watch", "-r", input, "--annotate", "old"],
            &["watch", "-r", input, "--events", "old"],
            &["watch", "-r", input, "--csv", "tables"],
        ] {
            let output = run_in(folder.path(), arguments);
            check_code(&output, 1);
            assert!(stderr(&output).contains(input), "{}", stderr(&output));
            for name in ["old", "tables/hosts.csv"] {
                assert_eq!(fs::read(at(name)).unwrap(), b"older", "{arguments:?}");
            }
        }
    }
    let output = run_in(folder.path(), &["capture", "-r", "none.pcap", CELL, "-w", "old"]);
    check_code(&output, 1);
    assert!(fs::read(at("old")).unwrap().len() > 1_000, "a bad file does not stop the next");
}

#[test]
fn an_option_without_its_unit_leaves_no_run_folder() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["predict", "status-short", "--precision", "5"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("the unit is missing (%)"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_in_place_of_a_folder_is_named_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), "").unwrap();
    let vary = ["--vary", "background.load=0 %,10 %", "-n", "1", "--figure", "f", "--no-save"];
    for arguments in [
        &["watch", "-r", CELL, "--csv", "f"][..],
        &["predict", "status-short", "-n", "1", "-o", "f"],
        &[&["predict", "status-csma"][..], &vary].concat(),
    ] {
        let output = run_in(folder.path(), arguments);
        check_code(&output, 1);
        let text = stderr(&output);
        assert!(text.contains("error: f is a file, not a folder\n  fix: "), "{text}");
    }
}

#[test]
fn a_scenario_file_that_is_missing_can_be_made() {
    let fix = "fix: tidewire scenarios copy status-short mine.toml makes one";
    check_error(&["predict", "mine.toml"], 1, fix);
}

#[test]
fn a_scenario_comes_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let text = String::from_utf8(run(&["scenarios", "show", "status-short"]).stdout).unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, &text).unwrap();
    let predicted = |scenario: &str| {
        let mut predict = command(&["predict", scenario, "--no-save", "-n", "2"]);
        let output = predict.stdin(std::fs::File::open(&path).unwrap()).output().unwrap();
        check_code(&output, 0);
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(predicted("-"), predicted(&path.display().to_string()));
    std::fs::write(&path, text.replace("version = 1", "version = 0")).unwrap();
    let mut predict = command(&["predict", "-", "--no-save"]);
    let output = predict.stdin(std::fs::File::open(&path).unwrap()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("standard input:"), "{said}");
}
