//! Text output fits a terminal of 80 columns.

use crate::{check_code, run, stdout};

/// Checks the lines of a command, which has to end with 0.
#[track_caller]
fn fits(arguments: &[&str]) {
    let output = run(arguments);
    check_code(&output, 0);
    let text = stdout(&output);
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(!text.is_empty() && wide.is_empty(), "{arguments:?}: {wide:#?}");
}

#[test]
fn machines_and_layers_are_shown_in_80_columns() {
    for built_in in bench::profile::ALL {
        fits(&["profiles", "show", built_in.name]);
        fits(&["predict", "layers", "--messages", "5", "--profile", built_in.name]);
    }
    fits(&["measure", "layers", "--messages", "5", "--rounds", "3"]);
    fits(&["profiles", "list"]);
}

#[test]
fn scenarios_and_their_plans_are_shown_in_80_columns() {
    fits(&["scenarios", "list"]);
    for built_in in bench::scenarios::ALL {
        fits(&["predict", built_in.name, "--dry-run"]);
    }
    for short in ["status-short", "substation", "titles", "t1s-zone", "process-bus", "polling"] {
        fits(&["predict", short, "-n", "1", "--no-save"]);
    }
}

#[test]
fn captures_are_shown_in_80_columns() {
    let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures");
    for name in ["cell.pcapng", "cycles.pcap", "gateway.pcap", "mms.pcapng", "station.pcap"] {
        fits(&["watch", "-r", &format!("{captures}/{name}")]);
    }
}
