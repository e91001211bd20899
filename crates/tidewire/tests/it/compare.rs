//! `compare` shows differences where there are some, and says where none is shown.

use crate::predict::only_run;
use crate::{check_code, records, run_in, stderr, stdout};
use std::fs;
use std::path::Path;

fn predict(folder: &Path, arguments: &[&str], into: &str) -> String {
    let mut all = vec!["predict"];
    all.extend(arguments);
    all.extend(["-o", into]);
    check_code(&run_in(folder, &all), 0);
    only_run(&folder.join(into)).to_str().unwrap().to_owned()
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let folder = tempfile::tempdir().unwrap();
    let run = predict(folder.path(), &["status-short"], "a");
    let output = run_in(folder.path(), &["compare", &run, &run]);
    check_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("no difference shown"), "{text}");
    let told = run_in(folder.path(), &["compare", &run, &run, "--json"]);
    let [comparison, end] = &records(&told)[..] else { panic!("{}", stdout(&told)) };
    let differences = comparison["points"][0]["differences"].as_array().unwrap();
    // Three flows; each has at least delay.mean, throughput, lost.
    assert!(differences.len() >= 9);
    for difference in differences {
        assert_eq!(difference["verdict"], "no-difference-shown", "{difference}");
        assert_eq!(difference["difference"], 0.0, "{difference}");
    }
    assert_eq!((&end["type"], &end["complete"]), (&"end".into(), &true.into()));
}

#[test]
fn equal_copies_of_one_run_show_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let text = bench::scenarios::get("substation").unwrap().text;
    let run = |latency: &str, into: &str| {
        let text = text.replace("latency = \"5 us\"", &format!("latency = \"{latency}\""));
        fs::write(folder.path().join("s.toml"), text).unwrap();
        predict(folder.path(), &["s.toml", "-n", "2"], into)
    };
    let runs = [run("5 us", "a"), run("5 us", "b"), run("6 us", "c")];
    let found = |other: &str| {
        let output = run_in(folder.path(), &["compare", &runs[0], other, "--json"]);
        let comparison = records(&output).remove(0);
        let all = comparison["points"][0]["differences"].as_array().unwrap().clone();
        let mean = all.iter().find(|it| it["quantity"] == "delay.mean").unwrap();
        let are_equal = all.iter().all(|it| it["verdict"] == "no-difference-shown");
        (are_equal, mean["difference"] == 0.0, mean["verdict"].clone())
    };
    assert_eq!(found(&runs[1]), (true, true, "no-difference-shown".into()));
    // One run of each does not tell what others would.
    assert_eq!(found(&runs[2]), (false, false, "undecided".into()));
}

#[test]
fn a_slower_medium_shows_as_a_higher_delay() {
    let folder = tempfile::tempdir().unwrap();
    let fast = predict(folder.path(), &["status-short"], "fast");
    let text = bench::scenarios::get("status-short").unwrap().text;
    assert!(text.contains("delay = \"5 us\""));
    let slow = text.replace("delay = \"5 us\"", "delay = \"1005 us\"");
    fs::write(folder.path().join("slow.toml"), slow).unwrap();
    let slow = predict(folder.path(), &["slow.toml"], "slow");
    let output = run_in(folder.path(), &["compare", &fast, &slow]);
    check_code(&output, 0);
    let text = stdout(&output);
    // The table is wider than a terminal: the numbers stand below the quantity.
    let mut lines = text.lines().skip_while(|line| !line.starts_with("  delay.mean"));
    let line = lines.nth(1).unwrap();
    // A constant 198.6 us becomes 1,198.6 us: 6.035 times as much.
    assert!(line.contains("199 us") && line.contains("1.20 ms"), "{line}");
    assert!(line.contains("+1.00 ± 0 ms") || line.contains("+1.00 ± 0.00"), "{line}");
    assert!(line.contains("higher: 6.04"), "{line}");
}

#[test]
fn a_sweep_tells_what_each_value_changes_run_by_run_of_one_seed() {
    let folder = tempfile::tempdir().unwrap();
    let all = ["predict", "status-csma", "-n", "3", "--no-save", "--differences"];
    let with = |more: &[&str]| run_in(folder.path(), &[&all[..], more].concat());
    let output = with(&["background.load"]);
    check_code(&output, 0);
    let text = stdout(&output);
    for value in ["30 %", "60 %"] {
        let heading =
            format!("background.load: {value} against 0 %, 3 pairs of runs, each of one seed");
        assert!(text.contains(&heading), "{text}");
    }
    let told = with(&["background.load", "--json"]);
    let all = records(&told);
    let found = all.iter().find(|record| record["type"] == "differences").unwrap();
    assert_eq!(all.last().unwrap()["type"], "end");
    let against = found["differences"].as_array().unwrap();
    assert_eq!(against.len(), 2);
    assert_eq!((&against[0]["pairs"], &against[0]["other"]), (&3.into(), &"30 %".into()));
    // More load, more delay: 60 % against none by far.
    let delay = against[1]["differences"].as_array().unwrap();
    let delay = delay.iter().find(|it| it["quantity"] == "delay.mean").unwrap();
    assert!(delay["difference"].as_f64().unwrap() > 0.0, "{delay}");
    let unknown = with(&["background.size"]);
    check_code(&unknown, 2);
    assert!(stderr(&unknown).contains("one of background.load"), "{}", stderr(&unknown));
}

#[test]
fn a_run_that_was_cut_off_is_compared_and_said_to_be_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let run = predict(folder.path(), &["status-short"], "a");
    let cut = folder.path().join("cut");
    fs::create_dir(&cut).unwrap();
    let samples = fs::read_to_string(Path::new(&run).join("samples.ndjson")).unwrap();
    let two: Vec<&str> = samples.lines().take(2).collect();
    fs::write(cut.join("samples.ndjson"), two.join("\n")).unwrap();
    let output = run_in(folder.path(), &["compare", &run, "cut"]);
    check_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("other     cut") && text.contains("2 runs"), "{text}");
    assert_eq!(text.matches("NOT COMPLETE: the file was cut off").count(), 1, "{text}");
}

#[test]
fn runs_of_other_points_have_nothing_to_compare() {
    let folder = tempfile::tempdir().unwrap();
    let a = predict(folder.path(), &["status-short", "-n", "2"], "a");
    let text = bench::scenarios::get("status-short").unwrap().text;
    let varied = format!("{text}\n[vary]\n\"medium.delay\" = [\"7 us\", \"9 us\"]\n");
    fs::write(folder.path().join("varied.toml"), varied).unwrap();
    let b = predict(folder.path(), &["varied.toml", "-n", "2"], "b");
    let output = run_in(folder.path(), &["compare", &a, &b]);
    check_code(&output, 4);
    assert!(stdout(&output).contains("only in other: medium.delay = 7 us"), "{}", stdout(&output));
    assert!(stderr(&output).contains("no point in common"));
}

#[test]
fn foreign_files_are_named_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text"), "one\ntwo\n").unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    let of = |name: &str| {
        let output = run_in(folder.path(), &["compare", name, name]);
        check_code(&output, 1);
        stderr(&output)
    };
    assert!(of("text").contains("text:1: "));
    assert!(of("empty").contains("empty holds no samples"));
    assert!(of(".").contains("samples.ndjson"));
}
