//! What the documents say is so: examples run, lists are whole, the capture is made as it says.

use crate::{check_code, run, run_in, stdout};
use meter::metric::METRICS;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Verbs whose output is a function of what they are given, so that every line shown is checked.
const REPEATABLE: [&str; 7] =
    ["predict", "watch", "dissect", "scenarios", "profiles", "reproduce", "advise"];

/// A command of a document and the lines shown below it.
struct Example {
    command: String,
    shown: Vec<String>,
}

#[test]
fn every_command_shown_in_the_readme_runs() {
    let folder = checkout();
    let examples = examples(&fs::read_to_string(root().join("README.md")).unwrap());
    assert!(examples.len() >= 8, "the examples were not found");
    let bin = Path::new(env!("CARGO_BIN_EXE_tidewire")).parent().unwrap();
    let path = std::env::join_paths([bin, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    for Example { command, shown } in examples {
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).env("PATH", &path).stdin(Stdio::null());
        let output = shell.current_dir(folder.path()).output().unwrap();
        check_code(&output, 0);
        let verb = command.split_whitespace().nth(1).unwrap();
        let said = stdout(&output);
        let mut lines = said.lines();
        let is_repeatable = REPEATABLE.contains(&verb);
        let is_it = |found: &str, line: &str| match is_repeatable {
            true => found == line,
            false => words(found) == words(line),
        };
        for line in shown {
            // In this order, with others between them.
            assert!(lines.any(|found| is_it(found, &line)), "{command}: not there: {line}\n{said}");
        }
    }
}

#[test]
fn the_capture_that_comes_along_is_made_as_its_readme_says() {
    let folder = checkout();
    let about = fs::read_to_string(root().join("captures/README.md")).unwrap();
    let command = about.lines().find_map(|line| line.strip_prefix("tidewire predict ")).unwrap();
    let made = folder.path().join("captures/cell.pcapng");
    fs::remove_file(&made).unwrap();
    let arguments: Vec<&str> = std::iter::once("predict").chain(command.split(' ')).collect();
    check_code(&run_in(folder.path(), &arguments), 0);
    let kept = fs::read(root().join("captures/cell.pcapng")).unwrap();
    assert!(fs::read(made).unwrap() == kept, "captures/cell.pcapng differs");
}

#[test]
fn the_help_on_metrics_has_every_definition_of_the_meter() {
    let text = one_line(&topic("metrics"));
    for metric in &METRICS {
        let unit = if metric.unit == "1" { String::new() } else { format!(", {}", metric.unit) };
        let expected = format!(
            "{} {}{unit} = {} Cannot tell {}.",
            metric.symbol, metric.name, metric.formula, metric.cannot_tell
        );
        assert!(text.contains(&expected), "{expected}");
    }
}

#[test]
fn the_help_on_scenarios_and_faults_has_every_key_of_the_schema() {
    let output = run(&["scenarios", "schema"]);
    let schema: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let mut keys = BTreeSet::new();
    gather(&schema, &mut keys);
    assert!(keys.len() > 50, "{keys:?}");
    let text = [topic("scenario"), topic("faults"), topic("media")].concat();
    let is_joint = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    let words: BTreeSet<&str> = text.split(is_joint).collect();
    let missing: Vec<&String> = keys.iter().filter(|key| !words.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_scenario_shown_in_the_help_is_one() {
    let text = topic("scenario");
    let example: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("    "))
        .take_while(|line| line.is_empty() || line.starts_with("    "))
        .map(|line| line.trim_start())
        .collect();
    let study = bench::scenario::load(&example.join("\n"), "help").unwrap();
    // Three loads and three sizes.
    assert_eq!((study.points.len(), study.warnings.len()), (9, 0));
}

/// The first words of a line, up to a colon, without its numbers: these are measured and differ from run to
/// run, and so may what is concluded of them.
fn words(line: &str) -> Vec<String> {
    let line = line.split(':').next().unwrap_or_default();
    let words = line.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    let words = words.map(|word| word.chars().filter(|c| c.is_alphabetic()).collect::<String>());
    let is_unit = |word: &str| ["", "ns", "us", "ms", "s", "to"].contains(&word);
    words.filter(|word| !is_unit(word)).take(4).collect()
}

/// The commands in the `console` blocks of a document. A line of dots stands for lines left out.
fn examples(document: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for block in document.split("\n```console\n").skip(1) {
        for line in block.split("\n```").next().unwrap().lines() {
            match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => {
                    assert!(command.starts_with("tidewire "), "{command}");
                    examples.push(Example { command: command.to_owned(), shown: Vec::new() });
                }
                (None, Some(example)) if line != "..." => example.shown.push(line.to_owned()),
                (None, _) => {}
            }
        }
    }
    examples
}

/// A folder with what commands in documents read.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["captures", "scenarios"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        for entry in fs::read_dir(root().join(name)).unwrap() {
            let path = entry.unwrap().path();
            let copy = folder.path().join(name).join(path.file_name().unwrap());
            fs::copy(&path, copy).unwrap();
        }
    }
    folder
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn topic(name: &str) -> String {
    let output = run(&["help", name]);
    check_code(&output, 0);
    stdout(&output)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names of all properties in a schema.
fn gather(schema: &Value, keys: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            for (name, value) in object {
                if let ("properties", Value::Object(properties)) = (name.as_str(), value) {
                    keys.extend(properties.keys().cloned());
                }
                gather(value, keys);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, keys)),
        _ => {}
    }
}
