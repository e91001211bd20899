//! `scenarios` lists, shows and copies, and never overwrites.

use crate::json_schema::conforms;
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
fn built_in_scenarios_conform_to_the_schema() {
    let schema = records(&run(&["scenarios", "schema", "--json"])).remove(0);
    for built_in in bench::scenarios::ALL {
        let scenario: serde_json::Value = toml::from_str(built_in.text).unwrap();
        assert_eq!(conforms(&scenario, &schema, &schema), Ok(()), "{}", built_in.name);
    }
    let wrong = toml::from_str("version = 1\nmedium = 7").unwrap();
    assert!(conforms(&wrong, &schema, &schema).is_err());
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

/// A scenario that changes a built-in one.
const EXTENDING: &str = "extends = \"status-csma\"\ntitle = \"mine\"\nreplications = 1\n\
    constraint = \"background.load <= 30 % and flow.status.size < 300 B\"\n\
    [[flow]]\nname = \"status\"\nsize = \"64 B\"\nmessages = 20\n\
    [vary]\n\"flow.status.size\" = [\"64 B\", \"256 B\", \"1 KiB\"]\n";

#[test]
fn a_scenario_that_extends_conforms_to_the_schema() {
    let schema = records(&run(&["scenarios", "schema", "--json"])).remove(0);
    let conforms_to = |text: &str| {
        let scenario: serde_json::Value = toml::from_str(text).unwrap();
        conforms(&scenario, &schema, &schema)
    };
    assert_eq!(conforms_to(EXTENDING), Ok(()));
    assert!(conforms_to(&EXTENDING.replace("extends", "title2")).is_err());
    assert!(conforms_to(&EXTENDING.replace("size =", "sise =")).is_err());
}

#[test]
fn the_effective_scenario_has_origins_and_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), EXTENDING).unwrap();
    let line = "predict mine.toml --seed 4 -P background.load=0%,10%";
    let words: Vec<&str> = line.split(' ').collect();
    let printed = run_in(folder.path(), &[&words[..], &["--print-scenario"]].concat());
    check_code(&printed, 0);
    let printed = stdout(&printed);
    let origins = [
        ("title = ", "mine.toml:2"),
        ("seed = 4", "--seed"),
        ("length = ", "status-csma:9"),
        ("loss = ", "default"),
        ("messages = 20", "mine.toml:8"),
        ("\"background.load\" = ", "--vary"),
    ];
    for (beginning, origin) in origins {
        let found = printed.lines().find(|line| line.starts_with(beginning)).unwrap();
        assert!(found.ends_with(&format!("# {origin}")), "{found}");
    }
    check_code(&run_in(folder.path(), &words), 0);
    let made = fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_to_string(made.join("effective.toml")).unwrap(), printed);
    assert_eq!(fs::read_to_string(made.join("scenario.toml")).unwrap(), EXTENDING);
    let samples = |path: &std::path::Path| fs::read_to_string(path.join("samples.ndjson")).unwrap();
    // Two loads, and two of the three sizes.
    assert_eq!(samples(&made).lines().count(), 4 + 1);
    // The copy of the base is in the folder: runs can be made anew from it alone.
    fs::remove_file(folder.path().join("mine.toml")).unwrap();
    check_code(&run_in(folder.path(), &["rerun", "runs"]), 0);
    check_code(&run_in(folder.path(), &["report", "runs", "--format", "md", "-o", "-"]), 0);
    let base = made.join("profile-copies/1-status-csma.toml");
    let changed = fs::read_to_string(&base).unwrap().replace("500 m", "400 m");
    fs::write(&base, changed).unwrap();
    check_code(&run_in(folder.path(), &["rerun", "runs"]), 2);
}

#[test]
fn a_constraint_leaves_points_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), EXTENDING).unwrap();
    let points = |condition: &[&str]| {
        let line = [&["predict", "mine.toml", "--dry-run", "--json"][..], condition].concat();
        let output = run_in(folder.path(), &line);
        (output.status.code(), records(&output)[0]["points"].as_u64(), stderr(&output))
    };
    assert_eq!(points(&[]).1, Some(4));
    assert_eq!(points(&["--constraint", "flow.status.size > 0.5 kB"]).1, Some(3));
    let (code, _, error) = points(&["--constraint", "flow.status.size > 1 MB"]);
    assert!(code == Some(2) && error.contains("leaves no point"), "{error}");
    assert!(error.contains("--> command line:1:14"), "{error}");
    let (code, _, error) = points(&["--constraint", "flow.status.sise > 1 MB"]);
    assert!(code == Some(2) && error.contains("did you mean flow.status.size?"), "{error}");
}
