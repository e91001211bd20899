//! Rules of the project that neither the compiler nor clippy checks, one file each.

mod asynchronous;
mod cycles;
mod floors;
mod language;
mod length;
mod links;
mod manifest;
mod model_limits;
mod numbers;
pub(crate) mod pages;
mod self_containment;
mod tested;
mod todo_markers;
mod tuples;
mod unsafe_code;
mod unused;
mod wildcards;

use crate::tree::Tree;
use std::path::Path;

/// Rule: its name, and its check, which returns one line per violation.
pub(crate) struct Rule {
    name: &'static str,
    check: fn(&Tree) -> Vec<String>,
}

/// All rules.
const RULES: [Rule; 15] = [
    floors::RULE,
    length::RULE,
    asynchronous::RULE,
    todo_markers::RULE,
    model_limits::RULE,
    unsafe_code::RULE,
    links::RULE,
    self_containment::RULE,
    tested::RULE,
    language::RULE,
    unused::RULE,
    wildcards::RULE,
    tuples::RULE,
    cycles::RULE,
    pages::RULE,
];

/// Checks every rule on the workspace and prints the violations.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let tree = Tree::read(root).map_err(|e| format!("cannot read {}: {e}", root.display()))?;
    numbers::print(&tree);
    let found = findings_in(&tree);
    for line in &found {
        eprintln!("{line}");
    }
    if found.is_empty() {
        println!("tidy: {} rules kept", RULES.len());
        return Ok(());
    }
    Err(format!("tidy: {} finds", found.len()))
}

fn findings_in(tree: &Tree) -> Vec<String> {
    let finds_of = |rule: &Rule| {
        let finds = (rule.check)(tree);
        finds.into_iter().map(|find| format!("{}: {find}", rule.name)).collect::<Vec<_>>()
    };
    RULES.iter().flat_map(finds_of).collect()
}

/// Asserts that a rule finds exactly `expected` in a made-up tree.
#[cfg(test)]
#[track_caller]
fn check(rule: &Rule, files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!((rule.check)(&Tree::of(files)), expected);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_keeps_its_rules() {
        let found = findings_in(&Tree::read(crate::root()).unwrap());
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
