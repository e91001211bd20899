//! The rules of the house that neither the compiler nor clippy checks, one file each.

mod alone;
mod asynchronous;
mod confession;
mod floors;
mod leftovers;
mod length;
mod links;
mod manifest;
mod tested;
mod unsafe_code;

use crate::tree::Tree;
use std::path::Path;

/// A rule: its name, and what it finds wrong with a tree, one line per find.
pub(crate) struct Rule {
    name: &'static str,
    check: fn(&Tree) -> Vec<String>,
}

/// All rules.
const RULES: [Rule; 9] = [
    floors::RULE,
    length::RULE,
    asynchronous::RULE,
    leftovers::RULE,
    confession::RULE,
    unsafe_code::RULE,
    links::RULE,
    alone::RULE,
    tested::RULE,
];

/// Checks every rule on the workspace and prints what is wrong.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let found = findings(root)?;
    for line in &found {
        eprintln!("{line}");
    }
    if found.is_empty() {
        println!("tidy: {} rules kept", RULES.len());
        return Ok(());
    }
    Err(format!("tidy: {} finds", found.len()))
}

fn findings(root: &Path) -> Result<Vec<String>, String> {
    let tree = Tree::read(root).map_err(|e| format!("cannot read {}: {e}", root.display()))?;
    let finds_of = |rule: &Rule| {
        let finds = (rule.check)(&tree);
        finds.into_iter().map(|find| format!("{}: {find}", rule.name)).collect::<Vec<_>>()
    };
    Ok(RULES.iter().flat_map(finds_of).collect())
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
        let found = findings(crate::root()).unwrap();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
