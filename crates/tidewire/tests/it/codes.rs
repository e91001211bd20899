//! Exit codes are those that are documented, and each error says what it is about.

use crate::{check_code, command, records, run, run_in, stderr, stdout};
use serde_json::{Value, json};
use std::fs;

#[test]
fn what_cannot_be_meant_ends_with_2() {
    check(&[], 2, "Usage: tidewire");
    check(&["no-such-verb"], 2, "unrecognized subcommand");
    check(&["help", "nothing"], 2, "fix: one of scenario, profiles, units");
    check(&["watch", "--demo", "-r", "a.pcap"], 2, "cannot be used with");
    check(&["watch", "-r", "a.pcap", "-i", "lo"], 2, "cannot be used with");
    check(&["watch", "-r", "a.pcap", "--measure", "15"], 2, "the unit is missing");
    check(&["watch", "-r", "a.pcap", "--measure", "0 s"], 2, "an interval must be longer than 0");
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
    assert!(said.contains("\n  | ^^^^^^\n  |\n  = expected"), "{said}");
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
fn an_error_is_a_record_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let text = bench::scenarios::get("bulk").unwrap().text;
    let line = text.lines().position(|line| line.starts_with("medium =")).unwrap() + 1;
    let text = text.replace("medium =", "mediun =").replace("version = 1", "version = 1\nsede = 3");
    fs::write(folder.path().join("typo.toml"), text).unwrap();
    for verb in ["predict", "measure", "advise"] {
        let output = run_in(folder.path(), &[verb, "typo.toml", "--json"]);
        check_code(&output, 2);
        let told = records(&output);
        let of = |message: &str| told.iter().find(|it| it["message"] == message).unwrap();
        let medium = of("unknown key `mediun`");
        assert_eq!((&medium["type"], &medium["file"]), (&json!("error"), &json!("typo.toml")));
        assert_eq!((&medium["line"], &medium["column"]), (&json!(line + 1), &json!(1)));
        assert_eq!(medium["help"], "did you mean `medium`?");
        assert_eq!(of("unknown key `sede`")["help"], "did you mean `seed`?");
        assert_eq!(medium["exit"], 2);
    }
    for (arguments, code) in [
        (&["predict", "--json"][..], 2),
        (&["predict", "missing.toml", "--json"], 1),
        (&["measure", "bulk", "--size", "9", "--json"], 2),
        (&["serve", "--json"], 2),
        (&["compare", "missing-a", "missing-b", "--json"], 1),
    ] {
        let output = run(arguments);
        check_code(&output, code);
        let told = records(&output);
        assert_eq!((told.len(), &told[0]["type"]), (2, &json!("error")), "{arguments:?}");
        assert_eq!(told[0]["exit"], code, "{arguments:?}");
        // Readers wait for this record, whatever ended the command.
        assert_eq!((&told[1]["type"], &told[1]["complete"]), (&json!("end"), &json!(false)));
        let error = told[1]["error"].as_str().unwrap();
        assert!(told[0]["message"].as_str().unwrap().starts_with(error), "{arguments:?}: {error}");
    }
}

#[test]
fn a_seed_of_64_bits_is_text_in_every_record() {
    let folder = tempfile::tempdir().unwrap();
    let seed = "9223372036854775809";
    let arguments = ["predict", "status-short", "-n", "1", "--seed", seed, "--json", "-o", "kept"];
    check_code(&run_in(folder.path(), &arguments), 0);
    let kept = fs::read_dir(folder.path().join("kept")).unwrap().next().unwrap().unwrap().path();
    let about: Value = serde_json::from_slice(&fs::read(kept.join("run.json")).unwrap()).unwrap();
    assert_eq!(about["seed"], seed);
    let samples = fs::read_to_string(kept.join("samples.ndjson")).unwrap();
    let sample: Value = serde_json::from_str(samples.lines().next().unwrap()).unwrap();
    let drawn = sample["seed"].as_str().expect("a string");
    // Folders of older versions have numbers.
    let number = |text: &str, seed: &str| {
        let of = |space| [format!("\"seed\":{space}\"{seed}\""), format!("\"seed\":{space}{seed}")];
        ["", " "].map(of).iter().fold(text.to_owned(), |text, [new, old]| text.replace(new, old))
    };
    fs::write(kept.join("samples.ndjson"), number(&samples, drawn)).unwrap();
    let about = fs::read_to_string(kept.join("run.json")).unwrap();
    let older = number(&about, seed);
    assert_ne!(about, older);
    fs::write(kept.join("run.json"), older).unwrap();
    for arguments in [&["predict", "--resume", "kept"][..], &["compare", "kept", "kept"]] {
        check_code(&run_in(folder.path(), arguments), 0);
    }
    let printed = ["predict", "bulk", "--seed", seed, "--print-scenario", "--json"];
    assert_eq!(records(&run(&printed))[0]["scenario"]["seed"], seed);
}

#[test]
fn a_folder_of_runs_stands_for_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let predict = ["predict", "status-short", "-n", "1", "-o", "all"];
    check_code(&run_in(here, &predict), 0);
    let resumed = run_in(here, &["predict", "--resume", "all"]);
    check_code(&resumed, 0);
    assert!(stderr(&resumed).contains("1 runs found, none is missing"), "{}", stderr(&resumed));
    // A second run of the same line.
    check_code(&run_in(here, &predict), 0);
    let compared = run_in(here, &["compare", "all", "all"]);
    check_code(&compared, 0);
    assert!(stderr(&compared).contains("all has 2 run folders; the latest is all/"));
    let resumed = run_in(here, &["predict", "--resume", "all"]);
    check_code(&resumed, 2);
    assert!(stderr(&resumed).contains("fix: name one; the latest is --resume all/"));
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

#[test]
fn a_mistake_in_an_option_has_a_caret_and_a_topic_of_help() {
    let said = |arguments: &[&str]| {
        let output = run(arguments);
        check_code(&output, 2);
        stderr(&output)
    };
    let measure = said(&["watch", "--demo", "--measure", "15"]);
    let carets = "\n  | --measure 15\n  |           ^^\n  fix: tidewire help units\n";
    assert!(measure.contains("the unit is missing") && measure.ends_with(carets), "{measure}");
    let require = said(&["predict", "bulk", "--require", "mis() < 1"]);
    let carets =
        "\n  | --require mis() < 1\n  |           ^^^^^^^^^\n  fix: tidewire help requirements\n";
    assert!(
        require.contains("invalid value 'mis() < 1'") && require.ends_with(carets),
        "{require}"
    );
    let filter = said(&["watch", "--demo", "-f", "hosst 1"]);
    assert!(filter.ends_with("fix: tidewire help filter\n"), "{filter}");
    // The parser of filters knows the word.
    assert!(filter.contains("\n  hosst 1\n  ^^^^^\n"), "{filter}");
    assert_eq!(filter.matches('^').count(), 5, "{filter}");
}

#[test]
fn a_capture_that_cannot_be_read_has_no_total_of_zeros() {
    let output = run(&["watch", "-r", "nowhere.pcap", "--json"]);
    check_code(&output, 1);
    let kinds: Vec<String> =
        records(&output).iter().map(|it| it["type"].as_str().unwrap().to_owned()).collect();
    assert!(kinds.iter().all(|kind| kind != "total"), "{kinds:?}");
    assert_eq!(kinds.last().unwrap(), "end");
}

#[test]
fn a_watched_run_is_not_made_anew_but_shown() {
    let folder = tempfile::tempdir().unwrap();
    let watch = ["watch", "-r", crate::export::CELL, "-o", "runs"];
    check_code(&run_in(folder.path(), &watch), 0);
    let path = std::fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap();
    let path = path.path().display().to_string();
    let again = run_in(folder.path(), &["rerun", &path]);
    check_code(&again, 2);
    let said = stderr(&again);
    assert!(said.contains("was watched: a network repeats nothing"), "{said}");
    assert!(said.contains(&format!("tidewire show {path} shows it again")), "{said}");
    // The fix works.
    let shown = run_in(folder.path(), &["show", &path, "--plain"]);
    check_code(&shown, 0);
    assert!(stdout(&shown).contains("595 frames"), "{}", stdout(&shown));
}

#[test]
fn a_missing_capture_has_an_error_record_before_the_end() {
    let output = run(&["watch", "-r", "missing.pcap", "--json"]);
    check_code(&output, 1);
    let records = records(&output);
    let [_, error, end] = &records[..] else { panic!("{records:?}") };
    assert_eq!((&error["type"], &error["exit"]), (&"error".into(), &1.into()));
    assert!(error["message"].as_str().unwrap().starts_with("cannot open missing.pcap"));
    assert_eq!((&end["type"], &end["error"]), (&"end".into(), &error["message"]));
}

#[test]
fn metrics_of_a_screen_are_refused_with_a_way_out() {
    let output = run(&["watch", "--demo", "--screen", "measures", "--metrics", "127.0.0.1:0"]);
    check_code(&output, 2);
    let text = stderr(&output);
    assert!(text.contains("--metrics: no effect with --screen") && text.contains("fix:"), "{text}");
}
