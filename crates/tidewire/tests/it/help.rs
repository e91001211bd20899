//! Help texts, word by word: a change of an option is a difference that a person reads.

use crate::{check_code, run, stdout};

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
        "profiles",
        "doctor",
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

#[test]
fn experiments_explain_their_options() {
    insta::assert_snapshot!("measure_layers", help(&["measure", "layers", "--help"]));
    insta::assert_snapshot!("measure_mms", help(&["measure", "mms", "--help"]));
    insta::assert_snapshot!("serve_mms", help(&["serve", "mms", "--help"]));
    insta::assert_snapshot!("predict_layers", help(&["predict", "layers", "--help"]));
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
