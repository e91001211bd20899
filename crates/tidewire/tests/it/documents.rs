//! Documents are true: examples run, lists are whole, the capture is made as it says.

use crate::examples::{self, checkout, root};
use crate::{check_code, run, run_in, stdout};
use meter::metric::METRICS;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn every_command_shown_in_the_readme_runs() {
    examples::check("README.md", 10);
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
            "{} {}{unit} = {} Cannot tell {}. {}; meter::metric",
            metric.symbol,
            metric.name,
            metric.formula,
            metric.cannot_tell,
            metric.source()
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

pub(crate) fn topic(name: &str) -> String {
    let output = run(&["help", name]);
    check_code(&output, 0);
    stdout(&output)
}

pub(crate) fn one_line(text: &str) -> String {
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
