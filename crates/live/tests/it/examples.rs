//! Examples of the messaging service: each prints the same over every network.

use crate::namespace::{INTERFACE, Namespaces};
use std::path::PathBuf;
use std::process::Command;

/// Each example and the lines it prints.
const EXAMPLES: [(&str, &[&str]); 8] = [
    ("unacknowledged", &["received: b\"350 degrees\""]),
    ("acknowledged", &["received: b\"350 degrees\"", "acknowledged"]),
    ("priorities", &["first: b\"fire\""]),
    ("crc", &["b\"with\", and 1 bad"]),
    ("timeouts", &["both: operation timed out"]),
    ("indications", &["received: Done", "transmitted: Done"]),
    (
        "reset_and_status",
        &[
            "Transmit: operation pending",
            "Transmit: no operation pending",
            "Receive: operation pending",
            "Receive: no operation pending",
        ],
    ),
    (
        "group_address",
        &[
            "02:00:00:00:00:02 received b\"turn to port\"",
            "02:00:00:00:00:03 received b\"turn to port\"",
        ],
    ),
];

/// Folder of the examples of this build: next to that of the test itself.
fn folder() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    this.parent().and_then(|deps| deps.parent()).unwrap().join("examples")
}

#[track_caller]
fn check(way: &[&str]) {
    for (name, expected) in EXAMPLES {
        let program = folder().join(name);
        if !program.exists() {
            println!("skipped: example {name} was not built (cargo test --test builds none)");
            continue;
        }
        let output = Command::new(program).args(way).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} {}: {complaint}", way.join(" "));
        let printed = String::from_utf8(output.stdout).unwrap();
        let mut lines: Vec<&str> = printed.lines().collect();
        // Two stations of a group receive a message at the same time.
        if name == "group_address" {
            lines.sort_unstable();
        }
        assert_eq!(lines, expected, "{name} {}", way.join(" "));
    }
}

#[test]
fn every_example_prints_its_lines_within_a_process() {
    check(&["in-process"]);
}

#[test]
fn every_example_prints_its_lines_over_udp() {
    check(&["udp"]);
}

#[test]
fn every_example_prints_its_lines_when_simulated() {
    check(&["simulated"]);
}

#[test]
fn every_example_prints_its_lines_over_a_wire() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [here, there] = &namespaces.names;
    check(&["ethernet", INTERFACE, here, there]);
}
