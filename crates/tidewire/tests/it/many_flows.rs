//! Scenarios of more flows than a screen has rows: the worst have rows, and a line has all.

use crate::{check_code, records, run_in, stderr, stdout};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A scenario of 30 flows with a deadline of 1 ms each, of which f17 alone misses it.
fn scenario(folder: &Path, head: &str) {
    let mut text = format!(
        "version = 1\ntitle = \"many\"\nstop = {{ after = \"100 ms\" }}\n{head}\
         medium = {{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }}\n\
         stations = {{ count = 31, prefix = \"s\" }}\n"
    );
    for number in 0..30 {
        let from = number + 1;
        let size = if number == 17 { 1_400 } else { 100 + number };
        write!(
            text,
            "[[flow]]\nname = \"f{number}\"\nfrom = \"s-{from}\"\nto = \"s-31\"\nservice = \"datagram\"\n\
             pattern = {{ kind = \"cyclic\", period = \"10 ms\" }}\nsize = \"{size} B\"\n\
             deadline = \"1 ms\"\nstart = \"0 s\"\n"
        )
        .unwrap();
    }
    fs::write(folder.join("many.toml"), text).unwrap();
}

/// Names of the flows with a row in the table with this heading, in its order.
fn rows<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let table = text.lines().skip_while(|line| !line.trim_start().starts_with(heading)).skip(1);
    let first_words = table.map_while(|line| line.split_whitespace().next());
    first_words.filter(|word| word.starts_with('f')).collect()
}

#[test]
fn rows_are_those_of_the_worst_flows() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "");
    let told = |verb: &str, options: &[&str]| {
        let all = [&[verb, "many.toml", "--no-save"], options].concat();
        let output = run_in(folder.path(), &all);
        check_code(&output, 0);
        stdout(&output)
    };
    let text = told("predict", &[]);
    for heading in ["flow       ", "flow  deadline"] {
        let rows = rows(&text, heading);
        assert_eq!(rows.len(), 20, "{text}");
        // The one that missed, then those whose messages take longest.
        assert_eq!(rows[..3], ["f17", "f29", "f28"], "{text}");
    }
    assert!(text.contains("all: 29 of 30 always met, 1 of 30 missed; worst f17"), "{text}");
    assert!(text.contains("the 20 worst of 30: --top N shows more"), "{text}");
    let few = told("predict", &["--top", "3"]);
    assert_eq!(rows(&few, "flow  deadline"), ["f17", "f29", "f28"], "{few}");
    let all = told("predict", &["--top", "30"]);
    let in_order: Vec<String> = (0..30).map(|number| format!("f{number}")).collect();
    assert_eq!(rows(&all, "flow  deadline"), in_order, "{all}");
    assert!(!all.contains("--top"), "{all}");
    // Measured in this process.
    let measured = told("measure", &["--top", "3"]);
    assert!(measured.contains("the 3 worst of 30"), "{measured}");
}

#[test]
fn a_remark_on_many_flows_is_one_note() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "faults = { duplicate = \"50 %\" }\n");
    let told = |top: &str| {
        let all = ["predict", "many.toml", "--no-save", "-n", "2", "--top", top];
        let text = stdout(&run_in(folder.path(), &all));
        let notes = text.lines().filter(|line| line.contains("arrived twice"));
        notes.map(str::to_owned).collect::<Vec<_>>()
    };
    let one = told("20");
    assert!(one.len() == 1 && one[0].contains("note: 30 flows: "), "{one:?}");
    assert_eq!(told("30").len(), 30);
}

#[test]
fn each_flow_has_its_record_whatever_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "");
    let output = run_in(folder.path(), &["predict", "many.toml", "--no-save", "--json"]);
    let report = records(&output).into_iter().find(|it| it["type"] == "report").unwrap();
    assert_eq!(report["points"][0]["flows"].as_array().unwrap().len(), 30);
    let both = run_in(folder.path(), &["predict", "many.toml", "--json", "--top", "3"]);
    check_code(&both, 2);
    assert!(stderr(&both).contains("--top: no effect with --json"), "{}", stderr(&both));
}

#[test]
fn requirements_on_many_flows_are_told_worst_first() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "require = [\"miss(*) < 1 %\"]\n");
    let output = run_in(folder.path(), &["predict", "many.toml", "--no-save"]);
    let text = stdout(&output);
    let table: Vec<&str> = text.lines().skip_while(|line| *line != "requirements").collect();
    let failed = table.iter().position(|line| line.contains("FAIL")).unwrap();
    let passed = table.iter().position(|line| line.contains("pass")).unwrap();
    assert!(failed < passed && table[failed].contains("f17"), "{text}");
    assert!(text.contains("the table has the 20 worst of 30"), "{text}");
}

#[test]
fn figures_of_a_sweep_are_those_of_the_worst_flows() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "");
    let medium = "medium.delay=5 us,50 us";
    let arguments =
        ["predict", "many.toml", "--no-save", "-P", medium, "--figure", "drawn", "--top", "2"];
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 0);
    let drawn = fs::read_to_string(folder.path().join("drawn/mean.csv")).unwrap();
    assert!(drawn.contains("f17") && drawn.contains("f29"), "{drawn}");
    assert!(!drawn.contains("f28"), "{drawn}");
    assert!(stderr(&output).contains("figures: the 2 worst of 30 flows"), "{}", stderr(&output));
}

#[test]
fn a_comparison_of_many_flows_has_those_that_differ_most() {
    let folder = tempfile::tempdir().unwrap();
    let predicted = |into: &str| {
        check_code(&run_in(folder.path(), &["predict", "many.toml", "-o", into]), 0);
    };
    scenario(folder.path(), "");
    predicted("a");
    let text = fs::read_to_string(folder.path().join("many.toml")).unwrap();
    let larger = text.replace("size = \"105 B\"", "size = \"1005 B\"");
    fs::write(folder.path().join("many.toml"), larger).unwrap();
    predicted("b");
    let output = run_in(folder.path(), &["compare", "a", "b", "--top", "1"]);
    check_code(&output, 0);
    let text = stdout(&output);
    let flows: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('f') && line.len() < 4)
        .collect();
    assert_eq!(flows, ["f5"], "{text}");
    assert!(text.contains("of 30 flows show a difference"), "{text}");
    let refused = run_in(folder.path(), &["compare", "a.hgrm", "b.hgrm", "--top", "1"]);
    assert!(stderr(&refused).contains("--top"), "{}", stderr(&refused));
}

#[test]
fn many_equal_warnings_are_one() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "");
    let text = fs::read_to_string(folder.path().join("many.toml")).unwrap();
    let short = text.replace("deadline = \"1 ms\"", "deadline = \"1 us\"");
    fs::write(folder.path().join("many.toml"), short).unwrap();
    let output = run_in(folder.path(), &["predict", "many.toml", "--no-save", "--top", "0"]);
    let told = stderr(&output);
    assert!(told.lines().count() < 50, "{told}");
    assert!(told.contains("more warning"), "{told}");
    let unknown = ["predict", "many.toml", "--no-save", "--require", "miss(f2x) < 1 %"];
    let told = stderr(&run_in(folder.path(), &unknown));
    assert!(told.contains("did you mean f2?") && told.contains("and 10 more"), "{told}");
}
