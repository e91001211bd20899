//! Files of titles: named by a scenario, copied into its run folder, and served.

use crate::wires::{result, serving, session};
use crate::{check_code, command, run_in, stderr};
use std::fs;
use std::net::UdpSocket;
use std::path::Path;

/// Scenario with a title from `names.txt`.
const SCENARIO: &str = r#"version = 1
title = "titles"
stop = { after = "100 ms" }
medium = { kind = "ideal", rate = "100 Mbit/s" }
stations = { count = 3, prefix = "s" }
replications = 1
[directory]
station = "s-3"
file = "names.txt"
[[flow]]
name = "cold"
from = "s-1"
to = "s-2"
title = "cell4.welder"
service = "case"
pattern = { kind = "bulk" }
size = "64 B"
messages = 1
start = "0 s"
"#;

/// Writes the scenario and its file of titles.
fn write(folder: &Path, names: &str) {
    fs::write(folder.join("titles.toml"), SCENARIO).unwrap();
    fs::write(folder.join("names.txt"), names).unwrap();
}

#[test]
fn a_run_folder_keeps_the_file_of_titles() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "cell4.welder s-2\n");
    check_code(&run_in(here, &["predict", "titles.toml", "--output", "all"]), 0);
    let made = fs::read_dir(here.join("all")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_to_string(made.join("names.txt")).unwrap(), "cell4.welder s-2\n");
    fs::remove_file(here.join("names.txt")).unwrap();
    let resume = ["predict", "--resume", made.to_str().unwrap()];
    let resumed = run_in(here, &resume);
    check_code(&resumed, 0);
    assert!(stderr(&resumed).contains("none is missing"), "{}", stderr(&resumed));
    fs::write(made.join("names.txt"), "cell4.welder s-1\n").unwrap();
    let changed = run_in(here, &resume);
    check_code(&changed, 2);
    assert!(
        stderr(&changed).contains("or a file that it names was changed"),
        "{}",
        stderr(&changed)
    );
}

#[test]
fn false_titles_are_refused_by_their_line_at_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (names, predicted, served) in [
        ("a s-2\ncell4.welder s-9\n", Some("names.txt:2: \"s-9\" is neither"), None),
        ("a b\nb a\n", Some("names.txt:1: the titles from \"a\""), Some("names.txt:1: the titles")),
        ("a\n", Some("names.txt:1: expected a title"), Some("names.txt:1: expected a title")),
    ] {
        write(here, names);
        for (arguments, expected) in [
            (&["predict", "titles.toml", "--no-save"][..], predicted),
            (&["serve", "--udp", "127.0.0.1:0", "--directory", "names.txt"], served),
        ] {
            let Some(expected) = expected else { continue };
            let output = run_in(here, arguments);
            check_code(&output, 2);
            assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        }
    }
}

#[test]
fn a_served_directory_names_the_station_of_a_flow() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "cell4.welder s-2\n");
    let free = || UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (there, own) = (free(), free());
    let names = here.join("names.txt");
    let options = ["--udp", &there, "-n", "1", "--json", "--directory", names.to_str().unwrap()];
    let (child, lines, _) = serving(command(&[&["serve"], &options[..]].concat()));
    let measure =
        ["measure", "titles.toml", "--udp", &own, "--udp-peer", &there, "--no-save", "--json"];
    let output = run_in(here, &measure);
    check_code(&output, 0);
    assert_eq!(
        (&result(&output)["delivered"], &result(&output)["exact"]),
        (&1.into(), &true.into())
    );
    assert_eq!(session(child, lines)["delivered"], 1);
}
