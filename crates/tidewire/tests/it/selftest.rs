//! `selftest`: each check is a line, and known results are the same here.

use crate::{check_code, records, run, stdout};
use bench::folder::hash;

#[test]
fn each_check_passes_or_says_why_it_is_skipped() {
    let output = run(&["selftest"]);
    check_code(&output, 0);
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(lines.len(), 7, "{text}");
    for line in &lines {
        assert!(line.starts_with("pass ") || line.starts_with("skipped "), "{line}");
    }
    // The digest is that of the tables that the tests of the project compare, not of what was made here.
    let table = |name: &str| {
        let path = format!("{}/../../scenarios/{name}.expected", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let all = ["status-short", "substation", "ring"].map(table).concat();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.contains(&hash(&all).as_str()), "{text}");
    for what in
        ["predictions  3 scenarios give", "clock        200000 readings", "20 of 20 messages"]
    {
        assert!(text.contains(what), "{what}: {text}");
    }
}

#[test]
fn the_records_of_a_selftest_have_each_check_and_an_end() {
    let found = records(&run(&["selftest", "--json"]));
    let names: Vec<&str> = found.iter().filter_map(|record| record["name"].as_str()).collect();
    let all = ["predictions", "clock", "timers", "stations", "udp", "listening", "af-xdp"];
    assert_eq!(names, all);
    let end = found.last().unwrap();
    assert_eq!(
        (&end["type"], &end["complete"], &end["error"]),
        (&"end".into(), &true.into(), &().into())
    );
}
