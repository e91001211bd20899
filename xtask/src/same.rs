//! `cargo xtask same OLD NEW [CAPTURE...]`: runs one list of commands with two programs and compares every number.
//!
//! Both print NDJSON. Names of the old program are mapped to the new ones by the same table as in `help stream`; numbers
//! that only the new program prints are counted and listed by name. A run is a function of its scenario and seed, so
//! every other difference is one of behaviour.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Commands compared: arguments that both programs take. `{capture}` stands for each capture in turn.
const COMMANDS: [&str; 13] = [
    "watch --json -r {capture}",
    "watch --json -r {capture} --measure 100ms --sample 50ms --top 5",
    "predict --json --no-save -n 3 scenarios/bulk.toml",
    "predict --json --no-save -n 3 scenarios/control-loop.toml",
    "predict --json --no-save -n 3 scenarios/manufacturing-cell.toml",
    "predict --json --no-save -n 3 scenarios/ncc84.toml",
    "predict --json --no-save -n 3 scenarios/plc-ring.toml",
    "predict --json --no-save -n 3 scenarios/ship.toml",
    "predict --json --no-save -n 3 scenarios/substation.toml",
    "predict --json --no-save -n 3 scenarios/t1s-zone.toml",
    "reproduce nbsir-85-3104 --json",
    "reproduce tr-88-04 --json -n 5",
    "reproduce tr-88-08 --json -n 5",
];

/// Old and new names of measures.
const RENAMED: [(&str, &str); 1] = [("closed_window_ns", "closed_window_total_ns")];
/// Names that differ from run to run or from build to build, and are no results.
const NO_RESULT: [&str; 4] = ["program", "started", "path", "folder"];

/// Numbers and words of an output by their paths: record, names, places in lists.
type Numbers = BTreeMap<String, String>;

/// Compares two programs; captures beyond the one that comes with the project may be named.
pub(crate) fn run(root: &Path, old: &str, new: &str, captures: &[&str]) -> Result<(), String> {
    let own = ["captures/cell.pcapng"];
    let captures: Vec<&str> = own.iter().chain(captures).copied().collect();
    let (mut compared, mut differences) = (0, 0);
    let mut added: BTreeSet<String> = BTreeSet::new();
    for command in COMMANDS {
        let all = if command.contains("{capture}") { captures.as_slice() } else { &captures[..1] };
        for capture in all {
            let line = command.replace("{capture}", capture);
            let [before, after] = [old, new].map(|program| numbers(root, program, &line));
            let (before, after) = (before?, after?);
            let found = compare(&before, &after, &mut added);
            compared += before.len();
            differences += found.len();
            println!("{line}: {} values, {} differ", before.len(), found.len());
            found.iter().take(5).for_each(|difference| println!("   {difference}"));
        }
    }
    let added: Vec<String> = added.into_iter().collect();
    println!("only in the new program: {}", added.join(", "));
    println!("{compared} values compared, {differences} differ");
    if differences == 0 { Ok(()) } else { Err("the programs differ".to_owned()) }
}

/// Output of a command as values by path.
fn numbers(root: &Path, program: &str, line: &str) -> Result<Numbers, String> {
    let output = Command::new(program).current_dir(root).args(line.split(' ')).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut values = Numbers::new();
    for (number, record) in text.lines().enumerate() {
        let value: Value = serde_json::from_str(record)
            .map_err(|error| format!("{program} {line}: line {}: {error}", number + 1))?;
        let kind = value["type"].as_str().unwrap_or("record").to_owned();
        gather(&format!("{number} {kind}"), &value, &mut values);
    }
    if values.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} {line} printed nothing: {}", said.trim()));
    }
    Ok(values)
}

fn gather(path: &str, value: &Value, values: &mut Numbers) {
    match value {
        Value::Object(fields) => {
            for (name, value) in
                fields.iter().filter(|(name, _)| !NO_RESULT.contains(&name.as_str()))
            {
                let renamed = RENAMED.iter().find(|(old, _)| old == name);
                let name = renamed.map_or(name.as_str(), |(_, new)| new);
                gather(&format!("{path}/{name}"), value, values);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                gather(&format!("{path}/{place}"), item, values);
            }
        }
        Value::Number(number) => {
            values.insert(path.to_owned(), number.to_string());
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Values that differ or are missing; names of those that only the new program has go to `added`.
fn compare(before: &Numbers, after: &Numbers, added: &mut BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, old) in before {
        match after.get(path) {
            Some(new) if new == old => {}
            Some(new) => found.push(format!("{path}: {old}, now {new}")),
            None => found.push(format!("{path}: {old}, now absent")),
        }
    }
    for path in after.keys().filter(|path| !before.contains_key(*path)) {
        added.insert(path.rsplit('/').next().unwrap_or_default().to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(record: &str) -> Numbers {
        let mut values = Numbers::new();
        gather("0 total", &serde_json::from_str(record).unwrap(), &mut values);
        values
    }

    #[test]
    fn a_changed_or_missing_number_is_a_difference() {
        let before = of(r#"{"measures":{"tpdus":3,"closed_window_ns":7,"gone":1},"delays":[1,2]}"#);
        let after =
            of(r#"{"delays":[1,5],"measures":{"news":9,"closed_window_total_ns":7,"tpdus":3}}"#);
        let mut added = BTreeSet::new();
        let found = compare(&before, &after, &mut added);
        let expected = ["0 total/delays/1: 2, now 5", "0 total/measures/gone: 1, now absent"];
        assert_eq!(found, expected);
        assert_eq!(added, BTreeSet::from(["news".to_owned()]));
    }
}
