//! The guides in `docs/guides`: each command runs, and its output has the lines shown.

use crate::examples;
use std::fs;

/// The guides, each with a test below.
const GUIDES: [&str; 5] =
    ["plant-engineer", "protocol-implementer", "real-time-developer", "substation", "teacher"];

#[test]
fn the_commands_of_the_guide_for_plant_engineers_run() {
    check(GUIDES[0]);
}

#[test]
fn the_commands_of_the_guide_for_protocol_implementers_run() {
    check(GUIDES[1]);
}

#[test]
fn the_commands_of_the_guide_for_real_time_developers_run() {
    check(GUIDES[2]);
}

#[test]
fn the_commands_of_the_guide_for_substations_run() {
    check(GUIDES[3]);
}

#[test]
fn the_commands_of_the_guide_for_teachers_run() {
    check(GUIDES[4]);
}

#[test]
fn each_guide_in_the_folder_has_a_test() {
    let folder = examples::root().join("docs/guides");
    let mut found: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, GUIDES.map(|name| format!("{name}.md")));
}

#[track_caller]
fn check(guide: &str) {
    examples::check(&format!("docs/guides/{guide}.md"), 5);
}
