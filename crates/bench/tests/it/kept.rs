//! Scenario files of older versions of the program, which are read for as long as their format is.

use bench::scenario::load;
use std::fs;
use std::path::Path;

/// Files of format 1 as they were first written, with their points and flows.
const VERSION_1: [(&str, usize, usize); 6] = [
    ("status-csma", 3, 1),
    ("ring", 4, 1),
    ("control-loop", 3, 6),
    ("t1s-zone", 4, 7),
    ("bulk", 6, 1),
    ("manufacturing-cell", 6, 4),
];

#[test]
fn a_file_without_a_version_is_refused_with_the_line_to_add() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/version-1");
    let text = fs::read_to_string(folder.join("bulk.toml")).unwrap();
    for (version, expected) in [
        ("", &["missing key `version`", "add `version = 1`"][..]),
        ("version = 2", &["version 2 is not known", "this program reads version 1"]),
        ("version = \"1\"", &["version"]),
    ] {
        let error = load(&text.replace("version = 1", version), "bulk").unwrap_err().to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
        assert_eq!(
            error.matches("missing key").count(),
            usize::from(version.is_empty()),
            "{error}"
        );
    }
    // A file that extends another has its version.
    let extended = "extends = \"bulk\"\ntitle = \"t\"\n";
    assert_eq!(load(extended, "more").unwrap().scenario().version, 1);
}

#[test]
fn files_of_older_versions_are_still_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/version-1");
    let count = fs::read_dir(&folder).unwrap().count();
    assert_eq!(count, VERSION_1.len(), "a kept file is in no row");
    for (name, points, flows) in VERSION_1 {
        let text = fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        assert!(text.contains("version = 1"), "{name}");
        let study = load(&text, name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((study.points.len(), study.scenario().flows.len()), (points, flows), "{name}");
    }
}
