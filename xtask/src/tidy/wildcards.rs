//! A protocol table names every state and every event: no wildcard hides a row that was never thought about.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "wildcards", check };

fn check(tree: &Tree) -> Vec<String> {
    let tables = tree.between("crates/stack/src/", "/table.rs");
    tables.flat_map(|(path, text)| of_table(path, text)).collect()
}

fn of_table(path: &str, text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let is_wildcard = |line: &str| {
        let line = line.trim_start();
        line.starts_with("_ =>") || line.starts_with("(_,") || line.contains(", _) =>")
    };
    let lines = code.lines().enumerate().filter(|(_, line)| is_wildcard(line));
    lines.map(|(number, _)| format!("{path}:{}: a wildcard", number + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_wildcard_over_states_or_events_is_found() {
        let table = "match (state, event) {\n    (State::A, _) => None,\n    (_, Event::B) => None,\n    _ => None,\n    Event::C => None,\n}\n";
        check(
            &RULE,
            &[("crates/stack/src/x/table.rs", table), ("crates/sim/src/table.rs", table)],
            &[
                "crates/stack/src/x/table.rs:2: a wildcard",
                "crates/stack/src/x/table.rs:3: a wildcard",
                "crates/stack/src/x/table.rs:4: a wildcard",
            ],
        );
    }
}
