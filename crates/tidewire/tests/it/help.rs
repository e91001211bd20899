//! Help texts, word by word: a change of an option is a difference that a person reads.

use crate::{check_code, records, run, stdout};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn the_help_of_the_whole_begins_with_examples() {
    let text = help(&["--help"]);
    assert!(text.trim_start().starts_with("tidewire demo"), "{text}");
    insta::assert_snapshot!("tidewire", text);
}

#[test]
fn every_verb_explains_its_options() {
    let verbs = [
        "demo",
        "predict",
        "measure",
        "serve",
        "relay",
        "watch",
        "meter",
        "show",
        "capture",
        "dissect",
        "calibrate",
        "compare",
        "merge",
        "rerun",
        "report",
        "web",
        "advise",
        "reproduce",
        "scenarios",
        "schema",
        "profiles",
        "doctor",
        "selftest",
        "completions",
        "man",
        "help",
    ];
    let listed = help(&["--help"]);
    for verb in verbs {
        assert!(listed.contains(&format!("\n  {verb} ")), "{verb} is not listed");
        insta::assert_snapshot!(verb, help(&[verb, "--help"]));
    }
    let commands = listed.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let count = commands.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   ")).count();
    assert_eq!(count, verbs.len(), "a verb is missing here");
}

/// Lines of a screen on which `-h` fits.
const SCREEN: usize = 24;

#[test]
fn the_short_help_is_one_screen_and_begins_with_three_examples() {
    let listed = records(&run(&["help", "--json"]));
    let verbs = listed.iter().filter_map(|it| it["verb"].as_str().map(str::to_owned));
    let mut verbs: Vec<String> = verbs.collect();
    verbs.dedup();
    assert!(verbs.len() > 30, "{verbs:?}");
    for verb in std::iter::once(String::new()).chain(verbs) {
        let words: Vec<&str> = verb.split_whitespace().chain(["-h"]).collect();
        let text = help(&words);
        let lines: Vec<&str> = text.lines().collect();
        let wide = lines.iter().find(|line| line.chars().count() > 80);
        assert!(lines.len() <= SCREEN && wide.is_none(), "{verb}: {} lines\n{text}", lines.len());
        // Actions on scenarios and profiles share the examples above them.
        let is_action = verb.starts_with("scenarios ") || verb.starts_with("profiles ");
        let are_examples = lines.iter().take(3).all(|line| line.contains("tidewire "));
        assert!(are_examples && lines[3].is_empty() || is_action, "{verb}: {text}");
    }
}

#[test]
fn the_whole_help_has_options_that_the_short_one_leaves_out() {
    for verb in ["predict", "measure", "watch"] {
        let (short, whole) = (help(&[verb, "-h"]), help(&[verb, "--help"]));
        // A value in a list has a blank behind its hyphen.
        let is_option = |line: &&str| line.starts_with('-') && !line.starts_with("- ");
        let count = |text: &str| text.lines().map(str::trim).filter(is_option).count();
        assert!(count(&short) + 10 < count(&whole), "{verb}");
        // Five options are those of all verbs.
        let more = count(&whole) - count(&short) - 5;
        assert!(short.contains(&format!("{more} more, and --json")), "{verb}: {more}\n{short}");
    }
    // Without arguments the program prints the short help.
    let output = run::<&str>(&[]);
    check_code(&output, 2);
    assert_eq!(crate::stderr(&output), help(&["-h"]));
}

#[test]
fn help_names_the_places_that_the_program_writes_to() {
    let text = help(&["--help"]);
    for part in ["runs are written to ./runs", "no settings and no cache", "Nothing is reported"] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn experiments_explain_their_options() {
    insta::assert_snapshot!("measure_layers", help(&["measure", "layers", "--help"]));
    insta::assert_snapshot!("measure_mms", help(&["measure", "mms", "--help"]));
    insta::assert_snapshot!("serve_mms", help(&["serve", "mms", "--help"]));
    insta::assert_snapshot!("predict_layers", help(&["predict", "layers", "--help"]));
}

/// Options whose verbs take different kinds of values.
const OTHER_VALUES: [(&str, &str); 1] = [
    // A report is one file; runs and pages are folders.
    ("--output", "FILE FOLDER"),
];

/// Words that the descriptions of an option have in all verbs, if they are not alike up to the first point.
const MEANINGS: [(&str, &str); 30] = [
    ("--allow-write", "may"),
    ("--called", "Called TSAP-ID"),
    ("--capture", "pcapng file"),
    ("--fault", "Faults of frames"),
    ("--figure", "Draw"),
    ("--foreign-peer", "is not tidewire"),
    ("--format", "Form"),
    ("--full", "eep user data too"),
    ("--interface", "on this interface"),
    ("--live", "real"),
    ("--max-frames", "Highest"),
    ("--messages", "essages"),
    ("--outstanding", "Numbers of requests outstanding"),
    ("--output", "folder"),
    ("--over", "iso-tcp"),
    ("--period", "Time from one"),
    ("--read", "Read"),
    ("--require", "equire"),
    ("--rounds", "Rounds"),
    ("--runs", "uns"),
    ("--screen", "keys turn to other pages"),
    ("--seed", "Seed"),
    ("--sizes", "ize"),
    ("--speed", "Replay speed"),
    ("--time", "ime"),
    ("--top", "of their own"),
    ("--udp", "UDP"),
    ("--udp-peer", "address"),
    ("--web", "page"),
    ("--write", "to this file"),
];

#[test]
fn an_option_means_the_same_in_every_verb() {
    let mut options: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for record in records(&run(&["help", "--json"])) {
        if let Some(option) = record["option"].as_str().filter(|it| *it != "--help") {
            options.entry(option.to_owned()).or_default().push(record);
        }
    }
    let mut used = BTreeSet::new();
    for (option, records) in &options {
        let all = |key: &str| -> BTreeSet<&str> {
            records.iter().map(|it| it[key].as_str().unwrap_or_default()).collect()
        };
        let values: Vec<&str> = all("value").into_iter().collect();
        let is_known = OTHER_VALUES.contains(&(option.as_str(), &values.join(" ")));
        assert!(values.len() == 1 || is_known, "{option}: {values:?}");
        assert_eq!(all("short").len(), 1, "{option}: {:?}", all("short"));
        // An option that a verb has only to refuse it means nothing.
        let about = all("about");
        let about: BTreeSet<&&str> = about.iter().filter(|it| !it.starts_with("Refused")).collect();
        let firsts: BTreeSet<&str> =
            about.iter().map(|it| it.split([';', '.']).next().unwrap_or_default()).collect();
        if firsts.len() > 1 {
            let meaning = MEANINGS.iter().find(|it| it.0 == option);
            let meaning = meaning.unwrap_or_else(|| panic!("{option}: {about:#?}")).1;
            let other: Vec<_> = about.iter().filter(|it| !it.contains(meaning)).collect();
            assert!(other.is_empty(), "{option}: without {meaning:?}: {other:#?}");
            used.insert(option.as_str());
        }
    }
    let unused: Vec<_> = MEANINGS.iter().filter(|it| !used.contains(it.0)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn help_on_a_verb_is_what_the_verb_says_of_its_options() {
    for verb in ["watch", "relay", "meter"] {
        assert_eq!(help(&["help", verb]).trim(), help(&[verb, "--help"]).trim());
    }
    let output = run(&["help", "wach"]);
    check_code(&output, 2);
    assert!(crate::stderr(&output).contains("no topic \"wach\""), "{}", crate::stderr(&output));
}

#[test]
fn every_topic_that_is_listed_can_be_read() {
    let list = help(&["help"]);
    let topics: Vec<&str> = list
        .split("\n\n")
        .nth(1)
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    assert!(topics.len() >= 8, "{topics:?}");
    for topic in topics {
        let text = help(&["help", topic]);
        assert!(text.starts_with(&format!("# {topic}\n")), "{topic}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{topic} is too wide");
    }
}

fn help(arguments: &[&str]) -> String {
    let output = run(arguments);
    check_code(&output, 0);
    stdout(&output)
}
