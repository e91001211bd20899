//! Profiles: those that come with the program, files of one's own, and what is wrong with them.

use crate::{check_code, records, run, run_in, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SCENARIO: &str = r#"version = 1
title = "t"
stop = { after = "200 ms" }
medium = { kind = "ideal", rate = "10 Mbit/s" }
stations = { count = 2, prefix = "s", profile = "mine.toml" }
[[flow]]
name = "status"
from = "s-1"
to = "s-2"
service = "datagram"
pattern = { kind = "cyclic", period = "20 ms" }
size = "200 B"
start = "0 s"
"#;

/// A folder with a scenario whose stations are on a copy of `pc-pronet`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    check_code(&run_in(folder.path(), &["profiles", "copy", "pc-pronet", "mine.toml"]), 0);
    fs::write(folder.path().join("study.toml"), SCENARIO).unwrap();
    folder
}

/// The mean delay of the first sample.
fn delay(folder: &Path, scenario: &str) -> f64 {
    let output = run_in(folder, &["predict", scenario, "-n", "1", "--no-save", "--json"]);
    check_code(&output, 0);
    records(&output)[0]["flows"][0]["delay"]["mean_ns"].as_f64().unwrap()
}

/// Error of predict, which refuses the scenario in a folder.
#[track_caller]
fn refused(folder: &Path) -> String {
    let output = run_in(folder, &["predict", "study.toml", "--no-save"]);
    check_code(&output, 2);
    stderr(&output)
}

#[test]
fn every_built_in_profile_is_listed_and_shown() {
    let list = stdout(&run(&["profiles", "list"]));
    for built_in in bench::profile::ALL {
        let rows = list.split(&format!("\n  {}\n", built_in.name)).nth(1).unwrap();
        let row: Vec<&str> = rows.lines().take_while(|line| line.starts_with("    ")).collect();
        let line =
            row.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ");
        let shown = run(&["profiles", "show", built_in.name]);
        check_code(&shown, 0);
        let profile = bench::profile::built_in(built_in.name).unwrap();
        assert!(line.contains("built-in") && line.contains(&profile.title), "{line}");
        let text = stdout(&shown);
        for input in &profile.inputs {
            let amount = format!("  {}  {} {}: ", input.name, input.value, input.unit);
            assert!(text.contains(&amount), "{amount}: {text}");
        }
    }
    let json = records(&run(&["profiles", "show", "nbs-1986", "--json"]));
    assert_eq!((json.len(), &json[0]["type"]), (1, &Value::from("profile")));
    assert_eq!(json[0]["tasks"][0]["cost"]["fixed"], "host-send");
    let count = records(&run(&["profiles", "list", "--json"])).len();
    assert_eq!(count, bench::profile::ALL.len());
}

#[test]
fn an_unknown_profile_is_answered_with_those_there_are() {
    let output = run(&["profiles", "show", "pc-pronett"]);
    check_code(&output, 2);
    let said = stderr(&output);
    assert!(said.contains("did you mean pc-pronet? There are ideal, pc-pronet"), "{said}");
}

#[test]
fn a_copied_profile_is_what_it_was_and_is_never_overwritten() {
    let folder = folder();
    let path = folder.path().join("mine.toml");
    let built_in = bench::profile::ALL.into_iter().find(|it| it.name == "pc-pronet").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), built_in.text);
    let again = run_in(folder.path(), &["profiles", "copy", "ideal", "mine.toml"]);
    check_code(&again, 1);
    assert!(stderr(&again).contains("not overwritten"));
    assert_eq!(fs::read_to_string(&path).unwrap(), built_in.text);
    let files = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 2, "nothing temporary stays");
}

#[test]
fn a_profile_file_is_relative_to_its_scenario() {
    let folder = folder();
    let here = folder.path();
    let built_in = SCENARIO.replace("mine.toml", "pc-pronet");
    fs::write(here.join("known.toml"), built_in).unwrap();
    assert_eq!(delay(here, "study.toml"), delay(here, "known.toml"));
    // From another folder, too.
    let scenario = here.join("study.toml");
    let same = delay(Path::new("/"), scenario.to_str().unwrap());
    assert_eq!(same, delay(here, "study.toml"));
    // Each frame is framed once: a millisecond more of it is a millisecond later.
    let path = here.join("mine.toml");
    let text = fs::read_to_string(&path).unwrap();
    let dearer = text.replacen(
        "name = \"framing\"\nvalue = 1.4883",
        "name = \"framing\"\nvalue = 2.4883",
        1,
    );
    assert_ne!(text, dearer);
    fs::write(&path, dearer).unwrap();
    assert!((delay(here, "study.toml") - same - 1e6).abs() < 1.0);
}

#[test]
fn what_is_wrong_with_a_profile_file_is_shown_in_both_files() {
    let folder = folder();
    let here = folder.path();
    let text = fs::read_to_string(here.join("mine.toml")).unwrap();
    fs::write(here.join("mine.toml"), text.replacen("value = 0.8312", "valeu = 0.8312", 1))
        .unwrap();
    let line = text.lines().position(|line| line == "value = 0.8312").unwrap() + 1;
    for said in [
        "error: \"mine.toml\" is not a profile",
        "study.toml:5:49",
        "error: unknown key `valeu`",
        &format!("mine.toml:{line}:1"),
        "^^^^^ expected one of `calibrated-on`, `name`, `source`, `unit`, `value`",
        "did you mean `value`?",
    ] {
        assert!(refused(here).contains(said), "{said}: {}", refused(here));
    }
    let shown = run_in(here, &["profiles", "show", "mine.toml"]);
    check_code(&shown, 2);
    assert!(stderr(&shown).contains("did you mean `value`?"));
}

#[test]
fn what_is_no_profile_file_is_refused_and_ends() {
    let folder = folder();
    let here = folder.path();
    let path = here.join("mine.toml");
    let again = |make: &dyn Fn()| {
        let _ = fs::remove_file(&path);
        make();
        refused(here)
    };
    let said = again(&|| {});
    assert!(said.contains("cannot read mine.toml") && said.contains("study.toml:5:49"), "{said}");
    let said = again(&|| fs::write(&path, "x = 1\n".repeat(1_000_000)).unwrap());
    assert!(said.contains("more than 262144 octets"), "{said}");
    let said = again(&|| fs::write(&path, [0xff, 0xfe]).unwrap());
    assert!(said.contains("is not UTF-8 text: octet 0"), "{said}");
    let said = again(&|| fs::write(&path, "[".repeat(200_000)).unwrap());
    assert!(said.contains("is not a profile"), "{said}");
    let said = again(&|| std::os::unix::fs::symlink("/dev/zero", &path).unwrap());
    assert!(said.contains("is no regular file"), "{said}");
    let said = again(&|| {
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
    });
    assert!(said.contains("is no regular file"), "{said}");
    let said = again(&|| fs::create_dir(&path).unwrap());
    assert!(said.contains("is a folder"), "{said}");
}

#[test]
fn a_run_folder_goes_on_with_its_copies_of_profiles() {
    let folder = folder();
    let here = folder.path();
    fs::create_dir(here.join("below")).unwrap();
    let outside = SCENARIO.replace("mine.toml", "../mine.toml");
    fs::write(here.join("below/study.toml"), outside).unwrap();
    for (scenario, copy) in
        [("study.toml", "mine.toml"), ("below/study.toml", "profile-copies/1-mine.toml")]
    {
        let output = run_in(here, &["predict", scenario, "-n", "2", "-o", "runs"]);
        check_code(&output, 0);
        let run = fs::read_dir(here.join("runs")).unwrap().next().unwrap().unwrap().path();
        let about: Value =
            serde_json::from_str(&fs::read_to_string(run.join("run.json")).unwrap()).unwrap();
        let used = about["profiles"].as_object().unwrap().values().next().unwrap();
        assert_eq!(used["copy"], copy);
        assert!(used["title"].as_str().unwrap().starts_with("an IBM PC"));
        let whole = fs::read_to_string(run.join("samples.ndjson")).unwrap();
        let first = whole.lines().next().unwrap();
        fs::write(run.join("samples.ndjson"), format!("{first}\n")).unwrap();
        // The copies count, and not what became of the files.
        fs::rename(here.join("mine.toml"), here.join("away.toml")).unwrap();
        let resumed = run_in(here, &["predict", "--resume", run.to_str().unwrap()]);
        check_code(&resumed, 0);
        assert_eq!(fs::read_to_string(run.join("samples.ndjson")).unwrap(), whole);
        fs::write(run.join(copy), bench::profile::ALL[2].text).unwrap();
        let changed = run_in(here, &["predict", "--resume", run.to_str().unwrap()]);
        check_code(&changed, 2);
        assert!(
            stderr(&changed).contains("a file that it names was changed"),
            "{}",
            stderr(&changed)
        );
        fs::rename(here.join("away.toml"), here.join("mine.toml")).unwrap();
        fs::remove_dir_all(here.join("runs")).unwrap();
    }
}

#[test]
fn an_advised_scenario_is_written_where_it_finds_its_profile() {
    let folder = folder();
    let here = folder.path();
    fs::create_dir(here.join("other")).unwrap();
    let class_4 = SCENARIO.replace("\"datagram\"", "\"class-4\"");
    fs::write(here.join("study.toml"), class_4).unwrap();
    let output = run_in(here, &["advise", "study.toml", "--write", "other/advised.toml"]);
    check_code(&output, 2);
    let said = stderr(&output);
    assert!(said.contains("would not find the file mine.toml from its folder"), "{said}");
}

#[test]
fn the_report_names_the_machines_of_a_simulation() {
    let folder = folder();
    let arguments = ["predict", "study.toml", "-n", "1", "--no-save"];
    let text = stdout(&run_in(folder.path(), &arguments));
    assert!(text.contains("  machine mine.toml: an IBM PC (8088, 6.17 MHz)"), "{text}");
    let json = run_in(folder.path(), &[&arguments[..], &["--json"]].concat());
    let report = records(&json).into_iter().find(|record| record["type"] == "report").unwrap();
    let title = report["profiles"]["mine.toml"].as_str().unwrap();
    assert!(title.starts_with("an IBM PC"), "{report}");
}

#[test]
fn a_profile_may_charge_the_checksum_of_class_4() {
    let folder = folder();
    let here = folder.path();
    let built_in = bench::profile::ALL.into_iter().find(|it| it.name == "nbs-1986").unwrap();
    let task = |stage: &str| {
        format!(
            "[[task]]\nname = \"checksum: {stage}\"\nstage = \"{stage}\"\nlayer = \"transport\"\n\
             level = \"base\"\nuses = [\"front end\"]\ncost = {{ checked-octet = \"checksum\" }}\n"
        )
    };
    let input = "[[input]]\nname = \"checksum\"\nvalue = 12.475\nunit = \"us/octet\"\nsource = \"a guess\"\n";
    let own = [built_in.text, &task("send"), &task("receive"), input].concat();
    fs::write(here.join("mine.toml"), own).unwrap();
    let class_4 = SCENARIO
        .replace("\"datagram\"", "\"class-4\"")
        .replace("\"20 ms\"", "\"100 ms\"")
        // The connection is open by then.
        .replace("after = \"200 ms\"", "after = \"400 ms\", warmup = \"150 ms\"");
    let delay_of = |profile: &str, checksum: &str| {
        let text = class_4.replace("mine.toml", profile);
        let text = format!("{text}\n[transport]\nchecksum = {checksum}\n");
        fs::write(here.join("study.toml"), text).unwrap();
        delay(here, "study.toml")
    };
    assert_eq!(delay_of("mine.toml", "false"), delay_of("nbs-1986", "false"));
    // 10 us at its speed for each octet, at both ends: 200 of data, 1 of the inactive network layer
    // and a header of 8 with the checksum's 4.
    let more = delay_of("mine.toml", "true") - delay_of("nbs-1986", "true");
    assert!((more - 2.0 * 213.0 * 10_000.0).abs() < 10.0, "{more}");
    let warned = run_in(here, &["predict", "study.toml", "--print-scenario"]);
    assert!(stderr(&warned).contains("the checksum of class 4 takes no time on \"nbs-1986\""));
}

#[test]
fn lockstep_is_warned_of_where_it_is_simulated_alone() {
    let folder = folder();
    let here = folder.path();
    let bulk = SCENARIO
        .replace("kind = \"ideal\", rate", "kind = \"csma-cd\", length = \"100 m\", rate")
        .replace(", profile = \"mine.toml\"", "")
        .replace("\"datagram\"", "\"class-4\"")
        .replace("kind = \"cyclic\", period = \"20 ms\"", "kind = \"bulk\"");
    fs::write(here.join("study.toml"), bulk).unwrap();
    let warned = |verb: &str| {
        let output = run_in(here, &[verb, "study.toml", "--print-scenario"]);
        check_code(&output, 0);
        stderr(&output)
    };
    let said = warned("predict");
    assert!(said.contains("warning: stations that take no time collide in lockstep"), "{said}");
    assert!(said.contains("study.toml:8:8") && said.contains("profile = \"ideal\""), "{said}");
    assert_eq!(warned("measure"), "");
}

/// The keys that the parser takes, from its answers to a key that no table has.
#[test]
fn the_help_on_profiles_has_every_key_of_the_parser() {
    let folder = folder();
    let good = fs::read_to_string(folder.path().join("mine.toml")).unwrap();
    let list = |table: &str| {
        // Behind the first table of its kind, or at the start of the file.
        let (before, behind) = good.split_once(table).unwrap();
        let other = if table.ends_with('{') { " other = 1," } else { "\nother = 1\n" };
        let text = format!("{before}{table}{other}{behind}");
        fs::write(folder.path().join("bad.toml"), text).unwrap();
        let said = stderr(&run_in(folder.path(), &["profiles", "show", "bad.toml"]));
        // Long lists stand below the caret, in indented lines.
        let said = said.replace("\n    ", " ");
        let label = said.lines().find_map(|line| line.split_once(" expected one of "));
        label.unwrap_or_else(|| panic!("{table}: {said}")).1.to_owned()
    };
    let tables = ["", "[[resource]]", "[[task]]", "cost = {", "[[input]]", "[[variant]]"];
    let lists: Vec<String> = tables.into_iter().chain(["inputs = [\n    {"]).map(list).collect();
    let keys: BTreeSet<&str> = lists
        .iter()
        .flat_map(|list| list.split(", "))
        .map(|key| key.trim().trim_matches('`'))
        .collect();
    assert!(keys.len() >= 25, "{keys:?}");
    let help = stdout(&run(&["help", "profiles"]));
    let is_joint = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    let words: BTreeSet<&str> = help.split(is_joint).collect();
    let missing: Vec<&&str> = keys.iter().filter(|key| !words.contains(**key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_profile_shown_in_the_help_is_one() {
    let folder = folder();
    let help = stdout(&run(&["help", "profiles"]));
    let example: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("    version = 1"))
        .take_while(|line| line.is_empty() || line.starts_with("    "))
        .map(str::trim_start)
        .collect();
    fs::write(folder.path().join("mine.toml"), example.join("\n")).unwrap();
    // 203 octets of data: 120 + 2.03 us at each end, and 229 octets at 10 Mbit/s between them.
    let found = delay(folder.path(), "study.toml");
    let ideal = SCENARIO.replace("mine.toml", "ideal");
    fs::write(folder.path().join("plain.toml"), ideal).unwrap();
    let plain = delay(folder.path(), "plain.toml");
    assert!((found - plain - 2.0 * 122_030.0).abs() < 2.0, "{found} {plain}");
}

#[test]
fn a_memory_that_holds_no_tpdu_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    check_code(&run_in(folder.path(), &["profiles", "copy", "mvme372", "mine.toml"]), 0);
    let mine = folder.path().join("mine.toml");
    let profile = fs::read_to_string(&mine).unwrap();
    fs::write(&mine, profile.replace("value = 655360", "value = 512")).unwrap();
    let class_4 = SCENARIO.replace("\"datagram\"", "\"class-4\"");
    fs::write(folder.path().join("study.toml"), class_4).unwrap();
    let output = run_in(folder.path(), &["predict", "study.toml", "--no-save"]);
    check_code(&output, 2);
    let text = stderr(&output);
    assert!(text.contains("a memory of 512 B holds no TPDU of 1024 B"), "{text}");
    // The station's key, with a caret below it.
    assert!(text.contains("study.toml:5:") && text.contains("^^^"), "{text}");
    let shown = run_in(folder.path(), &["profiles", "show", "mine.toml"]);
    assert!(stdout(&shown).contains("memory: 512 octets"), "{}", stdout(&shown));
}

#[test]
fn credit_below_zero_and_equal_tiers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    check_code(&run_in(here, &["profiles", "copy", "mvme372", "mine.toml"]), 0);
    let profile = fs::read_to_string(here.join("mine.toml")).unwrap();
    let scenario = SCENARIO.replace("\"datagram\"", "\"class-4\"");
    fs::write(here.join("study.toml"), &scenario).unwrap();
    for (from, to, expected) in [
        ("value = 655360", "value = -655360", "expected a number from 0 upwards"),
        ("name = \"rates\"", "name = \"delays\"", "there are two"),
    ] {
        assert!(profile.contains(from), "{from}");
        fs::write(here.join("mine.toml"), profile.replacen(from, to, 1)).unwrap();
        let said = refused(here);
        assert!(said.contains(expected) && said.contains("mine.toml:"), "{said}");
    }
    fs::write(here.join("mine.toml"), profile).unwrap();
    for window in ["-1", "0"] {
        let text = format!("{scenario}[transport]\nwindow = {window}\n");
        fs::write(here.join("study.toml"), text).unwrap();
        let said = refused(here);
        assert!(said.contains("from ") && said.contains("study.toml:15:10"), "{said}");
    }
}
