//! The demo does everything once and keeps its runs.

use crate::{check_code, records, run, run_in, stdout};

#[test]
fn the_demo_passes_and_its_runs_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["demo"]);
    check_code(&output, 0);
    let said = stdout(&output);
    assert!(said.contains("verdict  PASS"), "{said}");
    assert!(!said.contains('\u{1b}'), "escape codes in a pipe");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let runs: Vec<_> = std::fs::read_dir(folder.path().join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    assert_eq!(runs.len(), 2, "{runs:?}");
    // The names begin with the second in which each was kept, which need not be the same.
    let named = |end| runs.iter().find(|name| name.ends_with(end)).expect("both have a folder");
    let (predicted, measured) = (named("-demo-predicted"), named("-demo-measured"));
    let page = std::fs::read_to_string(format!("{measured}/report.html")).unwrap();
    for part in ["<h2 id=\"comparison\">", "Thin: the baseline, simulated", "tidewire demo</code>"]
    {
        assert!(page.contains(part), "{part}");
    }
    let compared = run(&["compare", predicted, measured]);
    check_code(&compared, 0);
    assert!(stdout(&compared).contains("delay.mean"));
}

#[test]
fn the_demo_in_ndjson_ends_with_its_verdict() {
    let output = run(&["demo", "--no-save", "--json"]);
    check_code(&output, 0);
    let records = records(&output);
    assert_eq!(records.last().unwrap()["verdict"], "PASS");
    assert!(records.iter().filter(|record| record["type"] == "step").count() >= 5);
}
