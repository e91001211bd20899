//! `scenarios` lists, shows and copies, and never overwrites.

use crate::{check_code, records, run, run_in, stderr, stdout};
use std::fs;

#[test]
fn every_built_in_scenario_is_listed_and_shown_as_it_is() {
    let list = run(&["scenarios", "list"]);
    check_code(&list, 0);
    for built_in in bench::scenarios::ALL {
        assert!(stdout(&list).lines().any(|line| line.starts_with(built_in.name)));
        let shown = run(&["scenarios", "show", built_in.name]);
        assert_eq!(stdout(&shown).trim_end(), built_in.text.trim_end());
    }
}

#[test]
fn a_copy_can_be_run_and_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let copy = ["scenarios", "copy", "status-short", "mine.toml"];
    check_code(&run_in(folder.path(), &copy), 0);
    let path = folder.path().join("mine.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, bench::scenarios::get("status-short").unwrap().text);
    check_code(&run_in(folder.path(), &["predict", "mine.toml", "-n", "1", "--no-save"]), 0);

    fs::write(&path, "changed").unwrap();
    let again = run_in(folder.path(), &copy);
    check_code(&again, 1);
    assert!(stderr(&again).contains("not overwritten"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "changed");
}

#[test]
fn the_schema_is_one_json_document() {
    let output = run(&["scenarios", "schema"]);
    let schema: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(schema["properties"]["medium"].is_object());
    assert_eq!(records(&run(&["scenarios", "schema", "--json"])), [schema]);
}
